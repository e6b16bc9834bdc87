//! Files that a command writes for its user.

mod file;

pub use file::OutputFile;

use crate::table::Table;
use file::{OutputTarget, Staged, folder_of};
use std::fs::{self, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use trueup_core::dataset::store::{self, StoreError};

/// Why an output cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// The command reads that very file, under whatever name.
    #[error("`{}` is the input `{}`, and no output replaces an input; name another file", path.display(), input.display())]
    IsInput {
        /// The output.
        path: PathBuf,
        /// The input.
        input: PathBuf,
    },
    /// The file lies in the folder of a dataset, or is one of its files under another name.
    #[error("`{}` belongs to the dataset `{}`, whose folder takes no other files; name a file elsewhere", path.display(), dataset.display())]
    InDataset {
        /// The output.
        path: PathBuf,
        /// The folder of the dataset.
        dataset: PathBuf,
    },
    /// There is such a file, and it may not be replaced.
    #[error("`{}` is already there; name another file, or pass `--force` to replace it", .0.display())]
    Exists(PathBuf),
    /// It is a folder.
    #[error("`{}` is a folder; name a file in it", .0.display())]
    Folder(PathBuf),
    /// It is a symbolic link to nothing.
    #[error("`{}` is a symbolic link to a file that is not there; remove it, or name that file", .0.display())]
    DanglingLink(PathBuf),
    /// It is a socket or a disk.
    #[error("`{}` is no file, and nothing that a file can be written to", .0.display())]
    Special(PathBuf),
    /// The folder of the output cannot be searched for a dataset.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file system refused.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The output.
        path: PathBuf,
        /// What the file system said.
        source: io::Error,
    },
}

/// Which files a command may write: never one that it reads, never one of a dataset, and one that is there only if that is allowed.
///
/// ```
/// use trueup_ingest::Outputs;
/// use std::io::Write;
///
/// # let dir = tempfile::tempdir()?;
/// let path = dir.path().join("answer.csv");
/// let mut output = Outputs::new(false).create(&path)?;
/// output.write_all(b"leads\n7\n")?;
/// assert!(!path.exists());
/// output.keep()?;
/// assert_eq!(std::fs::read_to_string(&path)?, "leads\n7\n");
/// assert!(Outputs::new(false).create(&path).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Outputs {
    replaces: bool,
    inputs: Vec<PathBuf>,
    datasets: Vec<PathBuf>,
}

/// Where an output goes.
enum Destination {
    Direct,
    /// A file of this name, all links followed, and what is there now.
    File(PathBuf, Option<Metadata>),
}

impl Outputs {
    /// Outputs of a command that reads no file; `replaces` says whether files that are there may be replaced.
    #[must_use]
    pub const fn new(replaces: bool) -> Self {
        Self { replaces, inputs: Vec::new(), datasets: Vec::new() }
    }

    /// Adds a file that the command reads.
    #[must_use]
    pub fn input(mut self, path: impl AsRef<Path>) -> Self {
        self.inputs.push(path.as_ref().to_owned());
        self
    }

    /// Adds the folder of a dataset that the command reads or makes.
    #[must_use]
    pub fn dataset(mut self, folder: impl AsRef<Path>) -> Self {
        self.datasets.push(folder.as_ref().to_owned());
        self
    }

    /// Whether the output may be written.
    ///
    /// # Errors
    /// It is an input or a file of a dataset, it is there and may not be replaced, or it is nothing that can be written.
    pub fn check(&self, path: impl AsRef<Path>) -> Result<(), OutputError> {
        self.goal(path.as_ref()).map(drop)
    }

    /// Begins the output. A file of that name stays as it is until [`OutputFile::keep`].
    ///
    /// # Errors
    /// Those of [`Outputs::check`], or the file system refuses.
    pub fn create(&self, path: impl AsRef<Path>) -> Result<OutputFile, OutputError> {
        let path = path.as_ref();
        let target = match self.goal(path)? {
            // What is appended truncates nothing, whatever a descriptor leads to.
            Destination::Direct => OpenOptions::new().append(true).open(path).map(OutputTarget::Direct),
            Destination::File(place, replaced) => Staged::begin(folder_of(&place), replaced.as_ref())
                .map(|staged| OutputTarget::Staged { staged, place, replaces: self.replaces }),
        };
        Ok(OutputFile { path: path.to_owned(), target: target.of(path, "create")? })
    }

    fn goal(&self, path: &Path) -> Result<Destination, OutputError> {
        let found = match fs::metadata(path) {
            Ok(found) => Some(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error).of(path, "create"),
        };
        let Some(found) = found else {
            if fs::symlink_metadata(path).is_ok() {
                return Err(OutputError::DanglingLink(path.to_owned()));
            }
            let place = real(path).of(path, "create")?;
            self.refuse_dataset(path, &place)?;
            return Ok(Destination::File(place, None));
        };
        let is_direct = is_stream(&found) || is_descriptor(path);
        let place = match fs::canonicalize(path) {
            Ok(place) => place,
            // A descriptor may lead to what has no name.
            Err(_) if is_direct => return Ok(Destination::Direct),
            Err(error) => return Err(error).of(path, "create"),
        };
        if found.is_dir() {
            return Err(OutputError::Folder(path.to_owned()));
        }
        self.refuse_input(path, &place, &found)?;
        self.refuse_dataset(path, &place)?;
        match (is_direct, found.is_file()) {
            (true, _) => Ok(Destination::Direct),
            (false, false) => Err(OutputError::Special(path.to_owned())),
            (false, true) if self.replaces => Ok(Destination::File(place, Some(found))),
            (false, true) => Err(OutputError::Exists(path.to_owned())),
        }
    }

    /// Refuses an input, and a hard link to a file of a dataset that is read.
    fn refuse_input(&self, path: &Path, place: &Path, found: &Metadata) -> Result<(), OutputError> {
        let is_same = |other: &Path| {
            fs::canonicalize(other).is_ok_and(|other| other == *place)
                || fs::metadata(other).is_ok_and(|other| is_same_file(&other, found))
        };
        // A stream may be input and output at once, as a terminal is.
        if let Some(input) = self.inputs.iter().find(|input| !is_stream(found) && is_same(input)) {
            return Err(OutputError::IsInput { path: path.to_owned(), input: input.clone() });
        }
        if !found.is_file() || !may_have_links(found) {
            return Ok(());
        }
        for dataset in &self.datasets {
            if files(dataset).of(path, "tell the files of the dataset from")?.iter().any(|file| is_same(file)) {
                return Err(OutputError::InDataset { path: path.to_owned(), dataset: dataset.clone() });
            }
        }
        Ok(())
    }

    /// Refuses a place in the folder of any dataset, whether the command names it or not.
    fn refuse_dataset(&self, path: &Path, place: &Path) -> Result<(), OutputError> {
        let refused =
            |dataset: &Path| Err(OutputError::InDataset { path: path.to_owned(), dataset: dataset.to_owned() });
        for dataset in &self.datasets {
            if place.starts_with(real(dataset).of(dataset, "open")?) {
                return refused(dataset);
            }
        }
        let folder = folder_of(place);
        let is_of_table = folder.file_name().is_some_and(|name| Table::ALL.iter().any(|table| name == table.name()));
        let above = if is_of_table { folder.parent() } else { None };
        for dataset in [Some(folder), above].into_iter().flatten().filter(|folder| folder.exists()) {
            if !store::versions(dataset)?.is_empty() {
                return refused(dataset);
            }
        }
        Ok(())
    }
}

/// Says which output a refusal of the file system is about.
trait OutputContext<T> {
    fn of(self, path: &Path, action: &'static str) -> Result<T, OutputError>;
}

impl<T> OutputContext<T> for io::Result<T> {
    fn of(self, path: &Path, action: &'static str) -> Result<T, OutputError> {
        self.map_err(|source| OutputError::Io { action, path: path.to_owned(), source })
    }
}

/// The path with all links followed, also if it, or folders at its end, are not there yet.
fn real(path: &Path) -> io::Result<PathBuf> {
    let whole = std::path::absolute(path)?;
    for folder in whole.ancestors() {
        match fs::canonicalize(folder) {
            // Joining an empty rest would end the path in a slash.
            Ok(real) if folder == whole => return Ok(real),
            Ok(real) => return Ok(whole.strip_prefix(folder).map_or(real.clone(), |rest| real.join(rest))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(whole)
}

/// The files in a dataset's folder and in the folders there; none if it is not there.
fn files(dataset: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![dataset.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else {
                found.push(entry.path());
            }
        }
    }
    Ok(found)
}

/// Whether it is a pipe or a device that takes bytes one after the other.
#[cfg(unix)]
fn is_stream(found: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    found.file_type().is_fifo() || found.file_type().is_char_device()
}

#[cfg(not(unix))]
fn is_stream(_: &Metadata) -> bool {
    false
}

/// Whether the path names a descriptor of this process, as `/dev/stdout` does; what it leads to is no file to be replaced.
fn is_descriptor(path: &Path) -> bool {
    /// Links that are followed at most.
    const LINKS: usize = 8;
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        let Some(folder) = path.parent().and_then(|folder| fs::canonicalize(folder).ok()) else { return false };
        if folder == Path::new("/dev/fd") || folder.starts_with("/proc") && folder.ends_with("fd") {
            return true;
        }
        match fs::read_link(&path) {
            Ok(target) => path = folder.join(target),
            Err(_) => return false,
        }
    }
    false
}

#[cfg(unix)]
fn is_same_file(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Where files have no numbers that can be read, their paths alone have to tell.
#[cfg(not(unix))]
fn is_same_file(_: &Metadata, _: &Metadata) -> bool {
    false
}

/// Whether the file has another name.
#[cfg(unix)]
fn may_have_links(found: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    found.nlink() > 1
}

#[cfg(not(unix))]
fn may_have_links(_: &Metadata) -> bool {
    false
}
