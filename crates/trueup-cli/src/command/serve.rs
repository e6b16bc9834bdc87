//! `trueup serve`: the service over HTTP, its log, its doors for agents (`agents`) and reports (`reports`), and its
//! background threads ([`background`]).

mod agents;
pub(super) mod background;
mod memory;
mod reports;

pub(super) use memory::memory_budget;

use super::open_dataset;
use super::option_values::{bytes, seconds, seconds_or_zero};
use super::service::ServiceArgs;
use crate::exit::Failure;
use crate::notice;
use crate::telemetry;
use std::env::{self, VarError};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::Duration;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;
use trueup::Shown;
use trueup::service::Limits;
use trueup_server::{Server, Settings};

const EXAMPLES: &str = "\
Examples:
  trueup serve my-data
  trueup serve my-data --listen :80 --hourly-limit 5000 --log warn
  curl --compressed -H \"Authorization: $(cat anna.key)\" http://127.0.0.1:8080/api

Ctrl-C, SIGTERM and SIGHUP stop the server after it has answered the requests that it is working on.
Open /explore in a browser to ask questions with a key. With --mcp, agents ask at /mcp; with --reports, clients read /report?month=2026-05.
GET /health reports that the server is running, GET /ready whether it should be sent requests; GET /openapi.json \
describes the API.
A new version of the dataset (ingested, rebuilt or restored) is served about a second later.
Changes to users, grants and keys take effect immediately, even if another directory is renamed over the current one.";

/// Serve a dataset over HTTP
///
/// Logs one line per request to stderr, without keys, paths or data of customers.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ServeCommand {
    #[command(flatten)]
    service: ServiceArgs,

    /// Address and port to listen on. `:8080` listens on all addresses of this machine; port 0 takes any free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: String,

    /// Also listen on this address for operators, who get /metrics (for Prometheus), /health and /ready there. They
    /// need no key, so use an address that only they can reach, such as 127.0.0.1:9464
    #[arg(long, value_name = "ADDRESS")]
    metrics_listen: Option<String>,

    /// Log level: error, warn, info, debug, trace or off, or levels of modules such as warn,trueup_server=debug. By
    /// default the value of the variable RUST_LOG, or info. The module rmcp logs what agents ask and get; it has more
    /// than warnings only if it is named, as in info,rmcp=debug
    #[arg(long, value_name = "LEVEL", value_parser = log_levels)]
    log: Option<Targets>,

    /// Memory for decoded columns, results of earlier queries, running queries and unsent answers, such as 512MiB or
    /// 4GiB. Columns use at most half of it, results an eighth, and both are dropped when queries need more. The
    /// requests of one user take at most half of what the others leave. A request for which there is no memory is
    /// answered 503. From 64MiB on, the process uses at most 1.3 times this memory plus 90MiB
    #[arg(long, value_name = "SIZE", value_parser = bytes, default_value = "2GiB")]
    memory: usize,

    /// Check for a new version of the dataset every SECONDS seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "1")]
    refresh: Duration,

    /// Do not serve the page at /explore
    #[arg(long)]
    no_explorer: bool,

    #[command(flatten)]
    agents: agents::AgentArgs,

    #[command(flatten)]
    reports: reports::ReportArgs,

    /// Largest number of requests to work on at the same time; others wait. By default two per core, at most one per
    /// 8MiB of --memory, and at least 8
    #[arg(long, value_name = "COUNT", help_heading = "Limits")]
    max_requests_at_once: Option<usize>,

    /// Largest number of open connections; to accept another, the server closes the one that has been idle longest. By
    /// default 1024, and at most one per 192KiB of --memory
    #[arg(long, value_name = "COUNT", help_heading = "Limits")]
    max_connections: Option<usize>,

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

    /// Seconds to go on accepting requests after a stop signal, while /ready answers 503, so that a load balancer sends
    /// the next ones elsewhere; by default 0
    #[arg(long, value_name = "SECONDS", help_heading = "Limits", value_parser = seconds_or_zero)]
    shutdown_delay: Option<Duration>,

    /// Seconds that running requests have to finish after the --shutdown-delay; by default 30
    #[arg(long, value_name = "SECONDS", help_heading = "Limits", value_parser = seconds_or_zero)]
    shutdown_grace: Option<Duration>,
}

impl ServeCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        start_log(self.log)?;
        memory::prepare_process(self.memory);
        self.service.cache.set()?;
        let max_requests_at_once =
            self.max_requests_at_once.unwrap_or_else(|| memory::max_requests_at_once(self.memory));
        let default_limits = Limits::default();
        let dataset = open_dataset(&self.service.paths.dataset, None)?;
        let dataset = Arc::new(dataset.with_column_budget(self.memory / 2).with_result_budget(self.memory / 8));
        super::check_footers(&dataset)?;
        let limits = Limits {
            benchmarks_wait: self.benchmarks_wait.unwrap_or(default_limits.benchmarks_wait),
            memory_wait: self.memory_wait.unwrap_or(default_limits.memory_wait),
            // Requests that wait for memory keep their threads, so half of the threads stay free for others.
            memory_queue: max_requests_at_once / 2,
            ..default_limits
        };
        let memory = memory_budget(self.memory);
        let service = self.service.builder(dataset, limits)?;
        let service = Arc::new(service.memory(memory).on_failure(trueup_server::log_failure).build());
        let reports = self.reports.door(&service)?;
        let default_settings = Settings::default();
        let settings = Settings {
            explorer: !self.no_explorer,
            max_requests_at_once,
            max_connections: self.max_connections.unwrap_or_else(|| memory::max_connections(self.memory)),
            max_connections_per_address: self.max_connections_per_address,
            shutdown_delay: self.shutdown_delay.unwrap_or(default_settings.shutdown_delay),
            shutdown_grace: self.shutdown_grace.unwrap_or(default_settings.shutdown_grace),
            ..default_settings
        };
        let mut server = listen_addresses(&self.listen)
            .and_then(|addresses| Server::bind(&*addresses, service.clone(), settings))
            .map_err(|error| cannot_listen(&self.listen, &error))?;
        let operators = match &self.metrics_listen {
            None => None,
            Some(address) => {
                let bound = listen_addresses(address).and_then(|addresses| server.listen_for_operators(&*addresses));
                Some(bound.map_err(|error| cannot_listen(address, &error))?)
            }
        };
        let address = server.local_addr();
        let server = self.agents.door(&service, address.ip()).into_iter().chain(reports).fold(server, Server::door);
        // Must precede the notice `listening on`, because whoever reads that notice may send a signal.
        let server = server.hear_signals().map_err(Failure::fault)?;
        let _versions = background::watch_versions(service, self.refresh, server.refresh_report(), |_| Ok(()))
            .map_err(Failure::fault)?;
        let _purge = background::purge_memory().map_err(Failure::fault)?;
        if !address.ip().is_loopback() {
            notice::warning("keys and answers are sent unencrypted; put a TLS proxy in front unless there is one");
        }
        if let Some(operators) = operators {
            notice::note(format_args!("metrics on http://{operators}/metrics"));
        }
        notice::note(format_args!("listening on http://{address}; press Ctrl-C to stop"));
        server.run().map_err(Failure::fault)?;
        notice::note("stopped");
        Ok(())
    }
}

/// Returns the addresses that `--listen` or `--metrics-listen` names, of which the first that is available is used.
/// Without a host these are all addresses of the machine: IPv6, which includes IPv4 on most systems, or else IPv4
/// alone.
///
/// # Errors
/// If the text has no port, or its host has no address.
fn listen_addresses(text: &str) -> io::Result<Vec<SocketAddr>> {
    match text.strip_prefix(':').map(str::parse) {
        Some(Ok(port)) => Ok(vec![(Ipv6Addr::UNSPECIFIED, port).into(), (Ipv4Addr::UNSPECIFIED, port).into()]),
        Some(Err(_)) => Err(io::ErrorKind::InvalidInput.into()),
        None => text.to_socket_addrs().map(Iterator::collect),
    }
}

fn cannot_listen(text: &str, error: &io::Error) -> Failure {
    Failure::request(if error.kind() == io::ErrorKind::InvalidInput {
        format!("expected an address to listen on such as `127.0.0.1:8080` or `:8080`, but found `{}`", Shown(text))
    } else {
        format!("cannot listen on `{}`: {error}", Shown(text))
    })
}

/// The environment variable with the log level, used if the option is absent.
const LOG_VARIABLE: &str = "RUST_LOG";

/// Starts logging to stderr with the levels of the option, of the environment, or else `info`.
pub(super) fn start_log(option: Option<Targets>) -> Result<(), Failure> {
    let targets = match option {
        Some(targets) => targets,
        None => log_levels_of_environment()?,
    };
    // The levels are those of the log alone, because traces have finer ones.
    let lines = fmt::layer().with_writer(io::stderr).with_filter(without_data(targets));
    tracing_subscriber::registry().with(lines).with(telemetry::layer()?).try_init().map_err(Failure::fault)
}

/// The module of the protocol of agents. At `debug` it logs requests and their results, which have data.
const PROTOCOL_OF_AGENTS: &str = "rmcp";

/// Limits modules that log data to warnings, unless `targets` names them.
fn without_data(targets: Targets) -> Targets {
    if targets.iter().any(|(module, _)| module == PROTOCOL_OF_AGENTS) {
        return targets;
    }
    let level = targets.default_level().unwrap_or(LevelFilter::OFF).min(LevelFilter::WARN);
    targets.with_target(PROTOCOL_OF_AGENTS, level)
}

/// Parses a level, or levels of modules. Any other word is refused, because `tracing` would take it for a module to log
/// in full.
fn log_levels(text: &str) -> Result<Targets, String> {
    let is_clear = |part: &str| part.contains('=') || !part.is_empty() && part.parse::<LevelFilter>().is_ok();
    text.split(',').all(is_clear).then(|| text.parse().ok()).flatten().ok_or_else(|| {
        format!(
            "expected a level such as `info`, or levels of modules such as `warn,trueup_server=debug`, but found `{text}`"
        )
    })
}

/// Returns the levels of [`LOG_VARIABLE`]; `info` if the variable is not set or empty.
fn log_levels_of_environment() -> Result<Targets, Failure> {
    let refused = |why| Failure::usage(format!("the variable {LOG_VARIABLE}: {why}"));
    match env::var(LOG_VARIABLE) {
        Ok(text) if !text.is_empty() => log_levels(&text).map_err(refused),
        Err(VarError::NotUnicode(text)) => log_levels(&text.to_string_lossy()).map_err(refused),
        Ok(_) | Err(VarError::NotPresent) => Ok(Targets::new().with_default(LevelFilter::INFO)),
    }
}

#[cfg(test)]
mod tests {
    use super::{listen_addresses, log_levels, without_data};
    use tracing::Level;

    #[test]
    fn without_a_host_all_addresses_are_meant() {
        let addresses = |text: &str| {
            listen_addresses(text).ok().map(|found| found.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(addresses(":8080").unwrap(), ["[::]:8080", "0.0.0.0:8080"]);
        assert_eq!(addresses("127.0.0.1:0").unwrap(), ["127.0.0.1:0"]);
        for text in ["", ":", "8080", "127.0.0.1", ":80808", "::8080", ":http"] {
            assert_eq!(addresses(text), None, "{text}");
        }
    }

    #[test]
    fn what_logs_data_is_named_or_has_warnings_alone() {
        const MODULE: &str = "rmcp::service";
        for (text, level) in [
            ("trace", Some(Level::WARN)),
            ("debug,rmcp::transport=trace", Some(Level::WARN)),
            ("error", Some(Level::ERROR)),
            ("off", None),
            ("trueup_server=debug", None),
            ("rmcp=debug", Some(Level::DEBUG)),
            ("warn,rmcp=trace", Some(Level::TRACE)),
        ] {
            let targets = without_data(log_levels(text).unwrap());
            let levels = [Level::TRACE, Level::DEBUG, Level::INFO, Level::WARN, Level::ERROR];
            assert_eq!(levels.into_iter().find(|level| targets.would_enable(MODULE, level)), level, "{text}");
        }
        assert!(without_data(log_levels("debug").unwrap()).would_enable("trueup_server::pipeline", &Level::DEBUG));
    }

    #[test]
    fn log_levels_are_parsed_and_other_words_refused() {
        for text in ["info", "WARN", "off", "warn,trueup_server=debug", "trueup=trace"] {
            assert!(log_levels(text).is_ok(), "{text}");
        }
        for text in ["loud", "", "info,", "info,trueup_server", "trueup=loud"] {
            assert!(log_levels(text).is_err(), "{text}");
        }
    }
}
