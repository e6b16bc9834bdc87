//! Checks which rows an answer has, and in which order.

use super::independence::sub_ranges;
use super::law_case::{Key, key, law_case, metrics};
use proptest::prelude::*;
use trueup_core::query::Interval;
use trueup_core::{ResultTable, Value};

/// Returns whether keys are strictly ascending, so that no two rows are of the same group. Rust orders texts by their
/// bytes.
fn is_ascending(keys: &[Key]) -> bool {
    keys.windows(2).all(|pair| pair[0] < pair[1])
}

fn keys<D: AsRef<str>>(table: &ResultTable, dimensions: &[D]) -> Vec<Key> {
    (0..table.len()).map(|row| key(table, row, dimensions)).collect()
}

proptest! {
    #![proptest_config(super::config())]

    #[test]
    fn rows_are_ordered_by_start_and_then_by_the_bytes_of_their_dimensions(asked in law_case()) {
        let names: Vec<&str> = metrics().map(|(field, _)| field.name).collect();
        let table = asked.ask(&asked.query(asked.fields(&names)));
        let keys = keys(&table, &asked.dimensions);
        prop_assert!(is_ascending(&keys), "{:?}", keys);
    }

    /// The rows are the same, ordered by the dimensions in the order in which the query names them.
    #[test]
    fn the_order_of_the_fields_changes_only_the_order_of_rows(
        (asked, turn) in (law_case(), any::<prop::sample::Index>()),
    ) {
        let mut turned = asked.dimensions.clone();
        turned.rotate_left(turn.index(asked.dimensions.len().max(1)));
        let straight = asked.ask(&asked.query(asked.fields(&["eventCount", "spend"])));
        let fields = ["spend"].into_iter().chain(turned.iter().map(String::as_str)).chain(["eventCount"]);
        let turned_table = asked.ask(&asked.query(fields));
        prop_assert!(is_ascending(&keys(&turned_table, &turned)));
        let mut rows = [Vec::new(), Vec::new()];
        for (rows, table) in rows.iter_mut().zip([&straight, &turned_table]) {
            for row in 0..table.len() {
                let figures = [table.value(row, "eventCount"), table.value(row, "spend")];
                rows.push((key(table, row, &asked.dimensions), format!("{figures:?}")));
            }
            rows.sort();
        }
        prop_assert_eq!(&rows[0], &rows[1]);
    }

    #[test]
    fn without_dimensions_each_sub_range_has_one_row(asked in law_case()) {
        let names: Vec<&str> = metrics().map(|(field, _)| field.name).collect();
        let table = asked.ask(&asked.query(names));
        let expected = sub_ranges(&asked.request);
        prop_assert_eq!(table.len(), expected.len());
        if asked.interval() == Interval::Total {
            prop_assert!(table.column("start").is_none() && table.column("end").is_none());
        } else {
            for (row, (start, end)) in table.rows().zip(expected) {
                prop_assert_eq!(row.get("start"), Some(Value::Day(start)));
                prop_assert_eq!(row.get("end"), Some(Value::Day(end)));
            }
        }
    }

    /// A row has events, or spend that is not 0.
    #[test]
    fn with_dimensions_no_row_is_empty(asked in law_case()) {
        if asked.dimensions.is_empty() {
            return Ok(());
        }
        let figures = ["eventCount", "spend", "cost", "clicks", "impressions"];
        let table = asked.ask(&asked.query(asked.fields(&figures)));
        for row in table.rows() {
            let something = figures.iter().any(|name| row.get(name).and_then(|value| value.as_f64()) != Some(0.0));
            prop_assert!(something, "{:?}", row.values().collect::<Vec<_>>());
        }
        let table = asked.ask(&asked.query(asked.fields(&["eventCount", "revenuePotential"])));
        for row in table.rows() {
            prop_assert!(row.get("eventCount") != Some(Value::Count(0)));
        }
    }
}
