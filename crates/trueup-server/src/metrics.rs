//! The figures of a server, in the text format of Prometheus. Requests and their bytes are counted when they end,
//! durations when the head of the answer is ready; everything else is read when somebody asks for the figures.

use crate::endpoint::ENDPOINTS;
use crate::request_queue::RequestQueue;
use crate::slots::ConnectionSlots;
use prometheus::core::Collector;
use prometheus::{
    Error, Gauge, GaugeVec, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts, Registry,
    TEXT_FORMAT, TextEncoder,
};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use trueup::service::Service;
use trueup::{Dataset, MemoryBudget};

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

/// Where the figures of a server at one moment come from.
pub(crate) struct Sample<'a> {
    pub(crate) is_ready: bool,
    pub(crate) slots: &'a ConnectionSlots,
    pub(crate) queue: &'a RequestQueue,
    pub(crate) service: &'a Service,
    pub(crate) dataset: Arc<Dataset>,
    pub(crate) is_refresh_failing: bool,
    pub(crate) refresh_failures: u64,
}

/// A metric that is read from a [`Sample`]: its name, what it is, and where its number is found.
type Sampled<T> = (&'static str, &'static str, fn(&Sample<'_>) -> T);

const GAUGES: [Sampled<i64>; 15] = [
    ("trueup_ready", "Whether /ready answers 200", |sample| i64::from(sample.is_ready)),
    ("trueup_connections", "Open connections", |sample| whole(sample.slots.open_connections())),
    ("trueup_connections_max", "Limit of open connections", |sample| whole(sample.slots.limit())),
    ("trueup_requests_running", "Requests that a thread works on", |sample| whole(sample.queue.running())),
    ("trueup_requests_running_max", "Limit of requests at once", |sample| whole(sample.queue.limit())),
    ("trueup_requests_waiting", "Requests that wait for a thread", |sample| whole(sample.queue.waiting())),
    (
        "trueup_memory_held_bytes",
        "Bytes of columns, running queries and unsent answers, which share one budget",
        |sample| memory(sample, MemoryBudget::held),
    ),
    ("trueup_memory_peak_bytes", "Most bytes of the budget that were ever held", |sample| {
        memory(sample, MemoryBudget::peak)
    }),
    ("trueup_memory_limit_bytes", "Bytes of the budget; 0 if there is none", |sample| {
        memory(sample, MemoryBudget::limit)
    }),
    ("trueup_memory_waiting", "Requests that wait for memory", |sample| whole(sample.service.waiting_for_memory())),
    ("trueup_column_cache_bytes", "Bytes of decoded columns that are held", |sample| {
        whole(sample.dataset.held_column_bytes())
    }),
    ("trueup_result_cache_bytes", "Bytes of kept results of earlier queries", |sample| {
        whole(sample.dataset.held_result_bytes())
    }),
    ("trueup_dataset_version", "Version of the dataset that is served", |sample| {
        whole(sample.dataset.manifest().map_or(0, |manifest| manifest.version))
    }),
    ("trueup_dataset_events", "Events of the version that is served", |sample| whole(sample.dataset.event_rows())),
    (
        "trueup_dataset_refresh_failing",
        "Whether the newest version cannot be opened, so that an older one is served",
        |sample| i64::from(sample.is_refresh_failing),
    ),
];

const COUNTERS: [Sampled<u64>; 6] = [
    ("trueup_column_cache_hits_total", "Row groups whose columns were held when a query needed them", |sample| {
        sample.dataset.column_cache_counts().hits
    }),
    ("trueup_column_cache_misses_total", "Row groups whose columns had to be decoded for a query", |sample| {
        sample.dataset.column_cache_counts().misses
    }),
    (
        "trueup_result_cache_reused_total",
        "Ranges of queries for which a result over the same rows was kept",
        |sample| sample.dataset.result_cache_counts().reused,
    ),
    (
        "trueup_result_cache_updated_total",
        "Ranges of queries for which a result over other rows was kept, and only the rows that differ were read",
        |sample| sample.dataset.result_cache_counts().updated,
    ),
    ("trueup_result_cache_computed_total", "Ranges of queries for which all rows were read", |sample| {
        sample.dataset.result_cache_counts().computed
    }),
    ("trueup_dataset_refresh_failures_total", "Attempts to open the newest version that failed", |sample| {
        sample.refresh_failures
    }),
];

const TIMES: [Sampled<f64>; 2] = [
    (
        "trueup_dataset_published_timestamp_seconds",
        "Unix time at which the version that is served was published; 0 if unknown",
        |sample| unix_seconds(sample.dataset.committed().map(SystemTime::from)),
    ),
    ("trueup_dataset_opened_timestamp_seconds", "Unix time at which the version that is served was opened", |sample| {
        unix_seconds(Some(sample.dataset.opened()))
    }),
];

/// A metric, and where its number is found.
type Reader<M, T> = (M, fn(&Sample<'_>) -> T);

/// The metrics that are set from a [`Sample`].
struct SampledMetrics {
    gauges: Vec<Reader<IntGauge, i64>>,
    counters: Vec<Reader<IntCounter, u64>>,
    times: Vec<Reader<Gauge, f64>>,
    dataset_commit: GaugeVec,
}

impl Metrics {
    /// Creates the metrics: all of them 0, except for the one that names the version of the program.
    ///
    /// # Errors
    /// A name is invalid or occurs twice, which no name does.
    pub(crate) fn new() -> Result<Self, Error> {
        let registry = Registry::new();
        let build = registered(
            &registry,
            GaugeVec::new(Opts::new("trueup_build_info", "The version of the program, always 1"), &["version"])?,
        )?;
        build.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1.0);
        let requests = registered(
            &registry,
            IntCounterVec::new(
                Opts::new(
                    "trueup_requests_total",
                    "Requests that ended, by endpoint and status; the status is none if the client left before an answer",
                ),
                &["endpoint", "status"],
            )?,
        )?;
        let durations = registered(
            &registry,
            HistogramVec::new(
                HistogramOpts::new(
                    "trueup_request_duration_seconds",
                    "Seconds from the head of a request to the head of its answer, the time in the queue included",
                )
                .buckets(SECONDS.to_vec()),
                &["endpoint"],
            )?,
        )?;
        let sent_bytes = registered(
            &registry,
            IntCounterVec::new(
                Opts::new("trueup_response_bytes_total", "Bytes of the bodies of answers, as sent"),
                &["endpoint"],
            )?,
        )?;
        // A series that appears with its first request would hide that request from a rate.
        for endpoint in ENDPOINTS {
            requests.with_label_values(&[endpoint, "200"]);
            durations.with_label_values(&[endpoint]);
            sent_bytes.with_label_values(&[endpoint]);
        }
        let sampled = Mutex::new(SampledMetrics::new(&registry)?);
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
    pub(crate) fn text(&self, sample: &Sample<'_>) -> Result<String, Error> {
        let sampled = self.sampled.lock().unwrap_or_else(PoisonError::into_inner);
        sampled.set(sample);
        TextEncoder::new().encode_to_string(&self.registry.gather())
    }
}

/// Adds a metric to a registry.
fn registered<M: Collector + Clone + 'static>(registry: &Registry, metric: M) -> Result<M, Error> {
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

/// Adds metrics that are read from a sample to a registry.
fn sampled<M: Collector + Clone + 'static, T>(
    registry: &Registry,
    metrics: impl IntoIterator<Item = Sampled<T>>,
    new: fn(&'static str, &'static str) -> Result<M, Error>,
) -> Result<Vec<Reader<M, T>>, Error> {
    metrics.into_iter().map(|(name, help, read)| Ok((registered(registry, new(name, help)?)?, read))).collect()
}

impl SampledMetrics {
    fn new(registry: &Registry) -> Result<Self, Error> {
        let dataset_commit = GaugeVec::new(
            Opts::new(
                "trueup_dataset_commit_duration_seconds",
                "Seconds that an operation, such as an ingest, took to make the version that is served",
            ),
            &["operation"],
        )?;
        Ok(Self {
            gauges: sampled(registry, GAUGES, IntGauge::new)?,
            counters: sampled(registry, COUNTERS, IntCounter::new)?,
            times: sampled(registry, TIMES, Gauge::new)?,
            dataset_commit: registered(registry, dataset_commit)?,
        })
    }

    fn set(&self, sample: &Sample<'_>) {
        self.gauges.iter().for_each(|(gauge, read)| gauge.set(read(sample)));
        self.counters.iter().for_each(|(counter, read)| set_counter(counter, read(sample)));
        self.times.iter().for_each(|(gauge, read)| gauge.set(read(sample)));
        // Removes the series of the version before, which may have another operation.
        self.dataset_commit.reset();
        // A dataset in memory has no manifest.
        if let Some(commit) = sample.dataset.manifest().map(|manifest| manifest.commit) {
            let seconds = Duration::from_millis(commit.duration_ms).as_secs_f64();
            self.dataset_commit.with_label_values(&[commit.operation.name()]).set(seconds);
        }
    }
}

/// Returns a number of the memory budget; 0 if the service has none.
fn memory(sample: &Sample<'_>, number: fn(&MemoryBudget) -> usize) -> i64 {
    sample.service.memory_budget().map_or(0, |budget| whole(number(budget)))
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
