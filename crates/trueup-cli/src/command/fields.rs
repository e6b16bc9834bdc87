//! `trueup fields`: the metrics and dimensions, one of them in full, or the values of a dimension.
//!
//! [`description`] has the texts of a field; [`values`] counts the values of a dimension in a dataset.

mod description;
mod values;

use super::block_cache::BlockCacheArgs;
use super::open_dataset;
use crate::exit::Failure;
use crate::output::{self, Format, Narrowing, OutputWriter, TerminalRows};
use clap::Args;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use trueup::Shown;
use trueup::field::FieldDescription;
use trueup::is_url;
use trueup::versions::AsOf;
use trueup::{Dataset, UnknownField, dictionary};
use values::ValueCounts;

const EXAMPLES: &str = "\
Examples:
  trueup fields                              every metric and dimension of the dictionary
  trueup fields bookRate                     what a metric means, and how it is computed
  trueup fields my-data                      the fields of a dataset, with its own columns
  trueup fields my-data campaign             a dimension, with its most frequent values
  trueup fields my-data --values campaign    every value, with the number of events that carry it

A single argument is a dataset if it is the path of a folder or a URL, and the name of a field otherwise.";

/// List metrics and dimensions, and describe them
///
/// For each field: its definition, and the unit of a metric or the format of a dimension. The description of one field,
/// and every list that is not a table, also have the formula of a metric, and whether its values add up across
/// dimensions and intervals.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct FieldsCommand {
    /// Folder or URL of a dataset, and the name of a field; both may be left out
    #[arg(value_names = ["DATASET", "NAME"], num_args = 0..=2)]
    arguments: Vec<String>,

    /// List all values of this dimension in the dataset, the most frequent first
    #[arg(long, value_name = "NAME")]
    values: Option<String>,

    /// Format of the result
    #[arg(long, value_enum, default_value = "table")]
    format: Format,

    /// With --values: show all rows of a table on a terminal, not only the first and the last
    #[arg(long)]
    all: bool,

    /// Describe an earlier version of the dataset: by its number, or the newest one at a time such as
    /// 2026-01-31T18:00:00Z
    #[arg(long, value_name = "VERSION|TIME")]
    as_of: Option<AsOf>,

    #[command(flatten)]
    cache: BlockCacheArgs,
}

impl FieldsCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        let (folder, name) = self.arguments()?;
        if folder.is_none() && self.as_of.is_some() {
            return Err(Failure::usage("expected the folder or URL of a dataset with `--as-of`"));
        }
        self.cache.set()?;
        let dataset = folder.as_deref().map(|folder| open_dataset(folder, self.as_of)).transpose()?;
        match (&self.values, name, dataset) {
            (Some(_), _, None) => Err(Failure::usage("expected the folder or URL of a dataset with `--values`")),
            (Some(_), Some(name), Some(_)) => {
                Err(Failure::usage(format!("expected no second name with `--values`, but found `{}`", Shown(&name))))
            }
            (Some(dimension), None, Some(dataset)) => {
                known(dimension, Some(&dataset))?;
                let rows = if self.all { TerminalRows::All } else { TerminalRows::Ends };
                let counts = ValueCounts::of(&dataset, dimension)?;
                output::write(&counts.table()?, self.format, rows, Narrowing::default(), &mut OutputWriter::stdout())
            }
            (None, None, dataset) => {
                description::table(&FieldDescription::all(dataset.as_ref()), self.format).write(self.format)
            }
            (None, Some(name), dataset) => {
                known(&name, dataset.as_ref())?;
                let field = FieldDescription::of(&name, dataset.as_ref());
                if self.format == Format::Table {
                    write_description(&field, dataset.as_ref())
                } else {
                    description::table(&[field], self.format).write(self.format)
                }
            }
        }
    }

    /// Returns the folder of the dataset and the name of the field; `None` for each that is not given.
    fn arguments(&self) -> Result<(Option<PathBuf>, Option<String>), Failure> {
        Ok(match self.arguments.as_slice() {
            [folder, name, ..] => (Some(folder.into()), Some(name.clone())),
            [one] if is_url(Path::new(one)) || Path::new(one).is_dir() || self.values.is_some() => {
                (Some(one.into()), None)
            }
            [one] if is_known(one, None) => (None, Some(one.clone())),
            [one] => {
                let field = unknown(one, None);
                return Err(Failure::request(format!(
                    "expected the folder of a dataset or the name of a field, but found {field}"
                )));
            }
            [] => (None, None),
        })
    }
}

fn is_known(name: &str, dataset: Option<&Dataset>) -> bool {
    dictionary::field(name).is_some() || dataset.is_some_and(|dataset| dataset.has_field(name))
}

/// Checks that the dictionary or the dataset has a field.
fn known(name: &str, dataset: Option<&Dataset>) -> Result<(), Failure> {
    if is_known(name, dataset) {
        return Ok(());
    }
    let field = unknown(name, dataset);
    Err(Failure::request(format!("neither the dictionary nor the dataset knows {field}")))
}

/// Writes a field for people, with its most frequent values if it is a dimension and there is a dataset.
fn write_description(field: &FieldDescription<'_>, dataset: Option<&Dataset>) -> Result<(), Failure> {
    let counts = match dataset {
        Some(dataset) if !field.is_metric() => Some(ValueCounts::of(dataset, field.name)?),
        _ => None,
    };
    let mut lines = String::new();
    field.write(&mut lines).map_err(Failure::fault)?;
    output::print(|out| {
        output::write_lines(&lines, out)?;
        match &counts {
            Some(counts) => {
                writeln!(out)?;
                counts.write_most_frequent(out)
            }
            None => Ok(()),
        }
    })
}

/// Returns an unknown name with the known ones that are similar.
fn unknown(name: &str, dataset: Option<&Dataset>) -> UnknownField {
    let in_dictionary = || dictionary::similar_names(name, &BTreeSet::new());
    let similar = dataset.map_or_else(in_dictionary, |dataset| dataset.similar_names(name));
    UnknownField { name: name.to_owned(), similar }
}
