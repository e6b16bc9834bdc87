//! `trueup define`: the metrics and dimensions that a dataset defines.

use super::open_dataset;
use super::wait::WaitArgs;
use crate::exit::{Exit, Failure};
use crate::notice;
use crate::output;
use crate::terminal::printable;
use clap::Args;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use trueup::definitions::{DefinitionError, Definitions, MAX_DEFINITIONS_BYTES};
use trueup_ingest::{Define, ErrorKind, IngestError};

const EXAMPLES: &str = r#"Examples:
  trueup define my-data definitions.toml     replace all definitions with those of the file
  trueup define my-data                      print what is defined, as TOML
  trueup define my-data --remove             remove all definitions
  trueup fields my-data                      the fields of the dataset, with its definitions

A file of definitions:
  [[metric]]
  name = "netRevenuePerLead"
  displayName = "Net Revenue per Lead"
  format = "currency"
  direction = "up"
  numerator = ["closedRevenue", "-spend"]
  denominator = ["leads"]

  [[dimension]]
  name = "brand"
  from = "campaign"
  cases = [{ regex = "brand", flags = "i", value = "Brand" }]
  otherwise = "Other""#;

/// Define metrics and dimensions of a dataset
///
/// A metric is a sum of built-in counts or amounts, or one such sum over another; a dimension maps the texts of another
/// one, or is a part of a date. Both are stored with the dataset, in a new version, and work wherever built-in ones do.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DefineCommand {
    /// Folder or URL of the dataset
    dataset: PathBuf,

    /// File of definitions, in TOML; `-` reads standard input. Without it, the stored definitions are printed
    file: Option<PathBuf>,

    /// Remove all definitions
    #[arg(long, conflicts_with = "file")]
    remove: bool,

    #[command(flatten)]
    wait: WaitArgs,
}

impl DefineCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        let definitions = match &self.file {
            Some(file) => read(file)?,
            None if self.remove => Definitions::default(),
            None => return self.show(),
        };
        let before = open_version(&self.dataset);
        let define = Define::new(&self.dataset, &definitions);
        let version = self.wait.run(define, |error, stopped| self.failure(error, stopped))?;
        output::print(|out| self.write_summary(version, before == Some(version), &definitions, out))
    }

    /// Returns the failure, which names the file of definitions if these are at fault.
    fn failure(&self, error: IngestError, stopped: Exit) -> Failure {
        match (error.kind(), &self.file) {
            (ErrorKind::Definitions(fault), Some(file)) => of_file(file, fault),
            _ => Failure::ingest(error, stopped),
        }
    }

    /// Prints the stored definitions.
    fn show(&self) -> Result<(), Failure> {
        let dataset = open_dataset(&self.dataset, None)?;
        let definitions = dataset.definitions();
        if definitions.is_empty() {
            notice::note("the dataset defines no metrics or dimensions; `trueup define --help` shows how to");
            return Ok(());
        }
        output::print(|out| {
            out.write_all(definitions.text().as_bytes())?;
            if definitions.text().ends_with('\n') { Ok(()) } else { writeln!(out) }
        })
    }

    fn write_summary(
        &self,
        version: u64,
        is_unchanged: bool,
        definitions: &Definitions,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let dataset = self.dataset.display();
        if is_unchanged {
            return writeln!(out, "nothing changed: `{dataset}` stays at version {version}, which defines the same");
        }
        writeln!(out, "version {version} of `{dataset}`")?;
        for metric in definitions.metrics() {
            writeln!(out, "metric     {} = {}", metric.name, metric.formula)?;
        }
        for dimension in definitions.dimensions() {
            writeln!(out, "dimension  {} from {}", dimension.name, printable(&dimension.from))?;
        }
        if definitions.is_empty() {
            writeln!(out, "nothing is defined any more")?;
        }
        Ok(())
    }
}

/// Returns the number of the newest version; `None` if there is none that can be opened.
fn open_version(dataset: &Path) -> Option<u64> {
    Some(open_dataset(dataset, None).ok()?.manifest()?.version)
}

/// Reads a file of definitions.
fn read(file: &Path) -> Result<Definitions, Failure> {
    let limit = MAX_DEFINITIONS_BYTES as u64 + 1;
    let mut bytes = Vec::new();
    let read = if file == Path::new("-") {
        io::stdin().lock().take(limit).read_to_end(&mut bytes)
    } else {
        fs::File::open(file).and_then(|opened| opened.take(limit).read_to_end(&mut bytes))
    };
    read.map_err(|error| Failure::path(file, &error))?;
    if bytes.len() > MAX_DEFINITIONS_BYTES {
        let fault = format_args!("expected at most {MAX_DEFINITIONS_BYTES} bytes, but found more");
        return Err(Failure::path(file, &fault));
    }
    let text = String::from_utf8(bytes)
        .map_err(|error| Failure::path(file, &format_args!("{error}; save the file as UTF-8")))?;
    Definitions::parse(&text).map_err(|fault| of_file(file, &fault))
}

/// Returns the failure of a fault that begins with its place in the file.
fn of_file(file: &Path, fault: &DefinitionError) -> Failure {
    Failure::request(format!("`{}`, {fault}", file.display()))
}
