//! Complementary suppression: which segments are published, so that no figure that is withheld can be computed from
//! published ones by subtraction.
//!
//! The segments over all sets of the four dimensions form a lattice. The *children* of a segment along a dimension that
//! its set does not have are the segments that split it by that dimension. For each metric, a segment is published only
//! if it is safe, if all segments that it is a child of are published, and if what is left of each of these, when the
//! published children are subtracted, is nothing or safe. As long as it is not, another child is withheld.
//!
//! Each metric is decided over the accounts that are compared for it. Those of money compare accounts of one currency,
//! and the same metric is never published over others, so that no difference of two figures is one of few accounts.

use super::cells::{
    Cohort, CohortAccount, DimensionSet, MetricSet, Participants, Segment, SegmentCodes, SegmentTable, SpendTable,
    is_safe, pooled_metrics,
};
use super::data::BenchmarkData;
use super::fields::{AccountAmounts, AmountMetric};
use super::pool::{Holdings, Privacy};
use super::{BenchmarkDimension, BenchmarkMetric};
use crate::Code;
use std::collections::HashMap;
use std::sync::OnceLock;

/// What is published to a caller. A set of dimensions is decided when it is first asked for, together with the sets
/// that it contains.
#[derive(Debug)]
pub(super) struct Lattice {
    pub(super) cohort: Cohort,
    pub(super) privacy: Privacy,
    sets: [OnceLock<PublishedSegments>; DimensionSet::NUMBER],
}

/// The segments over one set of dimensions of which any metric is published.
pub(super) type PublishedSegments = HashMap<SegmentCodes, PublishedSegment>;

/// What is published of a segment.
#[derive(Debug)]
pub(super) struct PublishedSegment {
    pub(super) metrics: MetricSet,
    participants: Participants,
}

impl Lattice {
    pub(super) fn new(cohort: Cohort, privacy: Privacy) -> Self {
        Self { cohort, privacy, sets: std::array::from_fn(|_| OnceLock::new()) }
    }

    /// Returns what is published over a set of dimensions.
    pub(super) fn published(&self, data: &BenchmarkData, set: DimensionSet) -> &PublishedSegments {
        let decided = &self.sets[set.index()];
        if let Some(published) = decided.get() {
            return published;
        }
        // In the order of the dimension that a parent leaves out.
        let parents: Vec<_> = set
            .dimensions()
            .map(|dimension| {
                let parent = set.without(dimension);
                Parents { dimension, set: parent, published: self.published(data, parent) }
            })
            .collect();
        decided.get_or_init(|| Decision::new(data, self, set, &parents).run())
    }

    /// Returns the bytes that the decided sets take.
    pub(super) fn bytes(&self) -> usize {
        let entry = size_of::<(SegmentCodes, PublishedSegment)>() + size_of::<(u32, MetricSet)>();
        let decided = self.sets.iter().filter_map(OnceLock::get);
        self.cohort.bytes() + decided.map(|published| published.capacity() * entry).sum::<usize>()
    }
}

/// The segments that leave out one dimension of a set.
struct Parents<'a> {
    dimension: BenchmarkDimension,
    set: DimensionSet,
    published: &'a PublishedSegments,
}

/// The decision about one set of dimensions.
struct Decision<'a> {
    privacy: Privacy,
    parents: &'a [Parents<'a>],
    /// By parents: their published segments with their children.
    families: Vec<Vec<Family<'a>>>,
    /// By parents: their spend, if spend adds up along their dimension.
    spend: Vec<Option<SpendTable>>,
    table: SegmentTable,
    /// By segment: what is published as far as it is decided.
    published: Vec<MetricSet>,
    rests: Rests,
}

/// A published segment and its children along one dimension.
struct Family<'a> {
    parent: &'a PublishedSegment,
    codes: SegmentCodes,
    /// The indexes of the children, in the order of their values.
    children: Vec<usize>,
}

impl<'a> Decision<'a> {
    fn new(data: &BenchmarkData, lattice: &Lattice, set: DimensionSet, parents: &'a [Parents<'a>]) -> Self {
        let privacy = lattice.privacy;
        let table = SegmentTable::of(data, set, &[None; 4], &lattice.cohort, privacy);
        let is_published = |segment: &Segment| {
            let of_parents: Vec<MetricSet> = parents
                .iter()
                .map(|parents| {
                    let parent = parents.published.get(&parents.set.project(&segment.codes));
                    parent.map_or(MetricSet::default(), |parent| parent.metrics)
                })
                .collect();
            MetricSet::of(|metric| {
                of_parents.iter().all(|parent| parent.contains(metric))
                    && is_safe(table.cells(segment), metric, privacy)
            })
        };
        let published = table.segments.iter().map(is_published).collect();
        let families = parents.iter().map(|parents| families(parents, &table)).collect();
        let spend =
            parents.iter().map(|parents| parents.dimension.is_in_spend().then(|| SpendTable::of(data, parents.set)));
        Self {
            privacy,
            parents,
            families,
            spend: spend.collect(),
            rests: Rests { of_account: vec![Rest::default(); lattice.cohort.codes()], accounts: Vec::new() },
            table,
            published,
        }
    }

    fn run(mut self) -> PublishedSegments {
        for metric in BenchmarkMetric::ALL {
            // A child that is withheld for one parent leaves more of its other parents.
            while self.settle(metric) {}
        }
        let published = self.table.segments.into_iter().zip(self.published);
        published
            .filter(|(_, metrics)| !metrics.is_empty())
            .map(|(segment, metrics)| (segment.codes, PublishedSegment { metrics, participants: segment.participants }))
            .collect()
    }

    /// Withholds children until what is left of each parent is nothing or safe. Returns whether it withheld any.
    fn settle(&mut self, metric: BenchmarkMetric) -> bool {
        let ratio = metric.ratio();
        let mut is_changed = false;
        for ((parents, families), spend) in self.parents.iter().zip(&self.families).zip(&self.spend) {
            let sides = [ratio.numerator, ratio.denominator]
                .map(|amounts| Side { amounts, is_spend: amounts.iter().any(|amount| amount.is_spend()) });
            let sides: Vec<Side> =
                sides.into_iter().filter(|side| !side.is_spend || parents.dimension.is_in_spend()).collect();
            for family in families.iter().filter(|family| family.parent.metrics.contains(metric)) {
                if !family.children.iter().any(|child| self.published[*child].contains(metric)) {
                    continue;
                }
                self.rests.compute(family, &self.table, &self.published, metric, &sides, spend.as_ref());
                let mut published: Vec<usize> = family.children.clone();
                published.retain(|child| self.published[*child].contains(metric));
                // Those with the fewest accounts first; a stable sort keeps equals in the order of their values.
                published.sort_by_cached_key(|child| {
                    let cells = self.table.cells(&self.table.segments[*child]).iter();
                    cells.filter(|cell| cell.account.is_other && cell.pooled.contains(metric)).count()
                });
                for child in published {
                    if self.rests.are_safe(sides.len(), self.privacy) {
                        break;
                    }
                    self.published[child].remove(metric);
                    self.rests.give_back(&self.table, child, metric, &sides);
                    is_changed = true;
                }
            }
        }
        is_changed
    }
}

/// Returns the published parents in row order, with their children.
fn families<'a>(parents: &Parents<'a>, table: &SegmentTable) -> Vec<Family<'a>> {
    let mut children: Vec<(SegmentCodes, usize)> =
        table.segments.iter().enumerate().map(|(at, segment)| (parents.set.project(&segment.codes), at)).collect();
    // Segments are in the order of their values, and so are the children of each parent.
    children.sort_unstable();
    let families = children.chunk_by(|(a, _), (b, _)| a == b).filter_map(|children| {
        let codes = children.first()?.0;
        let parent = parents.published.get(&codes)?;
        Some(Family { parent, codes, children: children.iter().map(|(_, at)| *at).collect() })
    });
    families.collect()
}

/// The numerator or the denominator of a metric, if it adds up along a dimension.
struct Side {
    amounts: &'static [AmountMetric],
    is_spend: bool,
}

impl Side {
    fn of(&self, amounts: &AccountAmounts) -> i128 {
        self.amounts.iter().map(|amount| amount.of(amounts)).sum()
    }
}

/// What is left of a parent when its published children are subtracted, by account of others that is pooled in the
/// parent.
struct Rests {
    /// By account code; 0 for accounts that are not listed.
    of_account: Vec<Rest>,
    accounts: Vec<Code>,
}

/// What is left of one account's part.
#[derive(Clone, Copy, Debug, Default)]
struct Rest {
    /// `None` if it is not listed.
    account: Option<CohortAccount>,
    has_customers: bool,
    /// By side that adds up.
    sides: [i128; 2],
}

impl Rests {
    /// Computes the rests of a family. An amount of events is what the children hold together, so its rest is what the
    /// children hold that are withheld or in which the account is not pooled. Spend also exists where there are no
    /// events, and so in no child: its rest is subtracted from the spend of the parent.
    fn compute(
        &mut self,
        family: &Family<'_>,
        table: &SegmentTable,
        published: &[MetricSet],
        metric: BenchmarkMetric,
        sides: &[Side],
        spend: Option<&SpendTable>,
    ) {
        for account in self.accounts.drain(..) {
            self.of_account[account.index()] = Rest::default();
        }
        for child in &family.children {
            let is_published = published[*child].contains(metric);
            for cell in table.cells(&table.segments[*child]).iter().filter(|cell| cell.account.is_other) {
                let rest = &mut self.of_account[cell.code.index()];
                if rest.account.replace(cell.account).is_none() {
                    self.accounts.push(cell.code);
                }
                rest.has_customers |= cell.has_customers();
                let is_subtracted = is_published && cell.pooled.contains(metric);
                for (left, side) in rest.sides.iter_mut().zip(sides) {
                    if side.is_spend && is_subtracted {
                        *left -= side.of(&cell.amounts);
                    } else if !side.is_spend && !is_subtracted {
                        *left += side.of(&cell.amounts);
                    }
                }
            }
        }
        let of_account = &mut self.of_account;
        self.accounts.retain(|account| {
            let rest = &mut of_account[account.index()];
            let in_parent = |account| pooled_metrics(&family.parent.participants, account).contains(metric);
            if !rest.has_customers || !rest.account.is_some_and(in_parent) {
                *rest = Rest::default();
                return false;
            }
            for (left, _) in rest.sides.iter_mut().zip(sides).filter(|(_, side)| side.is_spend) {
                *left += spend.map_or(0, |spend| spend.of_account(*account, &family.codes));
            }
            true
        });
    }

    /// Adds the parts of a child that is withheld from now on.
    fn give_back(&mut self, table: &SegmentTable, child: usize, metric: BenchmarkMetric, sides: &[Side]) {
        for cell in table.cells(&table.segments[child]).iter().filter(|cell| cell.pooled.contains(metric)) {
            let rest = &mut self.of_account[cell.code.index()];
            if rest.account.is_some() {
                rest.sides.iter_mut().zip(sides).for_each(|(left, side)| *left += side.of(&cell.amounts));
            }
        }
    }

    /// Returns whether the rests of each side are all 0, or those of enough accounts, of which none holds too large a
    /// part.
    fn are_safe(&self, sides: usize, privacy: Privacy) -> bool {
        (0..sides).all(|side| {
            let mut holdings = Holdings::default();
            for account in &self.accounts {
                holdings.add(self.of_account[account.index()].sides[side]);
            }
            holdings.holders() == 0 || privacy.is_enough(holdings.holders()) && !privacy.is_dominated(&holdings)
        })
    }
}
