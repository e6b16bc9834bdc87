//! `trueup expire` and `trueup vacuum`: old versions of a dataset, and files that nobody needs any more.

use super::file_count;
use super::option_values;
use super::wait::WaitArgs;
use crate::exit::Failure;
use crate::output::{self, ObjectFormat};
use serde::Serialize;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use trueup::versions::version_ranges;
use trueup_ingest::{Expire, ExpireSummary};

const EXPIRE_EXAMPLES: &str = "\
Examples:
  trueup expire my-data --older-than 30d             every time of the last 30 days can still be read
  trueup expire my-data --keep-last 10 --dry-run
  trueup expire my-data --keep-last 1 --grace 0s     if no other process reads the dataset";

/// Let old versions of a dataset expire, and remove the files that no other version needs
///
/// A version expires if neither --keep-last nor --older-than keeps it; the newest one never does. Nobody can open an
/// expired version any more, but its files stay for a grace period, for processes that have opened it before. This
/// command, `trueup vacuum` and every ingest remove files whose grace period is over.
#[derive(Debug, clap::Args)]
#[command(after_help = EXPIRE_EXAMPLES)]
#[command(group(clap::ArgGroup::new("retention").required(true).multiple(true).args(["keep_last", "older_than"])))]
pub(crate) struct ExpireCommand {
    #[command(flatten)]
    args: RemovalArgs,

    /// Keep at least this many of the newest versions
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    keep_last: Option<u32>,

    /// Keep the versions that were the newest one at some time in the last AGE, such as 30d, 12h or 2w
    #[arg(long, value_name = "AGE", value_parser = option_values::age)]
    older_than: Option<Duration>,
}

const VACUUM_EXAMPLES: &str = "\
Examples:
  trueup vacuum my-data
  trueup vacuum my-data --grace 0s     if no other process reads the dataset";

/// Remove the files of expired versions whose grace period is over, and the leftovers of killed ingests
///
/// Every ingest does the same before it begins.
#[derive(Debug, clap::Args)]
#[command(after_help = VACUUM_EXAMPLES)]
pub(crate) struct VacuumCommand {
    #[command(flatten)]
    args: RemovalArgs,
}

/// The options that both commands have.
#[derive(Debug, clap::Args)]
struct RemovalArgs {
    /// Folder or URL of the dataset
    dataset: PathBuf,

    /// How long files stay after their version has expired, such as 48h. By default, versions that `expire` lets expire
    /// get 24h, and `vacuum` leaves each version the time with which it expired; a time that is given to `vacuum`
    /// applies to all expired versions. A process that has opened an expired version fails when it needs a file that is
    /// gone
    #[arg(long, value_name = "AGE", value_parser = option_values::age)]
    grace: Option<Duration>,

    /// Only show what would be removed. The leftovers of killed ingests and purges are not counted
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    wait: WaitArgs,

    /// Format of the output
    #[arg(long, value_enum, default_value = "text")]
    format: ObjectFormat,
}

impl ExpireCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        let versions = self.keep_last.map(|versions| usize::try_from(versions).unwrap_or(usize::MAX));
        let expire = versions.into_iter().fold(Expire::new(&self.args.dataset), Expire::keep_last);
        self.args.run(self.older_than.into_iter().fold(expire, Expire::older_than))
    }
}

impl VacuumCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        self.args.run(Expire::new(&self.args.dataset).vacuum())
    }
}

impl RemovalArgs {
    fn run(&self, expire: Expire) -> Result<(), Failure> {
        let expire = self.grace.into_iter().fold(expire, Expire::grace);
        let expire = if self.dry_run { expire.dry_run() } else { expire };
        let summary = self.wait.run(expire, Failure::ingest)?;
        match self.format {
            ObjectFormat::Json => output::print_json(&ExpireReport { dry_run: self.dry_run, summary: &summary }),
            ObjectFormat::Text => output::print(|out| write_summary(&summary, &self.dataset, self.dry_run, out)),
        }
    }
}

fn write_summary(summary: &ExpireSummary, dataset: &Path, dry_run: bool, out: &mut impl Write) -> io::Result<()> {
    let ExpireSummary { expired, kept, removed, waiting, .. } = summary;
    let would = |done: &'static str, would: &'static str| if dry_run { would } else { done };
    if !expired.is_empty() {
        writeln!(out, "expired  {}{}", would("", "would be "), version_ranges(expired))?;
    }
    writeln!(out, "kept     {} of `{}`", version_ranges(kept), dataset.display())?;
    writeln!(out, "removed  {}{}", would("", "would be "), file_count::text(*removed))?;
    if waiting.files > 0 {
        writeln!(out, "waiting  {} for the end of the grace period", file_count::text(*waiting))?;
    }
    Ok(())
}

/// What the commands print as JSON. `docs/command-line.md` documents the keys.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExpireReport<'a> {
    dry_run: bool,
    #[serde(flatten)]
    summary: &'a ExpireSummary,
}
