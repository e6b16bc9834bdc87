//! `trueup demo`: a synthetic dataset, a first report on it, and what to try next.

mod access;
mod benchmark;
mod build;
mod next;
mod place;
mod report;

use crate::exit::Failure;
use crate::notice;
use crate::output::OutputWriter;
use std::path::PathBuf;
use trueup_core::query::DateRange;
use trueup_core::{ATTRIBUTION_WINDOW_DAYS, Dataset, Day};
use trueup_demo::Settings;
use trueup_ingest::Outputs;

/// Make a synthetic demo dataset with its directory, report on it, and say what to try next
///
/// The same seed, events and accounts make the same dataset on every machine. A demo that is there already is reported on again, and
/// its user gets a new key.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoCommand {
    /// The folder of the dataset; by default `trueup-demo` in cargo's target folder, or else in the current one
    dir: Option<PathBuf>,

    /// Make about so many events
    #[arg(long, value_name = "COUNT", default_value_t = Settings::demo().events)]
    events: u64,

    /// Make so many accounts
    #[arg(long, value_name = "COUNT", default_value_t = Settings::demo().accounts)]
    accounts: u32,

    /// Draw other data: the number that all chance begins with
    #[arg(long, value_name = "NUMBER", default_value_t = Settings::demo().seed)]
    seed: u64,
}

impl DemoCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        let settings = Settings { seed: self.seed, ..Settings::scale(self.events, self.accounts) };
        let end = settings.end().map_err(Failure::usage)?;
        let end = Day::from_date(end).map_err(Failure::fault)?;
        let dir = self.dir.unwrap_or_else(|| place::default(&settings));
        if place::holds(&dir, &settings)? {
            notice::note(format_args!("`{}` holds this demo already; delete it to make it anew", dir.display()));
        } else {
            if !dir.exists() {
                Outputs::new(false).check(&dir)?;
            }
            build::build(&dir, settings)?;
            notice::note(format_args!("made the demo dataset `{}`", dir.display()));
        }
        let dataset = Dataset::open(&dir)?;
        let calls = next::ServiceExamples::of(&dataset, &dir, end)?;
        let window = window(end);
        let mut sink = OutputWriter::stdout();
        let written = report::write(&dataset, window, &mut sink)
            .and_then(|()| next::write(&dataset, &dir, window, &calls, &mut sink).map_err(Failure::fault));
        sink.finish(written)
    }
}

/// The longest range that one sub-range may cover, up to the last day of the data.
fn window(end: Day) -> DateRange {
    let days = u16::try_from(ATTRIBUTION_WINDOW_DAYS).unwrap_or(u16::MAX);
    DateRange { start: Day::from_number(end.number().saturating_sub(days.saturating_sub(1))), end }
}
