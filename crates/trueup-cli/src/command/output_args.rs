//! The options that say where the rows of an answer go, and in which format.

use crate::exit::Failure;
use crate::output::{self, Format, Narrowing, OutputWriter, TerminalRows};
use clap::Args;
use std::io::Write;
use std::path::{Path, PathBuf};
use trueup::ResultTable;
use trueup_ingest::Outputs;

/// Where the rows of an answer go, and in which format.
#[derive(Debug, Args)]
pub(super) struct OutputArgs {
    /// Format of the rows; by default the one for the ending of FILE, or a table
    #[arg(long, value_enum)]
    format: Option<Format>,

    /// Show all rows of a table on a terminal, not only the first and the last. Files and pipes always get all rows
    #[arg(long)]
    pub(super) all: bool,

    /// Write the rows to this file instead of stdout. The file appears once it is complete, and must not exist yet
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Begin CSV with a byte order mark, without which Excel takes it for another encoding than UTF-8
    #[arg(long)]
    bom: bool,

    /// Replace FILE if it exists; an input or a file of a dataset is never replaced
    #[arg(long, requires = "output")]
    force: bool,
}

impl OutputArgs {
    /// Returns the format. Fails if the file may not be written, or its ending names no format. A command calls this
    /// before it runs the query.
    pub(super) fn check(&self, dataset: &Path) -> Result<Format, Failure> {
        let format = match (self.format, &self.output) {
            (Some(format), _) => format,
            (None, Some(path)) => Format::of_file(path)?,
            (None, None) => Format::Table,
        };
        if self.bom && format != Format::Csv {
            return Err(Failure::usage("`--bom` is for CSV alone; add `--format csv`, or leave it out"));
        }
        if let Some(path) = &self.output {
            self.outputs(dataset).check(path)?;
        }
        Ok(format)
    }

    /// Returns whether the rows go to a file.
    pub(super) const fn is_file(&self) -> bool {
        self.output.is_some()
    }

    pub(super) fn writer(&self, dataset: &Path) -> Result<OutputWriter, Failure> {
        match &self.output {
            Some(path) => OutputWriter::create(path, &self.outputs(dataset)),
            None => Ok(OutputWriter::stdout()),
        }
    }

    /// Writes all rows. A file appears under its name once it is complete.
    pub(super) fn write(&self, rows: &ResultTable, format: Format, out: OutputWriter) -> Result<(), Failure> {
        self.write_narrowed(rows, format, Narrowing::default(), out)
    }

    /// Writes all rows, as [`write`](Self::write) does.
    pub(super) fn write_narrowed(
        &self,
        rows: &ResultTable,
        format: Format,
        narrowing: Narrowing,
        mut out: OutputWriter,
    ) -> Result<(), Failure> {
        let shown = if self.all { TerminalRows::All } else { TerminalRows::Ends };
        if self.bom {
            // The writer remembers a failure until it has finished.
            drop(out.write_all("\u{feff}".as_bytes()));
        }
        output::write(rows, format, shown, narrowing, &mut out)?;
        out.keep()
    }

    fn outputs(&self, dataset: &Path) -> Outputs {
        Outputs::new(self.force).dataset(dataset)
    }
}
