//! Random definitions of metrics and dimensions (section 15).

use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::pools::{CAMPAIGNS, FILTERED, TEXTS};
use crate::oracle::{CaseTest, Definitions, OPEN_LEADS, Otherwise, OwnDimension, OwnMetric, OwnRule, Tables};

/// The names of the metrics of every case.
pub(super) const OWN_METRICS: [&str; 3] = ["netA", "netB", "netC"];

/// The names of the dimensions of every case.
pub(super) const OWN_DIMENSIONS: [&str; 3] = ["ownA", "ownB", "ownC"];

/// The texts that cases give, the empty one and texts of sources among them.
pub(super) const OWN_TEXTS: [&str; 6] = ["Brand", "", "x", "été \"fünf\"", "10", "2025-02-01"];

/// The built-in metrics that are counts.
const COUNTS: [&str; 14] = [
    "eventCount",
    "conversions",
    "leads",
    "opportunityCount",
    "customers",
    "matchedCustomers",
    "payingCustomers",
    "bookedCustomers",
    "opportunityAgents",
    "clicks",
    "impressions",
    "gradedConversions",
    "bookableConversions",
    "soldLeads",
];

/// The built-in metrics that are amounts of money.
const AMOUNTS: [&str; 8] =
    ["total", "estimatedRevenue", "soldRevenue", "closedRevenue", "revenuePotential", "spend", "cost", "campaignSpend"];

/// The dimensions of dates, and `dateTime`.
const DATES: [&str; 9] = [
    "date",
    "week",
    "opportunityStartDate",
    "firstBooked",
    "firstEstimated",
    "firstSold",
    "firstClosed",
    "firstCanceled",
    "dateTime",
];

/// Columns that a table of events may lack.
const FURTHER_COLUMNS: [&str; 9] =
    ["attributionSource", "Campaign", "my column|$[0]", "größe", "flag", "jobs", "visit", "seen", "noSuchField"];

/// Generates the definitions of a case. Some are derived from columns that tables may lack.
pub(super) fn definitions() -> impl Strategy<Value = Definitions> {
    let metrics = OWN_METRICS.map(metric);
    let dimensions = OWN_DIMENSIONS.map(dimension);
    (metrics, dimensions).prop_map(|(metrics, dimensions)| Definitions {
        metrics: metrics.into_iter().collect(),
        dimensions: dimensions.into_iter().collect(),
    })
}

/// Returns the definitions without sources that the tables do not have.
pub(super) fn suited(mut definitions: Definitions, tables: &Tables) -> Definitions {
    for dimension in &mut definitions.dimensions {
        let from = dimension.from.as_str();
        let is_lacking =
            FURTHER_COLUMNS.contains(&from) && !tables.events.iter().any(|row| row.other.contains_key(from));
        if is_lacking {
            dimension.from = "campaign".to_owned();
        }
    }
    definitions
}

fn metric(name: &'static str) -> impl Strategy<Value = OwnMetric> {
    let denominator = prop_oneof![1 => Just(None), 1 => sum().prop_map(Some)];
    (sum(), denominator).prop_map(move |(numerator, denominator)| OwnMetric {
        name: name.to_owned(),
        numerator,
        denominator,
    })
}

/// Generates a list of counts or of amounts, some of which are subtracted.
fn sum() -> impl Strategy<Value = Vec<String>> {
    let open_leads = Just(vec![OPEN_LEADS]);
    let parts = prop_oneof![
        10 => subsequence(COUNTS.to_vec(), 1..=3),
        10 => subsequence(AMOUNTS.to_vec(), 1..=3),
        1 => open_leads,
    ];
    (parts, proptest::collection::vec(proptest::bool::weighted(0.3), 3)).prop_map(|(parts, signs)| {
        let signed = |(part, is_subtracted): (&str, bool)| format!("{}{part}", if is_subtracted { "-" } else { "" });
        parts.into_iter().zip(signs).map(signed).collect()
    })
}

fn dimension(name: &'static str) -> impl Strategy<Value = OwnDimension> {
    let part = (select(&DATES[..]), select(vec!["year", "quarter", "weekday", "hour"])).prop_map(|(from, part)| {
        let part = if part == "hour" && from != "dateTime" { "weekday" } else { part };
        (from, OwnRule::Part(part.to_owned()))
    });
    let mut sources: Vec<(&'static str, &'static [&'static str])> = FILTERED.to_vec();
    sources.extend([
        ("account", &super::pools::ACCOUNTS[..]),
        ("campaign", &CAMPAIGNS),
        ("normalizedBusinessUnit", &TEXTS),
    ]);
    let cases = select(sources).boxed().prop_flat_map(|(from, pool)| {
        let cases = proptest::collection::vec((case(pool), select(&OWN_TEXTS[..])), 0..=4);
        let otherwise = prop_oneof![
            1 => Just(Otherwise::Empty),
            1 => select(&OWN_TEXTS[..]).prop_map(|text| Otherwise::Text(text.to_owned())),
            2 => Just(Otherwise::Keep),
        ];
        (cases.boxed(), otherwise.boxed()).prop_map(move |(cases, otherwise)| {
            let cases = cases.into_iter().map(|(test, text)| (test, text.to_owned())).collect();
            (from, OwnRule::Cases(cases, otherwise))
        })
    });
    prop_oneof![1 => part.boxed(), 3 => cases.boxed()].prop_map(move |(from, rule)| OwnDimension {
        name: name.to_owned(),
        from: from.to_owned(),
        rule,
    })
}

fn case(pool: &'static [&'static str]) -> impl Strategy<Value = CaseTest> {
    let texts = proptest::collection::vec(select(pool), 1..=3);
    let texts = texts.prop_map(|texts| CaseTest::Equals(texts.into_iter().map(str::to_owned).collect()));
    let pattern = (select(vec!["x", "^[a-m]", "s.*d", "-0[12]-", "^$", "\\d{2}"]), select(vec!["", "i", "u"]));
    let pattern = pattern.prop_map(|(pattern, flags)| CaseTest::Matches(pattern.to_owned(), flags.to_owned()));
    let ends = (select(vec![None, Some(-7.5), Some(0.0), Some(10.0)]), select(vec![None, Some(10.5), Some(501.0)]));
    let range = ends.prop_map(|(from, below)| match (from, below) {
        (None, None) => CaseTest::Range(Some(0.0), None),
        (from, below) => CaseTest::Range(from, below),
    });
    prop_oneof![2 => texts, 1 => pattern, 1 => range]
}
