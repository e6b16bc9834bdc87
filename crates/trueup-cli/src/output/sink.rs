//! Where results go: stdout, or a file.

use crate::exit::Failure;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Stdout or a file, buffered; remembers what went wrong, whatever a writer on top of it makes of the error.
#[derive(Debug)]
pub(crate) struct Sink {
    target: Target,
    /// The file, or `None` for stdout.
    path: Option<PathBuf>,
    failed: Option<io::Error>,
}

#[derive(Debug)]
enum Target {
    Stdout(BufWriter<Stdout>),
    File(BufWriter<File>),
    /// A file under another name, which it loses when it is kept; otherwise it goes.
    Staged(BufWriter<NamedTempFile>),
}

impl Sink {
    /// Stdout.
    pub(crate) fn stdout() -> Self {
        Self { target: Target::Stdout(BufWriter::new(io::stdout())), path: None, failed: None }
    }

    /// The file at `path`, emptied, or stdout.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else { return Ok(Self::stdout()) };
        let file = File::create(path).map_err(|error| Failure::path(path, &error))?;
        Ok(Self { target: Target::File(BufWriter::new(file)), path: Some(path.to_owned()), failed: None })
    }

    /// The file at `path`, which stays as it is until [`Sink::keep`].
    pub(crate) fn staged(path: &Path) -> Result<Self, Failure> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        builder.prefix(".trueup-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            // As any other new file: what the user's mask leaves of it.
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let file = builder.tempfile_in(folder).map_err(|error| Failure::path(folder, &error))?;
        Ok(Self { target: Target::Staged(BufWriter::new(file)), path: Some(path.to_owned()), failed: None })
    }

    /// Puts a staged file, which has been written whole, in its place.
    pub(crate) fn keep(self) -> Result<(), Failure> {
        let (Target::Staged(staged), Some(path)) = (self.target, &self.path) else { return Ok(()) };
        let at_path = |error: &io::Error| Failure::path(path, error);
        let file = staged.into_inner().map_err(|error| at_path(error.error()))?;
        file.persist(path).map(drop).map_err(|error| at_path(&error.error))
    }

    /// Whether a person reads along.
    pub(crate) fn is_terminal(&self) -> bool {
        match &self.target {
            Target::Stdout(out) => out.get_ref().is_terminal(),
            Target::File(_) | Target::Staged(_) => false,
        }
    }

    /// Ends what was `written`: everything is handed on, and a reader that has gone away (`trueup query ... | head`) is no failure.
    pub(crate) fn finish(&mut self, written: Result<(), Failure>) -> Result<(), Failure> {
        let flushed = if self.failed.is_none() { self.flush() } else { Ok(()) };
        match (self.failed.take().or(flushed.err()), &self.path) {
            (None, _) => written,
            (Some(error), _) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            (Some(error), Some(path)) => Err(Failure::path(path, &error)),
            (Some(error), None) => Err(Failure::path(Path::new("stdout"), &error)),
        }
    }

    fn out(&mut self) -> &mut dyn Write {
        match &mut self.target {
            Target::Stdout(out) => out,
            Target::File(out) => out,
            Target::Staged(out) => out,
        }
    }

    fn noted<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        result.inspect_err(|error| {
            if error.kind() != io::ErrorKind::Interrupted {
                self.failed = Some(io::Error::new(error.kind(), error.to_string()));
            }
        })
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.out().write(bytes);
        self.noted(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.out().flush();
        self.noted(result)
    }
}
