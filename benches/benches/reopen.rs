//! The first query after an update: 10,000,000 events of 200 accounts over 24 months, the default seed of the
//! generator, in the page cache. Each update writes the histories of one in 500 customers, who are in all row groups,
//! to a new file, and supersedes their rows. No event changes, so that every answer must stay the same.
//!
//! `cargo bench -p trueup-benches --bench reopen` prints milliseconds: a hot query before the update, reopening, the
//! first query of a reopened dataset, a hot query of that dataset, and the first query of a dataset that was opened.
//! Then it prints those of a query before the update that is repeated with its result kept, and of the first one after
//! the update, which updates this result.
#![expect(clippy::unwrap_used, reason = "a benchmark")]

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Int32Type};
use arrow_array::{ArrayRef, BooleanArray, Int32Array, RecordBatch};
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use trueup_benches::{last_90_days, stored};
use trueup_core::dataset::manifest::{DataFile, FileList, Manifest};
use trueup_core::dataset::{
    BlockHasher, DeletionVector, describe_row_group, encode_list, encode_vectors, manifest_file,
};
use trueup_core::files::Files;
use trueup_core::query::{EventsQuery, Interval};
use trueup_core::{Dataset, Execution, ResultTable};

const EVENTS: u64 = 10_000_000;
const ACCOUNTS: u32 = 200;
/// An update touches one in this many customers.
const CUSTOMERS_PER_TOUCHED: i32 = 500;
const UPDATES: i32 = 3;
/// How often a query is measured; the median counts.
const ROUNDS: usize = 7;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let path = stored(folder.path(), EVENTS, ACCOUNTS).unwrap();
    let mut dataset = Dataset::open(&path).unwrap().with_column_budget(8 << 30).with_result_budget(1 << 30);
    let queries = queries(&dataset);
    println!(
        "update  query          hot  reopen  first  hot after  first of open  first / hot  again  updated  updated / hot"
    );
    for update in 1..=UPDATES {
        let answers: Vec<_> = queries.iter().map(|(_, query)| compute(&dataset, query)).collect();
        let events = dataset.event_rows();
        publish_update(&path, update);
        for ((name, query), answer) in queries.iter().zip(&answers) {
            let hot = median_of_rounds(|| timed(|| compute(&dataset, query)).0);
            let [mut reopening, mut first, mut after, mut of_open, mut again, mut updated] = [const { Vec::new() }; 6];
            for _ in 0..ROUNDS {
                let (time, reopened) = timed(|| dataset.reopen().unwrap().unwrap());
                reopening.push(time);
                let (time, found) = timed(|| compute(&reopened, query));
                first.push(time);
                assert_eq!((&found, reopened.event_rows()), (answer, events));
                after.push(timed(|| compute(&reopened, query)).0);
                let opened = Dataset::open(&path).unwrap();
                of_open.push(timed(|| opened.query(query).unwrap()).0);
                // What is kept is the result of the version before, because the one after has further rows.
                dataset.query(query).unwrap();
                again.push(timed(|| dataset.query(query).unwrap()).0);
                let (time, found) = timed(|| reopened.query(query).unwrap());
                assert_eq!(&found, answer);
                updated.push(time);
            }
            let [reopening, first, after, of_open, again, updated] =
                [reopening, first, after, of_open, again, updated].map(median);
            println!(
                "{update:>6}  {name:<13} {hot:>5.2}  {reopening:>6.2}  {first:>5.2}  {after:>9.2}  {of_open:>13.2}  {:>11.2}  {again:>5.2}  {updated:>7.2}  {:>13.3}",
                first / hot,
                updated / hot
            );
        }
        dataset = dataset.reopen().unwrap().unwrap();
    }
}

/// Returns queries of the suite: of 90 days and of all days, of all accounts and of one.
fn queries(dataset: &Dataset) -> Vec<(&'static str, EventsQuery)> {
    let (start, end) = last_90_days(dataset).unwrap();
    let all = dataset.date_range().unwrap();
    let account = dataset.accounts().iter().next().unwrap().key.clone();
    let five = |dimensions: &[&'static str]| {
        let metrics = ["leads", "customers", "bookRate", "closedRevenue", "conversions"];
        dimensions.iter().copied().chain(metrics).collect::<Vec<_>>()
    };
    vec![
        ("channel", EventsQuery::new(five(&["attributionChannel"]), start, end)),
        ("date", EventsQuery::new(five(&["date"]), start, end)),
        (
            "campaign-spend",
            EventsQuery::new(["campaign", "leads", "spend", "avgCostPerLead", "roasClosed"], start, end),
        ),
        ("account-month", EventsQuery::new(five(&["account"]), all.start, all.end).interval(Interval::Month)),
        ("one-account", EventsQuery::new(five(&["attributionCategory"]), start, end).accounts([account])),
    ]
}

/// Answers a query from all rows.
fn compute(dataset: &Dataset, query: &EventsQuery) -> ResultTable {
    dataset.run(query, Execution { reuse: false, ..Execution::default() }).unwrap()
}

/// Returns the milliseconds that `run` takes, and what it returns.
fn timed<T>(run: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let result = run();
    (start.elapsed().as_secs_f64() * 1_000.0, result)
}

fn median_of_rounds(mut measure: impl FnMut() -> f64) -> f64 {
    median((0..ROUNDS).map(|_| measure()).collect())
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Publishes the next version, in which other customers than in earlier updates are in a new file.
fn publish_update(folder: &Path, update: i32) {
    let mut manifest = manifest_file::read_latest(folder).unwrap().unwrap();
    let (mut vectors, mut touched) = (Vec::new(), Vec::new());
    // The files of the first version.
    for file in manifest.events.iter().filter(|file| !file.path.starts_with("events/update-")) {
        let (mut vector, mut of_file) = (DeletionVector::default(), Vec::new());
        for number in 0..file.row_groups.len() {
            let reader =
                ParquetRecordBatchReaderBuilder::try_new(File::open(folder.join(&file.path)).unwrap()).unwrap();
            let reader = reader.with_row_groups(vec![number]).build().unwrap();
            let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
            let rows = concat_batches(&batches[0].schema(), &batches).unwrap();
            let customers =
                rows.column_by_name("trueup.customer").unwrap().as_primitive::<Int32Type>().values().clone();
            let days = rows.column_by_name("date").unwrap().as_primitive::<Date32Type>().values().clone();
            let update_of = |row: &usize| customers[*row] % CUSTOMERS_PER_TOUCHED;
            let gone: Vec<usize> = (0..rows.num_rows()).filter(|row| update_of(row) == update).collect();
            let left = (0..rows.num_rows()).filter(|row| !(1..=update).contains(&update_of(row)));
            let left_days = left.clone().map(|row| days[row]).min().zip(left.map(|row| days[row]).max());
            if !gone.is_empty() {
                vector.supersede(file, number, gone.iter().map(|row| *row as u64..*row as u64 + 1), left_days);
            }
            let is_gone: BooleanArray = (0..rows.num_rows()).map(|row| Some(update_of(&row) == update)).collect();
            of_file.push(filter_record_batch(&rows, &is_gone).unwrap());
        }
        if vector.rows() > 0 {
            touched.push(concat_batches(&of_file[0].schema(), &of_file).unwrap());
            vectors.push((file.path.clone(), vector));
        }
    }
    let moved = write_touched(folder, update, &touched);
    let list = encode_list(std::slice::from_ref(&moved)).unwrap();
    let file = write(folder, format!("lists/update-{update}.parquet"), &list, 1);
    manifest.lists.events.push(FileList { file, removed: Vec::new() });
    manifest.events.push(moved);
    let bytes = encode_vectors(vectors.iter().map(|(path, vector)| (path.as_str(), vector))).unwrap();
    let file = write(folder, format!("vectors/update-{update}.parquet"), &bytes, vectors.len() as u64);
    manifest.deletion_vectors.push(file);
    for (path, vector) in vectors {
        Arc::make_mut(manifest.superseded.entry(path).or_default()).merge(&vector);
    }
    let next = Manifest { version: manifest.version + 1, ..manifest };
    let staging = tempfile::tempdir_in(folder).unwrap();
    manifest_file::publish(&Files::default(), folder, staging.path(), &next).unwrap();
}

/// Writes a file of events with a row group for each of `touched`, whose customers get new numbers.
fn write_touched(folder: &Path, update: i32, touched: &[RecordBatch]) -> DataFile {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, touched[0].schema(), None).unwrap();
    let mut next = -1;
    for rows in touched {
        let mut before = None;
        let numbers = rows.column_by_name("trueup.customer").unwrap().as_primitive::<Int32Type>().values().iter();
        let renumbered: Int32Array = numbers
            .map(|number| {
                next += i32::from(before.replace(*number) != Some(*number));
                next
            })
            .collect();
        let place = rows.schema().index_of("trueup.customer").unwrap();
        let mut columns: Vec<ArrayRef> = rows.columns().to_vec();
        columns[place] = Arc::new(renumbered);
        writer.write(&RecordBatch::try_new(rows.schema(), columns).unwrap()).unwrap();
        writer.flush().unwrap();
    }
    let footer = writer.close().unwrap();
    let rows = touched.iter().map(|rows| rows.num_rows() as u64).sum();
    let columns = footer.file_metadata().schema_descr().columns();
    DataFile {
        columns: columns.iter().map(|column| column.name().to_owned()).collect(),
        row_groups: footer.row_groups().iter().map(describe_row_group).collect(),
        ..write(folder, format!("events/update-{update}.parquet"), &bytes, rows)
    }
}

/// Writes a file, and returns its entry. Zeros stand for the digest, which only `trueup verify` compares.
fn write(folder: &Path, path: String, bytes: &[u8], rows: u64) -> DataFile {
    fs::create_dir_all(folder.join(&path).parent().unwrap()).unwrap();
    fs::write(folder.join(&path), bytes).unwrap();
    let mut blocks = BlockHasher::default();
    blocks.add(bytes);
    let (size, blocks, blake3) = (bytes.len() as u64, blocks.finish(), "0".repeat(64));
    DataFile { path, size, rows, blake3, blocks, ..DataFile::default() }
}
