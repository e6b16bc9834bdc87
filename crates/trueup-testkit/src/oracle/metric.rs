//! Section 6: the metrics of one group.

use std::collections::BTreeSet;

use super::enrich::Row;
use super::number::{Amount, average};
use super::spend;
use super::tables::SpendRow;

/// Every metric of sections 6 and 7, in their order.
pub const METRICS: [&str; 47] = [
    "eventCount",
    "conversions",
    "leads",
    "soldLeads",
    "closedLeads",
    "opportunityCount",
    "total",
    "customers",
    "matchedCustomers",
    "unmatchedCustomers",
    "payingCustomers",
    "bookedCustomers",
    "canceledCustomers",
    "opportunityAgents",
    "estimatedRevenue",
    "soldRevenue",
    "closedRevenue",
    "revenuePotential",
    "spend",
    "campaignSpend",
    "cost",
    "clicks",
    "impressions",
    "gradedConversions",
    "bookableConversions",
    "bookedConversions",
    "bookableUnbookedConversions",
    "unbookableConversions",
    "percentConversionsGraded",
    "conversionQuality",
    "avgConversionsPerLead",
    "avgCostPerConversion",
    "avgCostPerLead",
    "avgCostPerPayingCustomer",
    "avgCostPerBookedCustomer",
    "avgTicket",
    "bookRate",
    "matchRate",
    "payingCustomerRate",
    "customerCancelRate",
    "cancelRate",
    "roasPotential",
    "roasClosed",
    "stepBookRate",
    "stepEstimateRate",
    "stepSoldRate",
    "stepCloseRate",
];

/// Whether a metric is made of the spend table (section 7, last rule).
pub(super) fn needs_spend(metric: &str) -> bool {
    matches!(
        metric,
        "spend"
            | "campaignSpend"
            | "cost"
            | "clicks"
            | "impressions"
            | "avgCostPerConversion"
            | "avgCostPerLead"
            | "avgCostPerPayingCustomer"
            | "avgCostPerBookedCustomer"
            | "roasPotential"
            | "roasClosed"
    )
}

/// The value of a metric before it becomes a double.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Figure {
    Plain(Amount),
    Ratio(Amount, Amount),
}

impl Figure {
    /// "each is turned into a double by value, then divided once. A ratio with denominator 0 is 0."
    pub(super) fn double(self) -> f64 {
        match self {
            Self::Plain(amount) => amount.double(),
            Self::Ratio(_, denominator) if denominator.is_zero() => 0.0,
            Self::Ratio(numerator, denominator) => numerator.double() / denominator.double(),
        }
    }

    /// Section 8: "A condition on a ratio whose denominator is 0 is unknown".
    pub(super) fn is_known(self) -> bool {
        !matches!(self, Self::Ratio(_, denominator) if denominator.is_zero())
    }
}

/// One group: its enriched rows that passed the filter, and the spend beside them.
pub(super) struct Group<'a> {
    pub(super) rows: Vec<Row<'a>>,
    pub(super) spend: Vec<&'a SpendRow>,
}

impl<'a> Group<'a> {
    fn count(&self, holds: impl Fn(&Row<'a>) -> bool) -> i128 {
        self.rows.iter().map(|row| i128::from(holds(row))).sum()
    }

    /// Counts state rows.
    fn states(&self, holds: impl Fn(&Row<'a>) -> bool) -> i128 {
        self.count(|row| row.type_is_last() && holds(row))
    }

    /// Counts conversions, "a `lead-originated` event" (section 2), by their label.
    fn labels(&self, wanted: &[&str]) -> i128 {
        self.count(|row| is_conversion(row) && wanted.contains(&row.dimension("conversionDetailedLabel").as_str()))
    }

    /// Adds up an amount over the state rows that are in one state.
    fn over_state(&self, state: &str, amount: impl Fn(&Row<'a>) -> i128) -> i128 {
        self.rows.iter().filter(|row| row.type_is_last() && row.period.state == state).map(amount).sum()
    }

    /// "over rows that are their customer's earliest event of one stage of all: the share ever in the next".
    fn step(&self, from: &str, to: &str) -> Figure {
        let earliest = |row: &Row<'_>| row.period.customer.earliest(from) == Some(row.place);
        let moved = self.count(|row| earliest(row) && row.period.customer.ever(to));
        Figure::Ratio(Amount::Count(moved), Amount::Count(self.count(earliest)))
    }

    /// The amount of a metric that is no ratio; a name that is none counts nothing.
    fn amount(&self, metric: &str) -> Amount {
        use Amount::{Count, Money};
        match metric {
            "eventCount" => Count(self.count(|_| true)),
            "conversions" => Count(self.count(is_conversion)),
            "leads" => Count(self.count(is_lead)),
            "soldLeads" => Count(self.count(|row| is_lead(row) && row.period.customer.ever("sold"))),
            "closedLeads" => Count(self.count(|row| is_lead(row) && row.period.customer.ever("closed"))),
            "opportunityCount" => Count(distinct(self.rows.iter().map(|row| {
                let customer = row.period.customer;
                (customer.account.account.clone(), customer.opportunity_id.clone())
            }))),
            "total" => Money(self.rows.iter().map(|row| i128::from(row.event().total.unwrap_or(0))).sum()),
            "customers" => Count(self.states(|_| true)),
            "matchedCustomers" => Count(self.states(is_matched)),
            "unmatchedCustomers" => Count(self.states(|row| !is_matched(row))),
            "payingCustomers" => Count(self.states(|row| matches!(row.period.state, "sold" | "closed"))),
            "bookedCustomers" => Count(self.states(|row| !row.period.events_in_range("booked").is_empty())),
            "canceledCustomers" => Count(self.states(|row| !row.period.events_in_range("canceled").is_empty())),
            "opportunityAgents" => Count(distinct(
                self.rows
                    .iter()
                    .filter(|row| row.type_is_last())
                    .map(|row| row.dimension("opportunityAgent"))
                    .filter(|agent| !agent.is_empty()),
            )),
            "estimatedRevenue" => Money(self.over_state("estimated", |row| {
                let estimates = row.period.live_events("estimated");
                average(&estimates.iter().filter_map(|place| total_at(row, *place)).collect::<Vec<_>>())
            })),
            "soldRevenue" => Money(self.over_state("sold", |row| sum(row, &row.period.live_events("sold")))),
            "closedRevenue" => Money(self.over_state("closed", |row| sum(row, &row.period.events_in_range("closed")))),
            "spend" => Money(spend::spend(&self.spend)),
            "campaignSpend" => Money(spend::campaign_spend(&self.spend)),
            "cost" => Money(spend::cost(&self.spend)),
            "clicks" => Count(spend::clicks(&self.spend)),
            "impressions" => Count(spend::impressions(&self.spend)),
            "gradedConversions" => {
                Count(self.count(|row| is_conversion(row) && !row.dimension("conversionDetailedLabel").is_empty()))
            }
            "bookableConversions" => Count(self.labels(&["Bookable - Booked", "Bookable - Didn't Book"])),
            "bookedConversions" => Count(self.labels(&["Bookable - Booked"])),
            "bookableUnbookedConversions" => Count(self.labels(&["Bookable - Didn't Book"])),
            "unbookableConversions" => Count(self.labels(&["Unbookable"])),
            _ => Count(0),
        }
    }

    /// The sum of metrics in money.
    fn money(&self, metrics: &[&str]) -> Amount {
        let millionths = |metric: &&str| match self.amount(metric) {
            Amount::Money(micros) => micros,
            Amount::Count(_) => 0,
        };
        Amount::Money(metrics.iter().map(millionths).sum())
    }

    /// The value of any metric in this group.
    pub(super) fn figure(&self, metric: &str) -> Figure {
        let ratio = |numerator, denominator| Figure::Ratio(self.amount(numerator), self.amount(denominator));
        let potential = self.money(&["estimatedRevenue", "soldRevenue", "closedRevenue"]);
        match metric {
            "revenuePotential" => Figure::Plain(potential),
            "percentConversionsGraded" => ratio("gradedConversions", "conversions"),
            "conversionQuality" => ratio("bookableConversions", "gradedConversions"),
            "avgConversionsPerLead" => ratio("conversions", "leads"),
            "avgCostPerConversion" => ratio("spend", "conversions"),
            "avgCostPerLead" => ratio("spend", "leads"),
            "avgCostPerPayingCustomer" => ratio("spend", "payingCustomers"),
            "avgCostPerBookedCustomer" => ratio("spend", "bookedCustomers"),
            "avgTicket" => Figure::Ratio(self.money(&["soldRevenue", "closedRevenue"]), self.amount("payingCustomers")),
            "bookRate" => ratio("bookedCustomers", "customers"),
            "matchRate" => ratio("matchedCustomers", "customers"),
            "payingCustomerRate" => ratio("payingCustomers", "customers"),
            "customerCancelRate" => ratio("canceledCustomers", "customers"),
            "cancelRate" => {
                Figure::Ratio(Amount::Count(self.states(booked_then_canceled)), self.amount("bookedCustomers"))
            }
            "roasPotential" => Figure::Ratio(potential, self.amount("spend")),
            "roasClosed" => ratio("closedRevenue", "spend"),
            "stepBookRate" => {
                let booked = self.count(|row| is_lead(row) && row.period.customer.ever("booked"));
                Figure::Ratio(Amount::Count(booked), self.amount("leads"))
            }
            "stepEstimateRate" => self.step("booked", "estimated"),
            "stepSoldRate" => self.step("estimated", "sold"),
            "stepCloseRate" => self.step("sold", "closed"),
            plain => Figure::Plain(self.amount(plain)),
        }
    }
}

/// Section 2: "A conversion is a `lead-originated` event."
fn is_conversion(row: &Row<'_>) -> bool {
    row.event().kind == "lead-originated"
}

/// `leads`: "rows that are their customer's first event and a conversion".
fn is_lead(row: &Row<'_>) -> bool {
    row.place == 0 && is_conversion(row)
}

/// `matchedCustomers`: "`customerStatus` is neither `Unmatched` nor `""`".
fn is_matched(row: &Row<'_>) -> bool {
    !matches!(row.dimension("customerStatus").as_str(), "Unmatched" | "")
}

/// `cancelRate`: "a booked event in the sub-range", and "a canceled event later in its order than the earliest of those
/// (it may lie after the range)".
fn booked_then_canceled(row: &Row<'_>) -> bool {
    match row.period.events_in_range("booked").first() {
        None => false,
        Some(booked) => row.period.customer.events[booked + 1..].iter().any(|event| event.kind == "canceled"),
    }
}

fn total_at(row: &Row<'_>, place: usize) -> Option<i64> {
    row.period.customer.events[place].total
}

fn sum(row: &Row<'_>, places: &[usize]) -> i128 {
    places.iter().map(|place| i128::from(total_at(row, *place).unwrap_or(0))).sum()
}

fn distinct<T: Ord>(values: impl Iterator<Item = T>) -> i128 {
    values.collect::<BTreeSet<T>>().iter().map(|_| 1).sum()
}
