//! `trueup get`: one request to the service, answered in this process.

use super::service::ServiceArgs;
use super::{open_dataset, option_values};
use crate::exit::Failure;
use crate::notice;
use crate::output::OutputWriter;
use crate::progress::Step;
use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use trueup::access::SecretKey;
use trueup::service::{Limits, Request, Response, ServiceError};
use trueup::versions::AsOf;

/// The environment variable with the key.
const KEY_VARIABLE: &str = "TRUEUP_KEY";

/// The response header that lists unknown fields.
const UNKNOWN_FIELDS: &str = "Trueup-Unknown-Fields";
/// The response header that names the currencies whose amounts are added up.
const CURRENCIES: &str = "Trueup-Currencies";

const EXAMPLES: &str = "\
Examples:
  export TRUEUP_KEY=$(trueup keys create my-data anna@example.com)
  trueup get my-data /api
  trueup get my-data '/api/acme/events?fields=campaign,leads&start=2025-01-01&end=2025-03-31'
  trueup get my-data /api/acme/insights --body-only | jq .
  trueup users login my-data anna@example.com | trueup get my-data /api --session-file -

Without --key, --key-file and --session-file, the key is read from the variable TRUEUP_KEY. The exit code is 0 if the status of the answer is 2xx.";

/// Answer one request as the service would, without a network
///
/// Prints the status, the headers, an empty line and the body. The request needs a key (or, for `/api`, a session), and
/// counts towards the hourly limit, like any other.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct GetCommand {
    #[command(flatten)]
    service: ServiceArgs,

    /// Path with its query, encoded as in a URL; quote it, because the shell interprets `&` and `?`
    #[arg(value_name = "PATH?QUERY")]
    path: String,

    /// Answer from an earlier version of the dataset: by its number, or the newest one at a time such as
    /// 2026-01-31T18:00:00Z
    #[arg(long, value_name = "VERSION|TIME")]
    as_of: Option<AsOf>,

    /// The key. Other users of this machine can see the command line, so prefer the variable or a file
    #[arg(long, conflicts_with = "key_file", value_parser = option_values::key)]
    key: Option<SecretKey>,

    /// File that contains only the key; `-` is stdin
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,

    /// File that contains only the token of a session, which `/api` accepts in place of a key; `-` is stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["key", "key_file"])]
    session_file: Option<PathBuf>,

    /// Accept a compressed body, as most clients do
    #[arg(long)]
    gzip: bool,

    /// Print only the body
    #[arg(long)]
    body_only: bool,
}

impl GetCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        let (key, session) = match &self.session_file {
            Some(path) => (None, Some(option_values::read_secret(path, "the token of a session")?)),
            None => (self.key()?, None),
        };
        let cause: Arc<Mutex<Option<String>>> = Arc::default();
        let cause_of_failure = cause.clone();
        // Waits for benchmarks as long as the request may take: their computation ends with this process, so the usual
        // advice to retry later would be useless.
        let limits = Limits { benchmarks_wait: self.service.deadline, ..Limits::default() };
        self.service.cache.set()?;
        let dataset = open_dataset(&self.service.paths.dataset, self.as_of)?;
        let service = self.service.builder(Arc::new(dataset), limits)?;
        let remember_cause = move |error: &ServiceError| {
            *cause_of_failure.lock().unwrap_or_else(PoisonError::into_inner) = error.source().map(ToString::to_string);
        };
        let service = service.on_failure(remember_cause).build();
        let step = Step::new("answering the request");
        let response = service.handle(&Request {
            authorization: key.map(|key| key.reveal().to_owned()),
            cookie: session.map(|token| format!("session={}", token.reveal())),
            accept_encoding: Some(if self.gzip { "gzip" } else { "identity" }.to_owned()),
            ..Request::get(self.path.as_str())
        });
        drop(step);
        let status = response.status;
        if let Some(names) = response.header(UNKNOWN_FIELDS) {
            notice::warning(format_args!(
                "neither the dictionary nor an account in reach knows {names}; such a field is empty on every row"
            ));
        }
        if let Some(names) = response.header(CURRENCIES) {
            notice::warning(format_args!(
                "the answer adds up amounts of different currencies: {names}; group by `currency` to tell them apart"
            ));
        }
        let mut out = OutputWriter::stdout();
        let written = self.write(response, &mut out);
        out.finish(written)?;
        let cause = cause.lock().unwrap_or_else(PoisonError::into_inner).take();
        let cause = cause.map(|cause| format!(": {cause}")).unwrap_or_default();
        match status {
            200..300 => Ok(()),
            400..500 | 502..=504 => Err(Failure::request(format!("the answer is {}{cause}", status_line(status)))),
            _ => Err(Failure::fault(format!("the answer is {}{cause}", status_line(status)))),
        }
    }

    /// Returns the key of the option, the file or the variable; `None` if there is none, which the service answers with
    /// 401.
    fn key(&self) -> Result<Option<SecretKey>, Failure> {
        match (&self.key, &self.key_file) {
            (Some(key), _) => Ok(Some(key.clone())),
            (None, Some(path)) => option_values::read_key(path).map(Some),
            (None, None) => match std::env::var(KEY_VARIABLE) {
                Ok(key) => Ok(Some(SecretKey::new(key))),
                Err(std::env::VarError::NotPresent) => Ok(None),
                Err(std::env::VarError::NotUnicode(_)) => Err(Failure::request(format!(
                    "expected a key in the variable {KEY_VARIABLE}, but found invalid UTF-8"
                ))),
            },
        }
    }

    fn write(&self, response: Response, out: &mut OutputWriter) -> Result<(), Failure> {
        if !self.body_only {
            writeln!(out, "HTTP/1.1 {}", status_line(response.status)).map_err(Failure::fault)?;
            for (name, value) in &response.headers {
                writeln!(out, "{name}: {value}").map_err(Failure::fault)?;
            }
            writeln!(out).map_err(Failure::fault)?;
        }
        for chunk in response.body {
            out.write_all(&chunk.map_err(Failure::fault)?).map_err(Failure::fault)?;
        }
        // A file gets exactly the body. On a terminal, a line break keeps the shell prompt off its last line.
        if out.is_terminal() { writeln!(out).map_err(Failure::fault) } else { Ok(()) }
    }
}

/// Returns a status code with its reason phrase.
fn status_line(status: u16) -> String {
    let reason = match status {
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
    format!("{status} {reason}")
}
