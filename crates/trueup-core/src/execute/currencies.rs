//! Refuses queries that would add up amounts of different currencies.

use crate::dataset::{Dataset, DatasetError};
use crate::error::{Error, QueryError};
use crate::model::Currency;
use crate::plan::{MetricRef, Output, Plan};
use crate::query::{AccountFilter, EventsQuery};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The metric whose conditions are decided on events.
const TOTAL: &str = "total";

/// Different currencies whose amounts a query adds up. Its [`Display`](fmt::Display) says so to people, and how to ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MixedCurrencies {
    /// The first metric of the query that is made of money.
    pub metric: String,
    /// The currencies of the accounts that the query reads; `None` is that of accounts that state none.
    pub currencies: BTreeSet<Option<Currency>>,
    /// Whether only the totals of the query add the amounts up.
    pub only_totals: bool,
}

impl MixedCurrencies {
    /// Returns the codes of the currencies in the order of the alphabet, and `none` first if an account states none.
    #[must_use]
    pub fn names(&self) -> String {
        let names = self.currencies.iter().map(|currency| currency.as_ref().map_or("none", Currency::code));
        names.collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for MixedCurrencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = if self.only_totals { "leave the totals out" } else { "group by `currency` or by `account`" };
        write!(
            f,
            "amounts of different currencies are never added up, and `{}` would add up those of the accounts: {}; {how}, or \
             ask for accounts of one currency",
            crate::Shown(&self.metric),
            self.names()
        )
    }
}

impl std::error::Error for MixedCurrencies {}

impl Dataset {
    /// Returns the different currencies whose amounts a query adds up, whether it
    /// [allows that](EventsQuery::allow_mixed_currencies) or not; `None` if there is only one, or the query adds up no
    /// money.
    ///
    /// A query adds up the amounts of all accounts that it reads, whether they have rows in its range or not, unless it
    /// is grouped by `account`, `accountKey`, `currency`, or an `accountName` that no accounts of different currencies
    /// share. Totals always do.
    ///
    /// # Errors
    /// A file cannot be read, to find out whether the account table lacks an account.
    pub fn mixed_currencies(&self, query: &EventsQuery) -> Result<Option<MixedCurrencies>, DatasetError> {
        let query = &*self.own_query(query);
        let conditions: Vec<&str> = query.conditions().into_iter().map(|(name, _)| name).collect();
        let is_of_money =
            |name: &&str| MetricRef::find(name, &query.definitions).is_some_and(|metric| metric.is_of_money());
        let fields = || query.fields.iter().map(String::as_str);
        let added = fields().chain(conditions.iter().copied()).find(is_of_money);
        let in_totals = || fields().chain(conditions.iter().copied().filter(|name| *name == TOTAL)).find(is_of_money);
        let by = |name: &str| fields().any(|field| field == name);
        let by_account = by("account") || by("accountKey") || by("currency");
        let is_separated = by_account || by("accountName") && self.do_names_separate_currencies(&query.accounts)?;
        let metric = if is_separated { in_totals().filter(|_| query.totals) } else { added };
        let Some(metric) = metric else { return Ok(None) };
        let currencies = self.currencies(&query.accounts)?;
        let is_mixed = currencies.len() > 1;
        Ok(is_mixed.then(|| MixedCurrencies { metric: metric.to_owned(), currencies, only_totals: is_separated }))
    }

    /// Checks that a query adds up no amounts of different currencies, unless it allows that.
    pub(super) fn check_currencies(&self, query: &EventsQuery) -> Result<(), Error> {
        if query.mixed_currencies {
            return Ok(());
        }
        match self.mixed_currencies(query)? {
            Some(mixed) => Err(QueryError::MixedCurrencies(Box::new(mixed)).into()),
            None => Ok(()),
        }
    }

    /// Resolves a query that is to be answered. If it compares, ratios of money have no effects where the accounts have
    /// different currencies, because effects refer to the amounts of all groups.
    pub(super) fn plan_with_effects(&self, query: &EventsQuery) -> Result<Plan, Error> {
        let mut plan = self.plan(query)?;
        let is_of_money = |output: &Output| matches!(output, Output::Metric(metric) if metric.is_of_money());
        if plan.comparison.is_some() && !query.mixed_currencies && plan.output.iter().any(is_of_money) {
            plan.mixes_currencies = self.currencies(&query.accounts)?.len() > 1;
        }
        Ok(plan)
    }

    /// Resolves a query that is answered in one go, after a check of its currencies.
    pub(super) fn plan_answer(&self, query: &EventsQuery) -> Result<Plan, Error> {
        let plan = self.plan_with_effects(query)?;
        self.check_currencies(query)?;
        Ok(plan)
    }

    /// Returns the currencies of accounts; `None` is that of accounts that state none. An account that no table has
    /// does not count. If no account states a currency, there is at most `None`.
    fn currencies(&self, accounts: &AccountFilter) -> Result<BTreeSet<Option<Currency>>, DatasetError> {
        let described = self.accounts().iter().filter(|account| accounts.contains(&account.key));
        let mut currencies: BTreeSet<Option<Currency>> = described.map(|account| account.currency).collect();
        // Otherwise accounts without a description make no difference.
        if currencies.iter().any(Option::is_some) && !currencies.contains(&None) && self.has_undescribed(accounts)? {
            currencies.insert(None);
        }
        Ok(currencies)
    }

    /// Returns whether no accounts of different currencies have the same name.
    fn do_names_separate_currencies(&self, accounts: &AccountFilter) -> Result<bool, DatasetError> {
        let mut by_name: BTreeMap<&str, Option<Currency>> = BTreeMap::new();
        for account in self.accounts().iter().filter(|account| accounts.contains(&account.key)) {
            if *by_name.entry(&account.name).or_insert(account.currency) != account.currency {
                return Ok(false);
            }
        }
        // An account without a description has its key as its name, and states no currency.
        let is_key = |name: &str| accounts.contains(name) && self.accounts().get(name).is_none();
        let named = by_name.iter().filter(|(name, currency)| currency.is_some() && is_key(name));
        let keys: Vec<String> = named.map(|(name, _)| (*name).to_owned()).collect();
        Ok(keys.is_empty() || !self.has_undescribed(accounts)? || self.missing_accounts(&keys)?.len() == keys.len())
    }
}
