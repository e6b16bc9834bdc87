//! What a later ingest replaces in each table, and what it leaves alone.

use crate::dataset::Case;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fmt::Write as _;
use std::fs::File;
use trueup_core::query::{AccountFilter, DateRange};
use trueup_core::{Dataset, Interrupt};

const HEADER: &str = "account,opportunityId,type,date,eventId,total\n";

#[test]
fn an_event_is_replaced_by_one_of_another_customer() {
    let case = Case::new();
    case.events(
        "1.csv",
        &format!("{HEADER}a,1,sold,2025-01-01,e1,10\nb,1,sold,2025-01-01,e1,11\na,2,sold,2025-01-01,,12\n"),
    );
    let summary = case.events("2.csv", &format!("{HEADER}a,3,closed,2025-02-01,e1,20\na,3,closed,2025-02-02,e1,\n"));
    assert_eq!((summary.events.taken, summary.events.replaced), (2, 2));
    assert_eq!(
        case.stored_events(),
        ["a|2|sold|2025-01-01|||12.000000", "b|1|sold|2025-01-01||e1|11.000000", "a|3|closed|2025-02-02||e1|",]
    );
}

#[test]
fn the_same_batch_under_other_names_changes_nothing() {
    let case = Case::new();
    let (one, two) = (format!("{HEADER}a,1,sold,2025-01-01,,10\n"), format!("{HEADER}a,1,sold,2025-01-01,,10\n\n"));
    let first = case.ingest().events(case.file("1.csv", &one)).events(case.file("2.csv", &two)).run().unwrap();
    assert!(first.changed);
    let before = case.snapshot();
    let again = case.ingest().events(case.file("3.csv", &two)).events(case.file("4.csv", &one)).run().unwrap();
    assert_eq!((again.changed, again.version), (false, 1));
    assert_eq!(case.snapshot(), before);
    // The batch does not become new when another batch follows it.
    assert!(case.events("5.csv", &format!("{HEADER}a,1,sold,2025-01-02,,10\n")).changed);
    assert!(!case.ingest().events(case.file("1.csv", &one)).events(case.file("2.csv", &two)).run().unwrap().changed);
    assert_eq!(case.stored_events().len(), 3);
}

#[test]
fn stored_customers_stay_in_their_files_and_dimensions_are_united() {
    let case = Case::new();
    let path = case.file("1.csv", "account,opportunityId,type,date,x\na,1,sold,2025-01-01,1\nb,1,sold,2025-01-01,2\n");
    case.ingest().events(path).file_rows(1).run().unwrap();
    let before = case.manifest().events;
    assert_eq!(before.len(), 2);
    case.events("2.csv", "account,opportunityId,type,date,w\nb,2,sold,2025-01-02,3\n");
    let after = case.manifest().events;
    assert_eq!((&after[..2], after.len()), (&before[..], 3));
    assert_eq!(
        case.stored_events(),
        ["a|1|sold|2025-01-01||||1", "b|1|sold|2025-01-01||||2", "b|2|sold|2025-01-02||||3"]
    );
    assert!(case.dataset().join(&before[1].path).exists(), "an earlier version stays readable");
}

#[test]
fn a_few_customers_of_a_large_row_group_are_written_again() {
    // Event ids that take several pages, of customers with three events each.
    let events = |replaced: Option<usize>| {
        let mut text = HEADER.to_owned();
        for event in 0..12_000 {
            let (customer, stage) = (event / 3 + event % 3 / 2, ["lead-originated", "booked", "sold"][event % 3]);
            let total = if replaced == Some(event) { 7 } else { event };
            writeln!(text, "a,o-{customer},{stage},2025-03-{:02},{event:016x},{total}", event % 3 + 1).unwrap();
        }
        text
    };
    let (case, whole) = (Case::new(), Case::new());
    case.events("1.csv", &events(None));
    let [first] = &case.manifest().events[..] else { panic!("one file") };
    let file = ParquetRecordBatchReaderBuilder::try_new(File::open(case.dataset().join(&first.path)).unwrap()).unwrap();
    let ids = file.metadata().row_group(0).columns().iter().find(|column| column.column_descr().name() == "eventId");
    assert!(ids.unwrap().uncompressed_size() > 3 << 16, "{ids:?}");
    // An event of a customer in the middle is replaced, and one customer has a further event.
    let changed = events(Some(6_000)).lines().nth(6_001).unwrap().to_owned();
    let added = "a,o-11,closed,2025-03-09,new,5";
    case.events("2.csv", &format!("{HEADER}{changed}\n{added}\n"));
    whole.events("1.csv", &format!("{}{added}\n", events(Some(6_000))));
    let [kept, new] = &case.manifest().events[..] else { panic!("two files") };
    assert_eq!((&kept.path, new.rows), (&first.path, 3 + 4));
    let [mut rows, mut expected] = [case.stored_events(), whole.stored_events()];
    rows.sort_unstable();
    expected.sort_unstable();
    assert_eq!(rows, expected);
}

#[test]
fn accounts_are_replaced_by_key() {
    let case = Case::new();
    let accounts = |name: &str, text: &str| {
        let path = case.file(name, format!("account,accountName,timeZone\n{text}"));
        case.ingest().accounts(path).run()
    };
    accounts("1.csv", "a,Acme,America/New_York\nb,Bolt,\n").unwrap();
    let summary = accounts("2.csv", "b,Bolt & Co,America/Chicago\n").unwrap();
    assert_eq!((summary.accounts.taken, summary.accounts.replaced), (1, 1));
    assert_eq!(case.stored_accounts(), ["a|Acme||America/New_York|false|", "b|Bolt & Co||America/Chicago|false|"]);
    let error = accounts("3.csv", "a,A,\na,B,\n").unwrap_err();
    assert!(error.to_string().contains("3.csv`, line 3, column `account`"), "{error}");
}

#[test]
fn spend_replaces_the_days_of_its_rows() {
    let case = Case::new();
    let spend = |name: &str, text: &str| {
        let path = case.file(name, format!("account,date,campaign,adSpend,clicks\n{text}"));
        case.ingest().spend(path).run().unwrap()
    };
    spend("1.csv", "b,2025-01-01,x,1,1\na,2025-01-02,y,2,\na,2025-01-01,x,3.5,4\na,2025-01-01,z,4,5\n");
    let summary = spend("2.csv", "a,2025-01-01,x,9,\na,2025-01-03,,7,\n");
    assert_eq!((summary.spend.taken, summary.spend.replaced), (2, 2));
    assert_eq!(
        case.stored_spend(),
        [
            "a|2025-01-01||||x|9.000000|||",
            "a|2025-01-02||||y|2.000000|||",
            "a|2025-01-03|||||7.000000|||",
            "b|2025-01-01||||x|1.000000||1|",
        ]
    );
    // The latest batch again.
    assert_eq!(spend("3.csv", "a,2025-01-01,x,9,\na,2025-01-03,,7,\n").spend.replaced, 2);
    assert_eq!(case.stored_spend().len(), 4);
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
            ingest.spend(case.file(name, text)).run().unwrap().spend
        };
        let counts = (ingest("1.csv", &first), ingest("2.csv", &second));
        let files = case.manifest().spend;
        let sums: Vec<_> = files.into_iter().map(|file| (file.rows, file.blake3)).collect();
        (counts, sums, case.stored_spend())
    };
    let (counts, sums, rows) = stored(1 << 30);
    assert!(counts.1.replaced > 0 && rows.len() > 30_000, "{counts:?}");
    // Spend may take 16 MiB whatever the memory. Each quarter takes less, and all together take more.
    assert_eq!(stored(1 << 20), (counts, sums, rows));
}

/// Returns the text of the file of insights.
fn stored_insights(case: &Case) -> String {
    std::fs::read_to_string(case.dataset().join(&case.manifest().named("insights").unwrap().path)).unwrap()
}

#[test]
fn documents_are_kept_byte_for_byte_by_account_and_date() {
    let case = Case::new();
    let (b, a) = (
        "{\"insight\": {\"z\": 1.0,  \"a\":[1e2]}, \"account\":\"b\",\"date\":\"2025-01-31\"}",
        "{\"account\":\"a\",\"date\":\"2025-02-28\",\"insight\":{\"\\u0061\":null}}",
    );
    let summary = case.ingest().insights(case.file("1.ndjson", format!("{b}\n\n{a}\r\n"))).run().unwrap();
    assert_eq!(summary.insights.taken, 2);
    assert_eq!(stored_insights(&case), format!("{a}\n{b}\n"));
    let later = "{\"account\":\"b\",\"date\":\"2025-01-31\",\"insight\":{}}";
    let summary = case.ingest().insights(case.file("2.ndjson", later)).run().unwrap();
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
        ("[\"a\",\"2025-01-31\",{}]", "line 2: expected {\"account\", \"date\", \"insight\"}, but: this is no object"),
    ] {
        let good = "{\"account\":\"a\",\"date\":\"2025-01-31\",\"insight\":{}}";
        let error = case.ingest().insights(case.file("bad.ndjson", format!("{good}\n{line}\n"))).run().unwrap_err();
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
    case.ingest().insights(case.file("1.ndjson", text.concat())).run().unwrap();
    let dataset = Dataset::open(case.dataset()).unwrap();
    let ask = |accounts: &AccountFilter, range: Option<(&str, &str)>, limit| {
        let range = range.map(|(start, end)| DateRange { start: start.parse().unwrap(), end: end.parse().unwrap() });
        let found = dataset.insights(accounts, range, limit, &Interrupt::default()).unwrap();
        let matched = found.matched();
        let keys: Vec<String> = found.map(Result::unwrap).map(|i| format!("{} {}", i.account, i.date)).collect();
        (matched, keys)
    };
    let only = |key: &str| AccountFilter::Only([key.to_owned()].into());
    let keys = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();

    assert_eq!(ask(&AccountFilter::All, None, 9), (2, keys(&["a 2025-03-31", "b 2025-01-31"])));
    assert_eq!(ask(&only("a"), None, 9), (1, keys(&["a 2025-03-31"])));
    let winter = Some(("2025-01-31", "2025-02-28"));
    assert_eq!(ask(&AccountFilter::All, winter, 3), (3, keys(&["a 2025-01-31", "a 2025-02-28", "b 2025-01-31"])));
    assert_eq!(ask(&AccountFilter::All, winter, 2), (3, keys(&[])));
    assert_eq!(ask(&only("c"), None, 9), (0, keys(&[])));
    let mut published = dataset.insights(&only("b"), None, 1, &Interrupt::default()).unwrap();
    assert_eq!(published.next().unwrap().unwrap().document, "{ \"v\": 1.0 }");
}
