//! Metrics of groups, from what was gathered.

use super::Values;
use super::order::STEP;
use crate::aggregate::{PartialResult, QueryContext, SpendSums, Ternary};
use crate::dictionary::{Formula, Measure, MeasureKind};
use crate::error::{Error, QueryError};
use crate::money;
use crate::plan::{Condition, MetricPredicate};
use crate::query::NumberPredicate;
use crate::{Interrupt, Interruption};

/// GroupTable whose totals are found at once: few enough for all of them to be at hand.
const AT_ONCE: usize = 1 << 10;

/// Everything that was gathered, by group.
pub(super) struct GroupMeasures<'a> {
    context: &'a QueryContext<'a>,
    merged: &'a PartialResult,
    interrupt: &'a Interrupt,
    /// The number of the spend beside each group; empty if it is not asked for.
    spend: Vec<Option<u32>>,
    /// Distinct agents; empty if they are not asked for.
    agents: Vec<i128>,
}

/// Where a measure is held.
#[derive(Clone, Copy)]
enum MeasureSlot {
    Count(usize),
    Money(usize),
    Agents,
    Spend(fn(&SpendSums) -> i128),
    /// Not gathered.
    Nowhere,
}

/// A sum of measures.
struct MeasureSum {
    places: Vec<MeasureSlot>,
    is_money: bool,
}

/// A formula with all its measures found.
enum BoundFormula {
    Amount(MeasureSum),
    Ratio(MeasureSum, MeasureSum),
}

impl MeasureSum {
    /// A total of this sum as a double: a count, or money in currency units.
    fn value(&self, total: i128) -> f64 {
        if self.is_money {
            return money::to_f64(total);
        }
        #[expect(clippy::cast_precision_loss, reason = "the closest double is what is asked for")]
        i64::try_from(total).map_or_else(|_| total as f64, |total| total as f64)
    }
}

/// Adds to the total of each group, which is 0 as long as there are no totals, what `amount` gives for it.
fn add(totals: &mut Vec<i128>, groups: &[u32], amount: impl Fn(usize) -> i128) {
    let amounts = groups.iter().map(|group| amount(*group as usize));
    if totals.is_empty() {
        totals.extend(amounts);
    } else {
        totals.iter_mut().zip(amounts).for_each(|(total, amount)| *total += amount);
    }
}

impl<'a> GroupMeasures<'a> {
    pub(super) fn new(
        context: &'a QueryContext<'a>,
        merged: &'a PartialResult,
        spend: Vec<Option<u32>>,
        interrupt: &'a Interrupt,
    ) -> Result<Self, Interruption> {
        let mut agents = vec![0; if context.layout.agents { merged.groups.len() } else { 0 }];
        for (met, (group, _)) in merged.state.agents.iter().enumerate() {
            if met.is_multiple_of(STEP) {
                interrupt.check()?;
            }
            agents[*group as usize] += 1;
        }
        Ok(Self { context, merged, interrupt, spend, agents })
    }

    /// The values of a metric for `groups`, in their order.
    pub(super) fn values(&self, formula: Formula, name: &'static str, groups: &[u32]) -> Result<Values, Error> {
        match self.bind(formula) {
            BoundFormula::Ratio(above, below) => {
                let mut ratios = Vec::with_capacity(groups.len());
                for step in self.steps(groups, AT_ONCE) {
                    ratios.extend(self.ratios(&above, &below, step?).map(|ratio| ratio.unwrap_or(0.0)));
                }
                Ok(Values::Ratios(ratios))
            }
            BoundFormula::Amount(sum) if sum.is_money => {
                let mut amounts = Vec::with_capacity(groups.len());
                for step in self.steps(groups, AT_ONCE) {
                    amounts.extend(self.totals(&sum, step?));
                }
                Ok(Values::Money(amounts))
            }
            BoundFormula::Amount(sum) => {
                let mut counts = Vec::with_capacity(groups.len());
                for step in self.steps(groups, AT_ONCE) {
                    for total in self.totals(&sum, step?) {
                        counts.push(u64::try_from(total).map_err(|_| QueryError::Overflow { name })?);
                    }
                }
                Ok(Values::Counts(counts))
            }
        }
    }

    /// GroupTable in steps, until the interrupt ends them.
    fn steps<'g>(&self, groups: &'g [u32], step: usize) -> impl Iterator<Item = Result<&'g [u32], Interruption>> {
        groups.chunks(step).map(|step| self.interrupt.check().map(|()| step))
    }

    /// For each group, whether a condition holds; a ratio without denominator leaves it open.
    pub(super) fn truths(&self, having: &Condition<MetricPredicate>) -> Result<Vec<Ternary>, Interruption> {
        let mut bound = having.map(&mut |test: &MetricPredicate| (self.bind(test.formula), test.test.clone()));
        let groups: Vec<u32> = (0_u32..).take(self.merged.groups.len()).collect();
        // A thousand tests of a group take as long as one test of a thousand.
        let step = (STEP / bound.leaves().len().max(1)).max(1);
        let mut all = Vec::with_capacity(groups.len());
        for step in self.steps(&groups, step) {
            let groups = step?;
            all.append(&mut bound.evaluate(groups.len(), &mut |(formula, test), truths: &mut Vec<Ternary>| {
                self.test(formula, test, groups, truths);
            }));
        }
        Ok(all)
    }

    /// Adds to `truths` whether the value of each of `groups` passes a test.
    fn test(&self, formula: &BoundFormula, test: &NumberPredicate, groups: &[u32], truths: &mut Vec<Ternary>) {
        let truth = |value: f64| Ternary::from(test.holds(Some(value)));
        match formula {
            BoundFormula::Ratio(above, below) => {
                truths.extend(self.ratios(above, below, groups).map(|ratio| ratio.map_or(Ternary::Unknown, truth)));
            }
            BoundFormula::Amount(sum) => {
                truths.extend(self.totals(sum, groups).into_iter().map(|total| truth(sum.value(total))));
            }
        }
    }

    /// For each of `groups`, numerator over denominator, unless the denominator is 0.
    fn ratios(&self, above: &MeasureSum, below: &MeasureSum, groups: &[u32]) -> impl Iterator<Item = Option<f64>> {
        let totals = self.totals(above, groups).into_iter().zip(self.totals(below, groups));
        // Adding 0 turns a negative zero to zero.
        totals.map(|(a, b)| (b != 0).then(|| above.value(a) / below.value(b) + 0.0))
    }

    /// The sum for each of `groups`.
    fn totals(&self, sum: &MeasureSum, groups: &[u32]) -> Vec<i128> {
        let state = &self.merged.state;
        let mut totals = Vec::with_capacity(groups.len());
        for place in &sum.places {
            match place {
                MeasureSlot::Count(place) => {
                    add(&mut totals, groups, |group| i128::from(state.count_at(group, *place)))
                }
                MeasureSlot::Money(place) => add(&mut totals, groups, |group| state.money_at(group, *place)),
                MeasureSlot::Agents => add(&mut totals, groups, |group| self.agents[group]),
                MeasureSlot::Spend(amount) => add(&mut totals, groups, |group| {
                    self.spend[group].map_or(0, |number| amount(self.merged.spend(number)))
                }),
                MeasureSlot::Nowhere => {}
            }
        }
        totals.resize(groups.len(), 0);
        totals
    }

    fn bind(&self, formula: Formula) -> BoundFormula {
        match formula {
            Formula::Amount(measures) => BoundFormula::Amount(self.sum(measures)),
            Formula::Ratio { numerator, denominator } => {
                BoundFormula::Ratio(self.sum(numerator), self.sum(denominator))
            }
        }
    }

    fn sum(&self, measures: &[Measure]) -> MeasureSum {
        let is_money = |measure: &Measure| {
            matches!(measure.kind(), MeasureKind::RowMoney | MeasureKind::StateMoney | MeasureKind::SpendMoney)
        };
        MeasureSum {
            places: measures.iter().map(|measure| self.place(*measure)).collect(),
            is_money: measures.iter().any(is_money),
        }
    }

    fn place(&self, measure: Measure) -> MeasureSlot {
        let layout = &self.context.layout;
        match measure {
            Measure::AdSpend => MeasureSlot::Spend(|sums| sums.ad_spend),
            Measure::ManagementFee => MeasureSlot::Spend(|sums| sums.management_fee),
            Measure::CampaignSpend => MeasureSlot::Spend(|sums| sums.campaign_spend),
            Measure::Clicks => MeasureSlot::Spend(|sums| sums.clicks),
            Measure::Impressions => MeasureSlot::Spend(|sums| sums.impressions),
            Measure::OpportunityAgents => MeasureSlot::Agents,
            _ => match measure.kind() {
                MeasureKind::Rows | MeasureKind::StateRows => {
                    layout.count_place(measure).map_or(MeasureSlot::Nowhere, MeasureSlot::Count)
                }
                _ => layout.money_place(measure).map_or(MeasureSlot::Nowhere, MeasureSlot::Money),
            },
        }
    }
}
