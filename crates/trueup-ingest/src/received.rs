//! The sources of an ingest, and how it receives the ones that are no local files: pipes, URLs, readers and Arrow
//! record batches. An ingest reads an input more than once (to find out whether it is new, for a mapping), so what is
//! no file becomes one in a scratch folder.

mod spool;
#[cfg(feature = "stream")]
mod stream;

use crate::error::ErrorContext;
use crate::monitor::Monitor;
use crate::table::Table;
use crate::version::Scratch;
use crate::{FileFormat, IngestError};
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use spool::Spool;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

/// An input of an ingest: a file, a URL, a reader, or Arrow record batches.
///
/// Every path is a source. The rows of a source that is no plain file of this machine are received before they are
/// ingested, and lie in the folder of the dataset until the ingest ends, or in a temporary folder if the dataset is in
/// an object store. So the rows need not fit in memory. A reader or an iterator may block while it produces them: an
/// interrupt ends the ingest nevertheless.
///
/// # Examples
/// ```
/// use arrow_array::{ArrayRef, RecordBatch, StringArray};
/// use std::sync::Arc;
/// use trueup_ingest::{FileFormat, Ingest, Source};
///
/// # let dir = tempfile::tempdir()?;
/// let texts = |values: [&str; 2]| -> ArrayRef { Arc::new(StringArray::from_iter_values(values)) };
/// let events = RecordBatch::try_from_iter([
///     ("account", texts(["acme", "acme"])),
///     ("opportunityId", texts(["1", "1"])),
///     ("type", texts(["lead-originated", "booked"])),
///     ("date", texts(["2025-01-03", "2025-01-09"])),
/// ])?;
/// let spend: &[u8] = b"account,date,adSpend\nacme,2025-01-03,12.5\n";
/// let summary = Ingest::into(dir.path().join("dataset"))
///     .events(Source::batches([events]))
///     .spend(Source::reader(FileFormat::CSV, spend).named("spend of the partner"))
///     .run()?;
/// assert_eq!((summary.events.taken, summary.spend.taken), (2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Source {
    rows: SourceRows,
    /// The name in messages and in the manifest, if the caller has given one.
    name: Option<String>,
}

#[derive(Debug)]
pub(crate) enum SourceRows {
    /// A path, and all that it stands for.
    Path(PathBuf),
    Produced(FileFormat, Producer),
}

/// What produces the rows of a source that is no local file.
pub(crate) enum Producer {
    Reader(Box<dyn Read + Send>),
    /// The columns, if they are known before the first batch.
    Batches(Option<SchemaRef>, Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>),
    #[cfg(feature = "stream")]
    Stream(SchemaRef, stream::BatchStream),
}

impl Source {
    /// Returns the source of a file, of the files below a folder, of the files that a pattern matches, or of `-`, the
    /// standard input. With the feature `object-store` of `trueup` or `trueup-core`, also of a URL: of objects of a
    /// store by name, folder or pattern, such as `s3://bucket/events/*.csv`, or of one file of a web server.
    ///
    /// Of a folder, files and folders whose names begin with `.` or `_` are left out. The names of the other files must
    /// say their formats, unless [`Ingest::format`](crate::Ingest::format) does. In a pattern, `*` stands for any
    /// characters of one name, `?` for one, `[ab]` for one of several, and `**` for any folders.
    ///
    /// A folder of the path with a name such as `account=acme` gives every row of the file a column.
    #[must_use]
    pub fn path(path: impl AsRef<Path>) -> Self {
        Self { rows: SourceRows::Path(path.as_ref().to_owned()), name: None }
    }

    /// Returns the same source once more; `None` if it may be one that can be read only once.
    pub(crate) fn again(&self) -> Option<Self> {
        match &self.rows {
            SourceRows::Path(path) => Some(Self { rows: SourceRows::Path(path.clone()), name: self.name.clone() }),
            SourceRows::Produced(..) => None,
        }
    }

    fn produced(format: FileFormat, producer: Producer) -> Self {
        Self { rows: SourceRows::Produced(format, producer), name: None }
    }

    /// Returns the source of the bytes of a reader, to its end.
    #[must_use]
    pub fn reader(format: FileFormat, reader: impl Read + Send + 'static) -> Self {
        Self::produced(format, Producer::Reader(Box::new(reader)))
    }

    /// Returns the source of record batches, all with the same columns. Without any batch the columns are unknown, and
    /// the ingest fails: [`Source::batch_reader`] knows them, and so does a batch without rows.
    #[must_use]
    pub fn batches(batches: impl IntoIterator<Item = RecordBatch, IntoIter: Send + 'static>) -> Self {
        Self::produced(FileFormat::BATCHES, Producer::Batches(None, Box::new(batches.into_iter().map(Ok))))
    }

    /// Returns the source of the record batches of a reader, such as a query of another engine. An error of the reader
    /// ends the ingest.
    #[must_use]
    pub fn batch_reader(reader: impl RecordBatchReader + Send + 'static) -> Self {
        Self::produced(FileFormat::BATCHES, Producer::Batches(Some(reader.schema()), Box::new(reader)))
    }

    /// Sets the name of a reader or of record batches in messages and in the manifest. If not set, the name is that of
    /// the table, such as `events`. A mapping finds its inputs by this name. A path keeps its own name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Returns the rows, and the name in messages, which is that of the table if there is no other.
    pub(crate) fn into_parts(self, table: Table) -> (SourceRows, PathBuf) {
        (self.rows, self.name.map_or_else(|| table.name().into(), PathBuf::from))
    }
}

impl Producer {
    /// Receives the rows, and writes them to a file in the scratch folder. Returns the file.
    pub(crate) fn receive(self, shown: &Path, scratch: &Scratch, monitor: &Monitor) -> Result<PathBuf, IngestError> {
        let spool = Spool::begin(shown, scratch, monitor)?;
        match self {
            Self::Reader(reader) => spool.bytes(reader),
            Self::Batches(schema, batches) => spool.batches(schema, |take| each_received(batches, monitor, take)),
            #[cfg(feature = "stream")]
            Self::Stream(schema, batches) => spool.batches(Some(schema), |take| stream::each(batches, monitor, take)),
        }
    }
}

/// Every path is a source.
impl<P: AsRef<Path>> From<P> for Source {
    fn from(path: P) -> Self {
        Self::path(path)
    }
}

impl fmt::Debug for Producer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reader(_) => "Reader",
            Self::Batches(..) => "Batches",
            #[cfg(feature = "stream")]
            Self::Stream(..) => "Stream",
        })
    }
}

/// The time between two checks whether a source that keeps the ingest waiting is still wanted.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Passes on each item of an iterator. Another thread runs the iterator, which may block. If the ingest is interrupted,
/// that thread ends once it has the item that it waits for.
fn each_received<T: Send + 'static>(
    items: impl Iterator<Item = T> + Send + 'static,
    monitor: &Monitor,
    take: &mut dyn FnMut(T) -> Result<(), IngestError>,
) -> Result<(), IngestError> {
    let (sender, received) = sync_channel(1);
    let send = move || {
        for item in items {
            if sender.send(item).is_err() {
                return;
            }
        }
    };
    let thread = thread::Builder::new().name("receive".to_owned()).spawn(send).doing("start a thread")?;
    loop {
        monitor.check()?;
        match received.recv_timeout(CHECK_INTERVAL) {
            Ok(item) => take(item)?,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    // A panic of the iterator continues as if this thread had run it.
    thread.join().map_err(|panic| std::panic::resume_unwind(panic))
}
