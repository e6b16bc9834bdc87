//! The numbers of a report: the value that an answer has, how people read it, and where it comes from.

use crate::number::{ColumnStyle, readable};
use std::fmt;
use trueup::Value;
use trueup::csv::exact;
use trueup::definitions::Definitions;
use trueup::dictionary::{self, Direction, ValueFormat};
use trueup::query::ComparedColumn;

/// A row of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerRow {
    /// The row with this number, from 0.
    Group(usize),
    /// The totals.
    Totals,
}

impl fmt::Display for AnswerRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Group(row) => row.fmt(f),
            Self::Totals => f.write_str("total"),
        }
    }
}

/// A number of a report.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure {
    /// As people read it.
    pub(crate) shown: String,
    /// In full, as a CSV file holds it; empty if there is no number.
    pub(crate) exact: String,
    /// The question, the row and the column: `3/0/leads.change`. A sum of columns is written `a+b`; the rows `rest` and
    /// `all` are sums over the rows that a sentence does not name, and over all. The figures of other accounts have
    /// `benchmarks`, the series and the metric: `benchmarks/p50/bookRate`.
    pub(crate) source: String,
    /// Whether it is a change for the better; [`Verdict::Neither`] if it is no change.
    pub(crate) verdict: Verdict,
}

/// Whether a change is for the better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is.
    Better,
    /// It is for the worse.
    Worse,
    /// There is no change, or neither direction is better.
    Neither,
}

impl Verdict {
    /// Returns the verdict on a change of a metric.
    pub(crate) fn of(metric: &str, change: Value<'_>) -> Self {
        let direction = dictionary::metric(metric).map_or(Direction::Neutral, |(_, metric)| metric.direction);
        Self::new(direction, change)
    }

    /// Returns the verdict on a change of a metric whose values are better in this direction.
    #[must_use]
    pub fn new(direction: Direction, change: Value<'_>) -> Self {
        match (direction, sign(change)) {
            (Direction::Neutral, _) | (_, 0) => Self::Neither,
            (Direction::Higher, 1) | (Direction::Lower, -1) => Self::Better,
            _ => Self::Worse,
        }
    }
}

impl Figure {
    /// Returns the number of a column.
    pub(crate) fn new(column: &str, value: Value<'_>, source: String) -> Self {
        Self { shown: readable(column, value), exact: exact(value), source, verdict: Verdict::Neither }
    }

    /// Returns a change with its sign, in percentage points if the metric is a percentage. `part` is what the sign
    /// belongs to, such as `Change`.
    pub(crate) fn signed(metric: &str, part: ComparedColumn, value: Value<'_>, source: String) -> Self {
        let column = format!("{metric}{}", part.suffix());
        let mut shown = String::new();
        ColumnStyle::of(&Definitions::default(), &column).push(&mut shown, value);
        // What is shown as nothing is neither better nor worse.
        let is_zero = Magnitude::new(&column, value).is_zero;
        let verdict = if is_zero { Verdict::Neither } else { Verdict::of(metric, value) };
        Self { shown, exact: exact(value), source, verdict }
    }

    /// Returns the same number in other words.
    pub(crate) fn with_text(self, shown: String) -> Self {
        Self { shown, ..self }
    }

    /// Returns the number as a double; `None` if there is no number.
    pub(crate) fn number(&self) -> Option<f64> {
        self.exact.parse().ok()
    }
}

/// A number without its sign and its percent sign.
pub(crate) struct Magnitude {
    pub(crate) text: String,
    /// Whether the number is shown as zero.
    pub(crate) is_zero: bool,
    /// Whether it is a percentage.
    pub(crate) is_points: bool,
}

impl Magnitude {
    pub(crate) fn new(column: &str, value: Value<'_>) -> Self {
        let shown = readable(column, value);
        let text = shown.trim_start_matches('-');
        let number = text.trim_end_matches('%');
        Self {
            text: number.to_owned(),
            is_zero: !number.bytes().any(|byte| (b'1'..=b'9').contains(&byte)),
            is_points: number.len() < text.len(),
        }
    }
}

/// Returns -1, 0 or 1.
pub(crate) fn sign(value: Value<'_>) -> i8 {
    match value.as_f64() {
        Some(number) if number > 0.0 => 1,
        Some(number) if number < 0.0 => -1,
        _ => 0,
    }
}

/// Returns the name of a metric for people.
pub(crate) fn display_name(metric: &str) -> &str {
    dictionary::field(metric).map_or(metric, |field| field.display_name)
}

/// Returns whether a metric is shown as a percentage.
pub(crate) fn is_percent(metric: &str) -> bool {
    dictionary::field(metric).is_some_and(|field| field.format == ValueFormat::Percent)
}

/// Returns whether a metric is a ratio of two sums, which may have no value.
pub(crate) fn is_ratio(metric: &str) -> bool {
    dictionary::metric(metric).is_some_and(|(_, metric)| matches!(metric.formula, dictionary::Formula::Ratio { .. }))
}
