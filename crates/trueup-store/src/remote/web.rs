//! Reading a file of a web server from beginning to end. A web server need not know ranges, or say how long a file is,
//! so the file comes as one answer; what is cut off is continued if the server can.

use super::fault::describe;
use super::location::{REQUEST_TIME, RETRIES};
use super::runtime::start;
use super::web_client::{RedirectFault, web_client};
use bytes::{Bytes, BytesMut};
use reqwest::header::{ACCEPT_RANGES, CONTENT_RANGE, ETAG, HeaderMap, IF_RANGE, RANGE, TRANSFER_ENCODING};
use reqwest::{Response, StatusCode};
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use url::Url;

/// The bytes that are read before the caller gets them, unless the answer ends.
const BUFFER_BYTES: usize = 1 << 20;

/// The time before the first repetition of a request; each further one waits twice as long, up to the longest.
const PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// A file of a web server, and how far it was read.
#[derive(Debug)]
pub(super) struct WebReader {
    held: Bytes,
    /// `None` at the end of the file, and after an error.
    download: Option<Download>,
}

#[derive(Debug)]
struct Download {
    url: Url,
    /// The client; `None` before the first request.
    client: Option<reqwest::Client>,
    /// The other host that a redirect has led to.
    redirected: Arc<OnceLock<String>>,
    answer: Option<Response>,
    /// The bytes that have arrived.
    position: u64,
    /// What the server calls this state of the file; `None` if it does not say, or cannot continue.
    tag: Option<String>,
    /// Repetitions since bytes arrived.
    repetitions: usize,
}

impl WebReader {
    /// Returns a reader, which notes in `redirected` the other host that a redirect leads to.
    pub(super) const fn new(url: Url, redirected: Arc<OnceLock<String>>) -> Self {
        let download = Download { url, client: None, redirected, answer: None, position: 0, tag: None, repetitions: 0 };
        Self { held: Bytes::new(), download: Some(download) }
    }

    /// Returns the next bytes that are not consumed; none at the end.
    pub(super) fn fill(&mut self) -> io::Result<&mut Bytes> {
        if self.held.is_empty()
            && let Some(mut download) = self.download.take()
        {
            let read = async move { download.next_block().await.map(|block| (download, block)) };
            let (download, block) = start::<_, io::Error>(read).wait()?;
            self.download = (!block.is_empty()).then_some(download);
            self.held = block;
        }
        Ok(&mut self.held)
    }
}

impl Download {
    /// Returns the next bytes; none at the end.
    async fn next_block(&mut self) -> io::Result<Bytes> {
        let mut block = BytesMut::new();
        loop {
            let fault = match self.next_chunk().await {
                Ok(Some(chunk)) => {
                    self.repetitions = 0;
                    self.position += chunk.len() as u64;
                    block.extend_from_slice(&chunk);
                    if block.len() >= BUFFER_BYTES {
                        return Ok(block.freeze());
                    }
                    continue;
                }
                Ok(None) => return Ok(block.freeze()),
                Err(fault) => fault,
            };
            self.answer = None;
            let (may_pass, error) = match fault {
                Fault::Final(error) => (false, error),
                Fault::Passing(error) => (self.position == 0 || self.tag.is_some(), error),
            };
            if !may_pass || self.repetitions == RETRIES {
                let (position, repetitions) = (self.position, self.repetitions);
                let host = self.redirected.get().map_or_else(String::new, |host| format!(", redirected to `{host}`"));
                return Err(io::Error::new(
                    error.kind(),
                    format!("{error} (after {position} bytes, {repetitions} repetitions{host})"),
                ));
            }
            let times = u32::try_from(self.repetitions).unwrap_or(u32::MAX);
            tokio::time::sleep(PAUSE.saturating_mul(2_u32.saturating_pow(times)).min(MAX_PAUSE)).await;
            self.repetitions += 1;
        }
    }

    /// Returns the next part of the answer, and asks for it if there is none.
    async fn next_chunk(&mut self) -> Result<Option<Bytes>, Fault> {
        if self.answer.is_none() {
            self.answer = Some(self.ask().await?);
        }
        match &mut self.answer {
            Some(answer) => answer.chunk().await.map_err(passing),
            None => Ok(None),
        }
    }

    /// Asks for the bytes from the position on.
    async fn ask(&mut self) -> Result<Response, Fault> {
        // The time limit is that of each part of the answer. The whole answer may be long, and has none.
        let client = match &self.client {
            Some(client) => client,
            None => {
                let client = web_client().map_err(Fault::Final)?.read_timeout(REQUEST_TIME).build();
                self.client.insert(client.map_err(passing)?)
            }
        };
        let mut request = client.get(self.url.clone());
        if let (true, Some(tag)) = (self.position > 0, &self.tag) {
            request = request.header(RANGE, format!("bytes={}-", self.position)).header(IF_RANGE, tag);
        }
        let answer = request.send().await.map_err(passing)?;
        if let Some(host) = answer.url().host_str().filter(|host| Some(*host) != self.url.host_str()) {
            self.redirected.get_or_init(|| host.to_owned());
        }
        let (status, headers) = (answer.status(), answer.headers());
        if self.position > 0 {
            if status != StatusCode::PARTIAL_CONTENT || !has_rest(headers, self.position) {
                return Err(refused(status, "the connection was cut, and the server does not continue the file"));
            }
        } else if status != StatusCode::OK {
            return Err(refused(status, "the server does not send the file"));
        }
        if !says_where_it_ends(&answer) {
            let fault =
                "the server does not say where the file ends, so that a part of it could be missing; download it";
            return Err(Fault::Final(io::Error::new(io::ErrorKind::Unsupported, fault)));
        }
        if self.position == 0 {
            self.tag = continued_tag(headers);
        }
        Ok(answer)
    }
}

/// Why no bytes arrive.
enum Fault {
    /// Another attempt may succeed.
    Passing(io::Error),
    Final(io::Error),
}

fn passing(error: reqwest::Error) -> Fault {
    if let Some(fault) = RedirectFault::of(&error) {
        return Fault::Final(io::Error::new(io::ErrorKind::PermissionDenied, fault.to_string()));
    }
    // The URL may hold a token, and the message of the ingest names the URL without the token.
    Fault::Passing(io::Error::new(io::ErrorKind::ConnectionAborted, describe(&error.without_url())))
}

fn refused(status: StatusCode, fault: &str) -> Fault {
    let kind = match status {
        StatusCode::NOT_FOUND | StatusCode::GONE => io::ErrorKind::NotFound,
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => io::ErrorKind::PermissionDenied,
        _ => io::ErrorKind::ConnectionAborted,
    };
    let error = io::Error::new(kind, format!("{fault}: it answers {status}"));
    let may_pass = status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
    if may_pass { Fault::Passing(error) } else { Fault::Final(error) }
}

/// Returns whether an answer says where its body ends: by a length, or because it comes in chunks. The body of any
/// other answer ends with the connection, even if the connection was cut.
pub(super) fn says_where_it_ends(answer: &Response) -> bool {
    let encodings = answer.headers().get_all(TRANSFER_ENCODING).iter().next_back();
    let last = encodings.and_then(|encodings| encodings.to_str().ok()?.rsplit(',').next());
    answer.content_length().is_some() || last.is_some_and(|last| last.trim().eq_ignore_ascii_case("chunked"))
}

/// Returns whether an answer has all bytes of a file from a position on. A server may send fewer than it was asked for.
fn has_rest(headers: &HeaderMap, position: u64) -> bool {
    let range = headers.get(CONTENT_RANGE).and_then(|range| range.to_str().ok()?.strip_prefix("bytes "));
    range.and_then(|range| range.split_once('/')).is_some_and(|(bytes, length)| {
        length.parse::<u64>().is_ok_and(|length| bytes == format!("{position}-{}", length.saturating_sub(1)))
    })
}

/// Returns the tag with which the rest of a file can be asked for, if the server sends ranges and says which state of
/// the file it has. A weak tag does not promise the same bytes.
fn continued_tag(headers: &HeaderMap) -> Option<String> {
    let is_continued = headers.get(ACCEPT_RANGES).is_some_and(|ranges| ranges == "bytes");
    let tag = headers.get(ETAG).and_then(|tag| tag.to_str().ok()).filter(|tag| !tag.starts_with("W/"));
    tag.filter(|_| is_continued).map(str::to_owned)
}
