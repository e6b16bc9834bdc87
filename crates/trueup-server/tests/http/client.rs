//! A client of HTTP/1.1 that sends raw bytes and shows all details of the answers.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// One connection.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
}

/// An answer with its whole body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    }

    /// Returns the body, decompressed.
    pub(crate) fn content(&self) -> Vec<u8> {
        let Some(encoding) = self.header("content-encoding") else { return self.body.clone() };
        assert_eq!(encoding, "gzip");
        let mut content = Vec::new();
        flate2::read::GzDecoder::new(&*self.body).read_to_end(&mut content).unwrap();
        content
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.content()).unwrap()
    }
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        Self { stream: BufReader::new(stream) }
    }

    /// Sends raw bytes. Returns whether the connection accepted them.
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.get_mut().write_all(bytes.as_ref()).is_ok()
    }

    /// Sends a request and returns the answer.
    pub(crate) fn get(&mut self, path: &str, headers: &str) -> Answer {
        assert!(self.send(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n")));
        self.answer().unwrap()
    }

    /// Reads the next answer; `None` if the connection ends first.
    pub(crate) fn answer(&mut self) -> Option<Answer> {
        let mut answer = self.head()?;
        let mut body = Vec::new();
        let is_whole = self.body(&answer, |bytes| body.extend_from_slice(bytes));
        answer.body = body;
        is_whole.then_some(answer)
    }

    /// Reads status and headers of the next answer.
    pub(crate) fn head(&mut self) -> Option<Answer> {
        let line = self.line()?;
        let status = line.split(' ').nth(1)?.parse().ok()?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                return Some(Answer { status, headers, body: Vec::new() });
            }
            let (name, value) = line.split_once(": ")?;
            headers.push((name.to_owned(), value.to_owned()));
        }
    }

    /// Reads the body after a head and passes it to `taken` piece by piece. Returns whether it was complete.
    pub(crate) fn body(&mut self, head: &Answer, mut taken: impl FnMut(&[u8])) -> bool {
        if head.status == 304 {
            return true;
        }
        if let Some(length) = head.header("content-length") {
            return self.pass(length.parse().unwrap(), &mut taken);
        }
        assert_eq!(head.header("transfer-encoding"), Some("chunked"), "{head:?}");
        loop {
            let Some(line) = self.line() else { return false };
            let Ok(length) = usize::from_str_radix(&line, 16) else { return false };
            let is_whole = self.pass(length, &mut taken);
            if !is_whole || self.line().as_deref() != Some("") {
                return false;
            }
            if length == 0 {
                return true;
            }
        }
    }

    /// Reads at most `most` bytes; empty at the end of the connection or after an error.
    pub(crate) fn bytes(&mut self, most: usize) -> Vec<u8> {
        let mut bytes = vec![0; most];
        let read = self.stream.read(&mut bytes).unwrap_or(0);
        bytes.truncate(read);
        bytes
    }

    /// Reads to the end. Returns whether the server closed the connection.
    pub(crate) fn is_closed(&mut self) -> bool {
        self.rest().1
    }

    /// Reads to the end. Returns the bytes, and whether the server closed the connection.
    pub(crate) fn rest(&mut self) -> (Vec<u8>, bool) {
        let mut rest = Vec::new();
        let ended = self.stream.read_to_end(&mut rest);
        let is_closed = ended.map_or_else(|error| error.kind() == std::io::ErrorKind::ConnectionReset, |_| true);
        (rest, is_closed)
    }

    /// Closes the sending half.
    pub(crate) fn end(&self) {
        self.stream.get_ref().shutdown(Shutdown::Write).unwrap();
    }

    pub(crate) fn close(self) {
        let _ = self.stream.get_ref().shutdown(Shutdown::Both);
    }

    fn pass(&mut self, mut length: usize, taken: &mut impl FnMut(&[u8])) -> bool {
        while length > 0 {
            let Ok(bytes) = self.stream.fill_buf() else { return false };
            let some = bytes.len().min(length);
            if some == 0 {
                return false;
            }
            taken(&bytes[..some]);
            self.stream.consume(some);
            length -= some;
        }
        true
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line).ok().filter(|read| *read > 0)?;
        line.strip_suffix("\r\n").map(str::to_owned)
    }
}
