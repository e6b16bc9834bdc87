//! What a filter does to counts, and that it picks the rows that grouping would set apart.

use super::asked::{Asked, amounts, asked, metrics};
use super::figures::{Figures, key};
use proptest::prelude::*;
use trueup_core::Value;
use trueup_core::dictionary::{Measure, MeasureKind};
use trueup_core::query::{EventsQuery, Filter, Operand, Predicate};

/// Counts of rows, of state rows, and of distinct values among them.
fn is_count(measure: Measure) -> bool {
    matches!(measure.kind(), MeasureKind::Rows | MeasureKind::StateRows | MeasureKind::StateDistinct)
}

/// Nothing, or a filter that most rows pass.
fn before() -> impl Strategy<Value = Option<Filter>> {
    let not = |name: &str, value: &str| Filter::field(name, Predicate::NotEquals(Operand::Text(value.to_owned())));
    prop_oneof![
        3 => Just(None),
        1 => Just(Some(not("type", "canceled"))),
        1 => Just(Some(not("customerStatus", "New"))),
        1 => Just(Some(not("attributionCategory", "Organic"))),
    ]
}

fn figures(asked: &Asked, query: &EventsQuery, metrics: &[&str]) -> Figures {
    Figures::new(&asked.ask(query), &asked.dimensions, metrics)
}

fn with(query: &EventsQuery, filter: Option<&Filter>) -> EventsQuery {
    filter.map_or_else(|| query.clone(), |filter| query.clone().filter(filter.clone()))
}

proptest! {
    #![proptest_config(super::config())]

    #[test]
    fn a_filter_never_raises_a_count((asked, before) in (asked(), before())) {
        let metrics = amounts(is_count);
        let all = with(&asked.unfiltered(asked.fields(&metrics)), before.as_ref());
        let some = with(&all, asked.filter.as_ref());
        figures(&asked, &some, &metrics).check_at_most(&figures(&asked, &all, &metrics))?;
    }

    /// Spend that is never negative, grouped by nothing that it does not carry. Under other dimensions spend that loses
    /// the events beside it moves to a row of its own, which may not have been there before.
    #[test]
    fn a_filter_never_raises_spend(asked in asked(), before in before()) {
        let mut asked = asked.without_refunds();
        asked.dimensions.retain(|name| super::asked::carries(name));
        let metrics = amounts(Measure::is_spend);
        let all = with(&asked.unfiltered(asked.fields(&metrics)), before.as_ref());
        let some = with(&all, asked.filter.as_ref());
        figures(&asked, &some, &metrics).check_at_most(&figures(&asked, &all, &metrics))?;
    }

    /// An event passes a filter or its opposite. Spend may pass both, customers with events on both sides count on
    /// both, and so may agents.
    #[test]
    fn a_filter_and_its_opposite_part_the_events((asked, before) in (asked(), before())) {
        let on_both = [Measure::Opportunities, Measure::OpportunityAgents];
        let metrics = amounts(|measure| !measure.is_spend() && !on_both.contains(&measure));
        let all = with(&asked.unfiltered(asked.fields(&metrics)), before.as_ref());
        let filter = asked.filter.clone().unwrap_or_else(|| Filter::equals("type", "booked"));
        let picked = figures(&asked, &all.clone().filter(filter.clone()), &metrics);
        let left = figures(&asked, &all.clone().filter(Filter::Not(Box::new(filter))), &metrics);
        picked.plus(&left).check_equal(&figures(&asked, &all, &metrics))?;
    }

    /// Every metric of a row that has events is the same if only that row's events are asked for: on one dimension, and
    /// on all of them.
    #[test]
    fn filtering_on_a_value_is_taking_its_group((asked, nth) in (asked(), any::<prop::sample::Index>())) {
        let names: Vec<&str> = metrics().map(|(field, _)| field.name).collect();
        let query = asked.query(asked.fields(&names));
        let table = asked.ask(&query);
        let rows: Vec<usize> =
            (0..table.len()).filter(|row| table.value(*row, "eventCount") != Some(Value::Count(0))).collect();
        let row = if rows.is_empty() { return Ok(()) } else { *nth.get(&rows) };
        let wanted = key(&table, row, &asked.dimensions);
        let equal = |(name, value): (&String, &String)| Filter::equals(name, value);
        let values: Vec<Filter> = asked.dimensions.iter().zip(&wanted.1).map(equal).collect();
        for filter in values.iter().take(1).cloned().chain([Filter::All(values.clone())]) {
            let narrow = asked.ask(&query.clone().filter(filter));
            let place = (0..narrow.len()).find(|row| key(&narrow, *row, &asked.dimensions) == wanted).unwrap();
            for name in &names {
                prop_assert_eq!(narrow.value(place, name), table.value(row, name), "{} of {:?}", name, wanted);
            }
        }
    }
}
