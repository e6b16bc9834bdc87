//! Section 7: "Currencies are never added up."

use std::collections::{BTreeMap, BTreeSet};

use super::definitions::Definitions;
use super::request::Request;
use super::tables::Tables;

/// The metrics that are made of money (section 6): amounts, amounts for each of something, and "returns on ad spend
/// too".
const OF_MONEY: [&str; 15] = [
    "total",
    "estimatedRevenue",
    "soldRevenue",
    "closedRevenue",
    "revenuePotential",
    "spend",
    "campaignSpend",
    "cost",
    "avgCostPerConversion",
    "avgCostPerLead",
    "avgCostPerPayingCustomer",
    "avgCostPerBookedCustomer",
    "avgTicket",
    "roasPotential",
    "roasClosed",
];

/// Returns whether a request is refused because of currencies: "If the accounts in scope have different currencies
/// (none counts as one), a query for a metric that is made of money (returns on ad spend too), or with a condition on
/// one, is refused unless `account`, `accountKey`, `accountName` or `currency` is among its dimensions". A name that
/// accounts of different currencies share does not tell them apart. `tested` are the fields of the conditions.
#[must_use]
pub fn mixes_currencies(tables: &Tables, request: &Request, tested: &[String], definitions: &Definitions) -> bool {
    let in_scope = |key: &String| request.accounts.as_ref().is_none_or(|accounts| accounts.contains(key));
    let keys: Vec<String> = tables.account_keys().into_iter().filter(in_scope).collect();
    let currency = |key: &String| tables.account(key).currency().to_owned();
    let currencies: BTreeSet<String> = keys.iter().map(currency).collect();
    let mut of_name: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for key in &keys {
        of_name.entry(tables.account(key).name().to_owned()).or_default().insert(currency(key));
    }
    let names_differ = of_name.values().all(|currencies| currencies.len() == 1);
    let tells_apart = |field: &String| match field.as_str() {
        "account" | "accountKey" | "currency" => true,
        "accountName" => names_differ,
        _ => false,
    };
    let is_of_money = |field: &String| definitions.parts(field).into_iter().any(|part| OF_MONEY.contains(&part));
    currencies.len() > 1
        && !request.fields.iter().any(tells_apart)
        && request.fields.iter().chain(tested).any(is_of_money)
}
