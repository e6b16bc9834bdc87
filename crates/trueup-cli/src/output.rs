//! How an answer leaves the program: formats and the places they are written to.

mod arrow;
mod csv;
mod listing;
pub(crate) mod number;
mod parquet;
pub(crate) mod table;
pub(crate) mod terminal;
mod writer;

#[cfg(test)]
mod tests;

pub(crate) use listing::TableBuilder;
pub(crate) use writer::OutputWriter;

use crate::exit::Failure;
use std::io::Write;
use std::path::Path;
use trueup::{ResultTable, json};

/// The endings that [`Format::of`] knows; a test says so.
const ENDINGS: &str = ".csv, .json, .ndjson, .jsonl, .parquet, .arrow or .txt";

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// Aligned columns for people: money, percentages and thousands are made readable.
    Table,
    /// One JSON array, exactly as the service answers.
    Json,
    /// One JSON object a line.
    Ndjson,
    /// Comma-separated values with a header; numbers in full.
    Csv,
    /// A Parquet file; texts as strings, money as decimals.
    Parquet,
    /// An Arrow IPC file; texts as dictionaries, money as decimals.
    Arrow,
}

impl Format {
    /// The format that the ending of a file's name stands for.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "txt" => Some(Self::Table),
            "json" => Some(Self::Json),
            "ndjson" | "jsonl" => Some(Self::Ndjson),
            "csv" => Some(Self::Csv),
            "parquet" => Some(Self::Parquet),
            "arrow" => Some(Self::Arrow),
            _ => None,
        }
    }

    /// The format of a file whose name has an ending, which must be one that stands for a format; without an ending, a table.
    pub(crate) fn of_file(path: &Path) -> Result<Self, Failure> {
        if path.extension().is_none() {
            return Ok(Self::Table);
        }
        Self::of(path).ok_or_else(|| {
            Failure::usage(format!(
                "expected a file that ends in {ENDINGS}, but found `{}`; or say what to write with `--format`",
                path.display()
            ))
        })
    }

    /// The usual ending of the name of a file.
    pub(crate) fn ending(self) -> &'static str {
        match self {
            Self::Table => "txt",
            Self::Json => "json",
            Self::Ndjson => "ndjson",
            Self::Csv => "csv",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
        }
    }

    fn is_binary(self) -> bool {
        matches!(self, Self::Parquet | Self::Arrow)
    }
}

/// Writes an answer; a reader that has gone away is no failure.
pub(crate) fn write(answer: &ResultTable, format: Format, writer: &mut OutputWriter) -> Result<(), Failure> {
    if format.is_binary() && writer.is_terminal() {
        return Err(Failure::usage("expected a file for this format, not a terminal; name one with `-o FILE`"));
    }
    let written = match format {
        Format::Table => table::write(answer, writer).map_err(Failure::fault),
        Format::Json => write_json(answer, writer),
        Format::Ndjson => json::write_ndjson(answer, writer).map_err(Failure::fault),
        Format::Csv => csv::write(answer, &mut *writer).map_err(Failure::fault),
        Format::Parquet => parquet::write(answer, &mut *writer).map_err(Failure::fault),
        Format::Arrow => arrow::write(answer, &mut *writer).map_err(Failure::fault),
    };
    writer.finish(written)
}

fn write_json(answer: &ResultTable, writer: &mut OutputWriter) -> Result<(), Failure> {
    json::write_rows(answer, writer).map_err(Failure::fault)?;
    // The array alone, byte for byte, unless a prompt would follow on its line.
    if writer.is_terminal() { writeln!(writer).map_err(Failure::fault) } else { Ok(()) }
}
