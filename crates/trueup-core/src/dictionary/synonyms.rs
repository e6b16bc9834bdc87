//! What people call the fields in other tools, and which fields they mean. Only suggestions use these names: in a query
//! they mean no field.

use super::all_fields;
use crate::similar::{Difference, MAX_SIMILAR, Wanted, least};
use std::collections::BTreeSet;

/// Names that are no fields, each with the fields that it may mean, the likeliest first. Case, blanks and punctuation
/// of a name do not matter.
pub(super) static SYNONYMS: &[(&str, &[&str])] = &[
    // The account and time.
    ("advertiser", &["account", "accountName"]),
    ("client", &["account", "accountName"]),
    ("location", &["account", "businessUnit"]),
    ("day", &["date"]),
    ("event date", &["date"]),
    ("time", &["dateTime"]),
    ("timestamp", &["dateTime"]),
    // The funnel.
    ("event type", &["type"]),
    ("funnel stage", &["adjustedType", "type"]),
    ("stage", &["adjustedType", "type"]),
    ("state", &["adjustedType"]),
    ("status", &["adjustedType", "customerStatus"]),
    ("events", &["eventCount"]),
    ("calls", &["conversions", "leads"]),
    ("inquiries", &["conversions", "leads"]),
    ("new leads", &["leads"]),
    ("prospects", &["leads"]),
    ("appointments", &["bookedCustomers"]),
    ("booked leads", &["reachedLeadToBooked"]),
    ("bookings", &["bookedCustomers"]),
    ("jobs", &["bookedCustomers", "payingCustomers"]),
    ("cancellations", &["canceledCustomers"]),
    ("bought", &["payingCustomers"]),
    ("buyers", &["payingCustomers"]),
    ("won", &["payingCustomers", "soldLeads"]),
    ("opportunities", &["opportunityCount"]),
    ("contact", &["opportunityId", "customerName"]),
    ("customer", &["opportunityId", "customers"]),
    ("customer id", &["opportunityId"]),
    ("lead id", &["opportunityId"]),
    // Attribution.
    ("ad", &["campaign", "attributionDetail"]),
    ("campaign name", &["campaign"]),
    ("category", &["attributionCategory"]),
    ("channel", &["attributionChannel", "conversionChannel"]),
    ("keyword", &["attributionDetail"]),
    ("lead source", &["attributionChannel", "attributionCategory"]),
    ("marketing channel", &["attributionChannel"]),
    ("medium", &["attributionChannel"]),
    ("utm campaign", &["campaign"]),
    ("utm medium", &["attributionCategory", "attributionChannel"]),
    ("utm source", &["attributionChannel"]),
    // The customer.
    ("city", &["zip"]),
    ("customer type", &["customerStatus"]),
    ("department", &["businessUnit", "normalizedBusinessUnit"]),
    ("email", &["customerEmail"]),
    ("name", &["customerName", "accountName"]),
    ("phone", &["customerPhone"]),
    ("postal code", &["zip"]),
    ("postcode", &["zip"]),
    ("salesperson", &["opportunityAgent", "agent"]),
    ("service", &["businessUnit", "opportunityType"]),
    ("trade", &["normalizedBusinessUnit", "businessUnit"]),
    ("zip code", &["zip"]),
    // Revenue.
    ("amount", &["total"]),
    ("average order value", &["avgTicket"]),
    ("average sale", &["avgTicket"]),
    ("aov", &["avgTicket"]),
    ("invoiced", &["closedRevenue"]),
    ("pipeline", &["estimatedRevenue", "revenuePotential"]),
    ("revenue", &["closedRevenue", "soldRevenue", "revenuePotential"]),
    ("sales", &["soldRevenue", "payingCustomers"]),
    ("turnover", &["closedRevenue"]),
    ("value", &["total", "revenuePotential"]),
    // Spend.
    ("ad cost", &["cost", "spend"]),
    ("ad spend", &["cost", "spend"]),
    ("budget", &["spend"]),
    ("expense", &["spend"]),
    ("cac", &["avgCostPerPayingCustomer"]),
    ("cost per acquisition", &["avgCostPerPayingCustomer", "avgCostPerLead"]),
    ("cost per booking", &["avgCostPerBookedCustomer"]),
    ("cost per job", &["avgCostPerBookedCustomer", "avgCostPerPayingCustomer"]),
    ("cpa", &["avgCostPerPayingCustomer", "avgCostPerLead"]),
    ("cpb", &["avgCostPerBookedCustomer"]),
    ("cpl", &["avgCostPerLead"]),
    ("customer acquisition cost", &["avgCostPerPayingCustomer"]),
    ("return on ad spend", &["roasClosed", "roasPotential"]),
    ("roas", &["roasClosed", "roasPotential"]),
    ("roi", &["roasClosed", "roasPotential"]),
    ("views", &["impressions"]),
    // Rates.
    ("booking rate", &["bookRate", "stepBookRate"]),
    ("cancellation rate", &["cancelRate", "customerCancelRate"]),
    ("close rate", &["stepCloseRate", "payingCustomerRate"]),
    ("conversion rate", &["bookRate", "payingCustomerRate"]),
    ("cvr", &["bookRate", "payingCustomerRate"]),
    ("estimate rate", &["stepEstimateRate"]),
    ("sell rate", &["stepSoldRate"]),
    ("win rate", &["stepSoldRate", "payingCustomerRate"]),
];

/// Returns what people call a field in other tools.
///
/// ```
/// assert!(trueup_core::dictionary::synonyms("avgCostPerLead").any(|name| name == "cpl"));
/// ```
pub fn synonyms(field: &str) -> impl Iterator<Item = &'static str> {
    SYNONYMS.iter().filter(move |(_, meant)| meant.contains(&field)).map(|(synonym, _)| *synonym)
}

/// The most letters of a synonym that is an abbreviation.
const MAX_ABBREVIATION: usize = 4;

/// Returns the fields and columns that are most similar to `name`, at most three; `columns` are those of the dataset.
///
/// A field or column is similar if `name` is spelled like it, or if each word of `name` is a word of the field or
/// column. A field is also similar if `name` is a synonym of it, or is spelled like one of its synonyms. Only the most
/// similar names and synonyms count, in the order of the alphabet. In the place of a synonym are the fields that it may
/// mean, the likeliest first. None if no name is similar.
///
/// ```
/// use trueup_core::dictionary::similar_names;
///
/// let columns = ["crew".to_owned()].into();
/// assert_eq!(similar_names("cpl", &columns), ["avgCostPerLead"]);
/// assert_eq!(similar_names("cost_per_lead", &columns), ["avgCostPerLead"]);
/// assert_eq!(similar_names("Crew", &columns), ["crew"]);
/// assert!(similar_names("colour", &columns).is_empty());
/// ```
#[must_use]
pub fn similar_names(name: &str, columns: &BTreeSet<String>) -> Vec<String> {
    similar_names_with(name, columns.iter().map(String::as_str))
}

/// Returns the fields and names of `others` that are most similar to `name`, as [`similar_names`] does.
pub(crate) fn similar_names_with<'a>(name: &str, others: impl Iterator<Item = &'a str>) -> Vec<String> {
    let wanted = Wanted::new(name);
    let known = all_fields().map(|field| field.name).chain(others);
    let mut differences: Vec<(Difference, &str)> =
        known.filter_map(|name| Some((wanted.difference(name)?, name))).collect();
    let synonyms = SYNONYMS.iter().filter_map(|(synonym, _)| Some((wanted.difference(synonym)?, *synonym)));
    differences.extend(synonyms.filter(|(difference, synonym)| match difference {
        Difference::Punctuation => true,
        // One edit turns an abbreviation into another one.
        Difference::Edits(_) => synonym.len() > MAX_ABBREVIATION,
        // A synonym that merely shares words says less than a field that does.
        Difference::CountryCode | Difference::Words(_) => false,
    }));
    let mut similar: Vec<String> = Vec::new();
    for name in least(differences) {
        let meant = SYNONYMS.iter().find(|(synonym, _)| *synonym == name).map(|(_, meant)| *meant);
        for name in meant.unwrap_or(&[name]) {
            if !similar.iter().any(|known| known == name) {
                similar.push((*name).to_owned());
            }
        }
    }
    similar.truncate(MAX_SIMILAR);
    similar
}
