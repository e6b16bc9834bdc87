//! The mappings of the two public data sets, on the data itself where it is at hand.

use crate::case::{Case, Row, column, rows};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The folder of the data sets: the variable `TRUEUP_REALDATA`, or beside the workspace.
fn data(files: &[&str]) -> Option<Vec<PathBuf>> {
    let folder = std::env::var_os("TRUEUP_REALDATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/realdata"), PathBuf::from);
    let paths: Vec<PathBuf> = files.iter().map(|file| folder.join(file)).collect();
    if let Some(missing) = paths.iter().find(|path| !path.exists()) {
        println!("skipped: {} is not there", missing.display());
        return None;
    }
    Some(paths)
}

fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples").join(name);
    std::fs::read_to_string(path).unwrap()
}

/// A decimal text in millionths.
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

#[test]
fn olist_comes_through_whole() {
    let files = [
        "olist/olist_marketing_qualified_leads_dataset.csv",
        "olist/olist_closed_deals_dataset.csv",
        "olist/olist_order_items_dataset.parquet",
    ];
    let Some(files) = data(&files) else { return };
    let case = files.into_iter().fold(Case::new(&example("olist.toml")), Case::given);
    let mapped = case.run().unwrap();
    let [leads, sold, closed] = &mapped.events[..] else { panic!("{mapped:?}") };
    let (leads, sold, closed) = (rows(leads), rows(sold), rows(closed));
    assert_eq!((leads.len(), sold.len(), closed.len()), (8_000, 842, 5_044));
    let total: i128 = column(&closed, "total").iter().map(|total| micros(total)).sum();
    assert_eq!(total, 676_851_480_000);
    assert_eq!(column(&closed, "opportunityId").into_iter().collect::<std::collections::BTreeSet<_>>().len(), 380);

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
    // The deals are credited to where their customers came from.
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
fn ads_comes_through_whole() {
    let Some(files) = data(&["ads/online_advertising_performance_data.csv"]) else { return };
    let case = files.into_iter().fold(Case::new(&example("ads.toml")), Case::given);
    let spend = case.spend();
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
