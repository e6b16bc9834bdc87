//! `trueup versions`: the versions of a dataset.

use super::protocol;
use crate::exit::Failure;
use crate::output::{Format, ResultTableBuilder};
use crate::progress::Step;
use std::path::PathBuf;
use trueup::DatasetError;
use trueup::versions::VersionSummary;

const EXAMPLES: &str = "\
Examples:
  trueup versions my-data
  trueup versions my-data --format json
  trueup versions my-data --protocol 12
  trueup query my-data --fields leads --month 2026-01 --as-of 12
  trueup query my-data --fields leads --month 2026-01 --as-of 2026-02-03T09:00:00Z";

/// List the versions of a dataset: when and by what each was made, and its size
///
/// Times are in UTC. `ownFiles` and `ownBytes` are of files that no other version names: what is freed when the
/// version has expired and its grace period is over.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct VersionsCommand {
    /// Folder or URL of the dataset
    dataset: PathBuf,

    /// Show what became of each row of the inputs of the ingest that made this version, with control totals
    #[arg(long, value_name = "VERSION")]
    protocol: Option<u64>,

    /// Format of the list; with --protocol, json is one object
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

impl VersionsCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        if let Some(version) = self.protocol {
            return self.write_protocol(version);
        }
        let step = Step::new("reading manifests");
        let versions =
            VersionSummary::of_all(&self.dataset).map_err(|error| trueup::Error::from(DatasetError::from(error)))?;
        drop(step);
        if versions.is_empty() {
            // The error says what is there instead.
            super::open_dataset(&self.dataset, None)?;
        }
        let counts = |count: fn(&VersionSummary) -> u64| versions.iter().map(count);
        ResultTableBuilder::default()
            .counts("version", counts(|it| it.version))
            .texts("committed", versions.iter().map(|it| it.committed.to_string()))
            .texts("operation", versions.iter().map(|it| it.operation.name().to_owned()))
            .texts("createdBy", versions.iter().map(|it| it.created_by.clone()))
            .counts("events", counts(|it| it.events))
            .counts("spend", counts(|it| it.spend))
            .counts("files", counts(|it| it.files))
            .counts("bytes", counts(|it| it.bytes))
            .counts("ownFiles", counts(|it| it.own_files))
            .counts("ownBytes", counts(|it| it.own_bytes))
            .write(self.format)
    }

    /// Writes the protocol of the ingest that made a version.
    fn write_protocol(&self, version: u64) -> Result<(), Failure> {
        let dataset = super::open_dataset(&self.dataset, None)?;
        let batches = dataset.batches()?;
        let Some(batch) = batches.iter().find(|batch| batch.version == version) else {
            let made: Vec<String> = batches.iter().map(|batch| batch.version.to_string()).collect();
            let made = if made.is_empty() { "none".to_owned() } else { made.join(", ") };
            return Err(Failure::request(format!(
                "version {version} was not made by an ingest whose rows the newest version has; those are {made}"
            )));
        };
        protocol::write(version, &batch.protocol, self.format)
    }
}
