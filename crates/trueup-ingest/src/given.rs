//! The inputs that a user gave: folders and patterns become the files that they stand for, and streams become files
//! that can be read several times.

use crate::error::{ErrorContext, ErrorKind, OPEN};
use crate::monitor::Monitor;
use crate::source::{is_known_name, unpacked_name};
use crate::table::Table;
use crate::version::Scratch;
use crate::{IngestError, Input};
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

/// The path that means the standard input.
pub(crate) const STANDARD_INPUT: &str = "-";

/// Returns the files that a path stands for, sorted by name: the files below a folder, the files that match a pattern,
/// or the path itself. `takes_any` says whether a folder's files are taken whatever their names.
///
/// # Errors
/// The path is a URL, a folder without files, or a pattern that matches nothing.
pub(crate) fn expand(path: &Path, takes_any: bool) -> Result<Vec<PathBuf>, IngestError> {
    if is_url(path) {
        return Err(ErrorKind::Url(path.to_owned()).into());
    }
    if path.is_dir() {
        return files_below(path, takes_any);
    }
    let Some(pattern) =
        path.to_str().filter(|text| text.contains(['*', '?', '[']) && fs::symlink_metadata(path).is_err())
    else {
        return Ok(vec![path.to_owned()]);
    };
    // `*` does not cross folders, and hidden files match no `*`, as in a shell.
    let options =
        glob::MatchOptions { require_literal_separator: true, require_literal_leading_dot: true, ..Default::default() };
    let found = glob::glob_with(pattern, options)
        .map_err(|error| ErrorKind::Pattern { pattern: path.to_owned(), reason: error.msg })?;
    let mut files = Vec::new();
    for entry in found {
        let entry = entry.map_err(|error| {
            let path = error.path().to_owned();
            IngestError::from(ErrorKind::Io { action: "list", path, source: error.into() })
        })?;
        if entry.is_dir() { files.extend(files_below(&entry, takes_any)?) } else { files.push(entry) }
    }
    if files.is_empty() { Err(ErrorKind::NoMatch(path.to_owned()).into()) } else { Ok(files) }
}

/// Returns whether a path names something on another machine.
pub(crate) fn is_url(path: &Path) -> bool {
    let is_scheme = |scheme: &str| scheme.len() > 1 && scheme.chars().all(|char| char.is_ascii_alphanumeric());
    path.to_str().and_then(|text| text.split_once("://")).is_some_and(|(scheme, _)| is_scheme(scheme))
}

/// Returns the files below a folder, without hidden ones and those that other programs mark with `_`.
fn files_below(folder: &Path, takes_any: bool) -> Result<Vec<PathBuf>, IngestError> {
    let is_left_out = |name: &OsStr| name.as_encoded_bytes().first().is_some_and(|first| matches!(first, b'.' | b'_'));
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).at("list", &next)? {
            let entry = entry.at("list", &next)?;
            let path = entry.path();
            if is_left_out(&entry.file_name()) {
                continue;
            }
            // A link to a folder above would have no end.
            if entry.file_type().at("list", &path)?.is_dir() {
                folders.push(path);
            } else if takes_any || is_known_name(&unpacked_name(&path)) {
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

/// Copies each input that can be read only once to a file in `scratch`, because an ingest reads its inputs several
/// times.
pub(crate) fn keep_streams(
    given: &mut [(Table, Input)],
    scratch: &Scratch,
    monitor: &Monitor,
) -> Result<(), IngestError> {
    for (at, (_, input)) in given.iter_mut().enumerate().filter(|(_, (_, input))| is_stream(input)) {
        let copy = scratch.path().join(format!("input-{at}"));
        let mut file = scratch.files().create(&copy).at("create", &copy)?;
        copy_stream(&input.path, &mut file, monitor).and_then(|copied| copied.at("write", &copy))?;
        file.flush().at("write", &copy)?;
        input.path = copy;
    }
    Ok(())
}

/// Bytes that are read from a stream at a time.
const STREAM_BYTES: usize = 1 << 20;

/// How often an ingest that waits for a stream looks whether it is interrupted.
const PATIENCE: Duration = Duration::from_millis(50);

/// Copies a stream. A thread of its own reads it, because a read may wait for ever.
fn copy_stream(path: &Path, into: &mut impl Write, monitor: &Monitor) -> Result<io::Result<()>, IngestError> {
    let (sender, parts) = sync_channel::<io::Result<Vec<u8>>>(2);
    let source = path.to_owned();
    let read = move || {
        let opened: io::Result<Box<dyn Read>> = if source == Path::new(STANDARD_INPUT) {
            Ok(Box::new(io::stdin()))
        } else {
            fs::File::open(&source).map(|file| Box::new(file) as Box<dyn Read>)
        };
        let mut reader = match opened {
            Ok(reader) => reader,
            Err(error) => return drop(sender.send(Err(error))),
        };
        loop {
            let mut part = Vec::new();
            let read = reader.by_ref().take(STREAM_BYTES as u64).read_to_end(&mut part);
            let is_last = !matches!(read, Ok(length) if length > 0);
            if is_last && read.is_ok() || sender.send(read.map(|_| part)).is_err() || is_last {
                return;
            }
        }
    };
    thread::Builder::new().name("stream".to_owned()).spawn(read).doing("start a thread")?;
    loop {
        monitor.check()?;
        match parts.recv_timeout(PATIENCE) {
            Ok(part) => {
                let part = part.at(OPEN, path)?;
                if let Err(error) = into.write_all(&part) {
                    return Ok(Err(error));
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(Ok(())),
        }
    }
}
