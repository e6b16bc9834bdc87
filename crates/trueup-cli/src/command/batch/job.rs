//! A query of a file of jobs, read as the command line reads its options.

use super::jobs_file::{DeclaredQuery, JobDefaults, OneOrMany, TomlDate};
use crate::command::question::{self, QuerySpec};
use crate::exit::Failure;
use crate::output::Format;
use clap::ValueEnum;
use std::path::{Component, Path};
use trueup_core::{Day, Shown};

/// A question, and the file that its answer goes to.
#[derive(Debug)]
pub(super) struct QueryJob {
    /// What it is told by.
    pub(super) name: String,
    /// The name of the file.
    pub(super) output: String,
    pub(super) format: Format,
    pub(super) question: QuerySpec,
}

impl QueryJob {
    /// A query as declared, with the defaults of its file.
    pub(super) fn new(declared: &DeclaredQuery, defaults: &JobDefaults) -> Result<Self, Failure> {
        let (output, format) = target(declared, defaults)?;
        let fields = declared.fields.as_ref().or(defaults.fields.as_ref()).ok_or_else(|| missing("fields"))?;
        let interval = declared.interval.as_ref().or(defaults.interval.as_ref());
        let conditions = texts(declared.r#where.as_ref().or(defaults.r#where.as_ref()));
        let question = QuerySpec {
            fields: fields.as_slice().iter().flat_map(|text| text.split(',')).map(str::to_owned).collect(),
            start: day("start", declared.start.as_ref().or(defaults.start.as_ref()))?,
            end: day("end", declared.end.as_ref().or(defaults.end.as_ref()))?,
            interval: interval.map(|text| text.parse()).transpose().map_err(Failure::request)?.unwrap_or_default(),
            accounts: texts(declared.account.as_ref().or(defaults.account.as_ref())).to_vec(),
            conditions: conditions
                .iter()
                .map(|text| question::condition(text))
                .collect::<Result<_, _>>()
                .map_err(Failure::request)?,
            filter: declared.filter.clone().or_else(|| defaults.filter.clone()),
            allow_long_total: declared.allow_long_total.or(defaults.allow_long_total).unwrap_or_default(),
        };
        let name = declared.name.clone().unwrap_or_else(|| output.clone());
        Ok(Self { name, output, format, question })
    }
}

/// The file, and how it is written: as the query says, as the ending of its output says, or as the defaults say.
fn target(declared: &DeclaredQuery, defaults: &JobDefaults) -> Result<(String, Format), Failure> {
    let default = || defaults.format.as_deref().map(format).transpose();
    let named = declared.format.as_deref().map(format).transpose()?;
    let (output, format) = match (&declared.output, &declared.name) {
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
        (None, None) => return Err(missing("name")),
    };
    let mut components = Path::new(&output).components();
    match (components.next(), components.next()) {
        (Some(Component::Normal(name)), None) if name == output.as_str() => Ok((output, format)),
        _ => Err(Failure::request(format!(
            "expected the name of a file, without a folder, but found `{}`",
            Shown(&output)
        ))),
    }
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

fn day(key: &'static str, date: Option<&TomlDate>) -> Result<Day, Failure> {
    let date = date.ok_or_else(|| missing(key))?;
    date.to_string().parse().map_err(Failure::request)
}

fn texts(texts: Option<&OneOrMany>) -> &[String] {
    texts.map_or(&[], OneOrMany::as_slice)
}

fn missing(key: &str) -> Failure {
    Failure::request(format!("the key `{key}` is missing, and the defaults do not have it"))
}
