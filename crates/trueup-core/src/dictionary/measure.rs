//! The measures: the integers that the engine counts or sums. Every metric is a formula over measures.

use super::StagePair;
use serde::{Deserialize, Serialize};

/// An integer that the engine counts or sums per group and sub-range.
///
/// A *state row* is the state event of a customer in a sub-range: the last live event of the furthest stage that the
/// customer reached there or, if the customer is canceled, the last cancellation. Money is in millionths of a currency
/// unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Measure {
    // Counts of rows.
    /// All rows.
    Rows,
    /// Rows of type lead-originated.
    Conversions,
    /// Rows that are the first event of their customer's history and a conversion.
    Leads,
    /// Leads whose customer has a sold event anywhere in its history.
    SoldLeads,
    /// Leads whose customer has a closed event anywhere in its history.
    ClosedLeads,
    /// Leads whose customer has a booked event anywhere in its history.
    BookedLeads,
    /// Conversions with a grade.
    GradedConversions,
    /// Conversions graded as booked.
    BookedConversions,
    /// Conversions graded as bookable, but not booked.
    BookableUnbookedConversions,
    /// Conversions graded as unbookable.
    UnbookableConversions,
    /// Rows that are the earliest booked event of their customer's history.
    FirstBooked,
    /// Rows of [`FirstBooked`](Self::FirstBooked) whose customer has an estimated event anywhere in its history.
    FirstBookedEstimated,
    /// Rows that are the earliest estimated event of their customer's history.
    FirstEstimated,
    /// Rows of [`FirstEstimated`](Self::FirstEstimated) whose customer has a sold event anywhere in its history.
    FirstEstimatedSold,
    /// Rows that are the earliest sold event of their customer's history.
    FirstSold,
    /// Rows of [`FirstSold`](Self::FirstSold) whose customer has a closed event anywhere in its history.
    FirstSoldClosed,
    /// Leads of a cohort whose window ends after the last event of the accounts that are read.
    OpenLeads,
    // Counts of state rows.
    /// All state rows.
    Customers,
    /// State rows with a customer status other than `Unmatched`.
    MatchedCustomers,
    /// State rows with the customer status `Unmatched` or none.
    UnmatchedCustomers,
    /// State rows in state sold or closed.
    PayingCustomers,
    /// State rows whose customer has a booked event in the sub-range.
    BookedCustomers,
    /// State rows whose customer has a canceled event in the sub-range.
    CanceledCustomers,
    /// State rows whose customer has a canceled event later than its earliest booked event of the sub-range.
    CanceledAfterBooking,
    // A count of the customers of all rows.
    /// Distinct customers of the rows.
    Opportunities,
    // Sums of money.
    /// Sum of `total` over rows.
    Total,
    /// Sum over state rows in state estimated: the average amount of the customer's live estimates that have an amount.
    EstimatedRevenue,
    /// Sum over state rows in state sold: the amounts of the customer's live sales.
    SoldRevenue,
    /// Sum over state rows in state closed: the amounts of the customer's closed events in the sub-range.
    ClosedRevenue,
    // Sets.
    /// Distinct non-empty opportunity agents of the state rows.
    OpportunityAgents,
    // Durations, each counted on the event with which it begins.
    /// Customers with a duration.
    Reached(StagePair),
    /// Customers at the first stage without a duration.
    NotReached(StagePair),
    /// Sum of durations, in days.
    Days(StagePair),
    /// Number of durations of each number of days.
    DayCounts(StagePair),
    // Spend.
    /// Ad spend.
    AdSpend,
    /// Management fees.
    ManagementFee,
    /// Ad spend and management fees of spend rows with a campaign.
    CampaignSpend,
    /// Clicks.
    Clicks,
    /// Impressions.
    Impressions,
}

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
    /// Durations between two stages: their number, their sum, or the number for each number of days.
    Durations,
    /// A sum of money over spend rows.
    SpendMoney,
    /// A sum of integers over spend rows.
    SpendCount,
}

impl Measure {
    /// Returns whether the measure is a sum of money.
    pub(crate) const fn is_money(self) -> bool {
        matches!(self.kind(), MeasureKind::RowMoney | MeasureKind::StateMoney | MeasureKind::SpendMoney)
    }

    /// Returns the kind of the measure.
    #[must_use]
    pub const fn kind(self) -> MeasureKind {
        match self {
            Self::Rows
            | Self::Conversions
            | Self::Leads
            | Self::SoldLeads
            | Self::ClosedLeads
            | Self::BookedLeads
            | Self::Opportunities
            | Self::GradedConversions
            | Self::BookedConversions
            | Self::BookableUnbookedConversions
            | Self::UnbookableConversions
            | Self::FirstBooked
            | Self::FirstBookedEstimated
            | Self::FirstEstimated
            | Self::FirstEstimatedSold
            | Self::FirstSold
            | Self::FirstSoldClosed
            | Self::OpenLeads => MeasureKind::Rows,
            Self::Customers
            | Self::MatchedCustomers
            | Self::UnmatchedCustomers
            | Self::PayingCustomers
            | Self::BookedCustomers
            | Self::CanceledCustomers
            | Self::CanceledAfterBooking => MeasureKind::StateRows,
            Self::Total => MeasureKind::RowMoney,
            Self::EstimatedRevenue | Self::SoldRevenue | Self::ClosedRevenue => MeasureKind::StateMoney,
            Self::OpportunityAgents => MeasureKind::StateDistinct,
            Self::Reached(_) | Self::NotReached(_) | Self::Days(_) | Self::DayCounts(_) => MeasureKind::Durations,
            Self::AdSpend | Self::ManagementFee | Self::CampaignSpend => MeasureKind::SpendMoney,
            Self::Clicks | Self::Impressions => MeasureKind::SpendCount,
        }
    }

    /// Returns whether the measure is computed from the spend table.
    #[must_use]
    pub const fn is_spend(self) -> bool {
        matches!(self.kind(), MeasureKind::SpendMoney | MeasureKind::SpendCount)
    }

    /// Returns the name of the measure in formulas, and its definition as a sentence without a verb.
    const fn texts(self) -> (&'static str, &'static str) {
        match self {
            Self::Rows => ("rows", "Events."),
            Self::Conversions => ("conversions", "Events of stage lead-originated."),
            Self::Leads => ("leads", "Events that are the first event of their customer's history and a conversion."),
            Self::SoldLeads => ("soldLeads", "Leads whose customer has a sold event anywhere in its history."),
            Self::ClosedLeads => ("closedLeads", "Leads whose customer has a closed event anywhere in its history."),
            Self::BookedLeads => ("bookedLeads", "Leads whose customer has a booked event anywhere in its history."),
            Self::GradedConversions => ("gradedConversions", "Conversions with a grade."),
            Self::BookedConversions => ("bookedConversions", "Conversions graded as booked."),
            Self::BookableUnbookedConversions => {
                ("bookableUnbookedConversions", "Conversions graded as bookable, but not booked.")
            }
            Self::UnbookableConversions => ("unbookableConversions", "Conversions graded as unbookable."),
            Self::FirstBooked => {
                ("firstBooked", "Events that are the earliest booked event of their customer's history.")
            }
            Self::FirstBookedEstimated => (
                "firstBookedEstimated",
                "Those of `firstBooked` whose customer has an estimated event anywhere in its history.",
            ),
            Self::FirstEstimated => {
                ("firstEstimated", "Events that are the earliest estimated event of their customer's history.")
            }
            Self::FirstEstimatedSold => (
                "firstEstimatedSold",
                "Those of `firstEstimated` whose customer has a sold event anywhere in its history.",
            ),
            Self::FirstSold => ("firstSold", "Events that are the earliest sold event of their customer's history."),
            Self::FirstSoldClosed => {
                ("firstSoldClosed", "Those of `firstSold` whose customer has a closed event anywhere in its history.")
            }
            Self::OpenLeads => {
                ("openLeads", "Leads of a cohort whose window ends after the last event of the accounts that are read.")
            }
            Self::Customers => ("customers", "Customers, each counted once, on its state event."),
            Self::MatchedCustomers => {
                ("matchedCustomers", "Customers whose state event has a customer status other than `Unmatched`.")
            }
            Self::UnmatchedCustomers => {
                ("unmatchedCustomers", "Customers whose state event has the customer status `Unmatched` or none.")
            }
            Self::PayingCustomers => ("payingCustomers", "Customers in state sold or closed."),
            Self::BookedCustomers => ("bookedCustomers", "Customers with a booked event in the sub-range."),
            Self::CanceledCustomers => ("canceledCustomers", "Customers with a canceled event in the sub-range."),
            Self::CanceledAfterBooking => (
                "canceledAfterBooking",
                "Customers with a canceled event later than their earliest booked event of the sub-range.",
            ),
            Self::Opportunities => ("opportunities", "Distinct customers of the events."),
            Self::Total => ("total", "Sum of `total` over events."),
            Self::EstimatedRevenue => (
                "estimatedRevenue",
                "Sum over customers in state estimated: the average amount of their live estimates that have an \
                 amount.",
            ),
            Self::SoldRevenue => ("soldRevenue", "Sum over customers in state sold: the amounts of their live sales."),
            Self::ClosedRevenue => (
                "closedRevenue",
                "Sum over customers in state closed: the amounts of their closed events in the sub-range.",
            ),
            Self::OpportunityAgents => ("opportunityAgents", "Distinct non-empty opportunity agents of state events."),
            Self::Reached(pair) => pair.texts().reached,
            Self::NotReached(pair) => pair.texts().not_reached,
            Self::Days(pair) => pair.texts().days,
            Self::DayCounts(pair) => pair.texts().day_counts,
            Self::AdSpend => ("adSpend", "The ad spend of spend rows."),
            Self::ManagementFee => ("managementFee", "The management fees of spend rows."),
            Self::CampaignSpend => ("campaignSpend", "Ad spend and management fees of spend rows with a campaign."),
            Self::Clicks => ("clicks", "The clicks of spend rows."),
            Self::Impressions => ("impressions", "The impressions of spend rows."),
        }
    }

    /// Returns the name of the measure in formulas, such as `bookedCustomers`. The metric that shows a measure alone
    /// mostly has the same name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.texts().0
    }

    /// Returns what the measure counts or sums.
    #[must_use]
    pub const fn definition(self) -> &'static str {
        self.texts().1
    }
}
