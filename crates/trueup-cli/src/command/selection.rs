//! What `query` and `explain` have in common: a dataset and a question about it.

use super::question::QuerySpec;
use super::threads;
use crate::exit::Failure;
use clap::Args;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use trueup_core::query::EventsQuery;
use trueup_core::{Dataset, Execution};
use trueup_ingest::Outputs;

/// A dataset and a question about it.
#[derive(Debug, Args)]
pub(super) struct DatasetQueryArgs {
    /// The folder of the dataset
    dataset: PathBuf,

    #[command(flatten)]
    question: QuerySpec,

    /// Read an earlier version of the dataset; `trueup inspect` names them
    #[arg(long, value_name = "VERSION")]
    as_of: Option<u64>,

    /// Work with so many threads; by default one per core
    #[arg(long, value_name = "COUNT", value_parser = threads::parse)]
    threads: Option<NonZeroUsize>,
}

impl DatasetQueryArgs {
    /// The outputs of a command that reads the dataset.
    pub(super) fn outputs(&self, replaces: bool) -> Outputs {
        Outputs::new(replaces).dataset(&self.dataset)
    }

    pub(super) fn open(&self) -> Result<Dataset, Failure> {
        Ok(match self.as_of {
            Some(version) => Dataset::open_version(&self.dataset, version)?,
            None => Dataset::open(&self.dataset)?,
        })
    }

    /// The question, if `dataset` has the accounts that it names.
    pub(super) fn query(&self, dataset: &Dataset) -> Result<EventsQuery, Failure> {
        self.question.query(dataset)
    }

    pub(super) fn execution(&self) -> Execution {
        Execution { threads: self.threads, ..Execution::default() }
    }
}
