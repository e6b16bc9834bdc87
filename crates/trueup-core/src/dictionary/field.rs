//! The entry of a field in the dictionary.

use super::{Measure, StagePair};
use crate::named::named;
use std::fmt;

/// A metric or dimension of the dictionary.
///
/// ```
/// use trueup_core::dictionary::{self, ValueFormat};
///
/// let field = dictionary::field("bookRate").expect("a metric");
/// assert_eq!((field.display_name, field.format), ("Book Rate", ValueFormat::Percent));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The name in queries. It is also the name of the column if the field is stored.
    pub name: &'static str,
    /// The name for people.
    pub display_name: &'static str,
    /// The meaning of the field, its unit, and what is shown where there is no value.
    pub definition: &'static str,
    /// The format in which a value is shown to people. The dictionary of the service has the names.
    pub format: ValueFormat,
    /// The subject that the field belongs to.
    pub group: FieldGroup,
    /// All values of a dimension with a fixed set of values; otherwise empty.
    pub values: &'static [&'static str],
    /// Whether benchmarks can show the metric, or be grouped by the dimension.
    pub benchmark: bool,
    /// Metric or dimension, with its properties.
    pub kind: FieldKind,
}

/// The kind of a field, with its properties.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldKind {
    /// A metric: computed per group.
    Metric(Metric),
    /// A dimension: groups rows.
    Dimension(Dimension),
}

/// The properties of a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// The formula.
    pub formula: Formula,
    /// The unit of its values.
    pub unit: Unit,
    /// The direction in which values are better.
    pub direction: Direction,
    /// The groups across which its values may be added, in a query that is not one of a cohort.
    pub additivity: Additivity,
}

impl Metric {
    /// Returns in words across which groups the values add up to the value of the whole, in a query that is not one of
    /// a cohort.
    ///
    /// ```
    /// let (_, metric) = trueup_core::dictionary::metric("bookRate").expect("a metric");
    /// assert_eq!(metric.adds_up(), "never: a ratio");
    /// ```
    #[must_use]
    pub fn adds_up(&self) -> &'static str {
        self.additivity.adds_up().unwrap_or(match self.formula {
            Formula::Ratio { .. } => "never: a ratio",
            Formula::Percentile { .. } => "never: a percentile",
            Formula::Amount(_) => "never: distinct values",
        })
    }
}

/// The formula of a metric. A list of measures is their sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Formula {
    /// A sum: a count or an amount of money.
    Amount(&'static [Measure]),
    /// A ratio of two sums; 0 if the denominator is 0.
    Ratio {
        /// The sum that is divided.
        numerator: &'static [Measure],
        /// The sum that divides.
        denominator: &'static [Measure],
    },
    /// A percentile of the durations between two stages, by linear interpolation between the closest ranks (Hyndman and
    /// Fan's type 7); 0 if there is no duration.
    Percentile {
        /// The stages.
        pair: StagePair,
        /// The percentage of the durations that are below the value, at most 100.
        percent: u8,
    },
}

impl Formula {
    /// Returns the measures of the formula in the order written. A measure in both the numerator and the denominator
    /// comes twice.
    pub fn measures(self) -> impl Iterator<Item = Measure> {
        let (first, second): (&[Measure], &[Measure]) = match self {
            Self::Amount(sum) => (sum, &[]),
            Self::Ratio { numerator, denominator } => (numerator, denominator),
            Self::Percentile { .. } => (&[], &[]),
        };
        let day_counts = match self {
            Self::Percentile { pair, .. } => Some(Measure::DayCounts(pair)),
            Self::Amount(_) | Self::Ratio { .. } => None,
        };
        first.iter().chain(second).copied().chain(day_counts)
    }
}

/// Writes the names of the measures, such as `bookedCustomers / customers`.
impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sum = |measures: &[Measure]| measures.iter().map(|measure| measure.name()).collect::<Vec<_>>().join(" + ");
        let factor =
            |measures: &[Measure]| if measures.len() > 1 { format!("({})", sum(measures)) } else { sum(measures) };
        match self {
            Self::Amount(measures) => f.write_str(&sum(measures)),
            Self::Ratio { numerator, denominator } => write!(f, "{} / {}", factor(numerator), factor(denominator)),
            Self::Percentile { pair, percent } => {
                write!(f, "{percent}th percentile of {}", Measure::DayCounts(*pair).name())
            }
        }
    }
}

named! {
    /// The unit of a metric. Lists of fields have the names.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Unit {
        /// A count.
        Count = "count",
        /// An amount of money, in the currency of the data.
        Currency = "currency",
        /// A ratio of like amounts. A share of 1 is the whole.
        Ratio = "ratio",
        /// Money per item.
        CurrencyPerCount = "currency per count",
        /// Days.
        Days = "days",
        /// Items per unit of money.
        CountPerCurrency = "count per currency",
    }
}

named! {
    /// The format in which a value is shown to people.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum ValueFormat {
        /// A whole number.
        Number = "number",
        /// A number with a fraction.
        Decimal = "decimal",
        /// Money.
        Currency = "currency",
        /// A fraction shown as a percentage.
        Percent = "percent",
        /// Text.
        Text = "text",
        /// A day, `YYYY-MM-DD`.
        Date = "date",
        /// A point in time, RFC 3339 in UTC.
        Timestamp = "timestamp",
        /// `true` or `false`.
        Boolean = "boolean",
    }
}

named! {
    /// The direction in which the values of a metric are better.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Direction {
        /// Higher values are better.
        Higher = "higher",
        /// Lower values are better.
        Lower = "lower",
        /// Neither is better.
        Neutral = "neither",
    }
}

/// The groups across which the values of a metric add up to the value of the whole, in a query that is not one of a
/// cohort. In a cohort each customer counts in one sub-range, so that more metrics add up across sub-ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Additivity {
    /// Across the groups of dimensions that spend has.
    pub across_spend_dimensions: bool,
    /// Across the groups of all other dimensions.
    pub across_other_dimensions: bool,
    /// Across sub-ranges.
    pub across_intervals: bool,
}

/// The subject that a field belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldGroup {
    /// The account.
    Account,
    /// Time.
    Time,
    /// The event and its stage.
    Funnel,
    /// The marketing that is credited with the customer.
    Attribution,
    /// A single conversion.
    Conversion,
    /// The customer.
    Customer,
    /// Grades of conversions and of customers. For accounts without lead grading, these dimensions are empty, and these
    /// metrics are 0.
    LeadGrading,
    /// Money earned.
    Revenue,
    /// Money spent.
    Spend,
}

/// The properties of a dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct Dimension {
    /// The source of its values.
    pub source: DimensionSource,
    /// The column of the spend table with the same meaning; `None` if spend does not have the dimension.
    pub spend: Option<SpendColumn>,
}

/// The source of a dimension's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DimensionSource {
    /// A column of the event table with the field's name.
    Stored,
    /// Computed from the event, from the customer's other events, or from the account.
    Computed(Computed),
}

/// A computed dimension. Dates are days in the account's time zone; a date is empty if there is no such event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Computed {
    /// The account's key.
    Account,
    /// The account's name.
    AccountName,
    /// The account's currency.
    Currency,
    /// The customer's state.
    AdjustedType,
    /// Whether the event is the customer's state event.
    TypeIsLast,
    /// The date of the customer's first event.
    OpportunityStartDate,
    /// The date of the customer's earliest booked event.
    FirstBooked,
    /// The date of the customer's earliest estimated event.
    FirstEstimated,
    /// The date of the customer's earliest sold event.
    FirstSold,
    /// The date of the customer's earliest closed event.
    FirstClosed,
    /// The date of the customer's earliest canceled event.
    FirstCanceled,
    /// Whether the customer is ever booked.
    OpportunityBooked,
    /// The event's date.
    Date,
    /// The Monday of the event's week.
    Week,
    /// The event's month.
    Month,
    /// The event's point in time, in UTC; empty if only the day is known.
    DateTime,
    /// The event's stage.
    Type,
    /// The customer's id.
    OpportunityId,
    /// The event's id.
    EventId,
}

/// A dimension of the spend table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpendColumn {
    /// `account`, and `accountKey`, which is another name for it.
    Account,
    /// The account's name.
    AccountName,
    /// The account's currency.
    Currency,
    /// `date`
    Date,
    /// The Monday of `date`.
    Week,
    /// The month of `date`.
    Month,
    /// `attributionCategory`
    AttributionCategory,
    /// `attributionChannel`
    AttributionChannel,
    /// `campaign`
    Campaign,
}

impl Additivity {
    /// Values add up across every dimension and across sub-ranges.
    pub const EVERYWHERE: Self =
        Self { across_spend_dimensions: true, across_other_dimensions: true, across_intervals: true };
    /// Values add up across every dimension, but not across sub-ranges.
    pub const DIMENSIONS: Self =
        Self { across_spend_dimensions: true, across_other_dimensions: true, across_intervals: false };
    /// Values add up across the dimensions of spend and across sub-ranges.
    pub const SPEND: Self =
        Self { across_spend_dimensions: true, across_other_dimensions: false, across_intervals: true };
    /// Values add up across the dimensions of spend, but not across sub-ranges.
    pub const SPEND_DIMENSIONS: Self =
        Self { across_spend_dimensions: true, across_other_dimensions: false, across_intervals: false };
    /// Values never add up.
    pub const NOWHERE: Self =
        Self { across_spend_dimensions: false, across_other_dimensions: false, across_intervals: false };

    /// Returns the additivity of `formula`: values of a sum add up where those of all its measures do, values of a
    /// ratio never do.
    pub(crate) const fn of(formula: Formula) -> Self {
        let Formula::Amount(measures) = formula else { return Self::NOWHERE };
        let mut whole = Self::EVERYWHERE;
        let mut next = 0;
        while next < measures.len() {
            whole = whole.and(measures[next].additivity());
            next += 1;
        }
        whole
    }

    /// Returns in words across which groups values with this additivity add up; `None` if they never do.
    pub(crate) const fn adds_up(self) -> Option<&'static str> {
        match self {
            Self::EVERYWHERE => Some("across dimensions and intervals"),
            Self::DIMENSIONS => Some("across dimensions"),
            Self::SPEND => Some("across dimensions of spend, and intervals"),
            Self::SPEND_DIMENSIONS => Some("across dimensions of spend"),
            _ => None,
        }
    }

    /// Returns the additivity of a sum of two amounts, which adds up where both do.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self {
            across_spend_dimensions: self.across_spend_dimensions && other.across_spend_dimensions,
            across_other_dimensions: self.across_other_dimensions && other.across_other_dimensions,
            across_intervals: self.across_intervals && other.across_intervals,
        }
    }
}
