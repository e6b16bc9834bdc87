//! A path of its own that something else than the facade answers, to users who sign in with a key.

use crate::body::{Body, whole};
use crate::request_queue::RequestPermit;
use crate::response::FirstChunks;
use crate::workers::Workers;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as HttpBody, Bytes, Frame};
use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use trueup::service::{AnswerMemory, Body as FacadeBody, ServiceError, SignedIn};

/// The answer of a [`Door`], once it is there.
pub type DoorAnswer<'a> = Pin<Box<dyn Future<Output = http::Response<DoorBody>> + Send + 'a>>;

/// Answers all requests to one path in another protocol than the facade's, such as that of agents.
///
/// The server reads the body of a request, finds out whose key it has, and lets the user's requests wait for each other
/// as it does those of the facade. A key may stand behind `Bearer`. What counts as a request of the user's hour is up
/// to the door.
pub trait Door: fmt::Debug + Send + Sync {
    /// Returns the path.
    fn path(&self) -> &str;

    /// Returns the answer to a request without a key, such as a page that asks its user for one; `None` lets the server
    /// refuse the request.
    fn without_key(&self, request: &Parts) -> Option<http::Response<DoorBody>> {
        let _ = request;
        None
    }

    /// Answers a request of a user who has signed in. The future runs in the asynchronous runtime, so it must not
    /// block. It is dropped if the client disconnects, and so is the body of the answer.
    fn answer(&self, caller: SignedIn, request: Request<Full<Bytes>>) -> DoorAnswer<'_>;
}

/// The body of the answer of a [`Door`].
///
/// Its bytes own the memory that is reserved for them until they are sent, or are a text of the program itself. There
/// is no body of other bytes, so an answer that nobody reads always counts.
///
/// ```
/// use trueup::service::{Service, ServiceError, SignedIn};
/// use trueup_server::DoorBody;
///
/// fn greeting(service: &Service, caller: &SignedIn) -> Result<DoorBody, ServiceError> {
///     let body = service.answer_memory(caller).body(|out| write!(out, "Good morning, {}!", caller.user()))?;
///     Ok(body.into())
/// }
/// ```
pub struct DoorBody(Source);

/// What the bytes of a body come from.
enum Source {
    Constant(&'static str),
    Facade(Box<FacadeBody>),
    Frames(Box<CountedFrames>),
}

impl DoorBody {
    /// Returns a text that is part of the program, which takes no memory.
    #[must_use]
    pub const fn constant(text: &'static str) -> Self {
        Self(Source::Constant(text))
    }

    /// Returns the frames of a protocol that makes them while they are sent. Memory is reserved for each when it is
    /// there. If there is none for the first, the server answers 503 in place of the door; if there is none for a later
    /// one, the answer is cut off.
    #[must_use]
    pub fn frames(
        frames: impl HttpBody<Data = Bytes, Error = Infallible> + Send + 'static,
        memory: AnswerMemory,
    ) -> Self {
        let frames = CountedFrames { first: None, rest: frames.boxed_unsync(), memory, permit: None };
        Self(Source::Frames(Box::new(frames)))
    }

    /// Returns the body to send, whose first bytes are there. `permit` is that of the request.
    ///
    /// # Errors
    /// There is no room for the first bytes, or they could not be produced.
    pub(crate) async fn into_body(
        self,
        workers: &Arc<Workers>,
        permit: Option<RequestPermit>,
    ) -> Result<Body, ServiceError> {
        match self.0 {
            Source::Constant(text) => Ok(whole(text)),
            Source::Facade(body) => {
                // The work is done. What the client has not read counts as memory; with the permit as well, two users
                // who read slowly would keep all others waiting.
                drop(permit);
                let first = workers.start(move || FirstChunks::new(*body))?.await;
                Ok(first.map_err(io::Error::other)??.body(workers))
            }
            Source::Frames(mut frames) => {
                let first = poll_fn(|cx| frames.poll_rest(cx)).await.transpose()?;
                match first {
                    // More is to come, and the request is worked on until then.
                    Some(first) if !frames.rest.is_end_stream() => {
                        frames.first = Some(first);
                        frames.permit = permit;
                        Ok(frames.boxed_unsync())
                    }
                    first => Ok(whole(first.and_then(|first| first.into_data().ok()).unwrap_or_default())),
                }
            }
        }
    }
}

impl From<FacadeBody> for DoorBody {
    fn from(body: FacadeBody) -> Self {
        Self(Source::Facade(Box::new(body)))
    }
}

impl fmt::Debug for DoorBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DoorBody").finish_non_exhaustive()
    }
}

/// Frames whose bytes own the memory that is reserved for them.
struct CountedFrames {
    /// The first frame, if it is there and not sent.
    first: Option<Frame<Bytes>>,
    rest: UnsyncBoxBody<Bytes, Infallible>,
    memory: AnswerMemory,
    /// The permit of the request, until the last frame.
    permit: Option<RequestPermit>,
}

impl CountedFrames {
    /// Returns the next frame after the first.
    fn poll_rest(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, ServiceError>>> {
        let Some(frame) = ready!(Pin::new(&mut self.rest).poll_frame(cx)) else {
            drop(self.permit.take());
            return Poll::Ready(None);
        };
        let Ok(frame) = frame;
        Poll::Ready(Some(match frame.into_data() {
            Ok(bytes) => self.memory.chunk(bytes.into()).map(|chunk| Frame::data(Bytes::from_owner(chunk))),
            Err(trailers) => Ok(trailers),
        }))
    }
}

impl HttpBody for CountedFrames {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(first)));
        }
        let frame = ready!(self.poll_rest(cx));
        Poll::Ready(frame.map(|frame| frame.map_err(|error| io::Error::other(error.to_string()))))
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_none() && self.rest.is_end_stream()
    }
}

/// Takes `Bearer` from a key. The service takes the key alone.
pub(crate) fn bare_key(headers: &mut HeaderMap) {
    let key = headers.get(header::AUTHORIZATION).and_then(|value| {
        let (scheme, key) = value.to_str().ok()?.split_once(' ')?;
        if scheme.eq_ignore_ascii_case("bearer") { HeaderValue::from_str(key.trim()).ok() } else { None }
    });
    if let Some(key) = key {
        headers.insert(header::AUTHORIZATION, key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_may_stand_behind_bearer() {
        for (sent, key) in [("Bearer tu_1", "tu_1"), ("bearer  tu_1", "tu_1"), ("tu_1", "tu_1"), ("Basic a", "Basic a")]
        {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, HeaderValue::from_static(sent));
            bare_key(&mut headers);
            assert_eq!(headers[header::AUTHORIZATION], key, "{sent}");
        }
    }
}
