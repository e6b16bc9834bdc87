//! `trueup ingest`: reads raw files and objects into a dataset.

use super::compact::merged;
use super::option_values;
use super::protocol;
use super::wait::WaitArgs;
use crate::exit::{Exit, Failure};
use crate::notice;
use crate::output::{self, ObjectFormat};
use crate::terminal::printable;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use trueup_ingest::{
    ClockZone, FORMATS, FileFormat, Ingest, IngestError, IngestSummary, LeftOutRows, MaxRejects, NotNormalValue,
    RejectedRows, RowCounts, TextEncoding, listed,
};
use trueup_report::number::grouped;

const EXAMPLES: &str = "\
Examples:
  trueup ingest events.csv --spend spend.csv --accounts accounts.csv --into my-data
  trueup ingest january.parquet february.parquet --into my-data --rejects rejects.ndjson
  trueup ingest crm.csv ads.csv --mapping mapping.toml --into my-data
  trueup ingest 's3://exports/events/*.csv.gz' --into s3://bucket/my-data";

/// Read files into a dataset, all or nothing
///
/// Files whose columns have the names of fields need no mapping. Events require the columns `account`, `opportunityId`,
/// `type` (lead-originated, booked, estimated, sold, closed or canceled), and `date` or `dateTime`. `eventId` and
/// `total` are optional. Every other column is a dimension.
///
/// An event replaces the event of the dataset that has the same account and `eventId`; spend replaces the spend of the
/// same account, date and source. If rows break a rule, the command counts them by rule, shows the first ones, and
/// leaves the dataset unchanged; with --rejects it ingests the others. Events without an `eventId` are added; if all
/// files of such events were ingested before, in the same way, they are not applied again. At the end, small files are
/// merged, as by `trueup compact`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct IngestCommand {
    #[arg(value_name = "INPUT", help = format!("Files of events ({}; also .gz, .zst, .bz2 of text), folders of such \
        files, quoted patterns such as 'events/*.csv', URLs of all of these (s3://, gs://, az://, https://), or `-` for \
        the standard input; with --mapping, the files that the mapping reads", endings()))]
    inputs: Vec<PathBuf>,

    /// Folder of the dataset, or a URL such as s3://bucket/acme; created if it does not exist
    #[arg(long, value_name = "DATASET")]
    into: PathBuf,

    /// File of spend (account, date, adSpend, managementFee, campaign, ...); repeat the option for several
    #[arg(long, value_name = "FILE")]
    spend: Vec<PathBuf>,

    /// File of accounts (account, accountName, industry, timeZone, leadGrading, currency)
    #[arg(long, value_name = "FILE")]
    accounts: Option<PathBuf>,

    /// File of insight documents, one JSON object per line
    #[arg(long, value_name = "FILE")]
    insights: Option<PathBuf>,

    /// File of targets (account, month, metric, value, attributionCategory, attributionChannel, campaign); a target
    /// replaces the one of the same account, month, metric and values. Repeat the option for several
    #[arg(long, value_name = "FILE")]
    targets: Vec<PathBuf>,

    /// TOML file that describes how to turn the inputs into events, spend, accounts and targets. The dataset keeps it:
    /// later ingests without this option read their inputs through it
    #[arg(long, value_name = "FILE")]
    mapping: Option<PathBuf>,

    /// Read the inputs as files whose columns have the names of fields, although the dataset has a mapping
    #[arg(long, conflicts_with = "mapping")]
    no_mapping: bool,

    /// Change stored events: the inputs have the columns `account` and `eventId`, and of the other columns of events
    /// only the ones to change. An empty cell changes nothing; a row that names no stored event breaks a rule
    #[arg(long, conflicts_with_all = ["mapping", "source", "replace_source"])]
    patch: bool,

    /// Source of the events and the spend that do not name theirs in a column `source`: who reported them, such as
    /// google-ads. By default the name that the mapping gives the table or its input; without a mapping, none
    #[arg(long, value_name = "NAME")]
    source: Option<String>,

    /// First remove all stored events and all stored spend of this source, in the same version; "" for what has no
    /// source
    #[arg(long, value_name = "NAME")]
    replace_source: Option<String>,

    #[arg(long, value_name = "FORMAT", help = format!("Format of INPUT, whatever its name says, and of other files \
        whose names do not say theirs: {}. By default the name decides, or else the first bytes. With --mapping, what \
        the mapping or a name says comes first", listed(FORMATS.iter().map(|format| format.name), "or")))]
    format: Option<FileFormat>,

    /// Sheet of XLSX files; by default the first one
    #[arg(long, value_name = "NAME")]
    sheet: Option<String>,

    /// Column to leave out; `*` stands for any characters, `?` for one, and `[ab]` for one of several. `day=*` leaves
    /// out the column `day` that folders such as day=2025-01-31 give. Repeat the option for several
    #[arg(long, value_name = "COLUMN")]
    ignore: Vec<String>,

    /// What separates the cells of CSV files: `;`, `|`, `tab` or another ASCII character that is neither a quote nor a
    /// line end; by default a tab in .tsv, and a comma in others
    #[arg(long, value_name = "CHAR", value_parser = option_values::delimiter)]
    delimiter: Option<char>,

    /// Encoding of text files, such as utf-16, latin1 or windows-1252; by default UTF-8
    #[arg(long, value_name = "NAME")]
    encoding: Option<TextEncoding>,

    /// Time zone of each dateTime without an offset: account (that of its account), UTC, or an IANA name such as
    /// America/New_York. Without this option such a dateTime breaks a rule, unless a mapping states its time zone
    #[arg(long, value_name = "account|UTC|ZONE")]
    time_zone: Option<ClockZone>,

    /// Write rows that break a rule to this file, one JSON object per line, and ingest the others
    #[arg(long, value_name = "FILE")]
    rejects: Option<PathBuf>,

    /// Fail if more rows than this are rejected: a number of rows, or a share of the rows of a table, such as 0.5%
    #[arg(long, value_name = "N|P%", requires = "rejects")]
    max_rejects: Option<MaxRejects>,

    /// Replace the file of rejects if it exists; an input or a file of a dataset is never replaced
    #[arg(long, requires = "rejects")]
    force: bool,

    /// Apply the events although the same files were ingested before; events without an `eventId` then count once for
    /// each ingest
    #[arg(long)]
    again: bool,

    /// Memory for rows, such as 4GiB; by default 1GiB. Rows that do not fit are spilled to disk. The process uses at
    /// most 1.2 times this memory plus 200MiB
    #[arg(long, value_name = "SIZE", value_parser = option_values::bytes)]
    memory: Option<usize>,

    /// Largest number of columns of an input, and of dimensions of the dataset; by default 2000
    #[arg(long, value_name = "COUNT")]
    max_columns: Option<NonZeroUsize>,

    /// Largest size of a text; a row with a longer one breaks a rule. By default 1MiB
    #[arg(long, value_name = "SIZE", value_parser = option_values::bytes)]
    max_text: Option<usize>,

    /// Largest number of events of a customer; by default 1000000
    #[arg(long, value_name = "COUNT")]
    max_customer_events: Option<NonZeroUsize>,

    /// Number of threads, from 1 to 1024; by default one per core
    #[arg(long, value_name = "COUNT", value_parser = option_values::threads)]
    threads: Option<NonZeroUsize>,

    /// How to say on stdout what became of each row of the inputs, with control totals. `trueup versions --protocol`
    /// shows it again
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    protocol: ObjectFormat,

    #[command(flatten)]
    wait: WaitArgs,
}

/// Returns the usual endings of the files of all formats, for help.
pub(super) fn endings() -> String {
    let endings = FORMATS.iter().filter_map(|format| format.endings.first());
    endings.map(|ending| format!(".{ending}")).collect::<Vec<_>>().join(", ")
}

impl IngestCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        let ingest = self.inputs.iter().fold(Ingest::into(&self.into), Ingest::events);
        let ingest = self.spend.iter().fold(ingest, Ingest::spend);
        let ingest = self.accounts.iter().fold(ingest, Ingest::accounts);
        let ingest = self.insights.iter().fold(ingest, Ingest::insights);
        let ingest = self.targets.iter().fold(ingest, Ingest::targets);
        let ingest = self.mapping.iter().fold(ingest, Ingest::mapping);
        let ingest = ingest.stored_mapping(!self.no_mapping).patch(self.patch).again(self.again);
        let ingest = self.source.as_deref().into_iter().fold(ingest, Ingest::source);
        let ingest = self.replace_source.iter().fold(ingest, Ingest::replace_source);
        let ingest = self.format.into_iter().fold(ingest, Ingest::format);
        let ingest = self.sheet.iter().fold(ingest, Ingest::sheet);
        let ingest = self.ignore.iter().fold(ingest, Ingest::ignore);
        let ingest = self.delimiter.into_iter().fold(ingest, Ingest::delimiter);
        let ingest = self.encoding.into_iter().fold(ingest, Ingest::encoding);
        let ingest = self.rejects.iter().fold(ingest, Ingest::rejects).replace_rejects(self.force);
        let ingest = self.time_zone.into_iter().fold(ingest, Ingest::time_zone);
        let ingest = self.max_rejects.into_iter().fold(ingest, Ingest::max_rejects);
        let ingest = self.memory.into_iter().fold(ingest, Ingest::memory);
        let number = |option: Option<NonZeroUsize>| option.map(NonZeroUsize::get).into_iter();
        let ingest = number(self.max_columns).fold(ingest, Ingest::max_columns);
        let ingest = self.max_text.into_iter().fold(ingest, Ingest::max_text_bytes);
        let ingest = number(self.max_customer_events).fold(ingest, Ingest::max_customer_events);
        let ingest = number(self.threads).fold(ingest, Ingest::threads);
        let summary = self.wait.run(ingest, |error, stopped| self.failure(error, stopped))?;
        if let Some(path) = self.rejects.as_ref().filter(|_| summary.rejected.rows() > 0) {
            notice::warning(format!("rows that break a rule are in `{}` and not in the dataset:", path.display()));
            show_rejected(&summary.rejected);
        }
        for warning in &summary.warnings {
            notice::warning(warning);
        }
        match self.protocol {
            ObjectFormat::Text => output::print(|out| self.write_summary(&summary, out)),
            ObjectFormat::Json => protocol::write_json(summary.version, &summary.protocol),
        }
    }

    /// Shows the rows that break a rule, if there are several, and returns the failure.
    fn failure(&self, error: IngestError, stopped: Exit) -> Failure {
        if error.interruption().is_some() {
            return Failure::stopped("the ingest was canceled, and nothing was ingested", stopped);
        }
        let Some(rejected) = error.rejected_rows() else { return error.into() };
        if rejected.rows() > 1 {
            show_rejected(rejected);
        }
        if self.rejects.is_some() {
            return error.into();
        }
        let others = "`--rejects FILE` writes such rows to a file and ingests the others";
        Failure::request(format!("{error}; nothing was ingested; {others}"))
    }

    /// Writes the version, and the row counts of each table for which a file was given, even if it had no rows, or to
    /// which a mapping contributed. If nothing changed, writes only that.
    fn write_summary(&self, summary: &IngestSummary, out: &mut impl Write) -> io::Result<()> {
        let (version, dataset) = (summary.version, self.into.display());
        if !summary.changed {
            return writeln!(
                out,
                "nothing changed: `{dataset}` stays at version {version}; all of this was ingested before"
            );
        }
        writeln!(out, "version {version} of `{dataset}`")?;
        // A mapping that gives other tables need not have a table of events, so 0 events are not reported then.
        let mut inputs = summary.protocol.values().flat_map(|table| &table.inputs);
        let is_mapped = inputs.any(|input| input.mapped_by.is_some())
            && (summary.spend, summary.accounts, summary.targets) != Default::default();
        let tables = [
            ("events", summary.events, !is_mapped && !self.inputs.is_empty()),
            ("spend", summary.spend, !self.spend.is_empty()),
            ("accounts", summary.accounts, self.accounts.is_some()),
            ("insights", summary.insights, self.insights.is_some()),
            ("targets", summary.targets, !self.targets.is_empty()),
        ];
        for (name, counts, is_given) in tables {
            if is_given || counts != RowCounts::default() {
                write_counts(name, counts, out)?;
            }
            if let Some(table) = summary.protocol.get(name) {
                protocol::write_table(table, out)?;
            }
        }
        for NotNormalValue { file, location, column, value } in &summary.not_normal {
            let file = printable(&file.display().to_string());
            let (column, value) = (printable(column), printable(value));
            writeln!(out, "`normalize` does not know `{value}`, {location} of `{file}`, column `{column}`")?;
        }
        for LeftOutRows { file, title_lines, blank_lines, short_rows } in &summary.left_out {
            let counts = [
                (*title_lines, "title line", "title lines"),
                (*blank_lines, "blank line", "blank lines"),
                (*short_rows, "row with fewer cells than the header", "rows with fewer cells than the header"),
            ];
            let counts = counts.into_iter().filter(|(count, ..)| *count > 0).map(|(count, one, more)| {
                format!("{} {}", grouped(&count.to_string()), if count == 1 { one } else { more })
            });
            let counts = counts.collect::<Vec<String>>().join(", ");
            writeln!(out, "left out {counts} of `{}`", printable(&file.display().to_string()))?;
        }
        if let Some(removed) = &summary.removed {
            let [events, spend] = [removed.events, removed.spend].map(|count| grouped(&count.to_string()));
            let source = protocol::named(&removed.source, "source");
            writeln!(out, "removed  {events} of events, {spend} of spend, with {source}")?;
        }
        if let Some(compacted) = &summary.compacted {
            writeln!(out, "{}, in version {}", merged(compacted), compacted.version)?;
        }
        Ok(())
    }
}

fn show_rejected(rejected: &RejectedRows) {
    rejected.to_string().lines().for_each(notice::note);
}

fn write_counts(table: &str, counts: RowCounts, out: &mut impl Write) -> io::Result<()> {
    write!(out, "{table:8} {} taken", grouped(&counts.taken.to_string()))?;
    for (count, what) in [
        (counts.replaced, "replaced"),
        (counts.rejected, "rejected"),
        (counts.forgotten, "of forgotten customers left out"),
        (counts.not_normal, "values kept that `normalize` does not know"),
    ] {
        if count > 0 {
            write!(out, ", {} {what}", grouped(&count.to_string()))?;
        }
    }
    writeln!(out)
}
