//! Parquet inputs that are damaged or contradict themselves, and small ones that expand to large tables. Each is
//! ingested within the memory or refused, and none makes the program panic.

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Int32Array, Int64Array, RecordBatch,
    StringArray, TimestampMicrosecondArray,
};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::{ParquetMetaDataReader, ParquetMetaDataWriter};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::schema::types::ColumnPath;
use std::env;
use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use tempfile::TempDir;
use trueup_ingest::{Ingest, IngestError};
use trueup_testkit::damage::mutate;
use trueup_testkit::random::Random;

/// The number of changes that are tried for each layout.
const CASES: u64 = 25;

/// The memory of the ingest, in bytes.
const MEMORY: usize = 64 << 20;

/// The most bytes that the process may take: a fifth more than `MEMORY`, and a fixed part.
pub(crate) const MAX_PEAK: usize = MEMORY / 5 * 6 + (200 << 20);

/// The environment variable that gives the process its input.
const FILE: &str = "TRUEUP_TEST_BOMB";

/// Changes some bytes. Half of the time all of them are in the second half of the file, which has the footer: it is
/// short, and everything depends on it.
fn damage(bytes: &mut [u8], random: &mut Random) {
    let from = if random.index(2) == 0 { bytes.len() / 2 } else { 0 };
    mutate(&mut bytes[from..], random);
}

/// Returns events with columns of several types.
fn rows(count: i64) -> RecordBatch {
    let texts =
        |text: &dyn Fn(i64) -> Option<String>| Arc::new((0..count).map(text).collect::<StringArray>()) as ArrayRef;
    let days = || (0..count).map(|row| 20_000 + i32::try_from(row % 50).unwrap());
    let amounts =
        Decimal128Array::from_iter((0..count).map(|row| (row % 3 > 0).then_some(i128::from(row) * 1_000_000)));
    let instants = TimestampMicrosecondArray::from_iter_values(days().map(|day| i64::from(day) * 86_400_000_000));
    let columns: [(&str, ArrayRef); 10] = [
        ("account", texts(&|row| Some(format!("account {}", row / 40)))),
        ("opportunityId", texts(&|row| Some(format!("customer {}", row / 2)))),
        ("type", texts(&|row| Some(["lead-originated", "sold"][usize::try_from(row % 2).unwrap()].to_owned()))),
        ("date", Arc::new(Date32Array::from_iter_values(days()))),
        ("dateTime", Arc::new(instants.with_timezone("UTC"))),
        ("total", Arc::new(amounts.with_precision_and_scale(18, 6).unwrap())),
        ("campaign", texts(&|row| (row % 5 > 0).then(|| format!("campaign {}", row % 4)))),
        ("url", texts(&|row| Some(format!("https://example.org/{row}")))),
        ("flag", Arc::new((0..count).map(|row| Some(row % 3 == 0)).collect::<BooleanArray>())),
        ("visits", Arc::new((0..count).map(|row| (row % 4 > 0).then_some(row)).collect::<Int64Array>())),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap()
}

fn write(path: &Path, rows: &RecordBatch, properties: WriterPropertiesBuilder) {
    let properties = Some(properties.build());
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), rows.schema(), properties).unwrap();
    writer.write(rows).unwrap();
    writer.close().unwrap();
}

/// Returns ways of writing a Parquet file.
fn layouts() -> Vec<WriterPropertiesBuilder> {
    let plain = || WriterProperties::builder().set_dictionary_enabled(false);
    let with = |properties: WriterPropertiesBuilder, columns: &[&str], encoding| {
        columns
            .iter()
            .fold(properties, |properties, column| properties.set_column_encoding(ColumnPath::from(*column), encoding))
    };
    let prefixes = ["account", "opportunityId", "url"];
    let delta = with(plain(), &["date", "dateTime", "visits", "total"], Encoding::DELTA_BINARY_PACKED);
    let delta = with(delta, &prefixes, Encoding::DELTA_BYTE_ARRAY);
    let split = with(plain(), &["date", "dateTime", "visits"], Encoding::BYTE_STREAM_SPLIT);
    let split = with(split, &prefixes, Encoding::DELTA_LENGTH_BYTE_ARRAY);
    let zstd = Compression::ZSTD(ZstdLevel::default());
    vec![
        WriterProperties::builder(),
        WriterProperties::builder().set_writer_version(WriterVersion::PARQUET_2_0),
        WriterProperties::builder().set_compression(zstd),
        WriterProperties::builder().set_compression(Compression::SNAPPY),
        plain(),
        delta.clone(),
        delta.set_writer_version(WriterVersion::PARQUET_2_0),
        split,
    ]
}

fn ingest(path: &Path) -> Result<u64, IngestError> {
    let dataset = TempDir::new().unwrap();
    Ingest::into(dataset.path()).memory(1 << 20).threads(1).events(path).run().map(|summary| summary.events.taken)
}

#[test]
fn a_damaged_parquet_input_never_makes_an_ingest_panic() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("events.parquet");
    let rows = rows(200);
    for (seed, properties) in (1..).zip(layouts()) {
        write(&path, &rows, properties.set_max_row_group_row_count(Some(70)));
        assert_eq!(ingest(&path).unwrap(), 200);
        let bytes = fs::read(&path).unwrap();
        let mut random = Random::new(seed);
        let mut refused = 0;
        for case in 0..CASES {
            let mut changed = bytes.clone();
            damage(&mut changed, &mut random);
            fs::write(&path, &changed).unwrap();
            let path = AssertUnwindSafe(&path);
            let taken = catch_unwind(|| ingest(&path));
            assert!(taken.is_ok(), "layout {seed}, case {case}");
            refused += usize::from(taken.unwrap().is_err());
        }
        assert!(refused > 0, "layout {seed}");
    }
}

#[test]
fn a_message_names_the_column_of_a_page_that_cannot_be_decoded() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("events.parquet");
    let rows = rows(60);
    write(&path, &rows, WriterProperties::builder().set_dictionary_enabled(false));
    let bytes = fs::read(&path).unwrap();
    // Make the length of one text so large that the text ends far beyond the page.
    let text = b"https://example.org/33";
    let at = bytes.windows(text.len()).position(|window| window == text).unwrap() - 4;
    let mut changed = bytes.clone();
    changed[at..at + 4].fill(0xff);
    fs::write(&path, &changed).unwrap();
    let refused = ingest(&path).unwrap_err().to_string();
    let expected = format!(
        "`{}`: row group 0 (counted from 0) of the Parquet file cannot be read: column `url`: ",
        path.display()
    );
    assert!(refused.starts_with(&expected), "{refused}");
}

#[test]
fn a_footer_that_contradicts_its_pages_is_refused() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("events.parquet");
    write(&path, &rows(60), WriterProperties::builder());
    let bytes = Bytes::from(fs::read(&path).unwrap());
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&bytes).unwrap();
    let length = u32::from_le_bytes(bytes[bytes.len() - 8..][..4].try_into().unwrap());
    let pages = bytes.len() - 8 - usize::try_from(length).unwrap();
    // Ingests the file after its footer has got another number of rows and another offset of the column `url`.
    let changed = |rows: i64, data_page: Option<i64>| {
        let row_group = metadata.row_group(0).clone();
        let mut columns = row_group.columns().to_vec();
        if let Some(at) = data_page {
            columns[7] = columns[7]
                .clone()
                .into_builder()
                .set_dictionary_page_offset(None)
                .set_data_page_offset(at)
                .build()
                .unwrap();
        }
        let row_group = row_group.into_builder().set_num_rows(rows).set_column_metadata(columns).build().unwrap();
        let changed = metadata.clone().into_builder().set_row_groups(vec![row_group]).build();
        let mut file = bytes[..pages].to_vec();
        ParquetMetaDataWriter::new(&mut file, &changed).finish().unwrap();
        fs::write(&path, file).unwrap();
        ingest(&path).map_err(|error| error.to_string())
    };
    assert_eq!(changed(60, None).unwrap(), 60);
    for rows in [0, 59, 61, i64::MAX, -1] {
        let refused = changed(rows, None).unwrap_err();
        assert!(refused.contains("column `account`: 60 rows, but the footer says"), "{refused}");
    }
    for at in [-1, i64::MIN, i64::MAX, 1 << 40] {
        let refused = changed(60, Some(at)).unwrap_err();
        assert!(
            refused.contains("row group 0, column `url`: ") && refused.contains("do not lie in the file"),
            "{refused}"
        );
    }
    let refused = changed(60, Some(0)).unwrap_err();
    assert!(refused.contains("column `url`: "), "{refused}");
}

/// Returns sold events, one for each of `texts`, which are their campaigns.
fn sold_events(texts: ArrayRef) -> RecordBatch {
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
pub(crate) fn ingest_in_process(path: &Path) -> (String, usize) {
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", "hostile::child", "--ignored", "--nocapture"])
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
    let taken = Ingest::into(dataset.path()).memory(MEMORY).threads(2).events(path).run();
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
    let rows = sold_events(Arc::new(StringArray::from(vec![text.as_str()])));
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
    let rows = sold_events(texts);
    for (name, properties) in [("dictionary", WriterProperties::builder()), ("plain", plain()), ("prefixes", prefixes)]
    {
        check_memory(name, &rows, properties, "taken: 500");
    }
}
