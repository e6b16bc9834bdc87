//! One column's part of every row.

use super::text::{Escaped, escape};
use trueup_core::{Column, Day, Values, money};

/// Writes a column's key and value, row by row.
pub(super) struct ColumnWriter {
    /// The key, escaped, with the comma before it and the colon after it.
    key: Vec<u8>,
    /// The day that was written last, and how it is spelled.
    day: Option<(Day, Vec<u8>)>,
    texts: Escaped,
}

impl ColumnWriter {
    /// The writer of the column at this place of the row.
    pub(super) fn new((place, column): (usize, &Column)) -> Self {
        let mut key = Vec::new();
        if place > 0 {
            key.push(b',');
        }
        escape(&column.name, &mut key);
        key.push(b':');
        let texts = match &column.values {
            Values::Texts(texts) => Escaped::new(texts),
            _ => Escaped::default(),
        };
        Self { key, day: None, texts }
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.key.capacity() + self.texts.bytes()
    }

    /// Writes one row of the column that the writer was made for.
    pub(super) fn write(&mut self, column: &Column, row: usize, chunk: &mut Vec<u8>) {
        chunk.extend_from_slice(&self.key);
        match &column.values {
            Values::Days(days) => self.day(days[row], chunk),
            Values::Texts(texts) => self.texts.write(texts, row, chunk),
            Values::Counts(counts) => count(counts[row], chunk),
            Values::Money(amounts) => amount(amounts[row], chunk),
            Values::Ratios(ratios) => double(ratios[row], chunk),
        }
    }

    /// JsonRows are ordered by their sub-range, so that a day repeats.
    fn day(&mut self, day: Day, chunk: &mut Vec<u8>) {
        match &self.day {
            Some((last, spelled)) if *last == day => chunk.extend_from_slice(spelled),
            _ => {
                let mut spelled = Vec::new();
                escape(&day.to_string(), &mut spelled);
                chunk.extend_from_slice(&spelled);
                self.day = Some((day, spelled));
            }
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
