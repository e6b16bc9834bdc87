//! The ingest of foreign files.

use arrow_cast::display::{ArrayFormatter, FormatOptions};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::error::Error;
use std::fs::File;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use trueup_core::dataset::manifest_file;
use trueup_ingest::Ingest;

/// The events of each file for which its test states no others: account, customer, stage, date, id, total and city.
pub(crate) const EVENTS: [&str; 3] = [
    "acme|1|lead-originated|2025-01-30|e1||Zürich",
    "acme|1|sold|2025-02-03|e2|1250.500000|Zürich",
    "bolt|7|booked|2025-02-04|e3||Austin, TX",
];

/// A folder with a dataset; removed when dropped.
pub(crate) struct Case {
    pub(crate) dir: TempDir,
}

impl Case {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn ingest(&self) -> Ingest {
        Ingest::into(self.dir.path().join("dataset"))
    }

    /// Returns the stored events without the number of the customer and the point in time.
    pub(crate) fn stored_events(&self) -> Vec<String> {
        let dataset = self.dir.path().join("dataset");
        let manifest = manifest_file::read_latest(&dataset).unwrap().unwrap();
        manifest.events.iter().flat_map(|file| rows(&dataset.join(&file.path))).collect()
    }
}

fn rows(path: &Path) -> Vec<String> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap().build().unwrap();
    let options = FormatOptions::new();
    reader
        .map(Result::unwrap)
        .flat_map(|batch| {
            let shown = |at: usize| ArrayFormatter::try_new(batch.column(at), &options).unwrap();
            let names = batch.schema_ref().fields().iter().map(|field| field.name().clone());
            let columns = names.enumerate().skip(1).filter(|(_, name)| name != "dateTime");
            let cells: Vec<_> = columns.map(|(at, _)| shown(at)).collect();
            let row = |row| cells.iter().map(|cell| cell.value(row).to_string()).collect::<Vec<_>>().join("|");
            (0..batch.num_rows()).map(row).collect::<Vec<_>>()
        })
        .collect()
}

/// Adds no option to an ingest.
pub(crate) fn no_options(ingest: Ingest) -> Ingest {
    ingest
}

/// Returns the path of a file in `testdata/foreign`.
pub(crate) fn foreign(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/foreign")).join(name)
}

/// Ingests a file as events, and checks that it becomes [`EVENTS`].
pub(crate) fn accepted(name: &str, options: impl FnOnce(Ingest) -> Ingest) {
    let case = Case::new();
    let summary = options(case.ingest().events(foreign(name))).run().unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!((case.stored_events(), summary.warnings), (EVENTS.map(str::to_owned).to_vec(), Vec::new()), "{name}");
}

/// Returns why a file is refused, without the path of its folder.
pub(crate) fn refusal(name: &str, options: impl FnOnce(Ingest) -> Ingest) -> String {
    let case = Case::new();
    let error = options(case.ingest().events(foreign(name))).run().unwrap_err();
    assert!(error.is_data() || error.is_usage(), "{error}");
    assert!(!case.dir.path().join("dataset").exists(), "{name}: a refused ingest leaves nothing behind");
    let cause = error.source().map(|cause| format!(" ({cause})")).unwrap_or_default();
    format!("{error}{cause}").replace(&format!("{}/", foreign("").display().to_string().trim_end_matches('/')), "")
}
