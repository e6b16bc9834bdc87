//! Where results go: stdout, or a file.

use super::terminal::TerminalFilter;
use crate::exit::Failure;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::path::{Path, PathBuf};
use trueup_ingest::{OutputFile, Outputs};

/// Stdout or a file, buffered; remembers what went wrong, whatever a writer on top of it makes of the error.
///
/// What is written to a terminal is made printable; files and pipes get every byte as it is.
#[derive(Debug)]
pub(crate) struct OutputWriter {
    target: Destination,
    /// The file, or `None` for stdout.
    path: Option<PathBuf>,
    /// Where a person reads along.
    filter: Option<TerminalFilter>,
    failed: Option<io::Error>,
}

#[derive(Debug)]
enum Destination {
    Stdout(BufWriter<Stdout>),
    File(BufWriter<OutputFile>),
}

/// A sink for text that is printable already and has emphasis.
#[derive(Debug)]
pub(crate) struct StyledOutput<'a>(&'a mut OutputWriter);

impl OutputWriter {
    /// Stdout.
    pub(crate) fn stdout() -> Self {
        let filter = io::stdout().is_terminal().then(TerminalFilter::default);
        Self { target: Destination::Stdout(BufWriter::new(io::stdout())), path: None, filter, failed: None }
    }

    /// The file at `path`, if it is one that may be written. What is there stays as it is until [`OutputWriter::keep`].
    pub(crate) fn create(path: &Path, outputs: &Outputs) -> Result<Self, Failure> {
        let file = outputs.create(path)?;
        let filter = file.is_terminal().then(TerminalFilter::default);
        Ok(Self { target: Destination::File(BufWriter::new(file)), path: Some(path.to_owned()), filter, failed: None })
    }

    /// Gives a file, which has been written whole, its name.
    pub(crate) fn keep(self) -> Result<(), Failure> {
        let (Destination::File(file), Some(path)) = (self.target, &self.path) else { return Ok(()) };
        match file.into_inner() {
            Ok(file) => Ok(file.keep()?),
            // The reader of a pipe has gone away, which is no failure of what was written.
            Err(error) if error.error().kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(Failure::path(path, error.error())),
        }
    }

    /// Whether a person reads along.
    pub(crate) const fn is_terminal(&self) -> bool {
        self.filter.is_some()
    }

    /// Takes text that is printable already and has emphasis.
    pub(crate) const fn styled(&mut self) -> StyledOutput<'_> {
        StyledOutput(self)
    }

    /// Ends what was `written`: everything is handed on, and a reader that has gone away (`trueup query ... | head`) is no failure.
    pub(crate) fn finish(&mut self, written: Result<(), Failure>) -> Result<(), Failure> {
        let ended = if self.failed.is_none() { self.end() } else { Ok(()) };
        match (self.failed.take().or(ended.err()), &self.path) {
            (None, _) => written,
            (Some(error), _) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            (Some(error), Some(path)) => Err(Failure::path(path, &error)),
            (Some(error), None) => Err(Failure::path(Path::new("stdout"), &error)),
        }
    }

    fn end(&mut self) -> io::Result<()> {
        if let Some(filter) = &mut self.filter {
            let rest = filter.end();
            self.out().write_all(rest.as_bytes())?;
        }
        self.flush()
    }

    fn out(&mut self) -> &mut dyn Write {
        match &mut self.target {
            Destination::Stdout(out) => out,
            Destination::File(out) => out,
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

impl Write for OutputWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = match &mut self.filter {
            None => self.out().write(bytes),
            Some(filter) => {
                let shown = filter.pass(bytes);
                self.out().write_all(shown.as_bytes()).map(|()| bytes.len())
            }
        };
        self.noted(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.out().flush();
        self.noted(result)
    }
}

impl Write for StyledOutput<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.0.out().write(bytes);
        self.0.noted(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
