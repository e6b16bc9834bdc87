//! From an answer or an error to the headers and bytes of a response.

use super::error::ServiceError;
use super::error_text::ErrorText;
use super::memory::QueryMemory;
use super::negotiation::{AnswerFormat, PARQUET, accepts_gzip};
use crate::json::JsonRows;
use crate::{ExtraMemory, Interrupt, Reservation, ResultTable};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;
use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};

type Headers = Vec<(&'static str, Cow<'static, str>)>;

/// What an endpoint answers, before it is written as bytes.
pub(super) struct Answer {
    status: u16,
    /// The headers that only this answer has.
    pub(super) headers: Headers,
    body: AnswerBody,
}

/// The body of an answer, with the memory that is reserved for it.
enum AnswerBody {
    /// Rows that are written as JSON while they are sent.
    Rows(Box<JsonRows<ResultTable>>, ExtraMemory),
    /// A finished Parquet file, and how much of it is sent.
    Parquet { file: Vec<u8>, sent: usize, _memory: ExtraMemory },
    /// Finished JSON text.
    Text { text: String, _memory: Option<Reservation> },
}

/// The value of `WWW-Authenticate`. No registered scheme is a key alone; browsers ask for no password if they do not
/// know the scheme.
const CHALLENGE: &str = "ApiKey realm=\"trueup\"";

/// Bytes of an answer that exist at the same time while it is written: chunks in flight, and the state of the
/// compressor.
const WRITE_BUFFER_BYTES: usize = 512 << 10;

/// The value of `Vary` for a request that does not ask for a Parquet file. It need not name `Accept`, because no cache
/// may store an answer.
const VARY: &str = "Accept-Encoding";
/// The value of `Vary` for any other request.
const VARY_FORMAT: &str = "Accept, Accept-Encoding";

/// Chunk of a Parquet file, in bytes.
const FILE_CHUNK_BYTES: usize = 256 << 10;

impl Answer {
    const fn new(body: AnswerBody) -> Self {
        Self { status: 200, headers: Vec::new(), body }
    }

    /// Answers with the rows of a table, which are written while they are sent.
    pub(super) fn rows(rows: JsonRows<ResultTable>) -> Result<Self, ServiceError> {
        // A small table needs less than the whole buffer; as many bytes as the table has are reserved for it.
        let buffer = rows.table().bytes().min(WRITE_BUFFER_BYTES);
        let extra = rows.table().reserve_more(rows.bytes() + buffer).map_err(ServiceError::no_room)?;
        Ok(Self::new(AnswerBody::Rows(Box::new(rows), extra)))
    }

    /// Answers with the rows of a table as a Parquet file. The file is finished before the answer begins, so that a
    /// failure is still an error in JSON.
    ///
    /// Memory for the file, and for the columns from which it is written, counts against the same budget as that of
    /// the table. `name` is the name of the file without its ending: ASCII without quotation marks.
    pub(super) fn parquet(table: ResultTable, name: &str, interrupt: &Interrupt) -> Result<Self, ServiceError> {
        let reserve = |bytes| table.reserve_more(bytes).map_err(ServiceError::no_room);
        let mut held = vec![reserve(table.bytes())?];
        let (mut file, mut reserved) = (Vec::new(), 0);
        table.write_parquet(&mut file, |progress| {
            interrupt.check().map_err(ServiceError::Timeout)?;
            if progress.bytes > reserved {
                held.push(reserve(progress.bytes - reserved)?);
                reserved = progress.bytes;
            }
            Ok::<(), ServiceError>(())
        })?;
        file.shrink_to_fit();
        drop(held);
        let memory = reserve(file.len())?;
        let mut answer = Self::new(AnswerBody::Parquet { file, sent: 0, _memory: memory });
        answer.headers.push(("Content-Disposition", Cow::Owned(format!("attachment; filename=\"{name}.parquet\""))));
        Ok(answer)
    }

    /// Answers with finished JSON text, and reserves memory for it.
    pub(super) fn text(text: String, memory: &QueryMemory) -> Result<Self, ServiceError> {
        let _memory = memory.reserve(text.len()).map_err(ServiceError::no_room)?;
        Ok(Self::new(AnswerBody::Text { text, _memory }))
    }

    /// Answers with an error.
    pub(super) fn error(error: &ServiceError) -> Self {
        let row = error.row();
        let headers = match error {
            ServiceError::MethodNotAllowed { .. } => vec![("Allow", Cow::Borrowed("GET"))],
            ServiceError::Unauthorized(_) | ServiceError::SignedOut(_) => {
                vec![("WWW-Authenticate", Cow::Borrowed(CHALLENGE))]
            }
            ServiceError::RateLimited { retry_after_seconds }
            | ServiceError::BenchmarksGathering { retry_after_seconds }
            | ServiceError::Overloaded { retry_after_seconds } => {
                vec![("Retry-After", Cow::Owned(retry_after_seconds.to_string()))]
            }
            _ => Vec::new(),
        };
        Self { headers, ..Self::failure(row.status, row.code, &row.text) }
    }

    /// Answers with the body that all errors have.
    fn failure(status: u16, code: Option<&str>, text: &ErrorText) -> Self {
        #[derive(Serialize)]
        struct ErrorBody<'a> {
            error: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            code: Option<&'a str>,
        }
        // Strings always serialize, so the empty object is never sent.
        let body = serde_json::to_string(&ErrorBody { error: text.as_str(), code }).unwrap_or_else(|_| "{}".to_owned());
        Self { status, headers: Vec::new(), body: AnswerBody::Text { text: body, _memory: None } }
    }

    /// Adds the headers that every response has. A Parquet file is not compressed again. `format` is the form
    /// that the request asks for.
    pub(super) fn into_response(self, gzip: bool, format: AnswerFormat) -> Response {
        let is_file = matches!(self.body, AnswerBody::Parquet { .. });
        let gzip = gzip && !is_file;
        let content_type = if is_file { PARQUET } else { "application/json; charset=utf-8" };
        let mut headers: Headers = vec![
            ("Content-Type", Cow::Borrowed(content_type)),
            ("Cache-Control", Cow::Borrowed("no-store")),
            ("Vary", Cow::Borrowed(if format == AnswerFormat::Parquet { VARY_FORMAT } else { VARY })),
        ];
        if gzip {
            headers.push(("Content-Encoding", Cow::Borrowed("gzip")));
        }
        headers.extend(self.headers);
        Response { status: self.status, headers, body: Body::new(self.body, gzip) }
    }
}

/// Smallest chunk of a compressed body, in bytes, except the last. A server can send a body of a single chunk with a
/// `Content-Length`; without this minimum, the few bytes at the start of the compressed form would be a chunk of their
/// own.
const GZIP_CHUNK_BYTES: usize = 4 << 10;

/// One response.
///
/// ```
/// use trueup::service::Response;
///
/// fn retry_after_seconds(response: &Response) -> Option<u32> {
///     response.header("retry-after")?.parse().ok()
/// }
/// ```
#[derive(Debug)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// The headers. Values are ASCII.
    pub headers: Vec<(&'static str, Cow<'static, str>)>,
    /// The body: JSON in UTF-8, compressed with gzip if the header `Content-Encoding` says so, or a Parquet file.
    pub body: Body,
}

impl Response {
    /// Creates the response of an error that a server finds before it can call
    /// [`Service::handle`](super::Service::handle), in the form of all other errors. `accept_encoding` is the header
    /// of the request. If the status is one of HTTP for a request that is too large (413, 414, 431), the message may
    /// have words by which clients recognize a limit of size; in any other, such words are masked as in all errors.
    ///
    /// ```
    /// use trueup::service::Response;
    ///
    /// let response = Response::error(414, "url-too-long", "the path is too long", Some("identity"));
    /// assert_eq!(response.body.into_bytes()?, br#"{"error":"the path is too long","code":"url-too-long"}"#);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn error(status: u16, code: &str, message: &str, accept_encoding: Option<&str>) -> Self {
        let is_about_size = matches!(status, 413 | 414 | 431);
        let text = if is_about_size { ErrorText::about_size } else { ErrorText::new }(message.to_owned());
        Answer::failure(status, Some(code), &text).into_response(accepts_gzip(accept_encoding), AnswerFormat::Json)
    }

    /// Returns the value of a header, if there is one of that name. Upper and lower case are equal in `name`.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    }
}

/// The bytes of a response, an iterator of chunks.
///
/// Each chunk of an events answer in JSON is written when the iterator reaches it. So such an answer of any size is in
/// memory once, as a table, and never as a whole as text. A Parquet file and the text of any other answer are in
/// memory.
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
    source: Option<AnswerBody>,
    /// Compresses the chunks, if the caller accepts gzip.
    encoder: Option<GzEncoder<Vec<u8>>>,
}

impl Body {
    fn new(source: AnswerBody, gzip: bool) -> Self {
        Self { source: Some(source), encoder: gzip.then(|| GzEncoder::new(Vec::new(), Compression::default())) }
    }

    /// Returns all bytes.
    ///
    /// # Errors
    /// The compressor fails.
    pub fn into_bytes(self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        for chunk in self {
            bytes.append(&mut chunk?);
        }
        Ok(bytes)
    }

    /// Returns the next bytes, uncompressed. `self.source` is `None` after the last.
    fn plain(&mut self) -> Option<Vec<u8>> {
        match self.source.take()? {
            AnswerBody::Text { text, .. } => Some(text.into_bytes()),
            AnswerBody::Parquet { file, sent, _memory } => {
                let end = file.len().min(sent + FILE_CHUNK_BYTES);
                let chunk = file[sent..end].to_vec();
                if end < file.len() {
                    self.source = Some(AnswerBody::Parquet { file, sent: end, _memory });
                }
                Some(chunk)
            }
            AnswerBody::Rows(mut rows, extra) => {
                let mut chunk = Vec::new();
                let is_chunk = rows.next_chunk(&mut chunk);
                if !rows.is_at_end() {
                    self.source = Some(AnswerBody::Rows(rows, extra));
                }
                is_chunk.then_some(chunk)
            }
        }
    }

    /// Returns the next compressed bytes: all that are left, or at least [`GZIP_CHUNK_BYTES`].
    fn compressed(&mut self, mut encoder: GzEncoder<Vec<u8>>) -> io::Result<Vec<u8>> {
        while let Some(chunk) = self.plain() {
            encoder.write_all(&chunk)?;
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
    type Item = io::Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.encoder.take() {
            Some(encoder) => Some(self.compressed(encoder)),
            None => self.plain().map(Ok),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").finish_non_exhaustive()
    }
}

/// Encodes a text for a header: every byte except ASCII letters, digits, `-`, `_` and `.` becomes `%` and two digits.
fn header_text(text: &str) -> Cow<'_, str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if text.bytes().all(plain) {
        return Cow::Borrowed(text);
    }
    let spelled =
        text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") });
    Cow::Owned(spelled.collect())
}

/// The longest list in one header, in bytes, because clients and proxies refuse responses whose headers are longer than
/// a few pages.
const MAX_LIST_BYTES: usize = 4 << 10;
/// Ends a list that was cut.
const MORE: &str = "...";

/// Joins names for one header, each encoded by [`header_text`]. A list that is too long is cut between names and ends
/// with `...`.
pub(super) fn header_list(names: &[String]) -> String {
    let mut list = String::new();
    for (place, name) in names.iter().enumerate() {
        let separator = if place == 0 { "" } else { ", " };
        let name = header_text(name);
        // Nothing follows the last name. After any other, there must be room to end the list.
        let after = if place + 1 == names.len() { 0 } else { ", ".len() + MORE.len() };
        if list.len() + separator.len() + name.len() + after > MAX_LIST_BYTES {
            return list + separator + MORE;
        }
        list += separator;
        list += &name;
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_is_cut_between_names() {
        let names = |count: usize| (0..count).map(|number| format!("n{number:04}é")).collect::<Vec<_>>();
        assert_eq!(header_list(&[]), "");
        assert_eq!(header_list(&names(2)), "n0000%C3%A9, n0001%C3%A9");
        let whole = header_list(&names(315));
        assert_eq!((whole.len(), whole.ends_with("n0314%C3%A9")), (315 * 13 - 2, true));
        let cut = header_list(&names(2_000));
        assert!(cut.len() <= MAX_LIST_BYTES && cut.len() > MAX_LIST_BYTES - 20, "{}", cut.len());
        assert!(cut.ends_with("%C3%A9, ..."), "{cut}");
        assert_eq!(header_list(&["x".repeat(5_000)]), "...");
        assert_eq!(header_list(&["x".repeat(4_096)]).len(), 4_096);
    }

    #[test]
    fn a_header_value_stays_on_one_line() {
        assert_eq!(header_text("crew"), "crew");
        assert_eq!(header_text("a\r\nb, é"), "a%0D%0Ab%2C%20%C3%A9");
    }
}
