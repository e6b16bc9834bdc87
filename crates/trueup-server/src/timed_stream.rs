//! A connection that ends by itself when the other side does nothing, that takes targets as they are sent, and that owes an answer to
//! callers who have ended their own half.

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

/// As much as is read at once of what may be a target.
const TARGET_PIECE: usize = 2_048;

/// A TCP stream with the timeouts of [`Settings`]: those of reading hold while no request is answered, that of writing whenever there
/// is something to write.
pub(crate) struct TimedStream {
    tcp: TcpStream,
    activity: ConnectionState,
    timeouts: Timeouts,
    awaited: Awaited,
    line: RequestLineFilter,
    /// Read and not passed on yet.
    rewritten: Vec<u8>,
    /// Whether the other side has ended its half of the connection.
    is_ended: bool,
    /// Requests that had begun when `awaited` was last looked at.
    begun: u64,
    /// Runs while a read waits.
    reading: Option<Pin<Box<Sleep>>>,
    /// Runs while a write waits.
    writing: Option<Pin<Box<Sleep>>>,
}

#[derive(Clone, Copy)]
struct Timeouts {
    header: Duration,
    idle: Duration,
    write: Duration,
    half_closed: Duration,
}

/// What is to be read next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Awaited {
    /// The rest of the headers of a request; a new connection owes its first byte too.
    Headers,
    /// The first byte of another request.
    Request,
}

impl TimedStream {
    pub(crate) fn new(tcp: TcpStream, activity: ConnectionState, settings: &Settings) -> Self {
        let timeouts = Timeouts {
            header: settings.header_timeout,
            idle: settings.idle_timeout,
            write: settings.write_timeout,
            half_closed: settings.half_closed_timeout,
        };
        // The time of the headers of the first request runs from here, not from the first read.
        let reading = Some(Box::pin(sleep(timeouts.header)));
        let (line, rewritten) = (RequestLineFilter::new(), Vec::new());
        Self {
            tcp,
            activity,
            timeouts,
            awaited: Awaited::Headers,
            line,
            rewritten,
            is_ended: false,
            begun: 0,
            reading,
            writing: None,
        }
    }

    /// Reads what there is, with its target made readable.
    fn poll_bytes(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.rewritten.is_empty() {
            if self.activity.is_answering() || !self.line.may_rewrite() {
                let filled = buf.filled().len();
                ready!(Pin::new(&mut self.tcp).poll_read(cx, buf))?;
                let bytes = &buf.filled()[filled..];
                if self.activity.is_answering() && !bytes.is_empty() {
                    self.line.lose_track();
                }
                self.line.follow(bytes);
                return Poll::Ready(Ok(()));
            }
            let mut piece = [0; TARGET_PIECE];
            let mut piece = ReadBuf::new(&mut piece);
            ready!(Pin::new(&mut self.tcp).poll_read(cx, &mut piece))?;
            self.line.rewrite(piece.filled(), &mut self.rewritten);
        }
        let some = self.rewritten.len().min(buf.remaining());
        buf.put_slice(&self.rewritten[..some]);
        self.rewritten.drain(..some);
        Poll::Ready(Ok(()))
    }

    /// Waits for bytes no longer than it may.
    fn poll_read_time(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        if self.activity.is_answering() {
            // Bytes are not all that this task waits for: once the answer has ended, another request is due.
            self.activity.wake_at_end(cx.waker());
            self.reading = None;
            return Poll::Pending;
        }
        let limit = match self.awaited {
            Awaited::Headers => self.timeouts.header,
            Awaited::Request => self.timeouts.idle,
        };
        let timer = self.reading.get_or_insert_with(|| Box::pin(sleep(limit)));
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(io::Error::new(io::ErrorKind::TimedOut, "no request came in time"))
    }

    /// Passes the end of the other side's half on when nothing is owed to it any more. Whoever sends no more may still read, or may be
    /// gone: an answer that has begun tells, because bytes that nobody takes end the connection; before that only time does.
    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.activity.stage() {
            // The last bytes of an answer are on their way; when they are written this is looked at again.
            RequestStage::Request if self.writing.is_some() => return Poll::Pending,
            RequestStage::Request | RequestStage::Body => return Poll::Ready(Ok(())),
            RequestStage::Work => {
                let limit = self.timeouts.half_closed;
                let timer = self.reading.get_or_insert_with(|| Box::pin(sleep(limit)));
                if timer.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(Ok(()));
                }
            }
            RequestStage::Answer => {}
        }
        self.activity.wake_at_end(cx.waker());
        Poll::Pending
    }

    /// Goes on after a write that was begun at an instant: an error once it has waited too long.
    fn after_write(
        &mut self,
        cx: &mut Context<'_>,
        begun: StdInstant,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.writing = None;
            self.activity.wrote(begun);
            if self.is_ended {
                cx.waker().wake_by_ref();
            }
            // The end of an answer may still be on its way when the next request is awaited: its time starts behind it.
            if self.awaited == Awaited::Request
                && let Some(timer) = &mut self.reading
            {
                timer.as_mut().reset(Instant::now() + self.timeouts.idle);
            }
            return written;
        }
        let limit = self.timeouts.write;
        let timer = self.writing.get_or_insert_with(|| {
            self.activity.block();
            Box::pin(sleep(limit))
        });
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "nothing of the answer was taken in time")))
    }
}

impl AsyncRead for TimedStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let begun = self.activity.begun();
        if begun != self.begun {
            (self.begun, self.awaited, self.reading) = (begun, Awaited::Request, None);
            self.line.next_request();
        }
        if self.is_ended {
            return self.poll_end(cx);
        }
        let (filled, room) = (buf.filled().len(), buf.remaining());
        if let Poll::Ready(read) = self.poll_bytes(cx, buf) {
            read?;
            if buf.filled().len() == filled && room > 0 {
                (self.is_ended, self.reading) = (true, None);
                return self.poll_end(cx);
            }
            if self.awaited == Awaited::Request && !self.activity.is_answering() {
                (self.awaited, self.reading) = (Awaited::Headers, None);
                self.activity.progress();
            }
            return Poll::Ready(Ok(()));
        }
        self.poll_read_time(cx).map(Err)
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
