//! What a later ingest replaces, and what it leaves alone.

use crate::dataset::Case;

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
        ["a|2|sold|2025-01-01|||12.000000", "a|3|closed|2025-02-02||e1|", "b|1|sold|2025-01-01||e1|11.000000",]
    );
}

#[test]
fn the_same_batch_under_other_names_changes_nothing() {
    let case = Case::new();
    let (one, two) = (format!("{HEADER}a,1,sold,2025-01-01,,10\n"), format!("{HEADER}a,1,sold,2025-01-01,,10\n\n"));
    let first = case.ingest().events(case.file("1.csv", &one)).events(case.file("2.csv", &two)).run(&()).unwrap();
    assert!(first.changed);
    let before = case.snapshot();
    let again = case.ingest().events(case.file("3.csv", &two)).events(case.file("4.csv", &one)).run(&()).unwrap();
    assert_eq!((again.changed, again.version), (false, 1));
    assert_eq!(case.snapshot(), before);
    // The batch does not become new when another batch follows it.
    assert!(case.events("5.csv", &format!("{HEADER}a,1,sold,2025-01-02,,10\n")).changed);
    assert!(!case.ingest().events(case.file("1.csv", &one)).events(case.file("2.csv", &two)).run(&()).unwrap().changed);
    assert_eq!(case.stored_events().len(), 3);
}

#[test]
fn a_warning_names_events_that_were_ingested_before() {
    let case = Case::new();
    let wrong = format!("{HEADER}a,1,sold,2025-01-01,e1,10\n");
    let old = case.file("events.csv", &wrong);
    case.ingest().events(&old).run(&()).unwrap();
    let again = case.ingest().events(&old).run(&()).unwrap();
    assert_eq!((again.changed, &again.warnings[..]), (false, &[][..]), "it holds all of this already");

    case.events("correction.csv", &wrong.replace(",10", ",20"));
    let before = case.snapshot();
    let passed_over = "these events were ingested before, as version 1; they are not applied again";
    let again = case.ingest().events(&old).run(&()).unwrap();
    assert_eq!((again.changed, again.version, &again.warnings[..]), (false, 2, &[passed_over.to_owned()][..]));
    assert_eq!(case.snapshot(), before);

    // The warning is also given if other inputs are new.
    let spend = case.file("spend.csv", "account,date,adSpend\na,2025-01-01,1\n");
    let mixed = case.ingest().events(&old).spend(&spend).run(&()).unwrap();
    assert_eq!((mixed.changed, mixed.events.taken, mixed.spend.taken), (true, 0, 1));
    assert_eq!(mixed.warnings, [passed_over]);
    assert_eq!(case.stored_events(), ["a|1|sold|2025-01-01||e1|20.000000"]);
    let new = case.file("new.csv", format!("{HEADER}a,2,sold,2025-01-01,e2,10\n"));
    let mixed = case.ingest().events(new).spend(&spend).run(&()).unwrap();
    assert_eq!(mixed.warnings, ["this spend was ingested before, as version 3; it is not applied again"]);
}

#[test]
fn files_of_other_accounts_are_kept_and_dimensions_are_united() {
    let case = Case::new();
    let path = case.file("1.csv", "account,opportunityId,type,date,x\na,1,sold,2025-01-01,1\nb,1,sold,2025-01-01,2\n");
    case.ingest().events(path).file_rows(1).run(&()).unwrap();
    let before = case.manifest().events;
    assert_eq!(before.len(), 2);
    case.events("2.csv", "account,opportunityId,type,date,w\nb,2,sold,2025-01-02,3\n");
    let after = case.manifest().events;
    assert_eq!(after[0], before[0]);
    assert_ne!(after[1], before[1]);
    assert_eq!(
        case.stored_events(),
        ["a|1|sold|2025-01-01||||1", "b|1|sold|2025-01-01|||||2", "b|2|sold|2025-01-02||||3|"]
    );
    assert!(case.dataset().join(&before[1].path).exists(), "an earlier version stays readable");
}

#[test]
fn accounts_are_replaced_by_key() {
    let case = Case::new();
    let accounts = |name: &str, text: &str| {
        let path = case.file(name, format!("account,accountName,timeZone\n{text}"));
        case.ingest().accounts(path).run(&())
    };
    accounts("1.csv", "a,Acme,America/New_York\nb,Bolt,\n").unwrap();
    let summary = accounts("2.csv", "b,Bolt & Co,America/Chicago\n").unwrap();
    assert_eq!((summary.accounts.taken, summary.accounts.replaced), (1, 1));
    assert_eq!(case.stored_accounts(), ["a|Acme||America/New_York|false", "b|Bolt & Co||America/Chicago|false"]);
    let error = accounts("3.csv", "a,A,\na,B,\n").unwrap_err();
    assert!(error.to_string().contains("3.csv, line 3, column `account`"), "{error}");
}

#[test]
fn the_time_zone_of_an_account_with_events_stays() {
    let case = Case::new();
    let accounts = case.file("accounts.csv", "account,timeZone\na,America/New_York\n");
    let events = case.file("events.csv", "account,opportunityId,type,dateTime\na,1,sold,2025-01-01T02:00:00Z\n");
    case.ingest().accounts(accounts).events(events).run(&()).unwrap();
    assert_eq!(case.stored_events(), ["a|1|sold|2024-12-31|2025-01-01T02:00:00Z||"]);
    let before = case.snapshot();
    let path = case.file("zones.csv", "account,timeZone\na,UTC\nb,UTC\n");
    let error = case.ingest().accounts(path).run(&()).unwrap_err();
    assert!(error.is_data(), "{error}");
    assert!(error.to_string().contains("`a` is `America/New_York` and cannot become `UTC`"), "{error}");
    assert!(error.to_string().contains("ingest all of the account's events again"), "{error}");
    assert_eq!(case.snapshot(), before);
    let path = case.file("names.csv", "account,accountName,timeZone\na,Acme,America/New_York\nb,,Asia/Tokyo\n");
    assert!(case.ingest().accounts(path).run(&()).unwrap().changed);
}
