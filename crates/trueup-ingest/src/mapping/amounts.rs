//! Reads amounts as people and programs write them: `$1,234.50`, `1.234,50 €`, `(1,294.13)`, `1,294.13-`.
//!
//! A point or a comma is a decimal mark or separates thousands, and a single value may not say which: `1,234`. The
//! other values of the column do, so that the column is read once more when the first such value is encountered.

use super::cells::CellForm;
use super::declaration::ValueSource;
use crate::error::MappingFault;
use rayon::ThreadPoolBuilder;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::thread;

/// What separates the whole units of an amount from the fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DecimalMark {
    Point,
    Comma,
}

impl DecimalMark {
    /// Returns the mark, and the one that then separates thousands.
    const fn marks(self) -> (char, char) {
        match self {
            Self::Point => ('.', ','),
            Self::Comma => (',', '.'),
        }
    }

    /// Returns the other mark.
    const fn other(self) -> Self {
        match self {
            Self::Point => Self::Comma,
            Self::Comma => Self::Point,
        }
    }
}

/// How the amounts of a column are read.
#[derive(Clone, Debug)]
pub(super) struct AmountRules {
    /// The decimal mark, if the mapping says it.
    given: Option<DecimalMark>,
    /// A character that the mapping makes the decimal point.
    replaced: Option<char>,
    /// What all values of the column have shown, once it was needed.
    column: Arc<OnceLock<ColumnMarks>>,
}

/// Sees a text of a column, its form, and its location in words.
pub(super) type SeeText<'a> = dyn FnMut(&str, CellForm, &dyn Fn() -> String) + 'a;

/// Passes each text of a column to its argument, after the rules have changed it.
pub(super) type EachText<'a> = dyn Fn(&mut SeeText<'_>) + Sync + 'a;

impl AmountRules {
    /// Returns the rules that a source gives.
    ///
    /// # Errors
    /// A character to remove says that an amount is negative.
    pub(super) fn new(source: &ValueSource, key: &str) -> Result<Self, MappingFault> {
        let removed = source.remove.as_deref().unwrap_or_default();
        if let Some(sign) = removed.chars().find(|char| "()-".contains(*char)) {
            let reason = format!(
                "`{sign}` says that an amount is negative; leave it out here, and `(1,294.13)` and `1,294.13-` are read as -1294.13"
            );
            return Err(MappingFault::new(format!("{key}.remove"), reason).with_value(removed));
        }
        let replaced = source.decimal_mark.filter(|mark| !matches!(mark, '.' | ','));
        let given = match source.decimal_mark {
            Some(',') => Some(DecimalMark::Comma),
            Some(_) => Some(DecimalMark::Point),
            // A mark that is removed is no decimal mark.
            None if removed.contains(',') => Some(DecimalMark::Point),
            None if removed.contains('.') => Some(DecimalMark::Comma),
            None => None,
        };
        Ok(Self { given, replaced, column: Arc::default() })
    }

    /// Returns whether a text is an amount as it is, whatever the other values of the column are.
    pub(super) fn is_plain(&self, text: &str) -> bool {
        match self.given {
            Some(DecimalMark::Point) => self.replaced.is_none() && is_plain(text),
            Some(DecimalMark::Comma) => is_plain(text) && !text.contains('.'),
            None => is_plain(text) && !may_be_thousands(text),
        }
    }

    /// Returns an amount with digits, a point and a minus alone. A number of the file stays as it is.
    pub(super) fn read<'t>(
        &self,
        text: &'t str,
        form: CellForm,
        each_text: &EachText<'_>,
    ) -> Result<Cow<'t, str>, String> {
        if form == CellForm::Value {
            return if is_plain(text) { Ok(Cow::Borrowed(text)) } else { Err(EXPECTED.to_owned()) };
        }
        if self.is_plain(text) {
            return Ok(Cow::Borrowed(text));
        }
        let changed = self.replaced.map(|mark| text.replace(mark, "."));
        let written = WrittenAmount::parse(changed.as_deref().unwrap_or(text)).ok_or(EXPECTED)?;
        let mark = match self.given {
            Some(mark) => mark,
            None => self.column.get_or_init(|| apart(|| ColumnMarks::new(each_text))).mark()?,
        };
        let amount = written.with_point(mark).ok_or(EXPECTED)?;
        Ok(if amount == text { Cow::Borrowed(text) } else { Cow::Owned(amount) })
    }
}

/// Does work on a thread of its own with threads of its own. The threads that read rows may all wait for the result,
/// and one that waits may not begin to read others, which would wait for it.
fn apart<T: Default + Send>(work: impl FnOnce() -> T + Send) -> T {
    let with_threads = || ThreadPoolBuilder::new().num_threads(1).build().map(|threads| threads.install(work));
    let done = thread::scope(|scope| scope.spawn(with_threads).join());
    done.ok().and_then(Result::ok).unwrap_or_default()
}

/// What is expected of a text that is no amount.
const EXPECTED: &str = "expected an amount such as 1234.5 or $1,234.50";

/// Returns whether a text is an amount with digits, a point and a minus alone.
pub(super) fn is_plain(text: &str) -> bool {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits(whole) && digits(fraction)
}

/// Returns whether the only mark of a text may separate thousands: `1.234`, and neither `0.123` nor `12.50`.
fn may_be_thousands(text: &str) -> bool {
    let unsigned = text.strip_prefix('-').unwrap_or(text).as_bytes();
    const FRACTION: usize = 4;
    let Some(whole) = unsigned.len().checked_sub(FRACTION) else { return false };
    (1..=3).contains(&whole) && matches!(unsigned[whole], b'.' | b',') && unsigned[0] != b'0'
}

/// What the values of a column have shown of its decimal mark and its currency.
#[derive(Clone, Debug, Default)]
struct ColumnMarks {
    /// The first value that only a decimal point fits, and the first one that only a decimal comma fits, each with its
    /// location.
    only: [Option<String>; 2],
    /// Whether there is a value that both fit, other than `1.234`.
    has_open: bool,
    /// The currency marks: the first value with one, and the first one with another.
    currencies: Vec<(String, String)>,
}

impl ColumnMarks {
    fn new(each_text: &EachText<'_>) -> Self {
        let mut marks = Self::default();
        each_text(&mut |text, form, location| {
            let Some(written) = WrittenAmount::parse(text).filter(|_| form == CellForm::Text) else { return };
            let shown = || format!("`{}` in {}", trueup_core::Shown(text), location());
            match written.evidence() {
                Evidence::None => {}
                Evidence::Only(DecimalMark::Point) => drop(marks.only[0].get_or_insert_with(shown)),
                Evidence::Only(DecimalMark::Comma) => drop(marks.only[1].get_or_insert_with(shown)),
                Evidence::Either => marks.has_open |= !is_plain(text),
            }
            if !written.currency.is_empty()
                && marks.currencies.len() < 2
                && marks.currencies.iter().all(|(known, _)| known != written.currency)
            {
                marks.currencies.push((written.currency.to_owned(), shown()));
            }
        });
        marks
    }

    /// Returns the decimal mark of the column.
    fn mark(&self) -> Result<DecimalMark, String> {
        if let [(_, one), (_, other)] = &self.currencies[..] {
            return Err(format!(
                "expected amounts of one currency, but there are {one} and {other}; `remove` of these marks reads them all the same"
            ));
        }
        match &self.only {
            [Some(point), Some(comma)] => Err(format!(
                "expected amounts that are all written in one way, but {point} has a decimal point and {comma} a decimal comma; \
                 correct the file, or write `decimal_mark = \".\"` or `decimal_mark = \",\"`"
            )),
            [Some(_), None] => Ok(DecimalMark::Point),
            [None, Some(_)] => Ok(DecimalMark::Comma),
            [None, None] if self.has_open => Err(
                "expected an amount that can be read in one way; write `decimal_mark = \".\"` if the comma separates thousands, or \
                 `decimal_mark = \",\"` if it is the decimal mark"
                    .to_owned(),
            ),
            // As in files without a mapping.
            [None, None] => Ok(DecimalMark::Point),
        }
    }
}

/// What a value shows of the decimal mark of its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Evidence {
    None,
    Only(DecimalMark),
    Either,
}

/// An amount as it is written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WrittenAmount<'a> {
    is_negative: bool,
    /// Digits, points and commas, and a blank for each blank or apostrophe between digits.
    digits: String,
    /// The sign or the code of the currency; empty if there is none.
    currency: &'a str,
}

impl<'a> WrittenAmount<'a> {
    /// Takes a text apart; `None` if it is no amount.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let (mut rest, mut signs, mut currency) = (text.trim(), 0, "");
        loop {
            let before = rest.len();
            if let Some(inner) = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
                (rest, signs) = (inner, signs + 1);
            }
            if let Some(unsigned) = rest.strip_prefix(['-', '\u{2212}']) {
                (rest, signs) = (unsigned, signs + 1);
            }
            if let Some(unsigned) = rest.strip_suffix(['-', '\u{2212}']) {
                (rest, signs) = (unsigned, signs + 1);
            }
            let is_mark = |char: char| char.is_ascii_uppercase() || is_currency_sign(char);
            let begin = rest.len() - rest.trim_start_matches(is_mark).len();
            let end = rest.trim_end_matches(is_mark).len();
            for (mark, unmarked) in
                [(&rest[..begin], &rest[begin..]), (&rest[end.max(begin)..], &rest[..end.max(begin)])]
            {
                if is_currency(mark) && currency.is_empty() {
                    (rest, currency) = (unmarked, mark);
                    break;
                }
            }
            rest = rest.trim();
            if rest.len() == before {
                break;
            }
        }
        let is_blank = |char: char| matches!(char, ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}' | '\'' | '\u{2019}');
        let digits: String = rest.chars().map(|char| if is_blank(char) { ' ' } else { char }).collect();
        let sound = digits.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b',' | b' '));
        let has_digits = digits.bytes().any(|byte| byte.is_ascii_digit());
        (sound && has_digits && signs <= 1).then_some(Self { is_negative: signs == 1, digits, currency })
    }

    fn evidence(&self) -> Evidence {
        let digits = &self.digits;
        let last = |mark: DecimalMark| digits.rfind(mark.marks().0);
        let (at, mark) = match (last(DecimalMark::Point), last(DecimalMark::Comma)) {
            (None, None) => return Evidence::None,
            (Some(point), Some(comma)) => {
                return Evidence::Only(if point > comma { DecimalMark::Point } else { DecimalMark::Comma });
            }
            (Some(at), None) => (at, DecimalMark::Point),
            (None, Some(at)) => (at, DecimalMark::Comma),
        };
        if digits.find(mark.marks().0) != Some(at) {
            // A mark that occurs more than once separates thousands.
            return Evidence::Only(mark.other());
        }
        if may_be_thousands(digits) { Evidence::Either } else { Evidence::Only(mark) }
    }

    /// Returns the amount with a decimal point and without marks between thousands; `None` if the digits are not in
    /// groups of three.
    pub(super) fn with_point(&self, mark: DecimalMark) -> Option<String> {
        let (decimal, group) = mark.marks();
        let (whole, fraction) = self.digits.split_once(decimal).unwrap_or((&self.digits, "0"));
        if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let group = if whole.contains(group) { group } else { ' ' };
        let mut groups = whole.split(group);
        let first = groups.next()?;
        let is_grouped = whole.contains(group);
        let of_digits = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
        let first_fits = of_digits(first) && (!is_grouped || (1..=3).contains(&first.len()));
        if !first_fits || !groups.all(|digits| digits.len() == 3 && of_digits(digits)) {
            return None;
        }
        let sign = if self.is_negative { "-" } else { "" };
        let whole: String = whole.chars().filter(char::is_ascii_digit).collect();
        let whole = if whole.is_empty() { "0" } else { &whole };
        let has_fraction = self.digits.contains(decimal);
        Some(if has_fraction { format!("{sign}{whole}.{fraction}") } else { format!("{sign}{whole}") })
    }

    /// Returns the decimal mark with which the amount is a whole number of thousands, if it has one mark alone.
    pub(super) fn mark_of_whole(&self) -> DecimalMark {
        match self.evidence() {
            Evidence::Only(mark) => mark,
            Evidence::Either if self.digits.contains(',') => DecimalMark::Point,
            Evidence::Either => DecimalMark::Comma,
            Evidence::None => DecimalMark::Point,
        }
    }

    pub(super) fn has_currency(&self) -> bool {
        !self.currency.is_empty()
    }
}

/// Returns whether a character is the sign of a currency. A cent is none, because its amounts are hundredths.
const fn is_currency_sign(char: char) -> bool {
    matches!(char, '$' | '\u{a3}' | '\u{a5}' | '\u{20a0}'..='\u{20cf}')
}

/// Returns whether a text is the sign or the code of a currency: `$`, `CA$`, `EUR`.
fn is_currency(mark: &str) -> bool {
    const LONGEST: usize = 3;
    let letters = mark.bytes().filter(u8::is_ascii_uppercase).count();
    match mark.chars().filter(|char| is_currency_sign(*char)).count() {
        0 => letters == LONGEST,
        1 => letters <= LONGEST,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
