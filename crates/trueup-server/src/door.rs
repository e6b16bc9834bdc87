//! A path of its own that something else than the facade answers, to users who sign in with a key.

use crate::body::Body;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use std::fmt;
use std::pin::Pin;
use trueup::service::SignedIn;

/// The answer of a [`Door`], once it is there.
pub type DoorAnswer<'a> = Pin<Box<dyn Future<Output = http::Response<Body>> + Send + 'a>>;

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
    fn without_key(&self, request: &Parts) -> Option<http::Response<Body>> {
        let _ = request;
        None
    }

    /// Answers a request of a user who has signed in. The future runs in the asynchronous runtime, so it must not
    /// block. It is dropped if the client disconnects, and so is the body of the answer.
    fn answer(&self, caller: SignedIn, request: Request<Full<Bytes>>) -> DoorAnswer<'_>;
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

/// Returns a body that holds something until it is sent, or given up.
pub(crate) fn holding(body: Body, held: impl Send + 'static) -> Body {
    let hold = move |error| {
        let _held = &held;
        error
    };
    body.map_err(hold).boxed_unsync()
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
