//! Folders and files in object stores: a location with a scheme, such as `s3://bucket/acme`, in place of a path.
//!
//! | file | what it does |
//! |---|---|
//! | `location` | finds the store and the prefix that a URL means, and where its credentials are |
//! | `aws_profile` | reads the files in which the tools of AWS keep credentials |
//! | `listing` | lists the names of the objects in a folder |
//! | `fetch` | reads bytes of an object: in parts at the same time, repeated if an answer is cut off |
//! | `block_cache` | keeps blocks of objects in a local folder |
//! | `write` | creates, uploads, lists, publishes and removes objects |
//! | `web_client` | makes the clients of stores and web servers: their TLS, and where redirects may lead |
//! | `source`, `web` | read the inputs of an ingest from beginning to end: objects, and files of web servers |
//! | `runtime` | runs requests on threads of its own, for callers that wait or do something else meanwhile |
//! | `fault` | says what a store answered, in one line and without credentials |
//!
//! Without the feature `object-store` a URL is an error, and `absent` has stand-ins for these types.

#[cfg(feature = "object-store")]
mod aws_profile;
#[cfg(feature = "object-store")]
mod block_cache;
#[cfg(feature = "object-store")]
mod fault;
#[cfg(feature = "object-store")]
mod fetch;
#[cfg(feature = "object-store")]
mod listing;
#[cfg(feature = "object-store")]
mod location;
#[cfg(feature = "object-store")]
mod runtime;
#[cfg(feature = "object-store")]
mod source;
#[cfg(feature = "object-store")]
mod web;
#[cfg(feature = "object-store")]
mod web_client;
#[cfg(feature = "object-store")]
mod write;

#[cfg(feature = "object-store")]
pub use block_cache::{BlockCache, BlockCacheError, CachedFile, set_block_cache};
#[cfg(feature = "object-store")]
pub use location::RemoteFolder;
#[cfg(feature = "object-store")]
pub use runtime::Pending;
#[cfg(feature = "object-store")]
pub use source::{RemoteFile, RemoteFiles, RemoteReader};

use bytes::Bytes;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// An object of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteObject {
    /// The name below the folder that was listed.
    pub name: String,
    /// When it was written, by the clock of the store.
    pub modified: SystemTime,
    /// The length in bytes.
    pub size: u64,
}

/// The bytes of a block: what the block cache keeps as a whole, and what has a checksum of its own.
pub const BLOCK_BYTES: u64 = 1 << 16;

/// An object that exactly one of several writers of its name creates.
#[derive(Clone, Debug)]
pub struct Publication {
    /// The bytes of the object.
    pub bytes: Bytes,
    /// The bytes of an object that takes the name if the publication is given up, so that no late request can create
    /// the object.
    pub fence: Bytes,
    /// Says what has the name, by what was found there and by the bytes of the object; an error if what was found is
    /// damaged, so that it may be anything.
    pub holder: fn(&[u8], &[u8]) -> io::Result<Holder>,
}

/// What has the name of an object that was to be published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// The object itself, or what has replaced it since.
    Own,
    /// A fence.
    Fence,
    /// Something else.
    Other,
}

/// Why an object or a file is not known to be published.
#[derive(Debug)]
pub enum PublishError {
    /// The name is taken.
    Conflict,
    /// The file system or the store reported an error. Nothing was published, and no request that publishes is under
    /// way.
    Failed(io::Error),
    /// The file system or the store reported an error, and whether it has published, or will, is unknown.
    Indeterminate(io::Error),
}

impl From<io::Error> for PublishError {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// Why bytes of an object cannot be read.
#[derive(Debug)]
pub enum ReadFault {
    /// The error of the store.
    Io(io::Error),
    /// The object has this many bytes: not as many as promised, or more than the caller takes.
    Length(u64),
}

impl From<io::Error> for ReadFault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Returns whether a location is a URL, such as `s3://bucket/acme`, and no path of the file system. The name of a drive
/// has one letter and is no scheme.
///
/// ```
/// # use std::path::Path;
/// # use trueup_store::is_url;
/// assert!(is_url(Path::new("s3://bucket/acme")));
/// assert!(!is_url(Path::new("data/acme")));
/// ```
#[must_use]
pub fn is_url(location: &Path) -> bool {
    split_url(location).is_some()
}

/// Splits a location into its scheme and what follows `:/`; `None` if it is a path. With one slash only, it is a URL if
/// the scheme is one that is read.
fn split_url(location: &Path) -> Option<(&str, &str)> {
    let (scheme, rest) = location.to_str()?.split_once(":/")?;
    let is_scheme =
        scheme.len() > 1 && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let is_known = || ["s3", "s3a", "gs", "az", "abfs", "abfss", "http", "https"].contains(&scheme);
    (is_scheme && (rest.starts_with('/') || is_known())).then_some((scheme, rest))
}

/// Refuses a URL that has lost a slash, as a path of Python does. It would otherwise be a folder such as `s3:`.
fn check_slashes(location: &Path) -> io::Result<()> {
    let Some((scheme, _)) = split_url(location).filter(|(_, rest)| !rest.starts_with('/')) else { return Ok(()) };
    let message =
        format!("a URL begins with `{scheme}://`, with two slashes; a path object keeps one, so give it as text");
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

/// Returns the location of a file below a folder, or of an object below a URL.
#[must_use]
pub fn location_of(folder: &Path, name: &str) -> PathBuf {
    match folder.to_str() {
        Some(url) if is_url(folder) => PathBuf::from(format!("{}/{name}", url.trim_end_matches('/'))),
        _ => folder.join(name),
    }
}

/// Returns a location for an error message: without the parts of a URL that may hold credentials, which are after a `?`
/// or `#`, and before an `@` unless there is only the name of a container of Azure.
#[must_use]
pub fn without_credentials(location: &Path) -> PathBuf {
    let Some((scheme, rest)) = split_url(location) else { return location.to_owned() };
    let (slash, rest) = rest.strip_prefix('/').map_or(("", rest), |rest| ("/", rest));
    let rest = rest.split(['?', '#']).next().unwrap_or(rest);
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = match authority.rsplit_once('@') {
        Some((user, host)) if !(["az", "abfs", "abfss"].contains(&scheme) && is_container(user)) => host,
        _ => authority,
    };
    PathBuf::from(format!("{scheme}:/{slash}{host}{path}"))
}

/// Returns whether a text can be the name of a container of Azure. No key of an account can: it has 88 characters.
fn is_container(text: &str) -> bool {
    text.len() <= 63 && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
}

#[cfg(not(feature = "object-store"))]
mod absent;

#[cfg(not(feature = "object-store"))]
pub use absent::{CachedFile, Pending, RemoteFile, RemoteFiles, RemoteFolder, RemoteReader};
