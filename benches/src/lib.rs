//! Data that the benchmarks share: seeded, so that every run measures the same rows.

use std::error::Error;
use trueup_core::Dataset;
use trueup_core::dataset::Tables;
use trueup_testkit::demo::{Generator, Settings};

/// A dataset in memory of about `events` events in `accounts` accounts over 24 months.
///
/// # Errors
/// The numbers are beyond what the generator makes.
pub fn dataset(events: u64, accounts: u32) -> Result<Dataset, Box<dyn Error>> {
    let generator = Generator::new(Settings::scale(events, accounts))?;
    Ok(Dataset::from_tables(&Tables {
        events: generator.events().collect::<Result<_, _>>()?,
        spend: generator.spend().collect::<Result<_, _>>()?,
        accounts: vec![generator.accounts()?],
        ..Tables::default()
    })?)
}
