//! A data file of the dataset while it is written: a separate thread writes it, computes its checksums, and syncs it.

use crate::IngestError;
use crate::error::ErrorContext;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use trueup_core::dataset::manifest::{DataFile, RowGroupEntry, hex};
use trueup_core::dataset::{BlockHasher, BlockSums};
use trueup_core::files::OpenFile;

/// A data file that is being written.
pub(crate) struct PendingFile {
    /// Bytes that the thread does not have yet.
    buffer: Vec<u8>,
    /// Sends buffers to the thread; `None` once all bytes are sent.
    sender: Option<SyncSender<Vec<u8>>>,
    finisher: FileFinisher,
}

/// A data file that has all its bytes, and that its thread is still writing.
pub(crate) struct FileFinisher {
    thread: Option<JoinHandle<Result<WrittenFile, IngestError>>>,
    path: PathBuf,
    /// The entry of the file in the manifest, as far as it is known before all bytes are written.
    entry: DataFile,
}

/// The size of a file in bytes, its checksum, and the checksums of its blocks.
struct WrittenFile {
    size: u64,
    blake3: String,
    blocks: BlockSums,
}

/// Bytes that are sent to the thread at a time.
const BUFFER_BYTES: usize = 1 << 20;

/// The most buffers that wait for the thread.
const MAX_WAITING: usize = 8;

impl PendingFile {
    /// Begins to write a file that was created. `name` is its path from the folder of the dataset.
    pub(crate) fn begin(file: OpenFile, path: PathBuf, name: String) -> Result<Self, IngestError> {
        let (sender, received) = sync_channel(MAX_WAITING);
        let shown = path.clone();
        let thread = thread::Builder::new().name("write".to_owned()).spawn(move || write_all(file, &shown, &received));
        let thread = Some(thread.doing("start a thread")?);
        let buffer = Vec::with_capacity(BUFFER_BYTES);
        Ok(Self {
            buffer,
            sender: Some(sender),
            finisher: FileFinisher { thread, path, entry: DataFile { path: name, ..DataFile::default() } },
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.finisher.path
    }

    fn send_buffer(&mut self) -> io::Result<()> {
        let buffer = std::mem::replace(&mut self.buffer, Vec::with_capacity(BUFFER_BYTES));
        match &self.sender {
            Some(sender) if sender.send(buffer).is_ok() => Ok(()),
            // The thread ends before the last buffer only if it has failed.
            _ => match self.finisher.join() {
                Err(error) => Err(io::Error::other(error)),
                Ok(_) => Err(io::Error::other("the file has ended already")),
            },
        }
    }

    /// Ends the file and waits until it is durable.
    pub(crate) fn finish(self, rows: u64) -> Result<DataFile, IngestError> {
        self.end(rows)?.wait()
    }

    /// Ends the file. It is durable after [`FileFinisher::wait`].
    pub(crate) fn end(mut self, rows: u64) -> Result<FileFinisher, IngestError> {
        self.send_buffer().at("write", &self.finisher.path)?;
        self.sender = None;
        self.finisher.entry.rows = rows;
        Ok(self.finisher)
    }
}

impl Write for PendingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER_BYTES {
            self.send_buffer()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl FileFinisher {
    /// Adds the columns and row groups of a Parquet file to its entry.
    pub(crate) fn with_row_groups(self, columns: Vec<String>, row_groups: Vec<RowGroupEntry>) -> Self {
        let (columns, row_groups) = (columns.into(), row_groups.into());
        Self { entry: DataFile { columns, row_groups, ..self.entry }, ..self }
    }

    /// Waits until the file is complete and durable.
    pub(crate) fn wait(mut self) -> Result<DataFile, IngestError> {
        let WrittenFile { size, blake3, blocks } = self.join()?;
        Ok(DataFile { size, blake3, blocks, ..self.entry })
    }

    fn join(&mut self) -> Result<WrittenFile, IngestError> {
        let failed = || io::Error::other("the thread that writes it has failed");
        let thread = self.thread.take().ok_or_else(failed).at("write", &self.path)?;
        thread.join().map_err(|_| failed()).at("write", &self.path)?
    }
}

/// Writes all buffers until the sender is dropped, and syncs the file.
fn write_all(file: OpenFile, path: &Path, received: &Receiver<Vec<u8>>) -> Result<WrittenFile, IngestError> {
    let mut writer = HashingWriter::new(file);
    for buffer in received {
        writer.write_all(&buffer).at("write", path)?;
    }
    let HashingWriter { writer: file, hasher, blocks, size } = writer;
    file.sync().at("sync", path)?;
    Ok(WrittenFile { size, blake3: hex(hasher.finalize().as_bytes()), blocks: blocks.finish() })
}

/// Passes bytes on to a writer, and computes their number and checksums.
struct HashingWriter<W> {
    writer: W,
    hasher: blake3::Hasher,
    blocks: BlockHasher,
    size: u64,
}

impl<W> HashingWriter<W> {
    fn new(writer: W) -> Self {
        Self { writer, hasher: blake3::Hasher::new(), blocks: BlockHasher::default(), size: 0 }
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
