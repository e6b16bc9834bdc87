//! The metrics of groups, computed from their state.

use super::exact_values::ExactValues;
use super::order::INTERRUPT_CHECK_ITEMS;
use super::percentiles::SortedDurations;
use super::{Ratios, Values};
use crate::aggregate::{GroupSlot, PartialResult, SpendSums};
use crate::definitions::{DefinedFormula, SignedSum};
use crate::dictionary::{Formula, Measure, MeasureKind, Unit};
use crate::error::{Error, QueryError};
use crate::filter::NumberPredicate;
use crate::money;
use crate::plan::{Condition, MetricPredicate, MetricRef, Plan, Ternary};
use crate::{Interrupt, Interruption};

/// The number of groups whose sums are computed together: few enough for all sums to stay in the processor's caches.
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
    /// By place of the layout, the sorted durations, if the query needs a percentile of them.
    durations: Vec<Option<SortedDurations>>,
}

/// Where the value of a measure comes from.
#[derive(Clone, Copy)]
enum MeasureSource {
    /// A count at this place of the layout.
    Count(usize),
    /// A sum of money at this place of the layout.
    Money(usize),
    Agents,
    /// The number of durations at this place of the layout.
    Reached(usize),
    /// The sum of the durations at this place of the layout.
    Days(usize),
    Spend(fn(&SpendSums) -> i128),
    /// The query does not aggregate the measure.
    Missing,
}

/// A sum of measures.
struct MeasureSum {
    /// Where each measure comes from, and whether it is subtracted.
    sources: Vec<(MeasureSource, bool)>,
    is_money: bool,
    /// Whether a count may be negative, because something is subtracted.
    is_signed: bool,
}

/// A formula, bound to the sources of its measures.
enum BoundFormula<'a> {
    Amount(MeasureSum),
    Quotient(Quotient<'a>),
}

/// A formula that has no value in some groups.
enum Quotient<'a> {
    Ratio {
        numerator: MeasureSum,
        denominator: MeasureSum,
    },
    /// A percentile; `None` if the query does not count the durations by day.
    Percentile(Option<&'a SortedDurations>, u8),
}

impl MeasureSum {
    /// Converts a value of this sum to a double: a count, or money in currency units.
    fn value(&self, sum: i128) -> f64 {
        to_f64(sum, self.is_money)
    }
}

/// Converts a sum to a double: a count, or money in currency units.
pub(crate) fn to_f64(sum: i128, is_money: bool) -> f64 {
    if is_money {
        return money::to_f64(sum);
    }
    #[expect(clippy::cast_precision_loss, reason = "the result is the closest double")]
    i64::try_from(sum).map_or_else(|_| wide_to_f64(sum), |sum| sum as f64)
}

/// Returns the double closest to a sum of more than 64 bits. It is not inlined, because a compiler that sees both
/// conversions chooses this one, which is slow, for every sum.
#[cold]
#[inline(never)]
#[expect(clippy::cast_precision_loss, reason = "the result is the closest double")]
const fn wide_to_f64(sum: i128) -> f64 {
    sum as f64
}

/// Returns an integer that is larger where the double is. As integers, the bits of positive doubles are in order, and
/// the bits of negative doubles in reverse.
pub(super) const fn in_order(value: f64) -> i64 {
    let bits = value.to_bits().cast_signed();
    if bits < 0 { bits ^ i64::MAX } else { bits }
}

impl<'a> GroupMeasures<'a> {
    /// Counts the distinct agents of each group, and sorts its durations, if the query needs them. `spend` has for each
    /// group the slot of its spend.
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
        let durations = partial.grouped.state.durations.pairs().iter();
        let durations = durations.map(|pair| SortedDurations::new(pair, partial.len(), interrupt));
        let durations = durations.collect::<Result<_, _>>()?;
        Ok(Self { plan, partial, interrupt, spend, agents, durations })
    }

    /// Returns the values of a metric for `groups`, in their order. A ratio whose denominator is 0 is over nothing, and
    /// so is a percentile of nothing.
    ///
    /// # Errors
    /// A count does not fit into 64 bits, or the interrupt ends the query.
    pub(super) fn values(&self, metric: &MetricRef, groups: &[u32]) -> Result<Values, Error> {
        let overflow = || QueryError::Overflow { name: metric.name().to_owned() };
        match self.bind(metric) {
            BoundFormula::Quotient(quotient) => {
                let mut ratios = Ratios::with_capacity(groups.len());
                for step in self.steps(groups, BATCH_GROUPS) {
                    self.extend_quotients(&quotient, step?, &mut ratios, |ratio| ratio);
                }
                if self.plan.exact_ratios {
                    ratios.keep_exact(self.exact_values(metric, groups)?);
                }
                Ok(Values::Ratios(ratios))
            }
            BoundFormula::Amount(sum) if sum.is_money => {
                let mut amounts = Vec::with_capacity(groups.len());
                for step in self.steps(groups, BATCH_GROUPS) {
                    amounts.extend(self.sums(&sum, step?));
                }
                Ok(Values::Money(amounts))
            }
            BoundFormula::Amount(sum) if sum.is_signed => {
                let mut counts = Vec::with_capacity(groups.len());
                for step in self.steps(groups, BATCH_GROUPS) {
                    for count in self.sums(&sum, step?) {
                        counts.push(i64::try_from(count).map_err(|_| overflow())?);
                    }
                }
                Ok(Values::Integers(counts))
            }
            BoundFormula::Amount(sum) => {
                let mut counts = Vec::with_capacity(groups.len());
                for step in self.steps(groups, BATCH_GROUPS) {
                    for count in self.sums(&sum, step?) {
                        counts.push(u64::try_from(count).map_err(|_| overflow())?);
                    }
                }
                Ok(Values::Counts(counts))
            }
        }
    }

    /// Returns for each group, in order, a number that is larger where the metric is; `None` where a ratio has the
    /// denominator 0, and where a percentile is of nothing.
    pub(super) fn ordered(&self, metric: &MetricRef, groups: &[u32]) -> Result<Vec<Option<i128>>, Interruption> {
        let bound = self.bind(metric);
        let mut numbers = Vec::with_capacity(groups.len());
        for step in self.steps(groups, BATCH_GROUPS) {
            match &bound {
                BoundFormula::Quotient(quotient) => self.extend_quotients(quotient, step?, &mut numbers, |ratio| {
                    ratio.map(|ratio| i128::from(in_order(ratio)))
                }),
                BoundFormula::Amount(sum) => numbers.extend(self.sums(sum, step?).into_iter().map(Some)),
            }
        }
        Ok(numbers)
    }

    /// Returns the exact values of a metric for `groups`, in their order.
    pub(super) fn exact_values(&self, metric: &MetricRef, groups: &[u32]) -> Result<ExactValues, Interruption> {
        let sums = |sum: &MeasureSum| -> Result<Vec<i128>, Interruption> {
            let mut sums = Vec::with_capacity(groups.len());
            for step in self.steps(groups, BATCH_GROUPS) {
                sums.extend(self.sums(sum, step?));
            }
            Ok(sums)
        };
        Ok(match self.bind(metric) {
            BoundFormula::Quotient(Quotient::Ratio { numerator, denominator }) => ExactValues {
                numerators: sums(&numerator)?,
                denominators: Some(sums(&denominator)?),
                numerator_is_money: numerator.is_money,
                denominator_is_money: denominator.is_money,
            },
            BoundFormula::Quotient(Quotient::Percentile(durations, percent)) => {
                let mut hundredths: Vec<Option<u32>> = Vec::with_capacity(groups.len());
                for step in self.steps(groups, BATCH_GROUPS) {
                    let of_group = |group: &u32| durations.and_then(|durations| durations.hundredths(*group, percent));
                    hundredths.extend(step?.iter().map(of_group));
                }
                ExactValues {
                    numerators: hundredths.iter().map(|value| value.unwrap_or(0).into()).collect(),
                    // A percentile of nothing is over nothing.
                    denominators: Some(hundredths.iter().map(|value| value.map_or(0, |_| 100)).collect()),
                    numerator_is_money: false,
                    denominator_is_money: false,
                }
            }
            BoundFormula::Amount(sum) => ExactValues {
                numerators: sums(&sum)?,
                denominators: None,
                numerator_is_money: sum.is_money,
                denominator_is_money: false,
            },
        })
    }

    /// Splits groups into steps, and checks the interrupt before each.
    fn steps<'g>(&self, groups: &'g [u32], step: usize) -> impl Iterator<Item = Result<&'g [u32], Interruption>> {
        groups.chunks(step).map(|step| self.interrupt.check().map(|()| step))
    }

    /// Returns for each group whether a condition holds. The test of a ratio whose denominator is 0 is unknown, and so
    /// is that of a percentile of nothing.
    pub(super) fn evaluate(&self, having: &Condition<MetricPredicate>) -> Result<Vec<Ternary>, Interruption> {
        let mut bound =
            having.map(&mut |predicate: &MetricPredicate| (self.bind(&predicate.metric), predicate.test.clone()));
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
    fn test(&self, formula: &BoundFormula<'_>, test: &NumberPredicate, groups: &[u32], results: &mut Vec<Ternary>) {
        let result = |value: f64| Ternary::from(test.holds(Some(value)));
        match formula {
            BoundFormula::Quotient(quotient) => {
                self.extend_quotients(quotient, groups, results, |ratio| ratio.map_or(Ternary::Unknown, result));
            }
            BoundFormula::Amount(sum) => {
                results.extend(self.sums(sum, groups).into_iter().map(|value| result(sum.value(value))));
            }
        }
    }

    /// Appends to `values` what `make` makes of the value of a formula for each group: `None` where a denominator is 0
    /// or a percentile is of nothing.
    fn extend_quotients<T>(
        &self,
        quotient: &Quotient<'_>,
        groups: &[u32],
        values: &mut impl Extend<T>,
        make: impl Fn(Option<f64>) -> T,
    ) {
        match quotient {
            Quotient::Ratio { numerator, denominator } => {
                let sums = self.sums(numerator, groups).into_iter().zip(self.sums(denominator, groups));
                // Adding 0 turns a negative zero into zero.
                let ratio = |(a, b)| (b != 0).then(|| numerator.value(a) / denominator.value(b) + 0.0);
                values.extend(sums.map(|sums| make(ratio(sums))));
            }
            Quotient::Percentile(durations, percent) => {
                let percentile = |group: &u32| durations.and_then(|durations| durations.percentile(*group, *percent));
                values.extend(groups.iter().map(|group| make(percentile(group))));
            }
        }
    }

    /// Returns the sum for each group.
    fn sums(&self, sum: &MeasureSum, groups: &[u32]) -> Vec<i128> {
        let state = &self.partial.grouped.state;
        let mut sums = Vec::with_capacity(groups.len());
        for (source, is_subtracted) in &sum.sources {
            let is_subtracted = *is_subtracted;
            match source {
                MeasureSource::Count(place) => {
                    add(&mut sums, groups, is_subtracted, |group| i128::from(state.count_at(group, *place)));
                }
                MeasureSource::Money(place) => {
                    add(&mut sums, groups, is_subtracted, |group| state.money_at(group, *place));
                }
                MeasureSource::Agents => add(&mut sums, groups, is_subtracted, |group| self.agents[group]),
                MeasureSource::Reached(place) => {
                    let pair = &state.durations.pairs()[*place];
                    add(&mut sums, groups, is_subtracted, |group| pair.sums_of(group).reached.into());
                }
                MeasureSource::Days(place) => {
                    let pair = &state.durations.pairs()[*place];
                    add(&mut sums, groups, is_subtracted, |group| pair.sums_of(group).days.into());
                }
                MeasureSource::Spend(amount) => {
                    let of = |group: usize| self.partial.spend(self.spend[group]).map_or(0, amount);
                    add(&mut sums, groups, is_subtracted, of);
                }
                MeasureSource::Missing => {}
            }
        }
        sums.resize(groups.len(), 0);
        sums
    }

    fn bind(&self, metric: &MetricRef) -> BoundFormula<'_> {
        let ratio = |numerator, denominator| BoundFormula::Quotient(Quotient::Ratio { numerator, denominator });
        match metric {
            MetricRef::BuiltIn(_, Formula::Amount(measures)) => BoundFormula::Amount(self.sum(measures)),
            MetricRef::BuiltIn(_, Formula::Ratio { numerator, denominator }) => {
                ratio(self.sum(numerator), self.sum(denominator))
            }
            MetricRef::BuiltIn(_, Formula::Percentile { pair, percent }) => {
                let place = self.plan.layout.duration_place(*pair);
                let durations = place.and_then(|place| self.durations[place].as_ref());
                BoundFormula::Quotient(Quotient::Percentile(durations, *percent))
            }
            MetricRef::Defined(metric) => match &metric.formula {
                DefinedFormula::Amount(sum) => BoundFormula::Amount(self.signed_sum(sum)),
                DefinedFormula::Ratio { numerator, denominator } => {
                    ratio(self.signed_sum(numerator), self.signed_sum(denominator))
                }
            },
        }
    }

    fn signed_sum(&self, sum: &SignedSum) -> MeasureSum {
        MeasureSum {
            sources: self.sources(sum.terms().iter().copied()),
            is_money: sum.unit() == Unit::Currency,
            is_signed: sum.may_be_negative(),
        }
    }

    fn sum(&self, measures: &[Measure]) -> MeasureSum {
        MeasureSum {
            sources: self.sources(measures.iter().map(|measure| (*measure, false))),
            is_money: measures.iter().any(|measure| measure.is_money()),
            is_signed: false,
        }
    }

    /// Returns where each measure comes from, and whether it is subtracted.
    fn sources(&self, measures: impl Iterator<Item = (Measure, bool)>) -> Vec<(MeasureSource, bool)> {
        let mut sources = Vec::new();
        for (measure, is_subtracted) in measures {
            match measure {
                Measure::NotReached(pair) => {
                    sources.push((self.source(pair.population()), is_subtracted));
                    sources.push((self.source(Measure::Reached(pair)), !is_subtracted));
                }
                _ => sources.push((self.source(measure), is_subtracted)),
            }
        }
        sources
    }

    /// Returns where a measure other than [`Measure::NotReached`] comes from.
    fn source(&self, measure: Measure) -> MeasureSource {
        let layout = &self.plan.layout;
        match measure {
            Measure::AdSpend => MeasureSource::Spend(|sums| sums.ad_spend),
            Measure::ManagementFee => MeasureSource::Spend(|sums| sums.management_fee),
            Measure::CampaignSpend => MeasureSource::Spend(|sums| sums.campaign_spend),
            Measure::Clicks => MeasureSource::Spend(|sums| sums.clicks),
            Measure::Impressions => MeasureSource::Spend(|sums| sums.impressions),
            Measure::OpportunityAgents => MeasureSource::Agents,
            Measure::Reached(pair) => {
                layout.duration_place(pair).map_or(MeasureSource::Missing, MeasureSource::Reached)
            }
            Measure::Days(pair) => layout.duration_place(pair).map_or(MeasureSource::Missing, MeasureSource::Days),
            _ => match measure.kind() {
                MeasureKind::Rows | MeasureKind::StateRows => {
                    layout.count_place(measure).map_or(MeasureSource::Missing, MeasureSource::Count)
                }
                _ => layout.money_place(measure).map_or(MeasureSource::Missing, MeasureSource::Money),
            },
        }
    }
}

/// Adds the `amount` of each group to its sum, or subtracts it. An empty list means sums of 0.
fn add(sums: &mut Vec<i128>, groups: &[u32], is_subtracted: bool, amount: impl Fn(usize) -> i128) {
    if is_subtracted {
        sums.resize(groups.len(), 0);
        let amounts = groups.iter().map(|group| amount(*group as usize));
        sums.iter_mut().zip(amounts).for_each(|(sum, amount)| *sum -= amount);
        return;
    }
    let amounts = groups.iter().map(|group| amount(*group as usize));
    if sums.is_empty() {
        sums.extend(amounts);
    } else {
        sums.iter_mut().zip(amounts).for_each(|(sum, amount)| *sum += amount);
    }
}
