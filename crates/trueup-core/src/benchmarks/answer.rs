//! The rows that answer a request, from the amounts of all accounts.

use super::fields::{AccountAmounts, AmountMetric};
use super::pool::{self, CohortAccount, SegmentMember};
use super::{BenchmarkData, BenchmarkDimension, BenchmarkSelection, Privacy, Series};
use crate::Code;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// A request for benchmarks, and the accounts of its caller.
#[derive(Clone, Copy, Debug)]
pub struct BenchmarkQuery<'a> {
    /// The metrics, dimensions and filters.
    pub selection: &'a BenchmarkSelection,
    /// The keys of the accounts that the request is about. The cohort is made of the accounts in their industries; if
    /// one of them has no industry, of all accounts. Without a key there is no cohort, and so no row.
    pub scope: &'a BTreeSet<String>,
    /// The keys of all accounts that the caller may see. Accounts in scope belong to them even if they are missing
    /// here.
    pub reach: &'a BTreeSet<String>,
    /// The conditions under which a value is shown.
    pub privacy: Privacy,
}

/// One row of benchmarks: one series of one segment.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchmarkRow {
    /// The statistic that the row shows.
    pub series: Series,
    /// The number of accounts that the segment compares: those of the cohort with a customer in the segment, except for
    /// the accounts of industries with fewer accounts of others than [`privacy`](BenchmarkQuery::privacy) requires.
    pub cohort_accounts: usize,
    /// The segment: the text of each selected dimension, in order. Null is the empty text.
    pub dimensions: Vec<Arc<str>>,
    /// The value of each selected metric, in order, to three significant digits; `None` if it is withheld, if no
    /// account of the segment has a value, or if the pooled denominator is 0. Money is in currency units; shares are
    /// fractions.
    pub metrics: Vec<Option<f64>>,
}

/// The codes of the selected dimensions, in order.
type Segment = Vec<Code>;

/// The codes of the dimensions in spend; `None` for a dimension that is not selected.
type SpendSegment = [Option<Code>; BenchmarkDimension::IN_SPEND.len()];

impl BenchmarkData {
    /// Returns the rows that answer a request, sorted by dimensions (byte by byte), then by series. A segment without
    /// a single value to show has no row.
    #[must_use]
    pub fn answer(&self, query: &BenchmarkQuery<'_>) -> Vec<BenchmarkRow> {
        let selection = query.selection;
        let mut rows = Vec::new();
        for (segment, members) in self.segments(query) {
            let metrics = selection.metrics().iter();
            let values: Vec<_> = metrics.map(|metric| pool::series_values(&members, *metric, query.privacy)).collect();
            if values.iter().all(Option::is_none) {
                continue;
            }
            let dimensions = selection.dimensions().iter().zip(&segment);
            let texts: Vec<Arc<str>> =
                dimensions.map(|(dimension, code)| self.texts[dimension.index()].text(*code).clone()).collect();
            let cohort_accounts = pool::participants(&members, query.privacy, |_| true).len();
            rows.extend(Series::ALL.into_iter().enumerate().map(|(index, series)| BenchmarkRow {
                series,
                cohort_accounts,
                dimensions: texts.clone(),
                metrics: values.iter().map(|values| values.map(|values| values[index])).collect(),
            }));
        }
        rows
    }

    /// Returns the accounts of the cohort with customers in each segment. The segments are sorted by their texts,
    /// because the order of codes is that of their texts.
    fn segments(&self, query: &BenchmarkQuery<'_>) -> BTreeMap<Segment, Vec<SegmentMember>> {
        let Some(filters) = self.filter_codes(query.selection) else { return BTreeMap::new() };
        let cohort = self.cohort(query.scope, query.reach);
        let dimensions = query.selection.dimensions();
        let spend = self.spend_by_segment(dimensions, &filters, &cohort);
        let mut sums: BTreeMap<(Segment, Code), AccountAmounts> = BTreeMap::new();
        for entry in &self.events {
            if cohort[entry.account.index()].is_some() && passes(&filters, &entry.segment) {
                let segment = dimensions.iter().map(|dimension| entry.segment[dimension.index()]).collect();
                let sum = sums.entry((segment, entry.account)).or_default();
                sum.iter_mut().zip(entry.amounts).for_each(|(sum, amount)| *sum += amount);
            }
        }
        let mut segments: BTreeMap<Segment, Vec<SegmentMember>> = BTreeMap::new();
        for ((segment, account), mut amounts) in sums {
            let Some(cohort_account) = cohort[account.index()].filter(|_| AmountMetric::Customers.of(&amounts) > 0)
            else {
                continue;
            };
            let code = |dimension| dimensions.iter().position(|selected| *selected == dimension).map(|at| segment[at]);
            let of_segment = spend.get(&(account, BenchmarkDimension::IN_SPEND.map(code)));
            amounts[AmountMetric::Spend as usize] = of_segment.copied().unwrap_or(0);
            segments.entry(segment).or_default().push(SegmentMember { account: cohort_account, amounts });
        }
        segments
    }

    /// Sums the spend of the cohort's accounts by the selected dimensions that spend has.
    fn spend_by_segment(
        &self,
        dimensions: &[BenchmarkDimension],
        filters: &[Option<Code>; 4],
        cohort: &[Option<CohortAccount>],
    ) -> HashMap<(Code, SpendSegment), i128> {
        let mut spend: HashMap<(Code, SpendSegment), i128> = HashMap::new();
        for entry in &self.spend {
            // A filter on a dimension that spend does not have keeps the spend.
            if cohort[entry.account.index()].is_some() && passes(filters, &entry.segment) {
                let code = |dimension: BenchmarkDimension| {
                    dimensions.contains(&dimension).then(|| entry.segment[dimension.index()])
                };
                *spend.entry((entry.account, BenchmarkDimension::IN_SPEND.map(code))).or_default() += entry.spend;
            }
        }
        spend
    }

    /// Returns the code that each dimension is filtered on; `None` if one of the values occurs nowhere.
    fn filter_codes(&self, selection: &BenchmarkSelection) -> Option<[Option<Code>; 4]> {
        let mut codes = [None; 4];
        for (dimension, value) in selection.filters() {
            codes[dimension.index()] = Some(self.texts[dimension.index()].code(value)?);
        }
        Some(codes)
    }

    /// Returns the cohort: by account code, the accounts in an industry of an account in scope. If an account in scope
    /// has no industry, the cohort is the whole platform.
    fn cohort(&self, scope: &BTreeSet<String>, reach: &BTreeSet<String>) -> Vec<Option<CohortAccount>> {
        let industry = |key: &str| self.industries.get(key).map(|industry| &**industry);
        let wanted: BTreeSet<Option<&str>> = scope.iter().map(|key| industry(key)).collect();
        let is_whole = wanted.contains(&None);
        let mut numbers: BTreeMap<Option<&str>, usize> = BTreeMap::new();
        let cohort_account = |key: &str| {
            let industry = industry(key);
            if !is_whole && !wanted.contains(&industry) {
                return None;
            }
            let next = numbers.len();
            let industry = *numbers.entry(industry).or_insert(next);
            Some(CohortAccount { industry, is_other: !reach.contains(key) && !scope.contains(key) })
        };
        self.accounts.iter().map(cohort_account).collect()
    }
}

/// Returns whether the codes pass the filters. Codes after the last filter, and filters after the last code, do not
/// matter.
fn passes(filters: &[Option<Code>], codes: &[Code]) -> bool {
    filters.iter().zip(codes).all(|(filter, code)| filter.is_none_or(|filter| filter == *code))
}
