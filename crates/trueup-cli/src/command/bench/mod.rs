//! `trueup bench`: how fast a dataset answers.

mod suite;

use super::threads;
use crate::exit::Failure;
use crate::output::Sink;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use trueup_core::{Dataset, Execution};

/// Time a suite of questions on a dataset
///
/// Each is asked of the dataset as it has just been opened, and then again and again; the medians are told.
#[derive(Debug, clap::Args)]
pub(crate) struct Bench {
    /// The folder of the dataset
    dataset: PathBuf,

    /// Ask each question so many times
    #[arg(long, value_name = "COUNT", default_value_t = 9)]
    repeat: usize,

    /// Ask only the question of this name; repeat it for several
    #[arg(long = "query", value_name = "NAME")]
    queries: Vec<String>,

    /// Work with so many threads; by default one per core
    #[arg(long, value_name = "COUNT", value_parser = threads::parse)]
    threads: Option<NonZeroUsize>,
}

impl Bench {
    pub(super) fn run(self) -> Result<(), Failure> {
        let dataset = Dataset::open(&self.dataset)?;
        let mut sink = Sink::stdout();
        let execution = Execution { threads: self.threads, ..Execution::default() };
        for case in suite::cases(&dataset)? {
            if !self.queries.is_empty() && !self.queries.iter().any(|name| name == case.name) {
                continue;
            }
            let cold = {
                let begun = Instant::now();
                Dataset::open(&self.dataset)?.run(&case.query, execution.clone())?;
                begun.elapsed()
            };
            let mut rows = dataset.run(&case.query, execution.clone())?.len();
            let mut times = Vec::new();
            for _ in 0..self.repeat {
                let begun = Instant::now();
                rows = dataset.run(&case.query, execution.clone())?.len();
                times.push(begun.elapsed());
            }
            times.sort_unstable();
            let ms = |time: Duration| time.as_secs_f64() * 1e3;
            writeln!(
                sink,
                "{:24} {rows:8} rows  cold {:9.2} ms  hot {:9.3} ms (least {:9.3})",
                case.name,
                ms(cold),
                ms(times[times.len() / 2]),
                ms(times[0])
            )
            .map_err(Failure::fault)?;
        }
        sink.finish(Ok(()))
    }
}
