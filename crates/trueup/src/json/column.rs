//! One column's part of every row.

use super::text::{Strings, escape};
use trueup_core::{Column, Day, Values, money};

/// Writes a column's key and value, row by row.
pub(super) struct Writer<'a> {
    /// The key, escaped, with the comma before it and the colon after it.
    key: Vec<u8>,
    cells: Cells<'a>,
}

enum Cells<'a> {
    Days { days: &'a [Day], last: Option<Day>, text: Vec<u8> },
    Texts(Strings<'a>),
    Counts(&'a [u64]),
    Money(&'a [i128]),
    Ratios(&'a [f64]),
}

impl<'a> Writer<'a> {
    /// The writer of the column at this place of the row.
    pub(super) fn new((place, column): (usize, &'a Column)) -> Self {
        let mut key = Vec::new();
        if place > 0 {
            key.push(b',');
        }
        escape(&column.name, &mut key);
        key.push(b':');
        let cells = match &column.values {
            Values::Days(days) => Cells::Days { days, last: None, text: Vec::new() },
            Values::Texts(texts) => Cells::Texts(Strings::new(texts)),
            Values::Counts(counts) => Cells::Counts(counts),
            Values::Money(amounts) => Cells::Money(amounts),
            Values::Ratios(ratios) => Cells::Ratios(ratios),
        };
        Self { key, cells }
    }

    pub(super) fn write(&mut self, row: usize, chunk: &mut Vec<u8>) {
        chunk.extend_from_slice(&self.key);
        match &mut self.cells {
            Cells::Days { days, last, text } => {
                let day = days[row];
                // Rows are ordered by their sub-range, so that a day repeats.
                if *last != Some(day) {
                    *last = Some(day);
                    text.clear();
                    escape(&day.to_string(), text);
                }
                chunk.extend_from_slice(text);
            }
            Cells::Texts(strings) => strings.write(row, chunk),
            Cells::Counts(counts) => count(counts[row], chunk),
            Cells::Money(amounts) => amount(amounts[row], chunk),
            Cells::Ratios(ratios) => double(ratios[row], chunk),
        }
    }
}

/// A count as ECMAScript, whose numbers are doubles, writes it.
fn count(count: u64, chunk: &mut Vec<u8>) {
    /// Up to here every whole number is a double.
    const EXACT: u64 = 1 << 53;
    if count <= EXACT {
        integer(count, chunk);
    } else {
        #[expect(clippy::cast_precision_loss, reason = "ECMAScript has no other number")]
        double(count as f64, chunk);
    }
}

/// Money in currency units: whole amounts as integers, which is what the double would spell.
fn amount(micros: i128, chunk: &mut Vec<u8>) {
    let unit = i128::from(money::MICROS_PER_UNIT);
    match u64::try_from(micros / unit) {
        Ok(whole) if micros % unit == 0 => count(whole, chunk),
        _ => double(money::to_f64(micros), chunk),
    }
}

fn integer(mut value: u64, chunk: &mut Vec<u8>) {
    let mut digits = [b'0'; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        let digit = (value % 10) as u8;
        digits[start] += digit;
        value /= 10;
        if value == 0 {
            return chunk.extend_from_slice(&digits[start..]);
        }
    }
}

/// A number of an answer is always finite: ratios with denominator 0 are 0.
fn double(value: f64, chunk: &mut Vec<u8>) {
    chunk.extend_from_slice(ryu_js::Buffer::new().format_finite(value).as_bytes());
}
