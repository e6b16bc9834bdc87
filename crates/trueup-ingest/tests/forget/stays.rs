//! Forgotten customers stay forgotten, up to the day on which they were forgotten.

use crate::{ANN, Case, HEADER, customers, faults, noon, rows};
use std::fs;
use std::time::Duration;
use trueup_core::Dataset;
use trueup_core::dataset::manifest_file;
use trueup_core::definitions::Definitions;
use trueup_ingest::{Compact, Define, ErrorKind, Expire, Ingest, IngestSummary, StagePlan, Staged};
use trueup_testkit::search::files_with;

/// Ingests rows whose events have new ids, so that no batch is one that was ingested before.
fn ingest(case: &Case, rows: &str) -> IngestSummary {
    let events = case.write("events.csv", &format!("{HEADER}{rows}"));
    Ingest::into(case.dataset()).events(events).run().unwrap()
}

fn event(account: &str, customer: &str, day: &str, id: &str) -> String {
    format!("{account},{customer},sold,{day},{id},c\n")
}

fn has(case: &Case, customer: &str) -> bool {
    customers(&Dataset::open(case.dataset()).unwrap()).contains(&customer.to_owned())
}

#[test]
fn events_up_to_the_day_are_left_out_and_later_ones_are_taken() {
    let case = Case::new();
    case.forget().customer("a", ANN).run().unwrap();
    let before = event("a", ANN, "2025-01-03", "n1") + &event("a", ANN, "2025-06-30", "n2");
    let others = event("a", &format!("{ANN}0"), "2025-01-03", "n3") + &event("b", ANN, "2025-01-03", "n4");
    let summary = ingest(&case, &(before.clone() + &others));
    assert_eq!((summary.events.taken, summary.events.forgotten, summary.events.replaced), (2, 2, 0));
    assert!(!has(&case, &format!("a/{ANN}")) && has(&case, &format!("b/{ANN}")));
    // An id of such an event replaces nothing.
    let summary = ingest(&case, &event("a", ANN, "2025-01-03", "a7"));
    assert_eq!((summary.events.taken, summary.events.forgotten), (0, 1));
    assert!(has(&case, "a/7"));
    let summary = ingest(&case, &event("a", ANN, "2025-07-01", "n5"));
    assert_eq!((summary.events.taken, summary.events.forgotten), (1, 0));
    // The event is after the days that `customers` asks for.
    assert_eq!(Dataset::open(case.dataset()).unwrap().date_range().unwrap().end.to_string(), "2025-07-01");
    // Forgetting again raises the day, and an earlier day does not lower it.
    let raised = case.forget().now(noon("2025-07-02")).customer("a", ANN).run().unwrap();
    assert_eq!((raised.events, raised.recorded), (1, 1));
    let lower = case.forget().customer("a", ANN).run().unwrap();
    assert_eq!((lower.version, lower.events, lower.recorded), (raised.version, 0, 0));
    let summary = ingest(&case, &(event("a", ANN, "2025-07-02", "n6") + &event("a", ANN, "2025-07-03", "n7")));
    assert_eq!((summary.events.taken, summary.events.forgotten), (1, 1));
    assert_eq!(faults(&case.dataset()), Vec::<String>::new());
}

#[test]
fn the_list_survives_whatever_else_is_written() {
    let case = Case::new();
    case.forget().customer("a", ANN).run().unwrap();
    let left_out = |what: &str| {
        let summary = ingest(&case, &(event("a", ANN, "2025-01-03", what) + &event("z", what, "2025-01-03", what)));
        assert_eq!((summary.events.taken, summary.events.forgotten), (1, 1), "{what}");
        assert!(!has(&case, &format!("a/{ANN}")), "{what}");
    };
    left_out("ingest");
    Compact::new(case.dataset()).all().run().unwrap();
    left_out("compact");
    Define::new(case.dataset(), &Definitions::parse("").unwrap()).run().unwrap();
    Expire::new(case.dataset()).keep_last(1).grace(Duration::ZERO).run().unwrap();
    left_out("expire");
    Expire::new(case.dataset()).grace(Duration::ZERO).vacuum().run().unwrap();
    left_out("vacuum");
    let purged = case.forget().customer("b", "1").purge().grace(Duration::ZERO).run().unwrap();
    assert_eq!((purged.events, purged.recorded), (1, 1));
    left_out("purge");
    assert_eq!(ingest(&case, &event("b", "1", "2025-01-03", "b")).events.forgotten, 1);
    // One list names both, and no file names anybody.
    let manifest = manifest_file::read_latest(&case.dataset()).unwrap().unwrap();
    assert_eq!(manifest.named("forgotten").unwrap().rows, 2);
    case.forget().customer("a", ANN).purge().grace(Duration::ZERO).run().unwrap();
    assert!(files_with(&case.dataset(), &[ANN]).unwrap().is_empty());
    assert_eq!(faults(&case.dataset()), Vec::<String>::new());
}

#[test]
fn a_customer_without_events_is_forgotten_too() {
    for purges in [false, true] {
        let case = Case::new();
        let forget = || if purges { case.forget().purge() } else { case.forget() };
        let summary = forget().customer("a", "late").run().unwrap();
        assert_eq!((summary.version, summary.events, summary.recorded, summary.absent.len()), (4, 0, 1, 1));
        // Nothing needs to expire.
        assert_eq!((summary.expired, case.versions()), (vec![], vec![1, 2, 3, 4]));
        assert_eq!(forget().customer("a", "late").run().unwrap().version, 4);
        assert_eq!(ingest(&case, &event("a", "late", "2025-01-03", "n")).events.forgotten, 1);
    }
}

#[test]
fn the_day_is_that_of_the_account() {
    let case = Case { dir: tempfile::tempdir().unwrap() };
    let accounts = case.write("accounts.csv", "account,timeZone\neast,Pacific/Auckland\nwest,America/Denver\n");
    let events = case.write("events.csv", &format!("{HEADER}{}", rows("east", 0..1)));
    Ingest::into(case.dataset()).events(events).accounts(accounts).run().unwrap();
    // At 20:00 UTC of 30 June, it is 14:00 in Denver and 8:00 of the next day in Auckland.
    let now = noon("2025-06-30") + Duration::from_secs(8 * 3_600);
    ["east", "west", "none"]
        .into_iter()
        .fold(case.forget(), |forget, it| forget.customer(it, "c"))
        .now(now)
        .run()
        .unwrap();
    for (account, left_out) in [("east", 2), ("west", 1), ("none", 1)] {
        let days = ["2025-06-30", "2025-07-01", "2025-07-02"];
        let rows = days.map(|day| event(account, "c", day, day)).concat();
        assert_eq!(ingest(&case, &rows).events.forgotten, left_out, "{account}");
    }
}

#[test]
fn parts_of_a_distributed_ingest_leave_them_out_too() {
    let case = Case::new();
    case.forget().customer("a", ANN).run().unwrap();
    let begun = Ingest::into(case.dataset()).begin_staged(1, None).unwrap();
    let plan = StagePlan::from_json(&begun.plan().to_json().unwrap()).unwrap();
    let rows = event("a", ANN, "2025-01-03", "n1") + &event("a", "new", "2025-01-03", "n2");
    let events = case.write("part.csv", &format!("{HEADER}{rows}"));
    let staged = Ingest::into(case.dataset()).events(events).stage(&plan, 0).unwrap();
    assert_eq!(staged.rows(), 2);
    let staged = Staged::from_bytes(&staged.to_bytes().unwrap()).unwrap();
    let summary = begun.commit([staged]).unwrap();
    assert_eq!((summary.events.taken, summary.events.forgotten), (1, 1));
    assert!(has(&case, "a/new") && !has(&case, &format!("a/{ANN}")));
}

#[test]
fn a_damaged_list_stops_an_ingest() {
    let case = Case::new();
    case.forget().customer("a", ANN).run().unwrap();
    let manifest = manifest_file::read_latest(&case.dataset()).unwrap().unwrap();
    let path = case.dataset().join(&manifest.named("forgotten").unwrap().path);
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, &bytes).unwrap();
    let events = case.write("events.csv", &format!("{HEADER}{}", event("a", ANN, "2025-01-03", "n")));
    let error = Ingest::into(case.dataset()).events(events).run().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Stored { .. }), "{error}");
    assert_eq!(faults(&case.dataset()).len(), 1);
    // Queries do not need it.
    assert!(!has(&case, &format!("a/{ANN}")));
}
