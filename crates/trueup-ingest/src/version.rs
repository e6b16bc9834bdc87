//! The next version of a dataset while an ingest writes it: all of it becomes visible at once, or none of it stays.
//!
//! An ingest picks a random id. While it runs, the folder `.trueup-pending-<id>` in the dataset's folder is the record of it: it holds what is
//! spilled, and every data file that the ingest writes has the id in its name. The folder goes when the ingest ends. One that is left
//! over tells the next ingest which files a killed one has left; no other file is ever removed.

use crate::IngestError;
use crate::checksum::HashingWriter;
use crate::error::ErrorContext;
use crate::lock::DatasetLock;
use crate::table::Table;
use std::collections::HashSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use trueup_core::dataset::manifest::{DataFile, Manifest};
use trueup_core::dataset::store;
use trueup_core::files::{Files, OpenFile};

/// What the name of the folder of an ingest begins with; the id follows.
const PENDING: &str = ".trueup-pending-";

/// Digits of an id: with 128 random bits no two ingests have the same one, and nobody else gives a file such a name.
const ID_DIGITS: usize = 32;

/// The next version of a dataset. Dropped without having been published, it takes with it every file and folder that it made.
pub(crate) struct VersionBuilder {
    files: Files,
    dir: PathBuf,
    version: u64,
    /// The id of the ingest, in hex.
    id: String,
    /// Held until the version is published or given up, so that no two ingests write at once.
    _lock: DatasetLock,
    /// Folders of the dataset and files that this draft made, in that order.
    made: Vec<Made>,
    /// Whether the folder of the ingest is there.
    is_pending: bool,
    scratches: usize,
    outcome: Outcome,
}

/// What has become of the version.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Unpublished,
    Published,
    /// Readers may see it, now or after a loss of power, or they may not.
    Uncertain,
}

enum Made {
    Folder(PathBuf),
    File(PathBuf),
}

/// A data file that is being written, summed and synced by a thread of its own.
pub(crate) struct PendingFile {
    /// Bytes that the thread does not have yet.
    buffer: Vec<u8>,
    blocks: Option<SyncSender<Vec<u8>>>,
    ending: FileFinisher,
}

/// A data file that its thread is still writing.
pub(crate) struct FileFinisher {
    thread: Option<JoinHandle<Result<WrittenFile, IngestError>>>,
    path: PathBuf,
    name: String,
    rows: u64,
}

/// What was written: its bytes, their checksum, and those of their blocks.
struct WrittenFile {
    size: u64,
    sha256: String,
    blocks: String,
}

/// A folder for what does not fit in memory, gone when dropped.
pub(crate) struct Scratch {
    files: Files,
    path: PathBuf,
}

/// Bytes that the thread is given at once.
const BLOCK: usize = 1 << 20;

/// Blocks that wait for the thread at most.
const WAITING: usize = 8;

impl VersionBuilder {
    /// Begins the version after the newest of the dataset, and returns that one's manifest; the folder is made if it is not there. Removes
    /// what an ingest that was killed has left.
    pub(crate) fn begin(files: &Files, dir: &Path) -> Result<(Self, Option<Manifest>), IngestError> {
        let mut made = Vec::new();
        let lock = make_dataset_folder(files, dir, &mut made)
            .and_then(|()| DatasetLock::take(files, dir))
            .inspect_err(|_| remove_folders(files, &made))?;
        // From here on the draft cleans up after itself.
        let mut draft = Self {
            files: files.clone(),
            dir: dir.to_owned(),
            version: 0,
            id: random_id()?,
            _lock: lock,
            made,
            is_pending: false,
            scratches: 0,
            outcome: Outcome::Unpublished,
        };
        let latest = store::read_latest(dir)?;
        draft.version = latest.as_ref().map_or(0, |manifest| manifest.version) + 1;
        if latest.is_some() {
            draft.clear_leftovers()?;
        }
        Ok((draft, latest))
    }

    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Removes what killed ingests have left: the folders of their records, and files that have the id of such a folder in their names and
    /// that no version names. The lock says that none of them is still running.
    fn clear_leftovers(&self) -> Result<(), IngestError> {
        let mut pending = Vec::new();
        for (path, name) in entries(&self.files, &self.dir)? {
            let id = name.strip_prefix(PENDING).filter(|id| is_id(id)).map(str::to_owned);
            if let Some(id) = id.filter(|id| *id != self.id && path.is_dir() && !path.is_symlink()) {
                pending.push((path, id));
            }
        }
        if pending.is_empty() {
            return Ok(());
        }
        let mut named = HashSet::new();
        for version in store::versions(&self.dir)? {
            // What a version names that cannot be read is not known, so that nothing may be removed.
            let Ok(manifest) = store::read(&self.dir, version) else { return Ok(()) };
            named.extend(
                manifest.tables().into_iter().flat_map(|(_, files)| files).map(|file| self.dir.join(&file.path)),
            );
        }
        for table in Table::ALL {
            for (path, name) in entries(&self.files, &self.dir.join(table.name()))? {
                let is_left = pending.iter().any(|(_, id)| has_id(&name, id)) && !named.contains(&path);
                if is_left && path.is_file() && !path.is_symlink() {
                    self.files.remove(&path).at("remove", &path)?;
                }
            }
        }
        for (path, _) in pending {
            self.files.remove_folder_and_contents(&path).at("remove", &path)?;
        }
        Ok(())
    }

    /// A folder for what does not fit in memory. It lies in the dataset's folder, where there must be room for as much anyway.
    pub(crate) fn scratch(&mut self) -> Result<Scratch, IngestError> {
        let path = self.pending()?.join(format!("scratch-{}", self.scratches));
        self.scratches += 1;
        self.files.create_private_folder(&path).at("make the folder", &path)?;
        Ok(Scratch { files: self.files.clone(), path })
    }

    /// The folder of this ingest, which is there and durable before anything is written that has its id.
    fn pending(&mut self) -> Result<PathBuf, IngestError> {
        let path = self.record();
        if !self.is_pending {
            // The manifest is written here first, for those who may read the dataset.
            self.files.create_folder(&path).at("make the folder", &path)?;
            self.is_pending = true;
            self.files.sync_folder(&self.dir).at("sync", &self.dir)?;
        }
        Ok(path)
    }

    /// Where the record of this ingest is.
    fn record(&self) -> PathBuf {
        self.dir.join(format!("{PENDING}{}", self.id))
    }

    /// Begins the data file of a table with that number.
    pub(crate) fn create(&mut self, table: Table, number: usize) -> Result<PendingFile, IngestError> {
        self.pending()?;
        let ending = if table == Table::Insights { "ndjson" } else { "parquet" };
        let name = format!("{}/{:08}-{number:04}-{}.{ending}", table.name(), self.version, self.id);
        let folder = self.dir.join(table.name());
        if !folder.exists() {
            self.files.create_folder(&folder).at("make the folder", &folder)?;
            self.made.push(Made::Folder(folder));
        }
        let path = self.dir.join(&name);
        // Noted first: a file that was created although the file system reports a failure goes too.
        self.made.push(Made::File(path.clone()));
        let file = self.files.create(&path).at("create", &path)?;
        PendingFile::begin(file, path, name)
    }

    /// Removes the files that this draft made; false if one may still be there.
    fn remove_files(&self) -> bool {
        let mut is_clean = true;
        for made in &self.made {
            if let Made::File(path) = made {
                let removed = self.files.remove(path);
                is_clean &= removed.is_ok() || !path.exists();
            }
        }
        is_clean
    }

    /// Makes the version visible. From the publication on, nothing is undone.
    pub(crate) fn publish(mut self, manifest: &Manifest) -> Result<(), IngestError> {
        let staging = self.pending()?;
        for table in Table::ALL {
            let folder = self.dir.join(table.name());
            if folder.is_dir() {
                self.files.sync_folder(&folder).at("sync", &folder)?;
            }
        }
        for made in &self.made {
            // A dataset that lies in new folders is reached through their names.
            if let Made::Folder(folder) = made
                && let Some(parent) =
                    folder.parent().filter(|parent| *parent != self.dir && !parent.as_os_str().is_empty())
            {
                self.files.sync_folder(parent).at("sync", parent)?;
            }
        }
        let published = store::publish(&self.files, &self.dir, &staging, manifest);
        self.outcome = match &published {
            Ok(()) => Outcome::Published,
            Err(error) if error.may_be_published() => Outcome::Uncertain,
            Err(_) => Outcome::Unpublished,
        };
        published?;
        if self.version == 1 {
            // Until now there was no manifest to tell what is left over from what is not. The next ingest tries again.
            drop(self.clear_leftovers());
        }
        Ok(())
    }
}

impl Drop for VersionBuilder {
    /// What cannot be removed here is removed by the next ingest, as long as the record of this one is there.
    fn drop(&mut self) {
        let is_clean = match self.outcome {
            Outcome::Unpublished => self.remove_files(),
            Outcome::Published => true,
            Outcome::Uncertain => false,
        };
        let is_clean = is_clean && (!self.is_pending || self.files.remove_folder_and_contents(&self.record()).is_ok());
        if is_clean && self.outcome == Outcome::Unpublished {
            remove_folders(&self.files, &self.made);
        }
    }
}

impl Scratch {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file operations of the ingest.
    pub(crate) fn files(&self) -> &Files {
        &self.files
    }

    /// A new folder in this one.
    pub(crate) fn below(&self, name: &str) -> Result<Self, IngestError> {
        let path = self.path.join(name);
        self.files.create_private_folder(&path).at("make the folder", &path)?;
        Ok(Self { files: self.files.clone(), path })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What stays goes with the folder of the ingest.
        drop(self.files.remove_folder_and_contents(&self.path));
    }
}

impl Write for PendingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BLOCK {
            self.hand_over()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl PendingFile {
    fn begin(file: OpenFile, path: PathBuf, name: String) -> Result<Self, IngestError> {
        let (blocks, received) = sync_channel(WAITING);
        let shown = path.clone();
        let thread = thread::Builder::new().name("write".to_owned()).spawn(move || write_all(file, &shown, &received));
        let thread = Some(thread.doing("start a thread")?);
        let buffer = Vec::with_capacity(BLOCK);
        Ok(Self { buffer, blocks: Some(blocks), ending: FileFinisher { thread, path, name, rows: 0 } })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.ending.path
    }

    fn hand_over(&mut self) -> io::Result<()> {
        let block = std::mem::replace(&mut self.buffer, Vec::with_capacity(BLOCK));
        match &self.blocks {
            Some(blocks) if blocks.send(block).is_ok() => Ok(()),
            // The thread ends before the last block only if it has failed.
            _ => match self.ending.join() {
                Err(error) => Err(io::Error::other(error)),
                Ok(_) => Err(io::Error::other("the file has ended already")),
            },
        }
    }

    /// Ends the file, durably.
    pub(crate) fn finish(self, rows: u64) -> Result<DataFile, IngestError> {
        self.end(rows)?.wait()
    }

    /// Ends the file; it is durable once it was waited for.
    pub(crate) fn end(mut self, rows: u64) -> Result<FileFinisher, IngestError> {
        self.hand_over().at("write", &self.ending.path)?;
        self.blocks = None;
        Ok(FileFinisher { rows, ..self.ending })
    }
}

impl FileFinisher {
    /// Waits until the file is whole and durable.
    pub(crate) fn wait(mut self) -> Result<DataFile, IngestError> {
        let WrittenFile { size, sha256, blocks } = self.join()?;
        Ok(DataFile { path: self.name, size, rows: self.rows, sha256, blocks })
    }

    fn join(&mut self) -> Result<WrittenFile, IngestError> {
        let failed = || io::Error::other("the thread that writes it has ended before its time");
        let thread = self.thread.take().ok_or_else(failed).at("write", &self.path)?;
        thread.join().map_err(|_| failed()).at("write", &self.path)?
    }
}

/// Writes all that is received until the file ends, and syncs it.
fn write_all(file: OpenFile, path: &Path, received: &Receiver<Vec<u8>>) -> Result<WrittenFile, IngestError> {
    let mut writer = HashingWriter::new(file);
    for block in received {
        writer.write_all(&block).at("write", path)?;
    }
    let (file, size, sha256, blocks) = writer.finish();
    file.sync().at("sync", path)?;
    Ok(WrittenFile { size, sha256, blocks })
}

/// Lists the entries of a folder whose names are UTF-8; none if there is no such folder.
fn entries(files: &Files, dir: &Path) -> Result<Vec<(PathBuf, String)>, IngestError> {
    let entries = match files.list(dir) {
        Ok(entries) => entries.collect::<io::Result<Vec<_>>>().at("list", dir)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error).at("list", dir),
    };
    Ok(entries.into_iter().filter_map(|entry| Some((entry.path(), entry.file_name().into_string().ok()?))).collect())
}

/// Makes the dataset's folder, for its owner alone, and those above it, and notes which were not there before.
fn make_dataset_folder(files: &Files, dir: &Path, made: &mut Vec<Made>) -> Result<(), IngestError> {
    let missing: Vec<&Path> =
        dir.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists()).collect();
    for folder in missing.into_iter().rev() {
        let created = if folder == dir { files.create_private_folder(folder) } else { files.create_folder(folder) };
        match created {
            Ok(()) => made.push(Made::Folder(folder.to_owned())),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {}
            Err(error) => return Err(error).at("make the folder", folder),
        }
    }
    Ok(())
}

/// Removes folders that are empty, the latest first.
fn remove_folders(files: &Files, made: &[Made]) {
    for made in made.iter().rev() {
        if let Made::Folder(path) = made {
            drop(files.remove_folder(path));
        }
    }
}

fn random_id() -> Result<String, IngestError> {
    let mut bytes = [0; ID_DIGITS / 2];
    getrandom::fill(&mut bytes).doing("find a random number")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn is_id(text: &str) -> bool {
    text.len() == ID_DIGITS && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether a name is one that the ingest with that id gave a data file.
fn has_id(name: &str, id: &str) -> bool {
    let stem = name.strip_suffix(".parquet").or_else(|| name.strip_suffix(".ndjson"));
    stem.and_then(|stem| stem.strip_suffix(id)).is_some_and(|number| number.ends_with('-'))
}
