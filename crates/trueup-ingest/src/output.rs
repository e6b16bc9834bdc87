//! Files that a command writes for its user: which files it may write, how a file becomes visible as a whole, and why
//! it cannot be written (`file`).

mod file;

pub use file::OutputFile;

use crate::error::OutputError;
use crate::version::{FOLDERS, RECORD_PREFIX};
use file::{OutputContext, OutputTarget, TemporaryFile, folder_of};
use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use trueup_core::dataset::{is_url, manifest_file, without_credentials};

/// The files that a command may write: no file that it reads, no file of a dataset, and an existing file only if it may
/// be replaced.
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

/// An output whose path was followed through all links.
enum ResolvedOutput {
    /// A stream or a descriptor, which is written to directly.
    Direct,
    /// The path of a file, and the metadata of the file that exists there now.
    File(PathBuf, Option<Metadata>),
}

impl Outputs {
    /// Returns the outputs of a command that reads no file yet. `replaces` says whether existing files may be replaced.
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

    /// Adds the folder of a dataset that the command reads or writes.
    #[must_use]
    pub fn dataset(mut self, folder: impl AsRef<Path>) -> Self {
        self.datasets.push(folder.as_ref().to_owned());
        self
    }

    /// Checks that an output may be written.
    ///
    /// # Errors
    /// The output is a URL, is an input, lies in the folder of a dataset, is a file of a dataset under another name,
    /// exists and may not be replaced, is a symbolic link to nothing, or is neither a file nor a stream; or the file
    /// system refuses to say.
    pub fn check(&self, path: impl AsRef<Path>) -> Result<(), OutputError> {
        self.resolve(path.as_ref()).map(drop)
    }

    /// Begins an output. An existing file of that name does not change until [`OutputFile::keep`]; a stream or a
    /// descriptor of the process is written to directly.
    ///
    /// # Errors
    /// As [`Outputs::check`]; also if the folder of the output does not exist, or the file system refuses.
    pub fn create(&self, path: impl AsRef<Path>) -> Result<OutputFile, OutputError> {
        let path = path.as_ref();
        let target = match self.resolve(path)? {
            ResolvedOutput::Direct => open_direct(path).map(OutputTarget::Direct),
            ResolvedOutput::File(place, _) if !folder_of(&place).exists() => {
                let folder = folder_of(path).to_owned();
                return Err(OutputError::NoFolder { path: path.to_owned(), folder });
            }
            ResolvedOutput::File(place, replaced) => TemporaryFile::begin(folder_of(&place), replaced.as_ref())
                .map(|file| OutputTarget::Temporary { file, place, replaces: self.replaces }),
        };
        Ok(OutputFile { path: path.to_owned(), target: target.of(path, "create")? })
    }

    /// Returns whether what is written to the output cannot be taken back, and somebody may read it.
    pub(crate) fn is_final(&self, path: &Path) -> bool {
        matches!(self.resolve(path), Ok(ResolvedOutput::Direct))
            && !fs::canonicalize(path).is_ok_and(|place| place == Path::new("/dev/null"))
    }

    fn resolve(&self, path: &Path) -> Result<ResolvedOutput, OutputError> {
        if is_url(path) {
            return Err(OutputError::Url(without_credentials(path)));
        }
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
            return Ok(ResolvedOutput::File(place, None));
        };
        let is_direct = is_stream(&found) || is_descriptor(path);
        let place = match fs::canonicalize(path) {
            Ok(place) => place,
            // A descriptor may lead to a file without a name.
            Err(_) if is_direct => return Ok(ResolvedOutput::Direct),
            Err(error) => return Err(error).of(path, "create"),
        };
        if found.is_dir() {
            return Err(OutputError::Folder(path.to_owned()));
        }
        self.refuse_input(path, &place, &found)?;
        self.refuse_dataset(path, &place)?;
        match (is_direct, found.is_file()) {
            (true, _) => Ok(ResolvedOutput::Direct),
            (false, false) => Err(OutputError::Special(path.to_owned())),
            (false, true) if self.replaces => Ok(ResolvedOutput::File(place, Some(found))),
            (false, true) => Err(OutputError::Exists(path.to_owned())),
        }
    }

    /// Refuses an input, and a hard link to a file of a dataset that the command names.
    fn refuse_input(&self, path: &Path, place: &Path, found: &Metadata) -> Result<(), OutputError> {
        let is_same = |other: &Path| {
            fs::canonicalize(other).is_ok_and(|other| other == *place)
                || fs::metadata(other).is_ok_and(|other| is_same_file(&other, found))
        };
        // A stream, such as a terminal, may be both input and output.
        if let Some(input) = self.inputs.iter().find(|input| !is_stream(found) && is_same(input)) {
            return Err(OutputError::IsInput { path: path.to_owned(), input: input.clone() });
        }
        if !found.is_file() || !may_have_links(found) {
            return Ok(());
        }
        for dataset in &self.datasets {
            if files(dataset).of(path, "compare the files of the dataset with")?.iter().any(|file| is_same(file)) {
                return Err(OutputError::InDataset { path: path.to_owned(), dataset: dataset.clone() });
            }
        }
        Ok(())
    }

    /// Refuses a file in the folder of any dataset, even of one that the command does not name.
    fn refuse_dataset(&self, path: &Path, place: &Path) -> Result<(), OutputError> {
        let refused =
            |dataset: &Path| Err(OutputError::InDataset { path: path.to_owned(), dataset: dataset.to_owned() });
        for dataset in &self.datasets {
            if place.starts_with(real(dataset).of(dataset, "open")?) {
                return refused(dataset);
            }
        }
        let folder = folder_of(place);
        let name = folder.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let is_of_dataset = FOLDERS.contains(&name) || name.starts_with(RECORD_PREFIX);
        let above = if is_of_dataset { folder.parent() } else { None };
        for dataset in [Some(folder), above].into_iter().flatten().filter(|folder| folder.exists()) {
            if !manifest_file::versions(dataset)?.is_empty() {
                return refused(dataset);
            }
        }
        Ok(())
    }
}

/// Opens a stream or a descriptor for writing.
fn open_direct(path: &Path) -> io::Result<File> {
    // Opening the file of a stream of the process once more would begin at a position of its own, so that what the
    // process writes to one would replace what it writes to the other.
    #[cfg(unix)]
    {
        use std::os::fd::AsFd as _;
        let found = fs::metadata(path)?;
        let streams = [io::stdout().as_fd().try_clone_to_owned(), io::stderr().as_fd().try_clone_to_owned()];
        for stream in streams.into_iter().flatten().map(File::from) {
            if is_same_file(&stream.metadata()?, &found) {
                return Ok(stream);
            }
        }
    }
    // Appends, because a descriptor may lead to a file that must not be truncated.
    OpenOptions::new().append(true).open(path)
}

/// Returns the path with all links followed, even if the file or its folders do not exist yet.
fn real(path: &Path) -> io::Result<PathBuf> {
    let whole = std::path::absolute(path)?;
    for folder in whole.ancestors() {
        match fs::canonicalize(folder) {
            // Joining an empty rest would add a slash to the path.
            Ok(real) if folder == whole => return Ok(real),
            Ok(real) => return Ok(whole.strip_prefix(folder).map_or(real.clone(), |rest| real.join(rest))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(whole)
}

/// Returns all files below a dataset's folder; none if the folder does not exist.
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

/// Returns whether the file is a pipe or a character device.
#[cfg(unix)]
fn is_stream(found: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    found.file_type().is_fifo() || found.file_type().is_char_device()
}

#[cfg(not(unix))]
fn is_stream(_: &Metadata) -> bool {
    false
}

/// Returns whether the path names a descriptor of this process, as `/dev/stdout` does. Its file is never replaced.
fn is_descriptor(path: &Path) -> bool {
    /// The most links that are followed.
    const MAX_LINKS: usize = 8;
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
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

/// Returns false, because other systems give files no numbers. There only the paths of files are compared.
#[cfg(not(unix))]
fn is_same_file(_: &Metadata, _: &Metadata) -> bool {
    false
}

/// Returns whether the file may have another name.
#[cfg(unix)]
fn may_have_links(found: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    found.nlink() > 1
}

#[cfg(not(unix))]
fn may_have_links(_: &Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_is_in_no_folder_of_a_dataset() {
        let dir = tempfile::tempdir().unwrap();
        let dataset = dir.path().canonicalize().unwrap();
        fs::write(dataset.join(manifest_file::file_name(1)), "").unwrap();
        let record = format!("{RECORD_PREFIX}0");
        for folder in FOLDERS.into_iter().chain([record.as_str(), ""]) {
            let path = dataset.join(folder).join("x");
            fs::create_dir_all(folder_of(&path)).unwrap();
            fs::write(&path, "of the dataset").unwrap();
            let refused = Outputs::new(true).create(&path);
            assert!(
                matches!(refused, Err(OutputError::InDataset { dataset: found, .. }) if found == dataset),
                "{folder}"
            );
        }
    }
}
