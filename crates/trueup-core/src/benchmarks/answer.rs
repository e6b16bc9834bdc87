//! Gathered figures to the rows of an answer.

use super::cohort::CohortAccount;
use super::metric::{AccountAmounts, AmountMetric};
use super::pool::{self, Member};
use super::{BenchmarkData, BenchmarkDimension, BenchmarkSelection, Privacy, Series};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// What is asked, and by whom.
#[derive(Clone, Copy, Debug)]
pub struct BenchmarkQuery<'a> {
    /// The metrics, dimensions and filters.
    pub selection: &'a BenchmarkSelection,
    /// The accounts that are asked about: their industries make the cohort.
    pub scope: &'a BTreeSet<String>,
    /// Every account that the caller may see. Those in scope are in reach, named here or not.
    pub reach: &'a BTreeSet<String>,
    /// What has to hold of a figure.
    pub privacy: Privacy,
}

/// One row: one series of one segment.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchmarkRow {
    /// What the row shows of its segment.
    pub series: Series,
    /// The accounts that the segment compares: those of the cohort with a customer in it.
    pub cohort_accounts: usize,
    /// The segment: the text of each selected dimension, in order; null is the empty text.
    pub dimensions: Vec<Arc<str>>,
    /// The value of each selected metric, in order, to three significant digits; `None` is withheld. Money is in currency units,
    /// shares are fractions.
    pub metrics: Vec<Option<f64>>,
}

/// The codes of the selected dimensions, in order.
type Segment = Vec<usize>;

/// The part of a segment that spend has too: the codes of those selected dimensions that it carries.
type Carried = [Option<usize>; BenchmarkDimension::CARRIED.len()];

impl BenchmarkData {
    /// The rows that answer a question, by dimensions, byte by byte, then by series. A segment that has nothing to show has no row.
    #[must_use]
    pub fn answer(&self, question: &BenchmarkQuery<'_>) -> Vec<BenchmarkRow> {
        let selection = question.selection;
        let mut rows = Vec::new();
        for (segment, members) in self.segments(question) {
            let metrics = selection.metrics().iter();
            let figures: Vec<_> = metrics.map(|metric| pool::figures(&members, *metric, question.privacy)).collect();
            if figures.iter().all(Option::is_none) {
                continue;
            }
            let dimensions = selection.dimensions().iter().zip(&segment);
            let texts: Vec<Arc<str>> =
                dimensions.map(|(dimension, code)| self.texts[dimension.place()].text(*code).clone()).collect();
            let cohort_accounts = pool::taking_part(&members, question.privacy, |_| true).len();
            rows.extend(Series::ALL.into_iter().enumerate().map(|(place, series)| BenchmarkRow {
                series,
                cohort_accounts,
                dimensions: texts.clone(),
                metrics: figures.iter().map(|figures| figures.map(|figures| figures[place])).collect(),
            }));
        }
        rows
    }

    /// The accounts of the cohort with customers in each segment. Segments are in the order of their texts, as codes are.
    fn segments(&self, question: &BenchmarkQuery<'_>) -> BTreeMap<Segment, Vec<Member>> {
        let Some(kept) = self.kept(question.selection) else { return BTreeMap::new() };
        let cohort = self.cohort(question.scope, question.reach);
        let dimensions = question.selection.dimensions();
        let spend = self.spend_by_segment(dimensions, &kept, &cohort);
        let mut sums: BTreeMap<(Segment, usize), AccountAmounts> = BTreeMap::new();
        for figures in &self.events {
            if cohort[figures.account].is_some() && passes(&kept, &figures.segment) {
                let segment = dimensions.iter().map(|dimension| figures.segment[dimension.place()]).collect();
                let sum = sums.entry((segment, figures.account)).or_default();
                sum.iter_mut().zip(figures.amounts).for_each(|(sum, amount)| *sum += amount);
            }
        }
        let mut segments: BTreeMap<Segment, Vec<Member>> = BTreeMap::new();
        for ((segment, account), mut amounts) in sums {
            let Some(cohort_account) = cohort[account].filter(|_| AmountMetric::Customers.of(&amounts) > 0) else {
                continue;
            };
            let of = |dimension| dimensions.iter().position(|selected| *selected == dimension).map(|at| segment[at]);
            let beside = spend.get(&(account, BenchmarkDimension::CARRIED.map(of)));
            amounts[AmountMetric::Spend as usize] = beside.copied().unwrap_or(0);
            segments.entry(segment).or_default().push(Member { account: cohort_account, amounts });
        }
        segments
    }

    /// The spend of accounts in the cohort by the selected dimensions that it carries.
    fn spend_by_segment(
        &self,
        dimensions: &[BenchmarkDimension],
        kept: &[Option<usize>; 4],
        cohort: &[Option<CohortAccount>],
    ) -> HashMap<(usize, Carried), i128> {
        let mut spend: HashMap<(usize, Carried), i128> = HashMap::new();
        for figures in &self.spend {
            // A filter on a dimension that spend does not carry keeps it.
            if cohort[figures.account].is_some() && passes(kept, &figures.segment) {
                let of = |dimension: BenchmarkDimension| {
                    dimensions.contains(&dimension).then(|| figures.segment[dimension.place()])
                };
                *spend.entry((figures.account, BenchmarkDimension::CARRIED.map(of))).or_default() += figures.spend;
            }
        }
        spend
    }

    /// The code that each dimension is filtered on; `None` if some value occurs nowhere.
    fn kept(&self, selection: &BenchmarkSelection) -> Option<[Option<usize>; 4]> {
        let mut kept = [None; 4];
        for (dimension, value) in selection.filters() {
            kept[dimension.place()] = Some(self.texts[dimension.place()].code(value)?);
        }
        Some(kept)
    }
}

/// Whether the codes of the first dimensions are those that are kept.
fn passes(kept: &[Option<usize>], codes: &[usize]) -> bool {
    kept.iter().zip(codes).all(|(kept, code)| kept.is_none_or(|kept| kept == *code))
}
