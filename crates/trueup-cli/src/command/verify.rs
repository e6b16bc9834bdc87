//! `trueup verify`: whether every file of a dataset matches its manifest, and its directory is whole.

use super::directory::DirectoryPaths;
use crate::exit::Failure;
use crate::notice;
use crate::output::{OutputWriter, number};
use std::io::Write;
use trueup_core::dataset::Verification;

/// Check that every file of a dataset is what its manifest says, and that its directory is undamaged
///
/// Every file is read whole, the directory too if there is one: each page, each index, and each reference from one row to another.
/// What is wrong is reported file by file, and the exit code is 1.
#[derive(Debug, clap::Args)]
pub(crate) struct VerifyCommand {
    #[command(flatten)]
    place: DirectoryPaths,

    /// Check an earlier version of the dataset
    #[arg(long, value_name = "VERSION")]
    as_of: Option<u64>,
}

impl VerifyCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        let found = Verification::of(&self.place.dataset, self.as_of)?;
        for fault in &found.faults {
            notice::note(fault);
        }
        let directory = self.place.verify();
        let path = self.place.dataset.display();
        if !found.faults.is_empty() {
            if let Err(failure) = directory {
                notice::note(failure);
            }
            return Err(Failure::request(format!("`{path}` does not match its manifest {}", found.version)));
        }
        let directory = directory?;
        let (files, bytes) = (number::counted(found.files as u64, "file"), number::bytes(found.bytes));
        let mut sink = OutputWriter::stdout();
        let mut written = writeln!(sink, "version {} is whole: {files}, {bytes}", found.version);
        if let Some(file) = directory {
            written = written.and_then(|()| writeln!(sink, "the directory `{}` is whole", file.display()));
        }
        sink.finish(written.map_err(Failure::fault))
    }
}
