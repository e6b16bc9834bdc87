//! Runs the queries of the suite and measures their times.

use super::suite::BenchQuery;
use crate::exit::Failure;
use rayon::{ThreadPool, ThreadPoolBuilder};
use serde::{Serialize, Serializer};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use trueup::query::EventsQuery;
use trueup::{Dataset, Execution, Partial, ResultTable};

/// The dataset that is measured, already open, and the threads that run its queries. Creating either is not measured.
pub(super) struct BenchTarget {
    folder: PathBuf,
    pub(super) dataset: Dataset,
    pool: ThreadPool,
    /// Threads of each caller; `None` if all callers share one thread per core.
    threads: Option<NonZeroUsize>,
    /// The most bytes of decoded columns; `None` if the library decides.
    memory: Option<usize>,
}

/// The memory for results of earlier queries, of which only [repeated](BenchTarget::again) queries use some.
const RESULT_BYTES: usize = 1 << 30;

/// Opens a dataset that holds at most `memory` bytes of decoded columns; `None` lets the library decide.
fn open_dataset(folder: &Path, memory: Option<usize>) -> Result<Dataset, Failure> {
    Ok(memory.into_iter().fold(Dataset::open(folder)?, Dataset::with_column_budget))
}

impl BenchTarget {
    /// Opens the dataset, and starts `threads` threads; `None` means one per core.
    pub(super) fn open(folder: &Path, threads: Option<NonZeroUsize>, memory: Option<usize>) -> Result<Self, Failure> {
        let dataset = open_dataset(folder, memory)?.with_result_budget(RESULT_BYTES);
        Ok(Self { folder: folder.to_owned(), dataset, pool: pool(threads)?, threads, memory })
    }

    /// Returns the number of threads of one caller.
    pub(super) fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// Opens the dataset again and runs the query. The time includes both.
    pub(super) fn cold(&self, query: &EventsQuery) -> Result<(Duration, ResultTable), Failure> {
        self.pool.install(|| {
            let begun = Instant::now();
            let dataset = open_dataset(&self.folder, self.memory)?;
            let answer = dataset.run(query, Execution::default())?;
            // Read the clock before the decoded columns are freed.
            Ok((begun.elapsed(), answer))
        })
    }

    /// Runs the query on the open dataset, computing everything.
    pub(super) fn hot(&self, query: &EventsQuery) -> Result<(Duration, ResultTable), Failure> {
        self.run(query, computing())
    }

    /// Runs the query on the open dataset, using what is kept of earlier runs of it.
    fn again(&self, query: &EventsQuery) -> Result<(Duration, ResultTable), Failure> {
        self.run(query, Execution::default())
    }

    fn run(&self, query: &EventsQuery, execution: Execution) -> Result<(Duration, ResultTable), Failure> {
        self.pool.install(|| {
            let begun = Instant::now();
            let answer = self.dataset.run(query, execution)?;
            Ok((begun.elapsed(), answer))
        })
    }

    /// Runs the query on the open dataset as `splits` splits, one after the other. `carry` is what happens to each
    /// partial result before it is merged.
    fn split(
        &self,
        query: &EventsQuery,
        splits: NonZeroUsize,
        carry: impl Fn(Partial) -> Result<Partial, trueup::Error> + Sync,
    ) -> Result<Duration, Failure> {
        let execution = Execution::default();
        self.pool.install(|| {
            let begun = Instant::now();
            let mut merged = None::<Partial>;
            for split in self.dataset.plan_splits(query, splits)? {
                let partial = carry(self.dataset.run_split(query, &split, &execution)?)?;
                merged = Some(match merged {
                    Some(before) => before.merge(partial)?,
                    None => partial,
                });
            }
            let answer = merged.map(|merged| merged.finish(&self.dataset, query, &execution)).transpose()?;
            let time = begun.elapsed();
            drop(answer);
            Ok(time)
        })
    }

    /// Measures the throughput of one caller, and of `callers` at the same time. Each runs the query `repeat` times.
    fn throughput(&self, query: &EventsQuery, callers: usize, repeat: u32) -> Result<CallerTimings, Failure> {
        let own = match self.threads {
            Some(_) => (0..callers).map(|_| pool(self.threads)).collect::<Result<Vec<_>, _>>()?,
            None => Vec::new(),
        };
        let pools: Vec<&ThreadPool> = (0..callers).map(|caller| own.get(caller).unwrap_or(&self.pool)).collect();
        let one = self.answers_per_second(query, pools.get(..1).unwrap_or_default(), repeat)?;
        let all = self.answers_per_second(query, &pools, repeat)?;
        Ok(CallerTimings { callers, answers_per_second_of_one: one, answers_per_second: all, gain: all / one })
    }

    /// Returns the answers per second with one caller for each of `pools`.
    fn answers_per_second(&self, query: &EventsQuery, pools: &[&ThreadPool], repeat: u32) -> Result<f64, Failure> {
        let call = |pool: &ThreadPool| {
            (0..repeat).try_for_each(|_| pool.install(|| self.dataset.run(query, computing())).map(drop))
        };
        let begun = Instant::now();
        let ended: Vec<_> = thread::scope(|scope| {
            let callers: Vec<_> = pools.iter().map(|pool| scope.spawn(|| call(pool))).collect();
            callers.into_iter().map(|caller| caller.join()).collect()
        });
        let time = begun.elapsed();
        for end in ended {
            end.map_err(|_| Failure::fault("a caller ended before its queries were answered"))??;
        }
        let answers: f64 = pools.iter().map(|_| f64::from(repeat)).sum();
        Ok(answers / time.as_secs_f64())
    }
}

/// Returns how queries are executed whose computation is measured.
fn computing() -> Execution {
    Execution { reuse: false, ..Execution::default() }
}

fn pool(threads: Option<NonZeroUsize>) -> Result<ThreadPool, Failure> {
    let pool = ThreadPoolBuilder::new().num_threads(threads.map_or(0, NonZeroUsize::get)).build();
    pool.map_err(Failure::fault)
}

/// How often to run each query, and from how many callers at the same time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repetitions {
    pub(super) repeat: u32,
    pub(super) callers: usize,
    /// The number of splits to run each query as, if that is measured.
    pub(super) splits: Option<NonZeroUsize>,
    /// Whether repeated queries are measured that use what is kept of earlier ones.
    pub(super) again: bool,
}

/// The measurements of one query.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Timings {
    pub(super) name: &'static str,
    /// Rows of the result.
    pub(super) rows: usize,
    /// Time of the first run after opening the dataset, opening included.
    #[serde(rename = "coldMilliseconds", serialize_with = "as_milliseconds")]
    pub(super) cold: Duration,
    /// Median time of the repeated runs.
    #[serde(rename = "hotMilliseconds", serialize_with = "as_milliseconds")]
    pub(super) hot: Duration,
    /// Shortest time of the repeated runs.
    #[serde(rename = "leastMilliseconds", serialize_with = "as_milliseconds")]
    pub(super) least: Duration,
    /// Events of the whole dataset, divided by the median time.
    pub(super) events_per_second: f64,
    /// Stored bytes of the columns that the query reads, in the row groups that pruning keeps.
    pub(super) bytes_read: u64,
    pub(super) row_groups_kept: usize,
    pub(super) row_groups_skipped: usize,
    /// The time of a repeated query, if it was measured.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(super) again: Option<RepeatedTimings>,
    /// The throughput of several callers, if it was measured.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(super) callers: Option<CallerTimings>,
    /// The time as splits, if it was measured.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(super) splits: Option<SplitTimings>,
}

/// The time of a query that was run as splits.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SplitTimings {
    pub(super) splits: NonZeroUsize,
    /// Median time.
    #[serde(rename = "splitMilliseconds", serialize_with = "as_milliseconds")]
    pub(super) time: Duration,
    /// The median time, divided by that of the whole query.
    #[serde(rename = "splitFactor")]
    pub(super) factor: f64,
    /// The same with each partial result written as bytes and read.
    #[serde(rename = "sentFactor")]
    pub(super) sent_factor: f64,
    /// Bytes of all partial results.
    pub(super) partial_bytes: usize,
}

/// The time of a query that uses what is kept of an earlier run of it.
#[derive(Debug, Serialize)]
pub(super) struct RepeatedTimings {
    /// Median time.
    #[serde(rename = "againMilliseconds", serialize_with = "as_milliseconds")]
    pub(super) time: Duration,
    /// The median time, divided by that of a query that is computed.
    #[serde(rename = "againFactor")]
    pub(super) factor: f64,
}

/// The throughput of several callers at the same time.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallerTimings {
    pub(super) callers: usize,
    pub(super) answers_per_second_of_one: f64,
    pub(super) answers_per_second: f64,
    /// Throughput of all callers, divided by that of one.
    pub(super) gain: f64,
}

impl Timings {
    /// Runs a query and measures it.
    pub(super) fn measure(bench: &BenchQuery, target: &BenchTarget, repetitions: Repetitions) -> Result<Self, Failure> {
        let query = bench.query()?;
        let explanation = target.dataset.explain(&query)?;
        let (cold, _) = target.cold(&query)?;
        // This run decodes the columns, so its time is not counted as hot.
        let (_, answer) = target.hot(&query)?;
        let (mut times, mut split_times, mut sent_times) = (Vec::new(), Vec::new(), Vec::new());
        let partial_bytes = AtomicUsize::new(0);
        let send = |partial: Partial| {
            let bytes = partial.to_bytes()?;
            partial_bytes.fetch_add(bytes.len(), Ordering::Relaxed);
            Ok(Partial::from_bytes(&bytes)?)
        };
        for _ in 0..repetitions.repeat {
            times.push(target.hot(&query)?.0);
            if let Some(splits) = repetitions.splits {
                split_times.push(target.split(&query, splits, Ok)?);
                partial_bytes.store(0, Ordering::Relaxed);
                sent_times.push(target.split(&query, splits, send)?);
            }
        }
        times.sort_unstable();
        let hot = median(&times);
        let again =
            if repetitions.again { Some(RepeatedTimings::measure(&query, target, repetitions, hot)?) } else { None };
        let splits = repetitions.splits.map(|splits| {
            split_times.sort_unstable();
            sent_times.sort_unstable();
            let time = median(&split_times);
            let factor = |time: Duration| time.as_secs_f64() / hot.as_secs_f64();
            let (sent_factor, partial_bytes) = (factor(median(&sent_times)), partial_bytes.into_inner());
            SplitTimings { splits, time, factor: factor(time), sent_factor, partial_bytes }
        });
        let callers = match repetitions.callers {
            0 | 1 => None,
            callers => Some(target.throughput(&query, callers, repetitions.repeat)?),
        };
        Ok(Self {
            name: bench.name,
            rows: answer.len(),
            cold,
            hot,
            least: times.first().copied().unwrap_or_default(),
            events_per_second: as_double(target.dataset.event_rows()) / hot.as_secs_f64(),
            bytes_read: explanation.stored_bytes,
            row_groups_kept: explanation.event_row_groups.kept + explanation.spend_row_groups.kept,
            row_groups_skipped: explanation.event_row_groups.skipped + explanation.spend_row_groups.skipped,
            again,
            callers,
            splits,
        })
    }
}

impl RepeatedTimings {
    /// Measures a query that takes `hot` when it is computed.
    fn measure(
        query: &EventsQuery,
        target: &BenchTarget,
        repetitions: Repetitions,
        hot: Duration,
    ) -> Result<Self, Failure> {
        // This run keeps the result.
        target.again(query)?;
        let again = |_| target.again(query).map(|(time, _)| time);
        let mut times = (0..repetitions.repeat).map(again).collect::<Result<Vec<_>, _>>()?;
        times.sort_unstable();
        let time = median(&times);
        Ok(Self { time, factor: time.as_secs_f64() / hot.as_secs_f64() })
    }
}

/// Returns the median of sorted times.
fn median(times: &[Duration]) -> Duration {
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Returns a time in milliseconds.
pub(super) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn as_milliseconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(milliseconds(*time))
}

#[expect(clippy::cast_precision_loss, reason = "a rate is shown with a few digits")]
pub(super) const fn as_double(count: u64) -> f64 {
    count as f64
}
