//! What is timed: a dataset, and the threads that it is asked with.

use crate::exit::Failure;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use trueup_core::query::EventsQuery;
use trueup_core::{Dataset, Execution, ResultTable};

/// A dataset that is open, and threads that wait for work; making either is no part of the time of a query.
pub(super) struct BenchTarget {
    folder: PathBuf,
    pub(super) dataset: Dataset,
    pool: ThreadPool,
    /// Threads of each caller; `None` if all callers share one per core.
    threads: Option<NonZeroUsize>,
}

/// How many questions are answered in a second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Throughput {
    pub(super) one: f64,
    pub(super) all: f64,
}

impl BenchTarget {
    pub(super) fn open(folder: &Path, threads: Option<NonZeroUsize>) -> Result<Self, Failure> {
        let dataset = Dataset::open(folder)?;
        Ok(Self { folder: folder.to_owned(), dataset, pool: pool(threads)?, threads })
    }

    /// The threads that one caller works with.
    pub(super) fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// Opens the dataset anew and asks.
    pub(super) fn cold(&self, query: &EventsQuery) -> Result<(Duration, ResultTable), Failure> {
        self.pool.install(|| {
            let begun = Instant::now();
            let dataset = Dataset::open(&self.folder)?;
            let answer = dataset.run(query, Execution::default())?;
            // What is held for further questions is dropped after the time is taken.
            Ok((begun.elapsed(), answer))
        })
    }

    /// Asks the dataset that is open.
    pub(super) fn hot(&self, query: &EventsQuery) -> Result<(Duration, ResultTable), Failure> {
        self.pool.install(|| {
            let begun = Instant::now();
            let answer = self.dataset.run(query, Execution::default())?;
            Ok((begun.elapsed(), answer))
        })
    }

    /// What one caller gets answered in a second, and what `callers` at once do, each asking `repeat` times.
    pub(super) fn throughput(&self, query: &EventsQuery, callers: usize, repeat: u32) -> Result<Throughput, Failure> {
        let own = match self.threads {
            Some(_) => (0..callers).map(|_| pool(self.threads)).collect::<Result<Vec<_>, _>>()?,
            None => Vec::new(),
        };
        let pools: Vec<&ThreadPool> = (0..callers).map(|caller| own.get(caller).unwrap_or(&self.pool)).collect();
        let one = self.answered(query, pools.get(..1).unwrap_or_default(), repeat)?;
        Ok(Throughput { one, all: self.answered(query, &pools, repeat)? })
    }

    /// Answers in a second, to one caller for each of `pools`.
    fn answered(&self, query: &EventsQuery, pools: &[&ThreadPool], repeat: u32) -> Result<f64, Failure> {
        let ask = |pool: &ThreadPool| {
            (0..repeat).try_for_each(|_| pool.install(|| self.dataset.run(query, Execution::default())).map(drop))
        };
        let begun = Instant::now();
        let ended: Vec<_> = thread::scope(|scope| {
            let callers: Vec<_> = pools.iter().map(|pool| scope.spawn(|| ask(pool))).collect();
            callers.into_iter().map(|caller| caller.join()).collect()
        });
        let time = begun.elapsed();
        for end in ended {
            end.map_err(|_| Failure::fault("a caller ended before its questions were answered"))??;
        }
        let answers: f64 = pools.iter().map(|_| f64::from(repeat)).sum();
        Ok(answers / time.as_secs_f64())
    }
}

fn pool(threads: Option<NonZeroUsize>) -> Result<ThreadPool, Failure> {
    let pool = ThreadPoolBuilder::new().num_threads(threads.map_or(0, NonZeroUsize::get)).build();
    pool.map_err(Failure::fault)
}
