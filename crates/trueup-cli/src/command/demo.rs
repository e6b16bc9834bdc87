//! `trueup demo`: builds a synthetic dataset ([`build`]) with [`insights`] and a directory ([`access`]), writes the
//! report of its last month that is over ([`monthly_report`]), prints its figures, and suggests commands to try
//! ([`report`]).

mod access;
mod build;
mod insights;
mod monthly_report;
mod report;

use super::directory::now;
use crate::exit::Failure;
use crate::notice;
use crate::output::OutputWriter;
use report::ServiceExamples;
use std::path::PathBuf;
use trueup::query::DateRange;
use trueup::service::Clock;
use trueup::{ATTRIBUTION_WINDOW_DAYS, Dataset, Day};
use trueup_demo::{Settings, SettingsError};
use trueup_ingest::Outputs;
use trueup_report::months_before;

const EXAMPLES: &str = "\
Examples:
  trueup demo
  trueup demo my-demo --events 1000000 --accounts 80
  trueup demo may --until 2026-05-31";

/// Create a synthetic demo dataset, report on it, and suggest commands to try
///
/// The data are of 24 months, the last of which ends with the day of `--until`. The same day, seed, events and accounts
/// create the same dataset on every machine. If the demo exists already, the command reports on it again and gives its
/// user a new key.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DemoCommand {
    /// Folder of the dataset; by default `trueup-demo` in cargo's target folder or else in the current folder. If an
    /// option has another value than its default, the name is `trueup-demo-EVENTS-ACCOUNTS-SEED`, and the day follows
    /// if it is given
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

    /// Last day of the data; by default yesterday in UTC or, if the demo exists already, the day that it ends with
    #[arg(long, value_name = "DATE")]
    until: Option<Day>,
}

impl DemoCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        let yesterday = || Day::from_number(now.today().number().saturating_sub(1));
        let end = self.until.unwrap_or_else(yesterday);
        let settings = Settings { seed: self.seed, ..Settings::scale(self.events, self.accounts) }.until(end.date());
        settings.end().map_err(|error| match error {
            SettingsError::Start(start) => Failure::usage(format!(
                "`--until {end}`: expected days from 1970 to 2138, but the {} months begin with {start}",
                settings.months
            )),
            error => Failure::usage(error),
        })?;
        let dir = self.dir.unwrap_or_else(|| build::default_folder(&settings, self.until));
        // Without a `/` or `/.` at the end.
        let dir: PathBuf = dir.components().collect();
        let end = match build::last_day_of_demo(&dir, &settings, self.until)? {
            Some(end) => {
                let dir = dir.display();
                notice::note(format_args!(
                    "`{dir}` already holds this demo, until {end}; delete the folder to create the demo again"
                ));
                end
            }
            None => {
                if !dir.exists() {
                    Outputs::new(false).check(&dir)?;
                }
                build::build(&dir, settings)?;
                notice::note(format_args!("created the demo dataset `{}`", dir.display()));
                end
            }
        };
        let dataset = Dataset::open(&dir)?;
        let examples = ServiceExamples::new(&dataset, &dir, end)?;
        let range = last_window(end);
        let written = monthly_report::write(&dataset, &dir, last_month(end)?)?;
        let mut out = OutputWriter::stdout();
        let written = report::write_figures(&dataset, range, &mut out).and_then(|()| {
            report::write_commands(&dataset, &dir, range, &written, &examples, &mut out).map_err(Failure::fault)
        });
        out.finish(written)
    }
}

/// Returns the last month that is over on a day.
fn last_month(end: Day) -> Result<DateRange, Failure> {
    let of_end = months_before(end, 0).filter(|month| month.end == end);
    of_end.or_else(|| months_before(end, 1)).ok_or_else(|| Failure::fault("the demo ends in the first of all months"))
}

/// Returns the range that ends on the last day of the data and is as long as one sub-range may be.
fn last_window(end: Day) -> DateRange {
    let days = u16::try_from(ATTRIBUTION_WINDOW_DAYS).unwrap_or(u16::MAX);
    DateRange { start: Day::from_number(end.number().saturating_sub(days.saturating_sub(1))), end }
}
