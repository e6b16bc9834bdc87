//! The service over a dataset and its directory, as `get` and `serve` put it together.

use super::directory::DirectoryPaths;
use crate::exit::Failure;
use clap::Args;
use std::sync::Arc;
use std::time::Duration;
use trueup::access::DirectorySettings;
use trueup::service::{Limits, Service, ServiceBuilder};
use trueup_core::Dataset;
use trueup_core::benchmarks::Privacy;

/// A dataset, its directory, and how much a request may ask for.
#[derive(Clone, Debug, Args)]
pub(crate) struct ServiceArgs {
    #[command(flatten)]
    pub(super) place: DirectoryPaths,

    /// Let a user send so many requests in a clock hour; by default 1000
    #[arg(long, value_name = "REQUESTS", help_heading = "Limits")]
    hourly_limit: Option<u32>,

    /// Let an events request cover so many accounts times sub-ranges
    #[arg(long, value_name = "COUNT", help_heading = "Limits", default_value_t = Limits::default().account_intervals)]
    max_account_intervals: usize,

    /// Let an events answer have so many rows, before conditions on metrics
    #[arg(long, value_name = "ROWS", help_heading = "Limits", default_value_t = Limits::default().rows)]
    max_rows: usize,

    /// Let an insights answer have so many documents
    #[arg(long, value_name = "COUNT", help_heading = "Limits", default_value_t = Limits::default().documents)]
    max_documents: usize,

    /// Let a query work for so many seconds
    #[arg(long, value_name = "SECONDS", help_heading = "Limits", value_parser = seconds, default_value = DEADLINE)]
    pub(super) deadline: Duration,

    /// Show a benchmark only if so many accounts out of the caller's reach stand behind it; 5 or more, by default 10
    #[arg(long, value_name = "COUNT", help_heading = "Limits", value_parser = benchmark_accounts)]
    benchmark_accounts: Option<usize>,
}

/// The deadline of [`Limits::default`], as it is typed; a test says so.
const DEADLINE: &str = "30";

impl ServiceArgs {
    /// The newest version of the dataset.
    pub(super) fn open(&self) -> Result<Dataset, Failure> {
        Ok(Dataset::open(&self.place.dataset)?)
    }

    /// The service, to be completed; what no option here says about requests is as in `limits`.
    pub(super) fn service(&self, dataset: Arc<Dataset>, limits: Limits) -> Result<ServiceBuilder, Failure> {
        let mut settings = DirectorySettings::default();
        if let Some(requests) = self.hourly_limit {
            settings = settings.hourly_limit(requests);
        }
        let directory = self.place.open(settings)?;
        let limits = Limits {
            account_intervals: self.max_account_intervals,
            rows: self.max_rows,
            documents: self.max_documents,
            deadline: self.deadline,
            ..limits
        };
        let privacy = self.benchmark_accounts.map_or_else(Privacy::default, Privacy::of_accounts);
        Ok(Service::builder(dataset, directory).limits(limits).privacy(privacy))
    }
}

/// Reads a positive number of seconds, such as `30` or `0.5`.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| format!("expected a number of seconds such as `30` or `0.5`, but found `{text}`"))
}

/// Reads a number of accounts that benchmarks may stand on.
fn benchmark_accounts(text: &str) -> Result<usize, String> {
    let fewest = Privacy::FEWEST_ACCOUNTS;
    let count = text.parse().ok().filter(|count| *count >= fewest);
    count.ok_or_else(|| format!("expected a whole number of accounts, {fewest} or more, but found `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::{DEADLINE, Limits, benchmark_accounts, seconds};
    use std::time::Duration;

    #[test]
    fn seconds_are_positive() {
        assert_eq!(seconds(DEADLINE), Ok(Limits::default().deadline));
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for text in ["", "0", "-1", "NaN", "inf", "1e30", "10s"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn benchmarks_never_stand_on_few() {
        assert_eq!(benchmark_accounts("5"), Ok(5));
        for text in ["4", "0", "-1", "ten"] {
            assert!(benchmark_accounts(text).is_err(), "{text}");
        }
    }
}
