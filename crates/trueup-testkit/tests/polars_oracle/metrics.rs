//! Every metric as an expression, over a group of enriched events, over spend, or over rows of the result.

use super::question::{Question, calendar, carries};
use polars::prelude::*;
use std::collections::BTreeSet;

/// The counts, in the order of the result.
pub(crate) const COUNTS: [&str; 20] = [
    "eventCount",
    "conversions",
    "leads",
    "soldLeads",
    "closedLeads",
    "opportunityCount",
    "customers",
    "matchedCustomers",
    "unmatchedCustomers",
    "payingCustomers",
    "bookedCustomers",
    "canceledCustomers",
    "opportunityAgents",
    "gradedConversions",
    "bookableConversions",
    "bookedConversions",
    "bookableUnbookedConversions",
    "unbookableConversions",
    "clicks",
    "impressions",
];

/// The metrics that are money.
pub(crate) const MONEY: [&str; 8] =
    ["total", "estimatedRevenue", "soldRevenue", "closedRevenue", "revenuePotential", "spend", "cost", "campaignSpend"];

/// Sums of two or three columns of the result: a metric, and the numerator of `avgTicket`.
const SUMS: [&str; 2] = ["revenuePotential", "earned"];

/// The metrics that are ratios of two columns of the result: name, numerator, denominator. The columns that are
/// no metrics, such as `earned` and `first sales`, are used only here.
pub(crate) const RATIOS: [(&str, &str, &str); 19] = [
    ("percentConversionsGraded", "gradedConversions", "conversions"),
    ("conversionQuality", "bookableConversions", "gradedConversions"),
    ("avgConversionsPerLead", "conversions", "leads"),
    ("avgCostPerConversion", "spend", "conversions"),
    ("avgCostPerLead", "spend", "leads"),
    ("avgCostPerPayingCustomer", "spend", "payingCustomers"),
    ("avgCostPerBookedCustomer", "spend", "bookedCustomers"),
    ("avgTicket", "earned", "payingCustomers"),
    ("bookRate", "bookedCustomers", "customers"),
    ("matchRate", "matchedCustomers", "customers"),
    ("payingCustomerRate", "payingCustomers", "customers"),
    ("customerCancelRate", "canceledCustomers", "customers"),
    ("cancelRate", "canceled later", "bookedCustomers"),
    ("roasPotential", "revenuePotential", "spend"),
    ("roasClosed", "closedRevenue", "spend"),
    ("stepBookRate", "booked leads", "leads"),
    ("stepEstimateRate", "booked then estimated", "first bookings"),
    ("stepSoldRate", "estimated then sold", "first estimates"),
    ("stepCloseRate", "sold then closed", "first sales"),
];

/// Counts the rows for which `condition` holds.
fn rows(condition: Expr) -> Expr {
    condition.cast(DataType::Int64).sum()
}

/// Sums `amount` over the rows for which `condition` holds.
fn money(condition: Expr, amount: &str) -> Expr {
    when(condition).then(col(amount)).otherwise(lit(NULL)).sum()
}

fn has(column: &str) -> Expr {
    col(column).is_not_null()
}

/// Returns the condition that an event is a state row.
fn state() -> Expr {
    col("is state")
}

fn state_is(stage: &str) -> Expr {
    state().and(col("adjustedType").eq(lit(stage)))
}

/// Returns the condition that an event is the one whose index is in the column `column`.
fn first_is(column: &str) -> Expr {
    col("at").eq(col(column)).fill_null(lit(false))
}

/// Returns the aggregates of each group of enriched events.
pub(crate) fn aggregates() -> Vec<Expr> {
    let conversion = || col("type").eq(lit("lead-originated"));
    let lead = || conversion().and(col("at").eq(col("customer")));
    let unmatched = || col("customerStatus").eq(lit("")).or(col("customerStatus").eq(lit("Unmatched")));
    let labelled = |label: &str| conversion().and(col("conversionDetailedLabel").eq(lit(label)));
    let canceled_later = col("last canceled").gt(col("first booked here")).fill_null(lit(false));
    let agents = col("opportunityAgent").filter(state().and(col("opportunityAgent").neq(lit("")))).n_unique();
    vec![
        len().cast(DataType::Int64).alias("eventCount"),
        rows(conversion()).alias("conversions"),
        rows(lead()).alias("leads"),
        rows(lead().and(has("first sold"))).alias("soldLeads"),
        rows(lead().and(has("first closed"))).alias("closedLeads"),
        rows(lead().and(has("first booked"))).alias("booked leads"),
        col("customer").n_unique().cast(DataType::Int64).alias("opportunityCount"),
        rows(state()).alias("customers"),
        rows(state().and(unmatched().not())).alias("matchedCustomers"),
        rows(state().and(unmatched())).alias("unmatchedCustomers"),
        rows(state_is("sold").or(state_is("closed"))).alias("payingCustomers"),
        rows(state().and(col("booked here"))).alias("bookedCustomers"),
        rows(state().and(col("canceled here"))).alias("canceledCustomers"),
        rows(state().and(col("booked here")).and(canceled_later)).alias("canceled later"),
        agents.cast(DataType::Int64).alias("opportunityAgents"),
        rows(conversion().and(col("conversionDetailedLabel").neq(lit("")))).alias("gradedConversions"),
        rows(labelled("Bookable - Booked").or(labelled("Bookable - Didn't Book"))).alias("bookableConversions"),
        rows(labelled("Bookable - Booked")).alias("bookedConversions"),
        rows(labelled("Bookable - Didn't Book")).alias("bookableUnbookedConversions"),
        rows(labelled("Unbookable")).alias("unbookableConversions"),
        rows(first_is("first booked")).alias("first bookings"),
        rows(first_is("first booked").and(has("first estimated"))).alias("booked then estimated"),
        rows(first_is("first estimated")).alias("first estimates"),
        rows(first_is("first estimated").and(has("first sold"))).alias("estimated then sold"),
        rows(first_is("first sold")).alias("first sales"),
        rows(first_is("first sold").and(has("first closed"))).alias("sold then closed"),
        col("total").sum().alias("total"),
        money(state_is("estimated"), "estimate").alias("estimatedRevenue"),
        money(state_is("sold"), "sold").alias("soldRevenue"),
        money(state_is("closed"), "closed").alias("closedRevenue"),
    ]
}

/// Returns the columns that come from events or from spend, which are null in rows without events or without spend.
pub(crate) fn aggregate_names() -> BTreeSet<&'static str> {
    let sides = RATIOS.into_iter().flat_map(|(_, numerator, denominator)| [numerator, denominator]);
    COUNTS.into_iter().chain(MONEY).chain(sides).filter(|name| !SUMS.contains(name)).collect()
}

/// Returns [`SUMS`] as expressions, after nulls were replaced with 0.
pub(crate) fn sums() -> [Expr; 2] {
    let earned = col("soldRevenue") + col("closedRevenue");
    [(earned.clone() + col("estimatedRevenue")).alias(SUMS[0]), earned.alias(SUMS[1])]
}

/// Returns the metrics that are ratios; 0 if the denominator is 0.
pub(crate) fn ratios() -> Vec<Expr> {
    let double = |name: &str| col(name).cast(DataType::Float64);
    let ratio = |(name, numerator, denominator): (&str, &str, &str)| {
        double(numerator).map_many(divide, &[double(denominator)], |_, fields| Ok(fields[0].clone())).alias(name)
    };
    RATIOS.into_iter().map(ratio).collect()
}

/// Divides two columns row by row. The operator of polars may multiply by the reciprocal instead, where a column has
/// one value, and then the last bit may differ.
fn divide(columns: &mut [Column]) -> PolarsResult<Column> {
    let [numerators, denominators] = columns else { panic!("expected two columns") };
    let name = numerators.name().clone();
    let rows = numerators.f64()?.iter().zip(denominators.f64()?.iter());
    let quotient = |(numerator, denominator): (Option<f64>, Option<f64>)| match denominator? {
        0.0 => Some(0.0),
        denominator => Some(numerator? / denominator),
    };
    Ok(rows.map(quotient).collect::<Float64Chunked>().with_name(name).into_series().into())
}

/// Returns the spend of each sub-range by the dimensions that spend carries.
pub(crate) fn spend(spend: &DataFrame, question: &Question) -> LazyFrame {
    let texts = ["attributionCategory", "attributionChannel", "campaign"].map(|name| col(name).fill_null(lit("")));
    let amounts = ["adSpend", "managementFee", "clicks", "impressions"].map(|name| col(name).fill_null(lit(0)));
    let rows = spend
        .clone()
        .lazy()
        .with_columns([&texts[..], &amounts[..]].concat())
        .with_columns([col("date").alias("day")])
        .with_columns(calendar())
        .filter(question.in_range())
        .with_columns([question.sub_range(), (col("adSpend") + col("managementFee")).alias("spend")]);
    let kept = match question.filter {
        Some((dimension, value)) if carries(dimension) => rows.filter(col(dimension).eq(lit(value))),
        _ => rows,
    };
    let with_campaign = when(col("campaign").neq(lit(""))).then(col("spend")).otherwise(lit(NULL));
    kept.group_by(question.carried_keys()).agg([
        col("spend").sum(),
        col("adSpend").sum().alias("cost"),
        with_campaign.sum().alias("campaignSpend"),
        col("clicks").sum(),
        col("impressions").sum(),
    ])
}

/// Joins groups of events with the spend of equal carried dimensions, and adds the spend that matches no group.
pub(crate) fn with_spend(groups: LazyFrame, spend: LazyFrame, question: &Question) -> PolarsResult<LazyFrame> {
    let keys = question.carried_keys();
    if question.dimensions.is_empty() {
        let sub_ranges = df! { "sub-range" => question.sub_ranges() }?.lazy();
        let left = || JoinArgs::new(JoinType::Left);
        return Ok(sub_ranges.join(groups, keys.clone(), keys.clone(), left()).join(spend, keys.clone(), keys, left()));
    }
    let full = JoinArgs::new(JoinType::Full).with_coalesce(JoinCoalesce::CoalesceColumns);
    let is_something = ["eventCount", "spend", "cost", "clicks", "impressions"]
        .into_iter()
        .fold(lit(false), |any, name| any.or(col(name).fill_null(lit(0)).neq(lit(0))));
    Ok(groups.join(spend, keys.clone(), keys, full).filter(is_something))
}
