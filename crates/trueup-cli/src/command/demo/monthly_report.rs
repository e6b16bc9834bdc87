//! The report about the last month of the demo that is over.

use crate::exit::Failure;
use crate::notice;
use crate::output::OutputWriter;
use std::fs;
use std::path::{Path, PathBuf};
use trueup::query::DateRange;
use trueup::{Dataset, Execution};
use trueup_ingest::Outputs;
use trueup_report::{Report, ReportFormat, ReportSpec};

/// A report that has been written.
pub(super) struct MonthlyReport {
    pub(super) path: PathBuf,
    /// `2026-06`
    pub(super) month: String,
}

/// Writes the report about a month next to the folder `dir` of the dataset. A file that is there already stays as it
/// is.
pub(super) fn write(dataset: &Dataset, dir: &Path, month: DateRange) -> Result<MonthlyReport, Failure> {
    let path = path(dir)?;
    let spec = ReportSpec::new(&[], month, None);
    let report = Report::ask(dataset, &spec, &Execution::default(), || ())?;
    let mut text = Vec::new();
    report.write(ReportFormat::Html, &mut text).map_err(Failure::fault)?;
    let shown = path.display();
    if path.exists() {
        let is_same = fs::read(&path).is_ok_and(|old| old == text);
        let state =
            if is_same { "already has the report" } else { "is already there; delete it to have the report written" };
        notice::note(format_args!("`{shown}` {state}"));
    } else {
        let mut out = OutputWriter::create(&path, &Outputs::new(false))?;
        let written = report.write(ReportFormat::Html, &mut out).map_err(Failure::fault);
        out.finish(written)?;
        out.keep()?;
        notice::note(format_args!("wrote the report about {} to `{shown}`", month.start.month()));
    }
    Ok(MonthlyReport { path, month: month.start.month() })
}

/// Returns the path of the report: the name of the folder with an ending, next to the folder.
fn path(dir: &Path) -> Result<PathBuf, Failure> {
    // `.` has no name of its own.
    let dir = match dir.file_name() {
        Some(_) => dir.to_owned(),
        None => fs::canonicalize(dir).map_err(|error| Failure::path(dir, &error))?,
    };
    let mut name = dir.file_name().unwrap_or_default().to_owned();
    name.push("-report.html");
    Ok(dir.with_file_name(name))
}
