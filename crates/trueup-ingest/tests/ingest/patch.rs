//! Patches of stored events.

use crate::dataset::Case;
use std::path::PathBuf;
use trueup_core::Dataset;
use trueup_core::query::EventsQuery;
use trueup_ingest::{Ingest, IngestSummary};

const EVENTS: &str = "account,opportunityId,type,date,dateTime,eventId,total,zip,crew\n\
    a,1,booked,2025-01-01,,e1,,00417,\na,1,sold,,2025-01-02T23:30:00Z,e2,100.5,00417,north\na,2,sold,2025-01-03,,,7,00500,\n\
    b,1,closed,2025-01-04,,e1,9,00501,\n";

fn case() -> Case {
    let case = Case::new();
    case.ingest().events(case.file("events.csv", EVENTS)).run().unwrap();
    case
}

fn patch(case: &Case, name: &str, text: &str) -> (Ingest, PathBuf) {
    let path = case.file(name, text);
    (case.ingest().patch(true).events(&path), path)
}

fn events(case: &Case) -> Vec<String> {
    let fields =
        ["account", "eventId", "opportunityId", "type", "date", "dateTime", "total", "zip", "crew", "eventCount"];
    let query = EventsQuery::new(fields, "2025-01-01".parse().unwrap(), "2025-12-31".parse().unwrap());
    let table = Dataset::open(case.dataset()).unwrap().query(&query.allow_long_total()).unwrap();
    table.rows().map(|row| format!("{:?}", row.values().collect::<Vec<_>>())).collect()
}

/// Returns what an ingest of whole events gives.
fn expected(replaced: &[(&str, &str)]) -> Vec<String> {
    let case = Case::new();
    let text = replaced.iter().fold(EVENTS.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
    case.ingest().events(case.file("events.csv", text)).run().unwrap();
    events(&case)
}

#[test]
fn a_patch_changes_only_the_columns_that_it_has() {
    let case = case();
    let (ingest, _) = patch(&case, "p.csv", "account,eventId,total,crew\na,e2,200,\nb,e1,,south\n");
    let IngestSummary { events: counts, protocol, .. } = ingest.run().unwrap();
    assert_eq!((counts.taken, counts.replaced), (2, 2));
    assert_eq!(protocol["events"].inputs[0].mapped_by.as_deref(), Some("patch"));
    assert_eq!(
        events(&case),
        expected(&[
            ("100.5", "200"),
            ("b,1,closed,2025-01-04,,e1,9,00501,", "b,1,closed,2025-01-04,,e1,9,00501,south")
        ])
    );
    // A column of its own, another customer and another stage.
    let (ingest, _) = patch(&case, "q.csv", "account,eventId,opportunityId,type\na,e1,2,estimated\n");
    ingest.run().unwrap();
    let moved = [
        ("100.5", "200"),
        ("b,1,closed,2025-01-04,,e1,9,00501,", "b,1,closed,2025-01-04,,e1,9,00501,south"),
        ("a,1,booked,", "a,2,estimated,"),
    ];
    assert_eq!(events(&case), expected(&moved));
}

#[test]
fn a_day_that_was_computed_is_computed_again() {
    let case = case();
    let accounts = case.file("accounts.csv", "account,timeZone\na,America/New_York\n");
    case.ingest().accounts(&accounts).run().unwrap();
    let (ingest, _) =
        patch(&case, "p.ndjson", "{\"account\": \"a\", \"eventId\": \"e2\", \"dateTime\": \"2025-01-05T03:00:00Z\"}\n");
    ingest.run().unwrap();
    let found = events(&case);
    assert!(
        found.iter().any(|event| event.contains("2025-01-05T03:00:00Z") && event.contains("\"2025-01-04\"")),
        "{found:?}"
    );
    // A day that was given stays, and must then be that of the time.
    let (ingest, path) = patch(&case, "q.csv", "account,eventId,dateTime\na,e1,2025-02-01T12:00:00Z\n");
    let error = ingest.run().unwrap_err().to_string();
    assert!(error.starts_with(&format!("`{}`, line 2, column `date`", path.display())), "{error}");
}

#[test]
fn a_row_that_names_no_stored_event_breaks_a_rule() {
    let case = case();
    let text = "account,eventId,total\na,e2,1\na,e3,2\nc,e2,3\na,,4\n";
    let (ingest, path) = patch(&case, "p.csv", text);
    let error = ingest.run().unwrap_err().to_string();
    let expected_text = format!(
        "`{}`, line 3, column `eventId`: expected the `eventId` of a stored event of the account, but found `e3`",
        path.display()
    );
    assert!(error.starts_with(&expected_text), "{error}");
    let rejects = case.path("rejects.ndjson");
    let summary = case.ingest().patch(true).events(&path).rejects(&rejects).run().unwrap();
    assert_eq!((summary.events.taken, summary.events.rejected), (1, 3));
    assert_eq!(events(&case), expected(&[("100.5", "1")]));
    let (ingest, _) = patch(&case, "q.csv", "account,total\na,1\n");
    assert!(ingest.run().unwrap_err().to_string().contains("`eventId`"));
    let (ingest, _) = patch(&case, "r.csv", "account,eventId,total\na,e2,1\n");
    assert!(ingest.source("x").run().unwrap_err().to_string().contains("a patch changes columns of stored events"));
    // An empty dataset has no events.
    let empty = Case::new();
    let (ingest, _) = patch(&empty, "p.csv", "account,eventId,total\na,e2,1\n");
    assert!(ingest.run().unwrap_err().to_string().contains("of a stored event"));
}
