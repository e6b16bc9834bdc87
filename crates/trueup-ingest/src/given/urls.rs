//! The URLs that a user gave: folders and patterns of a store become the objects that they stand for, by listing.

use super::{is_left_out, match_options};
use crate::error::{ErrorContext, ErrorKind, OPEN};
use crate::{FileFormat, IngestError};
use glob::Pattern;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use trueup_core::dataset::{RemoteFile, RemoteFiles, without_credentials};

/// Returns the files that a URL stands for, sorted by name, as [`expand`](super::expand) does for a path.
///
/// # Errors
/// The URL is of no store, the store refuses, there is no such object, a folder has no files or a file that is not
/// taken, or a pattern is broken or matches nothing. A web server has no folders and patterns.
pub(crate) fn expand_url(url: &Path, takes_any: bool) -> Result<Vec<RemoteFile>, IngestError> {
    let shown = without_credentials(url);
    if let Some((folder, pattern)) = pattern(url) {
        let pattern =
            Pattern::new(&pattern).map_err(|error| ErrorKind::Pattern { pattern: shown.clone(), reason: error.msg })?;
        let files = RemoteFile::below(&folder).at(OPEN, &shown)?;
        let files = matching(files, &folder, &pattern, takes_any)?;
        return if files.is_empty() { Err(ErrorKind::NoMatch(shown).into()) } else { Ok(files) };
    }
    match RemoteFile::find(url).at(OPEN, &shown)? {
        RemoteFiles::One(file) => Ok(vec![file]),
        RemoteFiles::Below(files) if files.is_empty() && !ends_with_slash(url) => {
            let missing = io::Error::new(io::ErrorKind::NotFound, "there is no such object, and none below it");
            Err(missing).at(OPEN, &shown)
        }
        RemoteFiles::Below(files) => {
            let files = of_folder(files, &shown, takes_any)?;
            if files.is_empty() { Err(ErrorKind::EmptyFolder(shown).into()) } else { Ok(files) }
        }
    }
}

fn ends_with_slash(url: &Path) -> bool {
    url.to_str().is_some_and(|url| url.ends_with('/'))
}

/// Splits a URL with a pattern into the folder before the pattern, and the whole URL as a pattern; `None` if the URL
/// has no pattern. In the URL of a web server, a `?` begins the query, and brackets may enclose the host.
fn pattern(url: &Path) -> Option<(PathBuf, String)> {
    let text = url.to_str()?;
    let is_web = text.starts_with("http://") || text.starts_with("https://");
    let at = if is_web { text.split('?').next()?.find('*')? } else { text.find(['*', '?', '['])? };
    let folder = text.get(..at)?.rsplit_once('/')?.0;
    Some((folder.into(), text.trim_end_matches('/').to_owned()))
}

/// Returns the files that match a pattern, and those below folders that match.
fn matching(
    files: Vec<RemoteFile>,
    folder: &Path,
    pattern: &Pattern,
    takes_any: bool,
) -> Result<Vec<RemoteFile>, IngestError> {
    let mut found = Vec::new();
    for file in files {
        let matches = |path: &Path| path.to_str().is_some_and(|path| pattern.matches_with(path, match_options()));
        if matches(file.shown()) {
            found.push(file);
            continue;
        }
        let above = file.shown().ancestors().skip(1).take_while(|above| above.starts_with(folder) && *above != folder);
        if let Some(above) = above.into_iter().find(|above| matches(above)).map(Path::to_owned) {
            found.extend(of_folder(vec![file], &above, takes_any)?);
        }
    }
    Ok(found)
}

/// Returns the files of a folder, without hidden ones and ones that other programs mark with `_`.
fn of_folder(files: Vec<RemoteFile>, folder: &Path, takes_any: bool) -> Result<Vec<RemoteFile>, IngestError> {
    let mut found = Vec::new();
    for file in files {
        let below = file.shown().strip_prefix(folder).unwrap_or(file.shown());
        if below.iter().any(|name: &OsStr| is_left_out(name)) {
            continue;
        }
        if !takes_any && FileFormat::from_name(file.shown()).is_none() {
            return Err(ErrorKind::UnknownInFolder { folder: folder.to_owned(), file: file.shown().to_owned() }.into());
        }
        found.push(file);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::pattern;
    use std::path::Path;

    #[test]
    fn a_pattern_begins_below_a_folder() {
        let split = |url: &str| pattern(Path::new(url)).map(|(folder, _)| folder.to_str().unwrap_or("").to_owned());
        assert_eq!(split("s3://bucket/a/2025-*/e.csv").as_deref(), Some("s3://bucket/a"));
        assert_eq!(split("s3://bucket/e?.csv").as_deref(), Some("s3://bucket"));
        assert_eq!(split("s3://bucket/e.csv"), None);
        assert_eq!(split("https://[::1]/e.csv?token=a*b"), None);
        assert_eq!(split("https://host/a/*.csv?token=a").as_deref(), Some("https://host/a"));
    }
}
