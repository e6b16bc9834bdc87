//! The measures: the integers that the engine counts or sums. Every metric is a formula over measures.

use super::{Additivity, Measure};
use crate::stage::Stage;

/// The stored column of the grades of conversions.
pub(crate) const GRADE_COLUMN: &str = "conversionDetailedLabel";
/// The stored column of the customer's status.
pub(crate) const STATUS_COLUMN: &str = "customerStatus";
/// The stored column of the agent in charge of the customer, and not of the agent who handled the event.
pub(crate) const AGENT_COLUMN: &str = "opportunityAgent";
/// The stored column of amounts of events.
pub(crate) const TOTAL_COLUMN: &str = "total";

/// Defines [`Measure`]. Each row of the table is one measure: its kind, its name in formulas, its definition (a
/// sentence without a verb), the stored columns that it reads in addition to customer, account, stage and date, and
/// where the values of groups add up if not where those of its kind do. The measures of durations follow, one of each
/// for each pair of stages.
macro_rules! measures {
    ($(
        $measure:ident: $kind:ident, $name:literal, $definition:literal
        $(, reads [$($column:expr),*])? $(, adds_up $additivity:ident)?;
    )*) => {
        /// An integer that the engine counts or sums per group and sub-range.
        ///
        /// A *state row* is the state event of a customer in a sub-range: the last live event of the furthest stage
        /// that the customer reached there or, if the customer is canceled, the last cancellation. Money is in
        /// millionths of a currency unit.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub enum Measure {
            $(#[doc = $definition] $measure,)*
            /// Customers with a duration.
            Reached(crate::dictionary::StagePair),
            /// Customers at the first stage without a duration.
            NotReached(crate::dictionary::StagePair),
            /// Sum of durations, in days.
            Days(crate::dictionary::StagePair),
            /// Number of durations of each number of days.
            DayCounts(crate::dictionary::StagePair),
        }

        impl Measure {
            /// Returns what the dictionary says of the measure.
            pub(super) const fn entry(self) -> crate::dictionary::measure::MeasureEntry {
                use crate::dictionary::measure::{MeasureEntry, MeasureKind};
                match self {
                    $(Self::$measure => MeasureEntry::new(MeasureKind::$kind, $name, $definition)
                        $(.reads(&[$($column),*]))? $(.adds_up(crate::dictionary::Additivity::$additivity))?,)*
                    Self::Reached(pair) => MeasureEntry::durations(pair.texts().reached),
                    Self::NotReached(pair) => MeasureEntry::durations(pair.texts().not_reached),
                    Self::Days(pair) => MeasureEntry::durations(pair.texts().days),
                    Self::DayCounts(pair) => MeasureEntry::durations(pair.texts().day_counts),
                }
            }
        }
    };
}

pub(super) use measures;

/// The kind of a measure: the rows that it is computed over, and the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MeasureKind {
    /// A count of rows; [`Measure::Opportunities`] counts the customers that have rows.
    Rows,
    /// A count of state rows.
    StateRows,
    /// A sum of money over rows.
    RowMoney,
    /// A sum of money over state rows.
    StateMoney,
    /// A count of distinct values over state rows.
    StateDistinct,
    /// Days between events of a customer, each counted on the event with which they begin.
    Durations,
    /// A sum of money over spend rows.
    SpendMoney,
    /// A sum of integers over spend rows.
    SpendCount,
}

/// What the dictionary says of a measure.
#[derive(Clone, Copy, Debug)]
pub(super) struct MeasureEntry {
    kind: MeasureKind,
    name: &'static str,
    definition: &'static str,
    columns: &'static [&'static str],
    additivity: Additivity,
}

impl MeasureEntry {
    pub(super) const fn new(kind: MeasureKind, name: &'static str, definition: &'static str) -> Self {
        Self { kind, name, definition, columns: &[], additivity: kind.additivity() }
    }

    /// Returns the entry of a measure of durations, given its name and its definition.
    pub(super) const fn durations((name, definition): (&'static str, &'static str)) -> Self {
        Self::new(MeasureKind::Durations, name, definition)
    }

    pub(super) const fn reads(self, columns: &'static [&'static str]) -> Self {
        Self { columns, ..self }
    }

    pub(super) const fn adds_up(self, additivity: Additivity) -> Self {
        Self { additivity, ..self }
    }
}

impl MeasureKind {
    /// Returns whether the values of groups with this kind of measure add up.
    const fn additivity(self) -> Additivity {
        match self {
            // A row belongs to one group and one sub-range.
            Self::Rows | Self::RowMoney | Self::Durations => Additivity::EVERYWHERE,
            // A customer has one state row in each sub-range with events of it.
            Self::StateRows | Self::StateMoney => Additivity::DIMENSIONS,
            // One agent may serve customers of many groups.
            Self::StateDistinct => Additivity::NOWHERE,
            // A dimension that spend does not have shows the same spend on each of its values.
            Self::SpendMoney | Self::SpendCount => Additivity::SPEND,
        }
    }
}

impl Measure {
    /// Returns the kind of the measure.
    #[must_use]
    pub const fn kind(self) -> MeasureKind {
        self.entry().kind
    }

    /// Returns whether the measure is a sum of money.
    pub(crate) const fn is_money(self) -> bool {
        matches!(self.kind(), MeasureKind::RowMoney | MeasureKind::StateMoney | MeasureKind::SpendMoney)
    }

    /// Returns whether the measure is computed over state rows.
    pub(crate) const fn is_of_states(self) -> bool {
        matches!(self.kind(), MeasureKind::StateRows | MeasureKind::StateMoney | MeasureKind::StateDistinct)
    }

    /// Returns whether the measure is computed from the spend table.
    #[must_use]
    pub const fn is_spend(self) -> bool {
        matches!(self.kind(), MeasureKind::SpendMoney | MeasureKind::SpendCount)
    }

    /// Returns where the values of groups add up.
    pub(super) const fn additivity(self) -> Additivity {
        self.entry().additivity
    }

    /// Returns the measures that are aggregated to compute this one, each with whether it is subtracted.
    pub(crate) fn terms(self) -> impl Iterator<Item = (Self, bool)> {
        let terms = match self {
            // The customers without a duration are the population without the customers that have one.
            Self::NotReached(pair) => [Some((pair.population(), false)), Some((Self::Reached(pair), true))],
            _ => [Some((self, false)), None],
        };
        terms.into_iter().flatten()
    }

    /// Returns the state of the customers that the measure counts the revenue of; `None` if it is no revenue.
    pub(crate) const fn revenue_state(self) -> Option<Stage> {
        match self {
            Self::EstimatedRevenue => Some(Stage::Estimated),
            Self::SoldRevenue => Some(Stage::Sold),
            Self::ClosedRevenue => Some(Stage::Closed),
            _ => None,
        }
    }

    /// Returns the stored columns that the measure reads in addition to customer, account, stage and date.
    pub(crate) const fn columns(self) -> &'static [&'static str] {
        self.entry().columns
    }

    /// Returns whether the measure reads the grades of conversions, which accounts without lead grading do not have.
    #[must_use]
    pub fn is_of_grades(self) -> bool {
        self.columns().contains(&GRADE_COLUMN)
    }

    /// Returns the name of the measure in formulas, such as `bookedCustomers`. The metric that shows a measure alone
    /// mostly has the same name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.entry().name
    }

    /// Returns what the measure counts or sums.
    #[must_use]
    pub const fn definition(self) -> &'static str {
        self.entry().definition
    }
}
