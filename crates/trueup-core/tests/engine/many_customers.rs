//! Checks many customers, long histories and much spend, in one row group and in many. The engine derives the outcome
//! of a segment once for all customers with the same history; the result must be right for each of them.

use crate::run::{dataset, run};
use arrow_array::{ArrayRef, Date32Array, Decimal128Array, RecordBatch, StringArray};
use chrono::{Days, NaiveDate};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use trueup_core::dataset::{Dataset, Tables as CanonicalTables};
use trueup_core::dictionary::{self, FieldKind};
use trueup_core::query::{EventsQuery, Filter, Interval};
use trueup_core::{Execution, Value};
use trueup_testkit::exhaustive::cases;
use trueup_testkit::oracle::{Attribution, Cell, EventRow, Request, SpendRow, Tables, answer};

const STAGES: [&str; 6] = ["lead-originated", "booked", "estimated", "sold", "closed", "canceled"];

/// The number of days that events have.
const DAYS: u64 = 12;

fn day(offset: u64) -> NaiveDate {
    NaiveDate::from_ymd_opt(2026, 3, 25).unwrap() + Days::new(offset)
}

/// Returns the stage, the day and the campaign of each event of each customer. Some customers have too many events for
/// a pattern, and there are more patterns than pattern ids.
fn customers() -> impl Strategy<Value = Vec<Vec<(usize, u64, u64)>>> {
    let event = (0..STAGES.len(), 0..DAYS, 0..3_u64);
    let likely = (prop_oneof![3 => Just(0_usize), 2 => Just(1), 1 => Just(5)], 0..DAYS, 0..3_u64);
    let any = prop::collection::vec(event, 1..6);
    let long = prop::collection::vec(likely.clone(), 5..12);
    let short = prop::collection::vec(likely, 1..4);
    prop::collection::vec(prop_oneof![3 => any, 3 => long, 2 => short], 760..880)
}

fn tables(customers: &[Vec<(usize, u64, u64)>]) -> Tables {
    let mut events = Vec::new();
    for (number, history) in customers.iter().enumerate() {
        for (stage, offset, campaign) in history {
            // Every other customer has a single campaign, and so have all customers of some row groups.
            let campaign = if number % 2 == 0 || number / 100 % 2 == 0 { 0 } else { *campaign };
            let other = [("campaign", format!("{campaign}")), ("attributionChannel", format!("{}", number % 3))];
            events.push(EventRow {
                account: "acme".to_owned(),
                opportunity_id: format!("{number:05}"),
                kind: STAGES[*stage].to_owned(),
                date: Some(day(*offset)),
                date_time: None,
                event_id: None,
                total: Some(i64::try_from(number).unwrap() * 10_000),
                other: other
                    .map(|(name, text)| (name.to_owned(), Cell::Text(text)))
                    .into_iter()
                    .collect::<BTreeMap<_, _>>(),
            });
        }
    }
    Tables { events, ..Tables::default() }
}

/// A query's interval, dimensions and metrics.
type QueryParts<'a> = (&'a str, &'a [&'a str], &'a [&'a str]);

/// Compares answers over the days from `first` to `last` with those of the oracle: for each of `row_group_rows`, in row
/// groups of about that many rows, which one thread reads.
fn check(
    customers: &[Vec<(usize, u64, u64)>],
    row_group_rows: &[usize],
    (first, last): (u64, u64),
    queries: &[QueryParts<'_>],
) -> Result<(), TestCaseError> {
    check_tables(&tables(customers), row_group_rows, (first, last), queries, &[])
}

fn check_tables(
    tables: &Tables,
    row_group_rows: &[usize],
    (first, last): (u64, u64),
    queries: &[QueryParts<'_>],
    filters: &[(&str, &str)],
) -> Result<(), TestCaseError> {
    let filters: Vec<_> = filters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let datasets: Vec<_> = row_group_rows.iter().map(|rows| dataset(tables, *rows)).collect();
    let attributed = |query| [Attribution::Recorded, Attribution::Last].map(|attribution| (query, attribution));
    for ((interval, dimensions, metrics), attribution) in queries.iter().flat_map(attributed) {
        let request = Request {
            fields: dimensions.iter().chain(*metrics).map(|name| (*name).to_owned()).collect(),
            start: day(first),
            end: day(last),
            interval: (*interval).to_owned(),
            accounts: None,
            filters: filters.clone(),
            filter: Vec::new(),
            cohort: None,
            attribution,
        };
        let expected = answer(tables, &request).unwrap();
        for (dataset, row_group_rows) in datasets.iter().zip(row_group_rows) {
            let alone = Execution { threads: NonZeroUsize::new(1), ..Execution::default() };
            let found = run(dataset, &request, alone).unwrap();
            prop_assert_eq!(found, &*expected, "{} {:?} {:?} {}", interval, dimensions, metrics, row_group_rows);
        }
    }
    Ok(())
}

/// Metrics with few distinct increments.
const FEW: [&str; 3] = ["leads", "customers", "closedRevenue"];
/// Metrics of days that begin with the first event of a customer.
const FROM_LEAD: [&str; 2] = ["avgDaysLeadToEstimated", "p90DaysLeadToBooked"];
/// Metrics of days that may begin with any event.
const DURATIONS: [&str; 3] = ["reachedBookedToEstimated", "medianDaysEstimatedToSold", "avgDaysLeadToClosed"];
/// Metrics with many distinct increments.
const MANY: [&str; 7] =
    ["leads", "customers", "closedRevenue", "conversions", "stepBookRate", "stepEstimateRate", "cancelRate"];

proptest! {
    #![proptest_config(cases(8))]

    #[test]
    fn every_customer_is_counted_by_its_own_history(customers in customers(), first in 0..DAYS / 2, last in DAYS / 2..DAYS) {
        let metrics = dictionary::fields().filter(|field| matches!(field.kind, FieldKind::Metric(_)));
        let all: Vec<&str> = metrics.map(|field| field.name).collect();
        let groups = [
            ("total", &[][..]),
            ("total", &["attributionChannel"]),
            ("total", &["campaign", "adjustedType"]),
            ("week", &["attributionChannel"]),
            ("week", &["campaign"]),
            ("day", &[]),
            ("day", &["typeIsLast"]),
        ];
        let queries = [&*all, &FEW, &MANY, &FROM_LEAD, &DURATIONS].map(|metrics| groups.map(|(interval, dimensions)| (interval, dimensions, metrics)));
        check(&customers, &[65_536, 400], (first, last), &queries.concat())?;
    }

    #[test]
    fn increments_that_appear_late_are_counted(
        long in prop::collection::vec(prop::collection::vec((0..STAGES.len(), 2..DAYS, 0..3_u64), 7..12), 300),
    ) {
        // More customers than a batch has, followed by some whose histories have no pattern.
        let same = vec![vec![(0, 0, 1), (1, 1, 1)]; 2_200];
        check(&[same, long].concat(), &[65_536], (0, DAYS), &[("total", &["attributionChannel"], &MANY)])?;
    }
}

/// There are more histories without a pattern than the cache keeps for the next row group, where some occur again.
#[test]
fn classes_that_the_cache_dropped_are_found_again() {
    let history = |number: usize| {
        let stages = (0..7).scan(number % 17_000, |rest, day| {
            let stage = *rest % STAGES.len();
            *rest /= STAGES.len();
            Some((stage, day, 0))
        });
        stages.collect()
    };
    let customers: Vec<_> = (0..18_000).map(history).collect();
    check(&customers, &[120_000], (0, DAYS), &[("total", &["attributionChannel"], &MANY)]).unwrap();
}

/// There are more rows of spend than a batch has, of days in the range and outside it, with a campaign and without.
#[test]
fn every_row_of_spend_counts_once() {
    let row = |number: u32| {
        let amount = |factor: i64| (!number.is_multiple_of(11)).then(|| i64::from(number) * factor);
        SpendRow {
            account: "acme".to_owned(),
            date: day(u64::from(number) * 7 % DAYS),
            attribution_category: None,
            attribution_channel: Some(format!("{}", number % 3)),
            campaign: (!number.is_multiple_of(5)).then(|| format!("{}", number % 4)),
            ad_spend: amount(10_000),
            management_fee: amount(1_001),
            clicks: Some(u64::from(number % 13)),
            impressions: None,
        }
    };
    let tables = Tables { spend: (0..10_000).map(row).collect(), ..tables(&[vec![(0, 3, 0)]]) };
    let metrics = ["leads", "spend", "cost", "campaignSpend", "clicks", "impressions"];
    let groups = [("total", &[][..]), ("total", &["campaign"]), ("day", &["attributionChannel"]), ("total", &["date"])];
    let queries = groups.map(|(interval, dimensions)| (interval, dimensions, &metrics[..]));
    for filters in [&[][..], &[("campaign", "2")]] {
        check_tables(&tables, &[65_536, 400], (2, DAYS - 2), &queries, filters).unwrap();
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
