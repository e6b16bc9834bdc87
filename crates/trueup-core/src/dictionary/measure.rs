//! What is counted or summed while events are read; every metric is made of these.

/// One number that is gathered per group and sub-range. Measures of disjoint events add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Measure {
    // Counts of rows.
    /// Rows.
    Rows,
    /// Rows of type lead-originated.
    Conversions,
    /// Rows that are their customer's first event and a conversion.
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
    /// Rows that are their customer's earliest booked event of all.
    FirstBooked,
    /// Those whose customer is ever estimated.
    FirstBookedEstimated,
    /// Rows that are their customer's earliest estimated event of all.
    FirstEstimated,
    /// Those whose customer is ever sold.
    FirstEstimatedSold,
    /// Rows that are their customer's earliest sold event of all.
    FirstSold,
    /// Those whose customer is ever closed.
    FirstSoldClosed,
    // Counts of state rows.
    /// State rows.
    Customers,
    /// State rows with a customer status other than `Unmatched`.
    MatchedCustomers,
    /// State rows without one.
    UnmatchedCustomers,
    /// State rows in state sold or closed.
    PayingCustomers,
    /// State rows whose customer has a booked event in the sub-range.
    BookedCustomers,
    /// State rows whose customer has a canceled event in the sub-range.
    CanceledCustomers,
    /// State rows whose customer has a canceled event later than its earliest booked event of the sub-range.
    CanceledAfterBooking,
    /// Distinct customers of the rows.
    Opportunities,
    // Sums of money.
    /// Sum of `total` over rows.
    Total,
    /// Average live estimate of state rows in state estimated.
    EstimatedRevenue,
    /// Live sales of state rows in state sold.
    SoldRevenue,
    /// Closed work of state rows in state closed.
    ClosedRevenue,
    // Sets.
    /// Distinct non-empty opportunity agents of the state rows.
    OpportunityAgents,
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

/// How a measure is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MeasureKind {
    /// A count of rows.
    Rows,
    /// A count of state rows.
    StateRows,
    /// A sum of money over rows.
    RowMoney,
    /// A sum of money over state rows.
    StateMoney,
    /// A count of distinct values over state rows.
    StateDistinct,
    /// A sum of money over spend rows.
    SpendMoney,
    /// A sum of whole numbers over spend rows.
    SpendCount,
}

impl Measure {
    /// How the measure is held.
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
            | Self::FirstSoldClosed => MeasureKind::Rows,
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
            Self::AdSpend | Self::ManagementFee | Self::CampaignSpend => MeasureKind::SpendMoney,
            Self::Clicks | Self::Impressions => MeasureKind::SpendCount,
        }
    }

    /// Whether the measure is gathered from the spend table.
    #[must_use]
    pub const fn is_spend(self) -> bool {
        matches!(self.kind(), MeasureKind::SpendMoney | MeasureKind::SpendCount)
    }
}
