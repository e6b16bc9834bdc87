//! The bytes of a response, made as they are sent.

use super::content::Answer;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fmt;
use std::io::{self, Write};

/// The bytes of a response, as they are to be sent, in chunks: each is made when it is asked for, so that an answer of any size is
/// held once, as a table.
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
    /// What is still to be sent; `None` once all is.
    source: Option<Answer>,
    /// Compresses, if the caller takes that.
    encoder: Option<GzEncoder<Vec<u8>>>,
}

impl Body {
    pub(super) fn new(answer: Answer, gzip: bool) -> Self {
        Self { source: Some(answer), encoder: gzip.then(|| GzEncoder::new(Vec::new(), Compression::default())) }
    }

    /// All of it.
    ///
    /// # Errors
    /// Those of the compressor.
    pub fn into_bytes(self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        for chunk in self {
            bytes.append(&mut chunk?);
        }
        Ok(bytes)
    }

    /// The next bytes before they are compressed.
    fn plain(&mut self) -> Option<Vec<u8>> {
        match self.source.take()? {
            Answer::Text { text, .. } => Some(text.into_bytes()),
            Answer::Rows(mut rows, extra) => {
                let mut chunk = Vec::new();
                let is_chunk = rows.next_chunk(&mut chunk);
                is_chunk.then(|| {
                    self.source = Some(Answer::Rows(rows, extra));
                    chunk
                })
            }
        }
    }

    /// The next bytes of the encoder, which hands some on only now and then.
    fn compressed(&mut self, mut encoder: GzEncoder<Vec<u8>>) -> io::Result<Vec<u8>> {
        while let Some(chunk) = self.plain() {
            encoder.write_all(&chunk)?;
            if !encoder.get_ref().is_empty() {
                let bytes = std::mem::take(encoder.get_mut());
                self.encoder = Some(encoder);
                return Ok(bytes);
            }
        }
        encoder.finish()
    }
}

impl Iterator for Body {
    type Item = io::Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.encoder.take() {
            Some(encoder) => Some(self.compressed(encoder)),
            None => self.plain().map(Ok),
        }
    }
}

impl fmt::Debug for Body {
    /// Without what it holds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").finish_non_exhaustive()
    }
}
