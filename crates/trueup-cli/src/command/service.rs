//! The options that `get` and `serve` share: a dataset, its directory, the limits of a request, and the block cache.

use super::block_cache::BlockCacheArgs;
use super::directory::DirectoryPaths;
use super::option_values;
use crate::exit::Failure;
use clap::Args;
use std::sync::Arc;
use std::time::Duration;
use trueup::Dataset;
use trueup::access::DirectorySettings;
use trueup::benchmarks::Privacy;
use trueup::service::{Limits, Service, ServiceBuilder};

/// A dataset, its directory, the limits of a request, and the block cache. Options without a default value here take
/// the default of the library.
#[derive(Clone, Debug, Args)]
pub(crate) struct ServiceArgs {
    #[command(flatten)]
    pub(super) paths: DirectoryPaths,

    /// Requests that a user may send per clock hour; by default 1000
    #[arg(long, value_name = "REQUESTS", help_heading = "Limits")]
    hourly_limit: Option<u32>,

    /// Largest number of accounts times sub-ranges of an events request
    #[arg(long, value_name = "COUNT", help_heading = "Limits", default_value_t = Limits::default().account_intervals)]
    max_account_intervals: usize,

    /// Largest number of rows of an events answer, counted before conditions on metrics
    #[arg(long, value_name = "ROWS", help_heading = "Limits", default_value_t = Limits::default().rows)]
    max_rows: usize,

    /// Largest number of documents of an insights answer
    #[arg(long, value_name = "COUNT", help_heading = "Limits", default_value_t = Limits::default().documents)]
    max_documents: usize,

    /// Seconds that a request may take
    #[arg(long, value_name = "SECONDS", help_heading = "Limits", value_parser = option_values::seconds, default_value = DEADLINE)]
    pub(super) deadline: Duration,

    /// Fewest accounts outside the caller's reach that a published benchmark is based on: 5 or more, by default 10
    #[arg(long, value_name = "COUNT", help_heading = "Limits", value_parser = benchmark_accounts)]
    benchmark_accounts: Option<usize>,

    #[command(flatten)]
    pub(super) cache: BlockCacheArgs,
}

/// The deadline of [`Limits::default`] in seconds. A test compares the two.
const DEADLINE: &str = "30";

impl ServiceArgs {
    /// Returns a builder of the service. Limits that no option here sets are taken from `limits`.
    pub(super) fn builder(&self, dataset: Arc<Dataset>, limits: Limits) -> Result<ServiceBuilder, Failure> {
        let settings = DirectorySettings::default();
        let settings = self.hourly_limit.into_iter().fold(settings, DirectorySettings::hourly_limit);
        let directory = self.paths.open_directory_with(settings)?;
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

/// Parses the fewest accounts that a benchmark is based on.
fn benchmark_accounts(text: &str) -> Result<usize, String> {
    let fewest = Privacy::FEWEST_ACCOUNTS;
    let count = text.parse().ok().filter(|count| *count >= fewest);
    count.ok_or_else(|| format!("expected a whole number of accounts, {fewest} or more, but found `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::{DEADLINE, Limits, benchmark_accounts, option_values};

    #[test]
    fn the_default_deadline_is_that_of_the_service() {
        assert_eq!(option_values::seconds(DEADLINE), Ok(Limits::default().deadline));
    }

    #[test]
    fn a_benchmark_is_never_based_on_few_accounts() {
        assert_eq!(benchmark_accounts("5"), Ok(5));
        for text in ["4", "0", "-1", "ten"] {
            assert!(benchmark_accounts(text).is_err(), "{text}");
        }
    }
}
