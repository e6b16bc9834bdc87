//! Two public data sets through their mappings: the mapped rows, and queries whose totals were computed without trueup.
//!
//! The data is not part of the repository. Without it, the tests are skipped.

use crate::case::{Case, Row, column, rows};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use trueup_core::query::{EventsQuery, Filter};
use trueup_core::{Dataset, ResultTable, Value};
use trueup_ingest::Ingest;
use trueup_testkit::exhaustive::skip;

const OLIST: [&str; 3] = [
    "olist/olist_marketing_qualified_leads_dataset.csv",
    "olist/olist_closed_deals_dataset.csv",
    "olist/olist_order_items_dataset.parquet",
];

const ADS: [&str; 1] = ["ads/online_advertising_performance_data.csv"];

/// Returns the paths of some files, if all exist. The variable `TRUEUP_REALDATA` names their folder; without it, the
/// folder is next to the workspace.
fn data(files: &[&str]) -> Option<Vec<PathBuf>> {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/realdata");
    let folder = std::env::var_os("TRUEUP_REALDATA").map_or_else(default, PathBuf::from);
    let paths: Vec<PathBuf> = files.iter().map(|file| folder.join(file)).collect();
    if let Some(missing) = paths.iter().find(|path| !path.exists()) {
        skip(&format!("`{}` does not exist", missing.display()));
        return None;
    }
    Some(paths)
}

/// Returns the path of a mapping of the documentation.
fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples").join(name)
}

fn mapped(files: Vec<PathBuf>, mapping: &str) -> Case {
    let mapping = std::fs::read_to_string(example(mapping)).unwrap();
    files.into_iter().fold(Case::new(&mapping), Case::file_at)
}

fn ingested(folder: &Path, files: &[PathBuf], mapping: &str) -> Dataset {
    let into = folder.join("dataset");
    let ingest = Ingest::into(&into).mapping(example(mapping));
    files.iter().fold(ingest, |ingest, file| ingest.events(file)).run().unwrap();
    Dataset::open(into).unwrap()
}

/// Returns a decimal text in millionths.
fn micros(text: &str) -> i128 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    assert!(fraction.len() <= 6, "{text}");
    format!("{whole}{fraction:0<6}").parse().unwrap()
}

fn counts(rows: &[Row], name: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for value in column(rows, name) {
        *counts.entry(value).or_default() += 1;
    }
    counts
}

fn ask(dataset: &Dataset, fields: &[&str], start: &str, end: &str) -> ResultTable {
    let query = EventsQuery::new(fields.to_vec(), start.parse().unwrap(), end.parse().unwrap()).allow_long_total();
    dataset.query(&query).unwrap()
}

fn count(table: &ResultTable, row: usize, name: &str) -> u64 {
    match table.value(row, name) {
        Some(Value::Count(count)) => count,
        other => unreachable!("`{name}` is {other:?}"),
    }
}

fn money(table: &ResultTable, row: usize, name: &str) -> i128 {
    match table.value(row, name) {
        Some(Value::Money(micros)) => micros,
        other => unreachable!("`{name}` is {other:?}"),
    }
}

/// Returns two counts of each row, by the text of the first column.
fn pairs(table: &ResultTable, names: [&str; 2]) -> BTreeMap<String, (u64, u64)> {
    let pair = |row| {
        let Some(Value::Text(text)) = table.columns()[0].value(row) else { unreachable!("a dimension is text") };
        (text.to_owned(), (count(table, row, names[0]), count(table, row, names[1])))
    };
    (0..table.len()).map(pair).collect()
}

#[test]
fn olist_is_mapped_completely() {
    let Some(files) = data(&OLIST) else { return };
    let case = mapped(files, "olist.toml");
    let made = case.run().unwrap();
    let [leads, sold, closed] = &made.events[..] else { panic!("{made:?}") };
    let (leads, sold, closed) = (rows(leads), rows(sold), rows(closed));
    assert_eq!((leads.len(), sold.len(), closed.len()), (8_000, 842, 5_044));
    let total: i128 = column(&closed, "total").iter().map(|total| micros(total)).sum();
    assert_eq!(total, 676_851_480_000);
    assert_eq!(column(&closed, "opportunityId").into_iter().collect::<BTreeSet<_>>().len(), 380);

    let origins = |pairs: &[(&str, usize)]| pairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
    let expected: BTreeMap<String, usize> = origins(&[
        ("organic_search", 2296),
        ("paid_search", 1586),
        ("social", 1350),
        ("unknown", 1099),
        ("direct_traffic", 499),
        ("email", 493),
        ("referral", 284),
        ("other", 150),
        ("display", 118),
        ("other_publicities", 65),
        ("", 60),
    ]);
    assert_eq!(counts(&leads, "attributionChannel"), expected);
    // First-touch credit gives the deals the channels of their customers' first contacts.
    let expected: BTreeMap<String, usize> = origins(&[
        ("organic_search", 271),
        ("paid_search", 195),
        ("social", 75),
        ("unknown", 179),
        ("direct_traffic", 56),
        ("email", 15),
        ("referral", 24),
        ("other", 4),
        ("display", 6),
        ("other_publicities", 3),
        ("", 14),
    ]);
    assert_eq!(counts(&sold, "attributionChannel"), expected);
    assert!(column(&sold, "campaign").iter().all(|campaign| !campaign.is_empty()));
    assert!(column(&closed, "eventId").iter().all(|id| id.len() > 32));
    assert_eq!(column(&sold, "dateTime")[0], "2018-02-26T19:58:54Z");
    assert_eq!(column(&sold, "date")[0], "2018-02-26");
    assert_eq!(column(&sold, "business_segment")[0], "pet");
}

#[test]
fn ads_are_mapped_completely() {
    let Some(files) = data(&ADS) else { return };
    let spend = mapped(files, "ads.toml").spend();
    assert_eq!(spend.len(), 15_408);
    let mut costs: BTreeMap<String, i128> = BTreeMap::new();
    for (campaign, cost) in column(&spend, "campaign").into_iter().zip(column(&spend, "adSpend")) {
        *costs.entry(campaign).or_default() += micros(&cost);
    }
    let expected = [("camp 1", 150_688_579_800), ("camp 2", 17_037_349_600), ("camp 3", 7_467_066_300)];
    assert_eq!(costs, expected.map(|(name, cost)| (name.to_owned(), cost)).into());
    assert_eq!(counts(&spend, "attributionChannel")[""], 413);
    let dates = column(&spend, "date");
    assert_eq!(
        (dates.iter().min().unwrap().as_str(), dates.iter().max().unwrap().as_str()),
        ("2020-04-01", "2020-06-30")
    );
}

#[test]
fn olist_has_its_known_totals() {
    let Some(files) = data(&OLIST) else { return };
    let folder = tempfile::tempdir().unwrap();
    let dataset = ingested(folder.path(), &files, "olist.toml");
    let (start, end) = ("2016-01-01", "2020-12-31");

    let whole =
        ask(&dataset, &["conversions", "leads", "soldLeads", "closedLeads", "total", "closedRevenue"], start, end);
    assert_eq!(count(&whole, 0, "conversions"), 8_000);
    assert_eq!(count(&whole, 0, "leads"), 7_999);
    assert_eq!(money(&whole, 0, "total"), 676_851_480_000);
    assert_eq!(money(&whole, 0, "closedRevenue"), 676_851_480_000);
    let states = pairs(
        &ask(&dataset, &["adjustedType", "customers", "payingCustomers"], start, end),
        ["customers", "payingCustomers"],
    );
    assert_eq!(
        states,
        BTreeMap::from([
            ("closed".to_owned(), (380, 380)),
            ("lead-originated".to_owned(), (7_158, 0)),
            ("sold".to_owned(), (462, 462)),
        ])
    );
    let items = ask(&dataset, &["type", "eventCount"], start, end);
    assert_eq!((0..items.len()).map(|row| count(&items, row, "eventCount")).collect::<Vec<_>>(), [5_044, 8_000, 842]);

    // By channel: contacts, and customers that were ever won, including one that was won before its first contact.
    let won = |fields: &[&str]| {
        let query = EventsQuery::new(fields.to_vec(), start.parse().unwrap(), end.parse().unwrap())
            .allow_long_total()
            .filter(Filter::equals("type", "sold"));
        dataset.query(&query).unwrap()
    };
    let expected = [
        ("organic_search", 2296, 271),
        ("paid_search", 1586, 195),
        ("social", 1350, 75),
        ("unknown", 1099, 179),
        ("direct_traffic", 499, 56),
        ("email", 493, 15),
        ("referral", 284, 24),
        ("other", 150, 4),
        ("display", 118, 6),
        ("other_publicities", 65, 3),
        ("", 60, 14),
    ];
    let contacts =
        pairs(&ask(&dataset, &["attributionChannel", "conversions", "leads"], start, end), ["conversions", "leads"]);
    let ever_won =
        pairs(&won(&["attributionChannel", "opportunityCount", "eventCount"]), ["opportunityCount", "eventCount"]);
    for (origin, conversions, sold) in expected {
        assert_eq!((contacts[origin].0, ever_won[origin]), (conversions, (sold, sold)), "{origin}");
    }
    assert_eq!((contacts.len(), ever_won.len()), (expected.len(), expected.len()));
    assert_eq!(contacts.values().map(|pair| pair.1).sum::<u64>(), 7_999);

    // By campaign: every contact of the raw file belongs to its landing page.
    let mut pages: BTreeMap<String, u64> = BTreeMap::new();
    for record in csv::Reader::from_path(&files[0]).unwrap().records() {
        *pages.entry(record.unwrap()[2].to_owned()).or_default() += 1;
    }
    let campaigns =
        pairs(&ask(&dataset, &["campaign", "conversions", "eventCount"], start, end), ["conversions", "eventCount"]);
    assert_eq!(campaigns.into_iter().map(|(page, pair)| (page, pair.0)).collect::<BTreeMap<_, _>>(), pages);
}

#[test]
fn ads_have_their_known_costs() {
    let Some(files) = data(&ADS) else { return };
    let folder = tempfile::tempdir().unwrap();
    let dataset = ingested(folder.path(), &files, "ads.toml");
    let table = ask(&dataset, &["campaign", "spend", "cost", "campaignSpend", "leads"], "2020-04-01", "2020-06-30");
    let expected = [("camp 1", 150_688_579_800), ("camp 2", 17_037_349_600), ("camp 3", 7_467_066_300)];
    assert_eq!(table.len(), expected.len());
    for (row, (campaign, micros)) in expected.into_iter().enumerate() {
        assert_eq!(table.value(row, "campaign"), Some(Value::Text(campaign)));
        for name in ["spend", "cost", "campaignSpend"] {
            assert_eq!(money(&table, row, name), micros, "{campaign} {name}");
        }
        assert_eq!(count(&table, row, "leads"), 0);
    }
    let channels = ask(&dataset, &["attributionChannel", "spend"], "2020-04-01", "2020-06-30");
    let sum: i128 = (0..channels.len()).map(|row| money(&channels, row, "spend")).sum();
    assert_eq!(sum, expected.iter().map(|(_, micros)| micros).sum::<i128>());
    assert_eq!(channels.value(0, "attributionChannel"), Some(Value::Text("")), "413 rows have no placement");
}
