//! The directory of a dataset, as the commands that need one name it.

use super::accounts;
use crate::exit::Failure;
use crate::notice;
use clap::Args;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use trueup::access::{Directory, DirectorySettings, SqliteDirectory, UnixTime};
use trueup_core::Dataset;
use trueup_core::dataset::store;

/// The file of the directory in the folder of its dataset.
pub(super) const FILE: &str = "directory.sqlite";

/// A dataset, and the directory that says who may see what of it.
#[derive(Clone, Debug, Args)]
pub(crate) struct DirectoryPaths {
    /// The folder of the dataset
    pub(super) dataset: PathBuf,

    /// The file of the directory, if it is not `directory.sqlite` in the folder of the dataset
    #[arg(long, value_name = "FILE")]
    directory: Option<PathBuf>,
}

impl DirectoryPaths {
    /// The file.
    fn path(&self) -> PathBuf {
        self.directory.clone().unwrap_or_else(|| self.dataset.join(FILE))
    }

    /// Opens the directory, which must be there.
    pub(super) fn open(&self, settings: DirectorySettings) -> Result<Arc<dyn Directory>, Failure> {
        let path = self.path();
        if !path.exists() {
            self.check_dataset()?;
            return Err(Failure::request(format!(
                "there is no directory `{}` yet; `trueup users add` and `trueup orgs add` make it",
                path.display()
            )));
        }
        Ok(Arc::new(SqliteDirectory::open_existing(path, settings)?))
    }

    /// Opens the directory, or makes it.
    pub(super) fn open_or_make(&self) -> Result<Arc<dyn Directory>, Failure> {
        let path = self.path();
        let is_new = !path.exists();
        if is_new {
            self.check_dataset()?;
        }
        let directory = SqliteDirectory::open(&path, DirectorySettings::default())?;
        if is_new {
            notice::note(format_args!("made the directory `{}`", path.display()));
        }
        Ok(Arc::new(directory))
    }

    /// Checks the whole directory, and gives its file. Without one in the folder of the dataset there is nothing to check.
    pub(super) fn verify(&self) -> Result<Option<PathBuf>, Failure> {
        let path = self.path();
        // A link that leads nowhere is a directory that is lost.
        if self.directory.is_none() && path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            return Ok(None);
        }
        let findings = SqliteDirectory::open_existing(&path, DirectorySettings::default())?.verify()?;
        if findings.is_empty() {
            return Ok(Some(path));
        }
        for finding in findings {
            notice::note(finding);
        }
        Err(Failure::request(format!("the directory `{}` is damaged; put a backup in its place", path.display())))
    }

    /// A mistyped folder gets no directory of its own.
    fn check_dataset(&self) -> Result<(), Failure> {
        if self.directory.is_none() && store::versions(&self.dataset).map_err(Failure::request)?.is_empty() {
            let path = self.dataset.display();
            return Err(Failure::request(format!("`{path}` holds no dataset; `trueup ingest` makes one")));
        }
        Ok(())
    }

    /// Makes accounts known to the directory that are not yet, all or none; warns of those that the dataset does not have.
    pub(super) fn admit(&self, directory: &dyn Directory, named: &[String]) -> Result<(), Failure> {
        let known = directory.accounts()?;
        let new: BTreeSet<&String> = named.iter().filter(|key| !known.contains(key)).collect();
        let new: Vec<String> = new.into_iter().cloned().collect();
        if new.is_empty() {
            return Ok(());
        }
        let dataset = Dataset::open(&self.dataset)?;
        let (missing, _) = accounts::missing(&dataset, &new)?;
        for (added, key) in new.iter().enumerate() {
            if let Err(refused) = directory.add_account(key) {
                for key in new.iter().take(added) {
                    directory.remove_account(key)?;
                }
                return Err(refused.into());
            }
        }
        for key in missing {
            notice::warning(format_args!("the dataset `{}` has no account `{key}` (yet)", self.dataset.display()));
        }
        Ok(())
    }
}

/// The present instant.
pub(super) fn now() -> UnixTime {
    std::time::SystemTime::now().into()
}
