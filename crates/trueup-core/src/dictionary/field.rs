//! What the dictionary says of a field.

use super::Measure;

/// A metric or dimension that trueup knows by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The name in queries, and of the column if it is stored.
    pub name: &'static str,
    /// The name for people.
    pub display_name: &'static str,
    /// What the field means and how it is computed.
    pub definition: &'static str,
    /// How a value is written for people.
    pub format: ValueFormat,
    /// What the field belongs to.
    pub group: FieldGroup,
    /// The values, where they can be listed.
    pub values: &'static [&'static str],
    /// For a metric: the benchmarks endpoint supports it. For a dimension: benchmarks can be grouped by it.
    pub benchmark: bool,
    /// Metric or dimension, and what goes with it.
    pub kind: FieldKind,
}

/// Metric or dimension.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldKind {
    /// Computed per group.
    Metric(Metric),
    /// Groups rows.
    Dimension(Dimension),
}

/// What a metric is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// How it is computed.
    pub formula: Formula,
    /// What one of it is.
    pub unit: Unit,
    /// Which way is better.
    pub direction: Direction,
    /// Along which splits its values may be added.
    pub additivity: Additivity,
}

/// How a metric is computed from measures; a list of measures is their sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Formula {
    /// The sum itself: a count or an amount of money.
    Amount(&'static [Measure]),
    /// Numerator over denominator, by value; 0 if the denominator is 0.
    Ratio {
        /// The sum above the line.
        numerator: &'static [Measure],
        /// The sum below the line.
        denominator: &'static [Measure],
    },
}

impl Formula {
    /// Every measure that the formula is made of, in the order written; one that stands above and below the line comes twice.
    pub fn measures(self) -> impl Iterator<Item = Measure> {
        let (above, below): (&[Measure], &[Measure]) = match self {
            Self::Amount(sum) => (sum, &[]),
            Self::Ratio { numerator, denominator } => (numerator, denominator),
        };
        above.iter().chain(below).copied()
    }
}

/// What one of a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// A number of things.
    Count,
    /// An amount of money, in the currency of the data.
    Currency,
    /// A quotient of like things; 1 is the whole.
    Ratio,
    /// Money for one thing.
    CurrencyPerCount,
}

/// How a value is written for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueFormat {
    /// A whole number.
    Number,
    /// A number with a fraction.
    Decimal,
    /// Money.
    Currency,
    /// A fraction shown as a percentage.
    Percent,
    /// Text.
    Text,
    /// A day, `YYYY-MM-DD`.
    Date,
    /// A point in time, RFC 3339.
    Timestamp,
    /// `true` or `false`.
    Boolean,
}

/// Which way a metric is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// Neither.
    Neutral,
}

/// Along which splits the values of a metric may be added to the value of the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Additivity {
    /// Across dimensions that spend carries.
    pub across_spend_dimensions: bool,
    /// Across all other dimensions.
    pub across_other_dimensions: bool,
    /// Across sub-ranges.
    pub across_intervals: bool,
}

/// What a field belongs to.
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
    /// The single conversion.
    Conversion,
    /// The customer.
    Customer,
    /// Grades of conversions; empty for accounts without lead grading.
    LeadGrading,
    /// Money earned.
    Revenue,
    /// Money spent.
    Spend,
}

/// Where a dimension's value comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Dimension {
    /// Stored or computed.
    pub source: DimensionSource,
    /// The spend table's column with the same meaning, if spend carries the dimension.
    pub spend: Option<SpendColumn>,
}

/// Stored or computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DimensionSource {
    /// A column of the event table with the field's name.
    Stored,
    /// Computed from the customer's events.
    Computed(Computed),
}

/// The dimensions that are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Computed {
    /// The account's key.
    Account,
    /// The account's name.
    AccountName,
    /// The customer's state.
    AdjustedType,
    /// Whether the event is the state event.
    TypeIsLast,
    /// The date of the customer's first event.
    OpportunityStartDate,
    /// The earliest date of a booked event.
    FirstBooked,
    /// The earliest date of an estimated event.
    FirstEstimated,
    /// The earliest date of a sold event.
    FirstSold,
    /// The earliest date of a closed event.
    FirstClosed,
    /// The earliest date of a canceled event.
    FirstCanceled,
    /// Whether the customer is ever booked.
    OpportunityBooked,
    /// The event's date.
    Date,
    /// The Monday of the event's week.
    Week,
    /// The event's month.
    Month,
    /// The event's point in time.
    DateTime,
    /// The event's stage.
    Type,
    /// The customer's id.
    OpportunityId,
    /// The event's id.
    EventId,
}

/// The dimensions that the spend table carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpendColumn {
    /// `account`, and `accountKey`, which reads it.
    Account,
    /// The account's name.
    AccountName,
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
