//! The beginning of a file: its columns, and the values that the first rows have in each.

use super::DraftOptions;
use super::export::{RowCondition, is_known, known_names};
use crate::IngestError;
use crate::TextEncoding;
use crate::error::{ErrorContext, FileFault, InputLocation, RowFault, Rule, with_utc_offset};
use crate::mapping::cells::StringCells;
use crate::source::{
    DecodedBatch, FileFormat, HeaderRow, Input, InputReader, ReadLimits, ReadOptions, Setting, file_name,
    shows_encoding,
};
use crate::table::Table;
use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
use arrow_select::filter::filter_record_batch;
use hashbrown::HashMap;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trueup_core::files::Files;

/// The sample of a file.
pub(super) struct FileSample {
    pub(super) path: PathBuf,
    /// The name without its folder.
    pub(super) file_name: String,
    /// The format, if it is not what the name says.
    pub(super) format: Option<&'static str>,
    /// What separates the cells, if it is not what the name says.
    pub(super) separator: Option<char>,
    /// The encoding of a text, if it was given and the text does not show it.
    pub(super) encoding: Option<TextEncoding>,
    /// The sheet of a workbook, if it was given.
    pub(super) sheet: Option<String>,
    /// Whether merged cells of a sheet name the columns that they span.
    pub(super) is_merged: bool,
    /// The line of the header, counted from 1, if title lines precede it.
    pub(super) header_row: Option<u64>,
    /// Where the rows with fewer cells than the header are.
    pub(super) short_rows: Vec<InputLocation>,
    /// The errors that cells of a sheet hold, such as `#N/A`.
    pub(super) cell_errors: Vec<String>,
    pub(super) columns: Vec<ColumnSample>,
    /// The names of columns that cannot be read as text.
    pub(super) unreadable: Vec<String>,
    pub(super) rows: usize,
    /// Whether the sample is the whole file.
    pub(super) is_whole: bool,
    batches: Vec<RecordBatch>,
}

/// The sample of a column.
pub(super) struct ColumnSample {
    pub(super) name: String,
    pub(super) data_type: DataType,
    /// The distinct values, at most [`MAX_VALUES`], in the order in which they first occur, each with its number of
    /// rows.
    pub(super) values: Vec<(String, usize)>,
    /// Whether there are more distinct values.
    pub(super) has_more: bool,
    /// The rows without a value.
    pub(super) empty: usize,
    /// The rows with a value.
    pub(super) filled: usize,
}

/// The rows after which a sample ends, with the batch that reaches this number.
const MAX_ROWS: usize = 1 << 14;

/// The most distinct values of a column that are kept.
const MAX_VALUES: usize = 4_000;

/// What may separate the cells of a CSV file whose header seems to have a single column.
const SEPARATORS: [u8; 3] = *b";\t|";

impl FileSample {
    /// Reads the sample of a file.
    pub(super) fn read(path: &Path, given: &DraftOptions) -> Result<Self, IngestError> {
        let files = Files::default();
        let limits = ReadLimits { rows: MAX_ROWS, ..ReadLimits::default() };
        let DraftOptions { encoding, sheet, templates: _ } = given.clone();
        let encoding = match encoding {
            Some(_) if shows_encoding(&files, &Input::given(path))? => None,
            of_others => of_others,
        };
        let mut options = ReadOptions { encoding, sheet, ..ReadOptions::default() };
        let open = |options: ReadOptions| Input { options: Arc::new(options), ..Input::given(path) };
        let columns = |separator: Option<u8>, header_row: Option<HeaderRow>| {
            let input = open(ReadOptions { separator, header_row, ..options.clone() });
            InputReader::open(&files, &input, limits).and_then(|reader| reader.all_columns(limits))
        };
        type Way = (Option<u8>, Option<HeaderRow>, Result<SchemaRef, IngestError>);
        let ways = |row: Option<HeaderRow>| {
            let separators = [None].into_iter().chain(SEPARATORS.map(Some));
            separators.map(move |separator| (separator, row.clone()))
        };
        let tried =
            |(separator, row): (Option<u8>, Option<HeaderRow>)| (separator, row.clone(), columns(separator, row));
        let is_export = |(.., schema): &Way| {
            let names =
                |schema: &SchemaRef| is_known(&schema.fields().iter().map(|it| it.name().as_str()).collect::<Vec<_>>());
            schema.as_ref().is_ok_and(names)
        };
        let mut found = tried((None, None));
        if !is_export(&found) {
            // The title lines of a known export may look like a header.
            let known = || Some(HeaderRow::Fitting(Arc::new(known_names())));
            let export = ways(None).skip(1).chain(ways(known())).map(tried).find(is_export);
            if let Some(export) = export {
                found = export;
            } else if found.2.as_ref().map_or(true, |schema| schema.fields().len() < 2) {
                // A header on the first line comes before one below title lines, of which the one with the most columns
                // counts, because `1.234,50` has a comma whatever separates the cells.
                let width = |(.., schema): &Way| schema.as_ref().map_or(0, |it| it.fields().len());
                let fits = |way: &Way| width(way) > 1;
                let below =
                    || ways(Some(HeaderRow::Widest)).map(tried).filter(fits).min_by_key(|way| Reverse(width(way)));
                found = ways(None).map(tried).find(fits).or_else(below).unwrap_or(found);
            }
        }
        let spanning = || {
            let header_row = Some(HeaderRow::Widest);
            let input = open(ReadOptions { header_row, merged: Some(true), ..options.clone() });
            let schema =
                InputReader::open(&files, &input, limits).and_then(|reader| reader.all_columns(limits)).ok()?;
            let plain = found.2.as_ref().ok();
            plain.is_none_or(|plain| is_better_header(&schema, plain)).then_some(schema)
        };
        let is_sheet = FileFormat::from_name(path) == Some(FileFormat::XLSX);
        let spanned = (is_sheet && !is_export(&found)).then(spanning).flatten();
        if let Some(schema) = spanned {
            options.merged = Some(true);
            found = (None, Some(HeaderRow::Widest), Ok(schema));
        }
        let schema = found.2?;
        (options.separator, options.header_row) = (found.0, found.1);
        let mut unreadable: Vec<String> = Vec::new();
        let (batches, is_whole) = loop {
            let is_read = |name: &String| !unreadable.contains(name);
            let columns = schema.fields().iter().map(|field| field.name().clone()).filter(is_read);
            options.columns = Some(columns.collect());
            let (batches, is_whole) = first_rows(&files, &open(options.clone()), limits)?;
            // Errors of a sheet, and members that are objects or arrays: the rows are read again without them.
            let faults: Vec<&RowFault> = batches.iter().flat_map(|batch| &batch.malformed).collect();
            let is_to_mend = |fault: &&&RowFault| matches!(fault.rule, Rule::SavedFormula | Rule::SheetDigits);
            if let Some(fault) = faults.iter().find(is_to_mend) {
                return Err(FileFault::Refused(fault.to_string()).at(path));
            }
            let (errors, others): (Vec<_>, Vec<_>) =
                faults.into_iter().partition(|fault| fault.rule == Rule::SheetValue);
            let errors: BTreeSet<String> = errors.into_iter().filter_map(|fault| fault.value.clone()).collect();
            let nested: BTreeSet<String> = others.into_iter().filter_map(|fault| fault.column.clone()).collect();
            let known = options.empty.len() + unreadable.len();
            options.empty.extend(errors.into_iter().filter(|error| !options.empty.contains(error)).collect::<Vec<_>>());
            unreadable.extend(nested.into_iter().filter(|name| !unreadable.contains(name)).collect::<Vec<_>>());
            if options.empty.len() + unreadable.len() == known {
                if batches.iter().all(|batch| batch.batch.num_rows() == 0)
                    && let Some(fault) = batches.iter().find_map(|batch| batch.malformed.first())
                {
                    return Err(FileFault::Refused(fault.to_string()).at(path));
                }
                break (batches, is_whole);
            }
        };
        let input = open(options.clone());
        let reader = InputReader::open(&files, &input, limits)?;
        let (format, head) = (reader.format(), reader.head());
        let short_rows = batches.iter().flat_map(|batch| &batch.malformed).filter(|fault| fault.is_short());
        let short_rows: Vec<InputLocation> = short_rows.map(RowFault::location).collect();
        let mut sample = Self {
            path: path.to_owned(),
            file_name: file_name(path),
            format: (FileFormat::from_name(path) != Some(format)).then_some(format.name),
            separator: options.separator.map(char::from),
            encoding: options.encoding.filter(|_| format.takes(Setting::Encoding)),
            sheet: options.sheet.filter(|_| format.takes(Setting::Sheet)),
            is_merged: options.merged == Some(true),
            header_row: (head.title_lines > 0).then_some(head.header),
            short_rows,
            cell_errors: options.empty,
            columns: Vec::new(),
            rows: batches.iter().map(|batch| batch.batch.num_rows()).sum(),
            is_whole,
            unreadable,
            batches: batches.into_iter().map(|batch| batch.batch).collect(),
        };
        sample.add_columns(&schema).doing("sample a file")?;
        Ok(sample)
    }

    /// Keeps the rows that meet all conditions, and takes the cells `empty` for no value.
    pub(super) fn keep_rows(&mut self, conditions: &[RowCondition], empty: &[String]) -> Result<(), IngestError> {
        let keep = |batch: &RecordBatch| {
            let mut stays = vec![true; batch.num_rows()];
            for RowCondition { column, test, stays: passing_stays } in conditions {
                let texts = texts_of(batch, column)?;
                for (row, stays) in stays.iter_mut().enumerate() {
                    let text = texts.trimmed(row).filter(|text| !is_empty(text, empty)).unwrap_or_default();
                    *stays &= test.passes(text) == *passing_stays;
                }
            }
            filter_record_batch(batch, &BooleanArray::from(stays))
        };
        let kept = |batches: &[RecordBatch]| batches.iter().map(keep).collect::<Result<Vec<_>, _>>();
        self.batches = kept(&self.batches).doing("sample a file")?;
        for column in &mut self.columns {
            *column = ColumnSample::new(&column.name, column.data_type.clone(), self.batches.iter(), empty)
                .doing("sample a file")?;
        }
        Ok(())
    }

    /// Returns whether an id that is made of the values of some columns stands for one row each. Rows that are equal
    /// in every column count as one. `id` makes the id of the values; a row without an id does not count.
    pub(super) fn is_id(&self, columns: &[&str], id: &dyn Fn(&[&str]) -> Option<String>) -> Result<bool, IngestError> {
        let mut rows: HashMap<String, String> = HashMap::new();
        for batch in &self.batches {
            let texts = |names: &[&str]| names.iter().map(|name| texts_of(batch, name)).collect::<Result<Vec<_>, _>>();
            let of_id = texts(columns).doing("sample a file")?;
            let names: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
            let all = texts(&names).doing("sample a file")?;
            for row in 0..batch.num_rows() {
                let values: Vec<&str> = of_id.iter().map(|texts| texts.trimmed(row).unwrap_or_default()).collect();
                let Some(id) = id(&values) else { continue };
                let whole: Vec<&str> = all.iter().map(|texts| texts.get(row).unwrap_or_default()).collect();
                let whole = whole.join("\u{1f}");
                if rows.get(&id).is_some_and(|other| *other != whole) {
                    return Ok(false);
                }
                rows.insert(id, whole);
            }
        }
        Ok(true)
    }

    fn add_columns(&mut self, schema: &Schema) -> Result<(), ArrowError> {
        for field in schema.fields() {
            let data_type = match field.data_type() {
                DataType::Dictionary(_, values) => values.as_ref().clone(),
                plain => plain.clone(),
            };
            let is_binary =
                matches!(data_type, DataType::Binary | DataType::LargeBinary | DataType::FixedSizeBinary(_));
            if data_type.is_nested() || is_binary || self.unreadable.contains(field.name()) {
                if !self.unreadable.contains(field.name()) {
                    self.unreadable.push(field.name().clone());
                }
                continue;
            }
            self.columns.push(ColumnSample::new(field.name(), data_type, self.batches.iter(), &[])?);
        }
        Ok(())
    }

    /// Finds a column by name.
    pub(super) fn column(&self, name: &str) -> Option<&ColumnSample> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Returns whether the file has a column of this name, even one that cannot be read.
    pub(super) fn has_column(&self, name: &str) -> bool {
        self.column(name).is_some() || self.unreadable.iter().any(|column| column == name)
    }
}

/// Returns whether a header over several rows of merged cells is one rather than a plain row: it names more columns, or
/// the plain row holds values.
fn is_better_header(merged: &Schema, plain: &Schema) -> bool {
    let has_numbers = |schema: &Schema| schema.fields().iter().any(|field| field.name().parse::<f64>().is_ok());
    // A title above the header is merged over all columns, too.
    let names = || merged.fields().iter().map(|field| field.name());
    let is_title = |shortest: &String| names().all(|name| name.starts_with(shortest.as_str()));
    let is_wider = merged.fields().len() > plain.fields().len();
    (is_wider || (has_numbers(plain) && !has_numbers(merged)))
        && !names().min_by_key(|name| name.len()).is_some_and(is_title)
}

/// Returns the first rows of an input, and whether these are certainly all.
fn first_rows(files: &Files, input: &Input, limits: ReadLimits) -> Result<(Vec<DecodedBatch>, bool), IngestError> {
    let mut reader = InputReader::open(files, input, limits)?;
    let (mut batches, mut rows) = (Vec::new(), 0);
    while let Some(chunk) = reader.next()? {
        for batch in chunk.decode(Table::Events, limits).map_err(|fault| fault.at(&input.shown))? {
            let mut batch = batch.map_err(|fault| fault.at(&input.shown))?;
            if let Some(fault) = batch.fatal.take() {
                return Err(fault.at(&input.shown));
            }
            // Malformed records count, too, because a file may have no others.
            rows += batch.batch.num_rows() + batch.malformed.len();
            batches.push(batch);
            if rows >= MAX_ROWS {
                return Ok((batches, false));
            }
        }
    }
    Ok((batches, true))
}

/// Returns the texts of a column of a batch.
fn texts_of(batch: &RecordBatch, name: &str) -> Result<StringCells, ArrowError> {
    // Arrow cannot show a time in a named time zone.
    StringCells::of(batch.column_by_name(name).map(with_utc_offset).as_ref())
}

/// Returns whether a text without blanks at its ends is one of the cells that mean no value.
fn is_empty(text: &str, empty: &[String]) -> bool {
    empty.iter().any(|empty| empty.trim() == text)
}

impl ColumnSample {
    fn new<'b>(
        name: &str,
        data_type: DataType,
        batches: impl Iterator<Item = &'b RecordBatch>,
        empty: &[String],
    ) -> Result<Self, ArrowError> {
        let mut sample =
            Self { name: name.to_owned(), data_type, values: Vec::new(), has_more: false, empty: 0, filled: 0 };
        let mut places: HashMap<String, usize> = HashMap::new();
        for batch in batches {
            let texts = texts_of(batch, name)?;
            for row in 0..batch.num_rows() {
                let Some(text) = texts.trimmed(row).filter(|text| !is_empty(text, empty)) else {
                    sample.empty += 1;
                    continue;
                };
                sample.filled += 1;
                if let Some(place) = places.get(text) {
                    sample.values[*place].1 += 1;
                } else if sample.values.len() < MAX_VALUES {
                    places.insert(text.to_owned(), sample.values.len());
                    sample.values.push((text.to_owned(), 1));
                } else {
                    sample.has_more = true;
                }
            }
        }
        Ok(sample)
    }

    /// Returns the distinct values.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.values.iter().map(|(text, _)| text.as_str())
    }

    /// Returns whether every row has a value, and no two rows the same one, as far as the values are kept.
    pub(super) fn is_unique(&self) -> bool {
        self.empty == 0 && self.filled > 0 && self.values.iter().all(|(_, rows)| *rows == 1)
    }

    /// Returns the values that differ from an earlier one only in case, blanks, punctuation or accents, each with the
    /// earlier one. Of columns with many values, none.
    pub(super) fn spellings(&self) -> Vec<(&str, &str)> {
        const MAX_COMPARED: usize = 200;
        let is_few = self.values.len() <= MAX_COMPARED;
        let letters = |text: &str| -> Vec<char> {
            text.chars().filter(|char| char.is_alphanumeric()).flat_map(char::to_lowercase).collect()
        };
        let is_accented =
            |one: char, other: char| one.is_ascii_alphabetic() && !other.is_ascii() && other.is_alphabetic();
        let alike =
            |(one, other): (&char, &char)| one == other || is_accented(*one, *other) || is_accented(*other, *one);
        let is_spelling = |one: &[char], other: &[char]| {
            !one.is_empty() && one.len() == other.len() && one.iter().zip(other).all(alike)
        };
        let (mut firsts, mut spellings): (Vec<(&str, Vec<char>)>, _) = (Vec::new(), Vec::new());
        for text in self.texts().filter(|_| is_few) {
            let own = letters(text);
            match firsts.iter().find(|(_, first)| is_spelling(&own, first)) {
                Some((first, _)) => spellings.push((text, *first)),
                None => firsts.push((text, own)),
            }
        }
        spellings
    }

    /// Returns the first values for a comment, such as ``` `a`, `b`, ... ```.
    pub(super) fn examples(&self) -> String {
        const SHOWN: usize = 3;
        let shown: Vec<String> =
            self.texts().take(SHOWN).map(|text| format!("`{}`", trueup_core::Shown(text))).collect();
        let more = if self.values.len() > SHOWN { ", ..." } else { "" };
        if shown.is_empty() { "no value".to_owned() } else { format!("{}{more}", shown.join(", ")) }
    }
}
