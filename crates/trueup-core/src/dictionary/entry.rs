//! Constructors of dictionary entries. An entry is one constructor call, then calls that change its defaults.

use super::{
    Additivity, Computed, Dimension, DimensionSource, Direction, Field, FieldGroup, FieldKind, Formula, Measure,
    Metric, SpendColumn, StagePair, Unit, ValueFormat,
};

const BOOLEANS: &[&str] = &["true", "false"];

/// Declares constructors of metrics, each with its sums, its formula, its unit and its format.
macro_rules! metrics {
    ($($(#[$doc:meta])* $constructor:ident($($sum:ident),+): $formula:expr, $unit:ident, $format:ident;)+) => {$(
        $(#[$doc])*
        pub(super) const fn $constructor(
            group: FieldGroup,
            name: &'static str,
            display_name: &'static str,
            $($sum: &'static [Measure],)+
        ) -> Field {
            metric(group, name, display_name, $formula, Unit::$unit, ValueFormat::$format)
        }
    )+};
}

metrics! {
    /// Returns a metric that is a count.
    count(measures): Formula::Amount(measures), Count, Number;
    /// Returns a metric that is an amount of money.
    money(measures): Formula::Amount(measures), Currency, Currency;
    /// Returns a metric that is a share: every item of the numerator is also an item of the denominator.
    share(numerator, denominator): Formula::Ratio { numerator, denominator }, Ratio, Percent;
    /// Returns a metric that is a ratio of like amounts, shown as a plain number.
    multiple(numerator, denominator): Formula::Ratio { numerator, denominator }, Ratio, Decimal;
    /// Returns a metric that is money per item.
    money_per(numerator, denominator): Formula::Ratio { numerator, denominator }, CurrencyPerCount, Currency;
}

/// Returns a metric that is a number of days per customer.
pub(super) const fn average_days(
    name: &'static str,
    display_name: &'static str,
    numerator: &'static [Measure],
    denominator: &'static [Measure],
) -> Field {
    days(name, display_name, Formula::Ratio { numerator, denominator })
}

/// Returns a metric that is a percentile of the days between two stages.
pub(super) const fn percentile_days(
    name: &'static str,
    display_name: &'static str,
    pair: StagePair,
    percent: u8,
) -> Field {
    days(name, display_name, Formula::Percentile { pair, percent })
}

const fn days(name: &'static str, display_name: &'static str, formula: Formula) -> Field {
    metric(FieldGroup::Funnel, name, display_name, formula, Unit::Days, ValueFormat::Decimal).lower()
}

/// Returns a dimension that is a column of the event table.
pub(super) const fn stored(group: FieldGroup, name: &'static str, display_name: &'static str) -> Field {
    dimension(group, name, display_name, DimensionSource::Stored)
}

/// Returns a computed dimension.
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
    /// Sets the definition: meaning, unit, and what is shown where there is no value.
    pub(super) const fn means(mut self, definition: &'static str) -> Self {
        self.definition = definition;
        self
    }

    /// States that higher values are better.
    pub(super) const fn higher(self) -> Self {
        self.direction(Direction::Higher)
    }

    /// States that lower values are better.
    pub(super) const fn lower(self) -> Self {
        self.direction(Direction::Lower)
    }

    const fn direction(mut self, direction: Direction) -> Self {
        if let FieldKind::Metric(metric) = &mut self.kind {
            metric.direction = direction;
        }
        self
    }

    /// States that benchmarks support the field.
    pub(super) const fn benchmark(mut self) -> Self {
        self.benchmark = true;
        self
    }

    /// Lists all values of the dimension.
    pub(super) const fn values(mut self, values: &'static [&'static str]) -> Self {
        self.values = values;
        self
    }

    /// States that the values are days.
    pub(super) const fn day(mut self) -> Self {
        self.format = ValueFormat::Date;
        self
    }

    /// States that the values are points in time.
    pub(super) const fn timestamp(mut self) -> Self {
        self.format = ValueFormat::Timestamp;
        self
    }

    /// States that the values are `true` and `false`.
    pub(super) const fn boolean(mut self) -> Self {
        self.format = ValueFormat::Boolean;
        self.values(BOOLEANS)
    }

    /// States that the spend table has the dimension, in `column`.
    pub(super) const fn in_spend(mut self, column: SpendColumn) -> Self {
        if let FieldKind::Dimension(dimension) = &mut self.kind {
            dimension.spend = Some(column);
        }
        self
    }
}
