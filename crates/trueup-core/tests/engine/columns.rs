//! Checks that neither cached columns nor the lengths of histories change an answer.

use crate::disk::{ingest_settings, on_disk, with_distinct_events};
use crate::run::{dataset, run};
use arrow_array::{ArrayRef, Date32Array, Decimal128Array, RecordBatch, StringArray};
use proptest::prelude::*;
use std::sync::Arc;
use std::thread;
use trueup_core::dataset::{Dataset, Tables as CanonicalTables};
use trueup_core::query::{EventsQuery, Filter, Interval};
use trueup_core::{Execution, Value};
use trueup_testkit::cases::case;

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn cached_columns_change_no_byte(
        (tables, first) in case(),
        others in prop::collection::vec(case().prop_map(|(_, request)| request), 1..4),
        settings in ingest_settings(),
        budget in prop::sample::select(vec![0_usize, 1, 700, 5_000, 1 << 30]),
    ) {
        let tables = with_distinct_events(tables);
        let folder = tempfile::tempdir().unwrap();
        let stored = on_disk(folder.path(), &tables, &settings).with_column_budget(budget);
        let in_memory = dataset(&tables, 65_536);
        let requests: Vec<_> = std::iter::once(first).chain(others).collect();
        let answers =
            |dataset| requests.iter().map(|request| run(dataset, request, Execution::default())).collect::<Vec<_>>();
        let expected = answers(&in_memory);
        let found = thread::scope(|scope| {
            [(); 2].map(|()| scope.spawn(|| answers(&stored))).map(|thread| thread.join().unwrap())
        });
        prop_assert_eq!(&found[0], &expected);
        prop_assert_eq!(&found[1], &expected);
        prop_assert_eq!(&answers(&stored), &expected);
        prop_assert!(stored.held_column_bytes() <= budget);
    }
}

/// A customer has more events than 16 bits can count, and is next to two small ones. It is booked on every day and
/// closed on the last, and its campaign alternates.
#[test]
fn a_customer_may_have_any_number_of_events() {
    const EVENTS: i32 = 140_000;
    const DAYS: i32 = 70;
    let first_day = 20_000;
    let sizes = [3, EVENTS, 3];
    let rows = || sizes.into_iter().zip(["a", "b", "c"]).flat_map(|(size, id)| (0..size).map(move |at| (size, id, at)));
    let kind = |(size, _, at): (i32, _, i32)| match at {
        0 => "lead-originated",
        at if at == size - 1 => "closed",
        _ => "booked",
    };
    let text = |value: &dyn Fn((i32, &'static str, i32)) -> &'static str| {
        Arc::new(rows().map(|row| Some(value(row))).collect::<StringArray>()) as ArrayRef
    };
    let totals = Decimal128Array::from_iter_values(rows().map(|(_, _, at)| i128::from(at) * 10_000));
    let events = RecordBatch::try_from_iter([
        ("account", text(&|_| "acme")),
        ("opportunityId", text(&|(_, id, _)| id)),
        ("type", text(&kind)),
        ("campaign", text(&|(_, _, at)| if at % 2 == 0 { "even" } else { "odd" })),
        ("date", Arc::new(Date32Array::from_iter_values(rows().map(|(size, _, at)| first_day + at * DAYS / size)))),
        ("total", Arc::new(totals.with_precision_and_scale(18, 6).unwrap())),
    ]);
    let dataset =
        Dataset::from_tables(&CanonicalTables { events: vec![events.unwrap()], ..CanonicalTables::default() }).unwrap();
    let range = dataset.date_range().unwrap();
    let query = |fields: &[&str]| EventsQuery::new(fields.to_vec(), range.start, range.end);
    let check = |query: EventsQuery, field: &str, expected: Value<'_>| {
        assert_eq!(dataset.query(&query).unwrap().value(0, field), Some(expected), "{field}");
    };
    let all = u64::try_from(sizes.iter().sum::<i32>()).unwrap();
    check(query(&["eventCount"]), "eventCount", Value::Count(all));
    check(query(&["customers"]), "customers", Value::Count(3));
    check(query(&["leads"]), "leads", Value::Count(3));
    // The amount of each event, in hundredths, is its index in the history.
    let closed = i128::from(EVENTS - 1 + 2 + 2) * 10_000;
    check(query(&["closedRevenue"]), "closedRevenue", Value::Money(closed));
    let even = query(&["eventCount", "opportunityCount"]).filter(Filter::equals("campaign", "even"));
    check(even.clone(), "eventCount", Value::Count(u64::try_from(EVENTS).unwrap() / 2 + 4));
    check(even, "opportunityCount", Value::Count(3));
    let daily = dataset.query(&query(&["eventCount", "customers"]).interval(Interval::Day)).unwrap();
    let of_days: Vec<_> = (0..daily.len()).map(|day| daily.value(day, "eventCount")).collect();
    // The large customer has 2,000 events on each of 70 days; each small one has one event on each of three days.
    let small_days = [0, DAYS / 3, DAYS * 2 / 3].map(|day| usize::try_from(day).unwrap());
    for (day, events) in of_days.into_iter().enumerate() {
        let expected = 2_000 + if small_days.contains(&day) { 2 } else { 0 };
        assert_eq!(events, Some(Value::Count(expected)), "{day}");
    }
}
