//! Metrics of groups, from what was gathered.

use super::Values;
use super::order::{self, STEP};
use crate::aggregate::{Context, Merged, SpendSums, Truth};
use crate::dictionary::{Formula, Measure, MeasureKind};
use crate::error::{Error, QueryError};
use crate::money;
use crate::plan::{Condition, MetricTest};
use crate::query::NumberTest;
use crate::{Interrupt, Interruption};

/// Everything that was gathered, by group.
pub(super) struct Finished<'a> {
    context: &'a Context<'a>,
    merged: &'a Merged,
    interrupt: &'a Interrupt,
    spend: Vec<SpendSums>,
    /// Distinct agents; empty if they are not asked for.
    agents: Vec<i128>,
}

/// Where a measure is held.
#[derive(Clone, Copy)]
enum Place {
    Count(Measure),
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

impl<'a> Finished<'a> {
    pub(super) fn new(
        context: &'a Context<'a>,
        merged: &'a Merged,
        interrupt: &'a Interrupt,
    ) -> Result<Self, Interruption> {
        let mut agents = vec![0; if context.layout.agents { merged.groups.len() } else { 0 }];
        for (met, (group, _)) in merged.state.agents.iter().enumerate() {
            if met.is_multiple_of(STEP) {
                interrupt.check()?;
            }
            agents[*group as usize] += 1;
        }
        let spend = if context.plan.needs_spend { merged.spend_beside(interrupt)? } else { Vec::new() };
        Ok(Self { context, merged, interrupt, spend, agents })
    }

    /// The values of a metric for `groups`, in their order.
    pub(super) fn values(&self, formula: Formula, name: &'static str, groups: &[usize]) -> Result<Values, Error> {
        Ok(match self.bind(formula) {
            Bound::Ratio(above, below) => {
                Values::Ratios(self.each(groups, |group| Ok(self.ratio(&above, &below, group).unwrap_or(0.0)))?)
            }
            Bound::Amount(sum) if sum.is_money => {
                Values::Money(self.each(groups, |group| Ok(self.total(&sum, group)))?)
            }
            Bound::Amount(sum) => Values::Counts(self.each(groups, |group| {
                u64::try_from(self.total(&sum, group)).map_err(|_| QueryError::Overflow { name }.into())
            })?),
        })
    }

    fn each<T>(&self, groups: &[usize], value: impl FnMut(usize) -> Result<T, Error>) -> Result<Vec<T>, Error> {
        order::each(groups, self.interrupt, value)
    }

    /// For each group, whether a condition holds; a ratio without denominator leaves it open.
    pub(super) fn truths(&self, having: &Condition<MetricTest>) -> Result<Vec<Truth>, Interruption> {
        let mut bound = having.map(&mut |test: &MetricTest| (self.bind(test.formula), test.test.clone()));
        let groups = self.merged.groups.len();
        // A thousand tests of a group take as long as one test of a thousand.
        let step = (STEP / bound.leaves().len().max(1)).max(1);
        let mut all = Vec::with_capacity(groups);
        for start in (0..groups).step_by(step) {
            self.interrupt.check()?;
            let part = start..groups.min(start + step);
            all.append(&mut bound.evaluate(part.len(), &mut |(formula, test), truths: &mut Vec<Truth>| {
                truths.extend(part.clone().map(|group| self.truth(formula, test, group)));
            }));
        }
        Ok(all)
    }

    fn truth(&self, formula: &Bound, test: &NumberTest, group: usize) -> Truth {
        let value = match formula {
            Bound::Ratio(above, below) => self.ratio(above, below, group),
            Bound::Amount(sum) => Some(self.value(sum, group)),
        };
        value.map_or(Truth::Unknown, |value| Truth::from(test.holds(Some(value))))
    }

    /// Numerator over denominator, unless the denominator is 0.
    fn ratio(&self, above: &Sum, below: &Sum, group: usize) -> Option<f64> {
        if self.total(below, group) == 0 {
            return None;
        }
        // Adding 0 turns a negative zero to zero.
        Some(self.value(above, group) / self.value(below, group) + 0.0)
    }

    /// A sum as a double: a count, or money in currency units.
    fn value(&self, sum: &Sum, group: usize) -> f64 {
        let total = self.total(sum, group);
        if sum.is_money {
            return money::to_f64(total);
        }
        #[expect(clippy::cast_precision_loss, reason = "the closest double is what is asked for")]
        {
            total as f64
        }
    }

    fn total(&self, sum: &Sum, group: usize) -> i128 {
        let state = &self.merged.state;
        let measure = |place: &Place| match place {
            Place::Count(measure) => i128::from(state.count_of(group, *measure)),
            Place::Money(place) => state.money_at(group, *place),
            Place::Agents => self.agents[group],
            Place::Spend(sum) => sum(&self.spend[group]),
            Place::Nowhere => 0,
        };
        sum.places.iter().map(measure).sum()
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
                MeasureKind::Rows | MeasureKind::StateRows => Place::Count(measure),
                _ => layout.money_place(measure).map_or(Place::Nowhere, Place::Money),
            },
        }
    }
}
