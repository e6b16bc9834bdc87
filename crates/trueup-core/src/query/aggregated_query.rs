//! What a query aggregates.

use super::{CompiledPatterns, EventsQuery};
use crate::Day;
use crate::definitions::Definitions;
use std::sync::Arc;

/// All that a partial result depends on, except for the data: a query without what its finished answer alone depends
/// on. A plan aggregates one, and plans of equal ones have the same partial result over the same rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AggregatedQuery {
    /// Without definitions, whose patterns take memory that is not counted.
    query: EventsQuery,
    /// The definitions, in TOML.
    definitions: Arc<str>,
    /// A day that no event is after, if the query is one of a cohort.
    last_day: Day,
    /// Whether conditions on metrics apply, so that their measures are aggregated.
    keeps_having: bool,
}

impl AggregatedQuery {
    pub(crate) fn new(query: &EventsQuery, last_day: Day, keeps_having: bool) -> Self {
        // Each field is named, so that a new one does not compile before it is compared or left out here.
        let EventsQuery {
            fields,
            range,
            interval,
            accounts,
            filter,
            definitions,
            cohort,
            attribution,
            // Those of the filter.
            patterns: _,
            // What is refused.
            long_total: _,
            unknown_names: _,
            mixed_currencies: _,
            selects_row: _,
            // Other plans.
            totals: _,
            compare: _,
            // What is made of the groups.
            sort: _,
            limit: _,
            exact_ratios: _,
        } = query;
        let query = EventsQuery {
            fields: fields.clone(),
            range: *range,
            interval: *interval,
            accounts: accounts.clone(),
            filter: filter.clone(),
            definitions: Definitions::default(),
            cohort: *cohort,
            attribution: *attribution,
            patterns: CompiledPatterns::default(),
            long_total: false,
            unknown_names: false,
            mixed_currencies: false,
            selects_row: false,
            totals: false,
            compare: None,
            sort: Vec::new(),
            limit: None,
            exact_ratios: false,
        };
        Self { query, definitions: definitions.shared_text(), last_day, keeps_having }
    }

    /// Returns about the number of bytes held, and not fewer.
    pub(crate) fn bytes(&self) -> usize {
        // An entry of a tree takes at most four times as many bytes as its JSON.
        let json = serde_json::to_vec(&self.query).map_or(usize::MAX, |json| json.len());
        size_of::<Self>().saturating_add(json.saturating_mul(4)).saturating_add(self.definitions.len())
    }
}
