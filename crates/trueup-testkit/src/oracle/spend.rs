//! Section 7: spend.

use super::tables::{SpendRow, Tables};
use super::values;

/// "Spend rows carry these dimensions".
const CARRIED: [&str; 9] = [
    "account",
    "accountKey",
    "accountName",
    "date",
    "week",
    "month",
    "attributionCategory",
    "attributionChannel",
    "campaign",
];

/// Returns whether spend carries a dimension.
pub(super) fn carries(dimension: &str) -> bool {
    CARRIED.contains(&dimension)
}

/// Returns the value of a dimension on a spend row; `None` if spend does not carry it.
pub(super) fn dimension(tables: &Tables, row: &SpendRow, name: &str) -> Option<String> {
    match name {
        "account" | "accountKey" => Some(row.account.clone()),
        "accountName" => Some(tables.account(&row.account).name().to_owned()),
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
pub(super) fn cost(rows: &[&SpendRow]) -> i128 {
    rows.iter().map(|row| i128::from(row.ad_spend.unwrap_or(0))).sum()
}

/// "`spend` = `adSpend` + `managementFee`", in millionths.
pub(super) fn spend(rows: &[&SpendRow]) -> i128 {
    let fees: i128 = rows.iter().map(|row| i128::from(row.management_fee.unwrap_or(0))).sum();
    cost(rows) + fees
}

/// "`campaignSpend` = `spend` of rows with a non-empty campaign", in millionths.
pub(super) fn campaign_spend(rows: &[&SpendRow]) -> i128 {
    let named = |row: &&SpendRow| row.campaign.as_deref().is_some_and(|campaign| !campaign.is_empty());
    spend(&rows.iter().copied().filter(named).collect::<Vec<_>>())
}

pub(super) fn clicks(rows: &[&SpendRow]) -> i128 {
    rows.iter().map(|row| i128::from(row.clicks.unwrap_or(0))).sum()
}

pub(super) fn impressions(rows: &[&SpendRow]) -> i128 {
    rows.iter().map(|row| i128::from(row.impressions.unwrap_or(0))).sum()
}

/// Returns whether spend without an event gets a row: "any of `spend`, `cost`, `clicks`, `impressions` is not 0 there".
pub(super) fn is_worth_a_row(rows: &[&SpendRow]) -> bool {
    spend(rows) != 0 || cost(rows) != 0 || clicks(rows) != 0 || impressions(rows) != 0
}
