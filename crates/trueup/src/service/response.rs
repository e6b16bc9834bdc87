//! What is sent back.

use super::Body;
use std::borrow::Cow;

/// One response.
#[derive(Debug)]
pub struct Response {
    /// The status of HTTP.
    pub status: u16,
    /// The headers, names as they are usually written, values in ASCII.
    pub headers: Vec<(&'static str, Cow<'static, str>)>,
    /// The body, compressed if the header `Content-Encoding` says so.
    pub body: Body,
}

impl Response {
    /// The value of a header, if it is there; `name` in any spelling.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    }
}
