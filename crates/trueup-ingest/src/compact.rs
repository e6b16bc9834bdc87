//! Compaction: merges stored files, so that reads stay fast and superseded rows take little space. No answer changes.
//!
//! [`choice`] says which files to merge. Their rows go through the same steps as those of an ingest, and the merged
//! files make a new version; readers of earlier versions keep their files.

mod choice;

use crate::error::ErrorKind;
use crate::events::MergedLayout;
use crate::left_rows::{Superseded, count_left};
use crate::monitor::Monitor;
use crate::rejects::FaultyRows;
use crate::settings::{CommonSettings, on_threads};
use crate::version::{FileCount, VersionBuilder, writer_of};
use crate::{CREATED_BY, CompactSummary, IngestError, Interrupt, Progress, events, spend};
use choice::{Extent, FAN_OUT, StoredFile, choose};
use std::path::Path;
use std::time::Duration;
use trueup_core::dataset::manifest::{DataFile, Manifest};
use trueup_core::dataset::manifest_file::ManifestError;
use trueup_core::dataset::{CommitOperation, DeletionVector, manifest_file, without_credentials};
use trueup_core::files::Files;

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
/// reading. The files that were merged stay until their versions [expire](crate::Expire). The folder is locked as by an
/// ingest while a merge runs; below a URL, a merge is committed only if no other version was committed meanwhile.
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
/// let summary = Compact::of(&dataset).run()?;
/// assert_eq!((summary.version, summary.merged.files, summary.written.files), (3, 2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing happens until the compaction is run"]
pub struct Compact {
    settings: CommonSettings,
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
    pub fn of(dataset: impl AsRef<Path>) -> Self {
        Self { settings: CommonSettings::of(dataset), all: false }
    }

    /// Merges all files, so that they are as if all rows had been ingested at once. Does nothing if they are.
    pub fn all(self) -> Self {
        Self { all: true, ..self }
    }

    /// Sets the bytes of memory that the compaction may take, as [`Ingest::memory`](crate::Ingest::memory).
    pub fn memory(self, bytes: usize) -> Self {
        self.with(|settings| settings.memory(bytes))
    }

    /// Sets the most rows of a row group, as [`Ingest::row_group_rows`](crate::Ingest::row_group_rows).
    pub fn row_group_rows(self, rows: usize) -> Self {
        self.with(|settings| settings.row_group_rows(rows))
    }

    /// Sets the rows after which an event file ends, as [`Ingest::file_rows`](crate::Ingest::file_rows).
    pub fn file_rows(self, rows: usize) -> Self {
        self.with(|settings| settings.file_rows(rows))
    }

    /// Sets the number of threads, as [`Ingest::threads`](crate::Ingest::threads).
    pub fn threads(self, threads: usize) -> Self {
        self.with(|settings| settings.threads(threads))
    }

    /// Calls `report` when a phase begins, and each time some of its rows or bytes are done, as
    /// [`Ingest::progress`](crate::Ingest::progress).
    pub fn progress(self, report: impl FnMut(&Progress) + Send + 'static) -> Self {
        self.with(|settings| settings.progress(report))
    }

    /// Stops the compaction when this interrupt or a clone of it is canceled, or at its deadline. What a merge that is
    /// not complete has written is removed; the merges before it stay.
    pub fn interrupt(self, interrupt: Interrupt) -> Self {
        self.with(|settings| settings.interrupt(interrupt))
    }

    /// Sets how long the compaction may wait for others that write to the dataset, as
    /// [`Ingest::wait`](crate::Ingest::wait).
    pub fn wait(self, time: Duration) -> Self {
        self.with(|settings| settings.wait(time))
    }

    /// Sets the file operations that write the dataset. Tests use it to make an operation fail.
    pub fn files(self, files: Files) -> Self {
        self.with(|settings| settings.files(files))
    }

    fn with(self, set: impl FnOnce(CommonSettings) -> CommonSettings) -> Self {
        Self { settings: set(self.settings), ..self }
    }

    /// Merges files until no merge pays any more.
    ///
    /// # Errors
    /// There is no such dataset, it is damaged, a row group, a customer or the spend of a calendar quarter does not
    /// fit in memory, another command is writing to it or has published a version meanwhile, the compaction is
    /// interrupted, or the file system or the store refuses. The merges that are complete stay, and the answers of the
    /// dataset are as before.
    pub fn run(mut self) -> Result<CompactSummary, IngestError> {
        let monitor = self.settings.monitor(true);
        let threads = self.settings.threads;
        on_threads(threads, || self.run_watched(&monitor)).map_err(|error| monitor.explain(error))
    }

    fn run_watched(self, monitor: &Monitor) -> Result<CompactSummary, IngestError> {
        let Self { settings, all } = self;
        monitor.check()?;
        // A folder without a dataset must not become one.
        if manifest_file::versions(&settings.dir)?.is_empty() {
            return Err(ErrorKind::NoDataset(without_credentials(&settings.dir)).into());
        }
        let due = Extent { min_runs: 1, max_bytes: u64::MAX, full_rows: full_rows(&settings) };
        let mergeable = if all { Mergeable::All } else { Mergeable::Due(due) };
        let mut summary = CompactSummary::default();
        loop {
            let (merged, manifest) = match merge_once(&settings, mergeable, monitor) {
                Err(error) if error.is_overtaken() && monitor.may_wait() => continue,
                merged => merged?,
            };
            summary.add(merged);
            if mergeable.is_done(&manifest) {
                return Ok(summary);
            }
        }
    }
}

/// Merges files at the end of the ingest with an id, which has made the version of a manifest, if it pays and takes
/// little time. Does nothing if somebody else writes to the dataset by now, or if the ingest is to stop.
pub(crate) fn after_ingest(
    settings: &CommonSettings,
    id: &str,
    manifest: &Manifest,
    monitor: &Monitor,
) -> Result<Option<CompactSummary>, IngestError> {
    let written = manifest.events.iter().chain(&manifest.spend).filter(|file| writer_of(&file.path) == id);
    let max_bytes = written.map(|file| file.size).sum::<u64>().saturating_mul(BUDGET_FACTOR).max(MIN_BUDGET);
    let min_runs = usize::try_from(FAN_OUT).unwrap_or(usize::MAX);
    let mergeable = Mergeable::Due(Extent { min_runs, max_bytes, full_rows: full_rows(settings) });
    if mergeable.is_done(manifest) {
        return Ok(None);
    }
    match merge_once(settings, mergeable, monitor).map_err(|error| monitor.explain(error)) {
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
fn full_rows(settings: &CommonSettings) -> u64 {
    (settings.file_rows as u64).div_ceil(2)
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
fn merge_once(
    settings: &CommonSettings,
    mergeable: Mergeable,
    monitor: &Monitor,
) -> Result<(CompactSummary, Manifest), IngestError> {
    let dir = settings.dir.as_path();
    let (mut version, latest) = VersionBuilder::begin(&settings.files, dir, monitor)?;
    let Some(mut manifest) = latest else { return Err(ErrorKind::NoDataset(without_credentials(dir)).into()) };
    let mut summary = CompactSummary { version: manifest.version, ..CompactSummary::default() };
    if mergeable.is_done(&manifest) {
        return Ok((summary, manifest));
    }
    let (events, spend) = (std::mem::take(&mut manifest.events), std::mem::take(&mut manifest.spend));
    let superseded = &manifest.superseded;
    let (merged_events, events) = divide(events, superseded, mergeable);
    let (merged_spend, spend) = divide(spend, superseded, mergeable);
    (manifest.events, manifest.spend) = (events, spend);
    let reader = settings.reader(FaultyRows::Refuse { first: None }, monitor);
    let (memory, group_rows, file_rows) = (settings.memory, settings.group_rows, settings.file_rows);
    let layout = MergedLayout { memory, group_rows, file_rows };
    if !merged_events.is_empty() {
        let written = events::merge((&merged_events, superseded), dir, layout, &mut version, &reader)?;
        summary.written.add(sizes(&written));
        manifest.events.extend(written);
    }
    if !merged_spend.is_empty() {
        let limits = (group_rows, reader.limits.table_bytes());
        let written = spend::merge((&merged_spend, superseded), dir, limits, &mut version, monitor)?;
        summary.written.add(sizes(written.as_slice()));
        manifest.spend.extend(written);
    }
    for merged in [&merged_events, &merged_spend] {
        summary.merged.add(sizes(merged));
        summary.superseded += merged.iter().map(|file| file.rows).sum::<u64>() - count_left(merged, superseded);
    }
    let merged = merged_events.iter().chain(&merged_spend);
    drop_vectors(merged, &mut manifest, &mut version)?;
    manifest.version = version.number();
    CREATED_BY.clone_into(&mut manifest.created_by);
    version.publish(&mut manifest, CommitOperation::Compact, monitor)?;
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
    version: &mut VersionBuilder,
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
