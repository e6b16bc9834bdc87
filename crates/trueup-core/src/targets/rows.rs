//! The cells of the rows of an answer.

use super::cells::{NoTarget, Rule, TargetIndex, Values as CellValues};
use super::selection::{Kept, Selector};
use crate::Day;
use crate::finish::{ResultTable, StringColumn, Values};
use crate::model::Currency;
use crate::query::DateRange;
use num_bigint::BigInt;
use std::collections::HashMap;

/// How a metric gets targets.
#[derive(Clone, Copy, Debug)]
pub(super) struct TargetedMetric {
    pub(super) rule: Rule,
    pub(super) is_of_money: bool,
}

/// An account of the query.
#[derive(Clone, Debug)]
pub(super) struct ScopeAccount {
    pub(super) key: String,
    pub(super) name: String,
    pub(super) currency: Option<Currency>,
}

/// The rows of an answer, and what their groups and the filters say of their cells.
pub(super) struct RowCells<'a> {
    groups: Vec<(Selector, &'a StringColumn)>,
    kept: &'a Kept,
    /// The days of each row, if the answer has an interval.
    days: Option<[&'a [Day]; 2]>,
    range: DateRange,
    /// The accounts of the query.
    scope: &'a [ScopeAccount],
    /// The accounts of rows that were encountered, by the key and the name in their groups.
    accounts: HashMap<[Option<&'a str>; 2], RowAccounts<'a>>,
}

/// The accounts of a row.
struct RowAccounts<'a> {
    keys: Vec<&'a str>,
    have_one_currency: bool,
}

impl<'a> RowCells<'a> {
    pub(super) fn new(
        answer: &'a ResultTable,
        groups: &[(String, Selector)],
        kept: &'a Kept,
        scope: &'a [ScopeAccount],
        range: DateRange,
    ) -> Self {
        let days = |name: &str| match &answer.column(name)?.values {
            Values::Days(days) => Some(days.as_slice()),
            _ => None,
        };
        Self {
            groups: groups.iter().filter_map(|(name, selector)| Some((*selector, answer.texts(name)?))).collect(),
            kept,
            days: days("start").zip(days("end")).map(|(start, end)| [start, end]),
            range,
            scope,
            accounts: HashMap::new(),
        }
    }

    /// Returns the target of a row, as the numerator and the denominator of a fraction.
    pub(super) fn target(
        &mut self,
        row: usize,
        index: &TargetIndex<'a>,
        metric: TargetedMetric,
    ) -> Result<[BigInt; 2], NoTarget> {
        let range = self.days.map_or(self.range, |[start, end]| DateRange { start: start[row], end: end[row] });
        let mut values: CellValues<'a> = Default::default();
        for (at, values) in values.iter_mut().enumerate() {
            let selector = Selector::Dimension(at);
            *values = self.group(selector, row).map(|value| vec![value]).or_else(|| self.kept_values(selector));
        }
        let group = [Selector::AccountKey, Selector::AccountName].map(|selector| self.group(selector, row));
        let (scope, kept) = (self.scope, self.kept);
        let accounts = self.accounts.entry(group).or_insert_with(|| RowAccounts::new(scope, group, kept));
        if metric.is_of_money && !accounts.have_one_currency {
            return Err(NoTarget::Currencies);
        }
        index.target(metric.rule, &accounts.keys, &values, range)
    }

    /// Returns the value of a row's group; `None` if rows are not grouped by it.
    fn group(&self, selector: Selector, row: usize) -> Option<&'a str> {
        self.groups.iter().find(|(known, _)| *known == selector).map(|(_, texts)| texts.get(row))
    }

    /// Returns the values that all filters keep; `None` if there is no filter.
    fn kept_values(&self, selector: Selector) -> Option<Vec<&'a str>> {
        let (_, first) = self.kept.iter().find(|(known, _)| *known == selector)?;
        Some(first.iter().map(String::as_str).filter(|value| keeps(self.kept, selector, value)).collect())
    }
}

impl<'a> RowAccounts<'a> {
    fn new(scope: &'a [ScopeAccount], [key, name]: [Option<&'a str>; 2], kept: &Kept) -> Self {
        let is_of_row = |account: &&ScopeAccount| {
            key.is_none_or(|key| key == account.key)
                && name.is_none_or(|name| name == account.name)
                && keeps(kept, Selector::AccountKey, &account.key)
                && keeps(kept, Selector::AccountName, &account.name)
        };
        let accounts: Vec<&ScopeAccount> = scope.iter().filter(is_of_row).collect();
        let keys = accounts.iter().map(|account| account.key.as_str());
        Self {
            // The accounts of the query are those with targets if each row names its own, which may have none.
            keys: if accounts.is_empty() { key.into_iter().collect() } else { keys.collect() },
            have_one_currency: accounts.windows(2).all(|pair| pair[0].currency == pair[1].currency),
        }
    }
}

/// Returns whether all filters keep a value.
fn keeps(kept: &Kept, selector: Selector, value: &str) -> bool {
    kept.iter().all(|(known, values)| *known != selector || values.contains(value))
}
