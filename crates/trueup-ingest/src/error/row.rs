//! A faulty row: its location in a file, and what is wrong with it.

use super::ErrorKind;
use crate::IngestError;
use crate::value_marks::is_value_marks;
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
use trueup_core::dataset::{ControlTotals, without_credentials};
use trueup_core::model::Reason;

/// The location of a row in its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputLocation {
    /// The physical line, counted from 1, on which the record begins.
    Line(u64),
    /// A row of a Parquet file.
    Row {
        /// The row group, counted from 0.
        row_group: usize,
        /// The row of the row group, counted from 0.
        row: usize,
    },
    /// A row of an Arrow record batch.
    Batch {
        /// The batch, counted from 0.
        batch: usize,
        /// The row of the batch, counted from 0.
        row: usize,
    },
    /// A row of a file without lines, counted from 1: the row of a sheet as the spreadsheet shows it, the element of a
    /// JSON array, or the row of a Parquet file or of record batches that a mapping reads.
    Record(u64),
}

impl InputLocation {
    /// Returns the physical line, counted from 1, on which the row begins; `None` if the input has no lines.
    #[must_use]
    pub const fn line(self) -> Option<u64> {
        match self {
            Self::Line(line) => Some(line),
            Self::Row { .. } | Self::Batch { .. } | Self::Record(_) => None,
        }
    }

    /// Returns whether this location comes before another location of the same file.
    pub(crate) fn is_before(self, other: Self) -> bool {
        self.cmp_in_file(other) == Ordering::Less
    }

    /// Compares this location with another location of the same file.
    pub(crate) fn cmp_in_file(self, other: Self) -> Ordering {
        let key = |location| match location {
            Self::Line(line) | Self::Record(line) => (line, 0),
            Self::Row { row_group, row } => (u64::try_from(row_group).unwrap_or(0), row),
            Self::Batch { batch, row } => (u64::try_from(batch).unwrap_or(0), row),
        };
        key(self).cmp(&key(other))
    }
}

impl fmt::Display for InputLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Row { row_group, row } => write!(f, "row group {row_group}, row {row} (both counted from 0)"),
            Self::Batch { batch, row } => write!(f, "record batch {batch}, row {row} (both counted from 0)"),
            Self::Record(record) => write!(f, "row {record}"),
        }
    }
}

/// A row that breaks a rule. Its message names the location, the column, and the value.
#[derive(Clone, Debug)]
pub struct RowFault {
    pub(crate) location: InputLocation,
    pub(crate) column: Option<String>,
    pub(crate) value: Option<String>,
    pub(crate) rule: Rule,
    /// What was found instead, as the rest of the sentence that the rule begins: `, but found ...`. Empty for a rule
    /// of a mapping, whose rest follows from the value.
    pub(crate) found: String,
    pub(crate) cells: RowCells,
    /// The file and the location of the value, if it comes from an input that a mapping joins.
    pub(crate) joined: Option<Box<(PathBuf, InputLocation)>>,
    /// The amounts of the row; `None` if its cells are not known by their columns.
    pub(crate) totals: Option<ControlTotals>,
}

/// A rule that a row can break. [`Display`](fmt::Display) says what was expected, in the same words for every row.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// The value is one that its column may have. [`Reason`] says what the column expects.
    Value(Reason),
    /// A text has at most this many bytes.
    TextLength(usize),
    /// A row of CSV has as many cells as the header, which has this many, and a row of a sheet has no more.
    CellCount(usize),
    /// A cell of a sheet holds no error, such as `#DIV/0!`.
    SheetValue,
    /// A number of a sheet is small enough that the sheet holds no other whole number as the same one.
    SheetDigits,
    /// The value of a formula is saved in the sheet.
    SavedFormula,
    /// A line of NDJSON is a JSON object.
    JsonObject,
    /// Each member of a JSON object has a name.
    MemberName,
    /// No two members of a JSON object have the same name.
    RepeatedMember,
    /// A member of a JSON object has a value that its column can hold. The text says what was expected.
    MemberValue(&'static str),
    /// A line of insights is an object with exactly the members `account`, `date` and `insight`.
    InsightLine,
    /// The account of an insight is an account key.
    InsightAccount,
    /// The document of an insight is a JSON object.
    InsightDocument,
    /// A row of a patch names a stored event of its account.
    StoredEvent,
    /// A mapping can read the value, or finds the row of a joined input that it needs.
    Mapping {
        /// The key of the mapping that reads the column.
        key: String,
        /// What was expected.
        expected: String,
    },
}

impl Rule {
    /// Returns what was expected.
    pub(crate) fn words(&self) -> Cow<'_, str> {
        match self {
            Self::Value(reason) => reason.rule(),
            Self::TextLength(limit) => format!("expected a text of at most {limit} bytes").into(),
            Self::CellCount(expected) => format!("expected {expected} cells as in the header").into(),
            Self::SheetValue => "expected a value".into(),
            Self::SheetDigits => {
                "expected a number below 9007199254740992, as a sheet holds no longer ones exactly".into()
            }
            Self::SavedFormula => "expected a formula with a saved value".into(),
            Self::JsonObject => "expected a JSON object".into(),
            Self::MemberName => "expected a name for each member".into(),
            Self::RepeatedMember => "expected each member once".into(),
            Self::MemberValue(expected) => (*expected).into(),
            Self::InsightLine => "expected {\"account\", \"date\", \"insight\"}".into(),
            Self::InsightAccount => "expected an account key that is not empty and has no `,` or `/`".into(),
            Self::InsightDocument => "expected a document as a JSON object".into(),
            Self::StoredEvent => "expected the `eventId` of a stored event of the account".into(),
            Self::Mapping { expected, .. } => expected.into(),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words())
    }
}

/// A value as a message shows it: in backticks, or `nothing` if it is empty.
struct FoundValue<'a>(&'a str);

impl fmt::Display for FoundValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str("nothing") } else { write!(f, "`{}`", Shown(self.0)) }
    }
}

impl RowFault {
    /// Adds the file: the input, unless a mapping joins the value from another one.
    pub(crate) fn at(self, input: &Path) -> IngestError {
        let path = without_credentials(self.joined.as_deref().map_or(input, |(path, _)| path));
        ErrorKind::Row { path, fault: self }.into()
    }

    /// Returns where the row is in its file; for a value that a mapping joins, where that value is in the joined file.
    #[must_use]
    pub fn location(&self) -> InputLocation {
        self.joined.as_deref().map_or(self.location, |(_, location)| *location)
    }

    /// Returns the column at fault; `None` if the record as a whole is.
    #[must_use]
    pub fn column(&self) -> Option<&str> {
        self.column.as_deref()
    }

    /// Returns the value at fault as text, shortened if it is long, and empty if it is null. It is the whole line if a
    /// line of JSON as a whole is at fault, and `None` if there is no single value.
    #[must_use]
    pub fn value(&self) -> Option<&str> {
        self.value.as_deref()
    }

    /// Returns the rule that the row breaks.
    #[must_use]
    pub const fn rule(&self) -> &Rule {
        &self.rule
    }

    /// Returns whether the row has fewer cells than the header.
    pub(crate) fn is_short(&self) -> bool {
        let RowCells::Strings(cells) = &self.cells else { return false };
        matches!(self.rule, Rule::CellCount(expected) if cells.len() < expected)
    }

    /// Returns the bytes of memory that the fault takes, approximately.
    pub(crate) fn bytes(&self) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let cells: usize = match &self.cells {
            RowCells::Strings(cells) => {
                cells.iter().map(|(name, cell)| size_of_val(name) * 2 + name.len() + text(cell)).sum()
            }
            RowCells::OfBatch { .. } => 0,
        };
        size_of_val(self) + text(&self.column) + text(&self.value) + self.found.len() + cells
    }

    /// Returns what is wrong, in one sentence, which names the place of a joined value.
    pub(crate) fn reason(&self) -> String {
        let place = self.joined.as_deref().map(|(path, location)| format!(" in {location} of `{}`", path.display()));
        format!("{}{}", self.rule, self.found(&place.unwrap_or_default()))
    }

    /// Returns what was found, as the rest of the sentence that the rule begins. `place` follows the value of a rule of
    /// a mapping.
    fn found(&self, place: &str) -> Cow<'_, str> {
        let Rule::Mapping { key, .. } = &self.rule else { return Cow::Borrowed(&self.found) };
        let value = FoundValue(self.value.as_deref().unwrap_or_default());
        format!(", but found {value}{place} (mapping key `{}`)", Shown(key)).into()
    }

    /// Returns whether another fault of the same row says the same. A join may repeat a row.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.column == other.column && self.value == other.value && self.reason() == other.reason()
    }
}

/// The name of a column and the text of a cell; null is `None`.
pub(crate) type CellText = (String, Option<String>);

/// The cells of a row as texts by column name, as far as they could be read.
#[derive(Clone, Debug)]
pub(crate) enum RowCells {
    Strings(Vec<CellText>),
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
            Self::Strings(cells) => return Ok(Cow::Borrowed(cells)),
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
        let own = names.zip(batch.columns()).filter(|(name, _)| !is_value_marks(name));
        own.map(|(name, column)| Ok((name, cell(column)?))).collect()
    }
}

impl fmt::Display for RowFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.location())?;
        if let Some(column) = &self.column {
            write!(f, ", column `{}`", Shown(column))?;
        }
        write!(f, ": {}{}", self.rule, self.found(""))
    }
}

/// Characters that remain of a text that is longer than allowed.
const SHORTENED_CHARS: usize = 200;

/// Returns the text; if it has more than `longest` bytes, its first [`SHORTENED_CHARS`] characters.
pub(crate) fn shortened(text: &str, longest: usize) -> &str {
    if text.len() <= longest {
        return text;
    }
    text.char_indices().nth(SHORTENED_CHARS).map_or(text, |(end, _)| &text[..end])
}

/// Replaces the time zone of timestamps by the offset of UTC, because a zone's name cannot be shown without a time zone
/// database.
pub(crate) fn with_utc_offset(column: &ArrayRef) -> ArrayRef {
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
