//! The body of a response.

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use std::io;

/// A body of any kind. An error cuts the response off.
pub(crate) type Body = UnsyncBoxBody<Bytes, io::Error>;

/// Returns a body that is sent whole.
pub(crate) fn whole(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}
