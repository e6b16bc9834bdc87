//! From the event table to the enriched events of a question, in three steps: the stored events, the histories of
//! customers, and the segments of customers. The steps add these columns, and some from which these are computed:
//!
//! | step | column | what it holds |
//! |---|---|---|
//! | stored | `day` | the given date, or that of the point in time in UTC |
//! | | `stage` | the position of the event's stage in [`STAGES`] |
//! | history | `at` | the index of the event in the order of all histories |
//! | | `customer` | `at` of the customer's first event, which identifies the customer |
//! | | `first booked`, and so on | `at` of the customer's first event of that stage; null if there is none |
//! | | `last canceled` | `at` of the customer's last cancellation; null if there is none |
//! | segment | `sub-range` | the name of the sub-range |
//! | | `booked here`, `canceled here` | whether the segment has an event of that stage |
//! | | `first booked here`, `last canceled here` | `at` of that event of the segment; null if there is none |
//! | | `live` | whether the event is live |
//! | | `furthest` | the greatest `stage` of a live event, cancellations aside; null if there is none |
//! | | `is state` | whether the event is the state event |
//! | | `adjustedType` | the state |
//! | | `estimate`, `sold`, `closed` | the average live estimate, the sum of live sales, and that of closed work |

use super::question::{Question, calendar};
use polars::prelude::*;

/// The stages, in the order of the funnel.
const STAGES: [&str; 6] = ["lead-originated", "booked", "estimated", "sold", "closed", "canceled"];

/// The columns that every event table has.
const CANONICAL: [&str; 7] = ["account", "opportunityId", "type", "dateTime", "date", "eventId", "total"];

/// The text columns that metrics and requests read. A table may lack them.
const READ: [&str; 7] = [
    "attributionCategory",
    "attributionChannel",
    "campaign",
    "conversionDetailedLabel",
    "customerStatus",
    "opportunityAgent",
    "zip",
];

/// Returns the enriched events in the range of a question. Its dimensions and its filter do not matter.
pub(crate) fn enriched(events: &DataFrame, accounts: &DataFrame, question: &Question) -> PolarsResult<LazyFrame> {
    let is_state = col("live").and(col("stage").eq(col("furthest")));
    let is_state = is_state.or(col("furthest").is_null().and(is("canceled")));
    let estimates = col("total").filter(is("estimated").and(col("live")));
    let last_canceled_here = over_segment(at_where(is("canceled")).max())?;
    Ok(histories(events, accounts)?
        .filter(question.in_range())
        .with_columns([question.sub_range()])
        .with_columns([
            over_segment(is("booked").any(true))?.alias("booked here"),
            over_segment(is("canceled").any(true))?.alias("canceled here"),
            over_segment(at_where(is("booked")).min())?.alias("first booked here"),
            last_canceled_here.clone().alias("last canceled here"),
        ])
        .with_columns([over_segment(is("closed").any(true))?
            .or(col("last canceled here").is_null())
            .or(col("at").gt(col("last canceled here")))
            .alias("live")])
        .with_columns([
            over_segment(col("stage").filter(col("live").and(is("canceled").not())).max())?.alias("furthest")
        ])
        .with_columns([
            over_segment(at_where(is_state).max())?.eq(col("at")).alias("is state"),
            over_segment(estimates.clone().sum())?.alias("sum of estimates"),
            over_segment(estimates.count())?.alias("number of estimates"),
            over_segment(col("total").filter(is("sold").and(col("live"))).sum())?.alias("sold"),
            over_segment(col("total").filter(is("closed")).sum())?.alias("closed"),
        ])
        .with_columns([average("sum of estimates", "number of estimates").alias("estimate")])
        .drop(cols(["stage"]))
        .join(
            stages()?.rename(["type"], ["adjustedType"], true),
            [col("furthest")],
            [col("stage")],
            JoinArgs::new(JoinType::Left),
        )
        .with_columns([col("adjustedType").fill_null(lit("canceled"))]))
}

/// Returns the events in the order of their histories, with what depends on the whole history.
fn histories(events: &DataFrame, accounts: &DataFrame) -> PolarsResult<LazyFrame> {
    let customer = [col("account"), col("opportunityId")];
    // Without a point in time, a conversion comes before all others of its day, and any other event after them.
    let timed =
        when(col("dateTime").is_not_null()).then(lit(1)).when(is("lead-originated")).then(lit(0)).otherwise(lit(2));
    let order = [&customer[..], &[col("day"), timed, col("dateTime"), col("stage"), col("eventId")]].concat();
    let over_customer = |expression: Expr| expression.over(customer.clone());
    let first = |stage: &str| over_customer(at_where(is(stage)).min());
    Ok(stored_events(events, accounts)?
        .sort_by_exprs(order, SortMultipleOptions::default())
        .with_row_index("at", None)
        .with_columns([
            over_customer(col("at").min())?.alias("customer"),
            first("booked")?.alias("first booked"),
            first("estimated")?.alias("first estimated"),
            first("sold")?.alias("first sold"),
            first("closed")?.alias("first closed"),
            over_customer(at_where(is("canceled")).max())?.alias("last canceled"),
        ]))
}

/// Returns the last event of each id, and all events without one. Texts are not null, and grades are empty in accounts
/// without lead grading.
fn stored_events(events: &DataFrame, accounts: &DataFrame) -> PolarsResult<LazyFrame> {
    let missing = READ.into_iter().filter(|name| events.column(name).is_err()).map(|name| lit("").alias(name));
    let texts: Vec<Expr> = READ.into_iter().chain(["eventId"]).map(|name| col(name).fill_null(lit(""))).collect();
    let grading = accounts.clone().lazy().select([col("account"), col("leadGrading")]);
    let is_last_of_id = col("nth").eq(col("nth").max().over([col("account"), col("eventId")])?);
    let grade = when(col("leadGrading").fill_null(lit(false))).then(col("conversionDetailedLabel")).otherwise(lit(""));
    Ok(events
        .clone()
        .lazy()
        .with_row_index("nth", None)
        .with_columns(missing.collect::<Vec<_>>())
        // Other columns are left out, because one with the name of a computed field would be in the way.
        .select(["nth"].into_iter().chain(CANONICAL).chain(READ).map(col).collect::<Vec<_>>())
        .with_columns(texts)
        .filter(col("eventId").eq(lit("")).or(is_last_of_id))
        .with_columns([col("date").fill_null(col("dateTime").cast(DataType::Date)).alias("day")])
        .with_columns(calendar())
        .join(stages()?, [col("type")], [col("type")], JoinArgs::new(JoinType::Left))
        .join(grading, [col("account")], [col("account")], JoinArgs::new(JoinType::Left))
        .with_columns([grade.alias("conversionDetailedLabel")]))
}

/// Returns the stages with their positions, as the columns `type` and `stage`.
fn stages() -> PolarsResult<LazyFrame> {
    Ok(df! { "type" => STAGES, "stage" => [0, 1, 2, 3, 4, 5] }?.lazy())
}

/// Returns the condition that an event has a stage.
fn is(stage: &str) -> Expr {
    col("type").eq(lit(stage))
}

/// Returns `at` of the events for which `condition` holds.
fn at_where(condition: Expr) -> Expr {
    col("at").filter(condition)
}

/// Computes an aggregate for each segment: the events of one customer in one sub-range.
fn over_segment(aggregate: Expr) -> PolarsResult<Expr> {
    aggregate.over([col("customer"), col("sub-range")])
}

/// Returns the average of amounts, from their sum and their number, rounded half away from zero to the millionth; 0
/// without amounts.
fn average(sum: &str, count: &str) -> Expr {
    let integer = DataType::Decimal(38, 0);
    let is_negative = col(sum).lt(lit(0));
    let micros = (col(sum) * lit(1_000_000)).cast(DataType::Int128);
    let magnitude = when(is_negative.clone()).then(lit(0) - micros.clone()).otherwise(micros);
    let count = col(count).cast(DataType::Int128);
    // (2 * magnitude + count) / (2 * count), cut to an integer: the remainder is subtracted before the division.
    let divisor = count.clone() * lit(2);
    let dividend = magnitude * lit(2) + count.clone();
    let dividend = dividend.clone() - dividend % divisor.clone();
    let rounded = dividend.cast(integer.clone()) / divisor.cast(integer);
    let signed = when(is_negative).then(lit(0) - rounded.clone()).otherwise(rounded);
    when(count.eq(lit(0))).then(lit(0)).otherwise(signed.cast(DataType::Decimal(38, 6)) / lit(1_000_000))
}
