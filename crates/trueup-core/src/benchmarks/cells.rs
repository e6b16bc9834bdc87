//! The amounts of each account in each segment over one set of dimensions, and which accounts are pooled there.

use super::data::BenchmarkData;
use super::fields::{AccountAmounts, AmountMetric};
use super::pool::{Holdings, Privacy};
use super::{BenchmarkDimension, BenchmarkMetric};
use crate::Code;
use crate::model::Currency;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

/// A set of the dimensions of benchmarks: one bit for each, by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DimensionSet(u8);

/// The code of the value of each dimension of a segment, in the order of [`BenchmarkDimension::ALL`]; 0 for a dimension
/// that its set does not have. In one set, segments are in row order if their codes are.
pub(super) type SegmentCodes = [Code; BenchmarkDimension::ALL.len()];

impl DimensionSet {
    /// The number of all sets.
    pub(super) const NUMBER: usize = 1 << BenchmarkDimension::ALL.len();

    pub(super) fn of(dimensions: impl IntoIterator<Item = BenchmarkDimension>) -> Self {
        Self(dimensions.into_iter().fold(0, |bits, dimension| bits | 1 << dimension.index()))
    }

    /// Returns its number, from 0 on.
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }

    pub(super) const fn contains(self, dimension: BenchmarkDimension) -> bool {
        self.0 & 1 << dimension.index() != 0
    }

    pub(super) const fn without(self, dimension: BenchmarkDimension) -> Self {
        Self(self.0 & !(1 << dimension.index()))
    }

    /// Returns its dimensions, in the order of [`BenchmarkDimension::ALL`].
    pub(super) fn dimensions(self) -> impl Iterator<Item = BenchmarkDimension> {
        BenchmarkDimension::ALL.into_iter().filter(move |dimension| self.contains(*dimension))
    }

    /// Returns the segment over this set that contains a segment over more dimensions.
    pub(super) fn project(self, codes: &SegmentCodes) -> SegmentCodes {
        BenchmarkDimension::ALL
            .map(|dimension| if self.contains(dimension) { codes[dimension.index()] } else { Code(0) })
    }
}

/// A set of metrics: one bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MetricSet(u16);

impl MetricSet {
    /// Returns the metrics for which `holds` returns true.
    pub(super) fn of(holds: impl Fn(BenchmarkMetric) -> bool) -> Self {
        let metrics = BenchmarkMetric::ALL.into_iter().filter(|metric| holds(*metric));
        Self(metrics.fold(0, |bits, metric| bits | Self::bit(metric)))
    }

    /// Returns the metrics that are in both sets.
    const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    const fn bit(metric: BenchmarkMetric) -> u16 {
        1 << metric as u16
    }

    pub(super) const fn contains(self, metric: BenchmarkMetric) -> bool {
        self.0 & Self::bit(metric) != 0
    }

    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) const fn remove(&mut self, metric: BenchmarkMetric) {
        self.0 &= !Self::bit(metric);
    }
}

/// An account of the cohort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CohortAccount {
    /// The number of its industry. The accounts without an industry share one number.
    pub(super) industry: u32,
    /// Whether it is an account of others: out of the caller's reach.
    pub(super) is_other: bool,
    /// The metrics that it is compared for: those of money only if it has the currency of the accounts in scope.
    pub(super) metrics: MetricSet,
}

/// The accounts that a caller is compared with, the caller's own included.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cohort {
    /// By account code; `None` for an account that is not in the cohort.
    accounts: Vec<Option<CohortAccount>>,
    industries: usize,
}

impl Cohort {
    /// Returns the accounts in an industry of an account in scope. If an account in scope has no industry, these are
    /// all accounts of the platform.
    ///
    /// For metrics that are made of money, they are those of the currency of the accounts in scope; none if these have
    /// several. To state none is one more currency. An account in scope that is not described, and has neither events
    /// nor spend, has no currency that could differ.
    pub(super) fn of(data: &BenchmarkData, scope: &BTreeSet<String>, reach: &BTreeSet<String>) -> Self {
        let kind = |key: &str| data.kinds.get(key);
        let industry = |key: &str| kind(key).and_then(|kind| kind.industry.as_deref());
        let currency = |key: &str| kind(key).and_then(|kind| kind.currency);
        let wanted: BTreeSet<Option<&str>> = scope.iter().map(|key| industry(key)).collect();
        let is_whole = wanted.contains(&None);
        let known = scope.iter().filter(|key| kind(key).is_some() || data.accounts.code(key).is_some());
        let mut currencies: BTreeSet<Option<Currency>> = known.map(|key| currency(key)).collect();
        if currencies.is_empty() {
            currencies.insert(None);
        }
        let counts = MetricSet::of(|metric| !metric.is_of_money());
        let all = MetricSet::of(|_| true);
        let mut numbers: HashMap<Option<&str>, u32> = HashMap::new();
        let mut next = 0;
        let cohort_account = |key: &str| {
            let industry = industry(key);
            if !is_whole && !wanted.contains(&industry) {
                return None;
            }
            let industry = *numbers.entry(industry).or_insert_with(|| {
                next += 1;
                next - 1
            });
            // No account has two currencies.
            let has_currency = currencies.iter().all(|wanted| *wanted == currency(key));
            let is_other = !reach.contains(key) && !scope.contains(key);
            Some(CohortAccount { industry, is_other, metrics: if has_currency { all } else { counts } })
        };
        let accounts = data.accounts.iter().map(cohort_account).collect();
        Self { accounts, industries: numbers.len() }
    }

    /// Returns the number of account codes.
    pub(super) const fn codes(&self) -> usize {
        self.accounts.len()
    }

    /// Returns the bytes that it takes.
    pub(super) const fn bytes(&self) -> usize {
        self.accounts.len() * size_of::<Option<CohortAccount>>()
    }

    fn account(&self, account: Code) -> Option<CohortAccount> {
        self.accounts[account.index()]
    }
}

/// The amounts of one account of the cohort in one segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    pub(super) code: Code,
    pub(super) account: CohortAccount,
    /// The metrics that the account is pooled for.
    pub(super) pooled: MetricSet,
    pub(super) amounts: AccountAmounts,
}

impl Cell {
    pub(super) const fn has_customers(&self) -> bool {
        AmountMetric::Customers.of(&self.amounts) > 0
    }
}

/// The metrics that each industry takes part in, of one segment; sorted by industry. Industries that take part in none
/// are left out.
pub(super) type Participants = Box<[(u32, MetricSet)]>;

/// Returns the metrics that an account with customers is pooled for: the ones that it is compared for and that its
/// industry takes part in.
pub(super) fn pooled_metrics(participants: &[(u32, MetricSet)], account: CohortAccount) -> MetricSet {
    participants
        .binary_search_by_key(&account.industry, |(industry, _)| *industry)
        .map_or(MetricSet::default(), |at| participants[at].1.and(account.metrics))
}

/// One segment.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) codes: SegmentCodes,
    /// Its cells, in a [`SegmentTable`].
    pub(super) cells: Range<usize>,
    pub(super) participants: Participants,
    /// The number of accounts with customers, of industries in which enough accounts of others have some.
    pub(super) accounts: usize,
}

/// The bytes of a [`SegmentTable`] and of what a decision notes about it, for each account and combination of the
/// dimensions: at most one cell, one segment, and what orders them and the children of four parents.
pub(super) const EVENT_WORKING_BYTES: usize =
    size_of::<Cell>() + size_of::<Segment>() + 5 * size_of::<(SegmentCodes, usize)>() + size_of::<usize>();

/// The bytes of a [`SpendTable`] for each account and combination of the dimensions that spend has. A hash map has room
/// for up to twice its entries, and there is one for the segments and for each of two parents.
pub(super) const SPEND_WORKING_BYTES: usize = 3 * 2 * size_of::<((Code, SegmentCodes), i128)>();

/// The segments over one set of dimensions, in row order.
#[derive(Debug)]
pub(super) struct SegmentTable {
    pub(super) segments: Vec<Segment>,
    cells: Vec<Cell>,
}

impl SegmentTable {
    /// Returns the segments that pass the filters. An account has a cell in each segment in which it has events; the
    /// spend of a cell is that of its part of the segment that spend has.
    pub(super) fn of(
        data: &BenchmarkData,
        set: DimensionSet,
        filters: &[Option<Code>; 4],
        cohort: &Cohort,
        privacy: Privacy,
    ) -> Self {
        let order = EntryOrder::of(data, set, filters, cohort);
        let spend = SpendTable::of(data, set);
        let mut table = Self { segments: Vec::new(), cells: Vec::with_capacity(order.entries.len()) };
        let mut counter = IndustryCounter::new(cohort);
        for (codes, entries) in order.segments() {
            let begin = table.cells.len();
            for of_account in entries.chunk_by(|a, b| data.events[*a].account == data.events[*b].account) {
                let Some(code) = of_account.first().map(|at| data.events[*at].account) else { continue };
                let Some(account) = cohort.account(code) else { continue };
                let mut amounts = [0; AmountMetric::ALL.len()];
                for at in of_account {
                    amounts.iter_mut().zip(data.events[*at].amounts).for_each(|(sum, amount)| *sum += amount);
                }
                amounts[AmountMetric::Spend as usize] = spend.of_account(code, codes);
                table.cells.push(Cell { code, account, pooled: MetricSet::default(), amounts });
            }
            let cells = begin..table.cells.len();
            let (participants, accounts) = counter.count(&mut table.cells[cells.clone()], privacy);
            table.segments.push(Segment { codes: *codes, cells, participants, accounts });
        }
        table
    }

    pub(super) fn cells(&self, segment: &Segment) -> &[Cell] {
        &self.cells[segment.cells.clone()]
    }
}

/// The entries of the cohort, ordered by segment and account.
struct EntryOrder {
    segments: Vec<SegmentCodes>,
    /// Where the entries of each segment end.
    ends: Vec<usize>,
    /// Indexes of entries.
    entries: Vec<usize>,
}

impl EntryOrder {
    /// Orders the entries that pass the filters. They are counted by segment, and stay in the order of their accounts.
    fn of(data: &BenchmarkData, set: DimensionSet, filters: &[Option<Code>; 4], cohort: &Cohort) -> Self {
        let projected = |codes: &SegmentCodes| passes(filters, codes).then(|| set.project(codes));
        let mut segments: Vec<SegmentCodes> = data.combinations.iter().filter_map(projected).collect();
        segments.sort_unstable();
        segments.dedup();
        let number = |codes: &SegmentCodes| segments.binary_search(&projected(codes)?).ok();
        let numbers: Vec<Option<usize>> = data.combinations.iter().map(number).collect();
        let entries = || {
            let of_cohort = data.events.iter().enumerate().filter(|(_, entry)| cohort.account(entry.account).is_some());
            of_cohort.filter_map(|(at, entry)| Some((at, numbers[entry.combination as usize]?)))
        };
        let mut ends = vec![0; segments.len()];
        entries().for_each(|(_, segment)| ends[segment] += 1);
        let mut number = 0;
        for end in &mut ends {
            // Where the segment begins; each entry that is placed moves it towards the end.
            (*end, number) = (number, number + *end);
        }
        let mut ordered = vec![0; number];
        for (at, segment) in entries() {
            ordered[ends[segment]] = at;
            ends[segment] += 1;
        }
        Self { segments, ends, entries: ordered }
    }

    /// Returns each segment that has entries.
    fn segments(&self) -> impl Iterator<Item = (&SegmentCodes, &[usize])> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let ranges = starts.zip(&self.ends).map(|(start, end)| &self.entries[start..*end]);
        self.segments.iter().zip(ranges).filter(|(_, entries)| !entries.is_empty())
    }
}

/// Returns whether the codes pass the filters. Codes after the last filter, and filters after the last code, do not
/// matter.
fn passes(filters: &[Option<Code>], codes: &[Code]) -> bool {
    filters.iter().zip(codes).all(|(filter, code)| filter.is_none_or(|filter| filter == *code))
}

/// The spend of each account by the dimensions of a set that spend has.
pub(super) struct SpendTable {
    set: DimensionSet,
    spend: HashMap<(Code, SegmentCodes), i128>,
}

impl SpendTable {
    pub(super) fn of(data: &BenchmarkData, set: DimensionSet) -> Self {
        let set = DimensionSet::of(set.dimensions().filter(|dimension| dimension.is_in_spend()));
        let mut spend: HashMap<(Code, SegmentCodes), i128> = HashMap::new();
        for entry in &data.spend {
            let mut codes = [Code(0); BenchmarkDimension::ALL.len()];
            codes.iter_mut().zip(entry.segment).for_each(|(code, of_spend)| *code = of_spend);
            *spend.entry((entry.account, set.project(&codes))).or_default() += entry.spend;
        }
        Self { set, spend }
    }

    /// Returns the spend of an account in the part of a segment that spend has.
    pub(super) fn of_account(&self, account: Code, codes: &SegmentCodes) -> i128 {
        self.spend.get(&(account, self.set.project(codes))).copied().unwrap_or(0)
    }
}

/// Counts the accounts of others by industry.
struct IndustryCounter {
    /// By industry: the number with customers, and the number with a value of each metric that they are compared for.
    others: Vec<(usize, [usize; BenchmarkMetric::ALL.len()])>,
    /// The industries that have a number.
    counted: Vec<u32>,
}

impl IndustryCounter {
    fn new(cohort: &Cohort) -> Self {
        Self { others: vec![Default::default(); cohort.industries], counted: Vec::new() }
    }

    /// Marks the metrics that each account is pooled for. Returns which industries take part in which metrics, and the
    /// number of accounts with customers in industries in which enough accounts of others have some.
    fn count(&mut self, cells: &mut [Cell], privacy: Privacy) -> (Participants, usize) {
        for cell in cells.iter().filter(|cell| cell.account.is_other && cell.has_customers()) {
            let (customers, values) = &mut self.others[cell.account.industry as usize];
            if *customers == 0 {
                self.counted.push(cell.account.industry);
            }
            *customers += 1;
            for (count, metric) in values.iter_mut().zip(BenchmarkMetric::ALL) {
                let has_value = metric.ratio().denominator_of(&cell.amounts) != 0;
                *count += usize::from(has_value && cell.account.metrics.contains(metric));
            }
        }
        self.counted.sort_unstable();
        let enough = self.counted.iter().filter(|industry| privacy.is_enough(self.others[**industry as usize].0));
        let enough: Vec<u32> = enough.copied().collect();
        let participants: Participants = enough
            .iter()
            .map(|industry| {
                let (_, values) = &self.others[*industry as usize];
                (*industry, MetricSet::of(|metric| privacy.is_enough(values[metric as usize])))
            })
            .collect();
        let mut accounts = 0;
        for cell in cells.iter_mut().filter(|cell| cell.has_customers()) {
            accounts += usize::from(enough.binary_search(&cell.account.industry).is_ok());
            cell.pooled = pooled_metrics(&participants, cell.account);
        }
        for industry in self.counted.drain(..) {
            self.others[industry as usize] = Default::default();
        }
        (participants, accounts)
    }
}

/// Returns whether the accounts of others that are pooled for a metric are a safe group: enough of them have a value,
/// and none holds too large a part of a numerator or of a denominator.
///
/// Numerators are checked twice, among all and among those with a value, because an account without a value is part of
/// the pooled numerator too. Its denominator is 0, so that one check of denominators is enough.
pub(super) fn is_safe(cells: &[Cell], metric: BenchmarkMetric, privacy: Privacy) -> bool {
    let ratio = metric.ratio();
    let [mut all, mut with_value, mut denominators] = [Holdings::default(); 3];
    for cell in cells.iter().filter(|cell| cell.account.is_other && cell.pooled.contains(metric)) {
        let (numerator, denominator) = (ratio.numerator_of(&cell.amounts), ratio.denominator_of(&cell.amounts));
        all.add(numerator);
        denominators.add(denominator);
        if denominator != 0 {
            with_value.add(numerator);
        }
    }
    privacy.is_enough(denominators.holders())
        && ![all, with_value, denominators].iter().any(|holdings| privacy.is_dominated(holdings))
}
