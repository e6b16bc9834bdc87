//! Opening a file only if it is plain, because a name might lead to a device, to a pipe without a writer, or out of the
//! folder; and reading an open file at any position.

use crate::store::ReadFault;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path};
use std::sync::Arc;

/// Splits a path below a folder into the names of its folders and of its file.
fn names(path: &str) -> Result<Vec<&str>, ReadFault> {
    let name = |component| match component {
        Component::Normal(name) => name.to_str(),
        _ => None,
    };
    let names: Option<Vec<&str>> = Path::new(path).components().map(name).collect();
    names.filter(|names| !names.is_empty()).ok_or(OUTSIDE)
}

/// Opens the plain file at a path below a folder. No name of the path may be a symbolic link, but the path of
/// the folder may contain links.
///
/// # Errors
/// The file cannot be opened, or is not plain.
#[cfg(unix)]
pub fn open_plain(folder: &Path, path: &str) -> Result<File, ReadFault> {
    use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
    use rustix::io::{Errno, retry_on_intr};

    let names = names(path)?;
    let (file, folders) = names.split_last().ok_or(OUTSIDE)?;
    let io = |error: Errno| ReadFault::Io(error.into());
    let folder_flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut within = retry_on_intr(|| openat(CWD, folder, folder_flags, Mode::empty())).map_err(io)?;
    for name in folders {
        let opened = retry_on_intr(|| openat(&within, *name, folder_flags | OFlags::NOFOLLOW, Mode::empty()));
        within = opened.map_err(|error| {
            // Systems report different errors for a symbolic link where a folder is expected.
            if matches!(error, Errno::LOOP | Errno::NOTDIR | Errno::MLINK) {
                ReadFault::NotPlain("behind something that is not a folder")
            } else {
                io(error)
            }
        })?;
    }
    // With `NONBLOCK`, opening a pipe without a writer returns immediately; the pipe is rejected below.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = retry_on_intr(|| openat(&within, *file, flags, Mode::empty())).map_err(|error| match error {
        Errno::LOOP | Errno::MLINK => ReadFault::NotPlain(LINK),
        // A socket, or a device that does not exist.
        Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP => ReadFault::NotPlain(SPECIAL),
        error => io(error),
    })?;
    match FileType::from_raw_mode(fstat(&opened).map_err(io)?.st_mode) {
        FileType::RegularFile => Ok(opened.into()),
        FileType::Directory => Err(ReadFault::NotPlain(FOLDER)),
        _ => Err(ReadFault::NotPlain(SPECIAL)),
    }
}

/// Opens the plain file at a path below a folder. No name of the path may be a symbolic link, but the path of
/// the folder may contain links.
///
/// # Errors
/// The file cannot be opened, or is not plain.
#[cfg(not(unix))]
pub fn open_plain(folder: &Path, path: &str) -> Result<File, ReadFault> {
    let mut opened = folder.to_owned();
    let names = names(path)?;
    for (at, name) in (1..).zip(&names) {
        opened.push(name);
        let kind = std::fs::symlink_metadata(&opened).map_err(ReadFault::Io)?.file_type();
        if kind.is_symlink() {
            return Err(ReadFault::NotPlain(LINK));
        }
        if at == names.len() && !kind.is_file() {
            return Err(ReadFault::NotPlain(if kind.is_dir() { FOLDER } else { SPECIAL }));
        }
    }
    File::open(opened).map_err(ReadFault::Io)
}

/// What the path leads to if not below the folder.
const OUTSIDE: ReadFault = ReadFault::NotPlain("a path out of the dataset's folder");

const LINK: &str = "a symbolic link";
const FOLDER: &str = "a folder";
const SPECIAL: &str = "a pipe, socket or device";

/// Reads `length` bytes of a file from a position on; fewer if the file ends before. The file's own position is not
/// used.
///
/// Unlike a [`PositionedReader`], it does not fill the memory with zeros first, which takes as long as reading a file
/// that the system has in memory.
///
/// # Errors
/// An error of the operating system.
#[cfg(unix)]
pub fn read_at(file: &File, position: u64, length: usize) -> io::Result<Vec<u8>> {
    use rustix::buffer::spare_capacity;
    use rustix::io::{pread, retry_on_intr};

    let mut read = Vec::with_capacity(length);
    while read.len() < length {
        let next = position + read.len() as u64;
        if retry_on_intr(|| pread(file, spare_capacity(&mut read), next))? == 0 {
            break;
        }
    }
    // The memory may have more room than the length.
    read.truncate(length);
    Ok(read)
}

/// Reads `length` bytes of a file from a position on; fewer if the file ends before.
///
/// # Errors
/// An error of the operating system.
#[cfg(not(unix))]
pub fn read_at(file: &Arc<File>, position: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut read = Vec::with_capacity(length);
    PositionedReader { file: file.clone(), at: position }.take(length as u64).read_to_end(&mut read)?;
    Ok(read)
}

/// A reader with its own position: readers of one file do not disturb each other.
#[derive(Debug)]
pub struct PositionedReader {
    /// The file. Its own position is not used.
    pub file: Arc<File>,
    /// The position of the next byte.
    pub at: u64,
}

impl Read for PositionedReader {
    #[cfg(unix)]
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = std::os::unix::fs::FileExt::read_at(&*self.file, into, self.at)?;
        self.at += read as u64;
        Ok(read)
    }

    #[cfg(windows)]
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = std::os::windows::fs::FileExt::seek_read(&*self.file, into, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}
