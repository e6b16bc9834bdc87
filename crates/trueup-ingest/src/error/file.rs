//! Why an input as a whole cannot be ingested: its file, its text, its columns.

use super::{ErrorKind, InputLocation};
use crate::IngestError;
use std::io;
use std::path::Path;
use trueup_core::Shown;
use trueup_core::dataset::without_credentials;
use trueup_core::model::{SchemaFault, TableFault};

/// Why an input as a whole cannot be ingested.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileFault {
    /// The file has no bytes, or its text is empty once it is unpacked.
    #[error("the file is empty")]
    Empty,
    /// A CSV file or a sheet has no header.
    #[error("the file has no header; its first line must name the columns")]
    NoHeader,
    /// The header names a column twice.
    #[error("{location}: the header has the column `{}` twice", Shown(.name))]
    RepeatedColumn {
        /// Where the header is.
        location: InputLocation,
        /// The name.
        name: String,
    },
    /// The number of cells in the first line is not the number of columns that the mapping names.
    #[error("the mapping's header has {expected} columns, but the first line has {found}")]
    OtherWidth {
        /// The number that is expected.
        expected: usize,
        /// The number that was found.
        found: usize,
    },
    /// The line that the mapping says is the header is blank or does not exist. It is counted from 1.
    #[error("line {0} has no cells; correct the key `header_row` of this input")]
    BlankHeader(u64),
    /// No line has all the names that the mapping says the header has.
    #[error("none of the first {searched} lines has all the cells `{}`; correct the key `header_row` of this input", Shown(.names))]
    NoSuchHeader {
        /// The names, with `` `, ` `` between them.
        names: String,
        /// The lines that were searched.
        searched: u64,
    },
    /// The header has a column without a name.
    #[error("{location}: column {at} of the header has no name")]
    NamelessColumn {
        /// Where the header is.
        location: InputLocation,
        /// The column, counted from 1.
        at: usize,
    },
    /// A file that declares its columns has too many.
    #[error("the file has {count} columns, but at most {limit} are allowed; leave some out, or raise `--max-columns`")]
    TooManyColumns {
        /// The columns of the file.
        count: usize,
        /// The largest number allowed.
        limit: usize,
    },
    /// An NDJSON file, whose columns are counted while it is read, has more than this number, which is the limit.
    #[error("the file has more than {0} columns; leave some out, or raise `--max-columns`")]
    ManyColumns(usize),
    /// The name of a column is too long.
    #[error("the column name that begins with `{begin}` has {bytes} bytes, but at most {limit} are allowed; rename it")]
    LongName {
        /// The first characters of the name.
        begin: String,
        /// The bytes of the name.
        bytes: usize,
        /// The largest number allowed.
        limit: usize,
    },
    /// A record is too long.
    #[error(
        "{location}: the record has more than {longest} bytes; is a quote never closed? A larger `--memory` may take longer ones, \
         up to 64 MiB"
    )]
    LongRecord {
        /// Where the record begins.
        location: InputLocation,
        /// The most bytes allowed.
        longest: usize,
    },
    /// An insight document is too long.
    #[error("line {line}: the document has more than {longest} bytes; publish a shorter one")]
    LongDocument {
        /// The line, counted from 1.
        line: u64,
        /// The most bytes allowed.
        longest: usize,
    },
    /// A JSON array is broken.
    #[error("element {element} of the JSON array: {what}")]
    JsonArray {
        /// The element, counted from 1.
        element: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// Columns hold values that the table cannot have, such as lists or bytes.
    #[error("columns that cannot be dimensions: {}; leave them out with {}", shown_columns(.0), shown_ignores(.0))]
    UnfitColumns(Vec<UnfitColumn>),
    /// The file and the name of its folder have the same column.
    #[error(
        "the file has a column `{}`, and its folder `{}` gives one, too; say `--ignore '{}'` or `--ignore '{}'` for the one \
         to leave out",
        Shown(.column), Shown(.folder), Shown(.column), Shown(.folder)
    )]
    ColumnOfFolder {
        /// The column.
        column: String,
        /// The folder's name.
        folder: String,
    },
    /// A text is not UTF-8.
    #[error(
        "{location}: the text is not UTF-8 at byte offset {offset} (0x{byte:02X}); it looks like {likely}: if it is, say \
         `--encoding {likely}`"
    )]
    NotUtf8 {
        /// Where the first byte is that is not UTF-8.
        location: InputLocation,
        /// The bytes of the text before this byte.
        offset: u64,
        /// This byte.
        byte: u8,
        /// The encoding that the text probably has.
        likely: &'static str,
    },
    /// A text is in UTF-16, probably in this encoding.
    #[error("the text is not UTF-8 from byte offset 0 on; it looks like {0}: if it is, say `--encoding {0}`")]
    Utf16(&'static str),
    /// A text is not in the encoding that was given.
    #[error("the text is not {encoding} at byte offset {offset}; is `--encoding` right?")]
    NotInEncoding {
        /// The encoding.
        encoding: &'static str,
        /// The bytes of the text before the first one that is not in the encoding.
        offset: u64,
    },
    /// The header has one column and other separators.
    #[error(
        "the header has one column: there is no {} in it, but {}; if that separates the columns, say `--delimiter '{}'`",
        shown_separator(*.assumed), shown_counts(.found), candidate.escape_default()
    )]
    OtherSeparator {
        /// The separator that the file was read with.
        assumed: char,
        /// Other separators, and how often the header has each.
        found: Vec<(char, usize)>,
        /// The one that it has most often.
        candidate: char,
    },
    /// The file's name says that it is compressed with this program, such as `gzip`, and its content says otherwise.
    #[error("the file's name says that it is compressed with {0}, but its first bytes say otherwise; rename it")]
    NotCompressed(&'static str),
    /// A compressed file cannot be unpacked.
    #[error("the file cannot be unpacked with {program}; it is damaged or cut short: {source}")]
    DamagedCompression {
        /// The program, such as `gzip`.
        program: &'static str,
        /// What the program says.
        source: io::Error,
    },
    /// A compressed file unpacks to more than this many times its size, which data rarely does.
    #[error(
        "the file unpacks to more than {0} times its size, which data rarely does; if it is sound, unpack it first"
    )]
    CompressionBomb(u64),
    /// A file that is no text is compressed as a whole.
    #[error("only text is read while it is compressed; unpack the file first")]
    CompressedBinary,
    /// The file should be in a format that is no text, and is not. The message is that of the format.
    #[error("{0}")]
    NotInFormat(&'static str),
    /// The file is in a format that is no text, and should not be. The message is that of the format.
    #[error("{0}")]
    IsInFormat(&'static str),
    /// The file has the format of an older version of Excel, or a password protects it.
    #[error(
        "this is a file of an older Excel (.xls), or one that a password protects; open it and save it as .xlsx without a \
         password"
    )]
    OldExcel,
    /// The file is a ZIP archive of other files.
    #[error("this is a ZIP archive without a workbook in it; unpack it, and give the files in it")]
    NoWorkbook,
    /// The file is no table, but something such as `a PDF file`. The message names formats that other programs export,
    /// and not each that is read.
    #[error("this is {0}, not a table; export the data as CSV, NDJSON, XLSX or Parquet")]
    NoTable(&'static str),
    /// The XLSX file is damaged or contradicts itself, or reading it would take too much memory. The text says
    /// why.
    #[error("the XLSX file cannot be read: {0}")]
    DamagedWorkbook(String),
    /// The workbook has no sheet of the given name.
    #[error("the workbook has no sheet `{}`; its sheets are `{}`", Shown(.wanted), Shown(.found))]
    NoSheet {
        /// The name.
        wanted: String,
        /// The names of the workbook's sheets, with `` `, ` `` between them.
        found: String,
    },
    /// The Parquet file is damaged or cut short.
    #[error("the Parquet file is damaged or cut short: {0}")]
    Damaged(parquet::errors::ParquetError),
    /// A row group of the Parquet file cannot be read.
    #[error("row group {row_group} (counted from 0) of the Parquet file cannot be read: {source}")]
    DamagedGroup {
        /// The row group, counted from 0.
        row_group: usize,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A row group of the Parquet file does not fit in memory.
    #[error(
        "row group {row_group} (counted from 0) of the Parquet file takes {held} bytes of memory for its pages and up to {row} for \
         a row, but at most {most} are allowed; raise `--memory`, or write the file with smaller pages"
    )]
    TooLarge {
        /// The row group, counted from 0.
        row_group: usize,
        /// The bytes of memory that its pages take.
        held: usize,
        /// The most bytes of memory that a row takes.
        row: usize,
        /// The most bytes of memory allowed.
        most: usize,
    },
    /// A line of the file cannot be read.
    #[error("line {line}: {what}")]
    Record {
        /// The line, counted from 1.
        line: u64,
        /// What is wrong with the line.
        what: &'static str,
    },
    /// The columns are not those of the table.
    #[error("{_0}{hint}", hint = draft_hint(_0))]
    Schema(SchemaFault),
    /// A record batch, whose number is counted from 0, has other columns than its reader or its stream states, or, if
    /// none are stated, than the first batch.
    #[error(
        "record batch {0} (counted from 0) has other columns than its source states or, if it states none, than the first \
         batch"
    )]
    OtherColumns(usize),
    /// There is no record batch that says what the columns are.
    #[error("there is no record batch; give one without rows, or a reader that knows its columns")]
    NoBatches,
    /// A mapping or a draft cannot use the file. The text says why.
    #[error("{0}")]
    Refused(String),
    /// Insights are given as something other than lines of JSON.
    #[error("insights are documents, one JSON object per line; give a file or a reader of NDJSON")]
    NotDocuments,
    /// The rows cannot be read, or cannot be held in memory in the form that they need.
    #[error("{0}")]
    Unreadable(Box<dyn std::error::Error + Send + Sync>),
}

impl From<TableFault> for FileFault {
    fn from(fault: TableFault) -> Self {
        match fault {
            TableFault::Schema(fault) => Self::Schema(fault),
            other => Self::Unreadable(Box::new(other)),
        }
    }
}

impl FileFault {
    /// Adds the file.
    pub(crate) fn at(self, path: &Path) -> IngestError {
        ErrorKind::Input { path: without_credentials(path), fault: self }.into()
    }
}

/// A column that a table cannot have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfitColumn {
    /// The name.
    pub name: String,
    /// The type, as Arrow writes it.
    pub data_type: String,
}

fn shown_columns(columns: &[UnfitColumn]) -> String {
    let shown = |column: &UnfitColumn| format!("`{}` ({})", Shown(&column.name), Shown(&column.data_type));
    columns.iter().map(shown).collect::<Vec<_>>().join(", ")
}

fn shown_ignores(columns: &[UnfitColumn]) -> String {
    let shown = |column: &UnfitColumn| format!("`--ignore {}`", Shown(&column.name));
    columns.iter().map(shown).collect::<Vec<_>>().join(" ")
}

/// Returns how many of each separator there are, for messages.
fn shown_counts(found: &[(char, usize)]) -> String {
    let counts: Vec<String> = found.iter().map(|(char, count)| format!("{count} {}", shown_separator(*char))).collect();
    counts.join(", ")
}

fn shown_separator(separator: char) -> String {
    if separator == '\t' { "tab".to_owned() } else { format!("`{separator}`") }
}

/// Says how to read a file of another shape, if columns are missing.
fn draft_hint(fault: &SchemaFault) -> &'static str {
    match fault {
        SchemaFault::MissingColumns { .. } | SchemaFault::NoSpend { .. } => {
            "; if it is a file of another shape, `trueup mapping draft FILE` drafts a mapping of it"
        }
        _ => "",
    }
}
