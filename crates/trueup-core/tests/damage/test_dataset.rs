//! A small dataset, written file by file.

use arrow_array::{
    ArrayRef, Date32Array, Decimal128Array, Int32Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use parquet::arrow::ArrowWriter;
use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};
use tempfile::TempDir;
use trueup_core::dataset::manifest::{DataFile, FileList, FileLists, LISTS_FOLDER, Manifest, checksum};
use trueup_core::dataset::{
    BlockHasher, Commit, CommitOperation, Verification, describe_row_group, encode_list, manifest_file,
};
use trueup_core::files::Files;
use trueup_core::query::EventsQuery;
use trueup_core::{Dataset, Day, Error};

/// A row of an event file; `None` is null.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    /// The number of the customer in the file: `trueup.customer`.
    pub(crate) number: Option<i32>,
    pub(crate) account: Option<&'static str>,
    pub(crate) opportunity_id: Option<&'static str>,
    pub(crate) stage: Option<&'static str>,
    /// In days since 1970-01-01.
    pub(crate) day: Option<i32>,
}

pub(crate) const fn row(number: i32, account: &'static str, opportunity_id: &'static str, day: i32) -> Row {
    Row {
        number: Some(number),
        account: Some(account),
        opportunity_id: Some(opportunity_id),
        stage: Some("lead-originated"),
        day: Some(day),
    }
}

/// Customers 1 and 2 of account a, and a customer of account b with two events.
pub(crate) const SOUND: [Row; 4] =
    [row(0, "a", "1", 20_000), row(1, "a", "2", 20_001), row(2, "b", "1", 20_000), row(2, "b", "1", 20_002)];

/// The files of a valid dataset.
pub(crate) const FILES: [&str; 4] =
    ["events/events-0.parquet", "spend/spend.parquet", "accounts/accounts.parquet", "insights/insights.ndjson"];

/// The lists of the files of events and of spend.
pub(crate) const LISTS: [&str; 2] = ["lists/events.parquet", "lists/spend.parquet"];

pub(crate) const INSIGHTS: &str = "{\"account\":\"a\",\"date\":\"2025-01-01\",\"insight\":{\"n\":1}}\n\
    {\"account\":\"b\",\"date\":\"2024-01-01\",\"insight\":{}}\n";

/// A dataset in a temporary folder, with a file of each table.
pub(crate) struct TestDataset {
    dir: TempDir,
    pub(crate) manifest: Manifest,
}

impl TestDataset {
    /// Makes and publishes a valid dataset.
    pub(crate) fn sound() -> Self {
        let mut stored = Self::with_events(&[&SOUND]);
        stored.spend(&[(Some("a"), 20_000), (Some("a"), 20_001), (Some("b"), 20_000)]);
        stored.accounts(&["a", "b"]);
        stored.insights(INSIGHTS);
        stored.publish();
        stored
    }

    /// Makes a dataset of one event file, which is not published yet.
    pub(crate) fn with_events(row_groups: &[&[Row]]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for table in ["events", "spend", "accounts", "insights", LISTS_FOLDER] {
            fs::create_dir(dir.path().join(table)).unwrap();
        }
        let commit = Commit::after(None, UNIX_EPOCH, CommitOperation::Ingest, Duration::ZERO);
        let manifest = Manifest::new(1, "a test", commit);
        let mut stored = Self { dir, manifest };
        stored.add_events(&row_groups.iter().map(|rows| events(rows)).collect::<Vec<_>>());
        stored
    }

    pub(crate) fn add_events(&mut self, row_groups: &[RecordBatch]) {
        let name = format!("events/events-{}.parquet", self.manifest.events.len());
        let file = self.parquet(&name, row_groups);
        self.manifest.events.push(file);
    }

    pub(crate) fn spend(&mut self, rows: &[(Option<&str>, i32)]) {
        let texts = || Arc::new(StringArray::new_null(rows.len())) as ArrayRef;
        let amounts = || {
            let amounts = Decimal128Array::from_iter_values(rows.iter().map(|_| 5_000_000));
            Arc::new(amounts.with_precision_and_scale(38, 6).unwrap()) as ArrayRef
        };
        let counts = || Arc::new(Int64Array::from_iter_values(rows.iter().map(|_| 3))) as ArrayRef;
        let columns = [
            ("account", Arc::new(rows.iter().map(|row| row.0).collect::<StringArray>()) as ArrayRef),
            ("date", Arc::new(Date32Array::from_iter_values(rows.iter().map(|row| row.1)))),
            ("attributionCategory", texts()),
            ("attributionChannel", texts()),
            ("campaign", texts()),
            ("adSpend", amounts()),
            ("managementFee", amounts()),
            ("clicks", counts()),
            ("impressions", counts()),
        ];
        let file = self.parquet("spend/spend.parquet", &[batch(columns)]);
        self.manifest.spend = vec![file];
    }

    pub(crate) fn accounts(&mut self, keys: &[&str]) {
        let keys = Arc::new(keys.iter().copied().map(Some).collect::<StringArray>()) as ArrayRef;
        let file = self.parquet("accounts/accounts.parquet", &[batch([("account", keys)])]);
        self.manifest.set_named(file);
    }

    pub(crate) fn insights(&mut self, text: &str) {
        fs::write(self.path("insights/insights.ndjson"), text).unwrap();
        let rows = text.lines().count() as u64;
        self.manifest.set_named(self.described("insights/insights.ndjson", rows));
    }

    /// Publishes the manifest, with the lists of its files, so that the dataset can be opened.
    pub(crate) fn publish(&self) {
        let list = |name: &str, files: &[DataFile]| {
            fs::write(self.path(name), encode_list(files).unwrap()).unwrap();
            vec![FileList { file: self.described(name, files.len() as u64), removed: Vec::new() }]
        };
        let Manifest { events, spend, .. } = &self.manifest;
        let lists = FileLists { events: list(LISTS[0], events), spend: list(LISTS[1], spend) };
        self.publish_manifest(&Manifest { lists, ..self.manifest.clone() });
    }

    /// Publishes a manifest as it is.
    pub(crate) fn publish_manifest(&self, manifest: &Manifest) {
        let staging = tempfile::tempdir_in(self.dir.path()).unwrap();
        manifest_file::publish(&Files::default(), self.dir.path(), staging.path(), manifest).unwrap();
    }

    /// Publishes the current manifest as another version, with lists as they are.
    pub(crate) fn publish_as(&self, version: u64, lists: &FileLists) {
        self.publish_manifest(&Manifest { version, lists: lists.clone(), ..self.manifest.clone() });
    }

    /// Replaces the published manifest by the current one.
    pub(crate) fn republish(&self) {
        fs::remove_file(self.path(&manifest_file::file_name(1))).unwrap();
        self.publish();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.dir.path().to_owned()
    }

    /// Returns the entry in the manifest for a file as it is now. Its columns and row groups are those of the entry
    /// that the manifest has already.
    pub(crate) fn described(&self, name: &str, rows: u64) -> DataFile {
        let bytes = fs::read(self.path(name)).unwrap();
        let blake3 = checksum(&bytes);
        let mut blocks = BlockHasher::default();
        blocks.add(&bytes);
        let Manifest { events, spend, .. } = &self.manifest;
        let (columns, row_groups) = events
            .iter()
            .chain(spend)
            .find(|file| file.path == name)
            .map(|file| (file.columns.clone(), file.row_groups.clone()))
            .unwrap_or_default();
        let (size, blocks) = (bytes.len() as u64, blocks.finish());
        DataFile { path: name.to_owned(), size, rows, blake3, blocks, columns, row_groups }
    }

    fn parquet(&self, name: &str, row_groups: &[RecordBatch]) -> DataFile {
        let file = File::create(self.path(name)).unwrap();
        let mut writer = ArrowWriter::try_new(file, row_groups[0].schema(), None).unwrap();
        for rows in row_groups {
            writer.write(rows).unwrap();
            writer.flush().unwrap();
        }
        let footer = writer.close().unwrap();
        let columns = footer.file_metadata().schema_descr().columns();
        DataFile {
            columns: columns.iter().map(|column| column.name().to_owned()).collect(),
            row_groups: footer.row_groups().iter().map(describe_row_group).collect(),
            ..self.described(name, row_groups.iter().map(|rows| rows.num_rows() as u64).sum())
        }
    }

    /// Opens the dataset and queries every row of events and spend. Returns the number of rows of the answer.
    pub(crate) fn ask(&self) -> Result<u64, Error> {
        let (start, end) = (Day::from_number(19_000), Day::from_number(21_000));
        let fields = ["account", "opportunityId", "campaign", "dateTime", "customers", "eventCount", "total", "spend"];
        let query = EventsQuery::new(fields, start, end).allow_long_total();
        let table = Dataset::open(self.dir.path())?.query(&query)?;
        Ok(table.len() as u64)
    }

    /// Returns the message with which a query is rejected.
    pub(crate) fn refused(&self) -> String {
        let error = self.ask().unwrap_err();
        assert!(!error.is_query(), "{error}");
        error.to_string()
    }

    /// Returns the messages of all faults that verification finds.
    pub(crate) fn faults(&self) -> Vec<String> {
        Verification::of(self.dir.path(), None).unwrap().faults
    }

    /// Returns the message of the only fault that verification finds.
    pub(crate) fn fault(&self) -> String {
        let faults = self.faults();
        assert_eq!(faults.len(), 1, "{faults:?}");
        faults.into_iter().next().unwrap()
    }
}

/// Returns the rows of an event file, with the columns that each file has and `campaign`.
pub(crate) fn events(rows: &[Row]) -> RecordBatch {
    let texts = |text: fn(&Row) -> Option<&'static str>| Arc::new(rows.iter().map(text).collect::<StringArray>());
    let totals = Decimal128Array::from_iter_values(rows.iter().map(|_| 1_000_000));
    batch([
        ("trueup.customer", Arc::new(rows.iter().map(|row| row.number).collect::<Int32Array>()) as ArrayRef),
        ("account", texts(|row| row.account)),
        ("opportunityId", texts(|row| row.opportunity_id)),
        ("type", texts(|row| row.stage)),
        ("date", Arc::new(rows.iter().map(|row| row.day).collect::<Date32Array>())),
        ("dateTime", Arc::new(TimestampMicrosecondArray::new_null(rows.len()).with_timezone("UTC"))),
        ("eventId", texts(|_| None)),
        ("total", Arc::new(totals.with_precision_and_scale(18, 6).unwrap())),
        ("campaign", texts(|row| row.opportunity_id)),
    ])
}

fn batch<const N: usize>(columns: [(&str, ArrayRef); N]) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap()
}
