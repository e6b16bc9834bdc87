//! The TOML file of `trueup batch`: parses it, and turns each of its queries into a job.

use crate::command::jobs_values::{TomlAsOf, check_file_name, located, read_toml};
use crate::command::query_options::show_open_leads;
use crate::exit::Failure;
use crate::output::Format;
use clap::ValueEnum;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use trueup::Shown;
use trueup::request::{PARAMETERS, Parameter, QueryRequest, ValueType};

/// The contents of a jobs file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct JobsFile {
    /// A path, relative to the folder of the jobs file, or a URL.
    dataset: PathBuf,
    /// The version of the dataset to read; `None` for the newest.
    pub(super) as_of: Option<TomlAsOf>,
    /// The keys of queries that do not set them. A key of a query replaces the default; lists are not combined.
    #[serde(default)]
    pub(super) defaults: JobTable,
    #[serde(default)]
    pub(super) query: Vec<JobTable>,
}

/// One `[[query]]`, or the defaults.
#[derive(Debug, Default)]
pub(super) struct JobTable {
    name: Option<String>,
    output: Option<String>,
    format: Option<String>,
    /// The parts of the request, by their names, each with the texts that spell its value.
    request: BTreeMap<&'static str, Vec<String>>,
}

impl<'de> Deserialize<'de> for JobTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TableVisitor)
    }
}

struct TableVisitor;

impl<'de> Visitor<'de> for TableVisitor {
    type Value = JobTable;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of the options of `trueup query`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut keys: A) -> Result<JobTable, A::Error> {
        static KNOWN: LazyLock<Vec<&str>> = LazyLock::new(|| {
            ["name", "output", "format"].into_iter().chain(PARAMETERS.iter().map(|parameter| parameter.name)).collect()
        });
        let mut table = JobTable::default();
        while let Some(key) = keys.next_key::<String>()? {
            match key.as_str() {
                "name" => table.name = Some(keys.next_value()?),
                "output" => table.output = Some(keys.next_value()?),
                "format" => table.format = Some(keys.next_value()?),
                key => {
                    let parameter = Parameter::named(key).ok_or_else(|| A::Error::unknown_field(key, &KNOWN))?;
                    let texts = texts(parameter.value, keys.next_value()?);
                    let texts = texts.map_err(|fault| A::Error::custom(format_args!("`{key}`: {fault}")))?;
                    table.request.insert(parameter.name, texts);
                }
            }
        }
        Ok(table)
    }
}

/// Returns the texts that spell the value of a key.
fn texts(kind: ValueType, value: toml::Value) -> Result<Vec<String>, String> {
    use toml::Value::{Array, Boolean, Datetime, Integer, String as Text};
    let expected = match kind {
        ValueType::Names | ValueType::Strings => "a text or a list of texts",
        ValueType::Date => "a date such as 2025-01-31",
        ValueType::Range => "the name of a range, such as \"2026-05\" or \"last-month\"",
        ValueType::Flag => "`true` or `false`",
        ValueType::Rows => "a number of rows",
        _ => "a text",
    };
    let unexpected = |value: &toml::Value| format!("expected {expected}, but found `{}`", Shown(&value.to_string()));
    match (kind, value) {
        (ValueType::Names | ValueType::Strings, Array(items)) => {
            let text = |item| if let Text(text) = item { Ok(text) } else { Err(unexpected(&item)) };
            items.into_iter().map(text).collect()
        }
        (ValueType::Flag, Boolean(flag)) => Ok(vec![flag.to_string()]),
        // The year may be a number.
        (ValueType::Rows | ValueType::Range, Integer(number)) => Ok(vec![number.to_string()]),
        (ValueType::Date, Datetime(date)) => Ok(vec![date.to_string()]),
        (ValueType::Flag | ValueType::Rows, value) => Err(unexpected(&value)),
        (_, Text(text)) => Ok(vec![text]),
        (_, value) => Err(unexpected(&value)),
    }
}

impl JobsFile {
    /// Reads a jobs file.
    ///
    /// # Errors
    /// If the file cannot be read, is not TOML, or has an unknown key or a value of a wrong type.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let file: Self = read_toml(path)?;
        if file.defaults.name.is_some() || file.defaults.output.is_some() {
            return Err(Failure::request(format!(
                "`{}`: `[defaults]` has a `name` or an `output`, which each query has for itself",
                path.display()
            )));
        }
        Ok(file)
    }

    /// Returns the path or the URL of the dataset. A relative path starts at `folder`.
    pub(super) fn dataset_path(&self, folder: &Path) -> PathBuf {
        located(&self.dataset, folder)
    }
}

impl JobTable {
    /// Returns the name of the query in messages; `number` is its position in the file.
    pub(super) fn label(&self, number: usize) -> String {
        match self.name.as_ref().or(self.output.as_ref()) {
            Some(name) => format!("query `{name}`"),
            None => format!("query {number}"),
        }
    }

    /// Returns whether the table says its days by parts of this type.
    fn has(&self, kind: ValueType) -> bool {
        PARAMETERS.iter().any(|parameter| parameter.value == kind && self.request.contains_key(parameter.name))
    }

    /// Returns the request of a query, with the defaults. The name of a range in the query replaces the days of the
    /// defaults, and a `start` or `end` of the query replaces the name of a range in the defaults.
    fn request(&self, defaults: &Self) -> Result<QueryRequest, Failure> {
        let is_replaced = |parameter: &Parameter| match parameter.value {
            ValueType::Date => self.has(ValueType::Range),
            ValueType::Range => self.has(ValueType::Range) || self.has(ValueType::Date),
            _ => false,
        };
        let texts = |parameter: &'static Parameter| {
            let default = || defaults.request.get(parameter.name).filter(|_| !is_replaced(parameter));
            Some((parameter, self.request.get(parameter.name).or_else(default)?.clone()))
        };
        QueryRequest::from_texts(PARAMETERS.iter().filter_map(texts)).map_err(Failure::request)
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
    pub(super) request: QueryRequest,
}

impl QueryJob {
    /// Applies the defaults to a table, and reads its values as those of the command line.
    pub(super) fn new(table: &JobTable, defaults: &JobTable) -> Result<Self, Failure> {
        let (output, format) = file_and_format(table, defaults)?;
        let mut request = table.request(defaults)?;
        if format == Format::Table {
            show_open_leads(&mut request);
        }
        let name = table.name.clone().unwrap_or_else(|| output.clone());
        Ok(Self { name, output, format, request })
    }
}

/// Returns the file name and the format of a result. The format is the one that the entry sets, or else the one for the
/// ending of its file name, or else that of the defaults.
fn file_and_format(entry: &JobTable, defaults: &JobTable) -> Result<(String, Format), Failure> {
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

fn missing(key: &str) -> Failure {
    Failure::request(format!("the key `{key}` is missing, and `[defaults]` does not set it"))
}
