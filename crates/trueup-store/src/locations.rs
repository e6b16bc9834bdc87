//! Locations: paths of the file system, and URLs of folders and objects in stores.

use std::io;
use std::path::{Path, PathBuf};

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
pub(crate) fn check_slashes(location: &Path) -> io::Result<()> {
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
