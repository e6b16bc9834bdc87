//! The questions that are timed, put to whatever data there is.

use crate::exit::Failure;
use trueup::filter;
use trueup_core::dictionary::{self, Kind};
use trueup_core::query::{EventsQuery, Interval};
use trueup_core::{Dataset, Day};

/// A question with a name.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) query: EventsQuery,
}

/// Five counts, ratios and sums of money.
const FIVE: [&str; 5] = ["leads", "customers", "bookRate", "closedRevenue", "conversions"];

/// The suite, for the last days of the dataset and its accounts; none if it has no events.
pub(super) fn cases(dataset: &Dataset) -> Result<Vec<Case>, Failure> {
    let Some(range) = dataset.date_range() else { return Ok(Vec::new()) };
    let end = range.end;
    let back = |days: u16| end.number().checked_sub(days - 1).map_or(range.start, Day::from_number).max(range.start);
    let keys = dataset.account_keys().map_err(trueup_core::Error::from)?;
    let one = || keys.iter().take(1);
    let parent = || keys.iter().take(keys.len().div_ceil(10));
    let over = |days: u16, fields: &[&str]| EventsQuery::new(fields.to_vec(), back(days), end);
    let five_by = |dimensions: &[&'static str]| [dimensions, &FIVE].concat();
    let with = |query: EventsQuery, field: &str, expression: &str| {
        filter::filtered(query, &[(field.to_owned(), expression.to_owned())])
    };
    let metrics = dictionary::fields().filter(|field| matches!(field.kind, Kind::Metric(_)));
    let metrics: Vec<&str> = metrics.map(|field| field.name).collect();
    let cases = [
        ("all metrics", over(90, &metrics)),
        ("channel", over(90, &five_by(&["attributionChannel"]))),
        ("campaign with spend", over(90, &["campaign", "leads", "spend", "avgCostPerLead", "roasClosed"])),
        ("account x month", EventsQuery::new(five_by(&["account"]), range.start, end).interval(Interval::Month)),
        ("channel x day", over(365, &five_by(&["attributionChannel"])).interval(Interval::Day)),
        (
            "business unit x week",
            with(
                over(365, &five_by(&["normalizedBusinessUnit"])).interval(Interval::Week),
                "campaign",
                r#"["regex", "a.*e", "i"]"#,
            )?,
        ),
        ("customers", over(90, &five_by(&["opportunityId"])).accounts(one())),
        ("one account", over(90, &five_by(&["attributionCategory"])).accounts(one())),
        ("state x status", over(90, &five_by(&["adjustedType", "customerStatus"]))),
        (
            "step rates",
            over(90, &["attributionChannel", "stepBookRate", "stepEstimateRate", "stepSoldRate", "stepCloseRate"]),
        ),
        ("date", over(90, &five_by(&["date"]))),
        ("large totals", with(over(90, &five_by(&["technician"])), "total", r#"["gte", 500]"#)?),
        ("a tenth of the accounts", over(90, &five_by(&["account"])).accounts(parent())),
    ];
    Ok(cases.into_iter().map(|(name, query)| Case { name, query }).collect())
}
