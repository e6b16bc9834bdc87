//! `trueup ingest`: raw files into a dataset.

use super::{size, threads};
use crate::exit::Failure;
use crate::notice;
use crate::output::{OutputWriter, number::grouped};
use crate::progress::IngestProgress;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use trueup_ingest::{IngestSummary, RowCounts};

const EXAMPLES: &str = "\
Examples:
  trueup ingest events.csv --spend spend.csv --accounts accounts.csv --into my-data
  trueup ingest january.parquet february.parquet --into my-data --rejects rejects.ndjson
  trueup ingest crm.csv ads.csv --mapping mapping.toml --into my-data";

/// Bring Parquet, CSV or NDJSON files into a dataset; all or nothing
///
/// Files in canonical form, whose columns carry the names of fields, are taken as they are; anything else goes through a mapping.
/// Events need the columns `account`, `opportunityId`, `type` (lead-originated, booked, estimated, sold, closed or canceled), and
/// `date` or `dateTime`; `eventId`, `total` and any other column are optional, and every other column is a dimension.
///
/// Events with an `eventId` replace those that the dataset holds under it; spend replaces that of the same account and date. A row
/// that breaks a rule is named and leaves the dataset as it was. The same files again change nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct IngestCommand {
    /// Files of events (.parquet, .csv, .ndjson); with --mapping, the files that it reads
    #[arg(value_name = "INPUT")]
    inputs: Vec<PathBuf>,

    /// The folder of the dataset; made if it is not there
    #[arg(long, value_name = "DATASET")]
    into: PathBuf,

    /// A file of spend (account, date, adSpend, managementFee, campaign, ...); repeat it for several
    #[arg(long, value_name = "FILE")]
    spend: Vec<PathBuf>,

    /// A file of accounts (account, accountName, industry, timeZone, leadGrading)
    #[arg(long, value_name = "FILE")]
    accounts: Option<PathBuf>,

    /// A file of insight documents, one JSON object a line
    #[arg(long, value_name = "FILE")]
    insights: Option<PathBuf>,

    /// A TOML file that says how the inputs become events, spend and accounts; needs a build with the feature `mapping`
    #[arg(long, value_name = "FILE")]
    mapping: Option<PathBuf>,

    /// Set rows that break a rule aside in this file, one JSON object a line, instead of refusing everything
    #[arg(long, value_name = "FILE")]
    rejects: Option<PathBuf>,

    /// Replace the file of rejects if it is there; an input or a file of a dataset is never replaced
    #[arg(long, requires = "rejects")]
    force: bool,

    /// Take at most this much memory, such as 4GiB (by default 1GiB), and a fixed part; events and spend that do not fit go to disk meanwhile
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    memory: Option<usize>,

    /// Take inputs of at most this many columns, and as many dimensions in the dataset (by default 2000)
    #[arg(long, value_name = "COUNT")]
    max_columns: Option<NonZeroUsize>,

    /// Take texts of at most this size (by default 1MiB); a row with a longer one breaks a rule
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    max_text: Option<usize>,

    /// Take at most this many events of a customer (by default 1000000)
    #[arg(long, value_name = "COUNT")]
    max_customer_events: Option<NonZeroUsize>,

    /// Work with so many threads; by default one per core
    #[arg(long, value_name = "COUNT", value_parser = threads::parse)]
    threads: Option<NonZeroUsize>,
}

impl IngestCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        let mut ingest = trueup_ingest::Ingest::into(&self.into);
        for path in &self.inputs {
            ingest = ingest.events(path);
        }
        for path in &self.spend {
            ingest = ingest.spend(path);
        }
        if let Some(path) = &self.accounts {
            ingest = ingest.accounts(path);
        }
        if let Some(path) = &self.insights {
            ingest = ingest.insights(path);
        }
        if let Some(path) = &self.mapping {
            if cfg!(not(feature = "mapping")) {
                return Err(Failure::usage(
                    "this build of trueup takes no mapping; that is the cargo feature `mapping`, \
                     built with `cargo build --release -p trueup-cli --features mapping`",
                ));
            }
            ingest = ingest.mapping(path);
        }
        if let Some(path) = &self.rejects {
            ingest = ingest.rejects(path).replace_rejects(self.force);
        }
        if let Some(bytes) = self.memory {
            ingest = ingest.memory(bytes);
        }
        if let Some(columns) = self.max_columns {
            ingest = ingest.max_columns(columns.get());
        }
        if let Some(bytes) = self.max_text {
            ingest = ingest.max_text_bytes(bytes);
        }
        if let Some(events) = self.max_customer_events {
            ingest = ingest.max_customer_events(events.get());
        }
        if let Some(threads) = self.threads {
            ingest = ingest.threads(threads.get());
        }
        let progress = IngestProgress::default();
        let result = ingest.run(&progress);
        progress.finish();
        let summary = result?;
        for warning in &summary.warnings {
            notice::warning(warning);
        }
        let mut sink = OutputWriter::stdout();
        let written = self.write_summary(&summary, &mut sink).map_err(Failure::fault);
        sink.finish(written)
    }

    /// Writes what became of the rows of each table that was given, none included, or that a mapping has made.
    fn write_summary(&self, summary: &IngestSummary, out: &mut impl Write) -> io::Result<()> {
        let (version, dataset) = (summary.version, self.into.display());
        if !summary.changed {
            return writeln!(
                out,
                "nothing changed: `{dataset}` stays at version {version}; all of this was ingested before"
            );
        }
        writeln!(out, "version {version} of `{dataset}`")?;
        let is_mapped = self.mapping.is_some();
        let tables = [
            ("events", summary.events, !is_mapped && !self.inputs.is_empty()),
            ("spend", summary.spend, !self.spend.is_empty()),
            ("accounts", summary.accounts, self.accounts.is_some()),
            ("insights", summary.insights, self.insights.is_some()),
        ];
        for (name, counts, is_given) in tables {
            if is_given || counts != RowCounts::default() {
                write_counts(name, counts, out)?;
            }
        }
        Ok(())
    }
}

fn write_counts(table: &str, counts: RowCounts, out: &mut impl Write) -> io::Result<()> {
    write!(out, "{table:8} {} taken", grouped(&counts.taken.to_string()))?;
    for (count, what) in [(counts.replaced, "replaced"), (counts.rejected, "rejected")] {
        if count > 0 {
            write!(out, ", {} {what}", grouped(&count.to_string()))?;
        }
    }
    writeln!(out)
}
