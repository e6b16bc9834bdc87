//! The block cache of the process.

use crate::error::Failure;
use pyo3::prelude::*;
use std::path::PathBuf;
use trueup::BlockCache;

/// Keeps what is read from object stores, from now on, in a folder of this machine, so that it is not requested again.
/// The folder takes at most `size` bytes on the disk, by default 10 GiB, and several processes may use it. It is
/// created if it does not exist; DatasetError if it cannot be used. If `folder` is None, nothing is kept.
#[pyfunction]
#[pyo3(signature = (folder, *, size = None))]
pub(crate) fn set_block_cache(py: Python<'_>, folder: Option<PathBuf>, size: Option<u64>) -> Result<(), Failure> {
    let bytes = size.unwrap_or(BlockCache::DEFAULT_BYTES);
    let cache = py
        .detach(|| folder.map(|folder| BlockCache::open(folder, bytes)).transpose())
        .map_err(trueup::DatasetError::from)?;
    trueup::set_block_cache(cache);
    Ok(())
}
