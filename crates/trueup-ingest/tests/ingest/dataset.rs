//! What the tests look at.

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;
use trueup_core::dataset::manifest::{DataFile, Manifest};
use trueup_core::dataset::store;
use trueup_ingest::{Ingest, IngestSummary};

/// A folder with inputs and a dataset.
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

    /// The names in the folder, hidden ones too, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = self.dir.path().read_dir().unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }

    pub(crate) fn dataset(&self) -> PathBuf {
        self.path("dataset")
    }

    pub(crate) fn ingest(&self) -> Ingest {
        Ingest::into(self.dataset())
    }

    /// Ingests one CSV file of events.
    pub(crate) fn events(&self, name: &str, text: &str) -> IngestSummary {
        self.ingest().events(self.file(name, text)).run(&()).unwrap()
    }

    pub(crate) fn manifest(&self) -> Manifest {
        store::read_latest(&self.dataset()).unwrap().unwrap()
    }

    /// The stored events as text, in stored order, without the leading number of the customer.
    pub(crate) fn stored_events(&self) -> Vec<String> {
        let mut rows = self.rows(&self.manifest().events);
        for row in &mut rows {
            let (_, rest) = row.split_once('|').unwrap();
            *row = rest.to_owned();
        }
        rows
    }

    /// The rows of each row group of events.
    pub(crate) fn row_groups(&self) -> Vec<i64> {
        let groups = |file: &DataFile| {
            let file = File::open(self.dataset().join(&file.path)).unwrap();
            let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
            reader.metadata().row_groups().iter().map(|group| group.num_rows()).collect::<Vec<_>>()
        };
        self.manifest().events.iter().flat_map(groups).collect()
    }

    pub(crate) fn stored_spend(&self) -> Vec<String> {
        self.rows(&self.manifest().spend)
    }

    pub(crate) fn stored_accounts(&self) -> Vec<String> {
        self.rows(&self.manifest().accounts)
    }

    fn rows(&self, files: &[DataFile]) -> Vec<String> {
        let batches = files.iter().flat_map(|file| read(&self.dataset().join(&file.path)));
        batches.flat_map(|batch| shown(&batch)).collect()
    }

    /// Every file of the dataset's folder with its bytes, and every folder.
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

pub(crate) fn read(path: &Path) -> Vec<RecordBatch> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap().build().unwrap();
    reader.map(Result::unwrap).collect()
}

/// The rows of a batch, their cells between bars.
fn shown(batch: &RecordBatch) -> Vec<String> {
    let options = FormatOptions::new();
    // A name of UTC that can be shown without a table of zones.
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
