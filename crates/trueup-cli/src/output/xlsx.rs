//! Answers as XLSX, for spreadsheets: one sheet with a frozen header, and numbers with the formats that people read.
//!
//! A number is the one that the JSON of the answer has. A ratio over nothing, a change from or to one, and a number
//! that a row does not have are empty cells, as in CSV. The same answer is always the same bytes. Totals are shown as
//! in a table: without the column that marks them for programs, and as `total` in the first column unless that has
//! numbers.

use crate::exit::Failure;
use rust_xlsxwriter::{DocProperties, ExcelDateTime, Format, Workbook, Worksheet, XlsxError};
use std::io::Write;
use trueup::dictionary::ValueFormat;
use trueup::{Column, Day, ResultTable, Shown, Value, Values};
use trueup_report::number::format_of;

/// The most rows and columns of a sheet, and characters of a cell.
const MAX_ROWS: usize = 1_048_576;
const MAX_COLUMNS: usize = 16_384;
const MAX_CHARS: usize = 32_767;

/// Writes the header and the rows, the totals in bold.
pub(super) fn write(answer: &ResultTable, out: &mut impl Write) -> Result<(), Failure> {
    check(answer)?;
    let bytes = workbook(answer).and_then(|mut workbook| workbook.save_to_buffer()).map_err(Failure::fault)?;
    out.write_all(&bytes).map_err(Failure::fault)
}

/// Checks that the answer fits into a sheet.
fn check(answer: &ResultTable) -> Result<(), Failure> {
    let (rows, columns) = (answer.len(), answer.columns().len());
    if rows >= MAX_ROWS || columns > MAX_COLUMNS {
        return Err(Failure::request(format!(
            "an XLSX sheet has at most {MAX_ROWS} rows with the header, and {MAX_COLUMNS} columns, but the answer has {rows} \
             rows and {columns} columns; write it as CSV or Parquet"
        )));
    }
    for column in answer.columns() {
        let Values::Strings(texts) = &column.values else { continue };
        if let Some(long) = texts.dictionary().iter().find(|text| text.encode_utf16().count() > MAX_CHARS) {
            return Err(Failure::request(format!(
                "a cell of an XLSX sheet has at most {MAX_CHARS} characters, but the column `{}` has a longer text, `{}`; write \
                 the answer as CSV or Parquet",
                Shown(&column.name),
                Shown(long)
            )));
        }
    }
    Ok(())
}

fn workbook(answer: &ResultTable) -> Result<Workbook, XlsxError> {
    let mut workbook = Workbook::new();
    // Otherwise the time of writing would be in the file.
    let written = ExcelDateTime::from_ymd(2000, 1, 1)?;
    workbook.set_properties(&DocProperties::new().set_author("trueup").set_creation_datetime(&written));
    let sheet = workbook.add_worksheet();
    sheet.set_name("answer")?.set_freeze_panes(1, 0)?;
    let header = Format::new().set_bold();
    let columns = answer.columns().iter().zip(answer.deciding_columns());
    let shown = columns.skip(usize::from(answer.totals_row().is_some()));
    for (at, (column, deciding)) in (0_u16..).zip(shown) {
        sheet.write_string_with_format(0, at, &column.name, &header)?;
        let has_days = format_of(answer.definitions(), &column.name) == Some(ValueFormat::Date);
        let plain = cell_format(answer, column);
        let bold = plain.clone().set_bold();
        let is_label = at == 0 && matches!(column.values, Values::Strings(_) | Values::Days(_));
        for (row, number) in (0..answer.len()).zip(1_u32..) {
            let is_total = answer.totals_row() == Some(row);
            let value = match column.value(row) {
                _ if is_total && is_label => Some(Value::Text("total")),
                _ if deciding.iter().any(|column| column.is_over_nothing(row)) => None,
                value => value,
            };
            write_cell(sheet, (number, at), value, has_days, if is_total { &bold } else { &plain })?;
        }
    }
    sheet.autofit();
    Ok(workbook)
}

/// Writes a value; leaves the cell empty if there is none. `has_days` says that texts are days. One that is none, as a
/// stored column may have it, stays a text.
fn write_cell(
    sheet: &mut Worksheet,
    (number, at): (u32, u16),
    value: Option<Value<'_>>,
    has_days: bool,
    format: &Format,
) -> Result<(), XlsxError> {
    let day = match value {
        Some(Value::Day(day)) => Some(day),
        Some(Value::Text(text)) if has_days => text.parse::<Day>().ok(),
        _ => None,
    };
    match (day, value) {
        (Some(day), _) => {
            let day = ExcelDateTime::parse_from_str(&day.to_string())?;
            sheet.write_datetime_with_format(number, at, &day, format)?;
        }
        (None, Some(Value::Text(text))) if !text.is_empty() => {
            sheet.write_string_with_format(number, at, text, format)?;
        }
        (None, value) => {
            if let Some(value) = value.and_then(Value::as_f64) {
                sheet.write_number_with_format(number, at, value, format)?;
            }
        }
    }
    Ok(())
}

/// Returns the format of the cells of a column.
fn cell_format(answer: &ResultTable, column: &Column) -> Format {
    let named = format_of(answer.definitions(), &column.name);
    let format = match &column.values {
        Values::Strings(_) if named == Some(ValueFormat::Date) => "yyyy-mm-dd",
        Values::Strings(_) => return Format::new(),
        Values::Days(_) => "yyyy-mm-dd",
        Values::Counts(_) | Values::Integers(_) => "#,##0",
        Values::Money(_) => "#,##0.00",
        Values::Ratios(_) | Values::Numbers(_) if named == Some(ValueFormat::Percent) => "0.0%",
        Values::Ratios(_) | Values::Numbers(_) => "#,##0.00",
    };
    Format::new().set_num_format(format)
}
