//! The metrics of groups, computed from their state.

use super::order::INTERRUPT_CHECK_ITEMS;
use super::{Ratios, Values};
use crate::aggregate::{GroupSlot, PartialResult, SpendSums};
use crate::dictionary::{Formula, Measure, MeasureKind};
use crate::error::{Error, QueryError};
use crate::money;
use crate::plan::{Condition, MetricPredicate, Plan, Ternary};
use crate::query::NumberPredicate;
use crate::{Interrupt, Interruption};

/// The number of groups whose totals are computed together: few enough for all totals to stay in the processor's
/// caches.
const BATCH_GROUPS: usize = 1 << 10;

/// The measures of each group.
pub(super) struct GroupMeasures<'a> {
    plan: &'a Plan,
    partial: &'a PartialResult,
    interrupt: &'a Interrupt,
    /// By group, the slot of its spend; empty if the query does not need spend.
    spend: Vec<GroupSlot>,
    /// By group, the number of distinct agents; empty if the query does not need it.
    agents: Vec<i128>,
}

/// Where the value of a measure comes from.
#[derive(Clone, Copy)]
enum MeasureSource {
    /// A count at this place of the layout.
    Count(usize),
    /// A sum of money at this place of the layout.
    Money(usize),
    Agents,
    Spend(fn(&SpendSums) -> i128),
    /// The query does not aggregate the measure.
    Missing,
}

/// A sum of measures.
struct MeasureSum {
    sources: Vec<MeasureSource>,
    is_money: bool,
}

/// A formula, bound to the sources of its measures.
enum BoundFormula {
    Amount(MeasureSum),
    Ratio { numerator: MeasureSum, denominator: MeasureSum },
}

impl MeasureSum {
    /// Converts a total of this sum to a double: a count, or money in currency units.
    fn value(&self, total: i128) -> f64 {
        if self.is_money {
            return money::to_f64(total);
        }
        #[expect(clippy::cast_precision_loss, reason = "the result is the closest double")]
        i64::try_from(total).map_or_else(|_| wide_to_f64(total), |total| total as f64)
    }
}

/// Returns the double closest to a total of more than 64 bits. It is not inlined, because a compiler that sees both
/// conversions chooses this one, which is slow, for every total.
#[cold]
#[inline(never)]
#[expect(clippy::cast_precision_loss, reason = "the result is the closest double")]
const fn wide_to_f64(total: i128) -> f64 {
    total as f64
}

/// Returns an integer that is larger where the double is. As integers, the bits of positive doubles are in order, and
/// the bits of negative doubles in reverse.
const fn in_order(value: f64) -> i64 {
    let bits = value.to_bits().cast_signed();
    if bits < 0 { bits ^ i64::MAX } else { bits }
}

/// Adds the `amount` of each group to its total. An empty list means totals of 0.
fn add(totals: &mut Vec<i128>, groups: &[u32], amount: impl Fn(usize) -> i128) {
    let amounts = groups.iter().map(|group| amount(*group as usize));
    if totals.is_empty() {
        totals.extend(amounts);
    } else {
        totals.iter_mut().zip(amounts).for_each(|(total, amount)| *total += amount);
    }
}

impl<'a> GroupMeasures<'a> {
    /// Counts the distinct agents of each group, if the query needs them. `spend` has for each group the slot of its
    /// spend.
    pub(super) fn new(
        plan: &'a Plan,
        partial: &'a PartialResult,
        spend: Vec<GroupSlot>,
        interrupt: &'a Interrupt,
    ) -> Result<Self, Interruption> {
        let mut agents = vec![0; if plan.layout.agents { partial.len() } else { 0 }];
        for (counted, group) in partial.grouped.state.agents.groups().enumerate() {
            if counted.is_multiple_of(INTERRUPT_CHECK_ITEMS) {
                interrupt.check()?;
            }
            agents[group] += 1;
        }
        Ok(Self { plan, partial, interrupt, spend, agents })
    }

    /// Returns the values of a metric for `groups`, in their order. A ratio whose denominator is 0 is over nothing.
    ///
    /// # Errors
    /// A count does not fit into 64 bits, or the interrupt ends the query.
    pub(super) fn values(&self, formula: Formula, name: &'static str, groups: &[u32]) -> Result<Values, Error> {
        match self.bind(formula) {
            BoundFormula::Ratio { numerator, denominator } => {
                let mut ratios = Ratios::with_capacity(groups.len());
                for step in self.steps(groups, BATCH_GROUPS) {
                    ratios.extend(self.ratios(&numerator, &denominator, step?));
                }
                Ok(Values::Ratios(ratios))
            }
            BoundFormula::Amount(sum) if sum.is_money => {
                let mut amounts = Vec::with_capacity(groups.len());
                for step in self.steps(groups, BATCH_GROUPS) {
                    amounts.extend(self.totals(&sum, step?));
                }
                Ok(Values::Money(amounts))
            }
            BoundFormula::Amount(sum) => {
                let mut counts = Vec::with_capacity(groups.len());
                for step in self.steps(groups, BATCH_GROUPS) {
                    for total in self.totals(&sum, step?) {
                        counts.push(u64::try_from(total).map_err(|_| QueryError::Overflow { name })?);
                    }
                }
                Ok(Values::Counts(counts))
            }
        }
    }

    /// Returns for each group, in order, a number that is larger where the metric is; `None` where a ratio has the
    /// denominator 0.
    pub(super) fn ordered(&self, formula: Formula, groups: &[u32]) -> Result<Vec<Option<i128>>, Interruption> {
        let bound = self.bind(formula);
        let mut numbers = Vec::with_capacity(groups.len());
        for step in self.steps(groups, BATCH_GROUPS) {
            match &bound {
                BoundFormula::Ratio { numerator, denominator } => {
                    let ratios = self.ratios(numerator, denominator, step?);
                    numbers.extend(ratios.map(|ratio| ratio.map(|ratio| i128::from(in_order(ratio)))));
                }
                BoundFormula::Amount(sum) => numbers.extend(self.totals(sum, step?).into_iter().map(Some)),
            }
        }
        Ok(numbers)
    }

    /// Splits groups into steps, and checks the interrupt before each.
    fn steps<'g>(&self, groups: &'g [u32], step: usize) -> impl Iterator<Item = Result<&'g [u32], Interruption>> {
        groups.chunks(step).map(|step| self.interrupt.check().map(|()| step))
    }

    /// Returns for each group whether a condition holds. The test of a ratio whose denominator is 0 is unknown.
    pub(super) fn evaluate(&self, having: &Condition<MetricPredicate>) -> Result<Vec<Ternary>, Interruption> {
        let mut bound =
            having.map(&mut |predicate: &MetricPredicate| (self.bind(predicate.formula), predicate.test.clone()));
        let groups: Vec<u32> = (0_u32..).take(self.partial.len()).collect();
        // The more predicates there are, the fewer groups a step has, because the time of a step is proportional to
        // both.
        let step = (INTERRUPT_CHECK_ITEMS / bound.leaves().len().max(1)).max(1);
        let mut all = Vec::with_capacity(groups.len());
        for step in self.steps(&groups, step) {
            let groups = step?;
            all.append(&mut bound.evaluate(groups.len(), &mut |(formula, test), results: &mut Vec<Ternary>| {
                self.test(formula, test, groups, results);
            }));
        }
        Ok(all)
    }

    /// Appends to `results` whether the value of each group passes a test.
    fn test(&self, formula: &BoundFormula, test: &NumberPredicate, groups: &[u32], results: &mut Vec<Ternary>) {
        let result = |value: f64| Ternary::from(test.holds(Some(value)));
        match formula {
            BoundFormula::Ratio { numerator, denominator } => {
                let ratios = self.ratios(numerator, denominator, groups);
                results.extend(ratios.map(|ratio| ratio.map_or(Ternary::Unknown, result)));
            }
            BoundFormula::Amount(sum) => {
                results.extend(self.totals(sum, groups).into_iter().map(|total| result(sum.value(total))));
            }
        }
    }

    /// Returns numerator over denominator for each group, or `None` where the denominator is 0.
    fn ratios(
        &self,
        numerator: &MeasureSum,
        denominator: &MeasureSum,
        groups: &[u32],
    ) -> impl Iterator<Item = Option<f64>> {
        let totals = self.totals(numerator, groups).into_iter().zip(self.totals(denominator, groups));
        // Adding 0 turns a negative zero into zero.
        totals.map(|(a, b)| (b != 0).then(|| numerator.value(a) / denominator.value(b) + 0.0))
    }

    /// Returns the sum for each group.
    fn totals(&self, sum: &MeasureSum, groups: &[u32]) -> Vec<i128> {
        let state = &self.partial.grouped.state;
        let mut totals = Vec::with_capacity(groups.len());
        for source in &sum.sources {
            match source {
                MeasureSource::Count(place) => {
                    add(&mut totals, groups, |group| i128::from(state.count_at(group, *place)));
                }
                MeasureSource::Money(place) => add(&mut totals, groups, |group| state.money_at(group, *place)),
                MeasureSource::Agents => add(&mut totals, groups, |group| self.agents[group]),
                MeasureSource::Spend(amount) => {
                    add(&mut totals, groups, |group| self.partial.spend(self.spend[group]).map_or(0, amount));
                }
                MeasureSource::Missing => {}
            }
        }
        totals.resize(groups.len(), 0);
        totals
    }

    fn bind(&self, formula: Formula) -> BoundFormula {
        match formula {
            Formula::Amount(measures) => BoundFormula::Amount(self.sum(measures)),
            Formula::Ratio { numerator, denominator } => {
                BoundFormula::Ratio { numerator: self.sum(numerator), denominator: self.sum(denominator) }
            }
        }
    }

    fn sum(&self, measures: &[Measure]) -> MeasureSum {
        let is_money = |measure: &Measure| {
            matches!(measure.kind(), MeasureKind::RowMoney | MeasureKind::StateMoney | MeasureKind::SpendMoney)
        };
        MeasureSum {
            sources: measures.iter().map(|measure| self.source(*measure)).collect(),
            is_money: measures.iter().any(is_money),
        }
    }

    fn source(&self, measure: Measure) -> MeasureSource {
        let layout = &self.plan.layout;
        match measure {
            Measure::AdSpend => MeasureSource::Spend(|sums| sums.ad_spend),
            Measure::ManagementFee => MeasureSource::Spend(|sums| sums.management_fee),
            Measure::CampaignSpend => MeasureSource::Spend(|sums| sums.campaign_spend),
            Measure::Clicks => MeasureSource::Spend(|sums| sums.clicks),
            Measure::Impressions => MeasureSource::Spend(|sums| sums.impressions),
            Measure::OpportunityAgents => MeasureSource::Agents,
            _ => match measure.kind() {
                MeasureKind::Rows | MeasureKind::StateRows => {
                    layout.count_place(measure).map_or(MeasureSource::Missing, MeasureSource::Count)
                }
                _ => layout.money_place(measure).map_or(MeasureSource::Missing, MeasureSource::Money),
            },
        }
    }
}
