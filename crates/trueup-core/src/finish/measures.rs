//! Metrics of groups, from what was gathered.

use super::Values;
use crate::aggregate::{Context, Merged, SpendSums};
use crate::dictionary::{Formula, Measure, MeasureKind};
use crate::error::QueryError;
use crate::money;
use crate::plan::{Condition, MetricTest};
use crate::query::NumberTest;
use hashbrown::HashMap;

/// Everything that was gathered, by group.
pub(super) struct Finished<'a> {
    context: &'a Context<'a>,
    merged: &'a Merged,
    /// Distinct agents; groups without one are absent.
    agents: HashMap<usize, u64>,
}

/// A sum of measures.
enum Sum {
    Count(i128),
    Micros(i128),
}

impl Sum {
    fn to_f64(&self) -> f64 {
        match self {
            #[expect(clippy::cast_precision_loss, reason = "the closest double is what is asked for")]
            Self::Count(count) => *count as f64,
            Self::Micros(micros) => money::to_f64(*micros),
        }
    }

    const fn is_zero(&self) -> bool {
        matches!(self, Self::Count(0) | Self::Micros(0))
    }
}

impl<'a> Finished<'a> {
    pub(super) fn new(context: &'a Context<'a>, merged: &'a Merged) -> Self {
        let mut agents = HashMap::new();
        for (group, _) in &merged.state.agents {
            *agents.entry(*group as usize).or_insert(0) += 1;
        }
        Self { context, merged, agents }
    }

    /// The values of a metric for `groups`, in their order.
    pub(super) fn values(&self, formula: Formula, name: &'static str, groups: &[usize]) -> Result<Values, QueryError> {
        match formula {
            Formula::Ratio { numerator, denominator } => {
                let ratio = |group: &usize| self.ratio(numerator, denominator, *group).unwrap_or(0.0);
                Ok(Values::Ratios(groups.iter().map(ratio).collect()))
            }
            Formula::Amount(measures) if is_money(measures) => {
                Ok(Values::Money(groups.iter().map(|group| self.total(measures, *group)).collect()))
            }
            Formula::Amount(measures) => {
                let count = |group: &usize| {
                    u64::try_from(self.total(measures, *group)).map_err(|_| QueryError::Overflow { name })
                };
                Ok(Values::Counts(groups.iter().map(count).collect::<Result<_, _>>()?))
            }
        }
    }

    /// Whether a finished row is certain to pass.
    pub(super) fn passes(&self, having: &Condition<MetricTest>, group: usize) -> bool {
        self.truth(having, group) == Some(true)
    }

    /// Whether a condition holds; `None` where a ratio without denominator leaves it open.
    fn truth(&self, condition: &Condition<MetricTest>, group: usize) -> Option<bool> {
        match condition {
            Condition::Test(test) => self.test(test.formula, &test.test, group),
            Condition::Not(part) => self.truth(part, group).map(|holds| !holds),
            Condition::All(parts) => {
                let mut truths = parts.iter().map(|part| self.truth(part, group));
                join(&mut truths, false)
            }
            Condition::Any(parts) => {
                let mut truths = parts.iter().map(|part| self.truth(part, group));
                join(&mut truths, true)
            }
        }
    }

    fn test(&self, formula: Formula, test: &NumberTest, group: usize) -> Option<bool> {
        let value = match formula {
            Formula::Ratio { numerator, denominator } => self.ratio(numerator, denominator, group)?,
            Formula::Amount(measures) => self.sum(measures, group).to_f64(),
        };
        Some(test.holds(Some(value)))
    }

    /// Numerator over denominator, unless the denominator is 0.
    fn ratio(&self, numerator: &[Measure], denominator: &[Measure], group: usize) -> Option<f64> {
        let below = self.sum(denominator, group);
        let ratio = self.sum(numerator, group).to_f64() / below.to_f64();
        // Adding 0 turns a negative zero to zero.
        (!below.is_zero()).then_some(ratio + 0.0)
    }

    fn sum(&self, measures: &[Measure], group: usize) -> Sum {
        let total = self.total(measures, group);
        if is_money(measures) { Sum::Micros(total) } else { Sum::Count(total) }
    }

    fn total(&self, measures: &[Measure], group: usize) -> i128 {
        measures.iter().map(|measure| self.measure(*measure, group)).sum()
    }

    fn measure(&self, measure: Measure, group: usize) -> i128 {
        let layout = &self.context.layout;
        let place = |held: &[Measure]| held.iter().position(|held| *held == measure);
        match measure.kind() {
            MeasureKind::Rows | MeasureKind::StateRows => {
                place(&layout.counts).map_or(0, |place| i128::from(self.merged.state.count_at(group, place)))
            }
            MeasureKind::RowMoney | MeasureKind::StateMoney => {
                place(&layout.money).map_or(0, |place| self.merged.state.money_at(group, place))
            }
            MeasureKind::StateDistinct => self.agents.get(&group).copied().map_or(0, i128::from),
            MeasureKind::SpendMoney | MeasureKind::SpendCount => {
                spend_measure(measure, &self.merged.spend.beside(self.merged.groups.key(group)))
            }
        }
    }
}

fn spend_measure(measure: Measure, sums: &SpendSums) -> i128 {
    match measure {
        Measure::AdSpend => sums.ad_spend,
        Measure::ManagementFee => sums.management_fee,
        Measure::CampaignSpend => sums.campaign_spend,
        Measure::Clicks => sums.clicks,
        Measure::Impressions => sums.impressions,
        _ => 0,
    }
}

fn is_money(measures: &[Measure]) -> bool {
    measures.iter().any(|measure| {
        matches!(measure.kind(), MeasureKind::RowMoney | MeasureKind::StateMoney | MeasureKind::SpendMoney)
    })
}

/// `or` where one true part decides, `and` where one false part does; open if undecided and some part is open.
fn join(truths: &mut dyn Iterator<Item = Option<bool>>, decisive: bool) -> Option<bool> {
    let mut joined = Some(!decisive);
    for truth in truths {
        match truth {
            Some(truth) if truth == decisive => return Some(decisive),
            Some(_) => {}
            None => joined = None,
        }
    }
    joined
}
