//! Who accounts for the change of a number between two ranges: customers, agents and campaigns, in four classes.

use super::lines::{Asked, Lines};
use crate::aggregate::Contribution;
use crate::dictionary::Measure;
use crate::error::QueryError;
use crate::finish::{ExactValue, SumFormula, Value, effects_of_parts};
use crate::named::named;
use crate::plan::MetricRef;
use crate::query::LineOrder;

named! {
    /// One of the two ranges of a comparison. A number that is not compared has only the current one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub(super) enum ComparedRange {
        Previous = "previous",
        Current = "current",
    }
}

named! {
    /// How a customer takes part in the change of a number between two ranges. So does an agent or, for spend, a
    /// campaign. The column `class` of the lines has the names.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum ChangeClass {
        /// Counted only in the range that is asked for.
        Current = "current",
        /// Counted only in the earlier range.
        Previous = "previous",
        /// Counted in both ranges, with another contribution.
        Changed = "changed",
        /// Counted in both ranges, with the same contribution. Lines of this class are not listed.
        Unchanged = "unchanged",
    }
}

/// How a metric of a row changed between two ranges.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MetricChange {
    /// The value in the earlier range.
    pub previous: Value<'static>,
    /// Whether the metric is a ratio whose denominator is 0 in the earlier range. Its value there is 0 then.
    pub is_previous_over_nothing: bool,
    /// The value in the range that is asked for, minus that in the earlier range.
    pub change: Value<'static>,
    /// The customers of a ratio by class; empty for any other metric, and for a ratio of spend or of agents.
    pub classes: Vec<RatioClass>,
}

/// The customers of one class that a ratio counts, in its numerator or in its denominator.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct RatioClass {
    /// The class.
    pub class: ChangeClass,
    /// The number of customers.
    pub customers: u64,
    /// The ratio of these customers alone in the earlier range; null if its denominator is 0.
    pub previous: Value<'static>,
    /// The ratio of these customers alone in the range that is asked for; null if its denominator is 0.
    pub current: Value<'static>,
    /// The part of the change that comes from a change of this ratio; null if the ratio of the row is over nothing in
    /// one range, and for amounts of different currencies. The effects of all classes add up to the change.
    pub rate_effect: Value<'static>,
    /// The part of the change that comes from a change of the share of these customers in the denominator; null where
    /// the rate effect is.
    pub mix_effect: Value<'static>,
}

/// How a measure of a row changed between two ranges.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MeasureChange {
    /// What the measure is in the earlier range.
    pub previous: Value<'static>,
    /// What the measure is in the range that is asked for, minus that in the earlier range.
    pub change: Value<'static>,
    /// What the classes count: `customer`, `agent` or `campaign`. A campaign is one of an account, with its category
    /// and channel.
    pub unit: &'static str,
    /// The classes, all four. What they change adds up to the change of the measure.
    pub classes: Vec<MeasureClass>,
}

/// The customers, agents or campaigns of one class that a measure counts.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct MeasureClass {
    /// The class.
    pub class: ChangeClass,
    /// The number of customers, agents or campaigns.
    pub counted: u64,
    /// What they add in the earlier range.
    pub previous: Value<'static>,
    /// What they add in the range that is asked for.
    pub current: Value<'static>,
    /// What they add to the change.
    pub change: Value<'static>,
    /// The number of their lines, whether listed or not; 0 for [`ChangeClass::Unchanged`].
    pub lines: u64,
    /// The number of their lines that are listed.
    pub listed: u64,
}

/// Measures by whose sum a customer is classified: one measure, or all measures of a ratio.
#[derive(Debug)]
pub(super) struct Subject {
    /// The places of the measures.
    pub(super) measures: Vec<usize>,
}

/// What the customers of a class add to each measure of a subject, in the earlier range and in the current one.
#[derive(Clone, Debug, Default)]
pub(super) struct ClassTotals {
    pub(super) counted: u64,
    pub(super) sums: Vec<[i128; 2]>,
}

/// The totals of a subject by class.
pub(super) type SubjectTotals = [ClassTotals; ChangeClass::ALL.len()];

/// What one customer, agent or campaign adds to a measure.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    /// In the earlier range and in the current one.
    sums: [i128; 2],
    is_counted: [bool; 2],
    /// The first and the last day of the lines.
    days: Option<[u16; 2]>,
}

/// What each customer of a row group adds to each measure.
pub(super) struct Tallies {
    /// The places of the customers, ascending.
    customers: Vec<u32>,
    measures: usize,
    /// For each customer, a tally for each measure.
    tallies: Vec<Tally>,
}

impl ComparedRange {
    /// Returns what an amount of the range adds to the change.
    pub(super) const fn signed(self, adds: i128) -> i128 {
        match self {
            Self::Previous => -adds,
            Self::Current => adds,
        }
    }
}

impl ChangeClass {
    /// The classes with lines that are listed.
    pub(super) const LISTED: [Self; 3] = [Self::Current, Self::Previous, Self::Changed];

    /// Returns the class of what is counted only in a range.
    pub(super) const fn only_in(range: ComparedRange) -> Self {
        match range {
            ComparedRange::Previous => Self::Previous,
            ComparedRange::Current => Self::Current,
        }
    }

    /// Returns the class of a customer, given what it adds to each of some measures; `None` if none counts it.
    pub(super) fn of<'t>(tallies: impl Iterator<Item = &'t Tally> + Clone) -> Option<Self> {
        let is_counted = |range: usize| tallies.clone().any(|tally| tally.is_counted[range]);
        match (is_counted(0), is_counted(1)) {
            (false, false) => None,
            (false, true) => Some(Self::Current),
            (true, false) => Some(Self::Previous),
            (true, true) if tallies.clone().all(|tally| tally.sums[0] == tally.sums[1]) => Some(Self::Unchanged),
            (true, true) => Some(Self::Changed),
        }
    }
}

impl Subject {
    /// Returns each measure alone, in order, and the measures of each ratio over customers alone, with the place of the
    /// ratio among the metrics.
    pub(super) fn all(metrics: &[MetricRef], measures: &[Measure]) -> (Vec<Self>, Vec<usize>) {
        let mut subjects: Vec<Self> = (0..measures.len()).map(|measure| Self { measures: vec![measure] }).collect();
        let mut ratios = Vec::new();
        for (place, metric) in metrics.iter().enumerate() {
            let is_of_customers = |measure: Measure| unit(measure) == CUSTOMER;
            if matches!(SumFormula::new(metric), SumFormula::Ratio { .. }) && metric.measures().all(is_of_customers) {
                let places = |measure| measures.iter().position(|other| *other == measure);
                let mut places: Vec<usize> = metric.measures().filter_map(places).collect();
                places.sort_unstable();
                places.dedup();
                subjects.push(Self { measures: places });
                ratios.push(place);
            }
        }
        (subjects, ratios)
    }

    /// Returns the totals of nobody.
    pub(super) fn totals(&self) -> SubjectTotals {
        std::array::from_fn(|_| ClassTotals { counted: 0, sums: vec![[0; 2]; self.measures.len()] })
    }
}

impl ClassTotals {
    /// Adds a customer, given what it adds to each measure of the subject.
    pub(super) fn add<'t>(&mut self, tallies: impl Iterator<Item = &'t Tally>) {
        self.counted += 1;
        for (sums, tally) in self.sums.iter_mut().zip(tallies) {
            sums[0] += tally.sums[0];
            sums[1] += tally.sums[1];
        }
    }

    /// Adds the customers of another row group.
    pub(super) fn merge(&mut self, other: &Self) {
        self.counted += other.counted;
        for (into, from) in self.sums.iter_mut().zip(&other.sums) {
            into[0] += from[0];
            into[1] += from[1];
        }
    }
}

impl Tally {
    pub(super) fn add(&mut self, range: ComparedRange, adds: i128, day: u16) {
        self.sums[range as usize] += adds;
        self.is_counted[range as usize] = true;
        let [first, last] = self.days.unwrap_or([day, day]);
        self.days = Some([first.min(day), last.max(day)]);
    }

    /// Returns what orders the lines: the size of the change, and the first day or, if the last day comes first, the
    /// last one.
    pub(super) fn key(&self, order: LineOrder) -> (i128, u16) {
        let [first, last] = self.days.unwrap_or_default();
        let day = if order == LineOrder::Newest { last } else { first };
        ((self.sums[1] - self.sums[0]).abs(), day)
    }
}

impl Tallies {
    /// Returns the customers that the contributions of both ranges to each of some measures are of. The tallies are
    /// still empty.
    pub(super) fn new(by_range: &[Vec<Vec<Contribution>>; 2], measures: usize) -> Self {
        let contributions = by_range.iter().flatten().flatten();
        let mut customers: Vec<u32> = contributions.map(|counted| counted.customer).collect();
        customers.sort_unstable();
        customers.dedup();
        Self { customers, measures, tallies: Vec::new() }
    }

    /// Returns the bytes that will be held.
    pub(super) fn bytes(&self) -> usize {
        self.customers.capacity() * size_of::<u32>() + self.customers.len() * self.measures * size_of::<Tally>()
    }

    /// Adds up the contributions, given the day of each event.
    pub(super) fn add_up(&mut self, by_range: &[Vec<Vec<Contribution>>; 2], day: impl Fn(u32) -> u16) {
        self.tallies.resize(self.customers.len() * self.measures, Tally::default());
        for (range, by_measure) in ComparedRange::ALL.into_iter().zip(by_range) {
            for (measure, contributions) in by_measure.iter().enumerate() {
                for counted in contributions {
                    let place = self.place(counted.customer, measure);
                    self.tallies[place].add(range, counted.adds, day(counted.event));
                }
            }
        }
    }

    /// Returns what a customer adds to a measure.
    pub(super) fn tally(&self, customer: u32, measure: usize) -> &Tally {
        &self.tallies[self.place(customer, measure)]
    }

    /// Adds the customers to the totals of each subject.
    pub(super) fn add_to(&self, subjects: &[Subject], totals: &mut [SubjectTotals]) {
        for customer in self.tallies.chunks(self.measures) {
            for (subject, totals) in subjects.iter().zip(&mut *totals) {
                let tallies = || subject.measures.iter().map(|measure| &customer[*measure]);
                if let Some(class) = ChangeClass::of(tallies()) {
                    totals[class as usize].add(tallies());
                }
            }
        }
    }

    fn place(&self, customer: u32, measure: usize) -> usize {
        // Every customer with a contribution is in the list.
        self.customers.binary_search(&customer).unwrap_or_default() * self.measures + measure
    }
}

const CUSTOMER: &str = "customer";

/// Returns what the classes of a measure count.
pub(super) const fn unit(measure: Measure) -> &'static str {
    match measure {
        Measure::OpportunityAgents => "agent",
        measure if measure.is_spend() => "campaign",
        _ => CUSTOMER,
    }
}

/// Returns how the measure at a place changed.
pub(super) fn measure_change(place: usize, lines: &Lines<'_>, asked: &Asked<'_>) -> Result<MeasureChange, QueryError> {
    let measure = asked.measures[place];
    let amount = |sum: i128| super::amount(measure.is_money(), sum, measure.name());
    let mut classes = Vec::new();
    for (class, totals) in ChangeClass::ALL.into_iter().zip(&lines.changes[place]) {
        let [previous, current] = totals.sums[0];
        let is_listed = ChangeClass::LISTED.contains(&class);
        let count = if is_listed { lines.count(asked, place, class) } else { 0 };
        classes.push(MeasureClass {
            class,
            counted: totals.counted,
            previous: amount(previous)?,
            current: amount(current)?,
            change: signed(measure, current - previous)?,
            lines: count,
            listed: asked.listing.listed(count),
        });
    }
    let [previous, current] = ComparedRange::ALL.map(|range| lines.total(place, range));
    let (previous, change) = (amount(previous)?, signed(measure, current - previous)?);
    Ok(MeasureChange { previous, change, unit: unit(measure), classes })
}

/// Returns what something adds to a measure, or to its change.
pub(super) fn signed(measure: Measure, sum: i128) -> Result<Value<'static>, QueryError> {
    if measure.is_money() {
        return Ok(Value::Money(sum));
    }
    i64::try_from(sum).map(Value::Integer).map_err(|_| QueryError::Overflow { name: measure.name().to_owned() })
}

/// Returns the classes of a ratio over customers, given its subject and the totals. There are no effects unless
/// `has_effects`.
pub(super) fn ratio_classes(
    metric: &MetricRef,
    measures: &[Measure],
    subject: &Subject,
    totals: &SubjectTotals,
    has_effects: bool,
) -> Vec<RatioClass> {
    let SumFormula::Ratio { numerator, denominator } = SumFormula::new(metric) else { return Vec::new() };
    let parts: Vec<[ExactValue; 2]> = totals
        .iter()
        .map(|totals| {
            [0, 1].map(|range| {
                let of = |measure: Measure| {
                    let place = subject.measures.iter().position(|place| measures[*place] == measure);
                    place.map_or(0, |place| totals.sums[place][range])
                };
                ExactValue { numerator: numerator.total(of), denominator: denominator.total(of) }
            })
        })
        .collect();
    let effects = effects_of_parts(&parts, [numerator.is_money, denominator.is_money]).filter(|_| has_effects);
    let ratio = |part: ExactValue| {
        numerator.over(part.numerator, &denominator, part.denominator).map_or(Value::Null, Value::Ratio)
    };
    let classes = ChangeClass::ALL.into_iter().zip(totals).zip(&parts).enumerate();
    let classes = classes.map(|(place, ((class, totals), [previous, current]))| {
        let effects = effects.as_ref().and_then(|effects| effects.get(place));
        let [rate_effect, mix_effect] = effects.map_or([Value::Null; 2], |effects| effects.map(Value::Number));
        let [previous, current] = [ratio(*previous), ratio(*current)];
        RatioClass { class, customers: totals.counted, previous, current, rate_effect, mix_effect }
    });
    classes.collect()
}
