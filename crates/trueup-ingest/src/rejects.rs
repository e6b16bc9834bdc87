//! The rejects file: the rows that broke a rule, one JSON object per row.

use crate::IngestError;
use crate::error::{CellText, ErrorContext, ErrorKind, InputLocation, RejectedRows, RowFault, Rule};
use crate::output::{OutputFile, Outputs};
use serde::ser::{SerializeMap, Serializer};
use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// What becomes of a faulty row.
pub(crate) enum FaultyRows {
    /// The first one ends the reading.
    Stop,
    /// The ingest fails, but only after all rows are checked, so that its error counts all of them.
    Refuse {
        /// The error of the first one.
        first: Option<IngestError>,
    },
    /// Each is written to a file.
    Reject(RejectsWriter),
    /// Each is left out and not counted, because another reading of the same input reports it.
    PassOver,
}

/// A rejects file while it is written.
///
/// The file gets its name before the new version of the dataset is published, so that no rejected row is lost. If
/// faulty data ends the ingest, a file with rows stays, because its rows may say why. After any other error no file
/// stays, unless the version may be published.
pub(crate) struct RejectsWriter {
    path: PathBuf,
    writer: BufWriter<OutputFile>,
    rows: u64,
}

impl RejectsWriter {
    /// Begins a file, which does not have its name until it is finished.
    pub(crate) fn create(path: &Path, outputs: &Outputs) -> Result<Self, IngestError> {
        let file = outputs.create(path).map_err(ErrorKind::Output)?;
        Ok(Self { path: path.to_owned(), writer: BufWriter::new(file), rows: 0 })
    }

    /// Adds a row of an input.
    pub(crate) fn add(&mut self, input: &Path, fault: &RowFault) -> Result<(), IngestError> {
        self.rows += 1;
        let cells = fault.cells.texts().doing("show a row")?;
        let row = RejectsLine { input, fault, cells: &cells };
        let written = serde_json::to_writer(&mut self.writer, &row).map_err(Into::into);
        written.and_then(|()| self.writer.write_all(b"\n")).at("write", &self.path)
    }

    /// Gives the file its name, durably.
    fn finish(self) -> Result<PlacedRejects, IngestError> {
        let file = self.writer.into_inner().map_err(std::io::IntoInnerError::into_error).at("write", &self.path)?;
        let placed = PlacedRejects(file.place().map(Path::to_owned));
        file.keep().map_err(ErrorKind::Output)?;
        Ok(placed)
    }

    /// Keeps the file if it has rows and the data ended the ingest. The error then names the file.
    fn keep_after(self, error: IngestError, rejected: RejectedRows) -> IngestError {
        let (path, rows) = (self.path.clone(), self.rows);
        if rows == 0 || !error.is_data() {
            return error;
        }
        match self.finish() {
            Ok(_) => ErrorKind::AfterRejects { error, rows, path, rejected }.into(),
            // The error that ended the ingest matters more than the file's.
            Err(_) => error,
        }
    }
}

/// The path of a rejects file that has its name; `None` if there is no such file.
pub(crate) struct PlacedRejects(Option<PathBuf>);

impl PlacedRejects {
    /// Removes the file after an ingest that certainly published nothing. Returns the error.
    pub(crate) fn take_back(self, error: IngestError) -> IngestError {
        if let Some(place) = self.0.filter(|_| !error.may_be_published()) {
            // The error that ended the ingest is reported instead; the content of a file that stays is still correct.
            drop(fs::remove_file(place));
        }
        error
    }
}

/// Decides what faulty rows mean for an ingest that has written everything and not published it yet, or has failed: the
/// rejects file gets its name, or the ingest fails with the count of all faulty rows.
pub(crate) fn settle<T>(
    written: Result<T, IngestError>,
    faulty_rows: FaultyRows,
    rejected: &RejectedRows,
) -> Result<(T, PlacedRejects), IngestError> {
    match (written, faulty_rows) {
        (Ok(written), FaultyRows::Reject(rejects)) => Ok((written, rejects.finish()?)),
        (Err(error), FaultyRows::Reject(rejects)) => Err(rejects.keep_after(error, rejected.clone())),
        (written, FaultyRows::Refuse { first: Some(first) }) => match written.err() {
            Some(error) if !error.is_data() => Err(error),
            then => Err(ErrorKind::Rejected { first, rejected: rejected.clone(), then }.into()),
        },
        (Ok(written), _) => Ok((written, PlacedRejects(None))),
        (Err(error), _) => Err(error),
    }
}

/// A line of the file, for example
/// `{"file":"a.csv","line":2,"column":"date","value":"x","reason":"expected …","row":{"account":"acme","date":"x"}}`.
/// A row that a mapping cannot read has the `key` of the mapping, too.
struct RejectsLine<'a> {
    input: &'a Path,
    fault: &'a RowFault,
    cells: &'a [CellText],
}

impl serde::Serialize for RejectsLine<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("file", &self.input.to_string_lossy())?;
        match self.fault.location {
            InputLocation::Line(line) => map.serialize_entry("line", &line)?,
            InputLocation::Row { row_group, row } => {
                map.serialize_entry("rowGroup", &row_group)?;
                map.serialize_entry("rowInGroup", &row)?;
            }
            InputLocation::Batch { batch, row } => {
                map.serialize_entry("batch", &batch)?;
                map.serialize_entry("rowInBatch", &row)?;
            }
            InputLocation::Record(record) => map.serialize_entry("record", &record)?,
        }
        map.serialize_entry("column", &self.fault.column)?;
        map.serialize_entry("value", &self.fault.value)?;
        if let Rule::Mapping { key, .. } = &self.fault.rule {
            map.serialize_entry("key", key)?;
        }
        map.serialize_entry("reason", &self.fault.reason())?;
        map.serialize_entry("row", &RejectedCells(self.cells))?;
        map.end()
    }
}

/// The row's cells, in the order of the file.
struct RejectedCells<'a>(&'a [CellText]);

impl serde::Serialize for RejectedCells<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, cell)| (name, cell)))
    }
}
