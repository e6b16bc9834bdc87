//! Limits. A message gives the limit and, where it is known, the count.

use crate::dataset::Case;
use trueup_ingest::Ingest;

/// Returns NDJSON in which each object has a member whose name no other object has.
fn sparse(objects: usize) -> String {
    let object = |at: usize| {
        format!(
            "{{\"account\":\"a\",\"opportunityId\":{at},\"type\":\"sold\",\"date\":\"2025-01-01\",\"name-{at}\":1}}\n"
        )
    };
    (0..objects).map(object).collect()
}

#[test]
fn the_names_of_all_json_objects_count_together() {
    let case = Case::new();
    let path = case.file("a.ndjson", sparse(300));
    // The input is read in chunks of a few objects.
    let ingest = || case.ingest().events(&path).batch_rows(10);
    let error = ingest().max_columns(200).run().unwrap_err().to_string();
    assert!(error.contains("a.ndjson`: the file has more than 200 columns"), "{error}");
    assert_eq!(ingest().max_columns(304).run().unwrap().events.taken, 300);
}

#[test]
fn a_faulty_row_is_reported_before_too_many_columns_after_it() {
    let case = Case::new();
    let fault = "{\"account\":\"a\",\"opportunityId\":1,\"type\":\"x\",\"date\":\"2025-01-01\"}\n";
    let path = case.file("a.ndjson", format!("{fault}{}", sparse(300)));
    let error = case.ingest().events(path).max_columns(200).run().unwrap_err().to_string();
    assert!(error.contains("a.ndjson`, line 1, column `type`"), "{error}");
}

/// The row that has too many columns is not read.
#[test]
fn a_row_with_too_many_columns_is_not_rejected() {
    let case = Case::new();
    let row = |stage: &str, more: &str| {
        format!("{{\"account\":\"a\",\"opportunityId\":1,\"type\":\"{stage}\",\"date\":\"2025-01-01\"{more}}}\n")
    };
    let path = case.file("a.ndjson", row("sold", "") + &row("x", ",\"b\":1,\"c\":1"));
    let rejects = case.path("rejects.ndjson");
    let error = case.ingest().events(&path).max_columns(5).rejects(&rejects).run().unwrap_err();
    let expected = "the file has more than 5 columns; leave some out, or raise `--max-columns`";
    assert_eq!(error.to_string(), format!("`{}`: {expected}", path.display()));
    assert!(!rejects.exists() && !case.dataset().exists());
}

#[test]
fn the_limit_of_columns_holds_over_many_ingests() {
    let case = Case::new();
    let input = |ingest: usize| {
        let names: Vec<String> = (0..40).map(|column| format!("column-{ingest}-{column}")).collect();
        let text = format!(
            "account,opportunityId,type,date,{}\na,1,sold,2025-01-01{}\n",
            names.join(","),
            ",x".repeat(names.len())
        );
        case.file(&format!("{ingest}.csv"), text)
    };
    let ingest = |at: usize| case.ingest().events(input(at)).max_columns(100).run();
    assert!(ingest(1).is_ok() && ingest(2).is_ok());
    let before = case.snapshot();
    assert_eq!(
        ingest(3).unwrap_err().to_string(),
        "the events of the dataset would have 120 dimensions, but at most 100 are allowed; leave columns out, or raise \
         `--max-columns`"
    );
    assert_eq!(case.snapshot(), before);
}

#[test]
fn the_limit_of_texts_holds_for_spend_and_accounts() {
    let case = Case::new();
    let long = "n".repeat(101);
    let spend = case.file("spend.csv", format!("account,date,adSpend,campaign\na,2025-01-01,1,{long}\n"));
    let accounts = case.file("accounts.ndjson", format!("{{\"account\":\"a\",\"accountName\":\"{long}\"}}\n"));
    let ingest = || case.ingest().max_text_bytes(100);
    let error = ingest().spend(spend).run().unwrap_err().to_string();
    assert!(error.contains("spend.csv`, line 2, column `campaign`: expected a text of at most 100 bytes"), "{error}");
    let error = ingest().accounts(accounts).run().unwrap_err().to_string();
    assert!(
        error.contains("accounts.ndjson`, line 1, column `accountName`: expected a text of at most 100"),
        "{error}"
    );
}

/// Returns events of two accounts. The customer `much` of account `b` has `long` events.
fn histories(long: usize) -> String {
    let long = (0..long).map(|event| format!("b,much,sold,2025-01-{:02},{event}\n", event % 28 + 1));
    let others = (0..300).map(|event| format!("{},c{},sold,2025-01-01,{event}\n", ["a", "b"][event % 2], event % 60));
    format!("account,opportunityId,type,date,note\n{}", long.chain(others).collect::<String>())
}

#[test]
fn a_history_of_too_many_events_is_refused_in_memory_and_on_disk() {
    // With each memory, the events take another way: sorted in memory; spilled, then sorted in memory; sorted on disk.
    for memory in [1 << 30, 100_000, 20_000] {
        let case = Case::new();
        let ingest = |events| {
            let input = case.ingest().events(case.file("a.csv", histories(events)));
            input.memory(memory).batch_rows(64).max_customer_events(500).run()
        };
        let error = ingest(501).unwrap_err();
        assert!(error.is_data() && !case.dataset().exists());
        assert_eq!(
            error.to_string(),
            "the customer `much` of account `b` has 501 events, but at most 500 per customer are allowed; is the column \
             `opportunityId` right? `--max-customer-events` raises the limit",
            "{memory}"
        );
        assert_eq!(ingest(500).unwrap().events.taken, 800);
    }
}

#[test]
fn replaced_events_do_not_count_in_a_history() {
    for memory in [1 << 30, 100_000, 20_000] {
        let case = Case::new();
        let ingest = |events: usize| {
            let row = |event: usize| format!("b,much,sold,2025-01-{:02},{event}\n", event % 28 + 1);
            let rows: String = (0..events).chain(0..events).map(row).collect();
            let path = case.file("a.csv", format!("account,opportunityId,type,date,eventId\n{rows}"));
            case.ingest().events(path).memory(memory).batch_rows(64).max_customer_events(500).run()
        };
        let message = ingest(501).unwrap_err().to_string();
        assert!(message.starts_with("the customer `much` of account `b` has 501 events"), "{memory}: {message}");
        let summary = ingest(500).unwrap();
        assert_eq!((summary.events.taken, summary.events.replaced), (1_000, 500), "{memory}");
    }
}

const MIB: usize = 1 << 20;

/// Returns events with a text of one MiB each.
fn large(rows: usize, customer: impl Fn(usize) -> usize) -> String {
    let text = "n".repeat(MIB);
    let row = |row| format!("a,customer-{},sold,2025-01-01,{row}{}\n", customer(row), &text[10..]);
    format!("account,opportunityId,type,date,note\n{}", (0..rows).map(row).collect::<String>())
}

#[test]
fn a_history_that_does_not_fit_in_memory_is_refused() {
    let case = Case::new();
    let path = case.file("a.csv", large(20, |_| 1));
    let error = case.ingest().events(&path).memory(MIB).run().unwrap_err();
    let message = error.to_string();
    assert!(message.starts_with("the 20 events of the customer `customer-1` of account `a` take 20"), "{message}");
    assert!(message.ends_with("at most 16777216 in this memory; raise `--memory`"), "{message}");
    assert!(error.is_data() && !case.dataset().exists());
    assert_eq!(case.ingest().events(&path).memory(200 * MIB).run().unwrap().events.taken, 20);
}

#[test]
fn rows_of_long_texts_make_small_row_groups() {
    let case = Case::new();
    let path = case.file("a.csv", large(40, |row| row));
    case.ingest().events(path).memory(MIB).run().unwrap();
    let rows: usize = case.manifest().events.iter().map(|file| file.rows).sum::<u64>().try_into().unwrap();
    assert_eq!(rows, 40);
    let groups = case.row_groups();
    assert!(groups.len() >= 3 && groups.iter().all(|rows| *rows <= 16), "{groups:?}");
}

#[test]
fn tables_that_must_fit_in_memory_are_refused_if_they_do_not() {
    let text = "n".repeat(MIB - 10);
    let texts =
        |begin: &str, end: &str| -> String { (0..20).map(|row| format!("{begin}{row}{text}{end}\n")).collect() };
    let case = Case::new();
    let spend = case.file("spend.csv", format!("account,date,adSpend,campaign\n{}", texts("a,2025-01-01,1,", "")));
    let accounts = case.file("accounts.csv", format!("account,accountName\n{}", texts("", ",x")));
    let events = case.file("e.csv", format!("account,opportunityId,type,date\n{}", texts("", ",c,sold,2025-01-01")));
    let message = |ingest: Ingest| {
        let error = ingest.memory(MIB).run().unwrap_err();
        assert!(error.is_data() && !case.dataset().exists());
        error.to_string()
    };
    let limit = "but they may take at most 16777216 in this memory; raise `--memory`";
    let spend = message(case.ingest().spend(spend));
    assert!(spend.starts_with("the rows of spend of one quarter take ") && spend.ends_with(limit), "{spend}");
    let accounts = message(case.ingest().accounts(accounts));
    assert!(accounts.starts_with("the accounts take ") && accounts.ends_with(limit), "{accounts}");
    let events = message(case.ingest().events(events));
    assert!(events.starts_with("the events have more than 1") && events.ends_with("raise `--memory`"), "{events}");
}
