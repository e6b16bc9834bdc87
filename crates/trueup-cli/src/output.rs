//! The results of commands: formats, and where they are written.
//!
//! A command creates an [`OutputWriter`] for stdout or for a file, and [`write()`] writes a result table to it in a
//! [`Format`].

pub(crate) mod table;
mod wrap;
mod writer;
mod xlsx;

#[cfg(test)]
mod tests;

pub(crate) use wrap::{wrap, write_lines};
pub(crate) use writer::OutputWriter;

use crate::exit::Failure;
use crate::progress;
use arrow_ipc::writer::FileWriter;
use arrow_schema::ArrowError;
use std::io::{self, Write};
use std::path::Path;
use trueup::{Column, ResultTable, StringColumn, StringList, Values, json, without_credentials};
use trueup_ingest::listed;

/// The format of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// Aligned columns for people; money, percentages and large numbers are formatted for reading.
    Table,
    /// One JSON array of rows; for a query, exactly as the service returns it.
    Json,
    /// One JSON object per line.
    Ndjson,
    /// Comma-separated values with a header; numbers are written in full.
    Csv,
    /// A Parquet file; text columns are strings, money columns decimals.
    Parquet,
    /// An Arrow IPC file; text columns are dictionaries, money columns decimals.
    Arrow,
    /// An XLSX sheet with number formats and a frozen header, for spreadsheets.
    Xlsx,
    /// CSV below a line with the time zone of its times; only `trueup diff` makes such rows.
    #[value(skip)]
    GoogleAdsAdjustments,
}

/// Each ending of files with its format, the usual one first. One that an ingest reads means the same format there.
const ENDINGS: [(&str, Format); 9] = [
    ("csv", Format::Csv),
    ("json", Format::Json),
    ("ndjson", Format::Ndjson),
    ("jsonl", Format::Ndjson),
    ("parquet", Format::Parquet),
    ("pq", Format::Parquet),
    ("arrow", Format::Arrow),
    ("xlsx", Format::Xlsx),
    ("txt", Format::Table),
];

impl Format {
    /// Returns the format of an output file: a table if its name has no ending.
    ///
    /// # Errors
    /// If the ending is unknown.
    pub(crate) fn of_file(path: &Path) -> Result<Self, Failure> {
        let Some(ending) = path.extension() else { return Ok(Self::Table) };
        let named = ENDINGS.iter().find(|(known, _)| ending.eq_ignore_ascii_case(known));
        named.map(|(_, format)| *format).ok_or_else(|| {
            let endings = listed(ENDINGS.iter().map(|(ending, _)| format!(".{ending}")), "or");
            Failure::usage(format!(
                "expected a file that ends in {endings}, but found `{}`; or choose the format with `--format` or, in a jobs file, with the key `format`",
                without_credentials(path).display()
            ))
        })
    }

    /// Returns the usual ending of a file name in this format.
    pub(crate) fn ending(self) -> &'static str {
        ENDINGS.iter().find(|(_, format)| *format == self).map_or("txt", |(ending, _)| ending)
    }

    fn is_binary(self) -> bool {
        matches!(self, Self::Parquet | Self::Arrow | Self::Xlsx)
    }
}

/// The format of an output that is not a table, such as that of `trueup inspect`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ObjectFormat {
    /// Lines for people.
    Text,
    /// One JSON object.
    Json,
}

/// Writes an object as JSON to stdout, indented.
pub(crate) fn print_json(object: &impl serde::Serialize) -> Result<(), Failure> {
    print(|out| {
        serde_json::to_writer_pretty(&mut *out, object)?;
        writeln!(out)
    })
}

/// The rows of a table that a terminal shows. A file or a pipe gets all rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TerminalRows {
    /// All rows.
    All,
    /// The first and the last rows, if there are many.
    Ends,
}

/// What becomes of a table that is wider than the terminal, before its texts are cut.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Narrowing {
    /// Columns that are left out, in this order.
    pub(crate) optional: &'static [&'static str],
    /// Whether the texts of the last column are broken into lines, and never cut.
    pub(crate) wraps_last: bool,
}

/// Writes a result table and finishes the output. A reader that has closed its pipe is not a failure.
///
/// # Errors
/// If the format is binary and the output is a terminal, or the output cannot be written.
pub(crate) fn write(
    answer: &ResultTable,
    format: Format,
    rows: TerminalRows,
    narrowing: Narrowing,
    out: &mut OutputWriter,
) -> Result<(), Failure> {
    if format.is_binary() && out.is_terminal() {
        return Err(Failure::usage("expected a file for this format, not a terminal; name one with `-o FILE`"));
    }
    let written = match format {
        Format::Table => table::write(answer, rows, narrowing, out).map_err(Failure::fault),
        Format::Json => write_json(answer, out),
        Format::Ndjson => json::write_ndjson(answer, out).map_err(Failure::fault),
        Format::Csv => trueup::csv::write_rows(answer, out).map_err(Failure::fault),
        Format::Parquet => write_parquet(answer, &mut *out).map_err(Failure::fault),
        Format::Arrow => write_arrow(answer, &mut *out).map_err(Failure::fault),
        Format::Xlsx => xlsx::write(answer, out),
        Format::GoogleAdsAdjustments => writeln!(out, "Parameters:TimeZone=+0000")
            .and_then(|()| trueup::csv::write_rows(answer, out))
            .map_err(Failure::fault),
    };
    out.finish(written)
}

/// Writes text to stdout with `write`. A reader that has closed its pipe is not a failure.
pub(crate) fn print(write: impl FnOnce(&mut OutputWriter) -> io::Result<()>) -> Result<(), Failure> {
    progress::above(|| {
        let mut out = OutputWriter::stdout();
        let written = write(&mut out).map_err(Failure::fault);
        out.finish(written)
    })
}

/// Writes lines for people to stdout, wrapped to the width of a terminal.
pub(crate) fn print_lines(lines: &str) -> Result<(), Failure> {
    print(|out| write_lines(lines, out))
}

fn write_json(answer: &ResultTable, out: &mut OutputWriter) -> Result<(), Failure> {
    json::write_rows(answer, out).map_err(Failure::fault)?;
    // A file gets exactly the array. On a terminal, a line break keeps the shell prompt off its last line.
    if out.is_terminal() { writeln!(out).map_err(Failure::fault) } else { Ok(()) }
}

/// Formats a number of bytes: `12.3 MiB`.
pub(crate) fn bytes(bytes: u64) -> String {
    indicatif::BinaryBytes(bytes).to_string()
}

/// Writes an Arrow IPC file with the columns of [`ResultTable::record_batch`].
fn write_arrow(answer: &ResultTable, out: impl Write) -> Result<(), ArrowError> {
    let batch = answer.record_batch()?;
    let mut writer = FileWriter::try_new(out, &batch.schema())?;
    writer.write(&batch)?;
    writer.finish()
}

/// Writes a Parquet file with the columns of [`ResultTable::record_batch`].
fn write_parquet(answer: &ResultTable, out: impl Write + Send) -> io::Result<()> {
    answer.write_parquet(out, |_| Ok(()))
}

/// A builder for a table that is not the result of a query, such as a list of users. All its columns must have the same
/// number of rows.
#[derive(Debug, Default)]
pub(crate) struct ResultTableBuilder {
    columns: Vec<Column>,
}

impl ResultTableBuilder {
    /// Adds a column of texts.
    pub(crate) fn texts(self, name: &str, texts: impl IntoIterator<Item = String>) -> Self {
        let dictionary: StringList = texts.into_iter().collect();
        let codes = (0..).take(dictionary.len()).collect();
        // Always `Some`, because each code is the index of a text.
        let Some(texts) = StringColumn::new(codes, dictionary) else { return self };
        self.column(name, Values::Strings(texts))
    }

    /// Adds a column of counts.
    pub(crate) fn counts(self, name: &str, counts: impl IntoIterator<Item = u64>) -> Self {
        self.column(name, Values::Counts(counts.into_iter().collect()))
    }

    /// Adds a column of amounts in millionths.
    pub(crate) fn money(self, name: &str, amounts: impl IntoIterator<Item = i128>) -> Self {
        self.column(name, Values::Money(amounts.into_iter().collect()))
    }

    fn column(mut self, name: &str, values: Values) -> Self {
        self.columns.push(Column { name: name.to_owned(), values });
        self
    }

    pub(crate) fn build(self) -> ResultTable {
        ResultTable::from_columns(self.columns)
    }

    /// Writes the table to stdout.
    pub(crate) fn write(self, format: Format) -> Result<(), Failure> {
        write(&self.build(), format, TerminalRows::All, Narrowing::default(), &mut OutputWriter::stdout())
    }
}
