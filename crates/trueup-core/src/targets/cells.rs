//! The targets of one row: each account, month and combination of values that it is made of, a *cell*, has one.

use crate::Day;
use crate::model::{TARGET_DIMENSIONS, TargetKey, Targets};
use crate::query::DateRange;
use chrono::{Datelike, Months};
use num_bigint::BigInt;
use std::collections::HashMap;

/// A number that the days of every month divide.
const MONTH_PARTS: i128 = 4 * 3 * 5 * 7 * 29 * 31;

/// The number of millionths of a unit.
const MILLIONTHS: i128 = crate::money::MICROS_PER_UNIT as i128;

/// How the targets of several cells make one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// The metric is an amount: days have their share of a month, and cells add up.
    Sum,
    /// The metric is a ratio or a percentile: each day has the target of its month, and cells must agree.
    Agree,
    /// The metric counts distinct values: a whole month of one account has its target, and nothing else has one.
    Whole,
}

/// The values of a row for each of [`TARGET_DIMENSIONS`]; `None` if the row is of all values.
pub(super) type Values<'a> = [Option<Vec<&'a str>>; TARGET_DIMENSIONS.len()];

/// Why a row has no target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NoTarget {
    /// A cell has none. It is as a key, without a metric.
    Missing(Box<TargetKey>),
    /// The row is of no account.
    NoAccount,
    /// The cells of a metric that must agree do not.
    Disagree,
    /// The row is not one whole cell, and the metric has a target only for these.
    NotWhole,
    /// The accounts of the row have different currencies.
    Currencies,
}

/// The targets of one metric, by what they are for.
pub(super) struct TargetIndex<'a>(HashMap<(&'a str, Day, [&'a str; TARGET_DIMENSIONS.len()]), i64>);

/// A calendar month, and the number of its days that a range has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MonthPart {
    first: Day,
    days: i64,
    all_days: i64,
}

impl<'a> TargetIndex<'a> {
    /// Takes the targets of a metric.
    pub(super) fn new(targets: &'a Targets, metric: &str) -> Self {
        let of_metric = targets.iter().filter(|(key, _)| key.metric == metric);
        let entry = |(key, value): (&'a TargetKey, i64)| {
            ((key.account.as_str(), key.month, key.dimensions.each_ref().map(String::as_str)), value)
        };
        Self(of_metric.map(entry).collect())
    }

    /// Returns the target of the cells that accounts, values and days make, as the numerator and the denominator of a
    /// fraction.
    pub(super) fn target(
        &self,
        rule: Rule,
        accounts: &[&'a str],
        values: &Values<'a>,
        range: DateRange,
    ) -> Result<[BigInt; 2], NoTarget> {
        if accounts.is_empty() {
            return Err(NoTarget::NoAccount);
        }
        let months = months(range);
        let combinations = combinations(values, self.0.len());
        let (mut sum, mut first) = (0_i128, None);
        for account in accounts {
            for month in &months {
                for combination in &combinations {
                    let Some(value) = self.value(account, month.first, combination) else {
                        return Err(NoTarget::Missing(Box::new(TargetKey {
                            account: (*account).to_owned(),
                            month: month.first,
                            metric: String::new(),
                            dimensions: combination.map(|value| value.unwrap_or_default().to_owned()),
                        })));
                    };
                    match rule {
                        Rule::Sum => {
                            let share = i128::from(month.days) * (MONTH_PARTS / i128::from(month.all_days));
                            sum += i128::from(value) * share;
                        }
                        Rule::Agree if *first.get_or_insert(value) != value => return Err(NoTarget::Disagree),
                        Rule::Whole if first.replace(value).is_some() || month.days < month.all_days => {
                            return Err(NoTarget::NotWhole);
                        }
                        Rule::Agree | Rule::Whole => {}
                    }
                }
            }
        }
        Ok(match rule {
            Rule::Sum => [BigInt::from(sum), BigInt::from(MONTH_PARTS * MILLIONTHS)],
            Rule::Agree | Rule::Whole => [BigInt::from(first.unwrap_or_default()), BigInt::from(MILLIONTHS)],
        })
    }

    /// Returns the target for exactly these values. An empty value has none, because an empty text in a target is no
    /// value, but all of them.
    fn value(&self, account: &'a str, month: Day, values: &[Option<&'a str>; TARGET_DIMENSIONS.len()]) -> Option<i64> {
        if values.contains(&Some("")) {
            return None;
        }
        self.0.get(&(account, month, values.map(Option::unwrap_or_default))).copied()
    }
}

/// Returns each combination of one value per dimension: at most one more than `most`, of which one has no target.
fn combinations<'a>(values: &Values<'a>, most: usize) -> Vec<[Option<&'a str>; TARGET_DIMENSIONS.len()]> {
    let mut combinations = vec![[None; TARGET_DIMENSIONS.len()]];
    for (at, values) in values.iter().enumerate() {
        let Some(values) = values else { continue };
        let extended = combinations.iter().flat_map(|combination| {
            values.iter().map(move |value| {
                let mut combination = *combination;
                combination[at] = Some(*value);
                combination
            })
        });
        combinations = extended.take(most + 1).collect();
    }
    combinations
}

/// Returns the months of a range, each with the number of its days in the range.
fn months(range: DateRange) -> Vec<MonthPart> {
    let (start, end) = (range.start.date(), range.end.date());
    let mut months = Vec::new();
    let mut first = start.with_day(1).unwrap_or(start);
    while first <= end {
        // The range ends in 2149.
        let next = first.checked_add_months(Months::new(1)).unwrap_or(end);
        let last = next.pred_opt().unwrap_or(end).min(end);
        months.push(MonthPart {
            first: Day::from_date(first).unwrap_or(range.start),
            days: last.signed_duration_since(first.max(start)).num_days() + 1,
            all_days: next.signed_duration_since(first).num_days(),
        });
        first = next;
    }
    months
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_days_of_every_month_divide_the_parts() {
        for days in 28..=31 {
            assert_eq!(MONTH_PARTS % days, 0, "{days}");
        }
    }

    #[test]
    fn a_range_has_its_days_of_each_month() {
        let parts = |start: &str, end: &str| -> Vec<(String, i64, i64)> {
            let months = months(DateRange { start: start.parse().unwrap(), end: end.parse().unwrap() });
            months.into_iter().map(|month| (month.first.to_string(), month.days, month.all_days)).collect()
        };
        let month = |first: &str, days, all_days| (first.to_owned(), days, all_days);
        assert_eq!(parts("2024-02-29", "2024-02-29"), [month("2024-02-01", 1, 29)]);
        assert_eq!(
            parts("2025-01-31", "2025-03-01"),
            [month("2025-01-01", 1, 31), month("2025-02-01", 28, 28), month("2025-03-01", 1, 31)]
        );
        assert_eq!(parts("2149-06-01", "2149-06-06"), [month("2149-06-01", 6, 30)]);
        assert_eq!(parts("1970-01-01", "1970-01-31"), [month("1970-01-01", 31, 31)]);
    }

    #[test]
    fn combinations_are_no_more_than_can_all_have_targets() {
        let two = || Some(vec!["a", "b"]);
        assert_eq!(combinations(&[None, None, None], 1), [[None, None, None]]);
        assert_eq!(combinations(&[two(), None, two()], 9).len(), 4);
        assert_eq!(combinations(&[two(), two(), two()], 2).len(), 3);
    }
}
