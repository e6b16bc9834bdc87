//! Along which splits a metric adds up, from what it is made of.

use super::{Additivity, Formula, Measure, MeasureKind};

impl Additivity {
    /// Across every dimension and across sub-ranges.
    pub const EVERYWHERE: Self =
        Self { across_spend_dimensions: true, across_other_dimensions: true, across_intervals: true };
    /// Across every dimension, but not across sub-ranges.
    pub const DIMENSIONS: Self =
        Self { across_spend_dimensions: true, across_other_dimensions: true, across_intervals: false };
    /// Across the dimensions that spend carries, and across sub-ranges.
    pub const SPEND: Self =
        Self { across_spend_dimensions: true, across_other_dimensions: false, across_intervals: true };
    /// Across nothing.
    pub const NOWHERE: Self =
        Self { across_spend_dimensions: false, across_other_dimensions: false, across_intervals: false };

    /// The splits along which values of `formula` add up: those along which each of its measures does. A quotient never does.
    pub(super) const fn of(formula: Formula) -> Self {
        let Formula::Amount(measures) = formula else { return Self::NOWHERE };
        let mut whole = Self::EVERYWHERE;
        let mut next = 0;
        while next < measures.len() {
            whole = whole.and(Self::of_measure(measures[next]));
            next += 1;
        }
        whole
    }

    const fn of_measure(measure: Measure) -> Self {
        match measure.kind() {
            // A customer with rows in two groups, or in two sub-ranges, is one of the distinct customers of each.
            MeasureKind::Rows if matches!(measure, Measure::Opportunities) => Self::NOWHERE,
            // A row is in one group and one sub-range.
            MeasureKind::Rows | MeasureKind::RowMoney => Self::EVERYWHERE,
            // A customer has one state row in each sub-range that it has events in.
            MeasureKind::StateRows | MeasureKind::StateMoney => Self::DIMENSIONS,
            // One agent serves customers of many groups.
            MeasureKind::StateDistinct => Self::NOWHERE,
            // A dimension that spend does not carry shows the same spend on each of its values.
            MeasureKind::SpendMoney | MeasureKind::SpendCount => Self::SPEND,
        }
    }

    const fn and(self, other: Self) -> Self {
        Self {
            across_spend_dimensions: self.across_spend_dimensions && other.across_spend_dimensions,
            across_other_dimensions: self.across_other_dimensions && other.across_other_dimensions,
            across_intervals: self.across_intervals && other.across_intervals,
        }
    }
}
