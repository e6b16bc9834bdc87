//! The metrics and the dimensions of benchmarks, and the amounts that a metric is the ratio of.

use crate::definitions::DefinedFormula;
use crate::money::MICROS_PER_UNIT;
use crate::named::named;
use crate::text::quoted;

named! {
    /// A metric that has benchmarks, with the name of its field. Each is a ratio: shares are fractions, money is in
    /// currency units. Rows show the metrics in this order if a request names no field.
    ///
    /// ```
    /// use trueup_core::benchmarks::BenchmarkMetric;
    ///
    /// assert_eq!(BenchmarkMetric::from_name("bookRate"), Some(BenchmarkMetric::BookRate));
    /// // Counts have no benchmarks.
    /// assert_eq!(BenchmarkMetric::from_name("leads"), None);
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum BenchmarkMetric {
        /// `bookRate`: booked customers per customer.
        BookRate = "bookRate",
        /// `matchRate`: matched customers per customer.
        MatchRate = "matchRate",
        /// `payingCustomerRate`: paying customers per customer.
        PayingCustomerRate = "payingCustomerRate",
        /// `customerCancelRate`: canceled customers per customer.
        CustomerCancelRate = "customerCancelRate",
        /// `avgTicket`: sold and closed revenue per paying customer, in currency units.
        AvgTicket = "avgTicket",
        /// `avgCostPerLead`: spend per lead, in currency units.
        AvgCostPerLead = "avgCostPerLead",
        /// `avgCostPerPayingCustomer`: spend per paying customer, in currency units.
        AvgCostPerPayingCustomer = "avgCostPerPayingCustomer",
        /// `avgCostPerBookedCustomer`: spend per booked customer, in currency units.
        AvgCostPerBookedCustomer = "avgCostPerBookedCustomer",
        /// `roasPotential`: estimated, sold and closed revenue per spend.
        RoasPotential = "roasPotential",
        /// `roasClosed`: closed revenue per spend.
        RoasClosed = "roasClosed",
    }
}

named! {
    /// A metric that is an integer, with the name of its field: a count, or money in millionths. The numerator and the
    /// denominator of each [`BenchmarkMetric`] are sums of such metrics.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum AmountMetric {
        Customers = "customers",
        BookedCustomers = "bookedCustomers",
        MatchedCustomers = "matchedCustomers",
        PayingCustomers = "payingCustomers",
        CanceledCustomers = "canceledCustomers",
        Leads = "leads",
        EstimatedRevenue = "estimatedRevenue",
        SoldRevenue = "soldRevenue",
        ClosedRevenue = "closedRevenue",
        Spend = "spend",
    }
}

/// The amounts of one account in one segment, in the order of [`AmountMetric::ALL`].
pub(super) type AccountAmounts = [i128; AmountMetric::ALL.len()];

/// The amounts whose sums are the numerator and the denominator of a metric.
pub(super) struct Ratio {
    pub(super) numerator: &'static [AmountMetric],
    pub(super) denominator: &'static [AmountMetric],
}

impl AmountMetric {
    pub(super) const fn is_money(self) -> bool {
        matches!(self, Self::EstimatedRevenue | Self::SoldRevenue | Self::ClosedRevenue | Self::Spend)
    }

    /// Returns whether the amount comes from the spend table.
    pub(super) const fn is_spend(self) -> bool {
        matches!(self, Self::Spend)
    }

    pub(super) const fn of(self, amounts: &AccountAmounts) -> i128 {
        amounts[self as usize]
    }
}

impl BenchmarkMetric {
    /// Returns the names of all metrics for a message.
    pub(super) fn all_names() -> String {
        quoted(Self::ALL.map(Self::name))
    }

    /// Returns the metric with the field `name`; `None` if the field has no benchmarks.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// Returns the metric that is a ratio of the same amounts as a formula; `None` if there is none.
    pub(super) fn of_formula(formula: &DefinedFormula) -> Option<Self> {
        let DefinedFormula::Ratio { numerator, denominator } = formula else { return None };
        let sides = [numerator.added_metrics()?, denominator.added_metrics()?];
        let names = |amounts: &[AmountMetric]| {
            let mut names: Vec<&str> = amounts.iter().map(|amount| amount.name()).collect();
            names.sort_unstable();
            names
        };
        Self::ALL.into_iter().find(|metric| {
            let Ratio { numerator, denominator } = metric.ratio();
            sides == [numerator, denominator].map(names)
        })
    }

    /// Returns whether it is made of money, a return on ad spend included.
    pub(super) fn is_of_money(self) -> bool {
        let Ratio { numerator, denominator } = self.ratio();
        has_money(numerator) || has_money(denominator)
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
    pub(super) fn numerator_of(&self, amounts: &AccountAmounts) -> i128 {
        self.numerator.iter().map(|amount| amount.of(amounts)).sum()
    }

    pub(super) fn denominator_of(&self, amounts: &AccountAmounts) -> i128 {
        self.denominator.iter().map(|amount| amount.of(amounts)).sum()
    }

    /// Returns the factor between the ratio of the integers and the metric: the millionths per unit if only the
    /// numerator is money.
    pub(super) fn unit(&self) -> i128 {
        if has_money(self.numerator) && !has_money(self.denominator) { i128::from(MICROS_PER_UNIT) } else { 1 }
    }
}

/// Returns whether one of the amounts is money.
fn has_money(amounts: &[AmountMetric]) -> bool {
    amounts.iter().any(|amount| amount.is_money())
}

named! {
    /// A dimension that benchmarks can be grouped by and filtered on, with the name of its field. No other field
    /// filters them.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum BenchmarkDimension {
        /// `attributionCategory`. Spend has it.
        AttributionCategory = "attributionCategory",
        /// `attributionChannel`. Spend has it.
        AttributionChannel = "attributionChannel",
        /// `customerStatus`. Spend does not have it, so that each group shows all spend.
        CustomerStatus = "customerStatus",
        /// `normalizedBusinessUnit`. Spend does not have it, so that each group shows all spend.
        NormalizedBusinessUnit = "normalizedBusinessUnit",
    }
}

impl BenchmarkDimension {
    /// The dimensions that spend has. They are the first ones of [`ALL`](Self::ALL).
    pub(super) const IN_SPEND: [Self; 2] = [Self::AttributionCategory, Self::AttributionChannel];

    /// Returns whether spend has it, so that spend adds up along it.
    pub(super) const fn is_in_spend(self) -> bool {
        self.index() < Self::IN_SPEND.len()
    }

    /// Returns the names of all dimensions for a message.
    pub(super) fn all_names() -> String {
        quoted(Self::ALL.map(Self::name))
    }

    /// Returns the dimension with the field `name`; `None` if benchmarks do not have it.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dimension| dimension.name() == name)
    }

    /// Returns its index in [`ALL`](Self::ALL).
    pub(super) const fn index(self) -> usize {
        self as usize
    }
}
