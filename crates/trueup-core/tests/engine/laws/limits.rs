//! Checks that a part is at most its whole, that percentages are between 0 and 1, and that every number is finite.

use super::law_case::{law_case, metrics};
use proptest::prelude::*;
use trueup_core::dictionary::ValueFormat;

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

proptest! {
    #![proptest_config(super::config())]

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
}
