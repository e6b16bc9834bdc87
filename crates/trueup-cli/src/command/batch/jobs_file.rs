//! The TOML file of `trueup batch`: parses it, and turns each of its queries into a job.

use crate::command::jobs_values::{OneOrMany, TomlAsOf, TomlDate, check_file_name, located, read_toml};
use crate::command::query::{CohortArgs, QuerySpec};
use crate::command::range::RangeArgs;
use crate::exit::Failure;
use crate::output::Format;
use clap::ValueEnum;
use serde::Deserialize;
use std::fmt;
use std::path::{Path, PathBuf};
use trueup::Day;
use trueup::Shown;
use trueup::query::{DateRange, NamedRange, NotARange, SortKey};

/// The contents of a jobs file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct JobsFile {
    /// A path, relative to the folder of the jobs file, or a URL.
    dataset: PathBuf,
    /// The version of the dataset to read; `None` for the newest.
    pub(super) as_of: Option<TomlAsOf>,
    #[serde(default)]
    pub(super) defaults: JobDefaults,
    #[serde(default)]
    pub(super) query: Vec<JobEntry>,
}

/// The options of queries that do not set them. An option of a query replaces the default; lists are not combined.
/// [`range`] says how days and named ranges replace each other.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct JobDefaults {
    fields: Option<OneOrMany>,
    start: Option<TomlDate>,
    end: Option<TomlDate>,
    range: Option<TomlRange>,
    month: Option<TomlRange>,
    quarter: Option<TomlRange>,
    year: Option<TomlRange>,
    last: Option<TomlRange>,
    interval: Option<String>,
    cohort: Option<bool>,
    within: Option<String>,
    compare: Option<String>,
    attribution: Option<String>,
    account: Option<OneOrMany>,
    r#where: Option<OneOrMany>,
    filter: Option<String>,
    sort: Option<OneOrMany>,
    limit: Option<usize>,
    totals: Option<bool>,
    format: Option<String>,
    allow_long_total: Option<bool>,
    allow_unknown: Option<bool>,
    strict: Option<bool>,
}

/// One `[[query]]`: the options of `trueup query`, and the name of the query or of its file.
// Serde cannot combine `flatten` with `deny_unknown_fields`, so the options of `JobDefaults` are repeated.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct JobEntry {
    name: Option<String>,
    output: Option<String>,
    fields: Option<OneOrMany>,
    start: Option<TomlDate>,
    end: Option<TomlDate>,
    range: Option<TomlRange>,
    month: Option<TomlRange>,
    quarter: Option<TomlRange>,
    year: Option<TomlRange>,
    last: Option<TomlRange>,
    interval: Option<String>,
    cohort: Option<bool>,
    within: Option<String>,
    compare: Option<String>,
    attribution: Option<String>,
    account: Option<OneOrMany>,
    r#where: Option<OneOrMany>,
    filter: Option<String>,
    sort: Option<OneOrMany>,
    limit: Option<usize>,
    totals: Option<bool>,
    format: Option<String>,
    allow_long_total: Option<bool>,
    allow_unknown: Option<bool>,
    strict: Option<bool>,
}

/// The name of a range: a text, or a year as a number.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected the name of a range, such as \"2026-05\" or \"last-month\"")]
enum TomlRange {
    Year(u16),
    Text(String),
}

impl fmt::Display for TomlRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Year(year) => year.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl JobsFile {
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

impl JobEntry {
    /// Returns the name of the query in messages; `number` is its position in the file.
    pub(super) fn label(&self, number: usize) -> String {
        match self.name.as_ref().or(self.output.as_ref()) {
            Some(name) => format!("query `{name}`"),
            None => format!("query {number}"),
        }
    }
}

/// A query to run, and the file for its result.
#[derive(Debug)]
pub(super) struct QueryJob {
    /// Name in messages.
    pub(super) name: String,
    /// File name, without a folder.
    pub(super) output: String,
    pub(super) format: Format,
    pub(super) spec: QuerySpec,
}

impl QueryJob {
    /// Applies the defaults to an entry, and parses its options like those of the command line.
    pub(super) fn new(entry: &JobEntry, defaults: &JobDefaults) -> Result<Self, Failure> {
        let (output, format) = file_and_format(entry, defaults)?;
        let fields = entry.fields.as_ref().or(defaults.fields.as_ref()).ok_or_else(|| missing("fields"))?;
        let interval = entry.interval.as_ref().or(defaults.interval.as_ref());
        let within = entry.within.as_ref().or(defaults.within.as_ref());
        let within = within.map(|text| text.parse()).transpose().map_err(Failure::request)?;
        let compare = entry.compare.as_ref().or(defaults.compare.as_ref());
        let attribution = entry.attribution.as_ref().or(defaults.attribution.as_ref());
        let conditions = texts(entry.r#where.as_ref().or(defaults.r#where.as_ref()));
        let mut spec = QuerySpec {
            fields: fields.as_slice().iter().flat_map(|text| text.split(',')).map(str::to_owned).collect(),
            range: range(entry, defaults)?,
            interval: interval.map(|text| text.parse()).transpose().map_err(Failure::request)?.unwrap_or_default(),
            cohort: CohortArgs::new(entry.cohort.or(defaults.cohort).unwrap_or_default(), within)?,
            compare: compare.map(|text| text.parse()).transpose().map_err(Failure::request)?,
            attribution: attribution
                .map(|text| text.parse())
                .transpose()
                .map_err(Failure::request)?
                .unwrap_or_default(),
            accounts: texts(entry.account.as_ref().or(defaults.account.as_ref())).to_vec(),
            conditions: conditions
                .iter()
                .map(|text| text.parse().map_err(Failure::request))
                .collect::<Result<_, _>>()?,
            filter: entry.filter.clone().or_else(|| defaults.filter.clone()),
            sort: texts(entry.sort.as_ref().or(defaults.sort.as_ref()))
                .iter()
                .flat_map(|text| text.split(','))
                .map(SortKey::from)
                .collect(),
            limit: entry.limit.or(defaults.limit),
            totals: entry.totals.or(defaults.totals).unwrap_or_default(),
            allow_long_total: entry.allow_long_total.or(defaults.allow_long_total).unwrap_or_default(),
            allow_unknown: entry.allow_unknown.or(defaults.allow_unknown).unwrap_or_default(),
            strict: entry.strict.or(defaults.strict).unwrap_or_default(),
        };
        if format == Format::Table {
            spec.show_open_leads();
        }
        let name = entry.name.clone().unwrap_or_else(|| output.clone());
        Ok(Self { name, output, format, spec })
    }
}

/// Returns the file name and the format of a result. The format is the one that the entry sets, or else the one for the
/// ending of its file name, or else that of the defaults.
fn file_and_format(entry: &JobEntry, defaults: &JobDefaults) -> Result<(String, Format), Failure> {
    let default = || defaults.format.as_deref().map(format).transpose();
    let named = entry.format.as_deref().map(format).transpose()?;
    let (output, format) = match (&entry.output, &entry.name) {
        (Some(output), _) => {
            let path = Path::new(output);
            let by_ending = || if path.extension().is_some() { Format::of_file(path).map(Some) } else { Ok(None) };
            let format = match named {
                Some(format) => Some(format),
                None => by_ending().map_err(Failure::into_request)?.map_or_else(default, |format| Ok(Some(format)))?,
            };
            (output.clone(), format.ok_or_else(|| missing("format"))?)
        }
        (None, Some(name)) => {
            let format = named.map_or_else(default, |format| Ok(Some(format)))?.ok_or_else(|| missing("format"))?;
            (format!("{name}.{}", format.ending()), format)
        }
        (None, None) => return Err(Failure::request("the key `name` is missing, and there is no `output`")),
    };
    check_file_name(&output)?;
    Ok((output, format))
}

fn format(text: &str) -> Result<Format, Failure> {
    Format::from_str(text, false).map_err(|_| {
        let known: Vec<String> = Format::value_variants()
            .iter()
            .filter_map(|format| Some(format!("`{}`", format.to_possible_value()?.get_name())))
            .collect();
        Failure::request(format!("expected a format ({}), but found `{}`", known.join(", "), Shown(text)))
    })
}

/// Returns the days of a query. The name of a range in the query replaces the days of the defaults, and a `start` or
/// `end` of the query replaces the name of a range in the defaults.
fn range(entry: &JobEntry, defaults: &JobDefaults) -> Result<RangeArgs, Failure> {
    let JobEntry { start, end, range, month, quarter, year, last, .. } = entry;
    let has_days = start.is_some() || end.is_some();
    let own = named_range([range, month, quarter, year, last], has_days)?;
    let JobDefaults { range, month, quarter, year, last, .. } = defaults;
    let has_default_days = defaults.start.is_some() || defaults.end.is_some();
    let default = named_range([range, month, quarter, year, last], has_default_days)?;
    if let Some(named) = own.or(default.filter(|_| !has_days)) {
        return Ok(named.into());
    }
    let start = day("start", start.as_ref().or(defaults.start.as_ref()))?;
    let end = day("end", end.as_ref().or(defaults.end.as_ref()))?;
    Ok(DateRange { start, end }.into())
}

/// Returns the range that a table of the file names, by the values of `range`, `month`, `quarter`, `year` and `last`.
/// `has_days` says whether the table also has a `start` or an `end`.
fn named_range(values: [&Option<TomlRange>; 5], has_days: bool) -> Result<Option<NamedRange>, Failure> {
    type Parse = fn(&str) -> Result<NamedRange, NotARange>;
    let keys: [(&str, Parse); 5] = [
        ("range", str::parse),
        ("month", NamedRange::month),
        ("quarter", NamedRange::quarter),
        ("year", NamedRange::year),
        ("last", NamedRange::last),
    ];
    let mut given = keys.into_iter().zip(values).filter_map(|(key, value)| Some((key, value.as_ref()?)));
    match (given.next(), given.next()) {
        (None, _) => Ok(None),
        (Some(((one, _), _)), Some(((other, _), _))) => Err(Failure::request(format!(
            "expected one of `range`, `month`, `quarter`, `year` and `last`, but found `{one}` and `{other}`"
        ))),
        (Some(((key, _), _)), None) if has_days => {
            Err(Failure::request(format!("expected either `{key}` or `start` and `end`, but found both")))
        }
        (Some(((key, parse), value)), None) => {
            let range = parse(&value.to_string());
            range.map(Some).map_err(|error| Failure::request(format!("`{key}`: {error}")))
        }
    }
}

fn day(key: &'static str, date: Option<&TomlDate>) -> Result<Day, Failure> {
    let date = date.ok_or_else(|| missing(key))?;
    date.to_string().parse().map_err(Failure::request)
}

fn texts(texts: Option<&OneOrMany>) -> &[String] {
    texts.map_or(&[], OneOrMany::as_slice)
}

fn missing(key: &str) -> Failure {
    Failure::request(format!("the key `{key}` is missing, and `[defaults]` does not set it"))
}
