//! The insights of the demo: what rules find in the last month that is over.

use super::last_month;
use crate::exit::Failure;
use trueup::{Dataset, Day, Execution};
use trueup_report::{InsightDrafts, Publication, ReportError, ReportSpec};

/// Drafts the insights about the last month that is over on `end`, the last day of the data, which is the day of
/// publication. Returns no line if a demo is so small that it has no such month.
pub(super) fn draft(dataset: &Dataset, end: Day) -> Result<String, Failure> {
    let spec = ReportSpec::new(&[], last_month(end)?, None);
    // The same on every machine.
    let publication = Publication { date: end, generated_at: format!("{end}T12:00:00Z") };
    let drafts = match InsightDrafts::new(dataset, &spec, publication, Execution::default()) {
        Err(ReportError::Empty | ReportError::NoData { .. } | ReportError::NotOver { .. }) => return Ok(String::new()),
        drafts => drafts?,
    };
    let mut lines = String::new();
    for account in drafts.accounts() {
        lines.extend(drafts.line(account)?.map(|line| line + "\n"));
    }
    Ok(lines)
}
