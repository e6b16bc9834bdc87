//! The time zones of events: clock times without an offset, and accounts that get another time zone.

use crate::dataset::Case;
use std::fs;
use std::time::{Duration, UNIX_EPOCH};
use trueup_core::dataset::manifest::{DataFile, Manifest, OtherTzdata};
use trueup_core::dataset::{Commit, CommitOperation, manifest_file};
use trueup_core::files::Files;
use trueup_core::model::{Account, Accounts, tzdata_release};
use trueup_ingest::{IngestError, IngestSummary};

const HEADER: &str = "account,opportunityId,type,dateTime\n";

/// Ingests events, and the account `a` in New York. `zone` is the option for times without an offset.
fn ingest(case: &Case, events: &str, zone: Option<&str>) -> Result<IngestSummary, IngestError> {
    let events = case.file("events.csv", format!("{HEADER}{events}"));
    let accounts = case.file("accounts.csv", "account,timeZone\na,America/New_York\n");
    let ingest = case.ingest().events(events).accounts(accounts);
    match zone {
        Some(zone) => ingest.time_zone(zone.parse().unwrap()).run(),
        None => ingest.run(),
    }
}

fn set_zone(case: &Case, name: &str, zone: &str) -> Result<IngestSummary, IngestError> {
    case.ingest().accounts(case.file(name, format!("account,timeZone\na,{zone}\n"))).run()
}

/// Returns the stored events in an order that does not depend on their days, because the days change.
fn sorted(case: &Case) -> Vec<String> {
    let mut events = case.stored_events();
    events.sort_unstable();
    events
}

#[test]
fn a_time_without_an_offset_is_refused_unless_its_time_zone_is_stated() {
    let case = Case::new();
    let events = "a,1,sold,2025-01-05 22:00\nb,1,sold,2025-1-5T22:00:00\na,2,sold,2025-01-05 22:00+0100\n";
    let error = ingest(&case, events, None).unwrap_err();
    assert_eq!(
        error.to_string().replace(case.path("").to_str().unwrap(), ""),
        "`events.csv`, line 2, column `dateTime`: expected a point in time with an offset, such as \
         `2025-01-31T09:30:00-05:00`, or one of `--time-zone account` (the time zone of each account), `--time-zone UTC` and \
         `--time-zone America/New_York` (or any other), but found `2025-01-05 22:00`; 1 more row breaks a rule"
    );
    for (zone, a, b) in [
        ("account", "2025-01-05|2025-01-06T03:00:00Z", "2025-01-05|2025-01-05T22:00:00Z"),
        ("UTC", "2025-01-05|2025-01-05T22:00:00Z", "2025-01-05|2025-01-05T22:00:00Z"),
        ("America/Los_Angeles", "2025-01-06|2025-01-06T06:00:00Z", "2025-01-06|2025-01-06T06:00:00Z"),
    ] {
        let case = Case::new();
        ingest(&case, events, Some(zone)).unwrap();
        assert_eq!(
            sorted(&case),
            [
                format!("a|1|sold|{a}||"),
                "a|2|sold|2025-01-05|2025-01-05T21:00:00Z||".to_owned(),
                format!("b|1|sold|{b}||")
            ],
            "{zone}"
        );
    }
}

#[test]
fn a_new_time_zone_moves_the_days_that_came_from_times_alone() {
    let case = Case::new();
    let events = case.file(
        "events.csv",
        "account,opportunityId,type,date,dateTime\na,alone,sold,,2025-01-01T02:00:00Z\n\
         a,both,sold,2024-12-31,2025-01-01T02:00:00Z\na,day,sold,2025-01-01,\nb,alone,sold,,2025-01-01T02:00:00Z\n",
    );
    case.ingest().events(events).accounts(case.file("1.csv", "account,timeZone\na,America/New_York\n")).run().unwrap();
    let stored = |alone: &str| {
        [
            format!("a|alone|sold|{alone}|2025-01-01T02:00:00Z||"),
            "a|both|sold|2024-12-31|2025-01-01T02:00:00Z||".to_owned(),
            "a|day|sold|2025-01-01|||".to_owned(),
            "b|alone|sold|2025-01-01|2025-01-01T02:00:00Z||".to_owned(),
        ]
    };
    assert_eq!(sorted(&case), stored("2024-12-31"));
    let first = case.manifest().events[0].blake3.clone();
    let summary = set_zone(&case, "2.csv", "UTC").unwrap();
    assert_eq!(
        summary.warnings,
        ["time zones change: `a` from `America/New_York` to `UTC`; 1 event has another day now"]
    );
    assert_eq!(sorted(&case), stored("2025-01-01"));
    // What was computed and what was given is still known after the change.
    set_zone(&case, "3.csv", "America/Chicago").unwrap();
    assert_eq!(sorted(&case), stored("2024-12-31"));
    assert_eq!(case.manifest().events[0].blake3, first);
    // The same zone again changes no event.
    let path = case.file("4.csv", "account,accountName,timeZone\na,Acme,America/Chicago\nc,,Asia/Tokyo\n");
    let summary = case.ingest().accounts(path).run().unwrap();
    assert_eq!((summary.changed, summary.warnings.len()), (true, 0));
    assert_eq!(case.manifest().events[0].blake3, first);
}

#[test]
fn a_new_time_zone_counts_for_new_and_for_stored_events() {
    let case = Case::new();
    ingest(&case, "a,1,sold,2025-01-01T02:00:00Z\n", None).unwrap();
    let events = case.file("more.csv", format!("{HEADER}a,2,sold,2025-01-01T02:00:00Z\n"));
    let accounts = case.file("zones.csv", "account,timeZone\na,UTC\n");
    case.ingest().accounts(accounts).events(events).memory(1).run().unwrap();
    assert_eq!(
        sorted(&case),
        ["a|1|sold|2025-01-01|2025-01-01T02:00:00Z||", "a|2|sold|2025-01-01|2025-01-01T02:00:00Z||"]
    );
}

#[test]
fn a_time_zone_that_moves_an_event_beyond_all_days_changes_nothing() {
    let case = Case::new();
    ingest(&case, "a,1,sold,1970-01-01T06:00:00Z\n", None).unwrap();
    let before = case.snapshot();
    let error = set_zone(&case, "zones.csv", "America/Los_Angeles").unwrap_err();
    assert!(error.is_data());
    assert_eq!(
        error.to_string(),
        "the time zone of account `a` is `America/New_York` and cannot become `America/Los_Angeles`: its event at \
         1970-01-01T06:00:00Z would be outside 1970-01-01 to 2149-06-06; to change it, ingest all of the account's events \
         again, together with the new accounts, into a new dataset"
    );
    assert_eq!(case.snapshot(), before);
}

/// The files of a dataset are inputs, too, and keep the knowledge of which days were computed.
#[test]
fn files_of_a_dataset_say_which_days_were_computed() {
    let case = Case::new();
    ingest(&case, "a,1,sold,2025-01-01T02:00:00Z\n", None).unwrap();
    let copy = Case::new();
    let file = &case.manifest().events[0];
    copy.ingest().events(case.dataset().join(&file.path)).accounts(case.path("accounts.csv")).run().unwrap();
    assert_eq!(copy.manifest().events[0].blake3, file.blake3);
    set_zone(&copy, "zones.csv", "UTC").unwrap();
    assert_eq!(sorted(&copy), ["a|1|sold|2025-01-01|2025-01-01T02:00:00Z||"]);
}

/// Publishes a version with the files of the newest one, as if another release of the time zone database had computed
/// its days: account `a` moves from a zone eight hours behind UTC to Vancouver, which was that by then.
fn compute_by_other_release(case: &Case, tzdata: &str) {
    let earlier = case.manifest();
    let other = Case::new();
    let accounts = other.file("zones.csv", "account,timeZone\na,America/Vancouver\nc,America/New_York\n");
    other.ingest().accounts(accounts).run().unwrap();
    let file = other.manifest().named("accounts").unwrap().clone();
    let path = "accounts/other.parquet".to_owned();
    fs::copy(other.dataset().join(&file.path), case.dataset().join(&path)).unwrap();
    let mut manifest = Manifest {
        version: earlier.version + 1,
        commit: Commit::after(Some(earlier.commit.time), UNIX_EPOCH, CommitOperation::Ingest, Duration::ZERO),
        tzdata: tzdata.to_owned(),
        ..earlier
    };
    manifest.set_named(DataFile { path, ..file });
    let staging = tempfile::tempdir().unwrap();
    manifest_file::publish(&Files::default(), &case.dataset(), staging.path(), &manifest).unwrap();
}

/// Returns a dataset of an account whose rules have changed, of one in UTC, and of one with the same rules.
fn of_other_release(tzdata: &str) -> Case {
    let case = Case::new();
    let accounts = case.file("accounts.csv", "account,timeZone\na,Etc/GMT+8\nc,America/New_York\n");
    case.ingest().accounts(accounts).run().unwrap();
    case.events("other.csv", &format!("{HEADER}c,1,sold,2026-11-28T07:30:00Z\n"));
    case.events(
        "events.csv",
        "account,opportunityId,type,date,dateTime\na,alone,sold,,2026-11-28T07:30:00Z\n\
         a,noon,sold,,2026-11-28T20:30:00Z\na,given,sold,2026-11-27,2026-11-28T07:30:00Z\n\
         b,alone,sold,,2026-11-28T07:30:00Z\n",
    );
    compute_by_other_release(&case, tzdata);
    assert_eq!(sorted(&case), stored_of_other_release("2026-11-27"));
    case
}

fn stored_of_other_release(alone: &str) -> [String; 5] {
    [
        format!("a|alone|sold|{alone}|2026-11-28T07:30:00Z||"),
        "a|given|sold|2026-11-27|2026-11-28T07:30:00Z||".to_owned(),
        "a|noon|sold|2026-11-28|2026-11-28T20:30:00Z||".to_owned(),
        "b|alone|sold|2026-11-28|2026-11-28T07:30:00Z||".to_owned(),
        "c|1|sold|2026-11-28|2026-11-28T07:30:00Z||".to_owned(),
    ]
}

#[test]
fn days_of_an_older_release_are_computed_again_with_the_next_ingest() {
    let case = of_other_release("2025b");
    let unmoved = case.manifest().events.iter().find(|file| case.rows_of(file).len() == 1).unwrap().path.clone();
    let summary = case.ingest().spend(case.file("spend.csv", "account,date,adSpend\na,2026-11-28,1\n")).run();
    assert_eq!(
        summary.unwrap().warnings,
        [format!(
            "time zones were those of tzdata 2025b, and are those of tzdata {} now; 1 event has another day now",
            tzdata_release()
        )]
    );
    assert_eq!(sorted(&case), stored_of_other_release("2026-11-28"));
    let manifest = case.manifest();
    assert_eq!(manifest.tzdata, tzdata_release());
    assert!(manifest.events.iter().any(|file| file.path == unmoved), "a file without changes stays");
    // The release is recorded, so that nothing is left to be said or done.
    let summary = case.ingest().spend(case.file("more.csv", "account,date,adSpend\na,2026-11-28,2\n")).run();
    assert_eq!(summary.unwrap().warnings, Vec::<String>::new());
}

#[test]
fn an_ingest_that_changes_nothing_says_that_days_are_of_an_older_release() {
    let case = of_other_release("2025b");
    let before = case.snapshot();
    let summary = case.events("other.csv", &format!("{HEADER}c,1,sold,2026-11-28T07:30:00Z\n"));
    let outdated = format!(
        "days of events were computed by tzdata 2025b, and this trueup has {}; the next ingest that changes the dataset \
         computes them again",
        tzdata_release()
    );
    assert_eq!((summary.changed, summary.warnings.contains(&outdated)), (false, true), "{:?}", summary.warnings);
    assert_eq!(case.snapshot(), before);
}

#[test]
fn an_ingest_by_an_older_release_than_that_of_the_dataset_is_refused() {
    let case = of_other_release("9999z");
    let before = case.snapshot();
    let error = set_zone(&case, "zones.csv", "UTC").unwrap_err();
    assert!(error.is_data());
    assert_eq!(
        error.to_string(),
        format!(
            "days of events were computed by tzdata 9999z, and this trueup has {}, which is older; ingest with a newer trueup",
            tzdata_release()
        )
    );
    let mut after = case.snapshot();
    after.retain(|path, _| before.contains_key(path));
    assert_eq!(after, before);
}

#[test]
fn another_release_concerns_no_dataset_without_zones() {
    let case = of_other_release("2025b");
    let mut accounts = Accounts::default();
    assert_eq!(case.manifest().other_tzdata(&accounts), None);
    accounts.insert(Account::new("b"));
    assert_eq!(case.manifest().other_tzdata(&accounts), None);
    accounts.insert(Account { time_zone: "Asia/Tokyo".parse().unwrap(), ..Account::new("b") });
    assert_eq!(case.manifest().other_tzdata(&accounts), Some(OtherTzdata::Older("2025b".to_owned())));
    let manifest = Manifest { events: Vec::new(), ..case.manifest() };
    assert_eq!(manifest.other_tzdata(&accounts), None);
}
