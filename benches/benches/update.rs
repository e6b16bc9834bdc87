//! What an update costs: the last day of the generated data into a dataset with all days before, against that day alone
//! into an empty dataset; then the last days one by one, against a dataset that is built in one go.
//!
//! `cargo bench -p trueup-benches --bench update -- EVENTS DAYS YEARS FEWER` takes the events of the dataset, the days
//! that are ingested one by one, and the years of all events, 1 to 10. Without them, the numbers are small. `FEWER` is
//! the number of events of a second dataset with proportionally fewer years, so that its days have about the same size.
//! Its own last day is then ingested into its other days, too. As the accounts grow, the last day of more years has
//! more events; of these, only as many are ingested as the last day of fewer years has.
#![expect(clippy::unwrap_used, reason = "a benchmark")]

use arrow_array::cast::AsArray;
use arrow_array::types::Date32Type;
use arrow_array::{BooleanArray, RecordBatch};
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use trueup_benches::last_90_days;
use trueup_core::dataset::manifest_file;
use trueup_core::query::EventsQuery;
use trueup_core::{Dataset, Value};
use trueup_demo::{Generator, Settings};
use trueup_ingest::Ingest;

const ACCOUNTS: u32 = 200;

/// Without arguments: the number of events, of days that are ingested one by one, and of years.
const DEFAULT: (u64, usize, u32) = (200_000, 10, 2);

/// The year in which the generated data ends, on June 30.
const END: u32 = 2026;

fn main() {
    // Cargo adds an option of its own.
    let mut numbers = std::env::args().skip(1).filter_map(|argument| argument.parse::<u64>().ok());
    let events = numbers.next().unwrap_or(DEFAULT.0);
    let days = numbers.next().map_or(DEFAULT.1, |days| usize::try_from(days).unwrap());
    let years = numbers.next().map_or(DEFAULT.2, |years| u32::try_from(years).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let inputs = Inputs::write(&folder.path().join("inputs"), events, days, years);
    let fewer = numbers.next().map(|fewer| {
        let years = u32::try_from(u64::from(years) * fewer / events).unwrap();
        Inputs::write(&folder.path().join("fewer"), fewer, 1, years)
    });
    if let Some(fewer) = &fewer {
        thin(inputs.last(), rows_of(fewer.last()));
    }
    one_day(folder.path(), &inputs, fewer.as_ref());
    day_by_day(folder.path(), &inputs);
}

/// Files of events: all days but the last ones, and a file for each of these.
struct Inputs {
    before: PathBuf,
    days: Vec<PathBuf>,
}

impl Inputs {
    fn write(folder: &Path, events: u64, days: usize, years: u32) -> Self {
        fs::create_dir(folder).unwrap();
        let start = format!("{}-07-01", END - years).parse().unwrap();
        let settings = Settings { start, months: 12 * years, ..Settings::scale(events, ACCOUNTS) };
        let generator = Generator::new(settings).unwrap();
        let end = Date32Type::from_naive_date(generator.settings().end().unwrap());
        let first = end + 1 - i32::try_from(days).unwrap();
        let mut writers: BTreeMap<i32, ArrowWriter<File>> = BTreeMap::new();
        let path = |day: i32| folder.join(format!("{day}.parquet"));
        for batch in generator.events() {
            let batch = batch.unwrap();
            let dates = batch.column_by_name("date").unwrap().as_primitive::<Date32Type>();
            for day in first - 1..=end {
                let is_of_day = dates.iter().map(|date| Some(date.unwrap().max(first - 1) == day));
                let rows = filter_record_batch(&batch, &is_of_day.collect::<BooleanArray>()).unwrap();
                write(&mut writers, day, &path(day), &rows);
            }
        }
        writers.into_values().for_each(|writer| drop(writer.close().unwrap()));
        Self { before: path(first - 1), days: (first..=end).map(path).collect() }
    }

    /// Returns the file of the last day.
    fn last(&self) -> &Path {
        self.days.last().unwrap()
    }

    /// Ingests all days but the last.
    fn ingest_others(&self, into: &Path) -> Duration {
        let (_, others) = self.days.split_last().unwrap();
        ingest(into, &[std::slice::from_ref(&self.before), others].concat())
    }
}

fn write(writers: &mut BTreeMap<i32, ArrowWriter<File>>, day: i32, path: &Path, rows: &RecordBatch) {
    let new = || ArrowWriter::try_new(File::create(path).unwrap(), rows.schema(), None).unwrap();
    writers.entry(day).or_insert_with(new).write(rows).unwrap();
}

fn rows_of(path: &Path) -> usize {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    usize::try_from(reader.metadata().file_metadata().num_rows()).unwrap()
}

/// Leaves at most this many rows in a file, evenly taken from all.
fn thin(path: &Path, most: usize) {
    let rows = rows_of(path);
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
    let all = concat_batches(&batches[0].schema(), &batches).unwrap();
    let is_left: BooleanArray = (0..rows).map(|row| Some(row * most / rows != (row + 1) * most / rows)).collect();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), all.schema(), None).unwrap();
    writer.write(&filter_record_batch(&all, &is_left).unwrap()).unwrap();
    writer.close().unwrap();
}

/// Ingests events, and returns how long it takes.
fn ingest(into: &Path, events: &[impl AsRef<Path>]) -> Duration {
    let ingest = events.iter().fold(Ingest::into(into), |ingest, path| ingest.events(path));
    let start = Instant::now();
    assert!(ingest.run().unwrap().changed);
    start.elapsed()
}

/// Returns the bytes of all files below a folder.
fn bytes_below(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { bytes_below(&path) } else { fs::metadata(path).unwrap().len() }).sum()
}

/// Returns the bytes of the files of the newest version.
fn bytes_of_newest(dataset: &Path) -> u64 {
    manifest_file::read_latest(dataset).unwrap().unwrap().files().map(|file| file.size).sum()
}

/// Prints a figure, and its upper limit.
fn report(what: &str, figure: f64, most: &str) {
    println!("{what}: {figure:.2}x (at most {most})");
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn ratio(one: u64, other: u64) -> f64 {
    one as f64 / other as f64
}

/// Measures the last day into a dataset with all other days, and that day alone, in turns; with `fewer`, also the last
/// day of these inputs into their other days.
fn one_day(folder: &Path, inputs: &Inputs, fewer: Option<&Inputs>) {
    const TIMES: usize = 11;
    let last = inputs.last();
    let (base, base_of_fewer) = (folder.join("base"), folder.join("base-of-fewer"));
    let first = inputs.ingest_others(&base);
    if let Some(fewer) = fewer {
        fewer.ingest_others(&base_of_fewer);
    }
    let (mut alone, mut update, mut update_of_fewer, mut written) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for _ in 0..TIMES {
        let empty = folder.join("empty");
        alone.push(ingest(&empty, &[last]));
        fs::remove_dir_all(empty).unwrap();
        let before = bytes_below(&base);
        update.push(ingest(&base, &[last]));
        written = bytes_below(&base) - before;
        undo(&base);
        if let Some(fewer) = fewer {
            update_of_fewer.push(ingest(&base_of_fewer, &[fewer.last()]));
            undo(&base_of_fewer);
        }
    }
    let median = |mut times: Vec<Duration>| {
        times.sort();
        times[times.len() / 2]
    };
    let (alone, update) = (median(alone), median(update));
    let rows = Dataset::open(&base).unwrap().event_rows();
    println!("{rows} events ingested in {first:?}; a day alone in {alone:?}, into them in {update:?}");
    report("one day, against that day alone", update.as_secs_f64() / alone.as_secs_f64(), "5x");
    report("bytes written, against its Parquet file", ratio(written, fs::metadata(last).unwrap().len()), "20x");
    fs::remove_dir_all(base).unwrap();
    if fewer.is_some() {
        let update_of_fewer = median(update_of_fewer);
        let rows = Dataset::open(&base_of_fewer).unwrap().event_rows();
        println!("a day into {rows} events in {update_of_fewer:?}");
        report(
            "one day, against a day into fewer events",
            update.as_secs_f64() / update_of_fewer.as_secs_f64(),
            "1.5x",
        );
        fs::remove_dir_all(base_of_fewer).unwrap();
    }
}

/// Removes the newest version, and the files that only this version has.
fn undo(dataset: &Path) {
    let newest = manifest_file::read_latest(dataset).unwrap().unwrap();
    fs::remove_file(dataset.join(manifest_file::file_name(newest.version))).unwrap();
    let before = manifest_file::read_latest(dataset).unwrap().unwrap();
    let kept: Vec<&String> = before.files().map(|file| &file.path).collect();
    for file in newest.files().filter(|file| !kept.contains(&&file.path)) {
        fs::remove_file(dataset.join(&file.path)).unwrap();
    }
}

/// Ingests the last days one by one, and compares the dataset with one that is built in one go.
fn day_by_day(folder: &Path, inputs: &Inputs) {
    let (base, whole) = (folder.join("daily"), folder.join("whole"));
    ingest(&base, std::slice::from_ref(&inputs.before));
    let first = bytes_below(&base);
    let times: Vec<Duration> = inputs.days.iter().map(|day| ingest(&base, std::slice::from_ref(day))).collect();
    ingest(&whole, &[std::slice::from_ref(&inputs.before), &inputs.days].concat());
    let size = bytes_below(&whole);
    let slowest = times.iter().max().unwrap();
    println!("{} daily ingests in {:?}, the slowest in {slowest:?}", times.len(), times.iter().sum::<Duration>());
    report("bytes written by daily ingests, against the final dataset", ratio(bytes_below(&base) - first, size), "12x");
    report("disk of the last version, against a dataset built in one go", ratio(bytes_of_newest(&base), size), "1.4x");
    let manifest = manifest_file::read_latest(&base).unwrap().unwrap();
    println!("{} files of events, {} of vectors", manifest.events.len(), manifest.deletion_vectors.len());
    for is_hot in [true, false] {
        let times = [&base, &whole].map(|dataset| time_of_queries(dataset, is_hot));
        let name = if is_hot { "queries, hot" } else { "queries, cold" };
        report(name, times[0].as_secs_f64() / times[1].as_secs_f64(), if is_hot { "1.3x" } else { "1.5x" });
    }
    let answers = [&base, &whole].map(|dataset| leads(&Dataset::open(dataset).unwrap()));
    assert_eq!(answers[0], answers[1]);
}

/// Returns queries that read some and all of the data.
fn queries(dataset: &Dataset) -> Vec<EventsQuery> {
    let (start, end) = last_90_days(dataset).unwrap();
    let all = dataset.date_range().unwrap();
    let five = ["leads", "customers", "bookRate", "closedRevenue", "conversions"];
    let by = |dimensions: &[&'static str]| [dimensions, &five].concat();
    let account = dataset.account_keys().unwrap().into_iter().next().unwrap();
    vec![
        EventsQuery::new(by(&["attributionChannel"]), start, end),
        EventsQuery::new(by(&["date"]), start, end),
        EventsQuery::new(by(&["account"]), all.start, all.end).allow_long_total(),
        EventsQuery::new(by(&["attributionCategory"]), start, end).accounts([account]),
    ]
}

/// Returns the best time of all queries together, out of several: with decoded columns, or right after the dataset was
/// opened.
fn time_of_queries(dataset: &Path, is_hot: bool) -> Duration {
    let run = |dataset: &Dataset, queries: &[EventsQuery]| {
        let start = Instant::now();
        queries.iter().for_each(|query| assert!(!dataset.query(query).unwrap().is_empty()));
        start.elapsed()
    };
    let queries = queries(&Dataset::open(dataset).unwrap());
    let opened = Dataset::open(dataset).unwrap();
    run(&opened, &queries);
    let times = (0..7).map(|_| match is_hot {
        true => run(&opened, &queries),
        false => run(&Dataset::open(dataset).unwrap(), &queries),
    });
    times.min().unwrap()
}

/// Returns the leads of all of the data.
fn leads(dataset: &Dataset) -> Vec<u64> {
    let all = dataset.date_range().unwrap();
    let answer = dataset.query(&EventsQuery::new(["account", "leads"], all.start, all.end).allow_long_total()).unwrap();
    let leads = (0..answer.len()).map(|row| match answer.value(row, "leads") {
        Some(Value::Count(count)) => count,
        _ => 0,
    });
    leads.collect()
}
