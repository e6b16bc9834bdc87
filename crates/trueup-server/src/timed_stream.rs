//! The stream that hyper reads from and writes to: a TCP stream with four additions.
//!
//! - A client that sends or receives nothing for too long, or receives too slowly, causes an error, with which hyper
//!   closes the connection.
//! - Requests are read through a [`HeadReader`], which encodes three characters in their targets.
//! - The end of the client's sending half is hidden until the current request is answered, because hyper drops a
//!   request when it reads that end.
//! - What hyper writes to refuse a request by itself is replaced by a [`Refusal`].
//!
//! hyper also reads while a request is being answered, so [`ConnectionState`] decides whether a read is limited.

use crate::connection_state::{ConnectionState, RequestStage};
use crate::head_reader::HeadReader;
use crate::pipeline::Pipeline;
use crate::refusal::Refusal;
use crate::send_pace::SendPace;
use crate::timer::Timer;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// A TCP stream with the timeouts of [`Settings`](crate::Settings). The read timeouts apply while no request is being
/// answered, the write timeout whenever there are bytes to write.
pub(crate) struct TimedStream {
    tcp: TcpStream,
    state: ConnectionState,
    pipeline: Arc<Pipeline>,
    reader: HeadReader,
    read_phase: ReadPhase,
    /// Number of requests that had begun at the last read. If it has grown since, the next read waits for another
    /// request.
    requests_begun: u64,
    /// Number of requests whose answers have been written completely.
    requests_answered: u64,
    /// Runs while a write waits for the client.
    write_timer: Timer,
    send_pace: SendPace,
    /// What is written in place of hyper's own response. hyper then closes the connection.
    refusal: Option<Refusal>,
}

/// What a read waits for. Each phase has its own timer, which starts when a read has to wait; on a new connection, at
/// once.
enum ReadPhase {
    /// The rest of the head of a request; on a new connection, all of it.
    Head(Timer),
    /// The first byte of the next request.
    NextRequest(Timer),
    /// Nothing, because the client has closed its sending half. The timer limits the work on each request that is still
    /// to be answered.
    Ended(Timer),
}

impl TimedStream {
    pub(crate) fn new(tcp: TcpStream, state: ConnectionState, pipeline: Arc<Pipeline>, max_head_bytes: usize) -> Self {
        let settings = &pipeline.settings;
        Self {
            tcp,
            state,
            reader: HeadReader::new(max_head_bytes),
            // The timeout of the first request starts now, not at the first read.
            read_phase: ReadPhase::Head(Timer::started(settings.header_timeout)),
            requests_begun: 0,
            requests_answered: 0,
            write_timer: Timer::stopped(settings.write_timeout),
            send_pace: SendPace::new(settings.write_timeout, settings.min_send_rate),
            refusal: None,
            pipeline,
        }
    }

    /// Prepares for another request if one has begun since the last read.
    fn expect_next_request(&mut self) {
        let requests_begun = self.state.requests_begun();
        if requests_begun == self.requests_begun {
            return;
        }
        self.requests_begun = requests_begun;
        self.send_pace.restart();
        self.reader.next_request();
        match self.read_phase {
            ReadPhase::Ended(_) => self.end_reading(),
            ReadPhase::Head(_) | ReadPhase::NextRequest(_) => {
                self.read_phase = ReadPhase::NextRequest(Timer::stopped(self.pipeline.settings.idle_timeout));
            }
        }
    }

    fn end_reading(&mut self) {
        self.read_phase = ReadPhase::Ended(Timer::stopped(self.pipeline.settings.half_closed_timeout));
    }

    /// Waits because no bytes are available. Ready with an error after the timeout, which applies only while no request
    /// is being answered.
    fn poll_read_timeout(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        let (ReadPhase::Head(timer) | ReadPhase::NextRequest(timer) | ReadPhase::Ended(timer)) = &mut self.read_phase;
        if self.state.is_answering() {
            // The end of the answer wakes this task too, because then the timeout of the next request starts.
            self.state.wake_at_end(cx.waker());
            timer.stop();
            return Poll::Pending;
        }
        ready!(timer.poll(cx));
        Poll::Ready(io::Error::new(io::ErrorKind::TimedOut, "no request arrived in time"))
    }

    /// Reports the end of the client's sending half once no answer is outstanding.
    ///
    /// A client that sends no more may still receive, or may be gone. An answer that is being sent shows which, because
    /// bytes that nobody receives end the connection. While the service works, only a timeout ends the connection.
    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.state.stage() {
            // The last bytes of an answer are still being written; the end of that write wakes this task.
            RequestStage::Request if self.write_timer.is_running() => return Poll::Pending,
            // No request waits for an answer.
            RequestStage::Request | RequestStage::Body => return Poll::Ready(Ok(())),
            RequestStage::Work => {
                if let ReadPhase::Ended(timer) = &mut self.read_phase
                    && timer.poll(cx).is_ready()
                {
                    return Poll::Ready(Ok(()));
                }
            }
            RequestStage::Answer => {}
        }
        self.state.wake_at_end(cx.waker());
        Poll::Pending
    }

    /// Writes the bytes of hyper, or a refusal in place of them.
    fn poll_send(&mut self, cx: &mut Context<'_>, bytes: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let called = Instant::now();
        if self.refusal.is_none() && self.is_refused() {
            let head: Vec<u8> = bytes.iter().flat_map(|slice| slice.iter().copied()).collect();
            self.refusal = Some(self.pipeline.refuse(&self.reader, &head)?);
        }
        let written = match &mut self.refusal {
            Some(refusal) => {
                refusal.poll_write(&mut self.tcp, cx).map_ok(|()| bytes.iter().map(|slice| slice.len()).sum())
            }
            None => Pin::new(&mut self.tcp).poll_write_vectored(cx, bytes),
        };
        match written {
            Poll::Ready(written) => {
                self.send_pace.wrote(*written.as_ref().unwrap_or(&0), Instant::now());
                self.after_write(cx, called);
                Poll::Ready(written)
            }
            Poll::Pending => self.poll_write_timeout(cx).map(Err),
        }
    }

    /// Returns whether bytes that are to be written now are hyper's own refusal of a request: all answers have been
    /// written, and no other request has begun.
    fn is_refused(&self) -> bool {
        !self.state.is_answering() && self.requests_answered == self.state.requests_begun()
    }

    /// Records a write that was called at `called` and did not wait.
    fn after_write(&mut self, cx: &Context<'_>, called: Instant) {
        self.write_timer.stop();
        self.state.wrote(called);
        match &mut self.read_phase {
            // `poll_end` may wait for this write.
            ReadPhase::Ended(_) => cx.waker().wake_by_ref(),
            // The last bytes of an answer may be written while the next request is awaited. Its timeout starts after
            // them.
            ReadPhase::NextRequest(timer) => timer.restart(),
            ReadPhase::Head(_) => {}
        }
    }

    /// Waits because the client receives nothing. Ready with an error after the timeout, or if the client has received
    /// too little for too long.
    fn poll_write_timeout(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        if !self.write_timer.is_running() {
            self.state.block();
        }
        if self.send_pace.is_too_slow(Instant::now()) {
            return Poll::Ready(io::Error::new(io::ErrorKind::TimedOut, "the client received the answer too slowly"));
        }
        ready!(self.write_timer.poll(cx));
        Poll::Ready(io::Error::new(io::ErrorKind::TimedOut, "the client did not receive the answer in time"))
    }
}

impl AsyncRead for TimedStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        this.expect_next_request();
        if matches!(this.read_phase, ReadPhase::Ended(_)) {
            return this.poll_end(cx);
        }
        let is_answering = this.state.is_answering();
        let (filled, room) = (buf.filled().len(), buf.remaining());
        let Poll::Ready(read) = this.reader.poll_read(&mut this.tcp, cx, buf, is_answering) else {
            return this.poll_read_timeout(cx).map(Err);
        };
        read?;
        // A read that finds no byte, though there is room for one, is the end of the client's sending half.
        if buf.filled().len() == filled && room > 0 {
            this.end_reading();
            return this.poll_end(cx);
        }
        if matches!(this.read_phase, ReadPhase::NextRequest(_)) && !is_answering {
            this.read_phase = ReadPhase::Head(Timer::stopped(this.pipeline.settings.header_timeout));
            this.state.request_started();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for TimedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_send(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_send(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }

    /// Flushes. hyper calls this only when it has written all that it has, so all answers that have ended are written.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.state.is_answering() {
            self.requests_answered = self.state.requests_begun();
        }
        Pin::new(&mut self.tcp).poll_flush(cx)
    }

    /// Closes the server's sending half. After a refusal, also waits a moment for the rest of the request.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        match &mut this.refusal {
            Some(refusal) => refusal.poll_close(&mut this.tcp, cx),
            None => Pin::new(&mut this.tcp).poll_shutdown(cx),
        }
    }
}
