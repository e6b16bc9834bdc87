//! Exit codes, and the errors that lead to them.

use crate::terminal::printable;
use std::error::Error;
use std::fmt;
use std::io;
use std::path::Path;
use trueup::request::RequestError;
use trueup::{QueryError, access, message_with_causes, without_credentials};
use trueup_ingest::{IngestError, OutputError};
use trueup_report::{ReportError, UnknownReportFormat};

/// The outcome of a run, which decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command succeeded.
    Done,
    /// The request, the data or the machine is at fault: an unknown account, an invalid filter, a row that breaks a
    /// rule, a damaged file, a folder that cannot be written.
    Request,
    /// The command line is at fault: an unknown option, a malformed date.
    Usage,
    /// trueup itself is at fault.
    Fault,
    /// A signal stopped the command. The code is 128 plus the number of the signal, such as 130 after Ctrl-C.
    Stopped(u8),
}

impl Exit {
    /// Returns the exit code.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Request => 1,
            Self::Usage => 2,
            Self::Fault => 3,
            Self::Stopped(code) => code,
        }
    }
}

/// The error that ended a command, and the exit code for it.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    error: Box<dyn Error + Send + Sync>,
}

impl Failure {
    /// Creates a failure of the request, the data or the machine.
    pub(crate) fn request(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { exit: Exit::Request, error: error.into() }
    }

    /// Creates a failure of the command line.
    pub(crate) fn usage(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { exit: Exit::Usage, error: error.into() }
    }

    /// Creates a failure of trueup itself, or of the request if the operating system caused the error: a folder without
    /// write permission, a full disk.
    pub(crate) fn fault(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let error = error.into();
        let exit = if is_caused_by_system(&*error) { Exit::Request } else { Exit::Fault };
        Self { exit, error }
    }

    /// Creates a failure for a file or folder, or for stdout, that cannot be used.
    pub(crate) fn path(path: &Path, error: &dyn fmt::Display) -> Self {
        Self::request(format!("`{}`: {error}", without_credentials(path).display()))
    }

    /// Creates a failure of a command that a signal has stopped, with the exit for that signal.
    pub(crate) fn stopped(error: impl Into<Box<dyn Error + Send + Sync>>, exit: Exit) -> Self {
        Self { exit, error: error.into() }
    }

    /// Creates a failure of an ingest; `stopped` is the exit if a signal has stopped it.
    pub(crate) fn ingest(error: IngestError, stopped: Exit) -> Self {
        let is_stopped = error.interruption().is_some();
        let failure = Self::from(error);
        if is_stopped { Self { exit: stopped, ..failure } } else { failure }
    }

    /// Puts `what` before the message, such as the query of a batch that failed.
    pub(crate) fn context(self, what: &str) -> Self {
        Self { exit: self.exit, error: format!("{what}: {self}").into() }
    }

    /// Turns wrong usage into a faulty request, because the option came from a file rather than from the command line.
    pub(crate) fn into_request(self) -> Self {
        Self { exit: Exit::Request, ..self }
    }

    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }
}

/// Returns whether the error or one of its causes comes from the operating system.
fn is_caused_by_system(error: &(dyn Error + 'static)) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, Other, UnexpectedEof, WriteZero};
    let mut next = Some(error);
    while let Some(error) = next {
        // Libraries create errors of these five kinds themselves. Any other kind comes from the system, even if a
        // library has dropped the error code.
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
    /// Writes the error and its causes on one line, leaving out each cause that the message already contains.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&one_line(&message_with_causes(&*self.error)))
    }
}

/// Puts a message on one line. Drops the lines that draw an excerpt, and replaces control characters.
fn one_line(message: &str) -> String {
    let is_excerpt = |line: &&str| line.trim_start_matches(|char: char| char.is_ascii_digit()).trim().starts_with('|');
    let lines = message.lines().map(str::trim).filter(|line| !line.is_empty() && !is_excerpt(line));
    let line = lines.collect::<Vec<_>>().join(": ");
    printable(&line)
}

impl From<trueup::Error> for Failure {
    fn from(error: trueup::Error) -> Self {
        match error {
            // Only the command line has these options, so the errors themselves cannot name them.
            trueup::Error::Query(QueryError::SpanTooLong { days, limit }) => Self::request(format!(
                "requested range spans {days} days, exceeding the {limit}-day attribution window; use `--interval month`, `week` or \
                 `day`, shorten the range, or lift the limit with `--allow-long-total`"
            )),
            trueup::Error::Query(error @ QueryError::TotalsTooLong { .. }) => {
                Self::request(format!("{error}, or lift the limit with `--allow-long-total`"))
            }
            trueup::Error::Query(error @ QueryError::NotACohort { .. }) => {
                Self::request(format!("{error}; `--cohort --within 90d` asks for one"))
            }
            trueup::Error::Query(error @ QueryError::UnknownFields { .. }) => {
                Self::request(format!("{error}; `--allow-unknown` takes a field that is unknown as empty on every row"))
            }
            trueup::Error::Unexpected { .. } | trueup::Error::NotArrow { .. } | trueup::Error::Unbalanced { .. } => {
                Self::fault(error)
            }
            _ => Self::request(error),
        }
    }
}

impl From<access::Error> for Failure {
    fn from(error: access::Error) -> Self {
        Self::request(error)
    }
}

impl From<RequestError> for Failure {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Engine(error) => error.into(),
            RequestError::Parameter(_) => Self::usage(error),
            RequestError::Benchmarks => {
                Self::usage("only `trueup query` and `trueup batch` have `--compare benchmarks`")
            }
            RequestError::MissingMetric(None) => Self::request(format!("{error}; `trueup query --help` lists all")),
            _ => Self::request(error),
        }
    }
}

impl From<ReportError> for Failure {
    fn from(error: ReportError) -> Self {
        match error {
            ReportError::Request(error) => error.into(),
            ReportError::Engine(error) => error.into(),
            other => Self::request(other),
        }
    }
}

impl From<UnknownReportFormat> for Failure {
    fn from(error: UnknownReportFormat) -> Self {
        Self::usage(format!("{error}; or choose the format with `--format` or, in a jobs file, with the key `format`"))
    }
}

impl From<OutputError> for Failure {
    fn from(error: OutputError) -> Self {
        Self::request(error)
    }
}

impl From<IngestError> for Failure {
    fn from(error: IngestError) -> Self {
        // A publication whose outcome is unknown is the fault of the store or the disk, whatever the kind of its cause.
        match (error.is_usage(), error.is_data() || error.may_be_published()) {
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
    use std::path::PathBuf;
    use trueup::versions::ManifestError;
    use trueup_ingest::IngestError;

    #[test]
    fn an_error_of_the_operating_system_is_not_a_fault_of_the_program() {
        let fault = |kind: io::ErrorKind| Failure::fault(io::Error::new(kind, "a test")).exit();
        assert_eq!(fault(io::ErrorKind::StorageFull), Exit::Request);
        assert_eq!(fault(io::ErrorKind::InvalidData), Exit::Fault);
        assert_eq!(Failure::fault(io::Error::from_raw_os_error(5)).exit(), Exit::Request);
        assert_eq!(Failure::fault("a group is lost").exit(), Exit::Fault);
    }

    #[test]
    fn faults_of_stores_and_of_what_they_keep_are_not_faults_of_the_program() {
        let exit = |error: ManifestError| Failure::from(IngestError::from(error)).exit();
        let (path, version) = (PathBuf::from("s3://bucket/acme/x"), 2);
        let source = io::Error::other("the answer came so late that the version may have expired since");
        assert_eq!(exit(ManifestError::Indeterminate { path: path.clone(), version, source }), Exit::Request);
        let source = io::Error::other("a test");
        assert_eq!(exit(ManifestError::Unsynced { dir: path.clone(), version, source }), Exit::Request);
        assert_eq!(exit(ManifestError::DamagedRecord { path: path.clone() }), Exit::Request);
        assert_eq!(exit(ManifestError::Checksum { path: path.clone() }), Exit::Request);
        // trueup has written what it cannot read.
        let source = io::ErrorKind::InvalidData.into();
        assert_eq!(exit(ManifestError::Io { action: "write", path, source }), Exit::Fault);
    }

    #[test]
    fn a_message_is_printed_on_one_line() {
        assert_eq!(Failure::request("a file\n").to_string(), "a file");
        let toml = "TOML parse error at line 12, column 3\n   |\n12 | a b\n   |   ^\nexpected `=`\n";
        assert_eq!(one_line(toml), "TOML parse error at line 12, column 3: expected `=`");
        assert_eq!(one_line("`a\u{1b}[2J` and `x|y`"), "`a\u{fffd}[2J` and `x|y`");
    }
}
