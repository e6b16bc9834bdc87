//! Exit codes, and the errors that lead to them.

use crate::output::terminal::printable;
use std::error::Error;
use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use trueup::access;
use trueup::filter::InvalidRequest;
use trueup_core::QueryError;
use trueup_ingest::{IngestError, OutputError};

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It did what was asked.
    Done,
    /// The request, the data or the machine is at fault: an unknown account, a filter that is none, a row that breaks a rule, a
    /// damaged file, a folder that cannot be written.
    Request,
    /// The command line is at fault: an unknown option, a value that is no date.
    Usage,
    /// trueup itself is at fault.
    Fault,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Request => 1,
            Exit::Usage => 2,
            Exit::Fault => 3,
        })
    }
}

/// Why a command did not do what was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    error: Box<dyn Error + Send + Sync>,
}

impl Failure {
    /// The request or the data is at fault.
    pub(crate) fn request(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { exit: Exit::Request, error: error.into() }
    }

    /// The command line is at fault.
    pub(crate) fn usage(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { exit: Exit::Usage, error: error.into() }
    }

    /// trueup is at fault, unless what failed is the operating system: a folder that it does not let us write, a full disk.
    pub(crate) fn fault(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let error = error.into();
        let exit = if is_refused_by_system(&*error) { Exit::Request } else { Exit::Fault };
        Self { exit, error }
    }

    /// A file or folder that the command line names cannot be used.
    pub(crate) fn path(path: &Path, error: &io::Error) -> Self {
        Self::request(format!("`{}`: {error}", path.display()))
    }

    /// The same, told of what it befell: one query of many.
    pub(crate) fn of(self, what: &str) -> Self {
        Self { exit: self.exit, error: format!("{what}: {self}").into() }
    }

    /// The same of what stands in a file rather than on the command line.
    pub(crate) fn into_request(self) -> Self {
        Self { exit: Exit::Request, ..self }
    }

    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }
}

/// Whether the operating system is what refused, as one of the causes says.
fn is_refused_by_system(error: &(dyn Error + 'static)) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, Other, UnexpectedEof, WriteZero};
    let mut next = Some(error);
    while let Some(error) = next {
        // Programs make errors of these kinds themselves; of the other kinds some have lost the system's code on their way.
        let is_system = |error: &io::Error| {
            error.raw_os_error().is_some()
                || !matches!(error.kind(), InvalidData | InvalidInput | Other | UnexpectedEof | WriteZero)
        };
        if error.downcast_ref().is_some_and(is_system) {
            return true;
        }
        next = error.source();
    }
    false
}

impl fmt::Display for Failure {
    /// The error and its causes, each that is not already part of what stands before it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut message = self.error.to_string();
        let mut cause = self.error.source();
        while let Some(error) = cause {
            let text = error.to_string();
            if !message.contains(&text) {
                message.push_str(": ");
                message.push_str(&text);
            }
            cause = error.source();
        }
        f.write_str(&one_line(&message))
    }
}

/// A message on one line, without the lines that draw an excerpt, and with nothing that steers a terminal.
fn one_line(message: &str) -> String {
    let is_excerpt = |line: &&str| line.trim_start_matches(|char: char| char.is_ascii_digit()).trim().starts_with('|');
    let lines = message.lines().map(str::trim).filter(|line| !line.is_empty() && !is_excerpt(line));
    let line = lines.collect::<Vec<_>>().join(": ");
    printable(&line)
}

impl From<trueup_core::Error> for Failure {
    /// A query that cannot be answered, a dataset that cannot be read, or a machine without threads to spare.
    fn from(error: trueup_core::Error) -> Self {
        match error {
            // The option that lifts the limit is the command line's own, so the error cannot know it.
            trueup_core::Error::Query(error @ QueryError::SpanTooLong { .. }) => {
                Self::request(format!("{error}, or lift the limit with `--allow-long-total`"))
            }
            trueup_core::Error::Unexpected { .. } => Self::fault(error),
            _ => Self::request(error),
        }
    }
}

impl From<access::Error> for Failure {
    /// What was asked of a directory, its file, or the machine beneath it is at fault.
    fn from(error: access::Error) -> Self {
        Self::request(error)
    }
}

impl From<InvalidRequest> for Failure {
    fn from(error: InvalidRequest) -> Self {
        Self::request(error)
    }
}

impl From<OutputError> for Failure {
    /// The file that was named cannot be written, or must not be.
    fn from(error: OutputError) -> Self {
        Self::request(error)
    }
}

impl From<IngestError> for Failure {
    fn from(error: IngestError) -> Self {
        match (error.is_usage(), error.is_data()) {
            (true, _) => Self::usage(error),
            (_, true) => Self::request(error),
            _ => Self::fault(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Exit, Failure, one_line};
    use std::io;

    #[test]
    fn the_system_is_not_the_program() {
        let fault = |kind: io::ErrorKind| Failure::fault(io::Error::new(kind, "so")).exit();
        assert_eq!(fault(io::ErrorKind::StorageFull), Exit::Request);
        assert_eq!(fault(io::ErrorKind::InvalidData), Exit::Fault);
        assert_eq!(Failure::fault(io::Error::from_raw_os_error(5)).exit(), Exit::Request);
        assert_eq!(Failure::fault("a group is lost").exit(), Exit::Fault);
    }

    #[test]
    fn a_message_is_one_line() {
        assert_eq!(Failure::request("a file\n").to_string(), "a file");
        let toml = "TOML parse error at line 12, column 3\n   |\n12 | a b\n   |   ^\nexpected `=`\n";
        assert_eq!(one_line(toml), "TOML parse error at line 12, column 3: expected `=`");
        assert_eq!(one_line("`a\u{1b}[2J` and `x|y`"), "`a\u{fffd}[2J` and `x|y`");
    }
}
