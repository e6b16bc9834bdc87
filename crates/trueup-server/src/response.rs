//! Converts the facade's response, or the facade's body in the answer of a door, to an HTTP response: small bodies are
//! sent whole, large ones chunk by chunk. The bytes that the connection holds own the facade's chunk, and with it the
//! memory that is reserved for the body.

use crate::body::{Body, whole};
use crate::workers::Workers;
use http::{HeaderName, HeaderValue, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::sync::oneshot;
use trueup::service::{Body as Chunks, Chunk, Response as FacadeResponse};

/// The headers of a response of the facade.
type Headers = Vec<(&'static str, Cow<'static, str>)>;

/// The head of a response, and the first chunks of its body.
pub(crate) struct ResponseHead {
    status: u16,
    headers: Headers,
    first: FirstChunks,
}

impl ResponseHead {
    /// Produces the first chunks. This takes time, so it must not run on a thread of the asynchronous runtime.
    pub(crate) fn new(response: FacadeResponse) -> io::Result<Self> {
        let FacadeResponse { status, headers, body } = response;
        Ok(Self { status, headers, first: FirstChunks::new(body)? })
    }

    /// Returns the response. `workers` produce the other chunks. `None` if its head is invalid, which no head of the
    /// facade is.
    pub(crate) fn response(self, workers: &Arc<Workers>) -> Option<Response<Body>> {
        with_head(self.status, self.headers, self.first.body(workers))
    }

    /// Returns the response with the first chunk as its body, with `Content-Length`.
    pub(crate) fn whole(self) -> Option<Response<Body>> {
        with_head(self.status, self.headers, self.first.whole())
    }
}

/// A body, and its first chunks, which are there.
pub(crate) struct FirstChunks {
    ready: VecDeque<Bytes>,
    /// The rest of the body; `None` if there is none.
    rest: Option<Chunks>,
}

impl FirstChunks {
    /// Produces the first chunk, and the second to find out whether there is one. This takes time, so it must not run
    /// on a thread of the asynchronous runtime.
    pub(crate) fn new(body: Chunks) -> io::Result<Self> {
        let (mut ready, mut rest) = (VecDeque::new(), Some(body));
        while ready.len() < 2
            && let Some(chunks) = &mut rest
        {
            match chunks.next() {
                Some(chunk) => ready.push_back(Bytes::from_owner(chunk?)),
                None => rest = None,
            }
        }
        Ok(Self { ready, rest: rest.filter(|rest| !is_at_end(rest)) })
    }

    /// Returns the body, which is sent with `Content-Length` if its length is known. `workers` produce the other
    /// chunks.
    pub(crate) fn body(self, workers: &Arc<Workers>) -> Body {
        if self.rest.is_none() && self.ready.len() <= 1 {
            return self.whole();
        }
        let rest = self.rest.as_ref().map_or(Some(0), Chunks::remaining_bytes);
        let unsent = rest.map(|rest| (self.ready.iter().map(Bytes::len).sum::<usize>() + rest) as u64);
        let body = ChunkedBody {
            workers: Arc::clone(workers),
            ready: self.ready,
            source: self.rest.map_or(ChunkSource::Ended, |rest| ChunkSource::Idle(Box::new(rest))),
            unsent,
        };
        body.boxed_unsync()
    }

    /// Returns the first chunk as a body.
    fn whole(mut self) -> Body {
        whole(self.ready.pop_front().unwrap_or_default())
    }
}

fn is_at_end(chunks: &Chunks) -> bool {
    chunks.remaining_bytes() == Some(0)
}

/// Returns a response with this head; `None` if the head is invalid.
fn with_head(status: u16, headers: Headers, body: Body) -> Option<Response<Body>> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).ok()?;
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        response.headers_mut().append(name, HeaderValue::from_str(&value).ok()?);
    }
    Some(response)
}

/// A body whose chunks are produced while it is sent, at most one ahead. Occupies a thread only while a chunk is
/// produced.
struct ChunkedBody {
    workers: Arc<Workers>,
    ready: VecDeque<Bytes>,
    source: ChunkSource,
    /// The number of bytes that are not sent yet; `None` if it is not known before they are produced.
    unsent: Option<u64>,
}

enum ChunkSource {
    Idle(Box<Chunks>),
    Working(oneshot::Receiver<PulledChunk>),
    Ended,
}

/// The source of the chunks, and the chunk that it produced; `None` at the end.
type PulledChunk = (Box<Chunks>, Option<io::Result<Chunk>>);

impl ChunkedBody {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if let Some(chunk) = self.ready.pop_front() {
            return Poll::Ready(Some(Ok(chunk)));
        }
        let mut work = match std::mem::replace(&mut self.source, ChunkSource::Ended) {
            ChunkSource::Ended => return Poll::Ready(None),
            ChunkSource::Working(work) => work,
            ChunkSource::Idle(mut chunks) => {
                let pull = move || {
                    let chunk = chunks.next();
                    (chunks, chunk)
                };
                match self.workers.start(pull) {
                    Ok(work) => work,
                    Err(error) => return Poll::Ready(Some(Err(error))),
                }
            }
        };
        let Poll::Ready(done) = Pin::new(&mut work).poll(cx) else {
            self.source = ChunkSource::Working(work);
            return Poll::Pending;
        };
        Poll::Ready(match done {
            Ok((chunks, Some(Ok(chunk)))) => {
                // hyper does not ask a body of a known length for what follows its last byte.
                self.source = if is_at_end(&chunks) { ChunkSource::Ended } else { ChunkSource::Idle(chunks) };
                Some(Ok(Bytes::from_owner(chunk)))
            }
            Ok((_, Some(Err(error)))) => Some(Err(error)),
            Ok((_, None)) => None,
            // The worker panicked. The message of the panic is dropped, because it may contain data.
            Err(_) => Some(Err(io::Error::other("a chunk could not be produced"))),
        })
    }
}

impl HttpBody for ChunkedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let chunk = ready!(self.poll_chunk(cx));
        if let (Some(unsent), Some(Ok(chunk))) = (&mut self.unsent, &chunk) {
            *unsent = unsent.saturating_sub(chunk.len() as u64);
        }
        Poll::Ready(chunk.map(|chunk| chunk.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.ready.is_empty() && matches!(self.source, ChunkSource::Ended)
    }

    fn size_hint(&self) -> SizeHint {
        self.unsent.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
