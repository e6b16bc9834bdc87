//! Documents of one account, in a file that holds those of others too.

use crate::place::Place;
use std::fs;
use trueup_core::dataset::{Dataset, Insights};
use trueup_core::query::{AccountFilter, DateRange};
use trueup_core::{Day, Error, Interrupt};

const ACCOUNTS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const DAYS: [&str; 3] = ["2025-01-01", "2025-01-08", "2025-02-01"];

/// A document of more than a block, spelled as no program would.
fn document(account: &str, day: &str) -> String {
    format!("{{ \"of\":\"{account}\\u0020{day}é\",\"n\":1.50e1 ,\"long\":\"{}\"}}", "é".repeat(40_000))
}

fn line(account: &str, day: &str) -> String {
    // The account escaped, as it may be.
    let escaped = format!("\\u{:04x}", account.as_bytes()[0]);
    format!("{{\"date\":\"{day}\", \"insight\":{},\"account\":\"{escaped}\"}}\n", document(account, day))
}

fn place() -> Place {
    let mut place = Place::sound();
    let lines = ACCOUNTS.iter().flat_map(|account| DAYS.iter().map(|day| line(account, day)));
    place.insights(&lines.collect::<String>());
    place.recommit();
    place
}

/// Changes a byte in the middle of the document of an account and day.
fn damage(place: &Place, account: usize, day: usize) {
    let path = place.path("insights/insights.ndjson");
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

fn ask(dataset: &Dataset, accounts: &AccountFilter, range: Option<DateRange>) -> Result<Insights, Error> {
    dataset.insights(accounts, range, 12, &Interrupt::default())
}

/// The documents found, each as it should be, as `a1` for the first of the account a.
fn found(insights: &Insights) -> String {
    let mut names = Vec::new();
    for insight in &insights.documents {
        let date = insight.date.to_string();
        assert!(insight.document == document(&insight.account, &date), "{} {date}", insight.account);
        names.push(format!("{}{}", insight.account, DAYS.iter().position(|day| *day == date).unwrap() + 1));
    }
    names.join(" ")
}

#[test]
fn documents_are_those_of_the_file_byte_for_byte() {
    let place = place();
    let dataset = Dataset::open(place.folder()).unwrap();
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
    assert_eq!(many, Insights { matched: 12, documents: Vec::new() });
}

#[test]
fn a_damaged_document_concerns_those_alone_whose_documents_lie_there() {
    let place = place();
    // The block holds the end of the second document of c and the begin of the third.
    damage(&place, 2, 1);
    let dataset = Dataset::open(place.folder()).unwrap();
    for accounts in [&["a", "b"][..], &["d"], &["e", "f"]] {
        let expected: Vec<String> = accounts.iter().map(|account| format!("{account}3")).collect();
        assert_eq!(found(&ask(&dataset, &only(accounts), None).unwrap()), expected.join(" "));
    }
    for accounts in [only(&["c"]), only(&["a", "c"]), only(&["c", "f"]), AccountFilter::All] {
        let refused = ask(&dataset, &accounts, None).unwrap_err();
        assert!(refused.to_string().contains("are not those that were written"), "{refused}");
    }
    // Who knows whether there was one of `cc`, or an earlier one of d; not one of c on the first day or before.
    assert!(ask(&dataset, &only(&["cc"]), None).is_err());
    let until = |end: &str| Some(DateRange { start: Day::MIN, end: end.parse().unwrap() });
    assert!(ask(&dataset, &only(&["d"]), until(DAYS[0])).is_err());
    assert_eq!(found(&ask(&dataset, &only(&["d"]), january()).unwrap()), "d1 d2");
    assert_eq!(found(&ask(&dataset, &only(&["c"]), until(DAYS[0])).unwrap()), "c1");
    assert!(ask(&dataset, &only(&["c"]), january()).is_err());
    assert_eq!(place.faults().len(), 1);
    // Once the file is mended all is well.
    damage(&place, 2, 1);
    assert_eq!(found(&ask(&dataset, &AccountFilter::All, None).unwrap()), "a3 b3 c3 d3 e3 f3");
}

#[test]
fn what_lies_between_damage_and_a_line_is_nobody_elses() {
    for (account, refused) in [(0, "a"), (5, "f")] {
        let place = place();
        let day = if account == 0 { 0 } else { 2 };
        damage(&place, account, day);
        let dataset = Dataset::open(place.folder()).unwrap();
        for asked in ACCOUNTS {
            assert_eq!(ask(&dataset, &only(&[asked]), january()).is_err(), asked == refused, "{asked}");
        }
        // Before the first line that reads, and behind the last, anybody may have been.
        for (outside, refused) in [("Z", account == 0), ("z", account == 5)] {
            assert_eq!(ask(&dataset, &only(&[outside]), None).is_err(), refused, "{outside}");
        }
    }
}

#[test]
fn documents_of_others_are_read_once_and_ones_own_are_checked_each_time() {
    let place = place();
    let dataset = Dataset::open(place.folder()).unwrap();
    assert_eq!(found(&ask(&dataset, &only(&["a"]), None).unwrap()), "a3");
    damage(&place, 4, 1);
    assert_eq!(found(&ask(&dataset, &only(&["a", "f"]), None).unwrap()), "a3 f3");
    assert_eq!(found(&ask(&dataset, &only(&["e"]), None).unwrap()), "e3");
    assert!(ask(&dataset, &only(&["e"]), january()).is_err());
}

#[test]
fn a_line_that_is_no_document_concerns_its_neighbours_alone() {
    let mut place = Place::sound();
    let lines: Vec<String> = ACCOUNTS.iter().map(|account| line(account, DAYS[0])).collect();
    place.insights(&format!("{}{}nonsense\n{}", lines[0], lines[1], lines[3..].concat()));
    place.recommit();
    let dataset = Dataset::open(place.folder()).unwrap();
    for (account, reads) in [("a", true), ("b", false), ("c", false), ("d", true), ("e", true), ("f", true)] {
        assert_eq!(ask(&dataset, &only(&[account]), None).is_ok(), reads, "{account}");
    }
    let refused = ask(&dataset, &only(&["c"]), None).unwrap_err().to_string();
    assert!(refused.contains("insights.ndjson`, line 3: no document"), "{refused}");
}

#[test]
fn a_request_that_has_ended_finds_nothing() {
    let place = place();
    let dataset = Dataset::open(place.folder()).unwrap();
    let interrupt = Interrupt::default();
    interrupt.cancel();
    assert!(dataset.insights(&only(&["a"]), None, 9, &interrupt).is_err());
    assert_eq!(found(&ask(&dataset, &only(&["a"]), None).unwrap()), "a3");
}
