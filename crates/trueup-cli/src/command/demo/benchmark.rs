//! Whether the demo is large enough for benchmarks: they never stand on few accounts.

use super::access;
use crate::command::directory::now;
use crate::exit::Failure;
use std::collections::BTreeSet;
use std::path::Path;
use trueup::service::Clock;
use trueup_core::benchmarks::{self, BenchmarkData, BenchmarkQuery, Month, Privacy};
use trueup_core::{Dataset, Day, Execution};

/// The metrics that are compared.
pub(super) const METRICS: [&str; 4] = ["bookRate", "avgTicket", "avgCostPerLead", "roasClosed"];

/// An account and a month, as `YYYY-MM`.
pub(super) struct BenchmarkExample {
    pub(super) account: String,
    pub(super) month: String,
}

/// An account that the user sees and whose industry has figures to compare it with, in the last month of the data that has begun;
/// `None` if there is none.
pub(super) fn comparison(dataset: &Dataset, folder: &Path, end: Day) -> Result<Option<BenchmarkExample>, Failure> {
    let reach = access::seen(folder)?;
    let today = now.today();
    let month = Month::of(end.min(today)).to_string();
    let (period, selection) = benchmarks::read(&METRICS, &[], Some(&month), today).map_err(Failure::fault)?;
    let figures = BenchmarkData::gather(dataset, period.range, &Execution::default())?;
    let has_figures = |account: &&String| {
        let scope = BTreeSet::from([account.to_string()]);
        let question =
            BenchmarkQuery { selection: &selection, scope: &scope, reach: &reach, privacy: Privacy::default() };
        !figures.answer(&question).is_empty()
    };
    Ok(reach.iter().find(has_figures).map(|account| BenchmarkExample { account: account.clone(), month }))
}
