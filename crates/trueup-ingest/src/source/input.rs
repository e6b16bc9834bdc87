//! An input: a file, how it is read, and what becomes of its rows before they are checked.

use super::columns::FolderColumn;
use super::decoded::{DecodedBatch, RawRows, ReadLimits};
use super::encoding::TextEncoding;
use super::formats::FileFormat;
use super::header::HeaderRow;
use super::left_out::LeftOutLines;
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use glob::Pattern;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trueup_core::dataset::SkippedLines;

/// A file that is ingested.
#[derive(Clone)]
pub(crate) struct Input {
    pub(crate) path: PathBuf,
    /// The name in messages.
    pub(crate) shown: PathBuf,
    pub(crate) options: Arc<ReadOptions>,
    /// Makes canonical rows of the rows of the file; `None` if these are canonical.
    pub(crate) mapper: Option<Arc<dyn RowMapper>>,
}

impl Input {
    /// Makes an input of a file that the user gave.
    pub(crate) fn given(path: &Path) -> Self {
        Self { path: path.to_owned(), shown: path.to_owned(), options: Arc::default(), mapper: None }
    }

    /// Returns the file's bytes; 0 if the file cannot be read, because reading it reports a better error.
    pub(crate) fn size(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |metadata| metadata.len())
    }

    /// Returns the lines of the file that became no rows, once it was read. They are counted only for mappings.
    pub(crate) fn skipped(&self) -> SkippedLines {
        let counts = self.options.left_out.as_ref().map_or([0; 3], |lines| lines.counts());
        let [title_lines, blank_lines, short_rows] = counts;
        SkippedLines { title_lines, blank_lines, short_rows }
    }

    /// Returns what declares the columns, for messages: the file, or the mapping.
    pub(crate) fn declared_by(&self) -> &Path {
        self.mapper.as_ref().map_or(self.shown.as_path(), |mapper| mapper.shown())
    }
}

/// How a file is read, as far as its name and its content do not say it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadOptions {
    pub(crate) format: Option<FileFormat>,
    /// The encoding of a text; UTF-8 if absent.
    pub(crate) encoding: Option<TextEncoding>,
    /// CSV: what separates cells. If absent, a tab in a file whose name ends in `.tsv`, and a comma in any other.
    pub(crate) separator: Option<u8>,
    /// CSV: the columns of a file whose first line is data.
    pub(crate) header: Option<Vec<String>>,
    /// CSV and XLSX: which line is the header; the first one if absent.
    pub(crate) header_row: Option<HeaderRow>,
    /// XLSX: whether merged cells name the columns that they span; if absent, they do where a mapping reads the file
    /// and no single row can be its header.
    pub(crate) merged: Option<bool>,
    /// CSV and XLSX: whether rows with fewer cells than the header are left out; of a sheet, rows of which only the
    /// first cell has a value.
    pub(crate) skips_short_rows: bool,
    /// CSV and XLSX: where the lines that are left out are counted.
    pub(crate) left_out: Option<Arc<LeftOutLines>>,
    /// CSV and XLSX: cells that mean no value, in addition to the empty cell.
    pub(crate) empty: Vec<String>,
    /// Makes other rows of the rows of the file; `None` if they stay as they are.
    pub(crate) reshape: Option<Arc<dyn Reshape>>,
    /// Patterns of columns that are not read.
    pub(crate) ignore: Vec<Pattern>,
    /// The columns that the names of the file's folders give.
    pub(crate) folders: Vec<FolderColumn>,
    /// XLSX: the sheet; the first one if absent.
    pub(crate) sheet: Option<String>,
    /// The source of the rows that do not name theirs; `None` for the empty source.
    pub(crate) source: Option<Arc<str>>,
    /// The columns that a mapping names; `None` for canonical inputs, whose columns are all decoded. If there is a
    /// mapping, only these columns of Parquet and NDJSON are read, and an error in a cell of XLSX is a fault only in
    /// one of these columns. In NDJSON, a number without an exponent then stays as it is written.
    pub(crate) columns: Option<BTreeSet<String>>,
}

/// Makes other rows of the rows of a file, before a mapping reads them.
pub(crate) trait Reshape: Debug + Send + Sync {
    /// Returns how many rows each row becomes, at least 1.
    fn rows_per_row(&self) -> usize;

    /// Returns the rows that the rows of a batch become, in its order.
    fn reshape(&self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError>;
}

/// Returns the name of a file without its folder; the empty text if it has none.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Makes canonical rows of the rows of an input.
pub(crate) trait RowMapper: Send + Sync {
    /// Returns the columns of the canonical rows.
    fn schema(&self) -> &SchemaRef;

    /// Returns the name of the canonical table, for messages about its columns.
    fn shown(&self) -> &Path;

    /// Returns the mapping and the key of its table.
    fn table(&self) -> String;

    /// Returns what the rows so far did not have, although the mapping names it.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// Maps the next rows of `raw`, at least one. Returns at most `limits.rows` rows, unless the last row becomes
    /// several.
    fn map(&self, raw: &mut RawRows, limits: ReadLimits) -> Result<DecodedBatch, ArrowError>;
}
