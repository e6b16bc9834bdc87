//! Inputs that differ in order, format or spelling, and what is stored.

use crate::dataset::{Case, write_csv, write_ndjson, write_parquet};
use crate::spill::{HEADER, rows};

#[test]
fn order_and_format_of_the_inputs_do_not_change_the_files() {
    // Every event id is unique, because the order of the inputs decides between rows with the same id.
    let mut rows = rows(600, 7);
    rows.iter_mut()
        .enumerate()
        .for_each(|(at, row)| row[4] = if at % 3 == 0 { String::new() } else { format!("e{at}") });
    let expected = {
        let case = Case::new();
        write_csv((&HEADER, &rows), &case.path("all.csv"));
        case.ingest().events(case.path("all.csv")).run(&()).unwrap();
        (case.stored_events(), case.manifest().events[0].sha256.clone())
    };
    let case = Case::new();
    let parts: Vec<&[Vec<String>]> = rows.chunks(150).collect();
    write_parquet((&HEADER, parts[3]), 40, &case.path("3.parquet"));
    write_ndjson((&HEADER, parts[1]), &case.path("1.jsonl"));
    write_csv((&HEADER, parts[0]), &case.path("0"));
    write_parquet((&HEADER, parts[2]), 1_000, &case.path("2"));
    let ingest =
        ["3.parquet", "0", "2", "1.jsonl"].iter().fold(case.ingest(), |ingest, name| ingest.events(case.path(name)));
    ingest.batch_rows(17).threads(2).run(&()).unwrap();
    assert_eq!((case.stored_events(), case.manifest().events[0].sha256.clone()), expected);

    // The files of a dataset are inputs too.
    let copy = Case::new();
    copy.ingest().events(case.dataset().join(&case.manifest().events[0].path)).run(&()).unwrap();
    assert_eq!((copy.stored_events(), copy.manifest().events[0].sha256.clone()), expected);
}

#[test]
fn a_header_without_rows_is_accepted() {
    let case = Case::new();
    let summary = case.events("empty.csv", "account,opportunityId,type,date\n");
    assert_eq!((summary.changed, summary.events.taken), (true, 0));
    assert_eq!(case.manifest().events, []);
}

#[test]
fn computed_columns_are_ignored_with_a_warning() {
    let case = Case::new();
    let summary =
        case.events("a.csv", "account,opportunityId,type,date,week,leads,zip\na,1,sold,2025-01-01,x,1,02134\n");
    let path = case.path("a.csv");
    let ignored = |column: &str, why: &str| format!("{}: column `{column}` is ignored: {why}", path.display());
    assert_eq!(
        summary.warnings,
        [ignored("week", "trueup computes its values"), ignored("leads", "it has the name of a metric")]
    );
    assert_eq!(case.stored_events(), ["a|1|sold|2025-01-01||||02134"]);
}

#[test]
fn a_byte_order_mark_is_skipped() {
    let case = Case::new();
    let csv = case.file("a.csv", "\u{feff}account,opportunityId,type,date\r\na,1,sold,2025-01-01\r\n");
    let json = case
        .file("b.json", "\u{feff}{\"account\":\"a\",\"opportunityId\":2,\"type\":\"sold\",\"date\":\"2025-01-01\"}");
    case.ingest().events(csv).events(json).run(&()).unwrap();
    assert_eq!(case.stored_events(), ["a|1|sold|2025-01-01|||", "a|2|sold|2025-01-01|||"]);
}

#[test]
fn totals_keep_all_their_digits() {
    let case = Case::new();
    let header = "account,opportunityId,type,date,total\n";
    case.events("1.csv", &format!("{header}a,1,sold,2025-01-01,9000000000000\na,2,sold,2025-01-01,-0.000001\n"));
    case.events("2.csv", &format!("{header}a,3,sold,2025-01-01,1\n"));
    case.events("3.csv", &format!("{header}b,1,sold,2025-01-01,999999999999.999999\n"));
    assert_eq!(
        case.stored_events(),
        [
            "a|1|sold|2025-01-01|||9000000000000.000000",
            "a|2|sold|2025-01-01|||-0.000001",
            "a|3|sold|2025-01-01|||1.000000",
            "b|1|sold|2025-01-01|||999999999999.999999",
        ]
    );
}
