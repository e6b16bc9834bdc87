//! A version of a dataset in the making: all of it becomes visible at once, or none of it stays.

use crate::IngestError;
use crate::checksum::Summing;
use crate::error::{AtPath, Doing};
use crate::lock::Lock;
use crate::table::Table;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use tempfile::TempDir;
use trueup_core::dataset::manifest::{DataFile, Manifest};
use trueup_core::dataset::store;

/// What a folder for spilled rows is named like.
const SCRATCH: &str = ".ingest-";

/// The next version of a dataset. Dropped without a commit, it takes with it every file and folder that it made.
pub(crate) struct Draft {
    dir: PathBuf,
    version: u64,
    /// Held until the version is committed or given up, so that no two ingests write at once.
    _lock: Lock,
    /// Files and folders that this draft made, in that order.
    made: Vec<PathBuf>,
    committed: bool,
}

/// A data file that is being written, summed and synced by a thread of its own.
pub(crate) struct NewFile {
    /// What the thread is yet to be given.
    buffer: Vec<u8>,
    blocks: Option<SyncSender<Vec<u8>>>,
    ending: Ending,
}

/// A data file that its thread is still writing.
pub(crate) struct Ending {
    thread: Option<JoinHandle<Result<Written, IngestError>>>,
    path: PathBuf,
    name: String,
    rows: u64,
}

/// What was written: its bytes, their checksum, and those of their blocks.
struct Written {
    size: u64,
    sha256: String,
    blocks: String,
}

/// Bytes that the thread is given at once.
const BLOCK: usize = 1 << 20;

/// Blocks that wait for the thread at most.
const WAITING: usize = 8;

impl Draft {
    /// Begins the version after the newest of the dataset, whose manifest is given back; the folder is made if it is not there.
    pub(crate) fn begin(dir: &Path) -> Result<(Self, Option<Manifest>), IngestError> {
        let mut made = Vec::new();
        make_folders(dir, &mut made)?;
        let lock = match Lock::take(dir) {
            Ok(lock) => lock,
            Err(error) => {
                remove(&made);
                return Err(error);
            }
        };
        // From here on the draft cleans up after itself.
        let mut draft = Self { dir: dir.to_owned(), version: 0, _lock: lock, made, committed: false };
        let latest = store::read_latest(dir)?;
        draft.version = latest.as_ref().map_or(0, |manifest| manifest.version) + 1;
        Ok((draft, latest))
    }

    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Removes what an ingest that was killed has left: no manifest names it, and the lock says that nobody is writing it.
    pub(crate) fn clear_leftovers(&self) -> Result<(), IngestError> {
        for entry in list(&self.dir)? {
            let name = entry.file_name();
            if name.to_str().is_some_and(|name| name.starts_with(SCRATCH)) {
                fs::remove_dir_all(entry.path()).at("remove", &entry.path())?;
            } else if name.to_str().is_some_and(|name| name.starts_with(store::DRAFT)) {
                fs::remove_file(entry.path()).at("remove", &entry.path())?;
            }
        }
        for table in [Table::Events, Table::Spend, Table::Accounts, Table::Insights] {
            for entry in list(&self.dir.join(table.name()))? {
                let version: Option<u64> =
                    entry.file_name().to_str().and_then(|name| name.get(..8)).and_then(|digits| digits.parse().ok());
                if version.is_some_and(|version| version >= self.version) {
                    fs::remove_file(entry.path()).at("remove", &entry.path())?;
                }
            }
        }
        Ok(())
    }

    /// A folder for what does not fit in memory, gone when dropped. It lies in the dataset's folder, where there must be room for as
    /// much anyway.
    pub(crate) fn scratch(&self) -> Result<TempDir, IngestError> {
        tempfile::Builder::new().prefix(SCRATCH).tempdir_in(&self.dir).at("make a folder in", &self.dir)
    }

    /// Begins the data file of a table with that number.
    pub(crate) fn create(&mut self, table: Table, number: usize) -> Result<NewFile, IngestError> {
        let version = self.version;
        let name = match table {
            Table::Events | Table::Spend => format!("{}/{version:08}-{number:04}.parquet", table.name()),
            Table::Accounts => format!("{}/{version:08}.parquet", table.name()),
            Table::Insights => format!("{}/{version:08}.ndjson", table.name()),
        };
        make_folders(&self.dir.join(table.name()), &mut self.made)?;
        let path = self.dir.join(&name);
        let file = File::create_new(&path).at("create", &path)?;
        self.made.push(path.clone());
        NewFile::begin(file, path, name)
    }

    /// Makes the version visible.
    pub(crate) fn commit(mut self, manifest: &Manifest) -> Result<(), IngestError> {
        for table in [Table::Events, Table::Spend, Table::Accounts, Table::Insights] {
            let folder = self.dir.join(table.name());
            if folder.is_dir() {
                store::sync_folder(&folder)?;
            }
        }
        store::commit(&self.dir, manifest)?;
        self.committed = true;
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.committed {
            remove(&self.made);
        }
    }
}

impl Write for NewFile {
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

impl NewFile {
    fn begin(file: File, path: PathBuf, name: String) -> Result<Self, IngestError> {
        let (blocks, received) = sync_channel(WAITING);
        let shown = path.clone();
        let thread = thread::Builder::new().name("write".to_owned()).spawn(move || write_all(file, &shown, &received));
        let thread = Some(thread.doing("start a thread")?);
        let buffer = Vec::with_capacity(BLOCK);
        Ok(Self { buffer, blocks: Some(blocks), ending: Ending { thread, path, name, rows: 0 } })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.ending.path
    }

    fn hand_over(&mut self) -> io::Result<()> {
        let block = std::mem::replace(&mut self.buffer, Vec::with_capacity(BLOCK));
        match &self.blocks {
            Some(blocks) if blocks.send(block).is_ok() => Ok(()),
            // The thread ends before it is told to only if it has failed.
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
    pub(crate) fn end(mut self, rows: u64) -> Result<Ending, IngestError> {
        self.hand_over().at("write", &self.ending.path)?;
        self.blocks = None;
        Ok(Ending { rows, ..self.ending })
    }
}

impl Ending {
    /// Waits until the file is whole and durable.
    pub(crate) fn wait(mut self) -> Result<DataFile, IngestError> {
        let Written { size, sha256, blocks } = self.join()?;
        Ok(DataFile { path: self.name, size, rows: self.rows, sha256, blocks })
    }

    fn join(&mut self) -> Result<Written, IngestError> {
        let failed = || io::Error::other("the thread that writes it has ended before its time");
        let thread = self.thread.take().ok_or_else(failed).at("write", &self.path)?;
        thread.join().map_err(|_| failed()).at("write", &self.path)?
    }
}

/// Writes all that is received until the file ends, and syncs it.
fn write_all(file: File, path: &Path, received: &Receiver<Vec<u8>>) -> Result<Written, IngestError> {
    let mut writer = Summing::new(file);
    for block in received {
        writer.write_all(&block).at("write", path)?;
    }
    let (file, size, sha256, blocks) = writer.finish();
    file.sync_all().at("sync", path)?;
    Ok(Written { size, sha256, blocks })
}

fn list(dir: &Path) -> Result<Vec<fs::DirEntry>, IngestError> {
    match fs::read_dir(dir) {
        Ok(entries) => entries.collect::<io::Result<_>>().at("list", dir),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error).at("list", dir),
    }
}

/// Makes a folder and those above it, and notes which were not there before.
fn make_folders(dir: &Path, made: &mut Vec<PathBuf>) -> Result<(), IngestError> {
    let missing: Vec<&Path> =
        dir.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists()).collect();
    for folder in missing.into_iter().rev() {
        match fs::create_dir(folder) {
            Ok(()) => made.push(folder.to_owned()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {}
            Err(error) => {
                remove(made);
                return Err(error).at("make the folder", folder);
            }
        }
    }
    Ok(())
}

/// Removes files and empty folders, the latest first. What cannot be removed is named by no manifest, and the next ingest tries again.
fn remove(made: &[PathBuf]) {
    for path in made.iter().rev() {
        drop(if path.is_dir() { fs::remove_dir(path) } else { fs::remove_file(path) });
    }
}
