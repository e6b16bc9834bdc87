//! Sections 6, 7 and 12: the metrics of one group of events and spend, and the dimensions of spend.

use std::collections::BTreeSet;

use chrono::NaiveDate;

use super::cohort::is_open;
use super::duration;
use super::request::{OPEN_LEADS, Window};
use super::segment::EnrichedEvent;
use super::tables::{SpendRow, Tables};
use super::values::{self, ExactAmount, average};

/// Returns whether a metric is computed from the spend table (section 7, last rule).
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
pub(super) enum MetricValue {
    Plain(ExactAmount),
    /// Numerator and denominator.
    Ratio(ExactAmount, ExactAmount),
}

impl MetricValue {
    /// Returns the number that the answer shows: "each is turned into a double by value, then divided once. A ratio
    /// with denominator 0 is 0."
    pub(super) fn double(self) -> f64 {
        match self {
            Self::Plain(amount) => amount.double(),
            Self::Ratio(_, denominator) if denominator.is_zero() => 0.0,
            Self::Ratio(numerator, denominator) => numerator.double() / denominator.double(),
        }
    }

    /// Returns whether conditions on the value can be decided. Section 8: "A condition on a ratio whose denominator is
    /// 0 is unknown".
    pub(super) fn is_known(self) -> bool {
        !matches!(self, Self::Ratio(_, denominator) if denominator.is_zero())
    }
}

/// A group: its enriched events that passed the filter, and the spend of its row.
#[derive(Default)]
pub(super) struct MetricGroup<'a> {
    pub(super) rows: Vec<EnrichedEvent<'a>>,
    pub(super) spend: Vec<&'a SpendRow>,
    /// In cohort mode, the window, and the last event date of the accounts in scope.
    pub(super) cohort: Option<(Window, Option<NaiveDate>)>,
}

impl<'a> MetricGroup<'a> {
    /// Counts events with a property.
    fn count(&self, holds: impl Fn(&EnrichedEvent<'a>) -> bool) -> i128 {
        self.rows.iter().map(|row| i128::from(holds(row))).sum()
    }

    /// Counts state rows with a property.
    fn states(&self, holds: impl Fn(&EnrichedEvent<'a>) -> bool) -> i128 {
        self.count(|row| row.type_is_last() && holds(row))
    }

    /// Counts conversions, "a `lead-originated` event" (section 2), by their label.
    fn labels(&self, wanted: &[&str]) -> i128 {
        self.count(|row| is_conversion(row) && wanted.contains(&row.dimension("conversionDetailedLabel").as_str()))
    }

    /// Sums an amount over the state rows with one state.
    fn over_state(&self, state: &str, amount: impl Fn(&EnrichedEvent<'a>) -> i128) -> i128 {
        self.rows.iter().filter(|row| row.type_is_last() && row.segment.state == state).map(amount).sum()
    }

    /// Returns the step rate between two stages: "over rows that are their customer's earliest event of one stage of
    /// all: the share ever in the next".
    fn step(&self, from: &str, to: &str) -> MetricValue {
        let earliest = |row: &EnrichedEvent<'_>| row.segment.customer.earliest(from) == Some(row.place);
        let moved = self.count(|row| earliest(row) && row.segment.customer.ever(to));
        MetricValue::Ratio(ExactAmount::Count(moved), ExactAmount::Count(self.count(earliest)))
    }

    /// Returns the amount of a metric that is not a ratio; 0 for any other name.
    fn amount(&self, metric: &str) -> ExactAmount {
        use ExactAmount::{Count, Money};
        match metric {
            "eventCount" => Count(self.count(|_| true)),
            "conversions" => Count(self.count(is_conversion)),
            "leads" => Count(self.count(is_lead)),
            "soldLeads" => Count(self.count(|row| is_lead(row) && row.segment.customer.ever("sold"))),
            // Section 12: "`openLeads` counts the leads of the row whose window is not over".
            OPEN_LEADS => Count(self.count(|row| {
                let open = |(window, last)| is_open(row.segment.customer, window, last);
                is_lead(row) && self.cohort.is_some_and(open)
            })),
            "closedLeads" => Count(self.count(|row| is_lead(row) && row.segment.customer.ever("closed"))),
            "opportunityCount" => Count(distinct(self.rows.iter().map(|row| {
                let customer = row.segment.customer;
                (customer.account.account.clone(), customer.opportunity_id.clone())
            }))),
            "total" => Money(self.rows.iter().map(|row| i128::from(row.event().total.unwrap_or(0))).sum()),
            "customers" => Count(self.states(|_| true)),
            "matchedCustomers" => Count(self.states(is_matched)),
            "unmatchedCustomers" => Count(self.states(|row| !is_matched(row))),
            "payingCustomers" => Count(self.states(|row| matches!(row.segment.state, "sold" | "closed"))),
            "bookedCustomers" => Count(self.states(|row| !row.segment.events_in_range("booked").is_empty())),
            "canceledCustomers" => Count(self.states(|row| !row.segment.events_in_range("canceled").is_empty())),
            "opportunityAgents" => Count(distinct(
                self.rows
                    .iter()
                    .filter(|row| row.type_is_last())
                    .map(|row| row.dimension("opportunityAgent"))
                    .filter(|agent| !agent.is_empty()),
            )),
            "estimatedRevenue" => Money(self.over_state("estimated", |row| {
                let estimates = row.segment.live_events("estimated");
                average(&estimates.iter().filter_map(|place| total_at(row, *place)).collect::<Vec<_>>())
            })),
            "soldRevenue" => Money(self.over_state("sold", |row| sum(row, &row.segment.live_events("sold")))),
            "closedRevenue" => Money(self.over_state("closed", |row| sum(row, &row.segment.events_in_range("closed")))),
            "spend" => Money(spend(&self.spend)),
            "campaignSpend" => Money(campaign_spend(&self.spend)),
            "cost" => Money(cost(&self.spend)),
            "clicks" => Count(clicks(&self.spend)),
            "impressions" => Count(impressions(&self.spend)),
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

    /// Returns the sum of several metrics, each of them money.
    fn money(&self, metrics: &[&str]) -> ExactAmount {
        let millionths = |metric: &&str| match self.amount(metric) {
            ExactAmount::Money(micros) => micros,
            ExactAmount::Count(_) => 0,
        };
        ExactAmount::Money(metrics.iter().map(millionths).sum())
    }

    /// Returns the value of any metric in this group.
    pub(super) fn value_of(&self, metric: &str) -> MetricValue {
        if let Some(value) = duration::value_of(metric, &self.rows) {
            return value;
        }
        let ratio = |numerator, denominator| MetricValue::Ratio(self.amount(numerator), self.amount(denominator));
        let potential = self.money(&["estimatedRevenue", "soldRevenue", "closedRevenue"]);
        match metric {
            "revenuePotential" => MetricValue::Plain(potential),
            "percentConversionsGraded" => ratio("gradedConversions", "conversions"),
            "conversionQuality" => ratio("bookableConversions", "gradedConversions"),
            "avgConversionsPerLead" => ratio("conversions", "leads"),
            "avgCostPerConversion" => ratio("spend", "conversions"),
            "avgCostPerLead" => ratio("spend", "leads"),
            "avgCostPerPayingCustomer" => ratio("spend", "payingCustomers"),
            "avgCostPerBookedCustomer" => ratio("spend", "bookedCustomers"),
            "avgTicket" => {
                MetricValue::Ratio(self.money(&["soldRevenue", "closedRevenue"]), self.amount("payingCustomers"))
            }
            "bookRate" => ratio("bookedCustomers", "customers"),
            "matchRate" => ratio("matchedCustomers", "customers"),
            "payingCustomerRate" => ratio("payingCustomers", "customers"),
            "customerCancelRate" => ratio("canceledCustomers", "customers"),
            "cancelRate" => MetricValue::Ratio(
                ExactAmount::Count(self.states(booked_then_canceled)),
                self.amount("bookedCustomers"),
            ),
            "roasPotential" => MetricValue::Ratio(potential, self.amount("spend")),
            "roasClosed" => ratio("closedRevenue", "spend"),
            "stepBookRate" => {
                let booked = self.count(|row| is_lead(row) && row.segment.customer.ever("booked"));
                MetricValue::Ratio(ExactAmount::Count(booked), self.amount("leads"))
            }
            "stepEstimateRate" => self.step("booked", "estimated"),
            "stepSoldRate" => self.step("estimated", "sold"),
            "stepCloseRate" => self.step("sold", "closed"),
            plain => MetricValue::Plain(self.amount(plain)),
        }
    }
}

/// Section 2: "A conversion is a `lead-originated` event."
pub(super) fn is_conversion(row: &EnrichedEvent<'_>) -> bool {
    row.event().kind == "lead-originated"
}

/// `leads`: "rows that are their customer's first event and a conversion".
pub(super) fn is_lead(row: &EnrichedEvent<'_>) -> bool {
    row.place == 0 && is_conversion(row)
}

/// `matchedCustomers`: "`customerStatus` is neither `Unmatched` nor `""`".
pub(super) fn is_matched(row: &EnrichedEvent<'_>) -> bool {
    !matches!(row.dimension("customerStatus").as_str(), "Unmatched" | "")
}

/// `cancelRate`: "a booked event in the sub-range", and "a canceled event later in its order than the earliest of those
/// (it may lie after the range)".
pub(super) fn booked_then_canceled(row: &EnrichedEvent<'_>) -> bool {
    match row.segment.events_in_range("booked").first() {
        None => false,
        Some(booked) => row.segment.customer.events[booked + 1..].iter().any(|event| event.kind == "canceled"),
    }
}

fn total_at(row: &EnrichedEvent<'_>, place: usize) -> Option<i64> {
    row.segment.customer.events[place].total
}

fn sum(row: &EnrichedEvent<'_>, places: &[usize]) -> i128 {
    places.iter().map(|place| i128::from(total_at(row, *place).unwrap_or(0))).sum()
}

fn distinct<T: Ord>(values: impl Iterator<Item = T>) -> i128 {
    values.collect::<BTreeSet<T>>().iter().map(|_| 1).sum()
}

/// "Spend rows carry these dimensions", and "`currency` (a computed dimension, of events and spend)".
const CARRIED: [&str; 10] = [
    "account",
    "accountKey",
    "accountName",
    "currency",
    "date",
    "week",
    "month",
    "attributionCategory",
    "attributionChannel",
    "campaign",
];

/// Returns whether spend carries a dimension.
pub(super) fn spend_carries(dimension: &str) -> bool {
    CARRIED.contains(&dimension)
}

/// Returns the value of a dimension on a spend row; `None` if spend does not carry it.
pub(super) fn spend_dimension(tables: &Tables, row: &SpendRow, name: &str) -> Option<String> {
    match name {
        "account" | "accountKey" => Some(row.account.clone()),
        "accountName" => Some(tables.account(&row.account).name().to_owned()),
        "currency" => Some(tables.account(&row.account).currency().to_owned()),
        "date" => Some(values::date(row.date)),
        "week" => Some(values::week(row.date)),
        "month" => Some(values::month(row.date)),
        "attributionCategory" => Some(row.attribution_category.clone().unwrap_or_default()),
        "attributionChannel" => Some(row.attribution_channel.clone().unwrap_or_default()),
        "campaign" => Some(row.campaign.clone().unwrap_or_default()),
        _ => None,
    }
}

/// "`cost` = `adSpend`", in millionths.
fn cost(rows: &[&SpendRow]) -> i128 {
    rows.iter().map(|row| i128::from(row.ad_spend.unwrap_or(0))).sum()
}

/// "`spend` = `adSpend` + `managementFee`", in millionths.
fn spend(rows: &[&SpendRow]) -> i128 {
    let fees: i128 = rows.iter().map(|row| i128::from(row.management_fee.unwrap_or(0))).sum();
    cost(rows) + fees
}

/// "`campaignSpend` = `spend` of rows with a non-empty campaign", in millionths.
fn campaign_spend(rows: &[&SpendRow]) -> i128 {
    let named = |row: &&SpendRow| row.campaign.as_deref().is_some_and(|campaign| !campaign.is_empty());
    spend(&rows.iter().copied().filter(named).collect::<Vec<_>>())
}

/// Sums the clicks.
fn clicks(rows: &[&SpendRow]) -> i128 {
    rows.iter().map(|row| i128::from(row.clicks.unwrap_or(0))).sum()
}

/// Sums the impressions.
fn impressions(rows: &[&SpendRow]) -> i128 {
    rows.iter().map(|row| i128::from(row.impressions.unwrap_or(0))).sum()
}

/// Returns whether spend without an event gets a row: "any of `spend`, `cost`, `clicks`, `impressions` is not 0 there".
pub(super) fn spend_is_worth_a_row(rows: &[&SpendRow]) -> bool {
    spend(rows) != 0 || cost(rows) != 0 || clicks(rows) != 0 || impressions(rows) != 0
}
