//! How an entry of the dictionary is written: one of the constructors, then what differs from the usual.

use super::{
    Additivity, Computed, Dimension, DimensionSource, Direction, Field, FieldGroup, FieldKind, Formula, Measure,
    Metric, SpendColumn, Unit, ValueFormat,
};

/// The stages, in the order in which a customer passes through them.
pub(super) const STAGES: &[&str] = &["lead-originated", "booked", "estimated", "sold", "closed", "canceled"];

const BOOLEANS: &[&str] = &["true", "false"];

/// A number of things.
pub(super) const fn count(
    group: FieldGroup,
    name: &'static str,
    display_name: &'static str,
    measures: &'static [Measure],
) -> Field {
    metric(group, name, display_name, Formula::Amount(measures), Unit::Count, ValueFormat::Number)
}

/// An amount of money.
pub(super) const fn money(
    group: FieldGroup,
    name: &'static str,
    display_name: &'static str,
    measures: &'static [Measure],
) -> Field {
    metric(group, name, display_name, Formula::Amount(measures), Unit::Currency, ValueFormat::Currency)
}

/// The part of the denominator's things that are also the numerator's.
pub(super) const fn share(
    group: FieldGroup,
    name: &'static str,
    display_name: &'static str,
    numerator: &'static [Measure],
    denominator: &'static [Measure],
) -> Field {
    metric(group, name, display_name, Formula::Ratio { numerator, denominator }, Unit::Ratio, ValueFormat::Percent)
}

/// How many times the denominator goes into the numerator.
pub(super) const fn multiple(
    group: FieldGroup,
    name: &'static str,
    display_name: &'static str,
    numerator: &'static [Measure],
    denominator: &'static [Measure],
) -> Field {
    metric(group, name, display_name, Formula::Ratio { numerator, denominator }, Unit::Ratio, ValueFormat::Decimal)
}

/// Money for one thing.
pub(super) const fn money_per(
    group: FieldGroup,
    name: &'static str,
    display_name: &'static str,
    numerator: &'static [Measure],
    denominator: &'static [Measure],
) -> Field {
    let formula = Formula::Ratio { numerator, denominator };
    metric(group, name, display_name, formula, Unit::CurrencyPerCount, ValueFormat::Currency)
}

/// A dimension that is a column of the event table.
pub(super) const fn stored(group: FieldGroup, name: &'static str, display_name: &'static str) -> Field {
    dimension(group, name, display_name, DimensionSource::Stored)
}

/// A dimension that is computed.
pub(super) const fn computed(
    group: FieldGroup,
    name: &'static str,
    display_name: &'static str,
    computed: Computed,
) -> Field {
    dimension(group, name, display_name, DimensionSource::Computed(computed))
}

const fn metric(
    group: FieldGroup,
    name: &'static str,
    display_name: &'static str,
    formula: Formula,
    unit: Unit,
    format: ValueFormat,
) -> Field {
    let additivity = Additivity::of(formula);
    let kind = FieldKind::Metric(Metric { formula, unit, direction: Direction::Neutral, additivity });
    Field { name, display_name, definition: "", format, group, values: &[], benchmark: false, kind }
}

const fn dimension(
    group: FieldGroup,
    name: &'static str,
    display_name: &'static str,
    source: DimensionSource,
) -> Field {
    let kind = FieldKind::Dimension(Dimension { source, spend: None });
    Field { name, display_name, definition: "", format: ValueFormat::Text, group, values: &[], benchmark: false, kind }
}

impl Field {
    /// The definition: meaning, unit, and what a missing value is.
    pub(super) const fn means(mut self, definition: &'static str) -> Self {
        self.definition = definition;
        self
    }

    /// More of the metric is better.
    pub(super) const fn higher(self) -> Self {
        self.direction(Direction::Higher)
    }

    /// Less of the metric is better.
    pub(super) const fn lower(self) -> Self {
        self.direction(Direction::Lower)
    }

    const fn direction(mut self, direction: Direction) -> Self {
        if let FieldKind::Metric(metric) = &mut self.kind {
            metric.direction = direction;
        }
        self
    }

    /// Benchmarks know the field.
    pub(super) const fn benchmark(mut self) -> Self {
        self.benchmark = true;
        self
    }

    /// The values can be listed.
    pub(super) const fn values(mut self, values: &'static [&'static str]) -> Self {
        self.values = values;
        self
    }

    /// The values are days.
    pub(super) const fn day(mut self) -> Self {
        self.format = ValueFormat::Date;
        self
    }

    /// The values are points in time.
    pub(super) const fn timestamp(mut self) -> Self {
        self.format = ValueFormat::Timestamp;
        self
    }

    /// The values are yes and no.
    pub(super) const fn boolean(mut self) -> Self {
        self.format = ValueFormat::Boolean;
        self.values(BOOLEANS)
    }

    /// The spend table carries the dimension.
    pub(super) const fn in_spend(mut self, column: SpendColumn) -> Self {
        if let FieldKind::Dimension(dimension) = &mut self.kind {
            dimension.spend = Some(column);
        }
        self
    }
}
