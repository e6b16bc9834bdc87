//! What a store answered, in one line. The body of an answer may hold signatures and the name of a key, so that only
//! the code and the message in it are shown.

use object_store::Error;
use std::error::Error as StdError;
use std::io;

/// What is wrong with an object that has changed since it was found.
pub(super) const REPLACED: &str = "the object was replaced while it was read";

/// The most characters of an answer that are shown.
const SHOWN: usize = 500;

/// Converts the error of a read from a store. The kind says whether the object is missing.
pub(super) fn io_error(error: &Error) -> io::Error {
    explain(error, "the store could not be read")
}

/// Converts the error of a write to a store.
pub(super) fn write_error(error: &Error) -> io::Error {
    explain(error, "the store could not be written")
}

fn explain(error: &Error, otherwise: &'static str) -> io::Error {
    // If a list is denied, the client says so only in the text of its error.
    let is_denied = matches!(status(error), Some(401 | 403));
    let (kind, advice) = match error {
        Error::NotFound { .. } => (io::ErrorKind::NotFound, "not found"),
        _ if is_denied => {
            (io::ErrorKind::PermissionDenied, "access is denied; check the credentials in the environment")
        }
        Error::NotSupported { .. } => (io::ErrorKind::Unsupported, "the server cannot answer the request"),
        Error::Precondition { .. } => (io::ErrorKind::StaleNetworkFileHandle, REPLACED),
        _ => (io::ErrorKind::ConnectionAborted, otherwise),
    };
    io::Error::new(kind, format!("{advice}: {}", describe(error)))
}

/// Returns the status of the answer that an error is about, which the client says only in words.
pub(super) fn status(error: &Error) -> Option<u16> {
    let text = describe(error);
    let (_, after) = text.split_once("status code: ")?;
    after.get(..3)?.parse().ok()
}

/// Returns whether the answer to a request for a list was cut off or malformed, which the client says only in words. It
/// repeats requests that fail, but not these.
pub(super) fn is_broken_list(error: &Error) -> bool {
    let text = describe(error);
    ["Error getting list response body", "Got invalid list response"].iter().any(|fault| text.contains(fault))
}

/// Returns the text of an error and of its innermost cause, without the body of the answer, except for its code and
/// message.
pub(super) fn describe(error: &(dyn StdError + 'static)) -> String {
    let mut text = without_body(&error.to_string());
    let causes = std::iter::successors(error.source(), |cause: &&(dyn StdError + 'static)| StdError::source(*cause));
    if let Some(cause) = causes.last().map(|cause| without_body(&cause.to_string()))
        && !text.contains(&cause)
    {
        text = format!("{text}: {cause}");
    }
    text.chars().filter(|char| !char.is_control()).take(SHOWN).collect()
}

/// Returns a text in one line, and of an XML document in it only the code and the message.
fn without_body(text: &str) -> String {
    let (before, body) = text.split_at(text.find('<').unwrap_or(text.len()));
    let element = |name: &str| {
        let (_, rest) = body.split_once(&format!("<{name}>"))?;
        rest.split_once(&format!("</{name}>")).map(|(content, _)| content)
    };
    let parts = [Some(before.trim_end().trim_end_matches(':')), element("Code"), element("Message")];
    let text = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
