//! Reads a sheet of an XLSX file. The first row that is not empty is the header, unless a mapping says otherwise; below
//! `merged` cells, a header has several rows.
//!
//! Every cell becomes text: whole numbers without `.0`, other numbers as the shortest decimal, dates as `YYYY-MM-DD`,
//! points in time as `YYYY-MM-DDTHH:MM:SS`, times of day and durations as `HH:MM:SS`, booleans as `true` and `false`. A
//! time that has milliseconds has three more digits: `HH:MM:SS.mmm`; a duration is rounded to seconds. A date, a time
//! or a duration that the file holds as a text of ISO 8601 stays as it is. A formula has the value that was saved with
//! it; without one, the row is rejected, because programs that write workbooks do not compute. A number of 2^53 or more
//! is rejected: as an id it would be that of several. For a mapping, [`value_marks`] say which cells are not texts in
//! the sheet.

mod merged;
mod workbook_bounds;

use super::{Binary, Content, FileFormat, Setting};
use crate::error::{FileFault, InputLocation, RowCells, RowFault, Rule, shortened};
use crate::source::chunk::{FormatReader, ReadFault};
use crate::source::columns::text_schema;
use crate::source::decoded::{DecodedBatch, MalformedRecords, ReadLimits, RowLocations};
use crate::source::header::{FileHead, HeadLine, HeaderRow};
use crate::source::input::{Input, ReadOptions};
use crate::source::left_out::LeftOutCount;
use crate::value_marks::value_marks;
use arrow_array::builder::{BooleanBuilder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use calamine::{DataRef, ExcelDateTime, Reader, SheetType, Xlsx, XlsxError};
use merged::{HeadRow, MergedCells, MergedHeader};
use std::collections::BTreeSet;
use std::io::BufReader;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use trueup_core::files::OpenFile;
use workbook_bounds::MAX_ROWS;

impl FileFormat {
    /// A sheet of an Excel workbook.
    pub const XLSX: Self = Self {
        name: "xlsx",
        endings: &["xlsx", "xlsm"],
        other_names: &[],
        title: "XLSX",
        settings: &[Setting::HeaderRow, Setting::ShortRows, Setting::Empty, Setting::Sheet, Setting::Merged],
        content: Content::Binary(Binary {
            begins,
            is_not: "expected an XLSX file, but the file does not begin as a ZIP archive; correct its name or the format",
            is: "this is a ZIP archive, such as an XLSX file, but its name or the format says otherwise; unpack it or, if \
                 it is an XLSX file, rename it to end in `.xlsx`, or correct the format",
            open,
        }),
    };
}

/// Returns whether a file begins as a ZIP archive, which an XLSX file is.
fn begins(begin: &[u8]) -> Result<bool, FileFault> {
    // As files of Excel before XLSX begin.
    if begin.starts_with(b"\xd0\xcf\x11\xe0") {
        return Err(FileFault::OldExcel);
    }
    Ok(begin.starts_with(b"PK\x03\x04"))
}

enum SheetPart {
    Header(SchemaRef, FileHead),
    Rows(DecodedBatch),
    Failed(FileFault),
    /// The sheet has no more rows.
    End,
}

/// Batches that are read ahead.
const READ_AHEAD: usize = 2;

/// Why a sheet is not read to its end.
enum SheetStop {
    /// The [`FormatReader`] is gone, so that nothing more is read for it.
    Unwanted,
    Fault(FileFault),
}

impl From<FileFault> for SheetStop {
    fn from(fault: FileFault) -> Self {
        Self::Fault(fault)
    }
}

/// Reads the header of the sheet that the options name, or of the first one. A thread of its own reads the sheet,
/// because the reader of its cells cannot be kept between two batches.
fn open(file: OpenFile, input: &Input, limits: ReadLimits) -> Result<FormatReader, ReadFault> {
    let (sender, parts) = sync_channel(READ_AHEAD);
    let options = input.options.clone();
    let read = move || {
        let last = match read_sheet(file, &options, limits, &sender) {
            Ok(()) => SheetPart::End,
            Err(SheetStop::Fault(fault)) => SheetPart::Failed(fault),
            Err(SheetStop::Unwanted) => return,
        };
        drop(sender.send(last));
    };
    thread::Builder::new().name("sheet".to_owned()).spawn(read)?;
    let (schema, head) = match parts.recv() {
        Ok(SheetPart::Header(schema, head)) => (schema, head),
        Ok(SheetPart::Failed(fault)) => return Err(fault.into()),
        Ok(SheetPart::Rows(_) | SheetPart::End) => return Err(FileFault::NoHeader.into()),
        Err(_) => return Err(broken().into()),
    };
    let next = move || match parts.recv() {
        Ok(SheetPart::Rows(rows)) => Some(Ok(rows)),
        Ok(SheetPart::Header(..) | SheetPart::End) => None,
        Ok(SheetPart::Failed(fault)) => Some(Err(fault)),
        Err(_) => Some(Err(broken())),
    };
    // The reader of a workbook does not say how far it has read.
    let read = Arc::new(AtomicU64::new(input.size()));
    let reader = FormatReader::of_rows(Some(schema), read, std::iter::from_fn(next).fuse());
    Ok(FormatReader { head, ..reader })
}

/// Returns the fault of a file on which the reader panicked.
fn broken() -> FileFault {
    FileFault::DamagedWorkbook("its reader could not go on; export CSV".to_owned())
}

fn damaged(error: XlsxError) -> FileFault {
    FileFault::DamagedWorkbook(error.to_string())
}

/// Sends the header and the rows of a sheet.
fn read_sheet(
    file: OpenFile,
    options: &ReadOptions,
    limits: ReadLimits,
    sender: &SyncSender<SheetPart>,
) -> Result<(), SheetStop> {
    let mut file = BufReader::new(file);
    workbook_bounds::check(&mut file, limits).map_err(|error| damaged(XlsxError::Io(error)))??;
    let mut workbook = Xlsx::new(file).map_err(|error| match error {
        // The archive lacks a file that every workbook has.
        XlsxError::FileNotFound(_) => FileFault::NoWorkbook,
        error => damaged(error),
    })?;
    let sheets = workbook.sheets_metadata().iter().filter(|sheet| sheet.typ == SheetType::WorkSheet);
    let names: Vec<String> = sheets.map(|sheet| sheet.name.clone()).collect();
    let name = match &options.sheet {
        Some(name) => names.iter().find(|found| *found == name),
        None => names.first(),
    };
    let Some(name) = name else {
        let wanted = options.sheet.clone().unwrap_or_default();
        return Err(FileFault::NoSheet { wanted, found: names.join("`, `") }.into());
    };
    let merged_cells = |workbook: &mut Xlsx<_>| {
        let cells = workbook.merge_cells_by_sheet_name(name).map_err(damaged)?;
        Ok::<_, FileFault>(MergedCells::new(&cells))
    };
    let is_merged = options.merged == Some(true);
    let merged = is_merged.then(|| merged_cells(&mut workbook)).transpose()?;
    // A draft compares what the first row names and what merged cells name.
    let is_draft = matches!(options.header_row, None | Some(HeaderRow::Widest));
    let is_doubted = options.merged.is_none() && !is_draft;
    let mut head = Vec::new();
    let read = read_rows(&mut workbook, (name, merged, is_doubted), options, limits, sender, &mut head);
    let may_be_merged = options.merged.unwrap_or(options.header_row.is_some());
    let is_header_fault = matches!(
        &read,
        Err(SheetStop::Fault(
            FileFault::NamelessColumn { .. } | FileFault::RepeatedColumn { .. } | FileFault::NoSuchHeader { .. }
        ))
    );
    if is_merged || !may_be_merged || !is_header_fault {
        return read;
    }
    // Below merged cells, the first row of a header has gaps or ends before the others, and the last one has names that
    // recur.
    let merged = Some(merged_cells(&mut workbook)?).filter(|merged| merged.concern(&head));
    read_rows(&mut workbook, (name, merged, false), options, limits, sender, &mut Vec::new())
}

/// Sends the header and the rows of a sheet. `head` gets the rows among which no header was found. If the header
/// `is_doubted`, one is a fault that has no name for a column of the row below it.
fn read_rows(
    workbook: &mut Xlsx<BufReader<OpenFile>>,
    (name, merged, is_doubted): (&str, Option<MergedCells>, bool),
    options: &ReadOptions,
    limits: ReadLimits,
    sender: &SyncSender<SheetPart>,
    head: &mut Vec<HeadRow>,
) -> Result<(), SheetStop> {
    let mut cells = workbook.worksheet_cells_reader(name).map_err(damaged)?;
    let mut sheet = SheetRows {
        name,
        options,
        limits,
        merged,
        is_doubted,
        head,
        head_bytes: 0,
        columns: None,
        row: 0,
        last_row: 0,
        cells: Vec::new(),
        cell_bytes: 0,
        batch: None,
        parts: Vec::new(),
    };
    let stop = |_| SheetStop::Unwanted;
    loop {
        let cell = cells.next_cell_with_formula_metadata().map_err(damaged)?;
        let place = cell.as_ref().map(|cell| cell.pos);
        if place.is_none_or(|(row, _)| row != sheet.row) {
            let ended = sheet.end_row().and_then(|()| if place.is_none() { sheet.end_head() } else { Ok(()) });
            for part in sheet.parts.drain(..) {
                sender.send(part).map_err(stop)?;
            }
            ended?;
        }
        let (Some(cell), Some((row, column))) = (cell, place) else { break };
        if row < sheet.row || row >= MAX_ROWS {
            let cell = format!("the cell {}{}", letters(column), u64::from(row) + 1);
            let reason = if row < sheet.row {
                format!("{cell} comes after row {}", sheet.row + 1)
            } else {
                format!("{cell} is below row {MAX_ROWS}, the last that a sheet can have")
            };
            return Err(FileFault::DamagedWorkbook(reason).into());
        }
        sheet.row = row;
        if let Some(value) = SheetCell::of(&cell.value, cell.formula.is_some()) {
            sheet.push(column, value)?;
        }
    }
    let rows = sheet.end_batch().map_err(|error| FileFault::Unreadable(Box::new(error)))?;
    rows.map_or(Ok(()), |rows| sender.send(SheetPart::Rows(rows)).map_err(stop))
}

/// From here on a sheet, whose numbers are doubles, holds several whole numbers as one.
const INEXACT_FROM: f64 = 9_007_199_254_740_992.0;

/// A cell that is not empty.
enum SheetCell {
    Text(String),
    /// A number, a date or a boolean, as text.
    Value(String),
    /// A number that may have been another one, as text.
    Inexact(String),
    /// An error of the spreadsheet, such as `#N/A`.
    Error(String),
    /// A formula without a saved value. One whose value is an empty text is an empty cell.
    UnsavedFormula,
}

impl SheetCell {
    fn of(value: &DataRef<'_>, is_formula: bool) -> Option<Self> {
        let cell = match value {
            DataRef::Empty => return is_formula.then_some(Self::UnsavedFormula),
            DataRef::Error(error) => Self::Error(error.to_string()),
            DataRef::Int(number) => Self::Value(number.to_string()),
            DataRef::Float(number) if number.abs() >= INEXACT_FROM => Self::Inexact(number.to_string()),
            // The sum with 0 is never -0.
            DataRef::Float(number) => Self::Value((number + 0.0).to_string()),
            DataRef::String(text) => Self::Text(text.clone()),
            DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => Self::Value(text.clone()),
            DataRef::SharedString(text) => Self::Text((*text).to_owned()),
            DataRef::Bool(truth) => Self::Value(truth.to_string()),
            DataRef::DateTime(time) => Self::Value(time_text(time)),
        };
        (!cell.text().is_empty()).then_some(cell)
    }

    /// Returns whether the cell is a text of blanks.
    fn is_blank(&self) -> bool {
        matches!(self, Self::Text(text) if text.trim().is_empty())
    }

    fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Value(text) | Self::Inexact(text) | Self::Error(text) => text,
            Self::UnsavedFormula => "",
        }
    }
}

/// Returns a point in time, a date, a time of day or a duration as text.
fn time_text(time: &ExcelDateTime) -> String {
    const SECONDS_PER_DAY: f64 = 86_400.0;
    let (year, month, day, hour, minute, second, milli) = time.to_ymd_hms_milli();
    let fraction = if milli == 0 { String::new() } else { format!(".{milli:03}") };
    if time.is_duration() {
        let seconds = (time.as_f64() * SECONDS_PER_DAY).round();
        let (sign, seconds) = (if seconds < 0.0 { "-" } else { "" }, seconds.abs());
        return format!(
            "{sign}{:02}:{:02}:{:02}",
            (seconds / 3600.0).floor(),
            (seconds / 60.0).floor() % 60.0,
            seconds % 60.0
        );
    }
    let clock = format!("{hour:02}:{minute:02}:{second:02}{fraction}");
    if time.as_f64() < 1.0 {
        clock
    } else if (hour, minute, second, milli) == (0, 0, 0, 0) {
        format!("{year:04}-{month:02}-{day:02}")
    } else {
        format!("{year:04}-{month:02}-{day:02}T{clock}")
    }
}

/// The rows of a sheet while its cells are read.
struct SheetRows<'a> {
    name: &'a str,
    options: &'a ReadOptions,
    limits: ReadLimits,
    /// The merged cells; `None` if the header is a single row.
    merged: Option<MergedCells>,
    /// Whether the row below the header may belong to it.
    is_doubted: bool,
    /// The rows so far, until it is known which one is the header.
    head: &'a mut Vec<HeadRow>,
    /// The bytes of these cells.
    head_bytes: usize,
    /// The columns, once the header was found.
    columns: Option<SheetColumns>,
    /// The current row, counted from 0.
    row: u32,
    /// The number of the last row that was not blank, counted from 1; 0 before the first.
    last_row: u64,
    /// The cells of the current row, each with its column, counted from 0.
    cells: Vec<(u32, SheetCell)>,
    /// The bytes of these cells.
    cell_bytes: usize,
    batch: Option<SheetBatch>,
    /// The header and the batches that are complete, and not sent yet.
    parts: Vec<SheetPart>,
}

struct SheetColumns {
    schema: SchemaRef,
    names: Vec<String>,
    /// The first column, counted from 0.
    first: u32,
    left_out: LeftOutCount,
}

/// The rows of a batch so far.
struct SheetBatch {
    columns: Vec<StringBuilder>,
    /// For each column, the cells that are not texts in the sheet.
    values: Vec<BooleanBuilder>,
    /// The numbers of the rows in the sheet, counted from 1.
    numbers: Vec<u64>,
    malformed: MalformedRecords,
    bytes: usize,
}

impl SheetRows<'_> {
    /// Adds a cell to the current row. Cells may share one long text, so a row may be far larger than in the file.
    fn push(&mut self, column: u32, cell: SheetCell) -> Result<(), FileFault> {
        self.cell_bytes += size_of::<(u32, SheetCell)>() + cell.text().len();
        self.cells.push((column, cell));
        let longest = self.limits.record_bytes();
        if self.cell_bytes <= longest {
            return Ok(());
        }
        let reason = format!("row {} of the sheet `{}` has more than {longest} bytes", self.row + 1, self.name);
        Err(FileFault::DamagedWorkbook(reason))
    }

    /// Ends the current row.
    fn end_row(&mut self) -> Result<(), FileFault> {
        let mut cells = std::mem::take(&mut self.cells);
        let bytes = std::mem::take(&mut self.cell_bytes);
        cells.sort_by_key(|(column, _)| *column);
        if cells.is_empty() {
            return Ok(());
        }
        let row = u64::from(self.row) + 1;
        if let Some((column, _)) =
            cells.windows(2).find_map(|two| two.first().filter(|one| two.last().is_some_and(|other| other.0 == one.0)))
        {
            return Err(FileFault::DamagedWorkbook(format!("the cell {}{row} occurs twice", letters(*column))));
        }
        if self.columns.is_some() {
            return self.add_row(row, &cells);
        }
        self.head_bytes += bytes;
        self.head.push((row, cells));
        // What was read so far decides if it takes too much memory.
        let is_full = self.head_bytes > self.limits.record_bytes();
        if self.needs_more_head() && !is_full { Ok(()) } else { self.end_head() }
    }

    /// Returns whether the header may be a row after those of `head`.
    fn needs_more_head(&self) -> bool {
        let last = self.head.last();
        if let Some((merged, (number, _))) = self.merged.as_ref().zip(last) {
            let first = match &self.options.header_row {
                Some(HeaderRow::Number(first)) => Some(*first),
                Some(HeaderRow::Names(names)) => {
                    let has = |cells: &[(u32, SheetCell)], name| cells.iter().any(|(_, cell)| cell.text() == name);
                    let found = self.head.iter().find(|(_, cells)| names.iter().all(|name| has(cells, name)));
                    found.map(|(number, _)| *number)
                }
                Some(_) => None,
                None => self.head.first().map(|(number, _)| *number),
            };
            if let Some(first) = first {
                return *number < merged.last_row(first);
            }
        }
        let Some(rule) = &self.options.header_row else { return false };
        let last = match rule {
            // The row below the header is one more.
            HeaderRow::Number(_) | HeaderRow::Names(_) if self.is_doubted => self.head.iter().nth_back(1),
            _ => last,
        };
        rule.needs_more(&head_lines(last.map_or(&[], std::slice::from_ref)))
    }

    /// Finds the header among the rows so far, and adds the rows after it.
    fn end_head(&mut self) -> Result<(), FileFault> {
        if self.columns.is_some() || self.head.is_empty() {
            return Ok(());
        }
        let rule = self.options.header_row.as_ref();
        let merged = self.merged.as_ref().map(|merged| merged.find(self.head, rule)).transpose()?;
        let (at, rows, found) = match (&merged, rule) {
            (Some(MergedHeader { at, rows, found, .. }), _) => (*at, *rows, *found),
            (None, Some(rule)) => {
                let (at, found) = rule.find(&head_lines(self.head))?;
                (at, 1, found)
            }
            (None, None) => (0, 1, FileHead::default()),
        };
        let Some(((first, cells), (last, _))) = self.head.get(at).zip(self.head.get(at + rows - 1)) else {
            return Ok(());
        };
        let (first, last) = (*first, *last);
        let cells = merged.as_ref().map_or(cells, |merged| &merged.cells);
        if self.is_doubted
            && let Some(((end, _), (_, below))) = cells.last().zip(self.head.get(at + rows))
            && below.iter().any(|(column, cell)| column > end && !cell.is_blank())
        {
            let location = InputLocation::Record(first);
            return Err(FileFault::NamelessColumn { location, at: *end as usize + 2 });
        }
        let left_out = LeftOutCount::new(self.options, found.title_lines);
        let columns = SheetColumns::of_header(cells, InputLocation::Record(first), left_out)?;
        self.parts.push(SheetPart::Header(columns.schema.clone(), found));
        (self.columns, self.last_row) = (Some(columns), last);
        let rows = std::mem::take(self.head).into_iter().skip(at + rows).collect::<Vec<_>>();
        rows.into_iter().try_for_each(|(number, cells)| self.add_row(number, &cells))
    }

    /// Adds a row after the header.
    fn add_row(&mut self, row: u64, cells: &[(u32, SheetCell)]) -> Result<(), FileFault> {
        let Some(columns) = &self.columns else { return Ok(()) };
        let is_mapped = self.options.columns.is_some();
        if is_mapped && cells.iter().all(|(_, cell)| cell.is_blank()) {
            return Ok(());
        }
        columns.left_out.add(row.saturating_sub(self.last_row + 1), 0);
        self.last_row = row;
        if let [(at, _)] = cells
            && self.options.skips_short_rows
            && *at == columns.first
            && columns.names.len() > 1
        {
            columns.left_out.add(0, 1);
            return Ok(());
        }
        let batch = self.batch.get_or_insert_with(|| SheetBatch {
            columns: columns.names.iter().map(|_| StringBuilder::new()).collect(),
            values: columns.names.iter().map(|_| BooleanBuilder::new()).collect(),
            numbers: Vec::new(),
            malformed: MalformedRecords::default(),
            bytes: 0,
        });
        if let Some(SheetFault { column, value, rule, found }) = columns.fault(self.name, self.options, cells, row) {
            let short = |text: &str| Some(shortened(text, self.limits.max_text_bytes).to_owned());
            let texts = cells.iter().map(|(column, cell)| (columns.name(*column), short(cell.text())));
            let cells = RowCells::Strings(texts.collect());
            let (location, value) = (InputLocation::Record(row), short(&value));
            batch.malformed.push(RowFault { location, column, value, rule, found, cells, joined: None, totals: None });
        } else {
            batch.numbers.push(row);
            let means_nothing = |text: &str| self.options.empty.iter().any(|empty| empty == text);
            let mut cells = cells.iter().peekable();
            for ((column, texts), values) in (columns.first..).zip(&mut batch.columns).zip(&mut batch.values) {
                let cell = cells.next_if(|(at, _)| *at == column);
                values.append_value(matches!(cell, Some((_, SheetCell::Value(_)))));
                let text = cell.map(|(_, cell)| cell.text()).filter(|text| !means_nothing(text));
                batch.bytes += text.map_or(0, str::len);
                texts.append_option(text);
            }
        }
        let is_full = batch.numbers.len() >= self.limits.rows
            || batch.numbers.len() * batch.columns.len() >= self.limits.cells()
            || batch.bytes >= self.limits.block_bytes()
            || batch.malformed.is_full();
        if is_full && let Some(rows) = self.end_batch().map_err(|error| FileFault::Unreadable(Box::new(error)))? {
            self.parts.push(SheetPart::Rows(rows));
        }
        Ok(())
    }

    fn end_batch(&mut self) -> Result<Option<DecodedBatch>, ArrowError> {
        let (Some(mut batch), Some(columns)) = (self.batch.take(), &self.columns) else { return Ok(None) };
        let mut arrays: Vec<ArrayRef> =
            batch.columns.iter_mut().map(|texts| Arc::new(texts.finish()) as ArrayRef).collect();
        let mut schema = columns.schema.clone();
        if self.options.columns.is_some() {
            let marks =
                columns.names.iter().map(|name| Arc::new(Field::new(value_marks(name), DataType::Boolean, false)));
            schema = Arc::new(Schema::new(schema.fields().iter().cloned().chain(marks).collect::<Vec<_>>()));
            arrays.extend(batch.values.iter_mut().map(|values| Arc::new(values.finish()) as ArrayRef));
        }
        let rows = RecordBatchOptions::new().with_row_count(Some(batch.numbers.len()));
        let rows = RecordBatch::try_new_with_options(schema, arrays, &rows)?;
        let decoded = DecodedBatch::new(rows, RowLocations::Records(batch.numbers));
        Ok(Some(DecodedBatch { malformed: batch.malformed.faults, ..decoded }))
    }
}

impl SheetColumns {
    fn of_header(
        cells: &[(u32, SheetCell)],
        location: InputLocation,
        left_out: LeftOutCount,
    ) -> Result<Self, FileFault> {
        let first = cells.first().map_or(0, |(column, _)| *column);
        let mut names: Vec<String> = Vec::with_capacity(cells.len());
        let mut seen = BTreeSet::new();
        for (expected, (column, cell)) in (first..).zip(cells) {
            if *column != expected || cell.text().is_empty() {
                return Err(FileFault::NamelessColumn { location, at: expected as usize + 1 });
            }
            if !seen.insert(cell.text()) {
                return Err(FileFault::RepeatedColumn { location, name: cell.text().to_owned() });
            }
            names.push(cell.text().to_owned());
        }
        Ok(Self { schema: text_schema(&names), names, first, left_out })
    }

    /// Returns the name of a column; without a name, its letters.
    fn name(&self, column: u32) -> String {
        let name = column.checked_sub(self.first).and_then(|at| self.names.get(at as usize));
        name.cloned().unwrap_or_else(|| letters(column))
    }

    /// Returns the first fault of a row, if it has one. `row` is its number in the sheet.
    fn fault(&self, sheet: &str, options: &ReadOptions, cells: &[(u32, SheetCell)], row: u64) -> Option<SheetFault> {
        cells.iter().find_map(|(column, cell)| {
            let at = column.checked_sub(self.first).map(|at| at as usize);
            let place = format!("the cell {}{row} of the sheet `{sheet}`", letters(*column));
            let value = cell.text().to_owned();
            let name = at.and_then(|at| self.names.get(at));
            if matches!(cell, SheetCell::UnsavedFormula) {
                let found = format!(", but {place} has none; open the file in a spreadsheet program and save it");
                let column = name.cloned();
                return name.is_none_or(|name| options.decodes(name)).then_some(SheetFault {
                    column,
                    value,
                    rule: Rule::SavedFormula,
                    found,
                });
            }
            let Some(name) = name else {
                let rule = Rule::CellCount(self.names.len());
                let found = format!(", but {place} has a value, too");
                return Some(SheetFault { column: None, value, rule, found });
            };
            let (rule, found) = match cell {
                SheetCell::Error(_) => (Rule::SheetValue, format!(", but {place} holds the error `{value}`")),
                SheetCell::Inexact(_) => {
                    (Rule::SheetDigits, format!(", but {place} holds the number `{value}`; store it as text"))
                }
                _ => return None,
            };
            let is_read = options.decodes(name) && !options.empty.contains(&value);
            is_read.then(|| SheetFault { column: Some(name.clone()), value, rule, found })
        })
    }
}

/// Returns rows as lines of cells. A row begins with its first cell that has a value.
fn head_lines(rows: &[HeadRow]) -> Vec<HeadLine> {
    let line = |(number, row): &HeadRow| {
        let mut cells = Vec::with_capacity(row.len());
        let mut next = row.first().map_or(0, |(column, _)| *column);
        for (column, cell) in row {
            // A gap is one empty cell, because a row may have cells thousands of columns apart.
            if *column > next {
                cells.push(String::new());
            }
            cells.push(cell.text().to_owned());
            next = column + 1;
        }
        HeadLine { number: *number, cells }
    };
    rows.iter().map(line).collect()
}

/// What is wrong with a row, in the terms of [`RowFault`].
struct SheetFault {
    column: Option<String>,
    value: String,
    rule: Rule,
    found: String,
}

/// Returns the letters of a column, such as `AB`.
fn letters(column: u32) -> String {
    let mut rest = column + 1;
    let mut letters = Vec::new();
    while rest > 0 {
        rest -= 1;
        letters.push(char::from(b'A' + u8::try_from(rest % 26).unwrap_or(0)));
        rest /= 26;
    }
    letters.iter().rev().collect()
}
