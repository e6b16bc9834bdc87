//! Where results go: stdout, or a file.

use crate::exit::Failure;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::path::{Path, PathBuf};

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

    /// Whether a person reads along.
    pub(crate) fn is_terminal(&self) -> bool {
        match &self.target {
            Target::Stdout(out) => out.get_ref().is_terminal(),
            Target::File(_) => false,
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
