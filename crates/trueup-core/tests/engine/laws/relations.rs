//! Checks how metrics depend on each other: a metric equals another one over fewer rows, a part is at most its whole,
//! and a ratio is its numerator over its denominator, with every grouping.

use super::law_case::{Figures, key, law_case, metrics};
use proptest::prelude::*;
use trueup::filter::from_parameter;
use trueup_core::Value;
use trueup_core::dictionary::{Formula, Measure, StagePair, ValueFormat};

/// A metric; metrics whose sum under a filter equals it; the field of the filter; and its expression. The filter on
/// `noSuchField`, a dimension that is empty on every event, keeps every event.
const SAME: [(&str, &[&str], &str, &str); 26] = [
    ("conversions", &["eventCount"], "type", "lead-originated"),
    ("customers", &["eventCount"], "typeIsLast", "true"),
    ("soldLeads", &["leads"], "firstSold", r#"["notEmpty"]"#),
    ("closedLeads", &["leads"], "firstClosed", r#"["notEmpty"]"#),
    ("reachedLeadToBooked", &["leads"], "firstBooked", r#"["notEmpty"]"#),
    ("reachedLeadToEstimated", &["leads"], "firstEstimated", r#"["notEmpty"]"#),
    ("reachedLeadToSold", &["soldLeads"], "noSuchField", ""),
    ("reachedLeadToClosed", &["closedLeads"], "noSuchField", ""),
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

/// Counts that are at most another count.
const PARTS: [(&str, &str); 18] = [
    ("conversions", "eventCount"),
    ("leads", "conversions"),
    ("leads", "opportunityCount"),
    ("soldLeads", "leads"),
    ("closedLeads", "leads"),
    ("opportunityCount", "eventCount"),
    ("customers", "opportunityCount"),
    ("opportunityAgents", "customers"),
    ("matchedCustomers", "customers"),
    ("unmatchedCustomers", "customers"),
    ("payingCustomers", "customers"),
    ("bookedCustomers", "customers"),
    ("canceledCustomers", "customers"),
    ("gradedConversions", "conversions"),
    ("bookableConversions", "gradedConversions"),
    ("bookedConversions", "bookableConversions"),
    ("bookableUnbookedConversions", "bookableConversions"),
    ("unbookableConversions", "gradedConversions"),
];

/// A ratio, and the metrics that add up to its numerator and to its denominator.
struct Quotient {
    name: &'static str,
    above: Vec<&'static str>,
    below: Vec<&'static str>,
}

/// Returns the metric that equals the sum of some measures, or else the metric of each measure; `None` if a measure has
/// no metric.
fn side(measures: &[Measure]) -> Option<Vec<&'static str>> {
    let is = |formula: Formula, sum: &[Measure]| matches!(formula, Formula::Amount(amount) if amount == sum);
    let metric = |sum: &[Measure]| metrics().find(|(_, metric)| is(metric.formula, sum)).map(|(field, _)| field.name);
    match metric(measures) {
        Some(name) => Some(vec![name]),
        None => measures.iter().map(|measure| metric(&[*measure])).collect(),
    }
}

/// Returns the ratios whose sides can both be selected, and the names of the other ratios.
fn quotients() -> (Vec<Quotient>, Vec<&'static str>) {
    let (mut known, mut others) = (Vec::new(), Vec::new());
    for (field, metric) in metrics() {
        if let Formula::Ratio { numerator, denominator } = metric.formula {
            match side(numerator).zip(side(denominator)) {
                Some((above, below)) => known.push(Quotient { name: field.name, above, below }),
                None => others.push(field.name),
            }
        }
    }
    (known, others)
}

/// Returns whether a value is money, and the value: a count, or money in millionths.
fn exact(value: Value<'_>) -> (bool, i128) {
    match value {
        Value::Count(count) => (false, i128::from(count)),
        Value::Money(micros) => (true, micros),
        other => panic!("{other:?}"),
    }
}

/// Returns the sum of values as a double. The sum is written as decimal text and parsed, which rounds once.
fn sum(values: impl Iterator<Item = (bool, i128)>) -> f64 {
    let (is_money, sum) = values.fold((false, 0), |(any, sum), (is_money, value)| (any || is_money, sum + value));
    let text = if is_money {
        let sign = if sum < 0 { "-" } else { "" };
        format!("{sign}{}.{:06}", sum.unsigned_abs() / 1_000_000, sum.unsigned_abs() % 1_000_000)
    } else {
        sum.to_string()
    };
    text.parse().unwrap()
}

/// `a_ratio_is_its_numerator_over_its_denominator` checks all other ratios; the naive oracle checks these, and the laws
/// of `durations` the averages of days.
#[test]
fn only_steps_late_cancellations_and_days_have_sides_without_metrics() {
    let (known, mut others) = quotients();
    let averages = others.extract_if(.., |name| name.starts_with("avgDays")).count();
    assert_eq!(averages, StagePair::ALL.len());
    assert_eq!(others, ["cancelRate", "stepBookRate", "stepEstimateRate", "stepSoldRate", "stepCloseRate"]);
    assert!(known.len() >= 13, "{}", known.len());
}

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
            let key = key(&all, row, &asked.dimensions);
            let leads = all.value(row, "leads").and_then(|value| value.as_f64()).unwrap();
            let rate = all.value(row, "stepBookRate").and_then(|value| value.as_f64()).unwrap();
            #[expect(clippy::cast_precision_loss, reason = "a few dozen at most")]
            let booked = booked.of(&key)[0] as f64;
            prop_assert_eq!(rate, if leads == 0.0 { 0.0 } else { booked / leads }, "{:?}", key);
        }
    }

    #[test]
    fn a_part_is_at_most_the_whole_and_a_percentage_at_most_1(asked in law_case()) {
        let names: Vec<&str> = metrics().map(|(field, _)| field.name).collect();
        let table = asked.ask(&asked.query(asked.fields(&names)));
        for row in table.rows() {
            let value = |name| row.get(name).and_then(|value| value.as_f64()).unwrap();
            for (part, whole) in PARTS {
                prop_assert!(value(part) <= value(whole), "{} {} > {} {}", part, value(part), whole, value(whole));
            }
            for (field, _) in metrics() {
                prop_assert!(value(field.name).is_finite(), "{}", field.name);
                if field.format == ValueFormat::Percent {
                    prop_assert!((0.0..=1.0).contains(&value(field.name)), "{} {}", field.name, value(field.name));
                }
            }
        }
    }

    #[test]
    fn a_ratio_is_its_numerator_over_its_denominator(asked in law_case()) {
        let (quotients, _) = quotients();
        let sides = quotients.iter().flat_map(|quotient| quotient.above.iter().chain(&quotient.below)).copied();
        let names: Vec<&str> = quotients.iter().map(|quotient| quotient.name).chain(sides).collect();
        let table = asked.ask(&asked.query(asked.fields(&names)));
        for row in table.rows() {
            for quotient in &quotients {
                let side = |names: &[&str]| sum(names.iter().map(|name| exact(row.get(name).unwrap())));
                let (above, below) = (side(&quotient.above), side(&quotient.below));
                let expected = if below == 0.0 { 0.0 } else { above / below };
                prop_assert_eq!(row.get(quotient.name), Some(Value::Ratio(expected)), "{}", quotient.name);
            }
        }
    }
}
