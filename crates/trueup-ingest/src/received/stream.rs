//! Record batches of an asynchronous stream.

use super::{CHECK_INTERVAL, Producer, Source};
use crate::monitor::Monitor;
use crate::{FileFormat, IngestError};
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use futures_core::Stream;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

/// A stream of record batches.
pub(super) type BatchStream = Pin<Box<dyn Stream<Item = Result<RecordBatch, ArrowError>> + Send>>;

impl Source {
    /// Returns the source of the record batches of an asynchronous stream with these columns. An error of the stream
    /// ends the ingest.
    ///
    /// [`Ingest::run`](crate::Ingest::run) polls the stream and blocks its thread meanwhile. An asynchronous program
    /// calls it on a thread for blocking work, such as that of tokio's `spawn_blocking`, where streams find their
    /// runtime.
    #[must_use]
    pub fn stream(
        schema: SchemaRef,
        batches: impl Stream<Item = Result<RecordBatch, ArrowError>> + Send + 'static,
    ) -> Self {
        Self::produced(FileFormat::BATCHES, Producer::Stream(schema, Box::pin(batches)))
    }
}

/// Wakes the thread that polls a stream.
struct WakeThread(Thread);

impl Wake for WakeThread {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Passes on each batch of a stream.
pub(super) fn each(
    mut batches: BatchStream,
    monitor: &Monitor,
    take: &mut dyn FnMut(Result<RecordBatch, ArrowError>) -> Result<(), IngestError>,
) -> Result<(), IngestError> {
    let waker = Waker::from(Arc::new(WakeThread(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        monitor.check()?;
        match batches.as_mut().poll_next(&mut context) {
            Poll::Ready(Some(batch)) => take(batch)?,
            Poll::Ready(None) => return Ok(()),
            Poll::Pending => thread::park_timeout(CHECK_INTERVAL),
        }
    }
}
