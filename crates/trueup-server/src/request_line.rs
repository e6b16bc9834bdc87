//! Percent-encodes three characters that some clients send raw in the target of a request: `"`, `<` and `>`.
//!
//! `curl -g` and some libraries send the quotes of a JSON filter unencoded. hyper refuses such a target before any
//! other code sees it, so this filter encodes the three characters first, which does not change the meaning. It changes
//! only bytes that are certainly part of a target. Once bytes follow the head of an unanswered request (a body, or
//! another request sent ahead), it passes all further bytes of the connection unchanged.

/// A filter for the bytes of a connection. It tracks the position in each request's head.
#[derive(Debug)]
pub(crate) struct RequestLineFilter {
    state: ParseState,
    /// Whether `state` is the position of the next byte. Once false, it stays so.
    is_certain: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ParseState {
    /// Before the request, where empty lines are allowed.
    Before,
    Method,
    Target,
    /// In the version or the headers; `is_blank` while the line is empty.
    Rest {
        is_blank: bool,
    },
    /// After the empty line that ends the headers.
    After,
}

impl RequestLineFilter {
    /// Creates a filter for a new connection.
    pub(crate) const fn new() -> Self {
        Self { state: ParseState::Before, is_certain: true }
    }

    /// Records that the head of a request has been read; the next head belongs to another request.
    pub(crate) fn next_request(&mut self) {
        self.is_certain &= self.state == ParseState::After;
        self.state = ParseState::Before;
    }

    /// Records that the next bytes are a body, or a request that was sent ahead.
    pub(crate) const fn lose_track(&mut self) {
        self.is_certain = false;
    }

    /// Returns whether the next bytes may be part of a target and must go through [`rewrite`](Self::rewrite).
    pub(crate) fn may_rewrite(&self) -> bool {
        self.is_certain && matches!(self.state, ParseState::Before | ParseState::Method | ParseState::Target)
    }

    /// Appends the filtered bytes to `out`. One byte becomes up to three.
    pub(crate) fn rewrite(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for byte in bytes {
            match (self.state, byte) {
                (ParseState::Target, b'"') => out.extend_from_slice(b"%22"),
                (ParseState::Target, b'<') => out.extend_from_slice(b"%3C"),
                (ParseState::Target, b'>') => out.extend_from_slice(b"%3E"),
                _ => out.push(*byte),
            }
            self.step(*byte);
        }
    }

    /// Tracks bytes that are passed on unchanged.
    pub(crate) fn follow(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if !self.is_certain {
                return;
            }
            self.step(*byte);
        }
    }

    fn step(&mut self, byte: u8) {
        self.state = match (self.state, byte) {
            (ParseState::Before, b'\r' | b'\n') => ParseState::Before,
            (ParseState::Before, _) => ParseState::Method,
            (ParseState::Method, b' ') => ParseState::Target,
            (ParseState::Target, b' ') => ParseState::Rest { is_blank: false },
            (ParseState::Method | ParseState::Target | ParseState::Rest { is_blank: false }, b'\n') => {
                ParseState::Rest { is_blank: true }
            }
            (ParseState::Rest { is_blank: true }, b'\n') => ParseState::After,
            (ParseState::Rest { is_blank: true }, b'\r') => ParseState::Rest { is_blank: true },
            (ParseState::Rest { .. }, _) => ParseState::Rest { is_blank: false },
            (ParseState::After, _) => {
                self.is_certain = false;
                ParseState::After
            }
            (same, _) => same,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Passes bytes through the filter as a stream does, in pieces of `piece` bytes.
    fn filtered(line: &mut RequestLineFilter, bytes: &[u8], piece: usize) -> String {
        let mut out = Vec::new();
        for piece in bytes.chunks(piece) {
            if line.may_rewrite() {
                line.rewrite(piece, &mut out);
            } else {
                line.follow(piece);
                out.extend_from_slice(piece);
            }
        }
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn only_the_target_is_encoded() {
        let sent = b"\r\nGET /a?b=[\"<>\"] HTTP/1.1\r\nA: \"<>\" \"\r\n\r\n";
        for piece in 1..=sent.len() {
            let mut line = RequestLineFilter::new();
            for _ in 0..3 {
                let found = filtered(&mut line, sent, piece);
                assert_eq!(found, "\r\nGET /a?b=[%22%3C%3E%22] HTTP/1.1\r\nA: \"<>\" \"\r\n\r\n", "{piece}");
                line.next_request();
            }
        }
    }

    #[test]
    fn nothing_is_changed_once_the_position_is_uncertain() {
        let request = "GET /\" HTTP/1.1\n\n";
        for ahead in ["x", request] {
            let mut line = RequestLineFilter::new();
            filtered(&mut line, format!("{request}{ahead}").as_bytes(), 5);
            line.next_request();
            assert_eq!(filtered(&mut line, request.as_bytes(), 4), request);
        }
        // The head is incomplete.
        let mut line = RequestLineFilter::new();
        filtered(&mut line, b"GET / HTTP/1.1\r\nA: b\r\n", 4);
        line.next_request();
        assert_eq!(filtered(&mut line, request.as_bytes(), 4), request);
        let mut line = RequestLineFilter::new();
        line.lose_track();
        assert_eq!(filtered(&mut line, request.as_bytes(), 4), request);
    }
}
