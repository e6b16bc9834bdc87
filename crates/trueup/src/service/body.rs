//! The bytes of a response, which keep the memory that is reserved for them until the last one is sent.

use super::error::ServiceError;
use crate::json::JsonRows;
use crate::{ExtraMemory, NoRoom, Reservation, ResultTable};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::borrow::Borrow;
use std::fmt;
use std::io::{self, BufRead, Read, Write};
use std::ops::Deref;
use std::sync::Arc;

/// How long a chunk gets, in bytes, before the next one begins.
pub(super) const CHUNK_BYTES: usize = 64 << 10;

/// Bytes of a body that exist at the same time next to its source: chunks in flight, and the state of the compressor.
const WRITE_BUFFER_BYTES: usize = 8 * CHUNK_BYTES;

/// Smallest chunk of a compressed body, in bytes, except the last. A server can send a body of a single chunk with a
/// `Content-Length`; without this minimum, the few bytes at the start of the compressed form would be a chunk of their
/// own.
const GZIP_CHUNK_BYTES: usize = 4 << 10;

/// The most bytes by which a compressed body is longer than a source of a few bytes.
const COMPRESSED_FRAME_BYTES: usize = 64;

/// Returns how many bytes to reserve for writing a body whose source has `source` bytes. A small source needs less than
/// the whole buffer.
pub(super) fn write_buffer(source: usize) -> usize {
    source.saturating_add(COMPRESSED_FRAME_BYTES).min(WRITE_BUFFER_BYTES)
}

/// What the bytes of a body are made from.
pub(super) enum BodySource {
    /// Rows that are written as JSON while they are sent.
    Rows(Box<JsonRows<ResultTable>>),
    /// Finished bytes, and how many of them are sent.
    Finished { bytes: Vec<u8>, sent: usize },
    /// Anything else that is made while it is sent.
    Chunks(Box<dyn ChunkSource>),
}

/// Makes the bytes of a body while they are sent.
pub(super) trait ChunkSource: Send {
    /// Appends the next bytes, about [`CHUNK_BYTES`], to a chunk that is empty. Returns `false` if there are no more
    /// after these.
    fn append(&mut self, chunk: &mut Vec<u8>) -> io::Result<bool>;
}

/// The memory that is reserved for a body, its chunks included.
pub(super) enum BodyMemory {
    /// Next to the memory of a table.
    Table { _extra: ExtraMemory },
    /// Of its own.
    Reserved { _reservation: Reservation },
    /// None: the service has no budget, or the body is the few bytes of an error.
    Uncounted,
}

impl From<Option<Reservation>> for BodyMemory {
    fn from(reservation: Option<Reservation>) -> Self {
        reservation.map_or(Self::Uncounted, |reservation| Self::Reserved { _reservation: reservation })
    }
}

/// A text that becomes a body. Memory is reserved for it before it grows.
pub(super) struct CountedText {
    text: Vec<u8>,
    /// `None` if nothing is counted.
    reservation: Option<Reservation>,
}

/// The smallest text for which memory is reserved, in bytes.
const LEAST_TEXT_BYTES: usize = 1 << 10;

impl CountedText {
    /// Starts a text with a reservation, however small.
    pub(super) const fn new(reservation: Option<Reservation>) -> Self {
        Self { text: Vec::new(), reservation }
    }

    /// Reserves memory for a text of `length` bytes and for sending it, so that the text does not move while it grows.
    pub(super) fn make_room(&mut self, length: usize) -> Result<(), NoRoom> {
        self.reserve(length.saturating_add(write_buffer(length)))?;
        self.text.reserve_exact(length);
        Ok(())
    }

    /// Returns the body that `write` writes, and its memory.
    pub(super) fn write_body(
        mut self,
        write: impl FnOnce(&mut Self) -> io::Result<()>,
    ) -> Result<(BodySource, BodyMemory), ServiceError> {
        write(&mut self).map_err(|error| match error.downcast::<NoRoom>() {
            Ok(no_room) => ServiceError::no_room(no_room),
            Err(error) => error.into(),
        })?;
        self.text.shrink_to_fit();
        let length = self.text.len();
        self.reserve(length + write_buffer(length)).map_err(ServiceError::no_room)?;
        Ok((BodySource::Finished { bytes: self.text, sent: 0 }, self.reservation.into()))
    }

    fn reserve(&mut self, bytes: usize) -> Result<(), NoRoom> {
        self.reservation.as_mut().map_or(Ok(()), |reservation| reservation.resize(bytes))
    }
}

impl Write for CountedText {
    /// # Errors
    /// [`NoRoom`], as the source of the error.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = self.text.len() + bytes.len();
        if length > self.text.capacity() {
            let larger = length.max(2 * self.text.capacity()).max(LEAST_TEXT_BYTES);
            // While the text moves, both places exist.
            self.reserve(self.text.capacity() + larger).map_err(io::Error::other)?;
            self.text.reserve_exact(larger - self.text.len());
            self.reserve(self.text.capacity()).map_err(io::Error::other)?;
        }
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The bytes of a response, an iterator of chunks.
///
/// An events answer in JSON, and an insights answer, are written while the iterator is read. So such an answer of any
/// size is never in memory as a whole as text. A Parquet file and the text of any other answer are in memory.
///
/// Memory for what is not read yet counts against the budget of the service. There is no way to get the bytes out of
/// their reservation: a [`Chunk`] holds it, too.
///
/// ```
/// use trueup::service::Response;
///
/// fn send(response: Response, out: &mut impl std::io::Write) -> std::io::Result<()> {
///     for chunk in response.body {
///         out.write_all(&chunk?)?;
///     }
///     Ok(())
/// }
/// ```
pub struct Body {
    /// What is still to be sent; `None` at the end.
    source: Option<BodySource>,
    memory: Arc<BodyMemory>,
    /// Compresses the chunks, if the caller accepts gzip.
    encoder: Option<GzEncoder<Vec<u8>>>,
}

/// Consecutive bytes of a [`Body`]. The memory that is reserved for the body is given back when the body and all its
/// chunks are dropped, so drop a chunk when its bytes are sent.
pub struct Chunk {
    bytes: Vec<u8>,
    _memory: Arc<BodyMemory>,
}

/// A [`Body`] as a reader. What is read is copied, and so belongs to the caller and to no budget.
#[derive(Debug)]
pub struct BodyReader {
    body: Body,
    /// The current chunk, and how many of its bytes are read.
    current: Option<(Chunk, usize)>,
}

impl Body {
    pub(super) fn new(source: BodySource, memory: BodyMemory, gzip: bool) -> Self {
        let encoder = gzip.then(|| GzEncoder::new(Vec::new(), Compression::default()));
        Self { source: Some(source), memory: Arc::new(memory), encoder }
    }

    /// Returns the number of bytes that are left; `None` if it is not known before they are made.
    ///
    /// ```
    /// use trueup::service::Response;
    ///
    /// let response = Response::error(404, "not-found", "there is nothing here", Some("identity"));
    /// assert_eq!(response.body.remaining_bytes(), Some(52));
    /// ```
    #[must_use]
    pub fn remaining_bytes(&self) -> Option<usize> {
        match (&self.source, &self.encoder) {
            (None, None) => Some(0),
            (Some(BodySource::Finished { bytes, sent }), None) => Some(bytes.len() - sent),
            _ => None,
        }
    }

    /// Returns a reader of the bytes.
    ///
    /// ```
    /// use trueup::service::{Request, Service};
    ///
    /// fn text(service: &Service, request: &Request) -> std::io::Result<String> {
    ///     std::io::read_to_string(service.handle(request).body.reader())
    /// }
    /// ```
    #[must_use]
    pub const fn reader(self) -> BodyReader {
        BodyReader { body: self, current: None }
    }

    /// Returns the next bytes, uncompressed. `self.source` is `None` after the last, and after an error.
    fn plain(&mut self) -> Option<io::Result<Vec<u8>>> {
        match self.source.take()? {
            BodySource::Rows(mut rows) => {
                let mut chunk = Vec::new();
                let is_chunk = rows.next_chunk(&mut chunk);
                if !rows.is_at_end() {
                    self.source = Some(BodySource::Rows(rows));
                }
                is_chunk.then_some(Ok(chunk))
            }
            BodySource::Finished { bytes, sent } => {
                let end = bytes.len().min(sent + CHUNK_BYTES);
                let chunk = bytes[sent..end].to_vec();
                if end < bytes.len() {
                    self.source = Some(BodySource::Finished { bytes, sent: end });
                }
                Some(Ok(chunk))
            }
            BodySource::Chunks(mut chunks) => {
                let mut chunk = Vec::new();
                match chunks.append(&mut chunk) {
                    Ok(has_more) => {
                        if has_more {
                            self.source = Some(BodySource::Chunks(chunks));
                        }
                        Some(Ok(chunk))
                    }
                    Err(error) => Some(Err(error)),
                }
            }
        }
    }

    /// Returns the next compressed bytes: all that are left, or at least [`GZIP_CHUNK_BYTES`].
    fn compressed(&mut self, mut encoder: GzEncoder<Vec<u8>>) -> io::Result<Vec<u8>> {
        while let Some(chunk) = self.plain() {
            encoder.write_all(&chunk?)?;
            if self.source.is_some() && encoder.get_ref().len() >= GZIP_CHUNK_BYTES {
                let bytes = std::mem::take(encoder.get_mut());
                self.encoder = Some(encoder);
                return Ok(bytes);
            }
        }
        encoder.finish()
    }
}

impl Iterator for Body {
    type Item = io::Result<Chunk>;

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = match self.encoder.take() {
            Some(encoder) => self.compressed(encoder),
            None => self.plain()?,
        };
        Some(bytes.map(|bytes| Chunk { bytes, _memory: Arc::clone(&self.memory) }))
    }
}

impl Chunk {
    pub(super) fn new(bytes: Vec<u8>, memory: BodyMemory) -> Self {
        Self { bytes, _memory: Arc::new(memory) }
    }
}

impl Deref for Chunk {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl AsRef<[u8]> for Chunk {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Borrow<[u8]> for Chunk {
    fn borrow(&self) -> &[u8] {
        self
    }
}

impl BufRead for BodyReader {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.current.as_ref().is_none_or(|(chunk, read)| *read == chunk.len()) {
            // The chunk that is read gives up its memory before the next one is made.
            self.current = None;
            match self.body.next().transpose()? {
                Some(chunk) => self.current = Some((chunk, 0)),
                None => return Ok(&[]),
            }
        }
        Ok(self.current.as_ref().map_or(&[], |(chunk, read)| &chunk[*read..]))
    }

    fn consume(&mut self, amount: usize) {
        if let Some((chunk, read)) = &mut self.current {
            *read = chunk.len().min(*read + amount);
        }
    }
}

impl Read for BodyReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(into)?;
        self.consume(read);
        Ok(read)
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").finish_non_exhaustive()
    }
}

impl fmt::Debug for Chunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chunk").field("bytes", &self.bytes.len()).finish_non_exhaustive()
    }
}
