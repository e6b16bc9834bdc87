//! The options of the block cache, which commands that read a dataset share.

use super::option_values;
use crate::exit::Failure;
use std::path::PathBuf;
use trueup::{BlockCache, set_block_cache};

/// Where to keep what is read from an object store.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct BlockCacheArgs {
    /// Keep what is read from an object store in this folder, so that no command needs to request it again. Several
    /// commands may share the folder
    #[arg(long, value_name = "DIR", help_heading = "Object stores", value_parser = option_values::folder)]
    cache_dir: Option<PathBuf>,

    /// Largest size of DIR on the disk, such as 500MiB or 50GiB; by default 10GiB. What was not used for the longest
    /// time is removed
    #[arg(long, value_name = "SIZE", help_heading = "Object stores", value_parser = option_values::bytes, requires = "cache_dir")]
    cache_size: Option<usize>,
}

impl BlockCacheArgs {
    /// Sets the block cache of the program; without `--cache-dir` it has none.
    ///
    /// # Errors
    /// If the folder cannot be made, or no file can be made in it.
    pub(super) fn set(&self) -> Result<(), Failure> {
        let Some(folder) = &self.cache_dir else { return Ok(()) };
        let bytes = self.cache_size.map_or(BlockCache::DEFAULT_BYTES, |bytes| bytes as u64);
        let cache = BlockCache::open(folder, bytes).map_err(trueup::DatasetError::from);
        set_block_cache(Some(cache.map_err(trueup::Error::from)?));
        Ok(())
    }
}
