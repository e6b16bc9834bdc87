//! Checksums of files and of batches of files.

use crate::error::{ErrorContext, OPEN};
use crate::{IngestError, Progress};
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use trueup_core::dataset::BlockHasher;
use trueup_core::files::Files;

/// A SHA-256 in lower-case hex.
fn hex(hasher: Sha256) -> String {
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The checksum of a batch: of its inputs' checksums in ascending order, so that the order of the inputs does not matter.
pub(crate) enum BatchChecksum {
    Known(String),
    /// It is found while the inputs are read.
    Pending(ChecksumThread),
}

/// A thread that reads the inputs; it gives up when this is dropped.
pub(crate) struct ChecksumThread {
    thread: JoinHandle<Result<String, IngestError>>,
    _unwanted: SetOnDrop,
}

struct SetOnDrop(Arc<AtomicBool>);

impl Drop for SetOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl BatchChecksum {
    /// Reads the inputs at once.
    pub(crate) fn of(files: &Files, paths: &[PathBuf], progress: &dyn Progress) -> Result<String, IngestError> {
        let go_on = |length| {
            progress.advance(length);
            true
        };
        let sums = paths.par_iter().map(|path| of_file(files, path, &go_on)).collect::<Result<_, _>>()?;
        Ok(of_sums(sums))
    }

    /// Reads the inputs while other things are done.
    pub(crate) fn begin(files: Files, paths: Vec<PathBuf>) -> Result<Self, IngestError> {
        let unwanted = Arc::new(AtomicBool::new(false));
        let seen = unwanted.clone();
        let read = move || {
            let sums = paths.iter().map(|path| of_file(&files, path, &|_| !seen.load(Ordering::Relaxed)));
            Ok(of_sums(sums.collect::<Result<_, _>>()?))
        };
        let thread = thread::Builder::new().name("checksum".to_owned()).spawn(read).doing("start a thread")?;
        Ok(Self::Pending(ChecksumThread { thread, _unwanted: SetOnDrop(unwanted) }))
    }

    /// The checksum in hex.
    pub(crate) fn finish(self) -> Result<String, IngestError> {
        match self {
            Self::Known(sum) => Ok(sum),
            Self::Pending(ChecksumThread { thread, .. }) => {
                let failed = || io::Error::other("the thread that makes it has ended before its time");
                thread.join().map_err(|_| failed()).doing("make the checksum of the inputs")?
            }
        }
    }
}

fn of_sums(mut sums: Vec<String>) -> String {
    sums.sort_unstable();
    let mut hasher = Sha256::new();
    for sum in sums {
        hasher.update(sum.as_bytes());
        hasher.update(b"\n");
    }
    hex(hasher)
}

/// `go_on` is told how many bytes were read, and says whether the others are wanted.
fn of_file(files: &Files, path: &Path, go_on: &dyn Fn(u64) -> bool) -> Result<String, IngestError> {
    let mut file = files.open(path).at(OPEN, path)?;
    let mut hasher = Sha256::new();
    let mut bytes = vec![0; 1 << 20];
    loop {
        let length = match file.read(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            length => length.at("read", path)?,
        };
        hasher.update(&bytes[..length]);
        if length == 0 || !go_on(u64::try_from(length).unwrap_or(u64::MAX)) {
            return Ok(hex(hasher));
        }
    }
}

/// Writes on, and keeps count and checksum of what was written.
pub(crate) struct HashingWriter<W> {
    writer: W,
    hasher: Sha256,
    blocks: BlockHasher,
    size: u64,
}

impl<W: Write> HashingWriter<W> {
    pub(crate) fn new(writer: W) -> Self {
        Self { writer, hasher: Sha256::new(), blocks: BlockHasher::default(), size: 0 }
    }

    /// What was written to, the bytes written, their checksum, and those of their blocks.
    pub(crate) fn finish(self) -> (W, u64, String, String) {
        (self.writer, self.size, hex(self.hasher), self.blocks.finish())
    }
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = self.writer.write(bytes)?;
        self.hasher.update(&bytes[..length]);
        self.blocks.add(&bytes[..length]);
        self.size += u64::try_from(length).unwrap_or(0);
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
