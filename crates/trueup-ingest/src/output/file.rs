//! A file that becomes visible only once it is complete, and why it cannot be written.

use crate::error::OutputError;
use std::fs::{self, File, Metadata};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use tempfile::{NamedTempFile, TempPath};
use trueup_core::files::Files;

/// The beginning of the temporary name of a file.
const TEMPORARY_PREFIX: &str = ".trueup-";

/// A file that is being written. [`OutputFile::keep`] makes it durable under its name; if it is dropped instead,
/// nothing is left of it.
///
/// A pipe, a device such as `/dev/null`, and a descriptor of the process such as `/dev/stdout` are written to directly.
#[derive(Debug)]
pub struct OutputFile {
    pub(super) path: PathBuf,
    pub(super) target: OutputTarget,
}

#[derive(Debug)]
pub(super) enum OutputTarget {
    Direct(File),
    Temporary { file: TemporaryFile, place: PathBuf, replaces: bool },
}

/// A file that does not have its name yet.
#[derive(Debug)]
pub(super) enum TemporaryFile {
    /// It has no name at all, so nothing is left of it even if the program is killed.
    #[cfg(target_os = "linux")]
    Nameless(File),
    Named(NamedTempFile),
}

impl OutputFile {
    /// Ends the file and gives it its name. Does nothing if the output is written to directly.
    ///
    /// # Errors
    /// The file system refuses, or a file of that name has appeared meanwhile and may not be replaced. If files
    /// may not be replaced, no new file is left. If they may, the new file may be there under its name; it is then
    /// complete.
    pub fn keep(self) -> Result<(), OutputError> {
        let Self { path, target: OutputTarget::Temporary { file, place, replaces } } = self else { return Ok(()) };
        file.file().sync_all().of(&path, "sync")?;
        let named = file.name(folder_of(&place)).of(&path, "create")?;
        if replaces {
            named.persist(&place).map_err(|error| error.error).of(&path, "create")?;
        } else if let Err(refused) = named.persist_noclobber(&place) {
            // Some file systems cannot refuse to replace, so the check is separate there.
            if refused.error.kind() == io::ErrorKind::AlreadyExists || fs::symlink_metadata(&place).is_ok() {
                return Err(OutputError::Exists(path));
            }
            refused.path.persist(&place).map_err(|error| error.error).of(&path, "create")?;
        }
        let folder = folder_of(&place);
        Files::default().sync_folder(folder).inspect_err(|_| undo(&place, replaces)).of(&path, "sync")
    }

    /// Returns whether the output is a terminal.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.file().is_terminal()
    }

    /// Returns the path of the kept file; `None` if the output is written to directly.
    pub(crate) fn place(&self) -> Option<&Path> {
        match &self.target {
            OutputTarget::Direct(_) => None,
            OutputTarget::Temporary { place, .. } => Some(place),
        }
    }

    fn file(&self) -> &File {
        match &self.target {
            OutputTarget::Direct(file) => file,
            OutputTarget::Temporary { file, .. } => file.file(),
        }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

impl TemporaryFile {
    /// Begins a file in a folder. It has the permissions of the file that it replaces, or else read and write for all.
    /// In both cases the user's mask takes permissions away.
    pub(super) fn begin(folder: &Path, replaced: Option<&Metadata>) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(TEMPORARY_PREFIX);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = replaced.map_or(0o666, |replaced| replaced.permissions().mode() & 0o777);
            #[cfg(target_os = "linux")]
            if let Some(file) = nameless::create(folder, mode) {
                return Ok(Self::Nameless(file));
            }
            builder.permissions(fs::Permissions::from_mode(mode));
        }
        builder.tempfile_in(folder).map(Self::Named)
    }

    /// Returns the file under a temporary name in the folder. Dropping it removes the file.
    fn name(self, folder: &Path) -> io::Result<TempPath> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Nameless(file) => {
                let mut builder = tempfile::Builder::new();
                let named = builder.prefix(TEMPORARY_PREFIX).make_in(folder, |path| nameless::link(&file, path))?;
                Ok(named.into_temp_path())
            }
            Self::Named(file) => Ok(file.into_temp_path()),
        }
    }

    fn file(&self) -> &File {
        match self {
            #[cfg(target_os = "linux")]
            Self::Nameless(file) => file,
            Self::Named(file) => file.as_file(),
        }
    }
}

/// Files without a name.
#[cfg(target_os = "linux")]
mod nameless {
    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd as _;
    use std::path::{Path, PathBuf};

    /// Creates a file in the folder; `None` if the file system has no such files, or if it cannot be named later.
    pub(super) fn create(folder: &Path, mode: u32) -> Option<File> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = File::from(open(folder, flags, Mode::from_raw_mode(mode)).ok()?);
        descriptor(&file).exists().then_some(file)
    }

    /// Gives the file a new name.
    pub(super) fn link(file: &File, path: &Path) -> io::Result<()> {
        Ok(linkat(CWD, descriptor(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
    }

    fn descriptor(file: &File) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
    }
}

/// Removes a file whose name may not be durable. If the file may have replaced another one, it stays, because the other
/// one is gone.
fn undo(place: &Path, replaces: bool) {
    if !replaces {
        drop(fs::remove_file(place));
    }
}

/// Returns the folder of a file; of a relative path without a folder, the empty path.
pub(super) fn folder_of(place: &Path) -> &Path {
    place.parent().unwrap_or(place)
}

/// Adds the output to an error of the file system.
pub(super) trait OutputContext<T> {
    fn of(self, path: &Path, action: &'static str) -> Result<T, OutputError>;
}

impl<T> OutputContext<T> for io::Result<T> {
    fn of(self, path: &Path, action: &'static str) -> Result<T, OutputError> {
        self.map_err(|source| OutputError::Io { action, path: path.to_owned(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::{OutputFile, OutputTarget, TEMPORARY_PREFIX, TemporaryFile};
    use std::fs;
    use std::io::Write;
    use std::path::Path;

    /// Begins a file with a temporary name, as on systems without nameless files.
    fn named(place: &Path, replaces: bool) -> OutputFile {
        let file = tempfile::Builder::new().prefix(TEMPORARY_PREFIX).tempfile_in(place.parent().unwrap()).unwrap();
        let target = OutputTarget::Temporary { file: TemporaryFile::Named(file), place: place.to_owned(), replaces };
        let mut output = OutputFile { path: place.to_owned(), target };
        output.write_all(b"whole").unwrap();
        output
    }

    #[test]
    fn a_file_with_a_temporary_name_leaves_only_its_own_name() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("out.csv");
        let count = || dir.path().read_dir().unwrap().count();
        drop(named(&place, false));
        assert_eq!(count(), 0);
        named(&place, false).keep().unwrap();
        assert!(named(&place, false).keep().is_err());
        fs::write(&place, "old").unwrap();
        named(&place, true).keep().unwrap();
        assert_eq!((fs::read_to_string(&place).unwrap().as_str(), count()), ("whole", 1));
    }
}
