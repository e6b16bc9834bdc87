//! Spend, joined to groups of events.

use super::question::{Question, calendar};
use polars::prelude::*;

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
        Some((dimension, value)) if super::question::carries(dimension) => rows.filter(col(dimension).eq(lit(value))),
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
