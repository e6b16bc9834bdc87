//! Characters in a request's target that clients send as they are, though they should be percent-encoded.
//!
//! `curl -g` and some libraries send the quotes of a JSON filter as they are. hyper refuses a target with `"`, `<` or `>` in it, before
//! anybody can read it; so these three are percent-encoded here, which means the same. What is not certainly a target is left alone:
//! once bytes follow the head of a request that has not been answered (a body, or another request), the connection is passed on as it
//! is.

/// Follows the bytes of a connection from one request's head to the next.
#[derive(Debug)]
pub(crate) struct RequestLineFilter {
    place: ParseState,
    /// Whether `place` is known.
    is_certain: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ParseState {
    /// Before the request, where empty lines are passed over.
    Before,
    Method,
    Target,
    /// In the version or the headers; `is_blank` while nothing stands in the line.
    Rest {
        is_blank: bool,
    },
    /// After the empty line at the end of the headers.
    After,
}

impl RequestLineFilter {
    /// Before the first request.
    pub(crate) const fn new() -> Self {
        Self { place: ParseState::Before, is_certain: true }
    }

    /// A request has been read, and the next bytes are another's.
    pub(crate) fn next_request(&mut self) {
        self.is_certain &= self.place == ParseState::After;
        self.place = ParseState::Before;
    }

    /// Bytes come that are a body, or a request ahead of its time.
    pub(crate) const fn lose_track(&mut self) {
        self.is_certain = false;
    }

    /// Whether the next bytes may be a target, and have to go through [`rewrite`](Self::rewrite).
    pub(crate) fn may_rewrite(&self) -> bool {
        self.is_certain && matches!(self.place, ParseState::Before | ParseState::Method | ParseState::Target)
    }

    /// The bytes as they are to be passed on, up to three for one.
    pub(crate) fn rewrite(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for byte in bytes {
            match (self.place, byte) {
                (ParseState::Target, b'"') => out.extend_from_slice(b"%22"),
                (ParseState::Target, b'<') => out.extend_from_slice(b"%3C"),
                (ParseState::Target, b'>') => out.extend_from_slice(b"%3E"),
                _ => out.push(*byte),
            }
            self.step(*byte);
        }
    }

    /// Bytes were passed on as they are.
    pub(crate) fn follow(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if !self.is_certain {
                return;
            }
            self.step(*byte);
        }
    }

    fn step(&mut self, byte: u8) {
        self.place = match (self.place, byte) {
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

    /// As a stream passes them on, in pieces of so many bytes.
    fn passed(line: &mut RequestLineFilter, bytes: &[u8], piece: usize) -> String {
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
    fn only_the_target_is_rewritten() {
        let sent = b"\r\nGET /a?b=[\"<>\"] HTTP/1.1\r\nA: \"<>\" \"\r\n\r\n";
        for piece in 1..=sent.len() {
            let mut line = RequestLineFilter::new();
            for _ in 0..3 {
                let found = passed(&mut line, sent, piece);
                assert_eq!(found, "\r\nGET /a?b=[%22%3C%3E%22] HTTP/1.1\r\nA: \"<>\" \"\r\n\r\n", "{piece}");
                line.next_request();
            }
        }
    }

    #[test]
    fn nothing_is_rewritten_once_the_place_is_not_certain() {
        let request = "GET /\" HTTP/1.1\n\n";
        for ahead in ["x", request] {
            let mut line = RequestLineFilter::new();
            passed(&mut line, format!("{request}{ahead}").as_bytes(), 5);
            line.next_request();
            assert_eq!(passed(&mut line, request.as_bytes(), 4), request);
        }
        // A head that is not at its end.
        let mut line = RequestLineFilter::new();
        passed(&mut line, b"GET / HTTP/1.1\r\nA: b\r\n", 4);
        line.next_request();
        assert_eq!(passed(&mut line, request.as_bytes(), 4), request);
        let mut line = RequestLineFilter::new();
        line.lose_track();
        assert_eq!(passed(&mut line, request.as_bytes(), 4), request);
    }
}
