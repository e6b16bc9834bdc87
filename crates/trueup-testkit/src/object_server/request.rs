//! Reads requests.

use super::Requested;
use percent_encoding::percent_decode_str;
use std::io::{self, BufRead, Read};

/// A request, and what the log does not hold of it.
pub(super) struct Request {
    pub(super) requested: Requested,
    pub(super) query: Vec<(String, String)>,
    /// Whether the client signed the request, as S3 clients do, for which a folder is no object.
    pub(super) is_signed: bool,
    /// Whether the object must not exist yet.
    pub(super) is_new: bool,
    /// The tag that the object must have.
    pub(super) tag: Option<String>,
    pub(super) body: Vec<u8>,
}

impl Request {
    pub(super) fn has(&self, name: &str) -> bool {
        self.query.iter().any(|(found, _)| found == name)
    }

    pub(super) fn parameter(&self, name: &str) -> String {
        let found = self.query.iter().find(|(found, _)| found == name);
        found.map(|(_, value)| value.clone()).unwrap_or_default()
    }
}

/// Reads a request; `None` at the end of the connection.
pub(super) fn read_request(input: &mut impl BufRead) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if input.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (mut range, mut length, mut is_signed, mut is_new, mut tag) = (None, 0, false, false, None);
    loop {
        line.clear();
        input.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "range" => {
                let ends = value.trim().strip_prefix("bytes=").and_then(|ends| ends.split_once('-'));
                let last = |last: &str| if last.is_empty() { Some(u64::MAX - 1) } else { last.parse().ok() };
                range = ends.and_then(|(start, end)| Some(start.parse().ok()?..last(end)? + 1));
            }
            "authorization" => is_signed = true,
            "content-length" => length = value.trim().parse().unwrap_or_default(),
            "if-none-match" => is_new = value.trim() == "*",
            "if-match" | "if-range" => tag = Some(value.trim().to_owned()),
            _ => {}
        }
    }
    let mut body = Vec::new();
    input.take(length).read_to_end(&mut body)?;
    if (body.len() as u64) < length {
        // The client has gone.
        return Ok(None);
    }
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let path = percent_decode_str(path.trim_start_matches('/')).decode_utf8_lossy().into_owned();
    let query = query.split('&').map(|part| part.split_once('=').unwrap_or((part, "")));
    let query = query
        .map(|(name, value)| (name.to_owned(), percent_decode_str(value).decode_utf8_lossy().into_owned()))
        .collect();
    Ok(Some(Request { requested: Requested { method, path, range }, query, is_signed, is_new, tag, body }))
}
