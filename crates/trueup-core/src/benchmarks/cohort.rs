//! The accounts that are compared.

use super::BenchmarkData;
use std::collections::{BTreeMap, BTreeSet};

/// What an account of the cohort is to the caller.
#[derive(Clone, Copy, Debug)]
pub(super) struct CohortAccount {
    /// The number of its industry. Accounts without one are together as if they had one.
    pub(super) industry: usize,
    /// Whether it is out of the caller's reach.
    pub(super) out_of_reach: bool,
}

impl BenchmarkData {
    /// For each account by its code, its standing if it is one to compare with: in an industry of an account in scope, or any, if
    /// an account in scope has none.
    pub(super) fn cohort(&self, scope: &BTreeSet<String>, reach: &BTreeSet<String>) -> Vec<Option<CohortAccount>> {
        let industry = |key: &str| self.industries.get(key).map(|industry| &**industry);
        let wanted: BTreeSet<Option<&str>> = scope.iter().map(|key| industry(key)).collect();
        let is_whole = wanted.contains(&None);
        let mut numbers: BTreeMap<Option<&str>, usize> = BTreeMap::new();
        let standing = |key: &str| {
            let industry = industry(key);
            if !is_whole && !wanted.contains(&industry) {
                return None;
            }
            let next = numbers.len();
            let industry = *numbers.entry(industry).or_insert(next);
            Some(CohortAccount { industry, out_of_reach: !reach.contains(key) && !scope.contains(key) })
        };
        self.accounts.iter().map(standing).collect()
    }
}
