//! A damaged document fails only the requests that may need it.

use crate::test_dataset::TestDataset;
use std::fs;
use trueup_core::dataset::{Dataset, Insight};
use trueup_core::query::{AccountFilter, DateRange};
use trueup_core::{Day, Error, Interrupt};

const ACCOUNTS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const DAYS: [&str; 3] = ["2025-01-01", "2025-01-08", "2025-02-01"];

/// Returns a document that is longer than a checksum block and has unusual spelling.
fn document(account: &str, day: &str) -> String {
    format!("{{ \"of\":\"{account}\\u0020{day}é\",\"n\":1.50e1 ,\"long\":\"{}\"}}", "é".repeat(40_000))
}

fn line(account: &str, day: &str) -> String {
    // JSON allows the account to be escaped.
    let escaped = format!("\\u{:04x}", account.as_bytes()[0]);
    format!("{{\"date\":\"{day}\", \"insight\":{},\"account\":\"{escaped}\"}}\n", document(account, day))
}

fn with_insights() -> TestDataset {
    let mut stored = TestDataset::sound();
    let lines = ACCOUNTS.iter().flat_map(|account| DAYS.iter().map(|day| line(account, day)));
    stored.insights(&lines.collect::<String>());
    stored.republish();
    stored
}

/// Changes a byte in the middle of the document of an account and day.
fn damage(stored: &TestDataset, account: usize, day: usize) {
    let path = stored.path("insights/insights.ndjson");
    let mut bytes = fs::read(&path).unwrap();
    let length = bytes.len() / (ACCOUNTS.len() * DAYS.len());
    bytes[(account * DAYS.len() + day) * length + length / 2] ^= 1;
    fs::write(path, bytes).unwrap();
}

fn only(accounts: &[&str]) -> AccountFilter {
    AccountFilter::Only(accounts.iter().map(|account| (*account).to_owned()).collect())
}

fn january() -> Option<DateRange> {
    let [start, _, end] = DAYS.map(|day| day.parse::<Day>().unwrap());
    Some(DateRange { start, end: Day::from_number(end.number() - 1) })
}

fn ask(dataset: &Dataset, accounts: &AccountFilter, range: Option<DateRange>) -> Result<Vec<Insight>, Error> {
    dataset.insights(accounts, range, 12, &Interrupt::default())?.collect()
}

/// Checks the documents, and returns their names, such as `a1` for the first document of account a.
fn found(insights: &[Insight]) -> String {
    let mut names = Vec::new();
    for insight in insights {
        let date = insight.date.to_string();
        assert!(insight.document == document(&insight.account, &date), "{} {date}", insight.account);
        names.push(format!("{}{}", insight.account, DAYS.iter().position(|day| *day == date).unwrap() + 1));
    }
    names.join(" ")
}

#[test]
fn documents_are_returned_as_they_are_in_the_file() {
    let stored = with_insights();
    let dataset = Dataset::open(stored.folder()).unwrap();
    for _ in 0..2 {
        assert_eq!(found(&ask(&dataset, &AccountFilter::All, None).unwrap()), "a3 b3 c3 d3 e3 f3");
        assert_eq!(
            found(&ask(&dataset, &AccountFilter::All, january()).unwrap()),
            "a1 a2 b1 b2 c1 c2 d1 d2 e1 e2 f1 f2"
        );
        assert_eq!(found(&ask(&dataset, &only(&["f", "b", "nobody"]), january()).unwrap()), "b1 b2 f1 f2");
        assert_eq!(found(&ask(&dataset, &only(&["aa"]), None).unwrap()), "");
    }
    let many = dataset.insights(&AccountFilter::All, january(), 11, &Interrupt::default()).unwrap();
    assert_eq!((many.matched(), many.bytes(), many.count()), (12, 0, 0));
}

#[test]
fn a_damaged_block_fails_only_requests_for_documents_in_it() {
    let stored = with_insights();
    // The block holds the end of the second document of c and the beginning of the third.
    damage(&stored, 2, 1);
    let dataset = Dataset::open(stored.folder()).unwrap();
    for accounts in [&["a", "b"][..], &["d"], &["e", "f"]] {
        let expected: Vec<String> = accounts.iter().map(|account| format!("{account}3")).collect();
        assert_eq!(found(&ask(&dataset, &only(accounts), None).unwrap()), expected.join(" "));
    }
    for accounts in [only(&["c"]), only(&["a", "c"]), only(&["c", "f"]), AccountFilter::All] {
        let refused = ask(&dataset, &accounts, None).unwrap_err();
        assert!(refused.to_string().contains("differ from what was written"), "{refused}");
    }
    // The block may have held a document of `cc`, or an earlier one of d, but none of c on or before the first day.
    assert!(ask(&dataset, &only(&["cc"]), None).is_err());
    let until = |end: &str| Some(DateRange { start: Day::MIN, end: end.parse().unwrap() });
    assert!(ask(&dataset, &only(&["d"]), until(DAYS[0])).is_err());
    assert_eq!(found(&ask(&dataset, &only(&["d"]), january()).unwrap()), "d1 d2");
    assert_eq!(found(&ask(&dataset, &only(&["c"]), until(DAYS[0])).unwrap()), "c1");
    assert!(ask(&dataset, &only(&["c"]), january()).is_err());
    assert_eq!(stored.faults().len(), 1);
    // A repaired file can be read again.
    damage(&stored, 2, 1);
    assert_eq!(found(&ask(&dataset, &AccountFilter::All, None).unwrap()), "a3 b3 c3 d3 e3 f3");
}

#[test]
fn damage_at_either_end_of_the_file_fails_only_its_account_and_unknown_ones() {
    for (account, refused) in [(0, "a"), (5, "f")] {
        let stored = with_insights();
        let day = if account == 0 { 0 } else { 2 };
        damage(&stored, account, day);
        let dataset = Dataset::open(stored.folder()).unwrap();
        for asked in ACCOUNTS {
            assert_eq!(ask(&dataset, &only(&[asked]), january()).is_err(), asked == refused, "{asked}");
        }
        // Any account may have been before the first line that can be read, or after the last.
        for (outside, refused) in [("Z", account == 0), ("z", account == 5)] {
            assert_eq!(ask(&dataset, &only(&[outside]), None).is_err(), refused, "{outside}");
        }
    }
}

#[test]
fn a_document_is_checked_each_time_that_it_is_read() {
    let stored = with_insights();
    let dataset = Dataset::open(stored.folder()).unwrap();
    assert_eq!(found(&ask(&dataset, &only(&["a"]), None).unwrap()), "a3");
    damage(&stored, 4, 1);
    assert_eq!(found(&ask(&dataset, &only(&["a", "f"]), None).unwrap()), "a3 f3");
    assert_eq!(found(&ask(&dataset, &only(&["e"]), None).unwrap()), "e3");
    assert!(ask(&dataset, &only(&["e"]), january()).is_err());
}

#[test]
fn a_line_that_is_not_a_document_fails_only_its_neighbors() {
    let mut stored = TestDataset::sound();
    let lines: Vec<String> = ACCOUNTS.iter().map(|account| line(account, DAYS[0])).collect();
    stored.insights(&format!("{}{}nonsense\n{}", lines[0], lines[1], lines[3..].concat()));
    stored.republish();
    let dataset = Dataset::open(stored.folder()).unwrap();
    for (account, reads) in [("a", true), ("b", false), ("c", false), ("d", true), ("e", true), ("f", true)] {
        assert_eq!(ask(&dataset, &only(&[account]), None).is_ok(), reads, "{account}");
    }
    let refused = ask(&dataset, &only(&["c"]), None).unwrap_err().to_string();
    assert!(refused.contains("insights.ndjson`, line 3: no document"), "{refused}");
}

#[test]
fn an_interrupted_request_is_an_error() {
    let stored = with_insights();
    let dataset = Dataset::open(stored.folder()).unwrap();
    let interrupt = Interrupt::default();
    interrupt.cancel();
    assert!(dataset.insights(&only(&["a"]), None, 9, &interrupt).is_err());
    assert_eq!(found(&ask(&dataset, &only(&["a"]), None).unwrap()), "a3");
}
