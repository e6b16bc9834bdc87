//! The inputs of a test, and the dataset that they become.

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReaderBuilder, RowSelection, RowSelector};
use parquet::file::properties::WriterProperties;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;
use trueup_core::dataset::manifest::{DataFile, Manifest, RowGroupEntry};
use trueup_core::dataset::{DeletionVector, manifest_file};
use trueup_core::model::is_own_column;
use trueup_ingest::{Ingest, IngestSummary};
use trueup_testkit::random::Random;

/// A folder with inputs and a dataset; removed when dropped.
pub(crate) struct Case {
    dir: TempDir,
}

impl Case {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    /// Writes an input.
    pub(crate) fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Returns the sorted names in the folder, hidden ones included.
    pub(crate) fn names(&self) -> Vec<String> {
        names(self.dir.path())
    }

    pub(crate) fn dataset(&self) -> PathBuf {
        self.path("dataset")
    }

    pub(crate) fn ingest(&self) -> Ingest {
        Ingest::into(self.dataset())
    }

    /// Ingests one CSV file of events.
    pub(crate) fn events(&self, name: &str, text: &str) -> IngestSummary {
        self.ingest().events(self.file(name, text)).run().unwrap()
    }

    pub(crate) fn manifest(&self) -> Manifest {
        manifest_file::read_latest(&self.dataset()).unwrap().unwrap()
    }

    /// Returns as text the stored events that are not superseded, in stored order, without the columns that trueup
    /// itself writes.
    pub(crate) fn stored_events(&self) -> Vec<String> {
        let fields = |batch: &RecordBatch| {
            let own = |at: &usize| is_own_column(batch.schema_ref().field(*at).name());
            batch.project(&(0..batch.num_columns()).filter(|at| !own(at)).collect::<Vec<_>>()).unwrap()
        };
        let manifest = self.manifest();
        self.left(&manifest, &manifest.events).iter().flat_map(|batch| shown(&fields(batch))).collect()
    }

    /// Returns the number of rows of each row group of events.
    pub(crate) fn row_groups(&self) -> Vec<i64> {
        let groups = |file: &DataFile| {
            let file = File::open(self.dataset().join(&file.path)).unwrap();
            let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
            reader.metadata().row_groups().iter().map(|group| group.num_rows()).collect::<Vec<_>>()
        };
        self.manifest().events.iter().flat_map(groups).collect()
    }

    /// Returns as text the stored rows of spend that are not superseded, sorted.
    pub(crate) fn stored_spend(&self) -> Vec<String> {
        let manifest = self.manifest();
        let mut rows: Vec<String> = self.left(&manifest, &manifest.spend).iter().flat_map(shown).collect();
        rows.sort_unstable();
        rows
    }

    /// Returns all rows of a file as text, in stored order.
    pub(crate) fn rows_of(&self, file: &DataFile) -> Vec<String> {
        self.rows(std::slice::from_ref(file))
    }

    /// Returns the rows that are left in files of a version.
    fn left(&self, manifest: &Manifest, files: &[DataFile]) -> Vec<RecordBatch> {
        let vector = |file: &DataFile| manifest.superseded.get(&file.path).map(Arc::as_ref);
        files.iter().flat_map(|file| left(&self.dataset().join(&file.path), file, vector(file))).collect()
    }

    pub(crate) fn stored_accounts(&self) -> Vec<String> {
        self.rows(self.manifest().tables()[2].1)
    }

    fn rows(&self, files: &[DataFile]) -> Vec<String> {
        let batches = files.iter().flat_map(|file| read(&self.dataset().join(&file.path)));
        batches.flat_map(|batch| shown(&batch)).collect()
    }

    /// Returns every file below the dataset's folder with its bytes, and every folder.
    pub(crate) fn snapshot(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.dataset()];
        while let Some(folder) = folders.pop() {
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            files.insert(folder, None);
            for entry in entries {
                let path = entry.unwrap().path();
                if path.is_dir() { folders.push(path) } else { drop(files.insert(path.clone(), fs::read(path).ok())) }
            }
        }
        files
    }
}

/// Returns the sorted names in a folder.
pub(crate) fn names(dir: &Path) -> Vec<String> {
    let entries = dir.read_dir().unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

fn read(path: &Path) -> Vec<RecordBatch> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap().build().unwrap();
    reader.map(Result::unwrap).collect()
}

/// Returns the rows that are left in a file of events or spend.
fn left(path: &Path, file: &DataFile, vector: Option<&DeletionVector>) -> Vec<RecordBatch> {
    let left_of = |number: usize, entry: &RowGroupEntry| {
        let all = 0..usize::try_from(entry.rows).unwrap();
        let ranges = vector.and_then(|vector| vector.left_ranges(&file.row_groups, number));
        let mut selectors: Vec<RowSelector> = Vec::new();
        let mut next = 0;
        for rows in ranges.unwrap_or_else(|| vec![all.clone()]) {
            selectors.extend([RowSelector::skip(rows.start - next), RowSelector::select(rows.len())]);
            next = rows.end;
        }
        selectors.push(RowSelector::skip(all.end - next));
        selectors
    };
    let selectors = file.row_groups.iter().enumerate().flat_map(|(number, entry)| left_of(number, entry));
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let selection = RowSelection::from(selectors.collect::<Vec<_>>());
    reader.with_row_selection(selection).build().unwrap().map(Result::unwrap).collect()
}

/// Returns the rows of a batch as text, with bars between the cells.
fn shown(batch: &RecordBatch) -> Vec<String> {
    let options = FormatOptions::new();
    // Arrow can show this name of UTC without a time zone database.
    let columns: Vec<ArrayRef> = batch
        .columns()
        .iter()
        .map(|column| match column.as_primitive_opt::<TimestampMicrosecondType>() {
            Some(times) => Arc::new(times.clone().with_timezone("+00:00")) as ArrayRef,
            None => column.clone(),
        })
        .collect();
    let cells: Vec<ArrayFormatter<'_>> =
        columns.iter().map(|column| ArrayFormatter::try_new(column, &options).unwrap()).collect();
    (0..batch.num_rows())
        .map(|row| cells.iter().map(|cell| cell.value(row).to_string()).collect::<Vec<_>>().join("|"))
        .collect()
}

/// A header, and rows of text in which the empty text is null.
pub(crate) type TestTable<'a> = (&'a [&'a str], &'a [Vec<String>]);

/// Writes a table as CSV.
pub(crate) fn write_csv((header, rows): TestTable<'_>, path: &Path) {
    let mut writer = csv::Writer::from_path(path).unwrap();
    writer.write_record(header).unwrap();
    for row in rows {
        writer.write_record(row).unwrap();
    }
    writer.flush().unwrap();
}

/// Writes a table as NDJSON.
pub(crate) fn write_ndjson((header, rows): TestTable<'_>, path: &Path) {
    let mut text = String::new();
    for row in rows {
        let cells = header.iter().zip(row).filter(|(_, cell)| !cell.is_empty());
        let object: serde_json::Map<String, serde_json::Value> =
            cells.map(|(name, cell)| ((*name).to_owned(), cell.as_str().into())).collect();
        text += &serde_json::Value::Object(object).to_string();
        text.push('\n');
    }
    fs::write(path, text).unwrap();
}

/// Writes a table as Parquet.
pub(crate) fn write_parquet((header, rows): TestTable<'_>, group_rows: usize, path: &Path) {
    let columns = header.iter().enumerate().map(|(at, name)| {
        let cells = rows.iter().map(|row| Some(row[at].as_str()).filter(|cell| !cell.is_empty()));
        (*name, Arc::new(cells.collect::<StringArray>()) as ArrayRef, true)
    });
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(group_rows)).build();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

/// The columns of [`random_events`].
pub(crate) const HEADER: [&str; 8] =
    ["account", "opportunityId", "type", "date", "eventId", "total", "campaign", "zip"];

/// Returns random rows of up to seven accounts. Some event ids recur, each for the same customer and stage; in other
/// rows they are of other customers.
pub(crate) fn random_events(count: usize, seed: u64) -> Vec<Vec<String>> {
    const STAGES: [&str; 6] = ["lead-originated", "booked", "estimated", "sold", "closed", "canceled"];
    let mut random = Random::new(seed);
    let rows: Vec<Vec<String>> = (0..count)
        .map(|_| {
            // The accounts have very different sizes.
            let account = random.below(4) * random.below(4);
            // Most events of a customer are in one month, and some in other months.
            let customer = random.below(200);
            let month = if random.below(4) == 0 { random.below(12) } else { customer % 12 };
            vec![
                format!("account-{account:02}"),
                format!("customer-{customer}"),
                STAGES[random.index(6)].to_owned(),
                format!("2025-{:02}-{:02}", month + 1, random.below(28) + 1),
                if random.below(3) == 0 { String::new() } else { format!("event-{}", random.below(900)) },
                if random.below(2) == 0 {
                    String::new()
                } else {
                    format!("{}.{:02}", random.below(9_000), random.below(100))
                },
                if random.below(5) == 0 { String::new() } else { format!("campaign {}", random.below(20)) },
                format!("{:05}", random.below(40)),
            ]
        })
        .collect();
    let mut events: BTreeMap<(String, String), (String, String)> = BTreeMap::new();
    let same_event = |mut row: Vec<String>| {
        if !row[4].is_empty() {
            let event = events.entry((row[0].clone(), row[4].clone()));
            (row[1], row[2]) = event.or_insert_with(|| (row[1].clone(), row[2].clone())).clone();
        }
        row
    };
    rows.into_iter().map(same_event).collect()
}
