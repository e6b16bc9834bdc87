//! Metrics of groups, from what was gathered.

use super::Values;
use super::order::STEP;
use crate::aggregate::{Context, Merged, SpendSums, Truth};
use crate::dictionary::{Formula, Measure, MeasureKind};
use crate::error::{Error, QueryError};
use crate::money;
use crate::plan::{Condition, MetricTest};
use crate::query::NumberTest;
use crate::{Interrupt, Interruption};

/// Groups whose totals are found at once: few enough for all of them to be at hand.
const AT_ONCE: usize = 1 << 10;

/// Everything that was gathered, by group.
pub(super) struct Finished<'a> {
    context: &'a Context<'a>,
    merged: &'a Merged,
    interrupt: &'a Interrupt,
    /// The number of the spend beside each group; empty if it is not asked for.
    spend: Vec<Option<u32>>,
    /// Distinct agents; empty if they are not asked for.
    agents: Vec<i128>,
}

/// Where a measure is held.
#[derive(Clone, Copy)]
enum Place {
    Count(usize),
    Money(usize),
    Agents,
    Spend(fn(&SpendSums) -> i128),
    /// Not gathered.
    Nowhere,
}

/// A sum of measures.
struct Sum {
    places: Vec<Place>,
    is_money: bool,
}

/// A formula with all its measures found.
enum Bound {
    Amount(Sum),
    Ratio(Sum, Sum),
}

impl Sum {
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

impl<'a> Finished<'a> {
    pub(super) fn new(
        context: &'a Context<'a>,
        merged: &'a Merged,
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
            Bound::Ratio(above, below) => {
                let mut ratios = Vec::with_capacity(groups.len());
                for step in self.steps(groups, AT_ONCE) {
                    ratios.extend(self.ratios(&above, &below, step?).map(|ratio| ratio.unwrap_or(0.0)));
                }
                Ok(Values::Ratios(ratios))
            }
            Bound::Amount(sum) if sum.is_money => {
                let mut amounts = Vec::with_capacity(groups.len());
                for step in self.steps(groups, AT_ONCE) {
                    amounts.extend(self.totals(&sum, step?));
                }
                Ok(Values::Money(amounts))
            }
            Bound::Amount(sum) => {
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

    /// Groups in steps, until the interrupt ends them.
    fn steps<'g>(&self, groups: &'g [u32], step: usize) -> impl Iterator<Item = Result<&'g [u32], Interruption>> {
        groups.chunks(step).map(|step| self.interrupt.check().map(|()| step))
    }

    /// For each group, whether a condition holds; a ratio without denominator leaves it open.
    pub(super) fn truths(&self, having: &Condition<MetricTest>) -> Result<Vec<Truth>, Interruption> {
        let mut bound = having.map(&mut |test: &MetricTest| (self.bind(test.formula), test.test.clone()));
        let groups: Vec<u32> = (0_u32..).take(self.merged.groups.len()).collect();
        // A thousand tests of a group take as long as one test of a thousand.
        let step = (STEP / bound.leaves().len().max(1)).max(1);
        let mut all = Vec::with_capacity(groups.len());
        for step in self.steps(&groups, step) {
            let groups = step?;
            all.append(&mut bound.evaluate(groups.len(), &mut |(formula, test), truths: &mut Vec<Truth>| {
                self.test(formula, test, groups, truths);
            }));
        }
        Ok(all)
    }

    /// Adds to `truths` whether the value of each of `groups` passes a test.
    fn test(&self, formula: &Bound, test: &NumberTest, groups: &[u32], truths: &mut Vec<Truth>) {
        let truth = |value: f64| Truth::from(test.holds(Some(value)));
        match formula {
            Bound::Ratio(above, below) => {
                truths.extend(self.ratios(above, below, groups).map(|ratio| ratio.map_or(Truth::Unknown, truth)));
            }
            Bound::Amount(sum) => {
                truths.extend(self.totals(sum, groups).into_iter().map(|total| truth(sum.value(total))));
            }
        }
    }

    /// For each of `groups`, numerator over denominator, unless the denominator is 0.
    fn ratios(&self, above: &Sum, below: &Sum, groups: &[u32]) -> impl Iterator<Item = Option<f64>> {
        let totals = self.totals(above, groups).into_iter().zip(self.totals(below, groups));
        // Adding 0 turns a negative zero to zero.
        totals.map(|(a, b)| (b != 0).then(|| above.value(a) / below.value(b) + 0.0))
    }

    /// The sum for each of `groups`.
    fn totals(&self, sum: &Sum, groups: &[u32]) -> Vec<i128> {
        let state = &self.merged.state;
        let mut totals = Vec::with_capacity(groups.len());
        for place in &sum.places {
            match place {
                Place::Count(place) => add(&mut totals, groups, |group| i128::from(state.count_at(group, *place))),
                Place::Money(place) => add(&mut totals, groups, |group| state.money_at(group, *place)),
                Place::Agents => add(&mut totals, groups, |group| self.agents[group]),
                Place::Spend(amount) => add(&mut totals, groups, |group| {
                    self.spend[group].map_or(0, |number| amount(self.merged.spend(number)))
                }),
                Place::Nowhere => {}
            }
        }
        totals.resize(groups.len(), 0);
        totals
    }

    fn bind(&self, formula: Formula) -> Bound {
        match formula {
            Formula::Amount(measures) => Bound::Amount(self.sum(measures)),
            Formula::Ratio { numerator, denominator } => Bound::Ratio(self.sum(numerator), self.sum(denominator)),
        }
    }

    fn sum(&self, measures: &[Measure]) -> Sum {
        let is_money = |measure: &Measure| {
            matches!(measure.kind(), MeasureKind::RowMoney | MeasureKind::StateMoney | MeasureKind::SpendMoney)
        };
        Sum {
            places: measures.iter().map(|measure| self.place(*measure)).collect(),
            is_money: measures.iter().any(is_money),
        }
    }

    fn place(&self, measure: Measure) -> Place {
        let layout = &self.context.layout;
        match measure {
            Measure::AdSpend => Place::Spend(|sums| sums.ad_spend),
            Measure::ManagementFee => Place::Spend(|sums| sums.management_fee),
            Measure::CampaignSpend => Place::Spend(|sums| sums.campaign_spend),
            Measure::Clicks => Place::Spend(|sums| sums.clicks),
            Measure::Impressions => Place::Spend(|sums| sums.impressions),
            Measure::OpportunityAgents => Place::Agents,
            _ => match measure.kind() {
                MeasureKind::Rows | MeasureKind::StateRows => {
                    layout.count_place(measure).map_or(Place::Nowhere, Place::Count)
                }
                _ => layout.money_place(measure).map_or(Place::Nowhere, Place::Money),
            },
        }
    }
}
