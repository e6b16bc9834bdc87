//! The TOML file of `trueup report --jobs`: parses it, and turns each of its reports into a job.

use super::days;
use crate::command::jobs_values::{OneOrMany, TomlAsOf, TomlDate, check_file_name, located, read_toml};
use crate::exit::Failure;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use trueup::query::{Attribution, NamedRange};
use trueup_report::{ReportFormat, ReportSpec, UnknownReportFormat};

/// The contents of a jobs file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ReportJobsFile {
    /// A path, relative to the folder of the jobs file, or a URL.
    dataset: PathBuf,
    /// The version of the dataset to read; `None` for the newest.
    pub(super) as_of: Option<TomlAsOf>,
    #[serde(default)]
    pub(super) defaults: ReportJobDefaults,
    #[serde(default)]
    pub(super) report: Vec<ReportJobEntry>,
}

/// The options of reports that do not set them. An option of a report replaces the default.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ReportJobDefaults {
    month: Option<String>,
    through: Option<TomlDate>,
    account: Option<OneOrMany>,
    attribution: Option<Attribution>,
    format: Option<String>,
}

/// One `[[report]]`: the options of `trueup report`, and the name of the report or of its file.
// Serde cannot combine `flatten` with `deny_unknown_fields`, so the options of `ReportJobDefaults` are repeated.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ReportJobEntry {
    name: Option<String>,
    output: Option<String>,
    month: Option<String>,
    through: Option<TomlDate>,
    account: Option<OneOrMany>,
    attribution: Option<Attribution>,
    format: Option<String>,
}

impl ReportJobsFile {
    /// Reads a jobs file.
    ///
    /// # Errors
    /// If the file cannot be read, is not TOML, or has an unknown key or a value of a wrong type.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        read_toml(path)
    }

    /// Returns the path or the URL of the dataset. A relative path starts at `folder`.
    pub(super) fn dataset_path(&self, folder: &Path) -> PathBuf {
        located(&self.dataset, folder)
    }
}

impl ReportJobEntry {
    /// Returns the name of the report in messages; `number` is its position in the file.
    pub(super) fn label(&self, number: usize) -> String {
        match self.name.as_ref().or(self.output.as_ref()) {
            Some(name) => format!("report `{name}`"),
            None => format!("report {number}"),
        }
    }
}

/// A report to make, and its file.
#[derive(Debug)]
pub(super) struct ReportJob {
    /// Name in messages.
    pub(super) name: String,
    /// File name, without a folder.
    pub(super) output: String,
    pub(super) format: ReportFormat,
    pub(super) spec: ReportSpec,
}

impl ReportJob {
    /// Applies the defaults to an entry, and parses its options like those of the command line. `month` is that of a
    /// report for which the file names none.
    pub(super) fn new(
        entry: &ReportJobEntry,
        defaults: &ReportJobDefaults,
        month: Option<NamedRange>,
    ) -> Result<Self, Failure> {
        let (output, format) = file_and_format(entry, defaults)?;
        let named = entry.month.as_ref().or(defaults.month.as_ref());
        let named = named.map(|text| NamedRange::month(text).map_err(Failure::request)).transpose()?;
        let month = named.or(month).ok_or_else(|| {
            Failure::request("the key `month` is missing, and neither `[defaults]` nor `--month` sets it")
        })?;
        let through = entry.through.as_ref().or(defaults.through.as_ref());
        let through = through.map(|day| day.to_string().parse().map_err(Failure::request)).transpose()?;
        let accounts = entry.account.as_ref().or(defaults.account.as_ref()).map_or(&[][..], OneOrMany::as_slice);
        let name = entry.name.clone().unwrap_or_else(|| output.clone());
        let attribution = entry.attribution.or(defaults.attribution).unwrap_or_default();
        let spec = ReportSpec::new(accounts, days(month)?, through).attribution(attribution);
        Ok(Self { name, output, format, spec })
    }
}

/// Returns the file name and the format of a report. The format is the one that the entry sets, or else the one for the
/// ending of its file name, or else that of the defaults, or else HTML.
fn file_and_format(entry: &ReportJobEntry, defaults: &ReportJobDefaults) -> Result<(String, ReportFormat), Failure> {
    let default = defaults.format.as_deref().map(format).transpose()?.unwrap_or(ReportFormat::Html);
    let named = entry.format.as_deref().map(format).transpose()?;
    let (output, format) = match (&entry.output, &entry.name) {
        (Some(output), _) => {
            let format = match named {
                Some(format) => format,
                None => ReportFormat::of_file(Path::new(output))
                    .map_err(|fault| Failure::from(fault).into_request())?
                    .unwrap_or(default),
            };
            (output.clone(), format)
        }
        (None, Some(name)) => {
            let format = named.unwrap_or(default);
            (format!("{name}.{}", format.ending()), format)
        }
        (None, None) => return Err(Failure::request("the key `name` is missing, and there is no `output`")),
    };
    check_file_name(&output)?;
    Ok((output, format))
}

fn format(text: &str) -> Result<ReportFormat, Failure> {
    text.parse().map_err(|fault: UnknownReportFormat| Failure::request(fault))
}
