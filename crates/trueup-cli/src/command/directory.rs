//! The directory of a dataset, for all commands that need one: finds, opens, creates and verifies its file.

use crate::exit::Failure;
use crate::notice;
use clap::Args;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use trueup::access::{Directory, DirectorySettings, SqliteDirectory, UnixTime};
use trueup::is_url;
use trueup::versions;
use trueup::{Dataset, Day};

/// The directory's file in the folder of its dataset.
pub(super) const FILE_NAME: &str = "directory.sqlite";

/// The paths of a dataset and of its directory, which stores who may see which accounts.
#[derive(Clone, Debug, Args)]
pub(crate) struct DirectoryPaths {
    /// Folder or URL of the dataset
    pub(super) dataset: PathBuf,

    /// File of the directory; by default `directory.sqlite` in the folder of the dataset. A URL has no default
    #[arg(long, value_name = "FILE")]
    directory: Option<PathBuf>,
}

impl DirectoryPaths {
    /// Returns the path of the directory; `None` if no option names one, and the dataset is in an object store, where
    /// no directory can be.
    pub(super) fn directory_path(&self) -> Option<PathBuf> {
        let next_to_dataset = || (!is_url(&self.dataset)).then(|| self.dataset.join(FILE_NAME));
        self.directory.clone().or_else(next_to_dataset)
    }

    /// Returns the path of the directory of a command that needs one.
    ///
    /// # Errors
    /// If there is none because the dataset is in an object store and no option names the directory.
    fn needed_directory_path(&self) -> Result<PathBuf, Failure> {
        self.directory_path().ok_or_else(|| {
            let dataset = self.dataset.display();
            Failure::request(format!(
                "the dataset `{dataset}` is in an object store, and a directory is a local file; name one with `--directory FILE`"
            ))
        })
    }

    /// Opens the directory, which must exist, with the default settings.
    pub(super) fn open_directory(&self) -> Result<Arc<dyn Directory>, Failure> {
        self.open_directory_with(DirectorySettings::default())
    }

    /// Opens the directory, which must exist.
    pub(super) fn open_directory_with(&self, settings: DirectorySettings) -> Result<Arc<dyn Directory>, Failure> {
        let path = self.needed_directory_path()?;
        if !path.exists() {
            self.check_dataset()?;
            return Err(Failure::request(format!(
                "there is no directory `{}` yet; `trueup users add` and `trueup orgs add` create it",
                path.display()
            )));
        }
        Ok(Arc::new(SqliteDirectory::open_existing(path, settings)?))
    }

    /// Opens the directory, with the default settings; creates it if it does not exist.
    pub(super) fn open_or_create_directory(&self) -> Result<Arc<dyn Directory>, Failure> {
        let path = self.needed_directory_path()?;
        let is_new = !path.exists();
        if is_new {
            self.check_dataset()?;
        }
        let directory = SqliteDirectory::open(&path, DirectorySettings::default())?;
        if is_new {
            notice::note(format_args!("created the directory `{}`", path.display()));
        }
        Ok(Arc::new(directory))
    }

    /// Checks the whole directory. Returns its path and the faults found; `None` if the dataset has no directory and no
    /// option names one.
    pub(super) fn verify_directory(&self) -> Result<Option<(PathBuf, Vec<String>)>, Failure> {
        let Some(path) = self.directory_path() else { return Ok(None) };
        // A dangling symbolic link means that the directory is lost.
        if self.directory.is_none() && path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            return Ok(None);
        }
        let findings = SqliteDirectory::open_existing(&path, DirectorySettings::default())?.verify()?;
        Ok(Some((path, findings)))
    }

    /// Checks that the folder holds a dataset, so that a mistyped path does not get a directory. With `--directory` it
    /// checks nothing, because the folder then gets none.
    fn check_dataset(&self) -> Result<(), Failure> {
        if self.directory.is_none() && versions::list(&self.dataset).map_err(Failure::request)?.is_empty() {
            let path = self.dataset.display();
            return Err(Failure::request(format!("`{path}` holds no dataset; `trueup ingest` creates one")));
        }
        Ok(())
    }

    /// Adds the accounts of `keys` that the directory does not know yet. If the directory refuses one of them, adds
    /// none. Warns about each added account that the dataset does not have.
    pub(super) fn add_accounts(&self, directory: &dyn Directory, keys: &[String]) -> Result<(), Failure> {
        let known = directory.accounts()?;
        let new: BTreeSet<&String> = keys.iter().filter(|key| !known.contains(key)).collect();
        let new: Vec<String> = new.into_iter().cloned().collect();
        if new.is_empty() {
            return Ok(());
        }
        let dataset = Dataset::open(&self.dataset)?;
        let missing = dataset.missing_accounts(&new).map_err(trueup::Error::from)?;
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

/// Returns the current time.
pub(super) fn now() -> UnixTime {
    std::time::SystemTime::now().into()
}

/// Formats a time as RFC 3339 in UTC. A day that data cannot have is replaced by the nearest day that data can have.
pub(super) fn timestamp(time: UnixTime) -> String {
    const DAY: i64 = 86_400;
    let (days, second) = (time.seconds().div_euclid(DAY), time.seconds().rem_euclid(DAY));
    let day = u16::try_from(days).map_or(if days < 0 { Day::MIN } else { Day::MAX }, Day::from_number);
    format!("{day}T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::{UnixTime, timestamp};

    #[test]
    fn times_are_formatted_in_utc() {
        assert_eq!(timestamp(UnixTime::from_seconds(0)), "1970-01-01T00:00:00Z");
        assert_eq!(timestamp(UnixTime::from_seconds(1_740_787_199)), "2025-02-28T23:59:59Z");
    }
}
