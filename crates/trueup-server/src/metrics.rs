//! The figures of a server, in the text format of Prometheus. Requests and their bytes are counted when they end,
//! durations when the head of the answer is ready; everything else is read when somebody asks for the figures.

use crate::endpoint::ENDPOINTS;
use crate::readiness::NotReady;
use prometheus::core::Collector;
use prometheus::{
    Error, Gauge, GaugeVec, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts, Registry,
    TEXT_FORMAT, TextEncoder,
};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use trueup::ResultCacheCounts;

/// The content type of the text.
pub(crate) const CONTENT_TYPE: &str = TEXT_FORMAT;

/// The upper bounds of the buckets of durations, in seconds: from the time of a hot query to the default deadline.
const SECONDS: [f64; 15] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0];

/// The label of a request whose client was gone before there was an answer.
const NO_ANSWER: &str = "none";

/// The figures of a server.
pub(crate) struct Metrics {
    registry: Registry,
    requests: IntCounterVec,
    durations: HistogramVec,
    sent_bytes: IntCounterVec,
    /// Locked while the figures of a sample are set and written, so that they are of one moment.
    sampled: Mutex<SampledMetrics>,
}

/// What is true of a server at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) readiness: Result<(), NotReady>,
    pub(crate) connections: usize,
    pub(crate) max_connections: usize,
    /// Requests that a thread works on.
    pub(crate) running_requests: usize,
    pub(crate) max_running_requests: usize,
    /// Requests that wait for such a thread.
    pub(crate) waiting_requests: usize,
    /// `None` if the service has no memory budget.
    pub(crate) memory: Option<MemorySample>,
    /// Requests that wait for memory.
    pub(crate) waiting_for_memory: usize,
    pub(crate) column_bytes: usize,
    pub(crate) column_hits: u64,
    pub(crate) column_misses: u64,
    pub(crate) result_bytes: usize,
    pub(crate) results: ResultCacheCounts,
    pub(crate) dataset_version: u64,
    pub(crate) dataset_events: u64,
    /// `None` if it is unknown.
    pub(crate) dataset_committed: Option<SystemTime>,
    /// What made the version, and how many seconds that took; `None` if it is unknown.
    pub(crate) dataset_commit: Option<(&'static str, f64)>,
    pub(crate) dataset_opened: SystemTime,
    pub(crate) is_refresh_failing: bool,
    pub(crate) refresh_failures: u64,
}

/// The bytes of a memory budget.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemorySample {
    pub(crate) held: usize,
    pub(crate) peak: usize,
    pub(crate) limit: usize,
}

/// The metrics that are set from a [`Sample`].
struct SampledMetrics {
    ready: IntGauge,
    connections: IntGauge,
    max_connections: IntGauge,
    running_requests: IntGauge,
    max_running_requests: IntGauge,
    waiting_requests: IntGauge,
    memory_held: IntGauge,
    memory_peak: IntGauge,
    memory_limit: IntGauge,
    waiting_for_memory: IntGauge,
    column_bytes: IntGauge,
    column_hits: IntCounter,
    column_misses: IntCounter,
    result_bytes: IntGauge,
    reused_results: IntCounter,
    updated_results: IntCounter,
    computed_results: IntCounter,
    dataset_version: IntGauge,
    dataset_events: IntGauge,
    dataset_published: Gauge,
    dataset_commit: GaugeVec,
    dataset_opened: Gauge,
    refresh_failing: IntGauge,
    refresh_failures: IntCounter,
}

impl Metrics {
    /// Creates the metrics: all of them 0, except for the one that names the version of the program.
    ///
    /// # Errors
    /// A name is invalid or occurs twice, which no name does.
    pub(crate) fn new() -> Result<Self, Error> {
        let registry = Registry::new();
        let add = Adder(&registry);
        let build = add.registered(GaugeVec::new(
            Opts::new("trueup_build_info", "The version of the program, always 1"),
            &["version"],
        )?)?;
        build.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1.0);
        let requests = add.registered(IntCounterVec::new(
            Opts::new(
                "trueup_requests_total",
                "Requests that ended, by endpoint and status; the status is none if the client left before an answer",
            ),
            &["endpoint", "status"],
        )?)?;
        let durations = add.registered(HistogramVec::new(
            HistogramOpts::new(
                "trueup_request_duration_seconds",
                "Seconds from the head of a request to the head of its answer, the time in the queue included",
            )
            .buckets(SECONDS.to_vec()),
            &["endpoint"],
        )?)?;
        let sent_bytes = add.registered(IntCounterVec::new(
            Opts::new("trueup_response_bytes_total", "Bytes of the bodies of answers, as sent"),
            &["endpoint"],
        )?)?;
        // A series that appears with its first request would hide that request from a rate.
        for endpoint in ENDPOINTS {
            requests.with_label_values(&[endpoint, "200"]);
            durations.with_label_values(&[endpoint]);
            sent_bytes.with_label_values(&[endpoint]);
        }
        let sampled = Mutex::new(SampledMetrics::new(add)?);
        Ok(Self { registry, requests, durations, sent_bytes, sampled })
    }

    /// Records that the head of an answer is ready.
    pub(crate) fn answered(&self, endpoint: &str, after: Duration) {
        self.durations.with_label_values(&[endpoint]).observe(after.as_secs_f64());
    }

    /// Records that a request has ended. `status` is 0 if there was no answer.
    pub(crate) fn ended(&self, endpoint: &str, status: u16, bytes: u64) {
        let digits = status.to_string();
        let status = if status == 0 { NO_ANSWER } else { &digits };
        self.requests.with_label_values(&[endpoint, status]).inc();
        self.sent_bytes.with_label_values(&[endpoint]).inc_by(bytes);
    }

    /// Returns all figures.
    ///
    /// # Errors
    /// None: a text in memory can always be written.
    pub(crate) fn text(&self, sample: &Sample) -> Result<String, Error> {
        let sampled = self.sampled.lock().unwrap_or_else(PoisonError::into_inner);
        sampled.set(sample);
        TextEncoder::new().encode_to_string(&self.registry.gather())
    }
}

/// Adds metrics to a registry.
#[derive(Clone, Copy)]
struct Adder<'a>(&'a Registry);

impl Adder<'_> {
    fn registered<C: Collector + Clone + 'static>(self, metric: C) -> Result<C, Error> {
        self.0.register(Box::new(metric.clone()))?;
        Ok(metric)
    }

    fn count(self, name: &str, help: &str) -> Result<IntGauge, Error> {
        self.registered(IntGauge::new(name, help)?)
    }

    fn seconds(self, name: &str, help: &str) -> Result<Gauge, Error> {
        self.registered(Gauge::new(name, help)?)
    }

    fn counter(self, name: &str, help: &str) -> Result<IntCounter, Error> {
        self.registered(IntCounter::new(name, help)?)
    }
}

impl SampledMetrics {
    fn new(add: Adder<'_>) -> Result<Self, Error> {
        Ok(Self {
            ready: add.count("trueup_ready", "Whether /ready answers 200")?,
            connections: add.count("trueup_connections", "Open connections")?,
            max_connections: add.count("trueup_connections_max", "Limit of open connections")?,
            running_requests: add.count("trueup_requests_running", "Requests that a thread works on")?,
            max_running_requests: add.count("trueup_requests_running_max", "Limit of requests at once")?,
            waiting_requests: add.count("trueup_requests_waiting", "Requests that wait for a thread")?,
            memory_held: add.count(
                "trueup_memory_held_bytes",
                "Bytes of columns, running queries and unsent answers, which share one budget",
            )?,
            memory_peak: add.count("trueup_memory_peak_bytes", "Most bytes of the budget that were ever held")?,
            memory_limit: add.count("trueup_memory_limit_bytes", "Bytes of the budget; 0 if there is none")?,
            waiting_for_memory: add.count("trueup_memory_waiting", "Requests that wait for memory")?,
            column_bytes: add.count("trueup_column_cache_bytes", "Bytes of decoded columns that are held")?,
            column_hits: add.counter(
                "trueup_column_cache_hits_total",
                "Row groups whose columns were held when a query needed them",
            )?,
            column_misses: add.counter(
                "trueup_column_cache_misses_total",
                "Row groups whose columns had to be decoded for a query",
            )?,
            result_bytes: add.count("trueup_result_cache_bytes", "Bytes of kept results of earlier queries")?,
            reused_results: add.counter(
                "trueup_result_cache_reused_total",
                "Ranges of queries for which a result over the same rows was kept",
            )?,
            updated_results: add.counter(
                "trueup_result_cache_updated_total",
                "Ranges of queries for which a result over other rows was kept, and only the rows that differ were read",
            )?,
            computed_results: add.counter(
                "trueup_result_cache_computed_total",
                "Ranges of queries for which all rows were read",
            )?,
            dataset_version: add.count("trueup_dataset_version", "Version of the dataset that is served")?,
            dataset_events: add.count("trueup_dataset_events", "Events of the version that is served")?,
            dataset_published: add.seconds(
                "trueup_dataset_published_timestamp_seconds",
                "Unix time at which the version that is served was published; 0 if unknown",
            )?,
            dataset_commit: add.registered(GaugeVec::new(
                Opts::new(
                    "trueup_dataset_commit_duration_seconds",
                    "Seconds that an operation, such as an ingest, took to make the version that is served",
                ),
                &["operation"],
            )?)?,
            dataset_opened: add.seconds(
                "trueup_dataset_opened_timestamp_seconds",
                "Unix time at which the version that is served was opened",
            )?,
            refresh_failing: add.count(
                "trueup_dataset_refresh_failing",
                "Whether the newest version cannot be opened, so that an older one is served",
            )?,
            refresh_failures: add
                .counter("trueup_dataset_refresh_failures_total", "Attempts to open the newest version that failed")?,
        })
    }

    fn set(&self, sample: &Sample) {
        self.ready.set(i64::from(sample.readiness.is_ok()));
        self.connections.set(whole(sample.connections));
        self.max_connections.set(whole(sample.max_connections));
        self.running_requests.set(whole(sample.running_requests));
        self.max_running_requests.set(whole(sample.max_running_requests));
        self.waiting_requests.set(whole(sample.waiting_requests));
        self.memory_held.set(whole(sample.memory.map_or(0, |memory| memory.held)));
        self.memory_peak.set(whole(sample.memory.map_or(0, |memory| memory.peak)));
        self.memory_limit.set(whole(sample.memory.map_or(0, |memory| memory.limit)));
        self.waiting_for_memory.set(whole(sample.waiting_for_memory));
        self.column_bytes.set(whole(sample.column_bytes));
        set_counter(&self.column_hits, sample.column_hits);
        set_counter(&self.column_misses, sample.column_misses);
        self.result_bytes.set(whole(sample.result_bytes));
        set_counter(&self.reused_results, sample.results.reused);
        set_counter(&self.updated_results, sample.results.updated);
        set_counter(&self.computed_results, sample.results.computed);
        self.dataset_version.set(whole(sample.dataset_version));
        self.dataset_events.set(whole(sample.dataset_events));
        self.dataset_published.set(unix_seconds(sample.dataset_committed));
        // Removes the series of the version before, which may have another operation.
        self.dataset_commit.reset();
        if let Some((operation, seconds)) = sample.dataset_commit {
            self.dataset_commit.with_label_values(&[operation]).set(seconds);
        }
        self.dataset_opened.set(unix_seconds(Some(sample.dataset_opened)));
        self.refresh_failing.set(i64::from(sample.is_refresh_failing));
        set_counter(&self.refresh_failures, sample.refresh_failures);
    }
}

/// Sets a counter that is counted elsewhere.
fn set_counter(counter: &IntCounter, value: u64) {
    counter.reset();
    counter.inc_by(value);
}

fn whole(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

fn unix_seconds(time: Option<SystemTime>) -> f64 {
    time.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).map_or(0.0, |since| since.as_secs_f64())
}
