//! A faulty row: its location in a file, and what is wrong with it.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowTimestampType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trueup_core::Shown;

/// The location of a row in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InputLocation {
    /// The physical line, counted from 1, on which the record begins.
    Line(u64),
    /// The row of a row group, both counted from 0.
    Row { row_group: usize, row: usize },
    /// The record of a file that a mapping reads, counted from 1 after the header, and the line on which it begins if
    /// the file has lines.
    Record { record: u64, line: Option<u64> },
}

impl InputLocation {
    /// Returns whether this location comes before another location of the same file.
    pub(crate) fn is_before(self, other: Self) -> bool {
        self.cmp_in_file(other) == Ordering::Less
    }

    /// Compares this location with another location of the same file.
    pub(crate) fn cmp_in_file(self, other: Self) -> Ordering {
        let key = |location| match location {
            Self::Line(line) => (line, 0),
            Self::Row { row_group, row } => (u64::try_from(row_group).unwrap_or(0), row),
            Self::Record { record, line } => (line.unwrap_or(record), 0),
        };
        key(self).cmp(&key(other))
    }
}

impl fmt::Display for InputLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Row { row_group, row } => write!(f, "row group {row_group}, row {row} (both counted from 0)"),
            Self::Record { record, .. } => write!(f, "row {record}"),
        }
    }
}

/// A row that breaks a rule.
#[derive(Clone, Debug)]
pub(crate) struct RowFault {
    pub(crate) location: InputLocation,
    /// The column at fault; `None` if the record as a whole is.
    pub(crate) column: Option<String>,
    /// The value at fault, as text.
    pub(crate) value: Option<String>,
    /// The rule, which is the same for every row that breaks it: what was expected.
    pub(crate) rule: Cow<'static, str>,
    /// What was found instead, as the rest of the sentence that `rule` begins.
    pub(crate) found: String,
    pub(crate) cells: RowCells,
    /// What a mapping says of a value that it cannot read; `None` for any other fault.
    pub(crate) mapping: Option<Box<MappingFault>>,
}

/// A value that a mapping cannot read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MappingFault {
    /// The key of the mapping that reads the column.
    pub(crate) key: String,
    /// What was expected, without the value.
    pub(crate) expected: String,
    /// The file and the record of the value, if the value comes from a joined input.
    pub(crate) joined: Option<(PathBuf, InputLocation)>,
}

/// A value that a mapping cannot read.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{}`, row {row}, column `{}`: {reason}, but found `{}` (mapping key `{}`)",
    path.display(), Shown(.column), Shown(.value), Shown(.key)
)]
pub struct ValueFault {
    /// The file.
    pub path: PathBuf,
    /// The row, counted from 1 after the header.
    pub row: u64,
    /// The column as the file names it, or as the mapping renames it.
    pub column: String,
    /// The value; empty if there is none.
    pub value: String,
    /// What was expected.
    pub reason: String,
    /// The key of the mapping that reads the column.
    pub key: String,
}

impl ValueFault {
    /// Makes the error of a fault, if it is that of a mapping. `path` is the row's file.
    pub(crate) fn new(path: &Path, fault: &RowFault) -> Option<Self> {
        let MappingFault { key, expected, joined } = fault.mapping.as_deref()?;
        let (path, location) = joined.as_ref().map_or((path, fault.location), |(path, location)| (path, *location));
        let row = if let InputLocation::Record { record, .. } = location { record } else { 0 };
        let (column, value) = (fault.column.clone().unwrap_or_default(), fault.value.clone().unwrap_or_default());
        Some(Self { path: path.to_owned(), row, column, value, reason: expected.clone(), key: key.clone() })
    }
}

impl RowFault {
    /// Returns the bytes of memory that it takes, approximately.
    pub(crate) fn bytes(&self) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let cells: usize = match &self.cells {
            RowCells::Texts(cells) => {
                cells.iter().map(|(name, cell)| size_of_val(name) * 2 + name.len() + text(cell)).sum()
            }
            RowCells::OfBatch { .. } => 0,
        };
        size_of_val(self) + text(&self.column) + text(&self.value) + self.rule.len() + self.found.len() + cells
    }

    /// Returns what is wrong, in one sentence.
    pub(crate) fn reason(&self) -> String {
        format!("{}{}", self.rule, self.found)
    }

    /// Returns whether another fault of the same row says the same.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.column == other.column && self.value == other.value && self.reason() == other.reason()
    }
}

/// The name of a column and the text of a cell; null is `None`.
pub(crate) type CellText = (String, Option<String>);

/// The cells of a row as texts by column name, as far as they could be read.
#[derive(Clone, Debug)]
pub(crate) enum RowCells {
    Texts(Vec<CellText>),
    /// Cells that become texts when they are needed, because text takes far more memory than the batch.
    OfBatch {
        batch: Arc<RecordBatch>,
        row: usize,
        longest: usize,
    },
}

impl RowCells {
    /// Returns the cells of a row of a batch. Texts of more than `longest` bytes are shortened.
    pub(crate) fn of_batch(batch: &Arc<RecordBatch>, row: usize, longest: usize) -> Self {
        Self::OfBatch { batch: batch.clone(), row, longest }
    }

    /// Returns the texts.
    pub(crate) fn texts(&self) -> Result<Cow<'_, [CellText]>, ArrowError> {
        let (batch, row, longest) = match self {
            Self::Texts(cells) => return Ok(Cow::Borrowed(cells)),
            Self::OfBatch { batch, row, longest } => (batch, *row, *longest),
        };
        const OPTIONS: FormatOptions<'static> = FormatOptions::new();
        let cell = |column: &ArrayRef| -> Result<Option<String>, ArrowError> {
            if column.is_null(row) {
                return Ok(None);
            }
            let text = ArrayFormatter::try_new(&with_utc_offset(column), &OPTIONS)?.value(row).to_string();
            Ok(Some(if text.len() > longest { shortened(&text, longest).to_owned() } else { text }))
        };
        let names = batch.schema_ref().fields().iter().map(|field| field.name().clone());
        names.zip(batch.columns()).map(|(name, column)| Ok((name, cell(column)?))).collect()
    }
}

impl fmt::Display for RowFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.location)?;
        if let Some(column) = &self.column {
            write!(f, ", column `{}`", Shown(column))?;
        }
        write!(f, ": {}{}", self.rule, self.found)
    }
}

/// Characters that remain of a text that is longer than allowed.
const SHORTENED_CHARS: usize = 200;

/// Returns the text, or its beginning if it has more than `longest` bytes.
pub(crate) fn shortened(text: &str, longest: usize) -> &str {
    if text.len() <= longest {
        return text;
    }
    text.char_indices().nth(SHORTENED_CHARS).map_or(text, |(end, _)| &text[..end])
}

/// Replaces the time zone of timestamps by the offset of UTC, because a zone's name cannot be shown without a time zone
/// database.
fn with_utc_offset(column: &ArrayRef) -> ArrayRef {
    fn replaced<T: ArrowTimestampType>(column: &ArrayRef) -> ArrayRef {
        Arc::new(column.as_primitive::<T>().clone().with_timezone("+00:00"))
    }
    match column.data_type() {
        DataType::Timestamp(unit, Some(_)) => match unit {
            TimeUnit::Second => replaced::<TimestampSecondType>(column),
            TimeUnit::Millisecond => replaced::<TimestampMillisecondType>(column),
            TimeUnit::Microsecond => replaced::<TimestampMicrosecondType>(column),
            TimeUnit::Nanosecond => replaced::<TimestampNanosecondType>(column),
        },
        _ => column.clone(),
    }
}
