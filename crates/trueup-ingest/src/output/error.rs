//! The errors of outputs.

use std::io;
use std::path::{Path, PathBuf};
use trueup_core::dataset::store::StoreError;

/// Why an output cannot be written. The message says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// The command reads the same file, possibly under another name.
    #[error("`{}` is the input `{}`, and no output replaces an input; name another file", path.display(), input.display())]
    IsInput {
        /// The output.
        path: PathBuf,
        /// The input.
        input: PathBuf,
    },
    /// The file lies in the folder of a dataset, or is a file of the dataset under another name.
    #[error("`{}` belongs to the dataset `{}`, whose folder takes no other files; name a file elsewhere", path.display(), dataset.display())]
    InDataset {
        /// The output.
        path: PathBuf,
        /// The folder of the dataset.
        dataset: PathBuf,
    },
    /// The file exists and may not be replaced.
    #[error("`{}` is already there; name another file, or pass `--force` to replace it", .0.display())]
    Exists(PathBuf),
    /// The path is a folder.
    #[error("`{}` is a folder; name a file in it", .0.display())]
    Folder(PathBuf),
    /// The path is a symbolic link to a file that does not exist.
    #[error("`{}` is a symbolic link to a file that is not there; remove it, or name that file", .0.display())]
    DanglingLink(PathBuf),
    /// The path is a socket or a disk.
    #[error("`{}` is neither a file nor a stream; name a file", .0.display())]
    Special(PathBuf),
    /// The folder of the output cannot be searched for a dataset.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file system refused an action.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// The action.
        action: &'static str,
        /// The output.
        path: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
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
