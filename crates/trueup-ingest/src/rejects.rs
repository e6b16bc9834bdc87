//! Rows that are set aside.

use crate::IngestError;
use crate::error::AtPath;
use crate::place::{Place, RowFault};
use serde::ser::{SerializeMap, Serializer};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file of rows that broke a rule, one JSON object each. It is there only once the ingest has succeeded.
pub(crate) struct Rejects {
    path: PathBuf,
    writer: BufWriter<NamedTempFile>,
}

impl Rejects {
    pub(crate) fn create(path: &Path) -> Result<Self, IngestError> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let file = NamedTempFile::new_in(folder).at("create", path)?;
        Ok(Self { path: path.to_owned(), writer: BufWriter::new(file) })
    }

    pub(crate) fn add(&mut self, file: &Path, fault: &RowFault) -> Result<(), IngestError> {
        let written = serde_json::to_writer(&mut self.writer, &Rejected { file, fault }).map_err(Into::into);
        written.and_then(|()| self.writer.write_all(b"\n")).at("write", &self.path)
    }

    /// Puts the file in place.
    pub(crate) fn finish(self) -> Result<(), IngestError> {
        let Self { path, writer } = self;
        let file = writer.into_inner().map_err(std::io::IntoInnerError::into_error).at("write", &path)?;
        file.as_file().sync_all().at("sync", &path)?;
        file.persist(&path).map_err(|error| error.error).at("create", &path)?;
        Ok(())
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
            Place::Line(line) => map.serialize_entry("line", &line)?,
            Place::Row { row_group, row } => {
                map.serialize_entry("rowGroup", &row_group)?;
                map.serialize_entry("rowInGroup", &row)?;
            }
        }
        map.serialize_entry("column", &self.fault.column)?;
        map.serialize_entry("value", &self.fault.value)?;
        map.serialize_entry("reason", &self.fault.reason)?;
        map.serialize_entry("row", &Cells(&self.fault.cells))?;
        map.end()
    }
}

/// The row's cells, in the file's own order.
struct Cells<'a>(&'a [(String, Option<String>)]);

impl serde::Serialize for Cells<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, cell)| (name, cell)))
    }
}
