//! The response to a request that hyper refuses by itself, because it cannot parse it or its head is far too large.
//!
//! hyper then writes a response without a body, which no other code sees, and closes the connection. A [`Refusal`] is
//! written in its place: an error like all others, with a message and an id.

use crate::timer::Timer;
use http::StatusCode;
use std::io::{self, Read as _};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};
use tokio::net::TcpStream;
use trueup::service::Response as FacadeResponse;

/// Longest time to wait for the rest of a refused request.
const LINGER: Duration = Duration::from_secs(1);

/// Largest number of bytes to read and ignore of the rest of a refused request.
const LINGER_BYTES: usize = 4 << 20;

/// A response that is being written.
pub(crate) struct Refusal {
    bytes: Vec<u8>,
    /// Number of bytes of the body, which come last in `bytes`.
    body_bytes: u64,
    /// Number of bytes that have been written.
    written: usize,
    linger: Timer,
    /// Number of bytes that have been read and ignored.
    ignored: usize,
}

impl Refusal {
    /// Creates the response that replaces `replaced`, the response of hyper, of which it keeps the headers of the
    /// connection and the date.
    ///
    /// # Errors
    /// If the body cannot be compressed.
    pub(crate) fn new(response: FacadeResponse, id: &str, is_head: bool, replaced: &[u8]) -> io::Result<Self> {
        let FacadeResponse { status, headers, body: chunks } = response;
        let mut body = Vec::new();
        chunks.reader().read_to_end(&mut body)?;
        let reason = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or_default();
        let mut head = format!("HTTP/1.1 {status} {reason}\r\n");
        for (name, value) in &headers {
            head += &format!("{}: {value}\r\n", name.to_ascii_lowercase());
        }
        head += &format!("x-request-id: {id}\r\ncontent-length: {}\r\n", body.len());
        let replaced = String::from_utf8_lossy(replaced);
        for line in replaced.lines().skip(1).filter(|line| !line.is_empty() && !line.starts_with("content-length:")) {
            head += &format!("{line}\r\n");
        }
        let mut bytes = (head + "\r\n").into_bytes();
        let body = if is_head { &[] } else { &*body };
        bytes.extend_from_slice(body);
        Ok(Self { bytes, body_bytes: body.len() as u64, written: 0, linger: Timer::stopped(LINGER), ignored: 0 })
    }

    /// Returns the number of bytes of the body.
    pub(crate) const fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// Writes the rest of the response.
    pub(crate) fn poll_write(&mut self, tcp: &mut TcpStream, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.written < self.bytes.len() {
            match ready!(Pin::new(&mut *tcp).poll_write(cx, &self.bytes[self.written..]))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                bytes => self.written += bytes,
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Closes the server's sending half, and reads what the client still sends until it closes its own half, for at
    /// most [`LINGER`] and [`LINGER_BYTES`]. If the connection were closed before, the client could lose the response.
    pub(crate) fn poll_close(&mut self, tcp: &mut TcpStream, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.linger.is_running() {
            ready!(Pin::new(&mut *tcp).poll_shutdown(cx))?;
        }
        while self.linger.poll(cx).is_pending() && self.ignored < LINGER_BYTES {
            let mut piece = [0; 8_192];
            let mut piece = ReadBuf::new(&mut piece);
            ready!(Pin::new(&mut *tcp).poll_read(cx, &mut piece))?;
            match piece.filled().len() {
                0 => break,
                bytes => self.ignored += bytes,
            }
        }
        Poll::Ready(Ok(()))
    }
}
