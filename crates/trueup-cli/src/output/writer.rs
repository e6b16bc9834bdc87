//! Where a command writes its result.

use crate::exit::Failure;
use crate::terminal::TerminalFilter;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::path::{Path, PathBuf};
use trueup_ingest::{OutputFile, Outputs};

/// A buffered writer for stdout or a file.
///
/// It remembers the latest write error, because a format's writer may return another error in its place. Text for a
/// terminal is made printable; files and pipes receive every byte unchanged.
#[derive(Debug)]
pub(crate) struct OutputWriter {
    destination: StdoutOrFile,
    /// The path of the file; `None` for stdout.
    path: Option<PathBuf>,
    /// Present if the destination is a terminal.
    filter: Option<TerminalFilter>,
    /// The latest write error. [`OutputWriter::finish`] takes it.
    error: Option<io::Error>,
}

#[derive(Debug)]
enum StdoutOrFile {
    Stdout(BufWriter<Stdout>),
    File(BufWriter<OutputFile>),
}

/// A writer for text that is already printable and contains escape sequences for bold type.
#[derive(Debug)]
pub(crate) struct StyledOutput<'a>(&'a mut OutputWriter);

impl OutputWriter {
    /// Creates a writer for stdout.
    pub(crate) fn stdout() -> Self {
        let filter = io::stdout().is_terminal().then(TerminalFilter::default);
        Self { destination: StdoutOrFile::Stdout(BufWriter::new(io::stdout())), path: None, filter, error: None }
    }

    /// Creates a writer for a file. An existing file at `path` stays unchanged until [`OutputWriter::keep`].
    ///
    /// # Errors
    /// If `outputs` refuses the path, or the file cannot be created.
    pub(crate) fn create(path: &Path, outputs: &Outputs) -> Result<Self, Failure> {
        let file = outputs.create(path)?;
        let filter = file.is_terminal().then(TerminalFilter::default);
        let destination = StdoutOrFile::File(BufWriter::new(file));
        Ok(Self { destination, path: Some(path.to_owned()), filter, error: None })
    }

    /// Makes a complete file appear under its name. Does nothing for stdout. A reader that has closed a pipe is not a
    /// failure.
    pub(crate) fn keep(self) -> Result<(), Failure> {
        let (StdoutOrFile::File(file), Some(path)) = (self.destination, &self.path) else { return Ok(()) };
        match file.into_inner() {
            Ok(file) => Ok(file.keep()?),
            // The path is a pipe, and its reader has closed it: not a failure.
            Err(error) if error.error().kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(Failure::path(path, error.error())),
        }
    }

    /// Returns whether the destination is a terminal.
    pub(crate) const fn is_terminal(&self) -> bool {
        self.filter.is_some()
    }

    /// Returns a writer for text that is already printable and contains escape sequences for bold type.
    pub(crate) const fn styled(&mut self) -> StyledOutput<'_> {
        StyledOutput(self)
    }

    /// Flushes the output and returns its outcome: the latest write error, or else `written`, the result of the code
    /// that wrote. A reader that has closed its pipe, as in `trueup query ... | head`, is not a failure.
    pub(crate) fn finish(&mut self, written: Result<(), Failure>) -> Result<(), Failure> {
        let ended = if self.error.is_none() { self.end() } else { Ok(()) };
        match (self.error.take().or(ended.err()), &self.path) {
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
        match &mut self.destination {
            StdoutOrFile::Stdout(out) => out,
            StdoutOrFile::File(out) => out,
        }
    }

    fn remember_error<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        result.inspect_err(|error| {
            if error.kind() != io::ErrorKind::Interrupted {
                self.error = Some(io::Error::new(error.kind(), error.to_string()));
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
        self.remember_error(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.out().flush();
        self.remember_error(result)
    }
}

impl Write for StyledOutput<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.0.out().write(bytes);
        self.0.remember_error(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
