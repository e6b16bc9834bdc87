//! `trueup serve`: the service over HTTP.

mod background;
mod log;

use super::option_values::{bytes, seconds};
use super::service::ServiceArgs;
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

Ctrl-C, SIGTERM and SIGHUP stop the server after it has answered the requests that it is working on.
GET /health reports that it is running, GET /openapi.json describes the API.
A new version of the dataset (ingested, rebuilt or restored) is served about a second later.
Changes to users, grants and keys take effect immediately, also if another directory is renamed over the present one.";

/// Serve a dataset over HTTP
///
/// Logs one line per request to stderr, without keys, paths or data of customers.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ServeCommand {
    #[command(flatten)]
    service: ServiceArgs,

    /// Address and port to listen on; port 0 takes any free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: String,

    /// Log level: error, warn, info, debug, trace or off, or levels of modules such as warn,trueup_server=debug. By
    /// default the value of the variable RUST_LOG, or info
    #[arg(long, value_name = "LEVEL", value_parser = log::parse)]
    log: Option<Targets>,

    /// Memory for decoded columns, running queries and unsent answers, such as 512MiB or 4GiB. Columns use at most half
    /// of it, and are evicted when queries need more. A request for which there is no memory is answered 503
    #[arg(long, value_name = "SIZE", value_parser = bytes, default_value = "2GiB")]
    memory: usize,

    /// Check for a new version of the dataset every SECONDS
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "1")]
    refresh: Duration,

    /// Largest number of requests to work on at the same time; others wait
    #[arg(long, value_name = "COUNT", help_heading = "Limits", default_value_t = Settings::default().max_requests_at_once)]
    max_requests_at_once: usize,

    /// Largest number of open connections; to accept another, the server closes the one that has been idle longest
    #[arg(long, value_name = "COUNT", help_heading = "Limits", default_value_t = Settings::default().max_connections)]
    max_connections: usize,

    /// Largest number of open connections per IPv4 address or IPv6 /64 network; loopback addresses are not limited.
    /// Raise it if clients come through a proxy on another machine, because they all share its address
    #[arg(long, value_name = "COUNT", help_heading = "Limits", default_value_t = Settings::default().max_connections_per_address)]
    max_connections_per_address: usize,

    /// Seconds that a benchmarks request waits for its data to be computed, before the answer is 503; by default 2
    #[arg(long, value_name = "SECONDS", help_heading = "Limits", value_parser = seconds)]
    benchmarks_wait: Option<Duration>,

    /// Seconds that a request waits for memory that other requests use, before the answer is 503; by default 2
    #[arg(long, value_name = "SECONDS", help_heading = "Limits", value_parser = seconds)]
    memory_wait: Option<Duration>,

    /// Seconds that running requests have to finish after a stop signal; by default 30
    #[arg(long, value_name = "SECONDS", help_heading = "Limits", value_parser = seconds)]
    shutdown_grace: Option<Duration>,
}

impl ServeCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        log::start(self.log)?;
        let default_limits = Limits::default();
        let columns = self.memory / 2;
        let dataset = Arc::new(self.service.open_dataset()?.with_column_budget(columns));
        let limits = Limits {
            benchmarks_wait: self.benchmarks_wait.unwrap_or(default_limits.benchmarks_wait),
            memory_wait: self.memory_wait.unwrap_or(default_limits.memory_wait),
            // Requests that wait for memory keep their threads, so half of the threads stay free for others.
            memory_queue: self.max_requests_at_once / 2,
            ..default_limits
        };
        // One eighth is left for freed memory that the allocator has not returned to the system yet.
        let memory = MemoryBudget::new(self.memory - self.memory / 8);
        let service = self.service.builder(dataset, limits)?;
        let service = Arc::new(service.memory(memory).on_failure(trueup_server::log_failure).build());
        let default_settings = Settings::default();
        let settings = Settings {
            max_requests_at_once: self.max_requests_at_once,
            max_connections: self.max_connections,
            max_connections_per_address: self.max_connections_per_address,
            shutdown_grace: self.shutdown_grace.unwrap_or(default_settings.shutdown_grace),
            ..default_settings
        };
        let listen = &self.listen;
        let server = Server::bind(listen, service.clone(), settings)
            .map_err(|error| Failure::request(format!("cannot listen on `{listen}`: {error}")))?;
        // Must precede the notice `listening on`, because whoever reads that notice may send a signal.
        let server = server.hear_signals().map_err(Failure::fault)?;
        let address = server.local_addr();
        let _versions = background::watch_versions(service, self.service.paths.dataset, columns, self.refresh)
            .map_err(Failure::fault)?;
        let _purge = background::purge_memory().map_err(Failure::fault)?;
        if !address.ip().is_loopback() {
            notice::warning("keys and answers are sent unencrypted; put a TLS proxy in front unless there is one");
        }
        notice::note(format_args!("listening on http://{address}; press Ctrl-C to stop"));
        server.run().map_err(Failure::fault)?;
        notice::note("stopped");
        Ok(())
    }
}
