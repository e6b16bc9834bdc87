//! The difference of two answers to the same query, row by row: what was restated between two versions.

use super::exact_values::{change, fractions};
use super::{Column, Ratios, ResultTable, StringColumn, StringColumnBuilder, Values};
use crate::{Day, Shown, StringList};
use std::collections::{BTreeMap, BTreeSet};

/// The name of the first column of a difference, whose texts are [`STATUSES`].
const STATUS: &str = "status";

/// The texts of the column [`STATUS`], in the order of their codes.
const STATUSES: [&str; 3] = ["added", "changed", "removed"];

/// Two answers that cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotComparable {
    /// A column has values of another kind in one of the answers, or is not in both.
    #[error(
        "the answers cannot be compared: the column `{}` is not in both, or has values of another kind in one; \
         compare two answers to the same query",
        Shown(.0)
    )]
    DifferentColumns(String),
    /// A column of ratios of one of the answers does not have the fractions behind them.
    #[error(
        "the answers cannot be compared: the ratios in column `{}` are rounded; ask both queries for exact ratios",
        Shown(.0)
    )]
    RoundedRatios(String),
    /// The difference would have two columns of this name.
    #[error(
        "a difference has a column `{}` of its own, and so the query cannot have a field of this name; leave it out",
        Shown(.0)
    )]
    ColumnOfDifference(String),
}

/// A value of a column that a row is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum KeyPart<'a> {
    Day(Day),
    Text(&'a str),
}

impl ResultTable {
    /// Returns the rows of this answer that differ from those of an earlier answer to the same query. Rows are the same
    /// if they have the same days and texts.
    ///
    /// - The first column, `status`, is `added` for a row that only this answer has, `removed` for one that only the
    ///   earlier answer has, and `changed` for one that both have, with different numbers. Rows that are equal are left
    ///   out.
    /// - The columns of the answers follow in their order: days and texts as they are, and each other column `m` as
    ///   three: `m`, the value of this answer; `m.previous`, that of the earlier one; and `m.change`, `m` minus
    ///   `m.previous`. In an answer that does not have the row, a whole number or an amount counts as 0, a ratio as
    ///   over nothing, which differs from the ratio 0, and any other number as null.
    /// - The change of whole numbers and of money is exact; only a change of clicks or impressions that does not fit
    ///   into 64 bits is the nearest number that fits. The change of ratios is the difference of the two fractions,
    ///   rounded once, as in a [comparison](crate::query::EventsQuery::compare); there is none if one of the ratios is
    ///   over nothing.
    /// - Rows are in the order of their days and texts, byte by byte.
    ///
    /// The totals are left out, unless both answers have them [as a row](Self::with_totals_row).
    ///
    /// # Errors
    /// The answers do not have the same columns, one of them has ratios that are not
    /// [exact](crate::query::EventsQuery::exact_ratios), or a column has a name that another column of the difference
    /// has.
    pub fn changes_since(&self, before: &Self) -> Result<Self, NotComparable> {
        let answers = [before, self];
        for at in 0..self.columns.len().max(before.columns.len()) {
            match answers.map(|answer| answer.columns.get(at)) {
                [Some(one), Some(two)] if one.name == two.name && kind(&one.values) == kind(&two.values) => {}
                [one, two] => {
                    let name = two.or(one).map(|column| column.name.clone()).unwrap_or_default();
                    return Err(NotComparable::DifferentColumns(name));
                }
            }
        }
        for column in before.columns.iter().chain(&self.columns) {
            if matches!(&column.values, Values::Ratios(ratios) if !ratios.is_empty() && ratios.exact().is_none()) {
                return Err(NotComparable::RoundedRatios(column.name.clone()));
            }
        }
        let mut joined: BTreeMap<Vec<KeyPart<'_>>, [Option<usize>; 2]> = BTreeMap::new();
        for (at, answer) in answers.iter().enumerate() {
            for row in 0..answer.rows {
                joined.entry(answer.key(row)).or_default()[at] = Some(row);
            }
        }
        let differs = |rows: &[Option<usize>; 2]| match rows {
            [Some(one), Some(other)] => {
                before.columns.iter().zip(&self.columns).any(|(was, is)| was.differs(*one, is, *other))
            }
            _ => true,
        };
        let rows: Vec<[Option<usize>; 2]> = joined.into_values().filter(differs).collect();
        let status = rows.iter().map(|rows| match rows {
            [None, _] => 0,
            [Some(_), Some(_)] => 1,
            [Some(_), None] => 2,
        });
        let status = StringColumn { codes: status.collect(), dictionary: StringList::from_iter(STATUSES).into() };
        let mut columns = vec![Column { name: STATUS.to_owned(), values: Values::Strings(status) }];
        for (one, other) in before.columns.iter().zip(&self.columns) {
            columns.extend(changes([one, other], &rows));
        }
        let mut names = BTreeSet::new();
        if let Some(column) = columns.iter().find(|column| !names.insert(&column.name)) {
            return Err(NotComparable::ColumnOfDifference(column.name.clone()));
        }
        let mut table = Self::from_columns(columns);
        table.definitions = self.definitions.clone();
        table.unknown_fields.clone_from(&self.unknown_fields);
        Ok(table)
    }

    /// Returns what a row is known by.
    fn key(&self, row: usize) -> Vec<KeyPart<'_>> {
        let mut key = Vec::new();
        for column in &self.columns {
            match &column.values {
                Values::Days(days) => key.extend(days.get(row).copied().map(KeyPart::Day)),
                Values::Strings(texts) => key.push(KeyPart::Text(texts.get(row))),
                _ => {}
            }
        }
        key
    }
}

/// Returns a number for the kind of values. Counts and whole numbers are of one kind, and can be compared.
const fn kind(values: &Values) -> u8 {
    match values {
        Values::Days(_) => 0,
        Values::Strings(_) => 1,
        Values::Counts(_) | Values::Integers(_) => 2,
        Values::Money(_) => 3,
        Values::Ratios(_) => 4,
        Values::Numbers(_) => 5,
    }
}

impl Column {
    /// Returns whether the number in a row is not the one in a row of the same column of another answer.
    fn differs(&self, row: usize, other: &Self, other_row: usize) -> bool {
        match (&self.values, &other.values) {
            (Values::Ratios(one), Values::Ratios(two)) => one.get(row) != two.get(other_row),
            (Values::Numbers(one), Values::Numbers(two)) => one.get(row) != two.get(other_row),
            (Values::Days(_) | Values::Strings(_), _) => false,
            (one, two) => one.integer(Some(row)) != two.integer(Some(other_row)),
        }
    }
}

impl Values {
    /// Returns a count, or an amount of money in millionths; 0 if there is no row.
    pub(crate) fn integer(&self, row: Option<usize>) -> i128 {
        let Some(row) = row else { return 0 };
        match self {
            Self::Counts(counts) => counts.get(row).copied().map_or(0, i128::from),
            Self::Integers(integers) => integers.get(row).copied().map_or(0, i128::from),
            Self::Money(amounts) => amounts.get(row).copied().unwrap_or_default(),
            _ => 0,
        }
    }
}

/// Returns the columns of a difference that are made of one column of the answers, the earlier one first.
fn changes(columns: [&Column; 2], rows: &[[Option<usize>; 2]]) -> Vec<Column> {
    let named = |suffix: &str, values| Column { name: format!("{}{suffix}", columns[1].name), values };
    let compared = |now, was, change| vec![named("", now), named(".previous", was), named(".change", change)];
    let [before, after] = columns.map(|column| &column.values);
    let integers = || rows.iter().map(|[one, other]| [before.integer(*one), after.integer(*other)]);
    match [before, after] {
        [Values::Days(one), Values::Days(two)] => {
            let day = |rows: &[Option<usize>; 2]| match rows {
                [_, Some(row)] => two.get(*row).copied(),
                [row, None] => row.and_then(|row| one.get(row).copied()),
            };
            vec![named("", Values::Days(rows.iter().map(|rows| day(rows).unwrap_or(Day::MIN)).collect()))]
        }
        [Values::Strings(one), Values::Strings(two)] => {
            let text = |rows: &[Option<usize>; 2]| match rows {
                [_, Some(row)] => two.get(*row),
                [row, None] => row.map_or("", |row| one.get(row)),
            };
            let mut texts = StringColumnBuilder::default();
            rows.iter().for_each(|row| texts.push(text(row)));
            vec![named("", texts.texts())]
        }
        [Values::Money(_), _] => {
            let at = |at: usize| Values::Money(integers().map(|pair| pair[at]).collect());
            compared(at(1), at(0), Values::Money(integers().map(|[one, two]| two - one).collect()))
        }
        [Values::Ratios(one), Values::Ratios(two)] => {
            let at = |ratios: &Ratios, row: Option<usize>| row.and_then(|row| ratios.get(row));
            let change = rows.iter().map(|[first, second]| ratio_change(one, (*first)?, two, (*second)?));
            compared(
                Values::Ratios(rows.iter().map(|rows| at(two, rows[1])).collect()),
                Values::Ratios(rows.iter().map(|rows| at(one, rows[0])).collect()),
                Values::Numbers(change.collect()),
            )
        }
        [Values::Numbers(one), Values::Numbers(two)] => {
            let at = |numbers: &[Option<f64>], row: Option<usize>| row.and_then(|row| numbers.get(row).copied()?);
            let change = rows.iter().map(|[first, second]| Some(at(two, *second)? - at(one, *first)? + 0.0));
            compared(
                Values::Numbers(rows.iter().map(|rows| at(two, rows[1])).collect()),
                Values::Numbers(rows.iter().map(|rows| at(one, rows[0])).collect()),
                Values::Numbers(change.collect()),
            )
        }
        _ => {
            // Only clicks and impressions can be too large; then the result is the nearest number that fits.
            let whole = |number: i128| i64::try_from(number).unwrap_or(if number < 0 { i64::MIN } else { i64::MAX });
            let at = |at: usize, values: &Values| match values {
                Values::Integers(_) => Values::Integers(integers().map(|pair| whole(pair[at])).collect()),
                _ => Values::Counts(integers().map(|pair| u64::try_from(pair[at]).unwrap_or(0)).collect()),
            };
            let change = Values::Integers(integers().map(|[one, two]| whole(two - one)).collect());
            compared(at(1, after), at(0, before), change)
        }
    }
}

/// Returns a ratio of the later answer minus one of the earlier answer, rounded once; `None` if one is over nothing.
fn ratio_change(before: &Ratios, row_before: usize, after: &Ratios, row_after: usize) -> Option<f64> {
    let (exact_before, exact_after) = (before.exact()?, after.exact()?);
    let values = [exact_before.at(Some(row_before)), exact_after.at(Some(row_after))];
    let has_value = values.iter().all(|value| value.denominator != 0);
    has_value.then(|| change(&fractions(values), exact_after.scale()))
}
