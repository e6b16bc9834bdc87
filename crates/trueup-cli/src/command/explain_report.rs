//! What `trueup explain` prints as JSON. `docs/command-line.md` documents the keys.

use serde::Serialize;
use trueup::Explanation;
use trueup::query::DateRange;

/// The plan of a query.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExplainReport<'a> {
    sub_ranges: Vec<SubRange>,
    /// The window, such as `90d`.
    cohort: Option<String>,
    attribution: &'static str,
    /// `None` if the query does not compare.
    earlier: Option<EarlierRange>,
    columns: &'a [String],
    spend_columns: &'a [&'static str],
    event_row_groups: RowGroups,
    spend_row_groups: RowGroups,
    stored_bytes: u64,
    dimensions: Vec<Dimension<'a>>,
    filters_events: bool,
    filters_rows: bool,
    sort: &'a [String],
    limit: Option<usize>,
    totals: bool,
    /// `None` if the query was not run.
    run: Option<Run>,
}

#[derive(Serialize)]
struct SubRange {
    start: String,
    end: String,
}

/// The range to compare with.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EarlierRange {
    start: String,
    end: String,
    event_row_groups_kept: usize,
    spend_row_groups_kept: usize,
}

#[derive(Serialize)]
struct RowGroups {
    kept: usize,
    skipped: usize,
}

#[derive(Serialize)]
struct Dimension<'a> {
    name: &'a str,
    source: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    row_groups: usize,
    rows: u64,
    kept_events: u64,
    groups: usize,
    result_rows: usize,
    aggregation_seconds: f64,
    merging_seconds: f64,
    finishing_seconds: f64,
    totals_seconds: f64,
}

impl<'a> From<&'a Explanation> for ExplainReport<'a> {
    fn from(explanation: &'a Explanation) -> Self {
        let sub_range = |range: &DateRange| SubRange { start: range.start.to_string(), end: range.end.to_string() };
        Self {
            sub_ranges: explanation.sub_ranges.iter().map(sub_range).collect(),
            cohort: explanation.cohort.map(|within| within.to_string()),
            attribution: explanation.attribution.name(),
            earlier: explanation.earlier.map(|earlier| EarlierRange {
                start: earlier.range.start.to_string(),
                end: earlier.range.end.to_string(),
                event_row_groups_kept: earlier.event_row_groups_kept,
                spend_row_groups_kept: earlier.spend_row_groups_kept,
            }),
            columns: &explanation.columns,
            spend_columns: &explanation.spend_columns,
            event_row_groups: RowGroups {
                kept: explanation.event_row_groups_kept,
                skipped: explanation.event_row_groups_skipped,
            },
            spend_row_groups: RowGroups {
                kept: explanation.spend_row_groups_kept,
                skipped: explanation.spend_row_groups_skipped,
            },
            stored_bytes: explanation.stored_bytes,
            dimensions: explanation
                .groups
                .iter()
                .map(|group| Dimension { name: &group.name, source: group.source })
                .collect(),
            filters_events: explanation.filters_events,
            filters_rows: explanation.filters_rows,
            sort: &explanation.sort,
            limit: explanation.limit,
            totals: explanation.totals,
            run: explanation.statistics.map(|statistics| Run {
                row_groups: statistics.row_groups,
                rows: statistics.rows,
                kept_events: statistics.kept_rows,
                groups: statistics.groups,
                result_rows: statistics.result_rows,
                aggregation_seconds: statistics.aggregation.as_secs_f64(),
                merging_seconds: statistics.merging.as_secs_f64(),
                finishing_seconds: statistics.finishing.as_secs_f64(),
                totals_seconds: statistics.totals.as_secs_f64(),
            }),
        }
    }
}
