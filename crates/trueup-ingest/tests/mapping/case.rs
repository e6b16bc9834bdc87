//! A mapping in a temporary folder with its files, and the tables that it makes as text.

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use trueup_ingest::mapping::{MappedFiles, Mapping};
use trueup_ingest::{Ingest, IngestError};

/// How long an ingest waits for the one before it, whose lock a process that another test begins holds for a moment.
pub(crate) const LOCK_WAIT: Duration = Duration::from_secs(60);

/// A row: its cells by column name. An empty text is null.
pub(crate) type Row = BTreeMap<String, String>;

/// A mapping in a folder, the files that it is run on, and the dataset that it is ingested into.
pub(crate) struct Case {
    folder: TempDir,
    files: Vec<PathBuf>,
    mapping: PathBuf,
}

impl Case {
    pub(crate) fn new(mapping: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("mapping.toml");
        std::fs::write(&path, mapping).unwrap();
        Self { folder, files: Vec::new(), mapping: path }
    }

    /// Writes a file to the folder, and gives it to the mapping.
    pub(crate) fn file(mut self, name: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        self.files.push(path);
        self
    }

    /// Gives a file that exists to the mapping.
    pub(crate) fn file_at(mut self, path: PathBuf) -> Self {
        self.files.push(path);
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the mapping outside an ingest, and writes its tables to a folder.
    pub(crate) fn run(&self) -> Result<MappedFiles, IngestError> {
        let out = self.folder.path().join("out");
        std::fs::create_dir_all(&out).unwrap();
        Mapping::read(&self.mapping)?.run(&self.files, &out)
    }

    /// Prepares an ingest through the mapping into the dataset `dataset`.
    pub(crate) fn ingest(&self) -> Ingest {
        let ingest = Ingest::into(self.path("dataset")).mapping(&self.mapping);
        self.files.iter().fold(ingest, Ingest::events)
    }

    /// Returns the rows of all tables of events.
    pub(crate) fn events(&self) -> Vec<Row> {
        self.run().unwrap().events.iter().flat_map(|path| rows(path)).collect()
    }

    pub(crate) fn spend(&self) -> Vec<Row> {
        self.run().unwrap().spend.iter().flat_map(|path| rows(path)).collect()
    }

    /// Returns the error of the mapping, without the path of the folder.
    pub(crate) fn refusal(&self) -> String {
        let message = self.run().unwrap_err().to_string();
        message.replace(&format!("{}/", self.folder.path().display()), "")
    }
}

/// Returns a column of some rows.
pub(crate) fn column(rows: &[Row], name: &str) -> Vec<String> {
    rows.iter().map(|row| row.get(name).unwrap_or_else(|| panic!("no column {name}")).clone()).collect()
}

pub(crate) fn batches(path: &Path) -> Vec<RecordBatch> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap().build().unwrap();
    reader.map(Result::unwrap).collect()
}

/// Returns a Parquet file as CSV lines, header first.
pub(crate) fn lines(path: &Path) -> Vec<String> {
    let schema = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap().schema().clone();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let mut lines = vec![names.join(",")];
    for row in rows(path) {
        lines.push(names.iter().map(|name| row[*name].clone()).collect::<Vec<_>>().join(","));
    }
    lines
}

/// Returns the rows of a Parquet file.
pub(crate) fn rows(path: &Path) -> Vec<Row> {
    let options = FormatOptions::default();
    let mut rows = Vec::new();
    for batch in batches(path) {
        let schema = batch.schema();
        let columns: Vec<ArrayRef> = batch.columns().iter().map(with_utc_offset).collect();
        let formatters: Vec<_> =
            columns.iter().map(|column| ArrayFormatter::try_new(column, &options).unwrap()).collect();
        for row in 0..batch.num_rows() {
            let cells = schema.fields().iter().zip(&formatters);
            rows.push(cells.map(|(field, cell)| (field.name().clone(), cell.value(row).to_string())).collect());
        }
    }
    rows
}

/// Returns the path of a file that the tests of foreign files read too.
pub(crate) fn foreign(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/foreign").join(name)
}

/// Replaces a time zone by the offset of UTC, because arrow cannot show timestamps in a named zone.
fn with_utc_offset(column: &ArrayRef) -> ArrayRef {
    match column.as_primitive_opt::<TimestampMicrosecondType>() {
        Some(instants) => Arc::new(instants.clone().with_timezone("+00:00")),
        None => column.clone(),
    }
}
