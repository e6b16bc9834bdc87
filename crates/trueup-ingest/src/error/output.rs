//! Why an output cannot be written.

use std::io;
use std::path::PathBuf;
use trueup_core::dataset::manifest_file::ManifestError;

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
    /// The path is a URL.
    #[error("`{}` is a URL, and a result is written to a file; name one, and copy it", .0.display())]
    Url(PathBuf),
    /// The path is a folder.
    #[error("`{}` is a folder; name a file in it", .0.display())]
    Folder(PathBuf),
    /// The folder of the output does not exist.
    #[error("there is no folder `{}` for `{}`; make it first", .folder.display(), .path.display())]
    NoFolder {
        /// The output.
        path: PathBuf,
        /// Its folder.
        folder: PathBuf,
    },
    /// The path is a symbolic link to a file that does not exist.
    #[error("`{}` is a symbolic link to a file that is not there; remove it, or name that file", .0.display())]
    DanglingLink(PathBuf),
    /// The path is a socket or a disk.
    #[error("`{}` is neither a file nor a stream; name a file", .0.display())]
    Special(PathBuf),
    /// The folder of the output cannot be searched for a dataset.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The file system refused an action.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// The action.
        action: &'static str,
        /// The output, or the folder of a dataset that no output may be in.
        path: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
}
