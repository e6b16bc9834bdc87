//! What a query will do, and what it did.

#[cfg(test)]
mod tests;

use crate::dataset::Dataset;
use crate::plan::{DimensionRef, Origin, Plan};
use crate::query::DateRange;
use crate::run::{kept, milliseconds};
use std::fmt;
use std::time::Duration;

/// The plan of a query against one dataset, to be read by people.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Explanation {
    /// The parts of the range, each computed as if it alone had been asked.
    pub sub_ranges: Vec<DateRange>,
    /// The columns of the event table that are read.
    pub columns: Vec<String>,
    /// The columns of the spend table that are read; none if it is not needed.
    pub spend_columns: Vec<&'static str>,
    /// Row groups of events that are read.
    pub event_row_groups_kept: usize,
    /// Row groups of events that are left unread, as statistics rule them out.
    pub event_row_groups_skipped: usize,
    /// Row groups of spend that are read.
    pub spend_row_groups_kept: usize,
    /// Row groups of spend that are ruled out or not needed.
    pub spend_row_groups_skipped: usize,
    /// Bytes that the columns take in the files, of the row groups that are read; 0 in memory.
    pub stored_bytes: u64,
    /// What rows are grouped by, each with where its values come from.
    pub groups: Vec<String>,
    /// Whether a filter is held against events.
    pub filters_events: bool,
    /// Whether a filter is held against finished rows.
    pub filters_rows: bool,
    /// What running it took, if it was run.
    pub measured: Option<RunStatistics>,
}

/// What running a query took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunStatistics {
    /// Row groups read.
    pub row_groups: usize,
    /// Rows in them.
    pub rows: u64,
    /// Events that lay in the range and passed the filter.
    pub kept_rows: u64,
    /// GroupTable before conditions on metrics.
    pub groups: usize,
    /// Rows of the answer.
    pub result_rows: usize,
    /// Reading, aggregating and merging.
    pub aggregation: Duration,
    /// Of that, joining what two threads have gathered: the sum over all joins, some of which may run at the same time; nothing if one
    /// thread read it all.
    pub merging: Duration,
    /// Ratios, conditions on metrics, order.
    pub finishing: Duration,
}

impl Explanation {
    /// Explains what `plan` reads of `dataset`, with or without pruning.
    pub(crate) fn new(plan: &Plan, dataset: &Dataset, pruning: bool) -> Self {
        let columns = plan.projection.columns(true).into_iter().map(str::to_owned).collect();
        let spend_columns = if plan.needs_spend() { plan.spend_projection.columns(true) } else { Vec::new() };
        let events = kept(dataset.events(), plan, pruning);
        let spend = if plan.needs_spend() { kept(dataset.spend(), plan, pruning) } else { Vec::new() };
        let event_bytes: u64 = events.iter().map(|part| part.stored_bytes(&plan.projection)).sum();
        let spend_bytes: u64 = spend.iter().map(|part| part.stored_bytes(&plan.spend_projection)).sum();
        let (events, spend) = (events.len(), spend.len());
        let origin = |origin| match origin {
            Origin::Computed(_) => "computed",
            Origin::Stored => "stored",
            Origin::Absent => "absent: empty on every row",
        };
        let group = |dimension: &DimensionRef| format!("{} ({})", dimension.name, origin(dimension.origin));
        Self {
            sub_ranges: plan.sub_ranges.clone(),
            columns,
            spend_columns,
            event_row_groups_kept: events,
            event_row_groups_skipped: dataset.events().len() - events,
            spend_row_groups_kept: spend,
            spend_row_groups_skipped: dataset.spend().len() - spend,
            stored_bytes: event_bytes + spend_bytes,
            groups: plan.dimensions.iter().chain(&plan.blank).map(group).collect(),
            filters_events: plan.row_condition.is_some(),
            filters_rows: plan.having.is_some(),
            measured: None,
        }
    }

    pub(crate) fn with_measured(mut self, measured: RunStatistics) -> Self {
        self.measured = Some(measured);
        self
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ends = self.sub_ranges.first().zip(self.sub_ranges.last());
        if let Some((first, last)) = ends {
            writeln!(f, "sub-ranges   {} from {} to {}", self.sub_ranges.len(), first.start, last.end)?;
        }
        writeln!(f, "columns      {}", self.columns.join(", "))?;
        if !self.spend_columns.is_empty() {
            writeln!(f, "of spend     {}", self.spend_columns.join(", "))?;
        }
        let (kept, skipped) = (self.event_row_groups_kept, self.event_row_groups_skipped);
        writeln!(f, "events       {kept} row groups kept, {skipped} skipped")?;
        let (kept, skipped) = (self.spend_row_groups_kept, self.spend_row_groups_skipped);
        writeln!(f, "spend        {kept} row groups kept, {skipped} skipped")?;
        let groups = if self.groups.is_empty() { "one group per sub-range".to_owned() } else { self.groups.join(", ") };
        writeln!(f, "groups       {groups}")?;
        let filters = match (self.filters_events, self.filters_rows) {
            (false, false) => "none",
            (true, false) => "on events",
            (false, true) => "on finished rows",
            (true, true) => "on events and on finished rows",
        };
        writeln!(f, "filter       {filters}")?;
        if let Some(measured) = &self.measured {
            writeln!(f, "read         {} rows in {} row groups", measured.rows, measured.row_groups)?;
            writeln!(f, "kept         {} events", measured.kept_rows)?;
            writeln!(f, "answer       {} groups, {} rows", measured.groups, measured.result_rows)?;
            writeln!(f, "aggregation  {}", milliseconds(measured.aggregation))?;
            writeln!(f, "merging      {}", milliseconds(measured.merging))?;
            writeln!(f, "finishing    {}", milliseconds(measured.finishing))?;
        }
        Ok(())
    }
}
