//! The metrics of groups, computed from their state.

use super::exact_values::ExactValues;
use super::order::INTERRUPT_CHECK_ITEMS;
use super::percentiles::SortedDurations;
use super::{Ratios, Values};
use crate::aggregate::{AddValues, GroupSlot, PartialResult};
use crate::definitions::{DefinedFormula, SignedSum};
use crate::dictionary::{Formula, Measure, StagePair, Unit};
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
    /// The sorted durations of the pairs that the query needs a percentile of.
    durations: Vec<(StagePair, SortedDurations)>,
}

/// A sum of measures.
pub(crate) struct MeasureSum {
    /// The measures, each with whether it is subtracted.
    terms: Vec<(Measure, bool)>,
    pub(crate) is_money: bool,
    /// Whether a count may be negative, because something is subtracted.
    pub(crate) is_signed: bool,
}

/// The formula of a metric, as sums of measures.
pub(crate) enum SumFormula {
    Amount(MeasureSum),
    Ratio { numerator: MeasureSum, denominator: MeasureSum },
    Percentile { pair: StagePair, percent: u8 },
}

/// A formula, bound to what its measures have been aggregated to.
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
    fn new(measures: &[Measure]) -> Self {
        Self {
            terms: measures.iter().map(|measure| (*measure, false)).collect(),
            is_money: measures.iter().any(|measure| measure.is_money()),
            is_signed: false,
        }
    }

    /// Returns the sum, given the value of each measure.
    pub(crate) fn total(&self, value: impl Fn(Measure) -> i128) -> i128 {
        let terms = self.terms.iter();
        terms.map(|(measure, is_subtracted)| if *is_subtracted { -value(*measure) } else { value(*measure) }).sum()
    }

    /// Converts a value of this sum to a double: a count, or money in currency units.
    pub(crate) fn value(&self, sum: i128) -> f64 {
        to_f64(sum, self.is_money)
    }

    /// Returns the ratio of a value of this sum to one of another; `None` if that is 0.
    pub(crate) fn over(&self, sum: i128, denominator: &Self, total: i128) -> Option<f64> {
        // Adding 0 turns a negative zero into zero.
        (total != 0).then(|| self.value(sum) / denominator.value(total) + 0.0)
    }
}

impl From<&SignedSum> for MeasureSum {
    fn from(sum: &SignedSum) -> Self {
        let terms = sum.terms().to_vec();
        Self { terms, is_money: sum.unit() == Unit::Currency, is_signed: sum.may_be_negative() }
    }
}

impl SumFormula {
    pub(crate) fn new(metric: &MetricRef) -> Self {
        match metric {
            MetricRef::BuiltIn(_, Formula::Amount(measures)) => Self::Amount(MeasureSum::new(measures)),
            MetricRef::BuiltIn(_, Formula::Ratio { numerator, denominator }) => {
                Self::Ratio { numerator: MeasureSum::new(numerator), denominator: MeasureSum::new(denominator) }
            }
            MetricRef::BuiltIn(_, Formula::Percentile { pair, percent }) => {
                Self::Percentile { pair: *pair, percent: *percent }
            }
            MetricRef::Defined(metric) => match &metric.formula {
                DefinedFormula::Amount(sum) => Self::Amount(sum.into()),
                DefinedFormula::Ratio { numerator, denominator } => {
                    Self::Ratio { numerator: numerator.into(), denominator: denominator.into() }
                }
            },
        }
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
    /// Sorts the durations of each group, if the query needs a percentile of them. `spend` has for each group the slot
    /// of its spend.
    pub(super) fn new(
        plan: &'a Plan,
        partial: &'a PartialResult,
        spend: Vec<GroupSlot>,
        interrupt: &'a Interrupt,
    ) -> Result<Self, Interruption> {
        let mut durations = Vec::new();
        for pair in partial.grouped.state.durations.pairs() {
            if let Some(sorted) = SortedDurations::new(pair, partial.len(), interrupt)? {
                durations.push((pair.pair, sorted));
            }
        }
        Ok(Self { plan, partial, interrupt, spend, durations })
    }

    /// Returns the values of a metric for `groups`, in their order. A ratio whose denominator is 0 is over nothing, and
    /// so is a percentile of nothing.
    ///
    /// # Errors
    /// A count does not fit into 64 bits, or the interrupt ends the query.
    pub(super) fn values(&self, metric: &MetricRef, groups: &[u32]) -> Result<Values, Error> {
        let overflow = || Error::from(QueryError::Overflow { name: metric.name().to_owned() });
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
            BoundFormula::Amount(sum) if sum.is_money => Ok(Values::Money(self.amounts::<_, Error>(&sum, groups, Ok)?)),
            BoundFormula::Amount(sum) if sum.is_signed => {
                let count = |count| i64::try_from(count).map_err(|_| overflow());
                Ok(Values::Integers(self.amounts(&sum, groups, count)?))
            }
            BoundFormula::Amount(sum) => {
                let count = |count| u64::try_from(count).map_err(|_| overflow());
                Ok(Values::Counts(self.amounts(&sum, groups, count)?))
            }
        }
    }

    /// Returns the sum for each group, converted by `make`.
    fn amounts<T, E: From<Interruption>>(
        &self,
        sum: &MeasureSum,
        groups: &[u32],
        make: impl Fn(i128) -> Result<T, E>,
    ) -> Result<Vec<T>, E> {
        let mut amounts = Vec::with_capacity(groups.len());
        for step in self.steps(groups, BATCH_GROUPS) {
            for amount in self.sums(sum, step?) {
                amounts.push(make(amount)?);
            }
        }
        Ok(amounts)
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
        let sums = |sum: &MeasureSum| self.amounts::<_, Interruption>(sum, groups, Ok);
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
                values.extend(sums.map(|(sum, total)| make(numerator.over(sum, denominator, total))));
            }
            Quotient::Percentile(durations, percent) => {
                let percentile = |group: &u32| durations.and_then(|durations| durations.percentile(*group, *percent));
                values.extend(groups.iter().map(|group| make(percentile(group))));
            }
        }
    }

    /// Returns the sum for each group.
    fn sums(&self, sum: &MeasureSum, groups: &[u32]) -> Vec<i128> {
        let mut sums = Vec::with_capacity(groups.len());
        for (measure, is_subtracted) in &sum.terms {
            let spend = measure.is_spend().then_some(&*self.spend);
            for (term, is_term_subtracted) in measure.terms() {
                let is_subtracted = *is_subtracted != is_term_subtracted;
                let mut sums = GroupSums { groups, spend, is_subtracted, sums: &mut sums };
                self.partial.with_value(term, &mut sums);
            }
        }
        sums.resize(groups.len(), 0);
        sums
    }

    fn bind(&self, metric: &MetricRef) -> BoundFormula<'_> {
        match SumFormula::new(metric) {
            SumFormula::Amount(sum) => BoundFormula::Amount(sum),
            SumFormula::Ratio { numerator, denominator } => {
                BoundFormula::Quotient(Quotient::Ratio { numerator, denominator })
            }
            SumFormula::Percentile { pair, percent } => {
                let durations = self.durations.iter().find(|(other, _)| *other == pair);
                BoundFormula::Quotient(Quotient::Percentile(durations.map(|(_, sorted)| sorted), percent))
            }
        }
    }
}

/// The sums of some groups, to which the values of a measure are added.
struct GroupSums<'a> {
    groups: &'a [u32],
    /// By group, the slot of its spend, if the measure is one of spend.
    spend: Option<&'a [GroupSlot]>,
    is_subtracted: bool,
    /// The sum of each group; empty means sums of 0.
    sums: &'a mut Vec<i128>,
}

impl AddValues for GroupSums<'_> {
    fn add(&mut self, value: impl Fn(GroupSlot) -> i128) {
        match self.spend {
            None => self.add_groups(|group| value(GroupSlot::from_group(group))),
            Some(slots) => self.add_groups(|group| value(slots[group as usize])),
        }
    }
}

impl GroupSums<'_> {
    fn add_groups(&mut self, value: impl Fn(u32) -> i128) {
        let Self { groups, sums, .. } = self;
        let values = groups.iter().map(|group| value(*group));
        if self.is_subtracted {
            sums.resize(groups.len(), 0);
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum -= value);
        } else if sums.is_empty() {
            sums.extend(values);
        } else {
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
    }
}
