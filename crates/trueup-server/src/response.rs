//! Converts the facade's response to an HTTP response: small bodies are sent whole, large ones chunk by chunk. The
//! bytes that the connection holds own the facade's chunk, and with it the memory that is reserved for the body.

use crate::body::{Body, whole};
use crate::workers::Workers;
use http::{HeaderName, HeaderValue, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Frame;
use hyper::body::{Body as HttpBody, Bytes};
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
    first: VecDeque<Bytes>,
    /// The rest of the body; `None` if there is none.
    rest: Option<Chunks>,
}

impl ResponseHead {
    /// Produces the first chunk, and the second to find out whether there is one. This takes time, so it must not run
    /// on a thread of the asynchronous runtime.
    pub(crate) fn new(response: FacadeResponse) -> io::Result<Self> {
        let FacadeResponse { status, headers, body } = response;
        let (mut first, mut rest) = (VecDeque::new(), Some(body));
        while first.len() < 2
            && let Some(chunks) = &mut rest
        {
            match chunks.next() {
                Some(chunk) => first.push_back(Bytes::from_owner(chunk?)),
                None => rest = None,
            }
        }
        Ok(Self { status, headers, first, rest })
    }

    /// Returns the response, with `Content-Length` if its body is a single chunk. `workers` produce the other chunks.
    /// `None` if its head is invalid, which no head of the facade is.
    pub(crate) fn response(self, workers: &Arc<Workers>) -> Option<Response<Body>> {
        if self.rest.is_none() && self.first.len() <= 1 {
            return self.whole();
        }
        let body = ChunkedBody {
            workers: Arc::clone(workers),
            ready: self.first,
            source: self.rest.map_or(ChunkSource::Ended, |rest| ChunkSource::Idle(Box::new(rest))),
        };
        with_head(self.status, self.headers, body.boxed_unsync())
    }

    /// Returns the response with the first chunk as its body, with `Content-Length`.
    pub(crate) fn whole(mut self) -> Option<Response<Body>> {
        with_head(self.status, self.headers, whole(self.first.pop_front().unwrap_or_default()))
    }
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
                self.source = ChunkSource::Idle(chunks);
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
        Poll::Ready(chunk.map(|chunk| chunk.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.ready.is_empty() && matches!(self.source, ChunkSource::Ended)
    }
}
