//! `trueup get`: one request to the service, answered in this process.

use super::secret;
use super::service::ServiceArgs;
use crate::exit::Failure;
use crate::notice;
use crate::output::OutputWriter;
use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use trueup::access::SecretKey;
use trueup::service::{Limits, Request, Response, ServiceError};

/// The variable that holds the key.
const KEY: &str = "TRUEUP_KEY";

/// The response header that lists the names that nothing in reach has.
const UNKNOWN_FIELDS: &str = "Trueup-Unknown-Fields";

const EXAMPLES: &str = "\
Examples:
  export TRUEUP_KEY=$(trueup keys create my-data anna@example.com)
  trueup get my-data /api
  trueup get my-data '/api/acme/events?fields=campaign,leads&start=2025-01-01&end=2025-03-31'
  trueup get my-data /api/acme/insights --body-only | jq .

The key is read from the variable TRUEUP_KEY unless an option gives it. The exit code is 0 if the answer's status is 2xx.";

/// Answer one request as the service would, without a network
///
/// Prints the status, the headers, an empty line and the body. The request is signed and counted as any other.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct GetCommand {
    #[command(flatten)]
    answering: ServiceArgs,

    /// The path with its query, encoded as in a URL; quote it, or the shell takes `&` and `?` for its own
    #[arg(value_name = "PATH?QUERY")]
    path: String,

    /// The key; other users of this machine may see what is typed here, so that the variable or a file is better
    #[arg(long, conflicts_with = "key_file", value_parser = secret::typed)]
    key: Option<SecretKey>,

    /// The file that holds the key, and nothing else; `-` is stdin
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,

    /// Take the body compressed, as most clients do
    #[arg(long)]
    gzip: bool,

    /// Print the body alone
    #[arg(long)]
    body_only: bool,
}

impl GetCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        let key = self.key()?;
        let cause: Arc<Mutex<Option<String>>> = Arc::default();
        let noted = cause.clone();
        // Nobody gathers on when this process has ended, so that asking again would be in vain.
        let limits = Limits { benchmarks_wait: self.answering.deadline, ..Limits::default() };
        let service = self.answering.service(Arc::new(self.answering.open()?), limits)?;
        let note = move |error: &ServiceError| {
            *noted.lock().unwrap_or_else(PoisonError::into_inner) = error.source().map(ToString::to_string);
        };
        let service = service.on_failure(note).build();
        let response = service.handle(&Request {
            authorization: key.map(|key| key.reveal().to_owned()),
            accept_encoding: Some(if self.gzip { "gzip" } else { "identity" }.to_owned()),
            ..Request::get(self.path.as_str())
        });
        let status = response.status;
        if let Some(names) = response.header(UNKNOWN_FIELDS) {
            notice::warning(format_args!("nothing in reach knows {names}; such a field is empty on every row"));
        }
        let mut sink = OutputWriter::stdout();
        let written = self.write(response, &mut sink);
        sink.finish(written)?;
        let cause = cause.lock().unwrap_or_else(PoisonError::into_inner).take();
        let cause = cause.map(|cause| format!(": {cause}")).unwrap_or_default();
        match status {
            200..300 => Ok(()),
            400..500 | 502..=504 => Err(Failure::request(format!("the answer is {}{cause}", line(status)))),
            _ => Err(Failure::fault(format!("the answer is {}{cause}", line(status)))),
        }
    }

    /// The key from wherever it is; none if nothing names one, which the service answers too.
    fn key(&self) -> Result<Option<SecretKey>, Failure> {
        match (&self.key, &self.key_file) {
            (Some(key), _) => Ok(Some(key.clone())),
            (None, Some(path)) => secret::read(path).map(Some),
            (None, None) => match std::env::var(KEY) {
                Ok(key) => Ok(Some(SecretKey::new(key))),
                Err(std::env::VarError::NotPresent) => Ok(None),
                Err(std::env::VarError::NotUnicode(_)) => {
                    Err(Failure::request(format!("expected a key in the variable {KEY}, but found no UTF-8")))
                }
            },
        }
    }

    fn write(&self, response: Response, sink: &mut OutputWriter) -> Result<(), Failure> {
        if !self.body_only {
            writeln!(sink, "HTTP/1.1 {}", line(response.status)).map_err(Failure::fault)?;
            for (name, value) in &response.headers {
                writeln!(sink, "{name}: {value}").map_err(Failure::fault)?;
            }
            writeln!(sink).map_err(Failure::fault)?;
        }
        for chunk in response.body {
            sink.write_all(&chunk.map_err(Failure::fault)?).map_err(Failure::fault)?;
        }
        // The body alone, byte for byte, unless a prompt would follow on its line.
        if sink.is_terminal() { writeln!(sink).map_err(Failure::fault) } else { Ok(()) }
    }
}

/// A status with its usual words.
fn line(status: u16) -> String {
    let words = match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        405 => "Method Not Allowed",
        429 => "Too Many Requests",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => return status.to_string(),
    };
    format!("{status} {words}")
}
