//! The paths that a user gave: folders and patterns become the files that they stand for, and streams are opened.

mod urls;

pub(crate) use urls::expand_url;

use crate::error::{ErrorContext, ErrorKind, OPEN};
use crate::{FileFormat, IngestError, Input};
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The path that means the standard input.
pub(crate) const STANDARD_INPUT: &str = "-";

/// Returns the files that a path stands for, sorted by path: the files below a folder, the files that match a pattern,
/// or the path itself. A path with the characters of a pattern is no pattern if a file has that very name. `takes_any`
/// says whether a folder's files are taken whatever their names.
///
/// # Errors
/// The path is a folder without files, with a file that is not taken or a link to a folder, or that cannot be listed;
/// or a pattern that is broken or matches nothing.
pub(crate) fn expand(path: &Path, takes_any: bool) -> Result<Vec<PathBuf>, IngestError> {
    if path.is_dir() {
        return files_below(path, takes_any);
    }
    let Some(pattern) =
        path.to_str().filter(|text| text.contains(['*', '?', '[']) && fs::symlink_metadata(path).is_err())
    else {
        return Ok(vec![path.to_owned()]);
    };
    let found = glob::glob_with(pattern, match_options())
        .map_err(|error| ErrorKind::Pattern { pattern: path.to_owned(), reason: error.msg })?;
    let mut files = Vec::new();
    for entry in found {
        let entry = entry.map_err(|error| {
            let path = error.path().to_owned();
            IngestError::from(ErrorKind::Io { action: "list", path, source: error.into() })
        })?;
        if entry.is_dir() { files.extend(files_below(&entry, takes_any)?) } else { files.push(entry) }
    }
    // A pattern such as `**/*` matches both a folder and the files below it.
    files.sort();
    files.dedup();
    if files.is_empty() { Err(ErrorKind::NoMatch(path.to_owned()).into()) } else { Ok(files) }
}

/// Returns how names match: `*` does not cross folders, and hidden files match no `*`, as in a shell.
fn match_options() -> glob::MatchOptions {
    glob::MatchOptions { require_literal_separator: true, require_literal_leading_dot: true, ..Default::default() }
}

/// Returns whether a name below a folder is left out: if it is hidden, or if other programs mark it with `_`.
fn is_left_out(name: &OsStr) -> bool {
    name.as_encoded_bytes().first().is_some_and(|first| matches!(first, b'.' | b'_'))
}

/// Returns the files below a folder, without hidden ones and ones that other programs mark with `_`.
fn files_below(folder: &Path, takes_any: bool) -> Result<Vec<PathBuf>, IngestError> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).at("list", &next)? {
            let entry = entry.at("list", &next)?;
            let path = entry.path();
            if is_left_out(&entry.file_name()) {
                continue;
            }
            // A link to a folder is not followed, because a link to a folder above would have no end.
            if entry.file_type().at("list", &path)?.is_dir() {
                folders.push(path);
            } else if path.is_dir() {
                let source = "this is a link to a folder, which is not followed; give the folder that it leads to";
                return Err(ErrorKind::Io { action: OPEN, path, source: io::Error::other(source) }.into());
            } else if takes_any || FileFormat::from_name(&path).is_some() {
                files.push(path);
            } else {
                return Err(ErrorKind::UnknownInFolder { folder: folder.to_owned(), file: path }.into());
            }
        }
    }
    files.sort();
    if files.is_empty() { Err(ErrorKind::EmptyFolder(folder.to_owned()).into()) } else { Ok(files) }
}

/// Returns whether an input can be read only once: the standard input, a pipe or a device.
pub(crate) fn is_stream(input: &Input) -> bool {
    let is_special = |found: Metadata| !found.is_file() && !found.is_dir();
    input.path == Path::new(STANDARD_INPUT) || fs::metadata(&input.path).is_ok_and(is_special)
}

/// The bytes of a path that can be read only once. It is opened when it is first read, because opening a pipe waits for
/// the program that writes to it.
pub(crate) struct StreamReader {
    path: PathBuf,
    reader: Option<Box<dyn Read + Send>>,
}

impl StreamReader {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, reader: None }
    }
}

impl Read for StreamReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let reader = match &mut self.reader {
            Some(reader) => reader,
            None if self.path == Path::new(STANDARD_INPUT) => self.reader.insert(Box::new(io::stdin())),
            None => self.reader.insert(Box::new(fs::File::open(&self.path)?)),
        };
        reader.read(buffer)
    }
}
