//! Reads requests from a connection, through [`RequestLineFilter`], and remembers the head of the current request.

use crate::request_line::RequestLineFilter;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead as _, ReadBuf};
use tokio::net::TcpStream;

/// Largest number of bytes to read at a time while they may be part of a target.
const TARGET_PIECE: usize = 2_048;

/// The reader of a connection's requests.
pub(crate) struct HeadReader {
    filter: RequestLineFilter,
    /// Bytes that were read and filtered, and not returned yet.
    filtered: Vec<u8>,
    /// What has arrived since the last request ended, at most `max_bytes`. hyper does not say what it found in the head
    /// of a request that it refuses. Bytes that are sent ahead during an answer are left out.
    head: Vec<u8>,
    max_bytes: usize,
}

impl HeadReader {
    /// Creates the reader of a new connection. It remembers heads of up to `max_bytes`.
    pub(crate) const fn new(max_bytes: usize) -> Self {
        Self { filter: RequestLineFilter::new(), filtered: Vec::new(), head: Vec::new(), max_bytes }
    }

    /// Records that a request has begun; the next head belongs to another request.
    pub(crate) fn next_request(&mut self) {
        self.filter.next_request();
        self.head.clear();
    }

    /// Reads the available bytes. `is_answering` says whether a request is being answered.
    pub(crate) fn poll_read(
        &mut self,
        tcp: &mut TcpStream,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
        is_answering: bool,
    ) -> Poll<io::Result<()>> {
        if self.filtered.is_empty() {
            if is_answering || !self.filter.may_rewrite() {
                return self.poll_unfiltered(tcp, cx, buf, is_answering);
            }
            // The filter may lengthen the bytes, so they do not go directly to `buf`.
            let mut piece = [0; TARGET_PIECE];
            let mut piece = ReadBuf::new(&mut piece);
            ready!(Pin::new(tcp).poll_read(cx, &mut piece))?;
            self.remember(piece.filled());
            self.filter.rewrite(piece.filled(), &mut self.filtered);
        }
        let some = self.filtered.len().min(buf.remaining());
        buf.put_slice(&self.filtered[..some]);
        self.filtered.drain(..some);
        Poll::Ready(Ok(()))
    }

    /// Reads bytes without filtering them, because they are not part of a target, or it is not certain that they are.
    fn poll_unfiltered(
        &mut self,
        tcp: &mut TcpStream,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
        is_answering: bool,
    ) -> Poll<io::Result<()>> {
        let filled = buf.filled().len();
        ready!(Pin::new(tcp).poll_read(cx, buf))?;
        let bytes = &buf.filled()[filled..];
        if !is_answering {
            self.remember(bytes);
        } else if !bytes.is_empty() {
            // Bytes that arrive during an answer are a body, or a request that was sent ahead.
            self.filter.lose_track();
        }
        self.filter.follow(bytes);
        Poll::Ready(Ok(()))
    }

    fn remember(&mut self, bytes: &[u8]) {
        let room = self.max_bytes.saturating_sub(self.head.len());
        self.head.extend_from_slice(&bytes[..room.min(bytes.len())]);
    }

    /// Returns the first header of this name, as far as it can be recognized in a head that may be malformed.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let mut lines = self.lines().skip(1).filter_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            Some((&line[..colon], &line[colon + 1..]))
        });
        let (_, value) = lines.find(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes()))?;
        Some(String::from_utf8_lossy(value).trim().to_owned())
    }

    /// Returns whether the request is a `HEAD`, whose response has no body.
    pub(crate) fn is_head(&self) -> bool {
        self.head.trim_ascii_start().starts_with(b"HEAD ")
    }

    /// Returns whether the target has begun and has not ended.
    pub(crate) fn is_in_target(&self) -> bool {
        let start = self.head.trim_ascii_start();
        start.iter().filter(|byte| **byte == b' ').count() == 1 && !start.contains(&b'\n')
    }

    /// Returns the number of complete header lines.
    pub(crate) fn headers(&self) -> usize {
        self.lines().skip(1).take_while(|line| !line.trim_ascii().is_empty()).count()
    }

    /// Returns the complete lines, from the request line on.
    fn lines(&self) -> impl Iterator<Item = &[u8]> {
        let start = self.head.trim_ascii_start();
        start.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(head: &[u8]) -> HeadReader {
        let mut reader = HeadReader::new(100);
        reader.remember(head);
        reader
    }

    #[test]
    fn headers_are_found_in_a_malformed_head() {
        let mut head = reader(b"\r\nA: 0\r\nno header\r\nX-Id:  b \r\nx-id: c\r\n\xff: d\r\ncut: e");
        let found = ["x-id", "a", "cut", "no header"].map(|name| head.header(name));
        assert_eq!(found, [Some("b".to_owned()), None, None, None]);
        assert_eq!(head.headers(), 4);
        head.next_request();
        assert_eq!((head.header("x-id"), head.headers()), (None, 0));
    }

    #[test]
    fn the_target_ends_with_a_space_or_the_line() {
        for (head, is_in_target) in
            [("", false), ("GET", false), ("\r\nGET /a", true), ("GET /a ", false), ("GET /a\n", false)]
        {
            assert_eq!(reader(head.as_bytes()).is_in_target(), is_in_target, "{head}");
        }
        assert!(reader(b"\r\nHEAD /").is_head() && !reader(b"HEADER /").is_head());
    }

    #[test]
    fn a_long_head_is_cut() {
        let mut long = reader(&[b'a'; 80]);
        long.remember(&[b'b'; 80]);
        assert_eq!(long.head.len(), 100);
    }
}
