//! Comparisons: the engine against the naive oracle, with and without definitions, what adds up, and what is refused.

use crate::run::{Refused, ask, dataset, day, defined, json, refused, requested_of, same_refusal};
use proptest::prelude::*;
use std::num::NonZeroUsize;
use trueup_core::dataset::Dataset;
use trueup_core::definitions::Definitions;
use trueup_core::dictionary::Formula;
use trueup_core::query::{CohortWindow, ComparedColumn, ComparisonRange, DateRange, EventsQuery, Interval, SortKey};
use trueup_core::{Day, Error, Execution, QueryError, ResultTable, Value};
use trueup_testkit::cases::{comparison_case, defined_comparison_case};
use trueup_testkit::exhaustive::cases;
use trueup_testkit::oracle::{self, Request, Tables, compared, compared_totals};

/// Events per row group: few, so that most cases have several row groups.
const ROW_GROUP_ROWS: usize = 7;

pub(crate) fn engine_earlier(earlier: oracle::Earlier) -> ComparisonRange {
    match earlier {
        oracle::Earlier::PreviousPeriod => ComparisonRange::PreviousPeriod,
        oracle::Earlier::PreviousYear => ComparisonRange::PreviousYear,
        oracle::Earlier::Range(start, end) => ComparisonRange::Range(DateRange { start: day(start), end: day(end) }),
    }
}

/// Tables with definitions, a request, and a range to compare with.
type Case = (Tables, Request, oracle::Definitions, oracle::Earlier);

/// Generates cases of which half have definitions.
fn any_case() -> impl Strategy<Value = Case> {
    let without = |(tables, request, earlier)| (tables, request, oracle::Definitions::default(), earlier);
    prop_oneof![comparison_case().prop_map(without).boxed(), defined_comparison_case().boxed()]
}

/// Returns the columns of an answer.
fn columns(fields: &[String], definitions: &Definitions) -> Vec<String> {
    let parts = ComparedColumn::of(Formula::Ratio { numerator: &[], denominator: &[] });
    let of_field = |name: &String| {
        let is_metric = ComparedColumn::split_with(name, definitions).is_some();
        let columns = parts.iter().map(|part| format!("{name}{}", part.suffix()));
        let of_metric = columns.filter(|column| ComparedColumn::split_with(column, definitions).is_some());
        if is_metric { of_metric.collect() } else { vec![name.clone()] }
    };
    fields.iter().flat_map(of_field).collect()
}

/// Returns whether the engine can represent the earlier range. It refuses days before 1970, which the oracle does not.
pub(crate) fn has_days(request: &Request, earlier: oracle::Earlier) -> bool {
    Day::from_date(earlier.range(request.start, request.end).0).is_ok()
}

/// Generates for each key which column of the answer it names, and whether larger values come first.
fn keys() -> impl Strategy<Value = Vec<(prop::sample::Index, bool)>> {
    proptest::collection::vec(any::<(prop::sample::Index, bool)>(), 0..=2)
}

/// Returns a number of a column without texts; `None` for null.
fn number(table: &ResultTable, row: usize, column: &str) -> Option<f64> {
    table.value(row, column).unwrap().as_f64()
}

/// Checks that the engine and the oracle give the same answer and the same totals, or refuse for the same reason.
fn agrees(
    dataset: &Dataset,
    (tables, request, definitions, earlier): &Case,
    keys: &[(String, bool)],
    limit: Option<usize>,
    execution: &Execution,
) -> Result<(), TestCaseError> {
    let asked = asked(dataset, request, *earlier, keys, limit);
    let found = asked.clone().and_then(|query| ask(dataset, &query, execution.clone()));
    match (found, compared(tables, request, definitions, *earlier, keys, limit)) {
        (Ok(found), Ok(expected)) => prop_assert_eq!(json(&found), expected),
        (Err(found), Err(expected)) => {
            prop_assert!(same_refusal(&found, &expected), "{:?} but {:?}", found, expected);
            return Ok(());
        }
        (found, expected) => return Err(TestCaseError::fail(format!("engine {found:?}, oracle {expected:?}"))),
    }
    // The totals are the same query without dimensions and conditions on metrics, and change no row.
    let answer = ask(dataset, &asked.unwrap().totals(), execution.clone()).unwrap();
    let of_metrics = answer.totals().unwrap().columns().iter();
    let of_metric = |name: &str| ComparedColumn::split_with(name, dataset.definitions()).is_some();
    let of_metrics = of_metrics.filter(|column| of_metric(&column.name)).cloned().collect();
    let expected = compared_totals(tables, request, definitions, *earlier).unwrap();
    prop_assert_eq!(json(&ResultTable::from_columns(of_metrics)), expected);
    let batch = answer.clone().with_totals_row().record_batch().unwrap();
    prop_assert_eq!(batch.num_rows(), answer.len() + 1);
    Ok(())
}

/// Converts a request to a query that compares.
fn asked(
    dataset: &Dataset,
    request: &Request,
    earlier: oracle::Earlier,
    keys: &[(String, bool)],
    limit: Option<usize>,
) -> Result<EventsQuery, Refused> {
    let query = requested_of(dataset.definitions(), request)?.compare(engine_earlier(earlier));
    let sorted = keys.iter().fold(query, |query, (column, descending)| {
        query.sort(if *descending { SortKey::descending(column) } else { SortKey::ascending(column) })
    });
    Ok(limit.into_iter().fold(sorted, EventsQuery::limit))
}

/// Checks that the effects of a ratio are null on all rows, or add up to the change of the total.
fn adds_up(answer: &ResultTable, metric: &str) -> Result<(), TestCaseError> {
    let effects = |part: ComparedColumn| {
        let column = format!("{metric}{}", part.suffix());
        (0..answer.len()).map(|row| number(answer, row, &column)).collect::<Vec<Option<f64>>>()
    };
    let effects = [effects(ComparedColumn::RateEffect), effects(ComparedColumn::MixEffect)].concat();
    let known: Vec<f64> = effects.iter().copied().flatten().collect();
    prop_assert!(known.is_empty() || known.len() == effects.len());
    if !known.is_empty() {
        let sum: f64 = known.iter().sum();
        let change = number(answer.totals().unwrap(), 0, &format!("{metric}.change")).unwrap();
        let size: f64 = known.iter().map(|effect| effect.abs()).sum();
        prop_assert!((sum - change).abs() <= 1e-12 * size.max(change.abs()), "{}: {} but {}", metric, sum, change);
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(4_000))]

    #[test]
    fn comparisons_agree_with_the_naive_oracle(
        (case, keys, limit, threads) in
            (any_case(), keys(), prop_oneof![3 => Just(None), 1 => (0..6_usize).prop_map(Some)], 1_usize..4),
    ) {
        let dataset = defined(&case.0, &case.2, ROW_GROUP_ROWS);
        let columns = columns(&case.1.fields, dataset.definitions());
        let keys = keys.into_iter().filter(|_| !columns.is_empty());
        let keys: Vec<(String, bool)> =
            keys.map(|(column, descending)| (column.get(&columns).clone(), descending)).collect();
        let execution = Execution { threads: NonZeroUsize::new(threads), ..Execution::default() };
        if has_days(&case.1, case.3) {
            agrees(&dataset, &case, &keys, limit, &execution)?;
        }
    }
}

proptest! {
    /// The effects of all groups add up to the change of the total. A test in the engine adds them without rounding.
    #[test]
    fn effects_add_up_to_the_change_of_the_total((tables, request, definitions, earlier) in any_case()) {
        // Conditions on metrics would drop rows.
        let request = Request { filters: Vec::new(), filter: Vec::new(), ..request };
        let dataset = defined(&tables, &definitions, ROW_GROUP_ROWS);
        let query = asked(&dataset, &request, earlier, &[], None).map(EventsQuery::totals);
        if has_days(&request, earlier)
            && let Ok(answer) = query.and_then(|query| ask(&dataset, &query, Execution::default()))
        {
            for column in answer.columns() {
                let split = ComparedColumn::split_with(&column.name, dataset.definitions());
                if let Some((metric, ComparedColumn::RateEffect)) = split {
                    adds_up(&answer, metric)?;
                }
            }
        }
    }
}

fn query_of(fields: &[&str]) -> EventsQuery {
    let (start, end) = ("2025-03-01".parse().unwrap(), "2025-03-31".parse().unwrap());
    EventsQuery::new(fields.iter().copied(), start, end).compare(ComparisonRange::PreviousPeriod)
}

#[test]
fn comparisons_have_no_interval() {
    let dataset = dataset(&Tables::default(), ROW_GROUP_ROWS);
    assert_eq!(
        refused(&dataset, &query_of(&["leads"]).interval(Interval::Month)).to_string(),
        "a comparison has one row per group, and none per month; leave the interval out, or compare each month by itself"
    );
}

#[test]
fn a_range_to_compare_with_has_days() {
    let dataset = dataset(&Tables::default(), ROW_GROUP_ROWS);
    let with = |start: &str, end: &str| {
        let range = DateRange { start: start.parse().unwrap(), end: end.parse().unwrap() };
        query_of(&["leads"]).compare(ComparisonRange::Range(range))
    };
    let (start, end) = ("2025-01-02".parse().unwrap(), "2025-01-01".parse().unwrap());
    assert_eq!(refused(&dataset, &with("2025-01-02", "2025-01-01")), QueryError::ReversedComparison { start, end });
    // Only the range that is asked for obeys the attribution window.
    assert!(dataset.query(&with("2020-01-01", "2024-12-31")).is_ok());
    let first = "1970-01-01".parse().unwrap();
    let query = EventsQuery::new(["leads"], first, first).compare(ComparisonRange::PreviousPeriod);
    assert!(matches!(refused(&dataset, &query), QueryError::ComparedTooEarly(_)));
    let long = EventsQuery::new(["leads"], end, "2025-12-31".parse().unwrap()).compare(ComparisonRange::PreviousYear);
    assert!(matches!(refused(&dataset, &long), QueryError::SpanTooLong { days: 365, .. }));
    assert!(dataset.query(&long.cohort(CohortWindow::Days(30))).is_ok());
}

#[test]
fn columns_of_a_comparison_are_no_fields_and_sort_it() {
    let dataset = dataset(&Tables::default(), ROW_GROUP_ROWS);
    let name = "leads.change".to_owned();
    let query = query_of(&["leads", "leads.change"]).allow_unknown(true);
    assert_eq!(refused(&dataset, &query), QueryError::ReservedComparisonField { name });
    assert!(dataset.query(&query_of(&["leads", "spend.change"]).allow_unknown(true)).is_ok());
    for column in ["campaign", "leads", "leads.ratio", "bookRate.mixEffect"] {
        assert!(dataset.query(&query_of(&["campaign", "leads", "bookRate"]).sort(column)).is_ok());
    }
    assert_eq!(
        refused(&dataset, &query_of(&["campaign", "leads"]).sort("leads.mixEffect")).to_string(),
        "expected to sort by a column of the answer (`campaign`, `leads`, `leads.previous`, `leads.change`, \
         `leads.ratio`), with `:asc` or `:desc` after it or neither, but found `leads.mixEffect`"
    );
}

#[test]
fn comparisons_obey_the_limit_on_rows() {
    let tables = Tables::default();
    let execution = Execution { max_rows: Some(0), ..Execution::default() };
    let error = dataset(&tables, ROW_GROUP_ROWS).run(&query_of(&["leads"]), execution).unwrap_err();
    assert!(matches!(error, Error::Query(QueryError::TooManyRows { limit: 0 })));
}

#[test]
fn values_without_events_are_zero_or_null() {
    let dataset = dataset(&Tables::default(), ROW_GROUP_ROWS);
    let answer = dataset.query(&query_of(&["leads", "spend", "bookRate"])).unwrap();
    let row: Vec<Value<'_>> = answer.rows().next().unwrap().values().map(|(_, value)| value).collect();
    let (none, zero) = (Value::Null, Value::Number(0.0));
    assert_eq!(row[..4], [Value::Count(0), Value::Count(0), Value::Integer(0), none]);
    assert_eq!(row[4..8], [Value::Money(0), Value::Money(0), Value::Money(0), none]);
    assert_eq!(row[8..], [Value::Ratio(0.0), Value::Ratio(0.0), zero, none, none, none]);
}

#[test]
fn a_comparison_is_serialized_by_its_name_and_left_out_if_absent() {
    let query = query_of(&["leads"]);
    let json = serde_json::to_string(&query).unwrap();
    assert!(json.contains(r#""compare":"previous-period""#), "{json}");
    assert_eq!(serde_json::from_str::<EventsQuery>(&json).unwrap(), query);
    assert!(serde_json::from_str::<EventsQuery>(&json.replace("previous-period", "previous")).is_err());
    let (start, end) = (query.range().start, query.range().end);
    assert!(!serde_json::to_string(&EventsQuery::new(["leads"], start, end)).unwrap().contains("compare"));
}
