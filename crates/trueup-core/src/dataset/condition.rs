//! What the operator of a service needs to know about an open dataset: when its version was committed and opened,
//! whether its files are still there, and how often columns were found in memory.

use super::Dataset;
use super::commit::CommitTime;
use super::counted_cache::ColumnCacheCounts;
use super::error::DatasetError;
use super::manifest_file;
use super::result_cache::ResultCacheCounts;
use super::row_group::RowGroup;
use crate::error::Error;
use std::time::SystemTime;
use trueup_store::is_url;

impl Dataset {
    /// Returns when the version was committed; `None` in memory.
    #[must_use]
    pub fn committed(&self) -> Option<CommitTime> {
        self.manifest.as_ref().map(|manifest| manifest.commit.time)
    }

    /// Returns when the version was opened.
    #[must_use]
    pub const fn opened(&self) -> SystemTime {
        self.opened
    }

    /// Returns how often columns were found in memory; 0 for a dataset in memory.
    #[must_use]
    pub fn column_cache_counts(&self) -> ColumnCacheCounts {
        self.cache.counts()
    }

    /// Returns how often results of earlier queries were used; 0 unless a
    /// [budget](Dataset::with_result_budget) keeps some.
    #[must_use]
    pub fn result_cache_counts(&self) -> ResultCacheCounts {
        self.results.counts()
    }

    /// Checks that the files which requests need can still be read: the footers of all files of events and spend, and
    /// the length of the insights. In an object store, checks only that the manifest is there, because a request for
    /// each object would cost as much as many queries. [`Verification`](super::Verification) reads every byte.
    ///
    /// # Errors
    /// A file is missing, has another length or another footer than the manifest says, or cannot be read.
    pub fn check_files(&self) -> Result<(), Error> {
        if let (Some(folder), Some(manifest)) = (&self.folder, &self.manifest)
            && is_url(folder)
        {
            return Ok(manifest_file::check_exists(folder, manifest.version).map_err(DatasetError::from)?);
        }
        let mut files: Vec<_> = self.events.iter().filter_map(RowGroup::file).collect();
        files.extend(self.spend.iter().filter_map(RowGroup::file));
        // The row groups of a file follow one another.
        files.dedup_by(|one, next| std::ptr::eq(*one, *next));
        files.into_iter().try_for_each(|file| file.check_again())?;
        Ok(self.insights.iter().try_for_each(|file| file.check_length())?)
    }
}
