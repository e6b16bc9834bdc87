//! The block cache: what was read from object stores, in files of a local folder, for later queries of any process.
//!
//! An object has one sparse file, and each block is where it is in the object. The name of the file is a hash of the
//! object's location and of its checksums, as the caller gives them, so that no dataset writes what another one
//! reads, even if it has files with the same checksums. Nothing records which blocks are there. What comes from the
//! cache is compared with the manifest's checksums as if it came from the store, so that a hole, half a block, or other
//! bytes count as missing. Therefore processes may share a folder without a lock, and one that is killed leaves nothing
//! to repair.

#[cfg(test)]
mod tests;

use crate::BLOCK_BYTES;
use crate::plain_file::{PositionedReader, open_plain};
use std::fs::{self, DirBuilder, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

/// The end of the name of a file of the cache. No other file of the folder is counted or removed.
const ENDING: &str = ".blocks";

/// A use of a file is recorded as its time of modification, unless that time is more recent than this.
const RECORDED: Duration = Duration::from_secs(10);

/// A process measures the folder again when it has written the cache's size divided by this number, or earlier, because
/// other processes fill the folder too.
const MEASURED_PART: u64 = 16;

/// The cache of the process.
static CACHE: RwLock<Option<BlockCache>> = RwLock::new(None);

/// A folder that keeps blocks of objects, so that later queries do not request them again.
///
/// If the files would take more bytes on the disk than the cache may have, the ones that were not used for the longest
/// time are removed. Several processes may use a folder at the same time: for each process beyond the first, the files
/// may exceed the size of the cache by a sixteenth, until one of the processes measures the folder again. What cannot
/// be written, for example because the disk is full, is requested again.
///
/// ```
/// use trueup_store::{BlockCache, set_block_cache};
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
///
/// set_block_cache(Some(BlockCache::open(folder.join("blocks"), BlockCache::DEFAULT_BYTES)?));
/// # set_block_cache(None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct BlockCache(Arc<Folder>);

#[derive(Debug)]
struct Folder {
    path: PathBuf,
    /// The most bytes that all files may take on the disk.
    bytes: u64,
    /// The bytes that this process may write before it measures the folder again.
    room: Mutex<u64>,
}

/// The folder of the block cache cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the block cache cannot use the folder `{}`: {source}; name a folder that can be written", path.display())]
pub struct BlockCacheError {
    /// The folder.
    pub path: PathBuf,
    /// The error of the operating system.
    pub source: io::Error,
}

/// Sets the block cache of the process, for what it reads from object stores from now on; `None` keeps nothing.
/// Datasets in folders are not affected.
pub fn set_block_cache(cache: Option<BlockCache>) {
    *CACHE.write().unwrap_or_else(PoisonError::into_inner) = cache;
}

impl BlockCache {
    /// A size that holds the columns of most queries on 100 million events.
    pub const DEFAULT_BYTES: u64 = 10 << 30;

    /// Opens a cache of at most `bytes` bytes in a folder, and makes the folder if there is none. On Unix only its
    /// owner may use a new folder and the files in it.
    ///
    /// # Errors
    /// The folder cannot be made or listed, or no file can be made in it.
    pub fn open(folder: impl AsRef<Path>, bytes: u64) -> Result<Self, BlockCacheError> {
        let folder = folder.as_ref();
        let opened = std::path::absolute(folder).and_then(|path| {
            make_folder(&path)?;
            let probe = path.join(format!("{}.probe", std::process::id()));
            open_to_write(&probe)?;
            // Another thread may have removed it.
            let _ = fs::remove_file(&probe);
            let opened = Folder { path, bytes, room: Mutex::default() };
            // A folder that has more bytes than it may have now is made smaller.
            opened.measure(0)?;
            Ok(opened)
        });
        match opened {
            Ok(folder) => Ok(Self(Arc::new(folder))),
            Err(source) => Err(BlockCacheError { path: folder.to_owned(), source }),
        }
    }

    /// Returns what the cache has of an object.
    fn file(&self, key: &str, size: u64) -> CachedFile {
        let name = format!("{key}{ENDING}");
        let file = open_plain(&self.0.path, &name).ok();
        if let Some(file) = &file {
            record_use(file);
        }
        CachedFile { cache: self.clone(), name, size, file: file.map(Arc::new) }
    }
}

/// What the cache has of an object.
#[derive(Debug)]
pub struct CachedFile {
    cache: BlockCache,
    name: String,
    /// The length of the object.
    size: u64,
    /// `None` if there is nothing yet, or nothing that can be read.
    file: Option<Arc<File>>,
}

impl CachedFile {
    /// Returns what the cache of the process has of an object; `None` if there is no cache. The key of an object is a
    /// BLAKE3 in lower-case hex.
    pub fn open(key: impl FnOnce() -> String, size: u64) -> Option<Self> {
        let cache = CACHE.read().unwrap_or_else(PoisonError::into_inner).clone()?;
        Some(cache.file(&key(), size))
    }

    /// Returns the smallest range with all of `blocks` that the file has no bytes for. Bytes in the file may turn out
    /// to differ from those of the object.
    #[must_use]
    pub fn missing(&self, blocks: &Range<u64>) -> Range<u64> {
        let Some(file) = &self.file else { return blocks.clone() };
        let Some(Range { start, end }) = holes(file, blocks) else { return blocks.end..blocks.end };
        start / BLOCK_BYTES * BLOCK_BYTES..end.next_multiple_of(BLOCK_BYTES).min(blocks.end)
    }

    /// Returns `blocks`: those of `fetched` as they are given, and the others from the file. What the file does not
    /// have is zeros.
    ///
    /// # Errors
    /// The blocks take more memory than there is.
    pub fn read_around(&self, blocks: &Range<u64>, fetched: &Range<u64>, fetched_bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut read = Vec::with_capacity(length(blocks)?);
        self.append(blocks.start..fetched.start, &mut read)?;
        read.extend_from_slice(fetched_bytes);
        self.append(fetched.end..blocks.end, &mut read)?;
        Ok(read)
    }

    fn append(&self, bytes: Range<u64>, read: &mut Vec<u8>) -> io::Result<()> {
        let end = read.len() + length(&bytes)?;
        if let Some(file) = &self.file {
            let reader = PositionedReader { file: file.clone(), at: bytes.start };
            // Zeros take the place of what cannot be read, and do not have its checksums.
            let _ = reader.take(bytes.end.saturating_sub(bytes.start)).read_to_end(read);
        }
        read.resize(end, 0);
        Ok(())
    }

    /// Keeps the blocks `fetched`, which are within the bytes `read`. `start` is the position of the first of these
    /// bytes, and all of them have been compared with their checksums. What cannot be written is fetched again.
    pub fn write(&self, fetched: &Range<u64>, start: u64, read: &[u8]) {
        let index = |at: u64| usize::try_from(at.checked_sub(start)?).ok();
        let indexes = index(fetched.start).zip(index(fetched.end));
        let Some(bytes) = indexes.and_then(|(start, end)| read.get(start..end)).filter(|bytes| !bytes.is_empty())
        else {
            return;
        };
        let _ = self.cache.0.write(bytes.len() as u64, || self.write_at(fetched.start, bytes));
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let mut file = open_to_write(&self.cache.0.path.join(&self.name))?;
        if file.metadata()?.len() != self.size {
            file.set_len(self.size)?;
        }
        file.seek(SeekFrom::Start(at))?;
        file.write_all(bytes)
    }
}

impl Folder {
    /// Makes room for more bytes and writes them, unless there is not enough.
    fn write(&self, bytes: u64, write: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let bytes = bytes.next_multiple_of(BLOCK_BYTES);
        // Held while the bytes are written, because another thread that measures the folder must see them.
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        if *room < bytes {
            *room = self.measure(bytes)?;
        }
        let Some(rest) = room.checked_sub(bytes) else { return Ok(()) };
        *room = rest;
        write()
    }

    /// Measures the files, and removes the ones that were not used for the longest time if there is no room for more
    /// bytes. Returns how many bytes this process may write until it measures again.
    fn measure(&self, more: u64) -> io::Result<u64> {
        if more > self.bytes {
            return Ok(0);
        }
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let name = entry.file_name();
            let is_ours = name.to_str().and_then(|name| name.strip_suffix(ENDING)).is_some_and(is_digest);
            // Another process may have removed it.
            let Some(metadata) = entry.metadata().ok().filter(|metadata| is_ours && metadata.is_file()) else {
                continue;
            };
            files.push((metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH), allocated(&metadata), entry.path()));
        }
        files.sort_unstable();
        let part = (self.bytes / MEASURED_PART).max(more);
        let mut taken: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        if taken.saturating_add(more) > self.bytes {
            for (_, bytes, path) in files {
                if taken.saturating_add(part) <= self.bytes {
                    break;
                }
                match fs::remove_file(path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {}
                    _ => taken -= bytes,
                }
            }
        }
        Ok(self.bytes.saturating_sub(taken).min(part))
    }
}

/// Returns whether a text is a BLAKE3 in lower-case hex.
fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns the length of a range, to be held in memory.
fn length(bytes: &Range<u64>) -> io::Result<usize> {
    let length = bytes.end.saturating_sub(bytes.start);
    usize::try_from(length).map_err(|_| io::ErrorKind::OutOfMemory.into())
}

/// Records that a file is used now.
fn record_use(file: &File) {
    let modified = file.metadata().and_then(|metadata| metadata.modified());
    if modified.is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age < RECORDED)) {
        return;
    }
    // Without it, the file is removed earlier.
    let _ = file.set_modified(SystemTime::now());
}

/// Returns the bytes that a file takes on the disk.
#[cfg(unix)]
fn allocated(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::blocks(metadata).saturating_mul(512)
}

/// Returns the bytes that a file takes on the disk, if it has no holes.
#[cfg(not(unix))]
fn allocated(metadata: &Metadata) -> u64 {
    metadata.len()
}

/// Makes a folder, unless there is one. On Unix only its owner may use it.
fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

/// Opens a plain file for writing, and makes it if there is none. On Unix only its owner may use a new file, and a
/// symbolic link is an error, because it could lead to a file that is not of the cache.
fn open_to_write(path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    let file: File = {
        use rustix::fs::{CWD, Mode, OFlags, openat};
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        rustix::io::retry_on_intr(|| openat(CWD, path, flags, Mode::RUSR | Mode::WUSR))?.into()
    };
    #[cfg(not(unix))]
    let file = fs::OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    let is_plain = file.metadata()?.is_file();
    if is_plain { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

/// Returns the smallest range with all holes of a file that are in `bytes`; `None` if there are none.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd", target_vendor = "apple"))]
fn holes(file: &File, bytes: &Range<u64>) -> Option<Range<u64>> {
    use rustix::fs::{SeekFrom, seek};
    use rustix::io::Errno;

    let mut found: Option<Range<u64>> = None;
    let mut at = bytes.start;
    while at < bytes.end {
        let hole = match seek(file, SeekFrom::Hole(at)) {
            Ok(hole) => hole,
            // The file ends before.
            Err(Errno::NXIO) => at,
            // The file system does not say.
            Err(_) => break,
        };
        if hole >= bytes.end {
            break;
        }
        // After the last hole there may be nothing.
        at = seek(file, SeekFrom::Data(hole)).map_or(bytes.end, |data| data.max(hole + 1)).min(bytes.end);
        found = Some(found.map_or(hole, |found| found.start)..at);
    }
    found
}

/// Returns that there are no holes, because the system does not say where they are. Their bytes do not have the
/// checksums of what is missing.
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd", target_vendor = "apple")))]
const fn holes(_: &File, _: &Range<u64>) -> Option<Range<u64>> {
    None
}
