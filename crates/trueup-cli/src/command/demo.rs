//! `trueup demo`: builds a synthetic dataset ([`build`]) with a directory ([`access`]), writes the report of its last
//! month ([`monthly_report`]), prints its figures, and suggests commands to try ([`report`]).

mod access;
mod build;
mod monthly_report;
mod report;

use crate::exit::Failure;
use crate::notice;
use crate::output::OutputWriter;
use report::ServiceExamples;
use std::path::PathBuf;
use trueup::query::DateRange;
use trueup::{ATTRIBUTION_WINDOW_DAYS, Dataset, Day};
use trueup_demo::Settings;
use trueup_ingest::Outputs;

const EXAMPLES: &str = "\
Examples:
  trueup demo
  trueup demo my-demo --events 1000000 --accounts 40";

/// Create a synthetic demo dataset, report on it, and suggest commands to try
///
/// The same seed, events and accounts create the same dataset on every machine. If the demo exists already, the command
/// reports on it again and gives its user a new key.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DemoCommand {
    /// Folder of the dataset; by default `trueup-demo` in cargo's target folder or else in the current folder. If an
    /// option has another value than its default, the name is `trueup-demo-EVENTS-ACCOUNTS-SEED`
    #[arg(value_parser = super::option_values::folder)]
    dir: Option<PathBuf>,

    /// Approximate number of events
    #[arg(long, value_name = "COUNT", default_value_t = Settings::demo().events)]
    events: u64,

    /// Number of accounts
    #[arg(long, value_name = "COUNT", default_value_t = Settings::demo().accounts)]
    accounts: u32,

    /// Seed of the random data; another seed creates other data
    #[arg(long, value_name = "NUMBER", default_value_t = Settings::demo().seed)]
    seed: u64,
}

impl DemoCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        let settings = Settings { seed: self.seed, ..Settings::scale(self.events, self.accounts) };
        let end = settings.end().map_err(Failure::usage)?;
        let end = Day::from_date(end).map_err(Failure::fault)?;
        let dir = self.dir.unwrap_or_else(|| build::default_folder(&settings));
        // Without a `/` or `/.` at the end.
        let dir: PathBuf = dir.components().collect();
        if build::holds_demo(&dir, &settings)? {
            let dir = dir.display();
            notice::note(format_args!("`{dir}` already holds this demo; delete the folder to create the demo again"));
        } else {
            if !dir.exists() {
                Outputs::new(false).check(&dir)?;
            }
            build::build(&dir, settings)?;
            notice::note(format_args!("created the demo dataset `{}`", dir.display()));
        }
        let dataset = Dataset::open(&dir)?;
        let examples = ServiceExamples::new(&dataset, &dir, end)?;
        let range = last_window(end);
        let written = monthly_report::write(&dataset, &dir, end)?;
        let mut out = OutputWriter::stdout();
        let written = report::write_figures(&dataset, range, &mut out).and_then(|()| {
            report::write_commands(&dataset, &dir, range, &written, &examples, &mut out).map_err(Failure::fault)
        });
        out.finish(written)
    }
}

/// Returns the range that ends on the last day of the data and is as long as one sub-range may be.
fn last_window(end: Day) -> DateRange {
    let days = u16::try_from(ATTRIBUTION_WINDOW_DAYS).unwrap_or(u16::MAX);
    DateRange { start: Day::from_number(end.number().saturating_sub(days.saturating_sub(1))), end }
}
