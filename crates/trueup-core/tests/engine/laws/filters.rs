//! Checks how a filter changes counts, and that filtering on a value selects the rows of its group.

use super::law_case::{Figures, LawCase, amounts, key, law_case, metrics};
use proptest::prelude::*;
use trueup_core::Value;
use trueup_core::dictionary::{Measure, MeasureKind};
use trueup_core::query::{EventsQuery, Filter, Operand, Predicate};

/// Returns whether a measure counts rows, state rows or distinct values.
fn is_count(measure: Measure) -> bool {
    matches!(measure.kind(), MeasureKind::Rows | MeasureKind::StateRows | MeasureKind::StateDistinct)
}

/// Generates no filter, or one that most rows pass.
fn broad_filter() -> impl Strategy<Value = Option<Filter>> {
    let not = |name: &str, value: &str| Filter::field(name, Predicate::NotEquals(Operand::Text(value.to_owned())));
    prop_oneof![
        3 => Just(None),
        1 => Just(Some(not("type", "canceled"))),
        1 => Just(Some(not("customerStatus", "New"))),
        1 => Just(Some(not("attributionCategory", "Organic"))),
    ]
}

fn figures(asked: &LawCase, query: &EventsQuery, metrics: &[&str]) -> Figures {
    Figures::new(&asked.ask(query), &asked.dimensions, metrics)
}

fn filtered(query: &EventsQuery, filter: Option<&Filter>) -> EventsQuery {
    filter.map_or_else(|| query.clone(), |filter| query.clone().filter(filter.clone()))
}

proptest! {
    #![proptest_config(super::config())]

    #[test]
    fn a_filter_never_raises_a_count((asked, broad) in (law_case(), broad_filter())) {
        let metrics = amounts(is_count);
        let all = filtered(&asked.unfiltered(asked.fields(&metrics)), broad.as_ref());
        let some = filtered(&all, asked.filter.as_ref());
        figures(&asked, &some, &metrics).check_at_most(&figures(&asked, &all, &metrics))?;
    }

    /// Spend must not be negative, and must have all dimensions. With other dimensions, spend whose group loses its
    /// events moves to a new row.
    #[test]
    fn a_filter_never_raises_spend(asked in law_case(), broad in broad_filter()) {
        let mut asked = asked.without_refunds();
        asked.dimensions.retain(|name| super::law_case::spend_has(name));
        let metrics = amounts(Measure::is_spend);
        let all = filtered(&asked.unfiltered(asked.fields(&metrics)), broad.as_ref());
        let some = filtered(&all, asked.filter.as_ref());
        figures(&asked, &some, &metrics).check_at_most(&figures(&asked, &all, &metrics))?;
    }

    /// An event passes either a filter or its opposite. Spend may pass both, and a customer or an agent may have events
    /// of both kinds.
    #[test]
    fn an_event_passes_either_a_filter_or_its_opposite((asked, broad) in (law_case(), broad_filter())) {
        let on_both = [Measure::Opportunities, Measure::OpportunityAgents];
        let metrics = amounts(|measure| !measure.is_spend() && !on_both.contains(&measure));
        let all = filtered(&asked.unfiltered(asked.fields(&metrics)), broad.as_ref());
        let filter = asked.filter.clone().unwrap_or_else(|| Filter::equals("type", "booked"));
        let picked = figures(&asked, &all.clone().filter(filter.clone()), &metrics);
        let left = figures(&asked, &all.clone().filter(Filter::Not(Box::new(filter))), &metrics);
        picked.plus(&left).check_equal(&figures(&asked, &all, &metrics))?;
    }

    /// Every metric of a row that has events stays the same if a filter selects only that row's events, on one
    /// dimension or on all.
    #[test]
    fn a_filter_on_a_value_selects_its_group((asked, nth) in (law_case(), any::<prop::sample::Index>())) {
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
