use super::{ATTRIBUTION_WINDOW_DAYS, DimensionRef, Plan};
use crate::Day;
use crate::error::QueryError;
use crate::query::{CompiledPatterns, EventsQuery, Filter, FilterFault, FilterLimits, Interval, Predicate};
use crate::{Interrupt, Interruption};
use std::collections::BTreeSet;

/// Plans a query for events with these columns, all of which it may name.
fn plan_of(query: &EventsQuery, columns: &BTreeSet<String>) -> Result<Plan, QueryError> {
    Plan::new(query, columns, columns, Day::MAX)
}

/// Returns the fault of a query for `fields`, whose range is `reversed` or, if not, longer than the attribution window.
fn refusal(fields: &[&str], reversed: bool, filter: Option<Filter>) -> Option<QueryError> {
    let (early, late) = (Day::from_number(20_000), Day::from_number(20_365));
    let (start, end) = if reversed { (late, early) } else { (early, late) };
    let mut query = EventsQuery::new(fields.iter().copied(), start, end);
    if let Some(filter) = filter {
        query = query.filter(filter);
    }
    plan_of(&query, &BTreeSet::new()).err()
}

fn no_number() -> Filter {
    Filter::equals("leads", "many")
}

#[test]
fn the_first_fault_in_the_order_of_the_contract_is_reported() {
    let filter = QueryError::Filter { field: "leads".to_owned(), fault: FilterFault::NotANumber("many".to_owned()) };
    assert_eq!(refusal(&[], true, Some(no_number())), Some(QueryError::MissingFields));
    assert_eq!(refusal(&["start", "campaign"], true, Some(no_number())), Some(QueryError::MissingMetric));
    let reserved = Some(QueryError::ReservedField { name: "end".to_owned() });
    assert_eq!(refusal(&["end", "leads"], true, Some(no_number())), reserved);
    assert!(matches!(refusal(&["leads"], true, Some(no_number())), Some(QueryError::ReversedRange { .. })));
    assert_eq!(refusal(&["leads"], false, Some(no_number())), Some(filter));
    let span = Some(QueryError::SpanTooLong { days: 366, limit: ATTRIBUTION_WINDOW_DAYS });
    assert_eq!(refusal(&["leads"], false, None), span);
}

#[test]
fn unknown_names_are_refused_all_at_once() {
    let day = Day::from_number(20_000);
    let query = EventsQuery::new(["crew", "leads", "colour", "zip", "leeds"], day, day)
        .filter(Filter::equals("campain", "x").and(Filter::equals("leeds", "x")).and(no_number()));
    let columns = BTreeSet::from(["crew".to_owned()]);
    let message = plan_of(&query, &columns).unwrap_err().to_string();
    assert_eq!(
        message,
        "neither the dictionary nor the dataset knows `colour`, `leeds` (did you mean `leads`?), `campain` (did you mean \
         `campaign`?)"
    );
    // The faults of fields and of the range come before unknown names, and the faults of filters after them.
    assert_eq!(refusal(&["colour"], true, None), Some(QueryError::MissingMetric));
    assert!(matches!(refusal(&["colour", "leads"], true, None), Some(QueryError::ReversedRange { .. })));
    assert!(matches!(refusal(&["colour", "leads"], false, Some(no_number())), Some(QueryError::UnknownFields { .. })));
    assert!(matches!(plan_of(&query.allow_unknown(true), &columns), Err(QueryError::Filter { .. })));
    // A column that may not be named is unknown, whatever its filter.
    let hidden = EventsQuery::new(["crew", "leads"], day, day).filter(no_number());
    let plan = |named: &BTreeSet<String>| Plan::new(&hidden, &columns, named, Day::MAX);
    assert!(matches!(plan(&columns), Err(QueryError::Filter { .. })));
    assert!(matches!(plan(&BTreeSet::new()), Err(QueryError::UnknownFields { .. })));
}

#[test]
fn a_refused_filter_names_the_field_at_fault() {
    let mixed = Filter::Any(vec![Filter::equals("zip", "1"), Filter::equals("leads", "1")]);
    let filter = Filter::equals("campaign", "x").and(mixed);
    let refused = Some(QueryError::Filter { field: "leads".to_owned(), fault: FilterFault::MixedKinds });
    assert_eq!(refusal(&["leads"], false, Some(filter)), refused);
}

#[test]
fn a_field_that_is_selected_twice_is_returned_once() {
    let day = Day::from_number(20_000);
    let query = EventsQuery::new(["leads", "zip", "leads", "zip", "crew", "crew"], day, day).interval(Interval::Day);
    let plan = plan_of(&query.allow_unknown(true), &BTreeSet::from(["zip".to_owned()]));
    assert_eq!(plan.map(|plan| (plan.output.len(), plan.dimensions.len(), plan.blank.len())).ok(), Some((3, 1, 1)));
}

#[test]
fn only_dimensions_that_some_table_has_make_groups() {
    let day = Day::from_number(20_000);
    // Spend has campaigns even if events have none. No table has a crew, and no event has a ZIP.
    let query = EventsQuery::new(["crew", "campaign", "zip", "leads", "date"], day, day).allow_unknown(true);
    let plan = plan_of(&query, &BTreeSet::new());
    let names = |dimensions: &[DimensionRef]| dimensions.iter().map(|d| d.name.clone()).collect::<Vec<_>>().join(",");
    let found = plan.map(|plan| (names(&plan.dimensions), names(&plan.blank), plan.unknown_fields));
    assert_eq!(found.ok(), Some(("campaign,date".to_owned(), "crew,zip".to_owned(), vec!["crew".to_owned()])));
}

#[test]
fn a_blank_dimension_makes_spend_read_every_number() {
    let day = Day::from_number(20_000);
    let spend = |fields: &[&str]| {
        let query = EventsQuery::new(fields.iter().copied(), day, day).allow_unknown(true);
        let plan = plan_of(&query, &BTreeSet::new());
        plan.map(|plan| plan.spend_projection.columns(false)).ok()
    };
    assert_eq!(spend(&["clicks"]), Some(vec!["clicks"]));
    // Whether spend without events gets a row depends on every number.
    assert_eq!(spend(&["clicks", "crew"]), Some(vec!["adSpend", "clicks", "impressions", "managementFee"]));
    assert_eq!(spend(&["clicks", "crew"]), spend(&["clicks", "date"]));
}

#[test]
fn a_plan_does_not_compile_a_pattern_again() {
    let day = Day::from_number(20_000);
    let interrupt = Interrupt::default();
    let mut limits = FilterLimits::with_patterns(CompiledPatterns::within(interrupt.clone()));
    let matches = |pattern: &str| Predicate::Matches { pattern: pattern.to_owned(), flags: String::new() };
    assert_eq!(limits.check_predicate("zip", &matches("^1")), Ok(()));
    // From here on no pattern compiles.
    interrupt.cancel();
    let query = EventsQuery::new(["leads"], day, day).patterns(limits.into_patterns());
    let plan = |pattern| plan_of(&query.clone().filter(Filter::field("zip", matches(pattern))), &BTreeSet::new());
    assert!(plan("^1").is_ok());
    let fault = FilterFault::Interrupted(Interruption::Canceled);
    assert_eq!(plan("^2").err(), Some(QueryError::Filter { field: "zip".to_owned(), fault }));
}
