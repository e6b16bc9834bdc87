//! Checks metrics that equal other metrics over fewer rows.

use super::figures::Figures;
use super::law_case::law_case;
use proptest::prelude::*;
use trueup::filter::from_parameter;

/// A metric, the metrics whose sum equals it, and the filter with which the sum does, as a field and an expression.
const SAME: [(&str, &[&str], &str, &str); 22] = [
    ("conversions", &["eventCount"], "type", "lead-originated"),
    ("customers", &["eventCount"], "typeIsLast", "true"),
    ("soldLeads", &["leads"], "firstSold", r#"["notEmpty"]"#),
    ("closedLeads", &["leads"], "firstClosed", r#"["notEmpty"]"#),
    ("payingCustomers", &["customers"], "adjustedType", r#"["or", "sold", "closed"]"#),
    ("matchedCustomers", &["customers"], "customerStatus", r#"["not", ["or", "Unmatched", ""]]"#),
    ("unmatchedCustomers", &["customers"], "customerStatus", r#"["or", "Unmatched", ["empty"]]"#),
    ("estimatedRevenue", &["revenuePotential"], "adjustedType", "estimated"),
    ("soldRevenue", &["revenuePotential"], "adjustedType", "sold"),
    ("closedRevenue", &["revenuePotential"], "adjustedType", "closed"),
    ("gradedConversions", &["conversions"], "conversionDetailedLabel", r#"["notEmpty"]"#),
    ("bookedConversions", &["conversions"], "conversionDetailedLabel", "Bookable - Booked"),
    ("bookableUnbookedConversions", &["conversions"], "conversionDetailedLabel", "Bookable - Didn't Book"),
    ("unbookableConversions", &["conversions"], "conversionDetailedLabel", "Unbookable"),
    (
        "bookableConversions",
        &["conversions"],
        "conversionDetailedLabel",
        r#"["regex", "^Bookable - (Booked|Didn't Book)$"]"#,
    ),
    ("bookableConversions", &["bookedConversions", "bookableUnbookedConversions"], "noSuchField", ""),
    ("customers", &["matchedCustomers", "unmatchedCustomers"], "noSuchField", ""),
    ("revenuePotential", &["estimatedRevenue", "soldRevenue", "closedRevenue"], "noSuchField", ""),
    ("total", &["total"], "total", r#"["ne", 0]"#),
    ("customers", &["opportunityCount"], "typeIsLast", "true"),
    ("eventCount", &["eventCount"], "dateTime", r#"["or", ["empty"], ["gt", "1"]]"#),
    ("eventCount", &["eventCount"], "opportunityStartDate", r#"["regex", "^\\d{4}-\\d\\d-\\d\\d$"]"#),
];

proptest! {
    #![proptest_config(super::config())]

    #[test]
    fn a_metric_is_another_one_over_fewer_rows(asked in law_case()) {
        for (metric, summands, field, value) in SAME {
            let filter = from_parameter(field, value).unwrap();
            let plain = asked.query(asked.fields(&[metric]));
            let picked = asked.ask(&asked.query(asked.fields(summands)).filter(filter));
            let mut sums: Option<Figures> = None;
            for summand in summands {
                // The name of the metric is used for both, so that they can be compared.
                let figures = Figures::new(&picked, &asked.dimensions, &[summand]);
                sums = Some(match sums {
                    Some(sums) => sums.plus(&figures),
                    None => figures,
                });
            }
            Figures::new(&asked.ask(&plain), &asked.dimensions, &[metric]).check_equal(&sums.unwrap())?;
        }
    }

    /// `firstBooked`, the date of a customer's first booking, shows which leads are ever booked.
    #[test]
    fn the_book_rate_of_leads_is_the_share_that_is_ever_booked(asked in law_case()) {
        let all = asked.ask(&asked.query(asked.fields(&["leads", "stepBookRate"])));
        let ever_booked = from_parameter("firstBooked", r#"["notEmpty"]"#).unwrap();
        let booked = asked.query(asked.fields(&["leads"])).filter(ever_booked);
        let booked = Figures::new(&asked.ask(&booked), &asked.dimensions, &["leads"]);
        for row in 0..all.len() {
            let key = super::figures::key(&all, row, &asked.dimensions);
            let leads = all.value(row, "leads").and_then(|value| value.as_f64()).unwrap();
            let rate = all.value(row, "stepBookRate").and_then(|value| value.as_f64()).unwrap();
            #[expect(clippy::cast_precision_loss, reason = "a few dozen at most")]
            let booked = booked.of(&key)[0] as f64;
            prop_assert_eq!(rate, if leads == 0.0 { 0.0 } else { booked / leads }, "{:?}", key);
        }
    }
}
