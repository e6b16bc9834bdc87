//! The rows of an ingest that break a rule, counted by rule and column with the first few of each, and how many of them
//! an ingest allows.

use super::{InputLocation, RowFault, Rule};
use std::fmt;
use std::path::{Path, PathBuf};
use trueup_core::Shown;

/// The rows of an ingest that break a rule.
///
/// [`Display`](fmt::Display) writes a line for each rule and column, ordered from the most rows to the fewest, and
/// below each line the first rows. If there are many rules, the last line counts the rows that break the rules not
/// shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RejectedRows {
    /// The rows of each rule and column, in the order in which they were first found; at most [`MAX_RULES`].
    rules: Vec<BrokenRule>,
    rows: u64,
}

/// The rows that break the same rule in the same column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenRule {
    /// The rule: what was expected.
    pub rule: Rule,
    /// The column; `None` if the record as a whole is at fault.
    pub column: Option<String>,
    /// The number of rows.
    pub rows: u64,
    /// The first rows, at most three. A row of a file that a mapping makes into several events is listed
    /// once.
    pub first: Vec<RejectedRow>,
}

/// A row that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedRow {
    /// The file.
    pub file: PathBuf,
    /// Where the row is in the file.
    pub location: InputLocation,
    /// The value, shortened if it is long; empty for none.
    pub value: String,
}

/// The most rules and columns whose rows are kept apart: a file may break a rule in another column in each row.
pub(crate) const MAX_RULES: usize = 200;

/// The most rows of a rule that are kept.
const FIRST_ROWS: usize = 3;

/// The most rules that are shown.
const SHOWN_RULES: usize = 20;

impl RejectedRows {
    /// Returns the number of rows.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the rules, ordered from the most rows to the fewest. If there are very many rules and columns, the ones
    /// found later count only in [`rows`](Self::rows).
    #[must_use]
    pub fn rules(&self) -> Vec<&BrokenRule> {
        let mut rules: Vec<&BrokenRule> = self.rules.iter().collect();
        rules.sort_by_key(|rule| std::cmp::Reverse(rule.rows));
        rules
    }

    /// Adds a row of a file.
    pub(crate) fn add(&mut self, file: &Path, fault: &RowFault) {
        self.rows += 1;
        let is_full = self.rules.len() >= MAX_RULES;
        let known = self
            .rules
            .iter_mut()
            .find(|known| known.rule.words() == fault.rule.words() && known.column == fault.column);
        let row = || RejectedRow {
            file: file.to_owned(),
            location: fault.location,
            value: short(fault.value.as_deref().unwrap_or_default()),
        };
        match known {
            Some(known) => {
                known.rows += 1;
                if known.first.len() < FIRST_ROWS {
                    // A row of a wide file is in the table of each of its stages.
                    let row = row();
                    if !known.first.contains(&row) {
                        known.first.push(row);
                    }
                }
            }
            None if is_full => {}
            None => self.rules.push(BrokenRule {
                rule: fault.rule.clone(),
                column: fault.column.clone(),
                rows: 1,
                first: vec![row()],
            }),
        }
    }
}

/// Shortens a long value, unless it is shortened already.
fn short(value: &str) -> String {
    /// More than [`Shown`] makes of any value.
    const MOST: usize = 250;
    if value.chars().nth(MOST).is_some() { Shown(value).to_string() } else { value.to_owned() }
}

impl fmt::Display for RejectedRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules = self.rules();
        for (at, rule) in rules.iter().take(SHOWN_RULES).enumerate() {
            write!(f, "{}{rule}", if at == 0 { "" } else { "\n" })?;
        }
        let shown: u64 = rules.iter().take(SHOWN_RULES).map(|rule| rule.rows).sum();
        match self.rows - shown {
            0 => Ok(()),
            1 => f.write_str("\n1 row breaks another rule"),
            rows => write!(f, "\n{rows} rows break other rules"),
        }
    }
}

impl fmt::Display for BrokenRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Rows(self.rows))?;
        if let Some(column) = &self.column {
            write!(f, ", column `{}`", Shown(&in_one_line(column)))?;
        }
        write!(f, ": {}", self.rule)?;
        for RejectedRow { file, location, value } in &self.first {
            write!(f, "\n  `{}`, {location}: ", file.display())?;
            if value.is_empty() { f.write_str("nothing")? } else { write!(f, "`{}`", in_one_line(value))? }
        }
        Ok(())
    }
}

/// Replaces line ends by blanks, because each row has a line of its own.
fn in_one_line(text: &str) -> String {
    text.replace(['\r', '\n'], " ")
}

/// A number of rows for a message.
pub(crate) struct Rows(pub(crate) u64);

impl fmt::Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0, if self.0 == 1 { "row" } else { "rows" })
    }
}

/// How many rows an ingest may reject before it fails: a number of rows of all tables together, or a share of the rows
/// of each table.
///
/// ```
/// use trueup_ingest::MaxRejects;
///
/// assert_eq!("20".parse(), Ok(MaxRejects::rows(20)));
/// assert!("0.5%".parse::<MaxRejects>().is_ok());
/// let error = "many".parse::<MaxRejects>().unwrap_err().to_string();
/// assert_eq!(error, "expected a number of rows such as `20`, or a share of the rows such as `0.5%`");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaxRejects(Limit);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    /// Rows of all tables together.
    Rows(u64),
    /// Millionths of the rows of each table.
    Share(u32),
}

impl MaxRejects {
    /// Allows this many rows, of all tables together.
    #[must_use]
    pub const fn rows(rows: u64) -> Self {
        Self(Limit::Rows(rows))
    }

    /// Returns whether more rows are rejected than allowed. `tables` are the rows of each table: rejected ones, and
    /// all.
    pub(crate) fn is_exceeded(self, tables: &[(u64, u64)]) -> bool {
        match self.0 {
            Limit::Rows(most) => tables.iter().map(|(rejected, _)| rejected).sum::<u64>() > most,
            Limit::Share(share) => tables
                .iter()
                .any(|(rejected, all)| u128::from(*rejected) * 1_000_000 > u128::from(*all) * u128::from(share)),
        }
    }
}

impl fmt::Display for MaxRejects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Limit::Rows(rows) => write!(f, "{rows}"),
            Limit::Share(share) => {
                let text = format!("{}.{:04}", share / SHARE_OF_PERCENT, share % SHARE_OF_PERCENT);
                write!(f, "{}%", text.trim_end_matches('0').trim_end_matches('.'))
            }
        }
    }
}

/// A percent in millionths.
const SHARE_OF_PERCENT: u32 = 10_000;

/// A text that is no [`MaxRejects`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a number of rows such as `20`, or a share of the rows such as `0.5%`")]
pub struct ParseMaxRejectsError;

impl std::str::FromStr for MaxRejects {
    type Err = ParseMaxRejectsError;

    /// Reads a number of rows, or a percentage up to 100 with at most four decimals.
    ///
    /// # Errors
    /// The text is neither, or the number does not fit into 64 bits.
    fn from_str(text: &str) -> Result<Self, ParseMaxRejectsError> {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = |text: &str| text.parse::<u32>().map_err(|_| ParseMaxRejectsError);
        let Some(percent) = text.strip_suffix('%') else {
            let rows = digits(text).then(|| text.parse().ok()).flatten();
            return rows.map(Self::rows).ok_or(ParseMaxRejectsError);
        };
        let (whole, fraction) = percent.split_once('.').unwrap_or((percent, "0"));
        if !digits(whole) || !digits(fraction) || fraction.len() > 4 {
            return Err(ParseMaxRejectsError);
        }
        let share = number(whole)?.checked_mul(SHARE_OF_PERCENT).ok_or(ParseMaxRejectsError)?;
        let share = share.checked_add(number(&format!("{fraction:0<4}"))?);
        let share = share.filter(|share| *share <= 100 * SHARE_OF_PERCENT).ok_or(ParseMaxRejectsError)?;
        Ok(Self(Limit::Share(share)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::RowCells;

    fn fault(line: u64, column: &str, value: &str) -> RowFault {
        RowFault {
            location: InputLocation::Line(line),
            column: Some(column.to_owned()),
            value: Some(value.to_owned()),
            rule: Rule::SheetValue,
            found: String::new(),
            cells: RowCells::Strings(Vec::new()),
            joined: None,
            totals: None,
        }
    }

    #[test]
    fn rows_of_very_many_columns_are_counted() {
        let mut rejected = RejectedRows::default();
        for line in 0..1_000 {
            rejected.add(Path::new("a.csv"), &fault(line, &format!("column {line}"), "x"));
        }
        rejected.add(Path::new("a.csv"), &fault(1_000, "column 0", "x"));
        let rules = rejected.rules();
        assert_eq!((rejected.rows(), rules.len(), rules[0].rows), (1_001, MAX_RULES, 2));
        assert!(rejected.to_string().ends_with("\n980 rows break other rules"), "{rejected}");
    }

    #[test]
    fn each_row_has_a_line() {
        let mut rejected = RejectedRows::default();
        rejected.add(Path::new("a.csv"), &fault(2, "no\nte", "one\r\ntwo\nthree"));
        let expected = "1 row, column `no te`: expected a value\n  `a.csv`, line 2: `one  two three`";
        assert_eq!(rejected.to_string(), expected);
    }

    #[test]
    fn limits_are_exact() {
        let exceeded = |limit: &str, tables: &[(u64, u64)]| limit.parse::<MaxRejects>().unwrap().is_exceeded(tables);
        assert!(!exceeded("3", &[(1, 10), (2, 2)]));
        assert!(exceeded("3", &[(2, 10), (2, 20)]));
        assert!(!exceeded("0", &[(0, 10)]));
        assert!(!exceeded("0.5%", &[(5, 1_000)]));
        assert!(exceeded("0.5%", &[(6, 1_000)]));
        assert!(exceeded("0.5%", &[(0, 1_000_000), (1, 100)]));
        assert!(!exceeded("100%", &[(u64::MAX, u64::MAX)]));
    }

    #[test]
    fn limits_are_read_and_written() {
        for text in ["0", "20", "0.5%", "100%", "12.3456%", "0.0001%"] {
            assert_eq!(text.parse::<MaxRejects>().unwrap().to_string(), text);
        }
        for text in ["", "%", "-1", "1.5", "1e3", "100.0001%", "0.00001%", ".5%", "5.%", "5 %", "99999999999%"] {
            assert_eq!(text.parse::<MaxRejects>(), Err(ParseMaxRejectsError), "{text}");
        }
    }
}
