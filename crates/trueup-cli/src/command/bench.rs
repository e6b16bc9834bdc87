//! `trueup bench`: measures how fast a dataset answers queries. [`suite`] holds the queries, [`measure`] measures each,
//! and [`report`] shows the measurements of a whole run. With `--on-request`, lines on stdin say what to measure.

mod measure;
mod report;
mod suite;

use super::block_cache::BlockCacheArgs;
use super::option_values;
use crate::exit::Failure;
use crate::notice;
use crate::output::OutputWriter;
use crate::progress::{self, Step};
use measure::{BenchTarget, Repetitions, Timings, milliseconds};
use report::{BenchFormat, ReportWriter};
use serde::Serialize;
use serde_json::value::RawValue;
use std::io::{BufRead, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use suite::BenchQuery;
use trueup::Shown;
use trueup::json;

const EXAMPLES: &str = "\
Examples:
  trueup bench my-data
  trueup bench my-data --query channel --query date --repeat 25 --threads 1
  trueup bench my-data --callers 8 --format json
  printf 'channel cold\\nchannel hot\\n' | trueup bench my-data --on-request";

/// What is said of a dataset without rows, for which the suite has no queries.
const NOTHING_TO_MEASURE: &str = "the dataset is empty, so there is nothing to measure";

/// Measure the time of a suite of queries on a dataset
///
/// The queries cover the last 90 days of the data, its last year, or all of it, and group by dimensions of the
/// dictionary. `cold` is the time of the first query after opening the dataset, opening included. `hot` is the median
/// time when the query is computed again. The first run of all is slower if the system has to read the files from disk.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BenchCommand {
    /// Folder or URL of the dataset
    dataset: PathBuf,

    /// Number of hot runs of each query, of which the median is shown
    #[arg(long, value_name = "COUNT", default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,

    /// Run only the query of this name; repeat the option for several
    #[arg(long = "query", value_name = "NAME")]
    queries: Vec<String>,

    /// Number of threads, from 1 to 1024; by default one per core
    #[arg(long, value_name = "COUNT", value_parser = option_values::threads)]
    threads: Option<NonZeroUsize>,

    /// Memory for decoded columns, such as 512MiB; by default 1GiB. Columns that do not fit are decoded again by each
    /// query that reads them, even by a hot one
    #[arg(long, value_name = "SIZE", value_parser = option_values::bytes)]
    memory: Option<usize>,

    /// Also run each query from this many callers at the same time, and compare their throughput with that of one
    /// caller
    ///
    /// Callers share the threads of the process, one per core, as in a service. With `--threads`, each caller has that
    /// many threads of its own.
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    callers: u16,

    /// Also repeat each query with its result kept, as a service does, and compare the time with that of a hot run
    #[arg(long)]
    again: bool,

    /// Also run each query as this many splits, one after the other, and compare the time with that of the whole query
    ///
    /// `factor` is the time in this process, merging and finishing included, divided by that of the whole query; `sent`
    /// is the factor when each partial result is also written as bytes and read.
    #[arg(long, value_name = "COUNT")]
    splits: Option<NonZeroUsize>,

    /// Format of the measurements
    #[arg(long, value_enum, default_value_t = BenchFormat::Table)]
    format: BenchFormat,

    /// Measure one query at a time, as requested by lines on stdin
    ///
    /// A line consists of the name of a query, a space, and a word: `hot` or `cold` (one time, in milliseconds; the
    /// first `hot` run of a query decodes its columns), `answer` (the rows, as from `trueup query --format json`), or
    /// `question` (fields, range, interval, accounts, conditions). Each line is answered by one line of JSON before the
    /// next line is read.
    #[arg(long, conflicts_with_all = ["repeat", "callers", "again", "splits", "format", "queries"])]
    on_request: bool,

    #[command(flatten)]
    cache: BlockCacheArgs,
}

impl BenchCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        self.cache.set()?;
        let target = BenchTarget::open(&self.dataset, self.threads, self.memory)?;
        let mut queries = suite::queries(&target.dataset)?;
        if self.on_request {
            return answer_requests(&queries, &target, std::io::stdin().lock());
        }
        for name in &self.queries {
            find(&queries, name)?;
        }
        if !self.queries.is_empty() {
            queries.retain(|query| self.queries.iter().any(|name| name == query.name));
        }
        if queries.is_empty() {
            notice::warning(NOTHING_TO_MEASURE);
        }
        let Self { repeat, splits, again, .. } = self;
        let repetitions = Repetitions { repeat, callers: self.callers.into(), splits, again };
        let mut writer = ReportWriter::new(&target, self.format);
        let step = Step::counted("measuring queries", queries.len() as u64);
        for query in &queries {
            step.rename(query.name);
            let timings = Timings::measure(query, &target, repetitions)?;
            progress::above(|| writer.add(timings))?;
            step.add(1);
        }
        drop(step);
        writer.finish()
    }
}

/// The response to `NAME hot` and `NAME cold`.
#[derive(Serialize)]
struct TimedResponse<'a> {
    name: &'a str,
    milliseconds: f64,
    rows: usize,
}

/// The response to `NAME answer`.
#[derive(Serialize)]
struct AnswerResponse<'a> {
    name: &'a str,
    rows: Box<RawValue>,
}

/// Answers each line of `lines` before it reads the next, so that another program can alternate between trueup and the
/// engines that it measures for comparison.
fn answer_requests(queries: &[BenchQuery], target: &BenchTarget, lines: impl BufRead) -> Result<(), Failure> {
    let mut out = OutputWriter::stdout();
    for line in lines.lines() {
        let line = line.map_err(|error| Failure::path(Path::new("-"), &error))?;
        if !line.trim().is_empty() {
            let written = answer_line(&line, queries, target, &mut out);
            // Flushes, because the other program waits for the response.
            out.finish(written)?;
        }
    }
    Ok(())
}

fn answer_line(
    line: &str,
    queries: &[BenchQuery],
    target: &BenchTarget,
    out: &mut OutputWriter,
) -> Result<(), Failure> {
    let (name, what) = line.trim().rsplit_once(' ').unwrap_or((line, ""));
    let bench = find(queries, name)?;
    let query = bench.query()?;
    match what {
        "question" => write(bench, out),
        "hot" | "cold" => {
            let (time, answer) = if what == "hot" { target.hot(&query)? } else { target.cold(&query)? };
            write(&TimedResponse { name, milliseconds: milliseconds(time), rows: answer.len() }, out)
        }
        "answer" => {
            let mut rows = Vec::new();
            json::write_rows(&target.hot(&query)?.1, &mut rows).map_err(Failure::fault)?;
            let rows = RawValue::from_string(String::from_utf8(rows).map_err(Failure::fault)?);
            write(&AnswerResponse { name, rows: rows.map_err(Failure::fault)? }, out)
        }
        _ => Err(Failure::request(format!(
            "expected a line `NAME hot`, `NAME cold`, `NAME answer` or `NAME question`, but found `{}`",
            Shown(line)
        ))),
    }
}

/// Returns the query of a name.
fn find<'a>(queries: &'a [BenchQuery], name: &str) -> Result<&'a BenchQuery, Failure> {
    queries.iter().find(|query| query.name == name).ok_or_else(|| {
        if queries.is_empty() {
            return Failure::request(NOTHING_TO_MEASURE);
        }
        let names: Vec<&str> = queries.iter().map(|query| query.name).collect();
        Failure::request(format!("expected one of the queries {}, but found `{}`", names.join(", "), Shown(name)))
    })
}

fn write(value: &impl Serialize, out: &mut OutputWriter) -> Result<(), Failure> {
    serde_json::to_writer(&mut *out, value).map_err(Failure::fault)?;
    writeln!(out).map_err(Failure::fault)
}
