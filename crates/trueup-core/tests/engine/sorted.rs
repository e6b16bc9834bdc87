//! Sorted and limited answers, and totals: the engine against the naive oracle, and what is refused.

use crate::run::{ask, dataset, json, refused, requested};
use proptest::prelude::*;
use trueup_core::query::{EventsQuery, SortKey};
use trueup_core::{Execution, QueryError, ResultTable, Value, Values};
use trueup_testkit::cases::case;
use trueup_testkit::exhaustive::cases;
use trueup_testkit::oracle::{Definitions, Request, Tables, sorted_answer, totals};

/// Generates for each key which column of the answer it names, and whether larger values come first.
fn keys() -> impl Strategy<Value = Vec<(prop::sample::Index, bool)>> {
    proptest::collection::vec(any::<(prop::sample::Index, bool)>(), 1..=3)
}

/// Returns the columns of an answer.
fn columns(request: &Request) -> Vec<String> {
    let days = ["start", "end"].into_iter().filter(|_| request.interval != "total");
    days.map(str::to_owned).chain(request.fields.iter().cloned()).collect()
}

fn query_of(request: &Request) -> Option<EventsQuery> {
    // Requests at fault are compared elsewhere.
    requested(request).ok().filter(|query| query.check().is_ok())
}

/// Returns the metrics of a table of totals as JSON.
fn metrics(totals: &ResultTable) -> String {
    let is_metric = |values: &Values| matches!(values, Values::Counts(_) | Values::Money(_) | Values::Ratios(_));
    let columns = totals.columns().iter().filter(|column| is_metric(&column.values)).cloned();
    json(&ResultTable::from_columns(columns.collect()))
}

proptest! {
    #![proptest_config(cases(500))]

    /// An answer is sorted stably, and the limit keeps its first rows.
    #[test]
    fn sorted_answers_are_those_of_the_oracle(
        ((tables, request), keys, limit) in (case(), keys(), prop_oneof![Just(None), (0..6_usize).prop_map(Some)]),
    ) {
        let Some(mut query) = query_of(&request) else { return Ok(()) };
        let columns = columns(&request);
        let keys: Vec<(String, bool)> =
            keys.into_iter().map(|(column, descending)| (column.get(&columns).clone(), descending)).collect();
        for (column, descending) in &keys {
            query = query.sort(if *descending { SortKey::descending(column) } else { SortKey::ascending(column) });
        }
        if let Some(limit) = limit {
            query = query.limit(limit);
        }
        let found = ask(&dataset(&tables, 7), &query, Execution::default());
        let expected = sorted_answer(&tables, &request, &Definitions::default(), &keys, limit);
        prop_assert_eq!(found.is_ok(), expected.is_ok());
        if let (Ok(found), Ok(expected)) = (found, expected) {
            prop_assert_eq!(json(&found), expected);
        }
    }

    /// Totals are the answer to the same query without dimensions over the whole range. They change no row, and no
    /// limit, sort or condition on a metric changes them.
    #[test]
    fn totals_are_those_of_the_oracle((tables, request) in case()) {
        let Some(query) = query_of(&request) else { return Ok(()) };
        let dataset = dataset(&tables, 7);
        let ask = |query: EventsQuery| ask(&dataset, &query, Execution::default());
        let Ok(expected) = totals(&tables, &request, &Definitions::default()) else { return Ok(()) };
        let plain = ask(query.clone()).unwrap();
        prop_assert_eq!(plain.totals(), None);
        let column = columns(&request).into_iter().next_back().unwrap();
        let totals_query = query.totals();
        let answer = ask(totals_query.clone()).unwrap();
        prop_assert_eq!(json(&plain), json(&answer));
        let total = answer.totals().unwrap();
        prop_assert_eq!((total.len(), metrics(total)), (1, expected.clone()));
        let limited = ask(totals_query.sort(SortKey::descending(column)).limit(1)).unwrap();
        prop_assert_eq!(metrics(limited.totals().unwrap()), expected);

        // Totals can be shown as the last row, marked as such, of a table that is otherwise equal.
        let rows = answer.clone().with_totals_row();
        prop_assert_eq!(rows.len(), plain.len() + 1);
        for (column, plain) in rows.columns().iter().skip(1).zip(plain.columns()) {
            prop_assert_eq!(&column.name, &plain.name);
            prop_assert!((0..answer.len()).all(|row| column.value(row) == plain.value(row)));
            prop_assert_eq!(column.value(answer.len()), total.value(0, &plain.name));
        }
        let types: Vec<_> = rows.rows().map(|row| row.get("rowType")).collect();
        prop_assert!(types.iter().take(plain.len()).all(|kind| *kind == Some(Value::Text("group"))));
        prop_assert_eq!(types.last(), Some(&Some(Value::Text("total"))));
        prop_assert!(rows.record_batch().is_ok_and(|batch| batch.num_rows() == rows.len()));
    }
}

fn refusal(query: EventsQuery) -> QueryError {
    refused(&dataset(&Tables::default(), 7), &query)
}

fn query<'a>(fields: impl IntoIterator<Item = &'a str>, end: &str) -> EventsQuery {
    EventsQuery::new(fields, "2025-01-01".parse().unwrap(), end.parse().unwrap())
}

#[test]
fn only_columns_of_the_answer_sort_it() {
    let query = || query(["campaign", "leads", "leads"], "2025-01-31");
    for column in ["clicks:desc", "start", "leads:down", ""] {
        let name = column.strip_suffix(":desc").unwrap_or(column).to_owned();
        let columns = vec!["campaign".to_owned(), "leads".to_owned()];
        assert_eq!(refusal(query().sort("leads").sort(column)), QueryError::UnknownSortColumn { name, columns });
    }
    assert_eq!(
        refusal(query().interval(trueup_core::query::Interval::Day).sort("leads:down")).to_string(),
        "expected to sort by a column of the answer (`start`, `end`, `campaign`, `leads`), with `:asc` or `:desc` after \
         it or neither, but found `leads:down`"
    );
}

#[test]
fn totals_obey_the_attribution_window() {
    let query = |end| query(["leads"], end).interval(trueup_core::query::Interval::Month).totals();
    assert_eq!(refusal(query("2025-04-01")), QueryError::TotalsTooLong { days: 91, limit: 90 });
    let dataset = dataset(&Tables::default(), 7);
    for query in [query("2025-03-31"), query("2025-04-01").allow_long_total()] {
        assert_eq!(metrics(dataset.query(&query).unwrap().totals().unwrap()), r#"[{"leads":0}]"#);
    }
}

#[test]
fn the_column_that_marks_totals_is_no_field() {
    let fields = ["rowType", "leads"];
    assert_eq!(
        refusal(query(fields, "2025-01-31").totals()).to_string(),
        "a field cannot be named `rowType` in a query with totals: answers mark the totals under that name"
    );
    assert!(query(fields, "2025-01-31").check().is_ok());
}
