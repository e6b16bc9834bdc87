//! Describes what a query will do, and what it did.

#[cfg(test)]
mod tests;

use super::row_groups::SelectedRowGroups;
use crate::Interrupt;
use crate::attribution::Attribution;
use crate::dataset::Dataset;
use crate::error::Error;
use crate::plan::{DimensionRef, Origin, Plan};
use crate::query::{CohortWindow, DateRange, EventsQuery, SortKey};
use serde::{Serialize, Serializer};
use std::fmt;
use std::time::Duration;

/// The source of a dimension that events do not have, whether the dictionary knows it or not.
const ABSENT: &str = "absent";

/// The plan of a query for one dataset. Its [`Display`](fmt::Display) is a summary for people, and `trueup explain`
/// prints it as JSON; `docs/command-line.md` documents the keys.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Explanation {
    /// The sub-ranges of the range, each of which is computed as if it were queried alone.
    pub sub_ranges: Vec<DateRange>,
    /// The window of a cohort; `None` if the query is not one of a cohort.
    pub cohort: Option<CohortWindow>,
    /// The event from which attribution dimensions are taken.
    pub attribution: Attribution,
    /// The range to compare with, and what is read for it; `None` if the query does not compare. The other numbers are
    /// those of the range that is asked for.
    pub earlier: Option<ExplainedRange>,
    /// The columns of the event table that are read.
    pub columns: Vec<String>,
    /// The columns of the spend table that are read; empty if the query does not need it.
    pub spend_columns: Vec<&'static str>,
    /// The row groups of events.
    pub event_row_groups: RowGroupCounts,
    /// The row groups of spend, which are skipped, too, if the query does not need them.
    pub spend_row_groups: RowGroupCounts,
    /// The bytes that the columns take in files, in the row groups that are read, even if they are cached; 0 for a
    /// dataset in memory.
    pub stored_bytes: u64,
    /// The dimensions in the order of the query, except that dimensions which neither events nor spend have are last.
    #[serde(rename = "dimensions")]
    pub groups: Vec<ExplainedDimension>,
    /// Whether some conditions of the filter are decided on events.
    pub filters_events: bool,
    /// Whether some conditions of the filter are decided on finished rows.
    pub filters_rows: bool,
    /// The columns that the answer is sorted by, each with its direction, as in `leads:desc`.
    pub sort: Vec<String>,
    /// The most rows of the answer; `None` if there is no limit.
    pub limit: Option<usize>,
    /// Whether the events and the spend of the range are read a second time, for the totals.
    pub totals: bool,
    /// What the execution took; `None` if the query was not executed.
    #[serde(rename = "run")]
    pub statistics: Option<RunStatistics>,
}

/// Numbers of row groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RowGroupCounts {
    /// The number of row groups that are read.
    pub kept: usize,
    /// The number of row groups that are left unread, because statistics rule them out.
    pub skipped: usize,
}

/// The earlier range of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ExplainedRange {
    /// Its days.
    #[serde(flatten)]
    pub range: DateRange,
    /// The number of row groups of events that are read.
    pub event_row_groups_kept: usize,
    /// The number of row groups of spend that are read.
    pub spend_row_groups_kept: usize,
}

/// A dimension of a query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ExplainedDimension {
    /// Its name.
    pub name: String,
    /// The source of its values: `computed`, `stored`, `defined` if users define it, or `absent` if it is empty on
    /// every event, because the events of the dataset have no such column.
    pub source: &'static str,
}

/// What the execution of a query took; of a comparison, both ranges together. The numbers of row groups, rows and
/// groups leave out the second reading that totals need, and what is read to find out which leads of a cohort are open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RunStatistics {
    /// The number of row groups read, of events and of spend.
    pub row_groups: usize,
    /// The number of rows in these row groups.
    pub rows: u64,
    /// The number of events that counted and passed the filter. In a cohort, the events of its leads count until their
    /// windows end; otherwise the events in the range count.
    #[serde(rename = "keptEvents")]
    pub kept_rows: u64,
    /// The number of groups that events make, before conditions on metrics. There may be more rows than groups, because
    /// spend without events makes rows too, and without dimensions each sub-range has a row.
    pub groups: usize,
    /// The number of rows of the answer.
    pub result_rows: usize,
    /// The time of reading, aggregating and merging.
    #[serde(rename = "aggregationSeconds", serialize_with = "as_seconds")]
    pub aggregation: Duration,
    /// The time of merging, which is part of `aggregation`: the sum over all merges, some of which may run at the same
    /// time; zero if one thread read everything.
    #[serde(rename = "mergingSeconds", serialize_with = "as_seconds")]
    pub merging: Duration,
    /// The time of computing metrics, applying conditions on them, sorting, and building the result table.
    #[serde(rename = "finishingSeconds", serialize_with = "as_seconds")]
    pub finishing: Duration,
    /// The time of the totals; about zero if the query does not ask for them.
    #[serde(rename = "totalsSeconds", serialize_with = "as_seconds")]
    pub totals: Duration,
}

impl Explanation {
    /// Explains what `plan` reads of `dataset`, with or without pruning.
    pub(super) fn new(plan: &Plan, query: &EventsQuery, dataset: &Dataset, pruning: bool) -> Result<Self, Error> {
        let row_groups = SelectedRowGroups::new(dataset, plan, pruning);
        row_groups.read_footers(&Interrupt::default())?;
        let (events, spend) = row_groups.lens();
        let earlier = plan.comparison.as_ref().map(|comparison| -> Result<ExplainedRange, Error> {
            let row_groups = SelectedRowGroups::new(dataset, &comparison.earlier, pruning);
            row_groups.read_footers(&Interrupt::default())?;
            let (events, spend) = row_groups.lens();
            let range = comparison.earlier.range;
            Ok(ExplainedRange { range, event_row_groups_kept: events, spend_row_groups_kept: spend })
        });
        let origin = |dimension: &DimensionRef| match dimension.origin {
            _ if dimension.mapping.is_some() => "defined",
            Origin::Computed(_) => "computed",
            Origin::Stored => "stored",
            Origin::Absent => ABSENT,
        };
        let group =
            |dimension: &DimensionRef| ExplainedDimension { name: dimension.name.clone(), source: origin(dimension) };
        Ok(Self {
            sub_ranges: plan.sub_ranges.clone(),
            cohort: plan.cohort,
            attribution: plan.attribution,
            earlier: earlier.transpose()?,
            columns: plan.projection.columns(true).into_iter().map(str::to_owned).collect(),
            spend_columns: if plan.needs_spend() { plan.spend_projection.columns(true) } else { Vec::new() },
            event_row_groups: RowGroupCounts { kept: events, skipped: dataset.events().len() - events },
            spend_row_groups: RowGroupCounts { kept: spend, skipped: dataset.spend().len() - spend },
            stored_bytes: row_groups.stored_bytes(plan)?,
            groups: plan.dimensions.iter().chain(&plan.blank).map(group).collect(),
            filters_events: plan.event_filter.is_some(),
            filters_rows: plan.having.is_some(),
            sort: query.sort.iter().map(SortKey::to_string).collect(),
            limit: plan.limit,
            totals: plan.totals.is_some(),
            statistics: None,
        })
    }

    /// Returns the explanation with what the execution took.
    pub(super) fn with_statistics(mut self, statistics: RunStatistics) -> Self {
        self.statistics = Some(statistics);
        self
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ends = self.sub_ranges.first().zip(self.sub_ranges.last());
        if let Some((first, last)) = ends {
            writeln!(f, "sub-ranges   {} from {} to {}", self.sub_ranges.len(), first.start, last.end)?;
        }
        match self.cohort {
            Some(CohortWindow::Days(days)) => {
                writeln!(f, "cohort       leads by their first event, each until {} after it", counted(days, "day"))?;
            }
            Some(CohortWindow::All) => {
                writeln!(f, "cohort       leads by their first event, each with its whole history")?
            }
            None => {}
        }
        match self.attribution {
            Attribution::Recorded => {}
            Attribution::First => writeln!(f, "attribution  of the customer's first conversion")?,
            Attribution::Last => {
                writeln!(
                    f,
                    "attribution  of the customer's last conversion at or before the event, or else its first one"
                )?;
            }
        }
        if let Some(earlier) = &self.earlier {
            let events = counted(earlier.event_row_groups_kept, "row group");
            let (range, spend) = (earlier.range, earlier.spend_row_groups_kept);
            writeln!(f, "earlier      {range}, with {events} of events and {spend} of spend kept")?;
        }
        writeln!(f, "columns      {}", self.columns.join(", "))?;
        if !self.spend_columns.is_empty() {
            writeln!(f, "of spend     {}", self.spend_columns.join(", "))?;
        }
        let RowGroupCounts { kept, skipped } = self.event_row_groups;
        writeln!(f, "events       {} kept, {skipped} skipped", counted(kept, "row group"))?;
        let RowGroupCounts { kept, skipped } = self.spend_row_groups;
        writeln!(f, "spend        {} kept, {skipped} skipped", counted(kept, "row group"))?;
        let group = |group: &ExplainedDimension| {
            let note = if group.source == ABSENT { ": empty on every event" } else { "" };
            format!("{} ({}{note})", group.name, group.source)
        };
        let groups: Vec<String> = self.groups.iter().map(group).collect();
        let groups = if groups.is_empty() { "one group per sub-range".to_owned() } else { groups.join(", ") };
        writeln!(f, "groups       {groups}")?;
        let filters = match (self.filters_events, self.filters_rows) {
            (false, false) => "none",
            (true, false) => "on events",
            (false, true) => "on finished rows",
            (true, true) => "on events and on finished rows",
        };
        writeln!(f, "filter       {filters}")?;
        if !self.sort.is_empty() {
            writeln!(f, "sort         {}", self.sort.join(", "))?;
        }
        if let Some(limit) = self.limit {
            writeln!(f, "limit        {limit}")?;
        }
        if self.totals {
            writeln!(f, "totals       read once more, as one group over the whole range")?;
        }
        if let Some(statistics) = &self.statistics {
            let row_groups = counted(statistics.row_groups, "row group");
            writeln!(f, "read         {} in {row_groups}", counted(statistics.rows, "row"))?;
            writeln!(f, "kept         {}", counted(statistics.kept_rows, "event"))?;
            let rows = counted(statistics.result_rows, "row");
            writeln!(f, "answer       {}, {rows}", counted(statistics.groups, "group"))?;
            writeln!(f, "aggregation  {}", milliseconds(statistics.aggregation))?;
            writeln!(f, "merging      {}", milliseconds(statistics.merging))?;
            writeln!(f, "finishing    {}", milliseconds(statistics.finishing))?;
            if self.totals {
                writeln!(f, "totals       {}", milliseconds(statistics.totals))?;
            }
        }
        Ok(())
    }
}

/// Returns a count with its noun.
fn counted<N: fmt::Display + PartialEq + From<u8>>(count: N, thing: &str) -> String {
    let plural = if count == N::from(1) { "" } else { "s" };
    format!("{count} {thing}{plural}")
}

fn as_seconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}
