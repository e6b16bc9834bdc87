//! A TCP stream with timeouts. It also filters the targets of requests, and hides the end of the client's sending half
//! until the current request is answered.

use crate::Settings;
use crate::connection_state::{ConnectionState, RequestStage};
use crate::request_line::RequestLineFilter;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant as StdInstant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

/// Largest number of bytes to read in one piece while they may be part of a target.
const TARGET_PIECE: usize = 2_048;

/// A TCP stream with the timeouts of [`Settings`]. The read timeouts apply while no request is being answered, the
/// write timeout whenever there are bytes to write.
pub(crate) struct TimedStream {
    tcp: TcpStream,
    state: ConnectionState,
    timeouts: Timeouts,
    awaited: Awaited,
    filter: RequestLineFilter,
    /// Bytes that were read and filtered, and not returned yet.
    filtered: Vec<u8>,
    /// Whether the client has closed its sending half of the connection.
    is_ended: bool,
    /// Number of requests that had begun when `awaited` was last updated.
    begun: u64,
    /// The timer of a waiting read.
    read_timer: Option<Pin<Box<Sleep>>>,
    /// The timer of a waiting write.
    write_timer: Option<Pin<Box<Sleep>>>,
}

#[derive(Clone, Copy)]
struct Timeouts {
    header: Duration,
    idle: Duration,
    write: Duration,
    half_closed: Duration,
}

/// What the next read waits for.
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
        let (filter, filtered) = (RequestLineFilter::new(), Vec::new());
        Self {
            tcp,
            state,
            timeouts,
            awaited: Awaited::Headers,
            filter,
            filtered,
            is_ended: false,
            begun: 0,
            read_timer,
            write_timer: None,
        }
    }

    /// Reads the available bytes, with the target filtered.
    fn poll_bytes(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.filtered.is_empty() {
            if self.state.is_answering() || !self.filter.may_rewrite() {
                let filled = buf.filled().len();
                ready!(Pin::new(&mut self.tcp).poll_read(cx, buf))?;
                let bytes = &buf.filled()[filled..];
                if self.state.is_answering() && !bytes.is_empty() {
                    self.filter.lose_track();
                }
                self.filter.follow(bytes);
                return Poll::Ready(Ok(()));
            }
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

    /// Waits for bytes; ready with an error after the timeout.
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

    /// Reports the end of the client's sending half once no answer is outstanding. A client that sends no more may
    /// still receive, or may be gone. An answer that has begun will show it, because bytes that nobody receives end the
    /// connection. Before an answer has begun, only a timeout can.
    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.state.stage() {
            // The last bytes of an answer are still being written; the end of that write wakes this task.
            RequestStage::Request if self.write_timer.is_some() => return Poll::Pending,
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

    /// Handles the result of a write that was started at `begun`; ready with an error after the timeout.
    fn after_write(
        &mut self,
        cx: &mut Context<'_>,
        begun: StdInstant,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.write_timer = None;
            self.state.wrote(begun);
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
        let begun = self.state.begun();
        if begun != self.begun {
            (self.begun, self.awaited, self.read_timer) = (begun, Awaited::Request, None);
            self.filter.next_request();
        }
        if self.is_ended {
            return self.poll_end(cx);
        }
        let (filled, room) = (buf.filled().len(), buf.remaining());
        if let Poll::Ready(read) = self.poll_bytes(cx, buf) {
            read?;
            if buf.filled().len() == filled && room > 0 {
                (self.is_ended, self.read_timer) = (true, None);
                return self.poll_end(cx);
            }
            if self.awaited == Awaited::Request && !self.state.is_answering() {
                (self.awaited, self.read_timer) = (Awaited::Headers, None);
                self.state.request_started();
            }
            return Poll::Ready(Ok(()));
        }
        self.poll_read_timeout(cx).map(Err)
    }
}

impl AsyncWrite for TimedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let begun = StdInstant::now();
        let written = Pin::new(&mut self.tcp).poll_write(cx, buf);
        self.after_write(cx, begun, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let begun = StdInstant::now();
        let written = Pin::new(&mut self.tcp).poll_write_vectored(cx, bufs);
        self.after_write(cx, begun, written)
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
