//! Spend, which an ingest replaces day by day, and insight documents, which it keeps byte for byte.

use crate::dataset::Case;
use trueup_core::query::{AccountFilter, DateRange};
use trueup_core::{Dataset, Interrupt};

#[test]
fn spend_replaces_the_days_of_its_rows() {
    let case = Case::new();
    let spend = |name: &str, text: &str| {
        let path = case.file(name, format!("account,date,campaign,adSpend,clicks\n{text}"));
        case.ingest().spend(path).run(&()).unwrap()
    };
    spend("1.csv", "b,2025-01-01,x,1,1\na,2025-01-02,y,2,\na,2025-01-01,x,3.5,4\na,2025-01-01,z,4,5\n");
    let summary = spend("2.csv", "a,2025-01-01,x,9,\na,2025-01-03,,7,\n");
    assert_eq!((summary.spend.taken, summary.spend.replaced), (2, 2));
    assert_eq!(
        case.stored_spend(),
        [
            "a|2025-01-01|||x|9.000000|||",
            "a|2025-01-02|||y|2.000000|||",
            "a|2025-01-03||||7.000000|||",
            "b|2025-01-01|||x|1.000000||1|",
        ]
    );
    assert!(!spend("3.csv", "a,2025-01-01,x,9,\na,2025-01-03,,7,\n").changed, "the latest batch again");
    assert!(
        spend("4.csv", "b,2025-01-01,x,1,1\na,2025-01-02,y,2,\na,2025-01-01,x,3.5,4\na,2025-01-01,z,4,5\n").changed
    );
    assert_eq!(case.stored_spend().len(), 5);
}

#[test]
fn spend_that_is_spilled_makes_the_same_file() {
    let mut first = "account,date,adSpend,campaign\n".to_owned();
    let mut second = first.clone();
    // The days of two years, shuffled.
    for row in 0..60_000_usize {
        let day = row * 7_919 % 720;
        let (year, month, day) = (2024 + day / 360, 1 + day / 30 % 12, 1 + day % 28);
        let rows = if row % 50 == 0 { &mut second } else { &mut first };
        let campaign = format!("campaign {} {}", row % 997, "of a long name ".repeat(30));
        *rows += &format!("account {},{year}-{month:02}-{day:02},{}.{:02},{campaign}\n", row % 31, row % 77, row % 100);
    }
    let stored = |memory: usize| {
        let case = Case::new();
        let ingest = |name, text: &String| {
            let ingest = case.ingest().memory(memory).row_group_rows(700);
            ingest.spend(case.file(name, text)).run(&()).unwrap().spend
        };
        let counts = (ingest("1.csv", &first), ingest("2.csv", &second));
        let files = case.manifest().spend;
        let sums: Vec<_> = files.into_iter().map(|file| (file.rows, file.sha256)).collect();
        (counts, sums, case.stored_spend())
    };
    let (counts, sums, rows) = stored(1 << 30);
    assert!(counts.1.replaced > 0 && rows.len() > 30_000, "{counts:?}");
    // Spend may take 16 MiB whatever the memory. Each quarter takes less, and all together take more.
    assert_eq!(stored(1 << 20), (counts, sums, rows));
}

/// Returns the text of the file of insights.
fn stored_insights(case: &Case) -> String {
    std::fs::read_to_string(case.dataset().join(&case.manifest().insights[0].path)).unwrap()
}

#[test]
fn documents_are_kept_byte_for_byte_by_account_and_date() {
    let case = Case::new();
    let (b, a) = (
        "{\"insight\": {\"z\": 1.0,  \"a\":[1e2]}, \"account\":\"b\",\"date\":\"2025-01-31\"}",
        "{\"account\":\"a\",\"date\":\"2025-02-28\",\"insight\":{\"\\u0061\":null}}",
    );
    let summary = case.ingest().insights(case.file("1.ndjson", format!("{b}\n\n{a}\r\n"))).run(&()).unwrap();
    assert_eq!(summary.insights.taken, 2);
    assert_eq!(stored_insights(&case), format!("{a}\n{b}\n"));
    let later = "{\"account\":\"b\",\"date\":\"2025-01-31\",\"insight\":{}}";
    let summary = case.ingest().insights(case.file("2.ndjson", later)).run(&()).unwrap();
    assert_eq!(summary.insights.replaced, 1);
    assert_eq!(stored_insights(&case), format!("{a}\n{later}\n"));
}

#[test]
fn a_line_that_is_no_document_is_refused() {
    let case = Case::new();
    for (line, place) in [
        ("{\"account\":\"a\",\"date\":\"2025-01-31\"}", "line 2: expected {\"account\", \"date\", \"insight\"}, but"),
        ("{\"account\":\"a\",\"date\":\"2025-1-31\",\"insight\":{}}", "line 2, column `date`: expected a date"),
        (
            "{\"account\":\"a/b\",\"date\":\"2025-01-31\",\"insight\":{}}",
            "line 2, column `account`: expected an account",
        ),
        ("{\"account\":\"a\",\"date\":\"2025-01-31\",\"insight\":[]}", "line 2, column `insight`: expected a document"),
    ] {
        let good = "{\"account\":\"a\",\"date\":\"2025-01-31\",\"insight\":{}}";
        let error = case.ingest().insights(case.file("bad.ndjson", format!("{good}\n{line}\n"))).run(&()).unwrap_err();
        assert!(error.to_string().contains(place), "{error}");
        assert!(!case.dataset().exists());
    }
}

#[test]
fn documents_are_found_by_account_and_day_of_publication() {
    let case = Case::new();
    let line = |account: &str, date: &str, insight: &str| {
        format!("{{\"account\":\"{account}\",\"date\":\"{date}\",\"insight\":{insight}}}\n")
    };
    let text = [
        line("b", "2025-01-31", "{ \"v\": 1.0 }"),
        line("a", "2025-03-31", "{}"),
        line("a", "2025-01-31", "{}"),
        line("a", "2025-02-28", "{}"),
    ];
    case.ingest().insights(case.file("1.ndjson", text.concat())).run(&()).unwrap();
    let dataset = Dataset::open(case.dataset()).unwrap();
    let ask = |accounts: &AccountFilter, range: Option<(&str, &str)>, limit| {
        let range = range.map(|(start, end)| DateRange { start: start.parse().unwrap(), end: end.parse().unwrap() });
        let found = dataset.insights(accounts, range, limit, &Interrupt::default()).unwrap();
        let keys: Vec<String> = found.documents.iter().map(|i| format!("{} {}", i.account, i.date)).collect();
        (found.matched, keys)
    };
    let only = |key: &str| AccountFilter::Only([key.to_owned()].into());
    let keys = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();

    assert_eq!(ask(&AccountFilter::All, None, 9), (2, keys(&["a 2025-03-31", "b 2025-01-31"])));
    assert_eq!(ask(&only("a"), None, 9), (1, keys(&["a 2025-03-31"])));
    let winter = Some(("2025-01-31", "2025-02-28"));
    assert_eq!(ask(&AccountFilter::All, winter, 3), (3, keys(&["a 2025-01-31", "a 2025-02-28", "b 2025-01-31"])));
    assert_eq!(ask(&AccountFilter::All, winter, 2), (3, keys(&[])));
    assert_eq!(ask(&only("c"), None, 9), (0, keys(&[])));
    let published = dataset.insights(&only("b"), None, 1, &Interrupt::default()).unwrap();
    assert_eq!(published.documents[0].document, "{ \"v\": 1.0 }");
}
