//! Splits and partial results: merged, they give the answer of the whole query to the byte; anything that does not
//! cover the query exactly once is refused.

use crate::comparison::{engine_earlier, has_days};
use crate::run::{dataset, defined, json, requested, requested_of};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use std::num::NonZeroUsize;
use trueup_core::dataset::Dataset;
use trueup_core::query::{ComparisonRange, DateRange, EventsQuery, Interval};
use trueup_core::{Day, Error, Execution, Partial, PartialError, ResultTable, Split};
use trueup_testkit::cases::{case, cohort_case, defined_comparison_case, duration_case};
use trueup_testkit::exhaustive::cases;
use trueup_testkit::oracle::Tables;

fn splits(dataset: &Dataset, query: &EventsQuery, number: usize) -> Vec<Split> {
    dataset.plan_splits(query, NonZeroUsize::new(number).unwrap()).unwrap()
}

/// Runs a split as another process would: the query and the split arrive as JSON, the partial result leaves as bytes.
fn run_elsewhere(dataset: &Dataset, query: &EventsQuery, split: &Split) -> Vec<u8> {
    let query: EventsQuery = serde_json::from_str(&serde_json::to_string(query).unwrap()).unwrap();
    let split: Split = serde_json::from_str(&serde_json::to_string(split).unwrap()).unwrap();
    dataset.run_split(&query, &split, &Execution::default()).unwrap().to_bytes().unwrap()
}

/// Merges partial results two at a time, in an order that `picks` decide.
fn merged(mut partials: Vec<Partial>, picks: &[usize]) -> Result<Partial, Error> {
    for pick in picks.iter().cycle() {
        if partials.len() == 1 {
            break;
        }
        let one = partials.swap_remove(pick % partials.len());
        let other = partials.swap_remove(pick % partials.len());
        // A merged result travels, too.
        partials.push(Partial::from_bytes(&one.merge(other)?.to_bytes()?)?);
    }
    Ok(partials.remove(0))
}

fn texts(table: &ResultTable) -> (String, Option<String>) {
    (json(table), table.totals().map(json))
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn merged_splits_give_the_answer_of_the_query(
        (tables, request) in prop_oneof![2 => case().boxed(), 1 => cohort_case().boxed(), 2 => duration_case().boxed()],
        (number, picks) in (1_usize..9, proptest::collection::vec(any::<usize>(), 1..8)),
        (totals, limit) in any::<(bool, bool)>(),
    ) {
        let Some(query) = requested(&request).ok().filter(|query| query.check().is_ok()) else { return Ok(()) };
        let query = if totals { query.totals() } else { query };
        let query = if limit { query.sort(&*request.fields[0]).limit(3) } else { query };
        is_answered_in_splits(&dataset(&tables, 7), &query, number, &picks)?;
    }

    #[test]
    fn merged_splits_give_the_answer_of_a_comparison(
        (tables, request, definitions, earlier) in defined_comparison_case(),
        (number, picks) in (1_usize..9, proptest::collection::vec(any::<usize>(), 1..8)),
        (totals, limit) in any::<(bool, bool)>(),
    ) {
        let dataset = defined(&tables, &definitions, 2);
        let Ok(query) = requested_of(dataset.definitions(), &request) else { return Ok(()) };
        let query = query.compare(engine_earlier(earlier));
        if query.check().is_err() || !has_days(&request, earlier) {
            return Ok(());
        }
        let query = if totals { query.totals() } else { query };
        let query = if limit { query.sort(&*request.fields[0]).limit(3) } else { query };
        is_answered_in_splits(&dataset, &query, number, &picks)?;
    }
}

/// Checks that splits of a query, merged in an order that `picks` decide, give its answer.
fn is_answered_in_splits(
    dataset: &Dataset,
    query: &EventsQuery,
    number: usize,
    picks: &[usize],
) -> Result<(), TestCaseError> {
    let Ok(expected) = dataset.query(query) else { return Ok(()) };
    let splits = splits(dataset, query, number);
    prop_assert!((1..=number).contains(&splits.len()));
    let bytes = splits.iter().map(|split| run_elsewhere(dataset, query, split));
    let partials: Vec<Partial> = bytes.map(|bytes| Partial::from_bytes(&bytes).unwrap()).collect();
    for (partial, split) in partials.iter().zip(&splits) {
        prop_assert_eq!(partial.rows_read(), split.rows());
    }
    let found = merged(partials, picks).unwrap().finish(dataset, query, &Execution::default()).unwrap();
    prop_assert_eq!(texts(&found), texts(&expected));
    prop_assert_eq!(found.record_batch().unwrap(), expected.record_batch().unwrap());
    Ok(())
}

/// Returns a dataset of several row groups, and a query that reads all of them, spend too.
fn example() -> (Dataset, EventsQuery) {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let rows = |tables: &Tables| tables.events.len().min(20 * tables.spend.len());
    let cases = (0..200).map(|_| case().new_tree(&mut runner).unwrap().current().0);
    let tables = cases.max_by_key(rows).unwrap();
    let dataset = dataset(&tables, 1);
    let range = dataset.date_range().unwrap();
    let fields = ["attributionChannel", "leads", "closedRevenue", "opportunityAgents", "spend"];
    let query = EventsQuery::new(fields, range.start, range.end).interval(Interval::Month);
    (dataset, query.allow_mixed_currencies(true))
}

fn partials(dataset: &Dataset, query: &EventsQuery) -> Vec<Partial> {
    let splits = splits(dataset, query, 4);
    assert!(splits.len() > 2);
    splits.iter().map(|split| dataset.run_split(query, split, &Execution::default()).unwrap()).collect()
}

fn partial_error(error: Error) -> PartialError {
    match error {
        Error::Partial(error) => error,
        other => panic!("{other}"),
    }
}

#[test]
fn a_lost_partial_result_is_named() {
    let (dataset, query) = example();
    let all = partials(&dataset, &query).len();
    for lost in 0..all {
        let mut rest = partials(&dataset, &query);
        let lost = rest.remove(lost);
        let error = merged(rest, &[0]).unwrap().finish(&dataset, &query, &Execution::default()).unwrap_err();
        match partial_error(error) {
            PartialError::Missing { row_groups, .. } => assert_eq!(row_groups.len(), lost.row_groups()),
            other => panic!("{other}"),
        }
    }
}

/// Returns the example as a comparison of its last days with the days before, so that each range reads row groups that
/// the other does not.
fn compared_example() -> (Dataset, EventsQuery) {
    let (dataset, _) = example();
    let DateRange { start, end } = dataset.date_range().unwrap();
    let middle = Day::from_number(start.number().midpoint(end.number()));
    let earlier = DateRange { start, end: Day::from_number(middle.number() - 1) };
    let query = EventsQuery::new(["attributionChannel", "leads", "spend", "roasClosed"], middle, end);
    let query = query.allow_mixed_currencies(true);
    (dataset, query.allow_long_total().compare(ComparisonRange::Range(earlier)).totals())
}

#[test]
fn a_lost_partial_result_of_either_range_is_refused() {
    let (dataset, query) = compared_example();
    let all = partials(&dataset, &query).len();
    for lost in 0..all {
        let mut rest = partials(&dataset, &query);
        rest.remove(lost);
        let error = merged(rest, &[0]).unwrap().finish(&dataset, &query, &Execution::default()).unwrap_err();
        assert!(matches!(partial_error(error), PartialError::Missing { .. }));
    }
}

#[test]
fn a_repeated_partial_result_is_refused() {
    let (dataset, query) = example();
    let mut twice = partials(&dataset, &query);
    twice.push(partials(&dataset, &query).remove(1));
    let error = partial_error(merged(twice, &[0, usize::MAX]).unwrap_err());
    assert!(matches!(error, PartialError::Repeated { .. }), "{error}");
}

#[test]
fn a_partial_result_of_another_dataset_or_query_is_refused() {
    let ((dataset, query), (other_dataset, _)) = (example(), example());
    let other_query = query.clone().limit(5);
    let mine = || partials(&dataset, &query).remove(0);
    for (other, is_dataset) in
        [(partials(&other_dataset, &query).remove(1), true), (partials(&dataset, &other_query).remove(1), false)]
    {
        let error = partial_error(mine().merge(other).unwrap_err());
        assert_eq!(matches!(error, PartialError::OtherDataset { .. }), is_dataset, "{error}");
        assert_eq!(matches!(error, PartialError::OtherQuery), !is_dataset, "{error}");
    }
    let whole = || merged(partials(&dataset, &query), &[0]).unwrap();
    let finish = |dataset, query| whole().finish(dataset, query, &Execution::default()).map_err(partial_error);
    assert!(finish(&dataset, &query).is_ok());
    assert!(matches!(finish(&other_dataset, &query), Err(PartialError::OtherDataset { .. })));
    assert!(matches!(finish(&dataset, &other_query), Err(PartialError::OtherQuery)));
    let split = &splits(&dataset, &query, 4)[0];
    let run = |dataset: &Dataset, query| dataset.run_split(query, split, &Execution::default()).map_err(partial_error);
    let of_other_dataset = run(&other_dataset, &query).unwrap_err();
    assert!(matches!(of_other_dataset, PartialError::OtherDataset { .. }));
    // To run the split again would not help.
    assert!(of_other_dataset.to_string().contains("; open the version that planned the splits, or plan them again"));
    assert!(matches!(run(&dataset, &other_query), Err(PartialError::OtherQuery)));
}

#[test]
fn no_changed_byte_is_accepted() {
    let (dataset, query) = example();
    let bytes = partials(&dataset, &query.allow_long_total().totals()).remove(0).to_bytes().unwrap();
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        let error = Partial::from_bytes(&changed).unwrap_err();
        assert!(matches!(error, PartialError::Damaged { .. }), "byte {at}: {error}");
        assert!(Partial::from_bytes(&bytes[..at]).is_err(), "cut at {at}");
    }
    assert!(Partial::from_bytes(&[&bytes[..], b"x"].concat()).is_err());
}

#[test]
fn a_split_with_a_row_group_that_the_query_does_not_read_is_refused() {
    let (dataset, query) = example();
    let split = serde_json::to_string(&splits(&dataset, &query, 1)[0]).unwrap();
    let changed = split.replace("\"end\":", "\"end\":1");
    assert_ne!(split, changed);
    let changed: Split = serde_json::from_str(&changed).unwrap();
    let error = partial_error(dataset.run_split(&query, &changed, &Execution::default()).unwrap_err());
    assert!(matches!(error, PartialError::Unplanned { .. }), "{error}");
}
