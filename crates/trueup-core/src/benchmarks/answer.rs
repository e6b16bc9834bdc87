//! The rows that answer a request, from the amounts of all accounts.

use super::cells::{Cohort, DimensionSet, Segment, SegmentTable};
use super::lattice::{Lattice, PublishedSegment};
use super::{BenchmarkData, BenchmarkMetric, BenchmarkSelection, Privacy, Series, pool};
use crate::Code;
use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

/// How many callers a month keeps the decisions for: what is published depends on the accounts that a caller may see.
pub(super) const MAX_LATTICES: usize = 8;

/// A request for benchmarks, and the accounts of its caller.
#[derive(Clone, Copy, Debug)]
pub struct BenchmarkQuery<'a> {
    /// The metrics, dimensions and filters.
    pub selection: &'a BenchmarkSelection,
    /// The keys of the accounts that the request is about. The cohort is made of the accounts in their industries; if
    /// one of them has no industry, of all accounts. Without a key there is no cohort, and so no row. Metrics that are
    /// made of money compare the accounts of the cohort that have the currency of the accounts in scope; if these have
    /// several, they are withheld.
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
    /// The number of accounts that the segment compares: those of the cohort with a customer in the segment, of every
    /// currency, except for the accounts of industries with fewer accounts of others than
    /// [`privacy`](BenchmarkQuery::privacy) requires.
    pub cohort_accounts: usize,
    /// The segment: the text of each selected dimension, in order. Null is the empty text.
    pub dimensions: Vec<Arc<str>>,
    /// The value of each selected metric, in order, to three significant digits; `None` if it is withheld, if no
    /// account of the segment has a value, or if the pooled denominator is 0. Money is in currency units; shares are
    /// fractions.
    pub metrics: Vec<Option<f64>>,
}

impl BenchmarkData {
    /// Returns the rows that answer a request, sorted by dimensions (byte by byte), then by series. A segment without
    /// a single value to show has no row.
    #[must_use]
    pub fn answer(&self, query: &BenchmarkQuery<'_>) -> Vec<BenchmarkRow> {
        let selection = query.selection;
        let Some(filters) = self.filter_codes(selection) else { return Vec::new() };
        let lattice = self.lattice(query);
        let set = DimensionSet::of(selection.dimensions().iter().chain(selection.filters().keys()).copied());
        let published = lattice.published(self, set);
        if published.is_empty() {
            return Vec::new();
        }
        let table = SegmentTable::of(self, set, &filters, &lattice.cohort, lattice.privacy);
        let mut segments: Vec<(Vec<Code>, &Segment, &PublishedSegment)> = table
            .segments
            .iter()
            .filter_map(|segment| {
                let codes = selection.dimensions().iter().map(|dimension| segment.codes[dimension.index()]).collect();
                Some((codes, segment, published.get(&segment.codes)?))
            })
            .collect();
        // The order of codes is that of their texts.
        segments.sort_by(|(a, ..), (b, ..)| a.cmp(b));
        let mut rows = Vec::new();
        for (codes, segment, published) in segments {
            let value = |metric: &BenchmarkMetric| {
                published.metrics.contains(*metric).then(|| pool::series_values(table.cells(segment), *metric))?
            };
            let values: Vec<_> = selection.metrics().iter().map(value).collect();
            if values.iter().all(Option::is_none) {
                continue;
            }
            let dimensions = selection.dimensions().iter().zip(&codes);
            let texts: Vec<Arc<str>> =
                dimensions.map(|(dimension, code)| self.texts[dimension.index()].text(*code).clone()).collect();
            rows.extend(Series::ALL.into_iter().enumerate().map(|(index, series)| BenchmarkRow {
                series,
                cohort_accounts: segment.accounts,
                dimensions: texts.clone(),
                metrics: values.iter().map(|values| values.map(|values| values[index])).collect(),
            }));
        }
        rows
    }

    /// Returns what is published to the caller of a request. The newest lattices are kept.
    fn lattice(&self, query: &BenchmarkQuery<'_>) -> Arc<Lattice> {
        let cohort = Cohort::of(self, query.scope, query.reach);
        let mut lattices = self.lattices.lock().unwrap_or_else(PoisonError::into_inner);
        let is_wanted = |lattice: &Arc<Lattice>| lattice.cohort == cohort && lattice.privacy == query.privacy;
        let known = lattices.iter().position(is_wanted).and_then(|at| lattices.remove(at));
        let lattice = known.unwrap_or_else(|| Arc::new(Lattice::new(cohort, query.privacy)));
        lattices.push_back(Arc::clone(&lattice));
        if lattices.len() > MAX_LATTICES {
            lattices.pop_front();
        }
        lattice
    }

    /// Returns the code that each dimension is filtered on; `None` if one of the values occurs nowhere.
    fn filter_codes(&self, selection: &BenchmarkSelection) -> Option<[Option<Code>; 4]> {
        let mut codes = [None; 4];
        for (dimension, value) in selection.filters() {
            codes[dimension.index()] = Some(self.texts[dimension.index()].code(value)?);
        }
        Some(codes)
    }
}
