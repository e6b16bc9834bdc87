//! `trueup serve`: the service over HTTP.

mod log;
mod purge;
mod versions;

use super::service::{ServiceArgs, seconds};
use super::size;
use crate::exit::Failure;
use crate::notice;
use std::sync::Arc;
use std::time::Duration;
use tracing_subscriber::filter::Targets;
use trueup::MemoryBudget;
use trueup::service::Limits;
use trueup_server::{Server, Settings};

const EXAMPLES: &str = "\
Examples:
  trueup serve my-data
  trueup serve my-data --listen 0.0.0.0:80 --hourly-limit 5000 --log warn
  curl --compressed -H \"Authorization: $(cat anna.key)\" http://127.0.0.1:8080/api

Ctrl-C, SIGTERM and SIGHUP end it once the requests that run are answered. GET /health says whether it runs, GET /openapi.json describes it.
Another version of the dataset, whether ingested, rebuilt or restored, is answered from about a second later; users, grants and keys
count at once, and so does a directory that takes the place of another by a rename.";

/// Answer requests over HTTP
///
/// Each request is a line of the log on stderr, without keys, paths or anything of customers.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ServeCommand {
    #[command(flatten)]
    answering: ServiceArgs,

    /// Listen at this address and port; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: String,

    /// Log what is at least so important (error, warn, info, debug, trace, off), or for some parts only, such as
    /// trueup_server=debug; by default what the variable RUST_LOG says, or info
    #[arg(long, value_name = "LEVEL", value_parser = log::parse)]
    log: Option<Targets>,

    /// Hold at most SIZE of decoded columns, running queries and answers that are not sent yet. Columns take half of it, and make
    /// room for the others; a request that finds no room is answered 503
    #[arg(long, value_name = "SIZE", value_parser = size::parse, default_value = "2GiB")]
    memory: usize,

    /// Look for another version of the dataset every SECONDS
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "1")]
    refresh: Duration,

    /// Work on so many requests at once; others wait
    #[arg(long, value_name = "COUNT", help_heading = "Limits", default_value_t = Settings::default().max_requests_at_once)]
    max_requests_at_once: usize,

    /// Keep at most COUNT connections open; for another, the one that has waited longest for its caller is closed
    #[arg(long, value_name = "COUNT", help_heading = "Limits", default_value_t = Settings::default().max_connections)]
    max_connections: usize,

    /// Keep at most COUNT connections of one address open, or of one /64 network of IPv6; addresses of this machine are not
    /// limited. Raise it for a proxy on another machine, whose address all its callers share
    #[arg(long, value_name = "COUNT", help_heading = "Limits", default_value_t = Settings::default().max_connections_per_address)]
    max_connections_per_address: usize,

    /// Let benchmarks wait so many seconds for figures that are being gathered, before the answer is 503
    #[arg(long, value_name = "SECONDS", help_heading = "Limits", value_parser = seconds)]
    benchmarks_wait: Option<Duration>,

    /// Let a request wait SECONDS for memory that others hold, before the answer is 503
    #[arg(long, value_name = "SECONDS", help_heading = "Limits", value_parser = seconds)]
    memory_wait: Option<Duration>,

    /// When told to end, let what runs run on for so many seconds
    #[arg(long, value_name = "SECONDS", help_heading = "Limits", value_parser = seconds)]
    shutdown_grace: Option<Duration>,
}

impl ServeCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        log::begin(self.log)?;
        let usual = Limits::default();
        let columns = self.memory / 2;
        let dataset = Arc::new(self.answering.open()?.with_column_budget(columns));
        let limits = Limits {
            benchmarks_wait: self.benchmarks_wait.unwrap_or(usual.benchmarks_wait),
            memory_wait: self.memory_wait.unwrap_or(usual.memory_wait),
            // Others have to find a thread meanwhile.
            memory_queue: self.max_requests_at_once / 2,
            ..usual
        };
        // The rest is for what the allocator holds: memory that was freed and that the system has not back yet.
        let memory = MemoryBudget::new(self.memory - self.memory / 8);
        let service = self.answering.service(dataset, limits)?;
        let service = Arc::new(service.memory(memory).on_failure(trueup_server::log_failure).build());
        let usual = Settings::default();
        let settings = Settings {
            max_requests_at_once: self.max_requests_at_once,
            max_connections: self.max_connections,
            max_connections_per_address: self.max_connections_per_address,
            shutdown_grace: self.shutdown_grace.unwrap_or(usual.shutdown_grace),
            ..usual
        };
        let listen = &self.listen;
        let server = Server::bind(listen, service.clone(), settings)
            .map_err(|error| Failure::request(format!("cannot listen at `{listen}`: {error}")))?;
        // Before anybody is told that it listens: from then on a signal ends it as it should.
        let server = server.hear_signals().map_err(Failure::fault)?;
        let address = server.local_addr();
        let _watch =
            versions::watch(service, self.answering.place.dataset, columns, self.refresh).map_err(Failure::fault)?;
        let _purge = purge::begin().map_err(Failure::fault)?;
        if !address.ip().is_loopback() {
            notice::warning("keys and answers travel unencrypted; put a proxy with TLS in front, unless one is there");
        }
        notice::note(format_args!("listening on http://{address}; Ctrl-C ends it"));
        server.run().map_err(Failure::fault)?;
        notice::note("ended");
        Ok(())
    }
}
