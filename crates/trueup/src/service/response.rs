//! From an answer or an error to the headers and bytes of a response.

use super::body::{Body, BodyMemory, BodySource, ChunkSource, CountedText, write_buffer};
use super::error::ServiceError;
use super::error_text::ErrorText;
use super::memory::UserMemory;
use super::negotiation::{AnswerFormat, PARQUET, accepts_gzip};
use crate::csv;
use crate::json::JsonRows;
use crate::{Interrupt, Reservation, ResultTable};
use serde::Serialize;
use std::borrow::Cow;
use std::io;

type Headers = Vec<(&'static str, Cow<'static, str>)>;

/// What an endpoint answers, before it is written as bytes.
pub(super) struct Answer {
    status: u16,
    /// The headers that only this answer has.
    pub(super) headers: Headers,
    content_type: &'static str,
    body: BodySource,
    memory: BodyMemory,
}

/// The value of `WWW-Authenticate`. No registered scheme is a key alone; browsers ask for no password if they do not
/// know the scheme.
const CHALLENGE: &str = "ApiKey realm=\"trueup\"";

const JSON_TYPE: &str = "application/json; charset=utf-8";
const CSV_TYPE: &str = "text/csv; charset=utf-8; header=present";

/// The value of `Vary` for a request that asks for JSON. It need not name `Accept`, because no cache
/// may store an answer.
const VARY: &str = "Accept-Encoding";
/// The value of `Vary` for any other request.
const VARY_FORMAT: &str = "Accept, Accept-Encoding";

impl Answer {
    const fn new(body: BodySource, memory: BodyMemory) -> Self {
        Self { status: 200, headers: Vec::new(), content_type: JSON_TYPE, body, memory }
    }

    /// Answers with the rows of a table, which are written while they are sent.
    pub(super) fn rows(rows: JsonRows<ResultTable>) -> Result<Self, ServiceError> {
        let buffer = write_buffer(rows.table().bytes());
        let _extra = rows.table().reserve_more(rows.bytes() + buffer).map_err(ServiceError::no_room)?;
        Ok(Self::new(BodySource::Rows(Box::new(rows)), BodyMemory::Table { _extra }))
    }

    /// Answers with the rows of a table as a Parquet file. The file is finished before the answer begins, so that a
    /// failure is still an error in JSON.
    ///
    /// Memory for the file, and for the columns from which it is written, counts against the same budget as that of
    /// the table. `name` is the name of the file without its ending.
    pub(super) fn parquet(table: ResultTable, name: &str, interrupt: &Interrupt) -> Result<Self, ServiceError> {
        let reserve = |bytes| table.reserve_more(bytes).map_err(ServiceError::no_room);
        let mut held = vec![reserve(table.bytes())?];
        let (mut bytes, mut reserved) = (Vec::new(), 0);
        table.write_parquet(&mut bytes, |progress| {
            interrupt.check().map_err(ServiceError::Timeout)?;
            if progress.bytes > reserved {
                held.push(reserve(progress.bytes - reserved)?);
                reserved = progress.bytes;
            }
            Ok::<(), ServiceError>(())
        })?;
        bytes.shrink_to_fit();
        drop(held);
        let _extra = reserve(bytes.len() + write_buffer(bytes.len()))?;
        let mut answer = Self::new(BodySource::Finished { bytes, sent: 0 }, BodyMemory::Table { _extra });
        answer.content_type = PARQUET;
        Ok(answer.with_file_name(&format!("{name}.parquet")))
    }

    /// Answers with the rows of a table as CSV, as [`csv::write_rows`] writes it. The text is finished before the
    /// answer begins, and its memory counted. `name` is the name of the file without its ending.
    pub(super) fn csv(table: &ResultTable, name: &str, memory: &UserMemory<'_>) -> Result<Self, ServiceError> {
        let answer = Self::text(memory, |text| csv::write_rows(table, text))?;
        Ok(Self { content_type: CSV_TYPE, ..answer }.with_file_name(&format!("{name}.csv")))
    }

    /// Names the file that the body is saved as: ASCII without quotation marks.
    fn with_file_name(mut self, name: &str) -> Self {
        self.headers.push(("Content-Disposition", Cow::Owned(format!("attachment; filename=\"{name}\""))));
        self
    }

    /// Answers with JSON text that `write` writes. Memory is reserved while the text grows.
    pub(super) fn text(
        memory: &UserMemory<'_>,
        write: impl FnOnce(&mut CountedText) -> io::Result<()>,
    ) -> Result<Self, ServiceError> {
        let text = CountedText::new(memory.reserve(0).map_err(ServiceError::no_room)?);
        let (body, memory) = text.write_body(write)?;
        Ok(Self::new(body, memory))
    }

    /// Answers with JSON that is made while it is sent, for which memory is reserved.
    pub(super) fn chunks(chunks: impl ChunkSource + 'static, memory: Option<Reservation>) -> Self {
        Self::new(BodySource::Chunks(Box::new(chunks)), memory.into())
    }

    /// Answers with an error.
    pub(super) fn error(error: &ServiceError) -> Self {
        let headers = match error {
            ServiceError::MethodNotAllowed(_) => vec![("Allow", Cow::Borrowed("GET"))],
            ServiceError::Unauthorized(_) | ServiceError::SignedOut(_) => {
                vec![("WWW-Authenticate", Cow::Borrowed(CHALLENGE))]
            }
            ServiceError::RateLimited(retry_after_seconds)
            | ServiceError::BenchmarksGathering(retry_after_seconds)
            | ServiceError::Overloaded(retry_after_seconds) => {
                vec![("Retry-After", Cow::Owned(retry_after_seconds.to_string()))]
            }
            _ => Vec::new(),
        };
        Self { headers, ..Self::failure(error.status(), error.code(), &error.text()) }
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
        let text = serde_json::to_string(&ErrorBody { error: text.as_str(), code }).unwrap_or_else(|_| "{}".to_owned());
        let body = BodySource::Finished { bytes: text.into_bytes(), sent: 0 };
        Self { status, ..Self::new(body, BodyMemory::Uncounted) }
    }

    /// Adds the headers that every response has. A Parquet file is not compressed again. `format` is the form
    /// that the request asks for.
    pub(super) fn into_response(self, gzip: bool, format: AnswerFormat) -> Response {
        let gzip = gzip && self.content_type != PARQUET;
        let is_other = matches!(format, AnswerFormat::Parquet | AnswerFormat::Csv);
        let mut headers: Headers = vec![
            ("Content-Type", Cow::Borrowed(self.content_type)),
            ("Cache-Control", Cow::Borrowed("no-store")),
            ("Vary", Cow::Borrowed(if is_other { VARY_FORMAT } else { VARY })),
        ];
        if gzip {
            headers.push(("Content-Encoding", Cow::Borrowed("gzip")));
        }
        headers.extend(self.headers);
        Response { status: self.status, headers, body: Body::new(self.body, self.memory, gzip) }
    }
}

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
    /// The body: JSON or CSV in UTF-8, compressed with gzip if the header `Content-Encoding` says so, or a Parquet
    /// file.
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
    /// let body = std::io::read_to_string(response.body.reader())?;
    /// assert_eq!(body, r#"{"error":"the path is too long","code":"url-too-long"}"#);
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
