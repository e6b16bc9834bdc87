//! The lists of batches: which lists of the version before stay, and the list that is new.
//!
//! A list never changes. An ingest mostly writes a list with nothing but its own batch. A list is at least
//! [`GROWTH`] times as long as the next one, so that a version has few lists: 6 after 10,000 ingests. A batch is
//! written again only when the lists after its own would have more than a [`GROWTH`]th of the batches of its own
//! list, and by a compaction, which makes one list of all.

use super::VersionFiles;
use crate::IngestError;
use crate::error::ErrorContext;
use std::path::Path;
use trueup_core::dataset::manifest::Manifest;
use trueup_core::dataset::{Batch, read_batch_list};

/// How many times as long as the next list a list is, at least.
const GROWTH: u64 = 4;

/// Writes the batch of a version, and puts all lists into the manifest. `dataset` is where the other lists are.
pub(super) fn write(
    batch: Batch,
    dataset: &Path,
    manifest: &mut Manifest,
    version: &mut VersionFiles,
) -> Result<(), IngestError> {
    let lengths: Vec<u64> = manifest.batches.iter().map(|list| list.rows).collect();
    replace(kept(&lengths), Some(batch), dataset, manifest, version)
}

/// Makes one list of all.
pub(super) fn merge(dataset: &Path, manifest: &mut Manifest, version: &mut VersionFiles) -> Result<(), IngestError> {
    if manifest.batches.len() < 2 { Ok(()) } else { replace(0, None, dataset, manifest, version) }
}

/// Puts one list in place of those after the first `kept`: of their batches and a new one.
fn replace(
    kept: usize,
    batch: Option<Batch>,
    dataset: &Path,
    manifest: &mut Manifest,
    version: &mut VersionFiles,
) -> Result<(), IngestError> {
    let merged = manifest.batches.split_off(kept);
    let mut batches = Vec::new();
    for list in &merged {
        batches.extend(read_batch_list(dataset, list).of_dataset(&dataset.join(&list.path))?);
    }
    batches.extend(batch);
    manifest.batches.push(version.write_batches(&batches)?);
    Ok(())
}

/// Returns how many lists stay as they are when a batch is added. `lengths` are the batches of each list.
fn kept(lengths: &[u64]) -> usize {
    let (mut kept, mut added) = (lengths.len(), 1_u64);
    while let Some(last) = kept.checked_sub(1).and_then(|last| lengths.get(last)).filter(|last| **last / GROWTH < added)
    {
        added = added.saturating_add(*last);
        kept -= 1;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_stay_few_and_short_ones_are_written() {
        let (mut lists, mut written, mut most): (Vec<u64>, u64, usize) = (Vec::new(), 0, 0);
        for number in 1..=10_000_u64 {
            let merged: u64 = lists.drain(kept(&lists)..).sum();
            lists.push(merged + 1);
            written += merged + 1;
            most = most.max(lists.len());
            assert_eq!(lists.iter().sum::<u64>(), number);
        }
        assert_eq!((lists.len(), most), (6, 6), "{lists:?}");
        // A batch is written again each time that its list has grown by a fourth.
        assert!(written < 25 * 10_000, "{written}");
    }
}
