//! The stream that hyper reads from and writes to: a TCP stream with three additions.
//!
//! - A client that sends or receives nothing for too long causes an error, with which hyper closes the connection.
//! - The targets of requests pass through [`RequestLineFilter`].
//! - The end of the client's sending half is hidden until the current request is answered, because hyper drops a
//!   request when it reads that end.
//!
//! hyper also reads while a request is being answered, so [`ConnectionState`] decides what a read waits for.

use crate::connection_state::{ConnectionState, RequestStage};
use crate::request_line::RequestLineFilter;
use crate::settings::Settings;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant as StdInstant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

/// Largest number of bytes to read at a time while they may be part of a target.
const TARGET_PIECE: usize = 2_048;

/// A TCP stream with the timeouts of [`Settings`]. The read timeouts apply while no request is being answered, the
/// write timeout whenever there are bytes to write.
pub(crate) struct TimedStream {
    tcp: TcpStream,
    state: ConnectionState,
    timeouts: Timeouts,
    /// What a read waits for while no request is being answered.
    awaited: Awaited,
    /// Number of requests that had begun at the last read. If it has grown since, the next read waits for another
    /// request.
    requests_begun: u64,
    filter: RequestLineFilter,
    /// Bytes that were read and filtered, and not returned yet.
    filtered: Vec<u8>,
    /// Whether the client has closed its sending half of the connection.
    is_ended: bool,
    /// The timer of a read that waits for bytes or, once `is_ended`, for the end of the work on the current request.
    /// `None` if no time is limited.
    read_timer: Option<Pin<Box<Sleep>>>,
    /// The timer of a write that waits for the client; `None` if no write waits.
    write_timer: Option<Pin<Box<Sleep>>>,
}

/// The timeouts of [`Settings`].
#[derive(Clone, Copy)]
struct Timeouts {
    header: Duration,
    idle: Duration,
    write: Duration,
    half_closed: Duration,
}

/// A part of a request that a read waits for. The variant selects the timeout.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Awaited {
    /// The rest of the headers of a request; on a new connection, all of them.
    Headers,
    /// The first byte of another request.
    Request,
}

impl TimedStream {
    pub(crate) fn new(tcp: TcpStream, state: ConnectionState, settings: &Settings) -> Self {
        let timeouts = Timeouts {
            header: settings.header_timeout,
            idle: settings.idle_timeout,
            write: settings.write_timeout,
            half_closed: settings.half_closed_timeout,
        };
        // The timeout of the first request starts now, not at the first read.
        let read_timer = Some(Box::pin(sleep(timeouts.header)));
        Self {
            tcp,
            state,
            timeouts,
            awaited: Awaited::Headers,
            requests_begun: 0,
            filter: RequestLineFilter::new(),
            filtered: Vec::new(),
            is_ended: false,
            read_timer,
            write_timer: None,
        }
    }

    /// Prepares for another request if one has begun since the last read.
    fn expect_next_request(&mut self) {
        let requests_begun = self.state.requests_begun();
        if requests_begun != self.requests_begun {
            (self.requests_begun, self.awaited, self.read_timer) = (requests_begun, Awaited::Request, None);
            self.filter.next_request();
        }
    }

    /// Reads the available bytes, with the target filtered.
    fn poll_bytes(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.filtered.is_empty() {
            if self.state.is_answering() || !self.filter.may_rewrite() {
                let filled = buf.filled().len();
                ready!(Pin::new(&mut self.tcp).poll_read(cx, buf))?;
                let bytes = &buf.filled()[filled..];
                // Bytes that arrive during an answer are a body, or a request that was sent ahead.
                if self.state.is_answering() && !bytes.is_empty() {
                    self.filter.lose_track();
                }
                self.filter.follow(bytes);
                return Poll::Ready(Ok(()));
            }
            // The filter may lengthen the bytes, so they do not go directly to `buf`.
            let mut piece = [0; TARGET_PIECE];
            let mut piece = ReadBuf::new(&mut piece);
            ready!(Pin::new(&mut self.tcp).poll_read(cx, &mut piece))?;
            self.filter.rewrite(piece.filled(), &mut self.filtered);
        }
        let some = self.filtered.len().min(buf.remaining());
        buf.put_slice(&self.filtered[..some]);
        self.filtered.drain(..some);
        Poll::Ready(Ok(()))
    }

    /// Waits because no bytes are available. Ready with an error after the timeout, which applies only while no request
    /// is being answered.
    fn poll_read_timeout(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        if self.state.is_answering() {
            // The end of the answer wakes this task too, because then the timeout of the next request starts.
            self.state.wake_at_end(cx.waker());
            self.read_timer = None;
            return Poll::Pending;
        }
        let limit = match self.awaited {
            Awaited::Headers => self.timeouts.header,
            Awaited::Request => self.timeouts.idle,
        };
        let timer = self.read_timer.get_or_insert_with(|| Box::pin(sleep(limit)));
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(io::Error::new(io::ErrorKind::TimedOut, "no request arrived in time"))
    }

    /// Reports the end of the client's sending half once no answer is outstanding.
    ///
    /// A client that sends no more may still receive, or may be gone. An answer that is being sent shows which, because
    /// bytes that nobody receives end the connection. While the service works, only a timeout ends the connection.
    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.state.stage() {
            // The last bytes of an answer are still being written; the end of that write wakes this task.
            RequestStage::Request if self.write_timer.is_some() => return Poll::Pending,
            // No request waits for an answer.
            RequestStage::Request | RequestStage::Body => return Poll::Ready(Ok(())),
            RequestStage::Work => {
                let limit = self.timeouts.half_closed;
                let timer = self.read_timer.get_or_insert_with(|| Box::pin(sleep(limit)));
                if timer.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(Ok(()));
                }
            }
            RequestStage::Answer => {}
        }
        self.state.wake_at_end(cx.waker());
        Poll::Pending
    }

    /// Handles the result of a write that was called at `called`. Ready with an error if the client does not receive
    /// anything before the timeout.
    fn after_write(
        &mut self,
        cx: &mut Context<'_>,
        called: StdInstant,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.write_timer = None;
            self.state.wrote(called);
            // `poll_end` may wait for this write.
            if self.is_ended {
                cx.waker().wake_by_ref();
            }
            // The last bytes of an answer may be written while the next request is awaited. Its timeout starts after
            // them.
            if self.awaited == Awaited::Request
                && let Some(timer) = &mut self.read_timer
            {
                timer.as_mut().reset(Instant::now() + self.timeouts.idle);
            }
            return written;
        }
        let limit = self.timeouts.write;
        let timer = self.write_timer.get_or_insert_with(|| {
            self.state.block();
            Box::pin(sleep(limit))
        });
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client did not receive the answer in time")))
    }
}

impl AsyncRead for TimedStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.expect_next_request();
        if self.is_ended {
            return self.poll_end(cx);
        }
        let (filled, room) = (buf.filled().len(), buf.remaining());
        let Poll::Ready(read) = self.poll_bytes(cx, buf) else {
            return self.poll_read_timeout(cx).map(Err);
        };
        read?;
        // A read that finds no byte, though there is room for one, is the end of the client's sending half.
        if buf.filled().len() == filled && room > 0 {
            (self.is_ended, self.read_timer) = (true, None);
            return self.poll_end(cx);
        }
        if self.awaited == Awaited::Request && !self.state.is_answering() {
            (self.awaited, self.read_timer) = (Awaited::Headers, None);
            self.state.request_started();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for TimedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let called = StdInstant::now();
        let written = Pin::new(&mut self.tcp).poll_write(cx, buf);
        self.after_write(cx, called, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let called = StdInstant::now();
        let written = Pin::new(&mut self.tcp).poll_write_vectored(cx, bufs);
        self.after_write(cx, called, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(cx)
    }
}
