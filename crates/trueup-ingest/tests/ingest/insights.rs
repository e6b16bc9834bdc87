//! Insight documents are kept as published.

use crate::dataset::Case;
use trueup_core::query::{AccountFilter, DateRange};
use trueup_core::{Dataset, Interrupt};

fn stored(case: &Case) -> String {
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
    assert_eq!(stored(&case), format!("{a}\n{b}\n"));
    let later = "{\"account\":\"b\",\"date\":\"2025-01-31\",\"insight\":{}}";
    let summary = case.ingest().insights(case.file("2.ndjson", later)).run(&()).unwrap();
    assert_eq!(summary.insights.replaced, 1);
    assert_eq!(stored(&case), format!("{a}\n{later}\n"));
}

#[test]
fn what_is_no_document_is_refused() {
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
