//! From the facade's response to that of HTTP: what is small is sent whole, what is large chunk by chunk.

use crate::http_error::HttpError;
use crate::workers::Workers;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderName, HeaderValue, Response, StatusCode};
use http_body::Frame;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::sync::oneshot;
use trueup::service::{Body as Chunks, Response as Answer};

/// A response whose first bytes are made.
pub(crate) struct ResponseHead {
    status: u16,
    headers: Vec<(&'static str, Cow<'static, str>)>,
    first: VecDeque<Bytes>,
    /// What follows; `None` if nothing does.
    rest: Option<Chunks>,
}

impl ResponseHead {
    /// Makes the first chunk, and the second to see whether there is one. Works; not for a thread that others wait for.
    pub(crate) fn new(answer: Answer) -> io::Result<Self> {
        let Answer { status, headers, body } = answer;
        let (mut first, mut rest) = (VecDeque::new(), Some(body));
        while first.len() < 2
            && let Some(chunks) = &mut rest
        {
            match chunks.next() {
                Some(chunk) => first.push_back(Bytes::from(chunk?)),
                None => rest = None,
            }
        }
        Ok(Self { status, headers, first, rest })
    }

    /// The response: with `Content-Length` if it is one chunk. `writers` make the others.
    pub(crate) fn response(mut self, writers: &Arc<Workers>) -> Response<Body> {
        let body = if self.rest.is_none() && self.first.len() <= 1 {
            Body::from(self.first.pop_front().unwrap_or_default())
        } else {
            Body::new(ChunkedBody {
                writers: Arc::clone(writers),
                made: self.first,
                source: self.rest.map_or(ChunkSource::Ended, |rest| ChunkSource::Waiting(Box::new(rest))),
            })
        };
        let mut response = Response::new(body);
        let Ok(status) = StatusCode::from_u16(self.status) else { return HttpError::Internal.response() };
        *response.status_mut() = status;
        for (name, value) in self.headers {
            let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(&value)) else {
                return HttpError::Internal.response();
            };
            response.headers_mut().append(name, value);
        }
        response
    }
}

/// A body that is made as it is taken: one chunk ahead at most, by a thread that is needed no longer than that takes.
struct ChunkedBody {
    writers: Arc<Workers>,
    made: VecDeque<Bytes>,
    source: ChunkSource,
}

enum ChunkSource {
    Waiting(Box<Chunks>),
    Working(oneshot::Receiver<PulledChunk>),
    Ended,
}

/// The source, and what it gave.
type PulledChunk = (Box<Chunks>, Option<io::Result<Vec<u8>>>);

impl ChunkedBody {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if let Some(chunk) = self.made.pop_front() {
            return Poll::Ready(Some(Ok(chunk)));
        }
        let mut work = match std::mem::replace(&mut self.source, ChunkSource::Ended) {
            ChunkSource::Ended => return Poll::Ready(None),
            ChunkSource::Working(work) => work,
            ChunkSource::Waiting(mut chunks) => {
                let pull = move || {
                    let chunk = chunks.next();
                    (chunks, chunk)
                };
                match self.writers.begin(pull) {
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
                self.source = ChunkSource::Waiting(chunks);
                Some(Ok(Bytes::from(chunk)))
            }
            Ok((_, Some(Err(error)))) => Some(Err(error)),
            Ok((_, None)) => None,
            // What a panic said may hold data.
            Err(_) => Some(Err(io::Error::other("a chunk was not made"))),
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
        self.made.is_empty() && matches!(self.source, ChunkSource::Ended)
    }
}
