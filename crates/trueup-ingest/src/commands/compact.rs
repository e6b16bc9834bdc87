//! Compaction: merges stored files, so that reads stay fast and superseded rows take little space. No answer changes.
//!
//! [`choice`] says which files to merge. Their rows go through the same steps as those of an ingest, and the merged
//! files make a new version; readers of earlier versions keep their files.

mod choice;

use super::{Action, Command, Run, WritesRows};
use crate::error::ErrorKind;
use crate::live_rows::{Superseded, count_left};
use crate::rejects::FaultyRows;
use crate::version::{FileCount, VersionFiles, writer_of};
use crate::{CompactSummary, IngestError, events, spend};
use choice::{Extent, FAN_OUT, StoredFile, choose};
use std::path::Path;
use trueup_core::dataset::manifest::{DataFile, Manifest};
use trueup_core::dataset::manifest_file::ManifestError;
use trueup_core::dataset::{CommitOperation, DeletionVector};

/// How many bytes of stored files may be merged at the end of an ingest: this many times the bytes that the ingest has
/// written, and always [`MIN_BUDGET`]. Merges by size take far less on average, and the cost of an ingest follows what
/// it changes.
const BUDGET_FACTOR: u64 = 64;
const MIN_BUDGET: u64 = 16 << 20;

/// A compaction: merges stored files of a dataset into fewer ones, without the superseded rows.
///
/// A dataset that is updated often has many small files, and files of which many rows are superseded. A compaction
/// merges the ones for which it pays: those of similar size, and all of them once superseded rows and the rows of
/// smaller files are half as many as the rows of the largest ones. Ingests do the same when they end, as far as it
/// takes little time.
///
/// Each merge is a version of its own, with the same answers as the version before; readers of earlier versions go on
/// reading. The files that were merged stay until their versions [expire](crate::Expire). If a compaction fails or is
/// interrupted, the merges that are complete stay.
///
/// ```
/// use trueup_ingest::{Compact, Ingest};
///
/// # let dir = tempfile::tempdir()?;
/// # let dataset = dir.path().join("acme");
/// # for (file, account) in [("1.csv", "a"), ("2.csv", "b")] {
/// #     let text = format!("account,opportunityId,type,date\n{account},1,lead-originated,2025-01-31\n");
/// #     std::fs::write(dir.path().join(file), text)?;
/// #     Ingest::into(&dataset).events(dir.path().join(file)).run()?;
/// # }
/// let summary = Compact::new(&dataset).run()?;
/// assert_eq!((summary.version, summary.merged.files, summary.written.files), (3, 2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type Compact = Command<Compaction>;

/// What [`Compact`] does.
#[derive(Debug)]
pub struct Compaction {
    all: bool,
}

/// Which files a compaction may merge.
#[derive(Clone, Copy)]
enum Mergeable {
    /// Those for which it pays, within limits.
    Due(Extent),
    /// All files, unless one pass has written them and no row is superseded.
    All,
}

impl Compact {
    /// Prepares a compaction of the dataset in a folder or below the URL of an object store.
    pub fn new(dataset: impl AsRef<Path>) -> Self {
        Self::prepare(dataset, Compaction { all: false })
    }

    /// Merges all files, so that they are as if all rows had been ingested at once. Does nothing if they are.
    pub fn all(self) -> Self {
        self.with(|action| action.all = true)
    }
}

impl WritesRows for Compaction {}

impl Action for Compaction {
    type Summary = CompactSummary;

    /// Merges files until no merge pays any more.
    fn perform(self, run: &Run) -> Result<CompactSummary, IngestError> {
        let due = Extent { min_runs: 1, max_bytes: u64::MAX, full_rows: full_rows(run) };
        let mergeable = if self.all { Mergeable::All } else { Mergeable::Due(due) };
        let mut summary = CompactSummary::default();
        let merge = || {
            let (merged, manifest) = merge_once(run, mergeable)?;
            summary.add(merged);
            Ok(mergeable.is_done(&manifest).then_some(summary))
        };
        run.settings.on_threads(|| run.attempts(merge))
    }
}

/// Merges files at the end of the ingest with an id, which has made the version of a manifest, if it pays and takes
/// little time. Does nothing if somebody else writes to the dataset by now, or if the ingest is to stop.
pub(super) fn after_ingest(run: &Run, id: &str, manifest: &Manifest) -> Result<Option<CompactSummary>, IngestError> {
    let written = manifest.events.iter().chain(&manifest.spend).filter(|file| writer_of(&file.path) == id);
    let max_bytes = written.map(|file| file.size).sum::<u64>().saturating_mul(BUDGET_FACTOR).max(MIN_BUDGET);
    let min_runs = usize::try_from(FAN_OUT).unwrap_or(usize::MAX);
    let mergeable = Mergeable::Due(Extent { min_runs, max_bytes, full_rows: full_rows(run) });
    if mergeable.is_done(manifest) {
        return Ok(None);
    }
    match merge_once(run, mergeable).map_err(|error| run.monitor.explain(error)) {
        Ok((summary, _)) => Ok(Some(summary).filter(|summary| summary.merged.files > 0)),
        Err(error) if error.interruption().is_some() => Ok(None),
        Err(error)
            if matches!(error.kind(), ErrorKind::Busy { .. } | ErrorKind::Manifest(ManifestError::Conflict { .. })) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Returns the rows of a file that is large enough to stay a file by itself.
fn full_rows(run: &Run) -> u64 {
    (run.settings.file_rows as u64).div_ceil(2)
}

impl Mergeable {
    /// Returns whether nothing is to be merged.
    fn is_done(self, manifest: &Manifest) -> bool {
        let tables = [&manifest.events, &manifest.spend];
        tables.into_iter().all(|files| self.choose(files, &manifest.superseded).is_empty())
    }

    /// Returns the numbers of the files of a table to merge, ascending.
    fn choose(self, files: &[DataFile], superseded: &Superseded) -> Vec<usize> {
        match self {
            Self::Due(extent) => {
                let files: Vec<_> = files.iter().map(|file| stored_file(file, superseded)).collect();
                choose(&files, extent)
            }
            Self::All => {
                let mut writers = files.iter().map(|file| writer_of(&file.path));
                let first = writers.next();
                let is_one_pass = writers.all(|writer| Some(writer) == first);
                let is_done = is_one_pass && !files.iter().any(|file| superseded.contains_key(&file.path));
                if is_done { Vec::new() } else { (0..files.len()).collect() }
            }
        }
    }
}

/// Returns what the choice of files depends on.
fn stored_file<'a>(file: &'a DataFile, superseded: &Superseded) -> StoredFile<'a> {
    let left = count_left(std::slice::from_ref(file), superseded);
    let bounds: Option<Vec<(&str, &str)>> =
        file.row_groups.iter().map(|rg| rg.accounts.as_ref().map(|(first, last)| (&**first, &**last))).collect();
    let accounts = bounds.and_then(|bounds| {
        Some((bounds.iter().map(|(first, _)| *first).min()?, bounds.iter().map(|(_, last)| *last).max()?))
    });
    let bytes = u128::from(file.size) * u128::from(left) / u128::from(file.rows.max(1));
    StoredFile {
        pass: writer_of(&file.path),
        accounts,
        left,
        superseded: file.rows - left,
        bytes: u64::try_from(bytes).unwrap_or(file.size),
    }
}

/// Makes the next version, in which some files are merged, unless nothing is to be merged. Returns the manifest of the
/// newest version.
fn merge_once(run: &Run, mergeable: Mergeable) -> Result<(CompactSummary, Manifest), IngestError> {
    let settings = &run.settings;
    let (mut version, mut manifest) = run.begin_after_newest()?;
    let mut summary = CompactSummary { version: manifest.version, ..CompactSummary::default() };
    if mergeable.is_done(&manifest) {
        return Ok((summary, manifest));
    }
    let (events, spend) = (std::mem::take(&mut manifest.events), std::mem::take(&mut manifest.spend));
    let superseded = &manifest.superseded;
    let (merged_events, events) = divide(events, superseded, mergeable);
    let (merged_spend, spend) = divide(spend, superseded, mergeable);
    (manifest.events, manifest.spend) = (events, spend);
    let reader = settings.reader(FaultyRows::Refuse { first: None }, &run.monitor);
    if !merged_events.is_empty() {
        let written = events::merge((&merged_events, superseded), settings, &mut version.files, &reader)?;
        summary.written.add(sizes(&written));
        manifest.events.extend(written);
    }
    if !merged_spend.is_empty() {
        let written = spend::merge((&merged_spend, superseded), settings, &mut version.files, &run.monitor)?;
        summary.written.add(sizes(written.as_slice()));
        manifest.spend.extend(written);
    }
    for merged in [&merged_events, &merged_spend] {
        summary.merged.add(sizes(merged));
        summary.superseded += merged.iter().map(|file| file.rows).sum::<u64>() - count_left(merged, superseded);
    }
    let merged = merged_events.iter().chain(&merged_spend);
    drop_vectors(merged, &mut manifest, &mut version.files)?;
    let manifest = version.publish(manifest, CommitOperation::Compact, &run.monitor)?;
    summary.version = manifest.version;
    Ok((summary, manifest))
}

/// Divides files into the ones to merge, and the others.
fn divide(files: Vec<DataFile>, superseded: &Superseded, mergeable: Mergeable) -> (Vec<DataFile>, Vec<DataFile>) {
    let mut chosen = mergeable.choose(&files, superseded).into_iter().peekable();
    let (merged, kept): (Vec<_>, Vec<_>) =
        files.into_iter().enumerate().partition(|(at, _)| chosen.next_if_eq(at).is_some());
    let files = |part: Vec<(usize, DataFile)>| part.into_iter().map(|(_, file)| file).collect();
    (files(merged), files(kept))
}

fn sizes(files: &[DataFile]) -> FileCount {
    FileCount::of(files.iter().map(|file| file.size))
}

/// Leaves out the deletion vectors of files that were merged. Writes the others again, to one file, once they have at
/// most half of the superseded rows.
fn drop_vectors<'f>(
    merged: impl Iterator<Item = &'f DataFile>,
    manifest: &mut Manifest,
    version: &mut VersionFiles,
) -> Result<(), IngestError> {
    let rows = |superseded: &Superseded| superseded.values().map(|vector| vector.rows()).sum::<u64>();
    let before = rows(&manifest.superseded);
    merged.for_each(|file| drop(manifest.superseded.remove(&file.path)));
    if !manifest.superseded.is_empty() && rows(&manifest.superseded).saturating_mul(2) <= before {
        let vectors: Vec<(&str, &DeletionVector)> =
            manifest.superseded.iter().map(|(path, vector)| (path.as_str(), &**vector)).collect();
        manifest.deletion_vectors = vec![version.write_vectors(&vectors)?];
    }
    Ok(())
}
