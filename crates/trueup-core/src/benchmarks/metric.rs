//! The metrics that have benchmarks, and the exact amounts that their ratios are computed from.

use crate::money::MICROS_PER_UNIT;
use std::fmt;

/// A metric that has benchmarks. All of them are ratios.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BenchmarkMetric {
    /// `bookRate`
    BookRate,
    /// `matchRate`
    MatchRate,
    /// `payingCustomerRate`
    PayingCustomerRate,
    /// `customerCancelRate`
    CustomerCancelRate,
    /// `avgTicket`, in currency units.
    AvgTicket,
    /// `avgCostPerLead`, in currency units.
    AvgCostPerLead,
    /// `avgCostPerPayingCustomer`, in currency units.
    AvgCostPerPayingCustomer,
    /// `avgCostPerBookedCustomer`, in currency units.
    AvgCostPerBookedCustomer,
    /// `roasPotential`
    RoasPotential,
    /// `roasClosed`
    RoasClosed,
}

/// A metric that is a whole number: of things, or of millionths. All the ratios are made of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AmountMetric {
    Customers,
    BookedCustomers,
    MatchedCustomers,
    PayingCustomers,
    CanceledCustomers,
    Leads,
    EstimatedRevenue,
    SoldRevenue,
    ClosedRevenue,
    Spend,
}

/// An account's amounts in one segment, by their place in [`AmountMetric::ALL`].
pub(super) type AccountAmounts = [i128; AmountMetric::ALL.len()];

/// The amounts that are summed to the numerator and to the denominator of a metric.
pub(super) struct Ratio {
    pub(super) numerator: &'static [AmountMetric],
    pub(super) denominator: &'static [AmountMetric],
}

impl AmountMetric {
    pub(super) const ALL: [Self; 10] = [
        Self::Customers,
        Self::BookedCustomers,
        Self::MatchedCustomers,
        Self::PayingCustomers,
        Self::CanceledCustomers,
        Self::Leads,
        Self::EstimatedRevenue,
        Self::SoldRevenue,
        Self::ClosedRevenue,
        Self::Spend,
    ];

    /// The name of its field.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Customers => "customers",
            Self::BookedCustomers => "bookedCustomers",
            Self::MatchedCustomers => "matchedCustomers",
            Self::PayingCustomers => "payingCustomers",
            Self::CanceledCustomers => "canceledCustomers",
            Self::Leads => "leads",
            Self::EstimatedRevenue => "estimatedRevenue",
            Self::SoldRevenue => "soldRevenue",
            Self::ClosedRevenue => "closedRevenue",
            Self::Spend => "spend",
        }
    }

    const fn is_money(self) -> bool {
        matches!(self, Self::EstimatedRevenue | Self::SoldRevenue | Self::ClosedRevenue | Self::Spend)
    }

    /// Whether it comes from the spend table.
    pub(super) const fn is_spend(self) -> bool {
        matches!(self, Self::Spend)
    }

    pub(super) const fn of(self, amounts: &AccountAmounts) -> i128 {
        amounts[self as usize]
    }
}

impl BenchmarkMetric {
    /// Every metric that has benchmarks, in the order in which they are shown if none is named.
    pub const ALL: [Self; 10] = [
        Self::BookRate,
        Self::MatchRate,
        Self::PayingCustomerRate,
        Self::CustomerCancelRate,
        Self::AvgTicket,
        Self::AvgCostPerLead,
        Self::AvgCostPerPayingCustomer,
        Self::AvgCostPerBookedCustomer,
        Self::RoasPotential,
        Self::RoasClosed,
    ];

    /// The name of its field.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BookRate => "bookRate",
            Self::MatchRate => "matchRate",
            Self::PayingCustomerRate => "payingCustomerRate",
            Self::CustomerCancelRate => "customerCancelRate",
            Self::AvgTicket => "avgTicket",
            Self::AvgCostPerLead => "avgCostPerLead",
            Self::AvgCostPerPayingCustomer => "avgCostPerPayingCustomer",
            Self::AvgCostPerBookedCustomer => "avgCostPerBookedCustomer",
            Self::RoasPotential => "roasPotential",
            Self::RoasClosed => "roasClosed",
        }
    }

    /// The metric whose field has that name, if it has benchmarks.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.name() == name)
    }

    pub(super) const fn ratio(self) -> Ratio {
        use AmountMetric::{
            BookedCustomers, CanceledCustomers, ClosedRevenue, Customers, EstimatedRevenue, Leads, MatchedCustomers,
            PayingCustomers, SoldRevenue, Spend,
        };
        let (numerator, denominator): (&[AmountMetric], &[AmountMetric]) = match self {
            Self::BookRate => (&[BookedCustomers], &[Customers]),
            Self::MatchRate => (&[MatchedCustomers], &[Customers]),
            Self::PayingCustomerRate => (&[PayingCustomers], &[Customers]),
            Self::CustomerCancelRate => (&[CanceledCustomers], &[Customers]),
            Self::AvgTicket => (&[SoldRevenue, ClosedRevenue], &[PayingCustomers]),
            Self::AvgCostPerLead => (&[Spend], &[Leads]),
            Self::AvgCostPerPayingCustomer => (&[Spend], &[PayingCustomers]),
            Self::AvgCostPerBookedCustomer => (&[Spend], &[BookedCustomers]),
            Self::RoasPotential => (&[EstimatedRevenue, SoldRevenue, ClosedRevenue], &[Spend]),
            Self::RoasClosed => (&[ClosedRevenue], &[Spend]),
        };
        Ratio { numerator, denominator }
    }
}

impl Ratio {
    pub(super) fn numerator(&self, amounts: &AccountAmounts) -> i128 {
        self.numerator.iter().map(|amount| amount.of(amounts)).sum()
    }

    pub(super) fn denominator(&self, amounts: &AccountAmounts) -> i128 {
        self.denominator.iter().map(|amount| amount.of(amounts)).sum()
    }

    /// What the quotient of the two whole numbers is divided by to be the metric: the millionths that only the upper side has.
    pub(super) fn unit(&self) -> i128 {
        let is_money = |side: &[AmountMetric]| side.iter().any(|amount| amount.is_money());
        if is_money(self.numerator) && !is_money(self.denominator) { i128::from(MICROS_PER_UNIT) } else { 1 }
    }
}

impl fmt::Display for BenchmarkMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests;
