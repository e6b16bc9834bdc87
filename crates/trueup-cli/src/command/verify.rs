//! `trueup verify`: whether every file of a dataset matches its manifest.

use crate::exit::Failure;
use crate::notice;
use crate::output::{Sink, number};
use std::io::Write;
use std::path::PathBuf;
use trueup_core::dataset::Verification;

/// Check that every file of a dataset is what its manifest says
///
/// Every file is read whole; what is wrong is told file by file, and the exit code is 1.
#[derive(Debug, clap::Args)]
pub(crate) struct Verify {
    /// The folder of the dataset
    dataset: PathBuf,

    /// Check an earlier version of the dataset
    #[arg(long, value_name = "VERSION")]
    as_of: Option<u64>,
}

impl Verify {
    pub(super) fn run(self) -> Result<(), Failure> {
        let found = Verification::of(&self.dataset, self.as_of)?;
        for fault in &found.faults {
            notice::note(fault);
        }
        let path = self.dataset.display();
        if !found.faults.is_empty() {
            return Err(Failure::request(format!("`{path}` does not match its manifest {}", found.version)));
        }
        let (files, bytes) = (number::counted(found.files as u64, "file"), number::bytes(found.bytes));
        let mut sink = Sink::stdout();
        let written = writeln!(sink, "version {} is whole: {files}, {bytes}", found.version).map_err(Failure::fault);
        sink.finish(written)
    }
}
