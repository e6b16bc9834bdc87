//! Small Parquet files that expand to large tables. An ingest reads them within its memory, or refuses them.

use crate::hostile::write;
use arrow_array::{ArrayRef, Date32Array, DictionaryArray, Int32Array, RecordBatch, StringArray};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::schema::types::ColumnPath;
use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use tempfile::TempDir;
use trueup_ingest::Ingest;

/// The memory of the ingest, in bytes.
const MEMORY: usize = 64 << 20;

/// The most bytes that the process may take: a fifth more, and a fixed part.
const MAX_PEAK: usize = MEMORY / 5 * 6 + (200 << 20);

/// The environment variable that gives the process its input.
const FILE: &str = "TRUEUP_TEST_BOMB";

/// Returns sold events, one for each of `texts`, which are their campaigns.
fn events(texts: ArrayRef) -> RecordBatch {
    let count = i32::try_from(texts.len()).unwrap();
    let each = |text: &dyn Fn(i32) -> String| {
        Arc::new((0..count).map(|row| Some(text(row))).collect::<StringArray>()) as ArrayRef
    };
    let columns = [
        ("account", each(&|_: i32| "a".to_owned())),
        ("opportunityId", each(&|row: i32| row.to_string())),
        ("type", each(&|_| "sold".to_owned())),
        ("date", Arc::new(Date32Array::from_iter_values((0..count).map(|_| 20_000))) as ArrayRef),
        ("campaign", texts),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap()
}

/// Returns rows with the same text, which is in memory once.
fn repeated(text: &str, rows: usize) -> ArrayRef {
    let codes = Int32Array::from(vec![0; rows]);
    Arc::new(DictionaryArray::new(codes, Arc::new(StringArray::from(vec![text]))))
}

/// Ingests a file in a separate process. Returns the output of the process, and its peak memory in bytes.
fn ingest_in_process(path: &Path) -> (String, usize) {
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", "bombs::child", "--ignored", "--nocapture"])
        .env(FILE, path)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text} {}", String::from_utf8_lossy(&output.stderr));
    let peak =
        text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.trim().parse().ok());
    (text, peak.map_or(0, |kib: usize| kib << 10))
}

/// Not a test: the process that [`ingest_in_process`] starts.
#[test]
#[ignore = "run by the other tests in a separate process"]
fn child() {
    let Some(path) = env::var_os(FILE) else { return };
    let dataset = TempDir::new().unwrap();
    let taken = Ingest::into(dataset.path()).memory(MEMORY).threads(2).events(path).run(&());
    match taken {
        Ok(summary) => println!("\ntaken: {}", summary.events.taken),
        Err(error) => println!("\nrefused: {error}"),
    }
    println!("\n{}", fs::read_to_string("/proc/self/status").unwrap());
}

/// Ingests a Parquet file of these rows. Checks the outcome, and that the memory stays within its limit.
fn check_memory(name: &str, rows: &RecordBatch, properties: WriterPropertiesBuilder, expected: &str) {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("events.parquet");
    let zstd = Compression::ZSTD(ZstdLevel::default());
    write(&path, rows, properties.set_compression(zstd).set_max_row_group_row_count(None));
    let size = fs::metadata(&path).unwrap().len();
    assert!(size < 1 << 20, "{name}: {size}");
    let (output, peak) = ingest_in_process(&path);
    let outcome = output.lines().find(|line| line.starts_with("taken: ") || line.starts_with("refused: ")).unwrap();
    println!("{name}: {size} bytes took {} MiB: {outcome}", peak >> 20);
    assert!(outcome.contains(expected), "{name}: {outcome}");
    assert!(peak > 0 && peak < MAX_PEAK, "{name}: {} MiB", peak >> 20);
}

#[test]
#[cfg(target_os = "linux")]
fn a_page_that_expands_beyond_the_limit_is_refused() {
    let text = "a".repeat(150 << 20);
    let rows = events(Arc::new(StringArray::from(vec![text.as_str()])));
    let refused = "column `campaign`: a page takes 157286404 bytes of memory, and at most";
    check_memory("dictionary", &rows, WriterProperties::builder(), refused);
    let plain = WriterProperties::builder().set_dictionary_enabled(false);
    check_memory("page", &rows, plain, "column `campaign`: a page takes 15728");
}

#[test]
#[cfg(target_os = "linux")]
fn a_long_text_in_every_row_is_read_within_the_memory() {
    let rows = 500;
    let texts = repeated(&"a".repeat(1 << 20), rows);
    let campaign = ColumnPath::from("campaign");
    let plain = || {
        let properties = WriterProperties::builder().set_column_dictionary_enabled(campaign.clone(), false);
        properties.set_write_batch_size(4).set_data_page_row_count_limit(4)
    };
    let prefixes = plain().set_column_encoding(campaign.clone(), Encoding::DELTA_BYTE_ARRAY);
    let rows = events(texts);
    for (name, properties) in [("dictionary", WriterProperties::builder()), ("plain", plain()), ("prefixes", prefixes)]
    {
        check_memory(name, &rows, properties, "taken: 500");
    }
}
