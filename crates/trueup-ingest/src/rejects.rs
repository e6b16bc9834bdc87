//! Rows that are set aside.

use crate::IngestError;
use crate::error::{ErrorContext, ErrorKind};
use crate::output::{OutputFile, Outputs};
use crate::place::{InputLocation, RowFault};
use serde::ser::{SerializeMap, Serializer};
use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file of rows that broke a rule, one JSON object each.
///
/// It takes its name before the dataset has its new version, so that no row that was left out is lost. It keeps the name of an ingest
/// that the data ended, because the rows may say why; of one that the system ended nothing is left.
pub(crate) struct RejectsWriter {
    path: PathBuf,
    writer: BufWriter<OutputFile>,
    rows: u64,
}

/// A file of rejects that has its name, if there is one.
pub(crate) struct PlacedRejects(Option<PathBuf>);

impl RejectsWriter {
    pub(crate) fn create(path: &Path, outputs: &Outputs) -> Result<Self, IngestError> {
        let file = outputs.create(path).map_err(ErrorKind::Output)?;
        Ok(Self { path: path.to_owned(), writer: BufWriter::new(file), rows: 0 })
    }

    pub(crate) fn add(&mut self, file: &Path, fault: &RowFault) -> Result<(), IngestError> {
        self.rows += 1;
        let written = serde_json::to_writer(&mut self.writer, &Rejected { file, fault }).map_err(Into::into);
        written.and_then(|()| self.writer.write_all(b"\n")).at("write", &self.path)
    }

    /// Gives the file its name, durably.
    fn finish(self) -> Result<PlacedRejects, IngestError> {
        let file = self.writer.into_inner().map_err(std::io::IntoInnerError::into_error).at("write", &self.path)?;
        let placed = PlacedRejects(file.place().map(Path::to_owned));
        file.keep().map_err(ErrorKind::Output)?;
        Ok(placed)
    }

    /// Keeps the file if there are rows in it and the data ended the ingest; the error then says so.
    fn keep_after(self, error: IngestError) -> IngestError {
        let (path, rows) = (self.path.clone(), self.rows);
        if rows == 0 || !error.is_data() {
            return error;
        }
        match self.finish() {
            Ok(_) => ErrorKind::AfterRejects { error, rows, path }.into(),
            // Of the two, the error that ended the ingest matters more.
            Err(_) => error,
        }
    }
}

impl PlacedRejects {
    /// Removes the file if the ingest that it belongs to did not take place for certain.
    pub(crate) fn take_back(self, error: IngestError) -> IngestError {
        if let Some(place) = self.0.filter(|_| !error.may_be_published()) {
            // The error that ended the ingest is the one to report; a file that stays is right about its rows.
            drop(fs::remove_file(place));
        }
        error
    }
}

/// Ends the file of rejects once everything is written but not yet published, or has failed.
pub(crate) fn settle<T>(
    written: Result<T, IngestError>,
    rejects: Option<RejectsWriter>,
) -> Result<(T, PlacedRejects), IngestError> {
    match (written, rejects) {
        (Ok(written), None) => Ok((written, PlacedRejects(None))),
        (Ok(written), Some(rejects)) => Ok((written, rejects.finish()?)),
        (Err(error), None) => Err(error),
        (Err(error), Some(rejects)) => Err(rejects.keep_after(error)),
    }
}

struct Rejected<'a> {
    file: &'a Path,
    fault: &'a RowFault,
}

impl serde::Serialize for Rejected<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("file", &self.file.to_string_lossy())?;
        match self.fault.place {
            InputLocation::Line(line) => map.serialize_entry("line", &line)?,
            InputLocation::Row { row_group, row } => {
                map.serialize_entry("rowGroup", &row_group)?;
                map.serialize_entry("rowInGroup", &row)?;
            }
        }
        map.serialize_entry("column", &self.fault.column)?;
        map.serialize_entry("value", &self.fault.value)?;
        map.serialize_entry("reason", &self.fault.reason)?;
        map.serialize_entry("row", &RejectedCells(&self.fault.cells))?;
        map.end()
    }
}

/// The row's cells, in the file's own order.
struct RejectedCells<'a>(&'a [(String, Option<String>)]);

impl serde::Serialize for RejectedCells<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, cell)| (name, cell)))
    }
}
