//! Laws of cohorts. `oracle` compares them with the naive oracle.

use crate::run::{ask, dataset, json, requested, unfiltered};
use chrono::NaiveDate;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use trueup_core::dataset::Dataset;
use trueup_core::dictionary::{self, FieldKind, Formula};
use trueup_core::query::{CohortWindow, EventsQuery, Filter, Interval};
use trueup_core::{Execution, QueryError, ResultTable, Value};
use trueup_testkit::cases::{case, cohort_case};
use trueup_testkit::oracle::{EventRow, Request, Tables, local_date};

/// Events per row group: few, so that most cases have several row groups.
const ROW_GROUP_ROWS: usize = 7;

/// The stages in the order that decides between events of one moment.
const STAGES: [&str; 6] = ["lead-originated", "booked", "estimated", "sold", "closed", "canceled"];

/// Returns the day of an event.
fn date(tables: &Tables, event: &EventRow) -> NaiveDate {
    let zone = tables.account(&event.account).time_zone;
    event.date.unwrap_or_else(|| local_date(event.date_time.unwrap(), &zone).unwrap())
}

/// Drops the events that a later one with the same id replaces.
fn without_replaced(tables: &mut Tables) {
    let mut seen = BTreeSet::new();
    tables.events.reverse();
    tables.events.retain(|event| match event.event_id.as_deref() {
        None | Some("") => true,
        Some(id) => seen.insert((event.account.clone(), id.to_owned())),
    });
    tables.events.reverse();
}

/// Returns the tables without the events of customers that are no leads.
fn of_leads(tables: &Tables) -> Tables {
    let mut firsts = BTreeMap::new();
    for event in &tables.events {
        let stage = STAGES.iter().position(|stage| *stage == event.kind).unwrap();
        let absent = if stage == 0 { i64::MIN } else { i64::MAX };
        let place = (date(tables, event), event.date_time.unwrap_or(absent), stage);
        let first = firsts.entry((&event.account, &event.opportunity_id)).or_insert(place);
        *first = place.min(*first);
    }
    let is_lead = |event: &&EventRow| firsts[&(&event.account, &event.opportunity_id)].2 == 0;
    Tables { events: tables.events.iter().filter(is_lead).cloned().collect(), ..tables.clone() }
}

/// Returns all metrics that add up over the sub-ranges of a cohort: all counts and sums except distinct agents.
fn summable() -> Vec<&'static str> {
    let metrics = dictionary::all_fields().filter(|field| match &field.kind {
        FieldKind::Metric(metric) => matches!(metric.formula, Formula::Amount(_)) && field.name != "opportunityAgents",
        FieldKind::Dimension(_) => false,
    });
    metrics.map(|field| field.name).collect()
}

/// Returns the sum of each metric over the rows of an answer.
fn sums(table: &ResultTable, metrics: &[&str]) -> Vec<i128> {
    let number = |row, metric: &str| match table.value(row, metric) {
        Some(Value::Count(count)) => i128::from(count),
        Some(Value::Money(micros)) => micros,
        other => panic!("{metric}: {other:?}"),
    };
    metrics.iter().map(|metric| (0..table.len()).map(|row| number(row, metric)).sum()).collect()
}

proptest! {
    #[test]
    fn an_unlimited_cohort_of_all_days_is_the_plain_query_on_leads((mut tables, request) in case()) {
        without_replaced(&mut tables);
        let days = || tables.events.iter().map(|event| date(&tables, event)).chain([request.start, request.end]);
        let (start, end) = (days().min().unwrap(), days().max().unwrap());
        let request = Request { start, end, interval: "total".to_owned(), ..request };
        let Ok(query) = requested(&request) else { return Ok(()) };
        let of = |tables: &Tables, query: &EventsQuery| {
            ask(&dataset(tables, ROW_GROUP_ROWS), query, Execution::default()).map(|table| json(&table))
        };
        prop_assert_eq!(of(&tables, &query.clone().cohort(CohortWindow::All)), of(&of_leads(&tables), &query));
    }

    #[test]
    fn sub_ranges_of_a_cohort_add_up((tables, request) in cohort_case(), threads in 1_usize..4) {
        let metrics = summable();
        let fields = metrics.iter().map(|name| (*name).to_owned()).collect();
        let query = unfiltered(&Request { fields, ..request }).unwrap();
        let dataset = dataset(&tables, ROW_GROUP_ROWS);
        let execution = || Execution { threads: NonZeroUsize::new(threads), ..Execution::default() };
        let of = |interval| sums(&ask(&dataset, &query.clone().interval(interval), execution()).unwrap(), &metrics);
        let whole = of(Interval::Total);
        for interval in [Interval::Day, Interval::Week, Interval::Month] {
            prop_assert_eq!(of(interval), whole.clone());
        }
        let totals = ask(&dataset, &query.clone().interval(Interval::Week).totals(), execution()).unwrap();
        prop_assert_eq!(sums(totals.totals().unwrap(), &metrics), whole);
    }

    #[test]
    fn a_window_longer_than_every_history_is_the_whole_history((tables, request) in case()) {
        let Ok(query) = requested(&request) else { return Ok(()) };
        let dataset = dataset(&tables, ROW_GROUP_ROWS);
        let of = |within| ask(&dataset, &query.clone().cohort(within), Execution::default()).map(|table| json(&table));
        prop_assert_eq!(of(CohortWindow::Days(5_000)), of(CohortWindow::All));
    }
}

#[test]
fn open_leads_outside_of_a_cohort_are_refused() {
    let (start, end) = ("2024-01-01".parse().unwrap(), "2024-12-31".parse().unwrap());
    let dataset = Dataset::from_tables(&trueup_core::dataset::Tables::default()).unwrap();
    let query = |fields: &[&str]| EventsQuery::new(fields.iter().copied(), start, end).allow_unknown(true);
    let open = |query: EventsQuery| query.filter(Filter::equals("openLeads", "0"));
    let refused = Some(QueryError::NotACohort { name: "openLeads" });
    for query in [query(&["openLeads"]), open(query(&["leads"]).allow_long_total())] {
        assert_eq!(dataset.check(&query).err(), refused);
    }
    // The range of a cohort may be longer than the attribution window, with totals too.
    for query in [query(&["openLeads"]), open(query(&["leads"])).totals()] {
        assert_eq!(dataset.check(&query.cohort(CohortWindow::Days(30))), Ok(()));
    }
    assert!(matches!(dataset.check(&query(&["leads"])), Err(QueryError::SpanTooLong { .. })));
}

#[test]
fn a_cohort_is_serialized_by_its_window_and_left_out_if_absent() {
    let day = "2024-01-01".parse().unwrap();
    let query = EventsQuery::new(["leads"], day, day);
    assert!(!serde_json::to_string(&query).unwrap().contains("cohort"));
    let json = serde_json::to_string(&query.clone().cohort(CohortWindow::Days(90))).unwrap();
    assert!(json.contains(r#""cohort":"90d""#), "{json}");
    assert_eq!(serde_json::from_str::<EventsQuery>(&json).unwrap(), query.cohort(CohortWindow::Days(90)));
    assert!(serde_json::from_str::<EventsQuery>(&json.replace("90d", "90")).is_err());
}
