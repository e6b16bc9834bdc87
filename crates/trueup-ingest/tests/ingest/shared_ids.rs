//! Event ids that several events of one ingest share.

use crate::dataset::Case;
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;

const HEADER: &str = "account,opportunityId,type,date,eventId,total\n";

/// Two files in which `r1` is a booking and a sale, `r2` is a sale of two customers, and the rest is sound.
const FIRST: &str =
    "a,1,booked,2025-01-01,r1,\na,1,sold,2025-01-02,r3,5\nb,1,sold,2025-01-02,r1,6\na,2,sold,2025-01-03,r2,7\n";
const SECOND: &str =
    "a,9,sold,2025-01-04,,8\na,3,sold,2025-01-03,r2,9\na,1,sold,2025-01-05,r1,10\na,1,sold,2025-01-06,r3,11\n";

const RULE: &str = "expected an `eventId` of one event alone, because rows with the same one replace each other; make it of several \
     columns, such as the record and its stage";

#[test]
fn rows_of_several_files_with_one_id_and_other_events_are_refused_with_both_places() {
    for memory in [1 << 30, 1] {
        let case = Case::new();
        let (one, two) =
            (case.file("1.csv", HEADER.to_owned() + FIRST), case.file("2.csv", HEADER.to_owned() + SECOND));
        let error = case.ingest().events(&one).events(&two).memory(memory).run().unwrap_err();
        assert!(error.is_data());
        let message = error.to_string().replace(&format!("{}/", case.path("").display()), "/");
        let (one, two) = (one.display(), two.display());
        let found =
            format!("but found `r1` on `booked` of `1` (`{one}`, line 2) and on `sold` of `1` (`{two}`, line 4)");
        assert!(message.starts_with(&format!("`{one}`, line 2, column `eventId`: {RULE}, {found}")), "{message}");
        assert!(message.ends_with("line 4); 3 more rows break a rule"), "{message}");
        assert!(!case.dataset().exists());
    }
}

#[test]
fn all_rows_that_share_an_id_are_rejected_and_what_is_stored_stays() {
    for memory in [1 << 30, 1] {
        let case = Case::new();
        case.events("0.csv", &format!("{HEADER}a,7,closed,2024-12-31,r1,1\na,1,estimated,2024-12-31,r3,2\n"));
        let (one, two) =
            (case.file("1.csv", HEADER.to_owned() + FIRST), case.file("2.csv", HEADER.to_owned() + SECOND));
        let rejects = case.path("rejects.ndjson");
        let ingest = case.ingest().events(&one).events(&two).rejects(&rejects).memory(memory);
        let summary = ingest.run().unwrap();
        let counts = (summary.events.taken, summary.events.replaced, summary.events.rejected);
        // Of `r3`, the stored row and one of the first file are replaced, although the type of the stored one differs.
        assert_eq!(counts, (4, 2, 4), "memory {memory}");
        assert_eq!(
            case.stored_events(),
            [
                "a|7|closed|2024-12-31||r1|1.000000",
                "a|9|sold|2025-01-04|||8.000000",
                "a|1|sold|2025-01-06||r3|11.000000",
                "b|1|sold|2025-01-02||r1|6.000000"
            ]
        );
        let text = fs::read_to_string(&rejects).unwrap();
        let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let places: Vec<_> =
            rows.iter().map(|row| (row["file"].as_str().unwrap(), row["line"].as_u64().unwrap())).collect();
        let (one, two) = (one.to_str().unwrap(), two.to_str().unwrap());
        assert_eq!(places, [(one, 2), (one, 5), (two, 3), (two, 4)]);
        let reason = rows[2]["reason"].as_str().unwrap();
        let found = format!("but found `r2` on `sold` of `2` (`{one}`, line 5) and on `sold` of `3` (`{two}`, line 3)");
        assert_eq!(reason, format!("{RULE}, {found}"));
        assert_eq!((&rows[2]["value"], &rows[2]["row"]["total"]), (&"r2".into(), &"9".into()));
        let [rule] = summary.rejected.rules()[..] else { panic!("{}", summary.rejected) };
        assert_eq!((rule.rows, rule.column.as_deref()), (4, Some("eventId")));
    }
}

/// The order of the files decides which of several equal events counts, and never whether rows share an id.
#[test]
fn a_row_that_breaks_another_rule_shares_no_id() {
    let case = Case::new();
    let rejects = case.path("rejects.ndjson");
    let text = format!("{HEADER}a,1,booked,2025-01-01,r1,x\na,1,sold,2025-01-02,r1,5\na,2,sold,2025-01-02,,5\n");
    let summary = case.ingest().events(case.file("1.csv", text)).rejects(&rejects).run().unwrap();
    assert_eq!((summary.events.taken, summary.events.rejected), (2, 1));
    assert_eq!(case.stored_events().len(), 2);
}

#[test]
fn a_column_that_is_no_id_at_all_is_refused() {
    let case = Case::new();
    let mut text = HEADER.to_owned();
    for row in 0..100_001 {
        writeln!(text, "a,{row},booked,2025-01-01,r{row},\na,{row},sold,2025-01-01,r{row},").unwrap();
    }
    let ingest = case.ingest().events(case.file("1.csv", text)).rejects(case.path("rejects.ndjson"));
    let error = ingest.run().unwrap_err();
    let expected = "more than 100000 values of `eventId` are each shared by several events";
    assert!(error.is_data() && error.to_string().starts_with(expected), "{error}");
    assert!(!case.dataset().exists() && !case.path("rejects.ndjson").exists());
}
