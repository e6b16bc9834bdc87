//! The histories of customers, and the enriched events of a sub-range.

use super::question::{Question, calendar};
use polars::prelude::*;

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

/// Returns the condition that an event has a stage.
fn is(stage: &str) -> Expr {
    col("type").eq(lit(stage))
}

/// Returns the index of an event among all rows if `condition` holds for it, or else null.
fn at_where(condition: Expr) -> Expr {
    when(condition).then(col("at")).otherwise(lit(NULL))
}

/// Returns the stages with their positions in the funnel.
fn stages() -> PolarsResult<LazyFrame> {
    let frame = df! {
        "type" => ["lead-originated", "booked", "estimated", "sold", "closed", "canceled"],
        "stage" => [0, 1, 2, 3, 4, 5],
    };
    Ok(frame?.lazy())
}

/// Returns the last event of each id, with its day: the given date, or that of the point in time in UTC.
fn events(events: &DataFrame, accounts: &DataFrame) -> PolarsResult<LazyFrame> {
    let missing = READ.into_iter().filter(|name| events.column(name).is_err()).map(|name| lit("").alias(name));
    let texts: Vec<Expr> = READ.into_iter().chain(["eventId"]).map(|name| col(name).fill_null(lit(""))).collect();
    let grading = accounts.clone().lazy().select([col("account"), col("leadGrading")]);
    let is_stored =
        col("eventId").eq(lit("")).or(col("nth").eq(col("nth").max().over([col("account"), col("eventId")])?));
    let graded = when(col("leadGrading").fill_null(lit(false))).then(col("conversionDetailedLabel")).otherwise(lit(""));
    Ok(events
        .clone()
        .lazy()
        .with_row_index("nth", None)
        .with_columns(missing.collect::<Vec<_>>())
        // A column with the name of a computed field is ignored.
        .select(["nth"].into_iter().chain(CANONICAL).chain(READ).map(col).collect::<Vec<_>>())
        .with_columns(texts)
        .filter(is_stored)
        .with_columns([col("date").fill_null(col("dateTime").cast(DataType::Date)).alias("day")])
        .with_columns(calendar())
        .join(stages()?, [col("type")], [col("type")], JoinArgs::new(JoinType::Left))
        .join(grading, [col("account")], [col("account")], JoinArgs::new(JoinType::Left))
        .with_columns([graded.alias("conversionDetailedLabel")]))
}

/// Returns the events in the order of their histories, with columns computed from the whole history.
fn histories(tables: (&DataFrame, &DataFrame)) -> PolarsResult<LazyFrame> {
    let customer = [col("account"), col("opportunityId")];
    // Without a point in time, a conversion comes before all others of its day, and any other event after them.
    let timed =
        when(col("dateTime").is_not_null()).then(lit(1)).when(is("lead-originated")).then(lit(0)).otherwise(lit(2));
    let order = [&customer[..], &[col("day"), timed, col("dateTime"), col("stage"), col("eventId")]].concat();
    let first = |stage: &str| at_where(is(stage)).min().over(customer.clone());
    Ok(events(tables.0, tables.1)?
        .sort_by_exprs(order, SortMultipleOptions::default())
        .with_row_index("at", None)
        .with_columns([
            // The index of its first event identifies a customer.
            col("at").min().over(customer.clone())?.alias("customer"),
            first("booked")?.alias("first booked"),
            first("estimated")?.alias("first estimated"),
            first("sold")?.alias("first sold"),
            first("closed")?.alias("first closed"),
            at_where(is("canceled")).max().over(customer.clone())?.alias("last canceled"),
        ]))
}

/// Returns the sum of `amount` over a customer's events in the sub-range for which `condition` holds.
fn sum_where(condition: Expr) -> PolarsResult<Expr> {
    when(condition).then(col("total")).otherwise(lit(NULL)).sum().over([col("customer"), col("sub-range")])
}

/// Returns the average in millionths, rounded half away from zero; 0 without amounts.
fn average(sum: &str, count: &str) -> Expr {
    let whole = DataType::Decimal(38, 0);
    let micros = (col(sum) * lit(1_000_000)).cast(DataType::Int128);
    let count = col(count).cast(DataType::Int128);
    let size = when(col(sum).lt(lit(0))).then(lit(0) - micros.clone()).otherwise(micros);
    let doubled = size * lit(2) + count.clone();
    let divisor = count.clone() * lit(2);
    let exact = doubled.clone() - doubled % divisor.clone();
    let rounded = exact.cast(whole.clone()) / divisor.cast(whole);
    let signed = when(col(sum).lt(lit(0))).then(lit(0) - rounded.clone()).otherwise(rounded);
    when(count.eq(lit(0))).then(lit(0)).otherwise(signed.cast(DataType::Decimal(38, 6)) / lit(1_000_000))
}

/// Returns the events of the range with the state of the customer in the sub-range and its amounts.
pub(crate) fn enriched(tables: (&DataFrame, &DataFrame), question: &Question) -> PolarsResult<LazyFrame> {
    let segment = [col("customer"), col("sub-range")];
    let here = |condition: Expr| condition.any(true).over(segment.clone());
    let last_canceled_here = at_where(is("canceled")).max().over(segment.clone())?;
    let is_furthest = col("live").and(col("stage").eq(col("furthest")));
    let is_counted = is_furthest.or(col("furthest").is_null().and(is("canceled")));
    let estimate = is("estimated").and(col("live"));
    Ok(histories(tables)?
        .filter(question.in_range())
        .with_columns([question.sub_range()])
        .with_columns([
            here(is("closed"))?.alias("closed here"),
            here(is("booked"))?.alias("booked here"),
            here(is("canceled"))?.alias("canceled here"),
            at_where(is("booked")).min().over(segment.clone())?.alias("first booked here"),
            last_canceled_here.alias("last canceled here"),
        ])
        .with_columns([col("closed here")
            .or(col("last canceled here").is_null())
            .or(col("at").gt(col("last canceled here")))
            .alias("live")])
        .with_columns([when(col("live").and(is("canceled").not()))
            .then(col("stage"))
            .otherwise(lit(NULL))
            .max()
            .over(segment.clone())?
            .alias("furthest")])
        .with_columns([
            at_where(is_counted).max().over(segment.clone())?.eq(col("at")).alias("is state"),
            sum_where(estimate.clone())?.alias("estimates"),
            estimate
                .and(col("total").is_not_null())
                .cast(DataType::Int64)
                .sum()
                .over(segment.clone())?
                .alias("estimated"),
            sum_where(is("sold").and(col("live")))?.alias("sold"),
            sum_where(is("closed"))?.alias("closed"),
        ])
        .with_columns([average("estimates", "estimated").alias("estimate")])
        .drop(cols(["stage"]))
        .join(
            stages()?.select([col("type").alias("adjustedType"), col("stage")]),
            [col("furthest")],
            [col("stage")],
            JoinArgs::new(JoinType::Left),
        )
        .with_columns([col("adjustedType").fill_null(lit("canceled"))]))
}
