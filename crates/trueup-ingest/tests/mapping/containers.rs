//! Refused rows of mapped inputs in every format and container: how they are shown, counted and limited.

use crate::case::{Case, foreign};
use crate::files::parquet;
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use std::fs;
use std::sync::Arc;
use trueup_ingest::{ErrorKind, FileFormat, Ingest, IngestError, IngestSummary, Source};

/// A mapping of the events in `testdata/foreign`. `stages` are the entries of the map of stages; a row whose stage is
/// not among them is refused.
fn mapping(file: &str, stages: &str) -> String {
    format!(
        "[input.a]\nfile = \"{file}\"\n[[events]]\nfrom = \"a\"\n[events.columns]\naccount = \"account\"\n\
         opportunityId = \"opportunityId\"\ndate = \"date\"\ntype = {{ column = \"type\", map = {{ {stages} }} }}\n"
    )
}

/// The entry of the map for the stage of the sound row.
const SOLD: &str = "sold = \"closed\"";

/// Removes the folders of files from a message.
fn without_folders(case: &Case, text: &str) -> String {
    text.replace(&format!("{}/", foreign("").display().to_string().trim_end_matches('/')), "")
        .replace(&format!("{}/", case.path("").display().to_string().trim_end_matches('/')), "")
}

/// Checks an ingest of three rows of which two are faulty: what it shows and counts, its limits, and that it fails if
/// it rejects all rows. `give` adds the input, and `sound` maps the stage of the sound row. `faults` are the locations
/// and the stages of the faulty rows.
fn check_rejected_rows(name: &str, give: &dyn Fn(Ingest) -> Ingest, sound: &str, faults: [(&str, &str); 2]) {
    let run = |stages: &str, with: &dyn Fn(&Case, Ingest) -> Ingest| -> (Case, Result<IngestSummary, IngestError>) {
        let case = Case::new(&mapping(name, stages));
        let result = with(&case, give(case.ingest())).run();
        (case, result)
    };
    let rejects = |case: &Case, ingest: Ingest| ingest.rejects(case.path("rejects.ndjson"));
    let [(first_at, first), (other_at, other)] = faults;
    let shown = format!(
        "2 rows, column `type`: expected a value that the map has
  `{name}`, {first_at}: `{first}`
  `{name}`, {other_at}: `{other}`"
    );

    let (case, refused) = run(sound, &|_, ingest| ingest);
    let error = refused.unwrap_err();
    assert_eq!(without_folders(&case, &error.rejected_rows().unwrap().to_string()), shown);
    let message = format!(
        "`{name}`, {first_at}, column `type`: expected a value that the map has, but found `{first}` (mapping key \
         `events[0].columns.type`); 1 more row breaks a rule"
    );
    assert_eq!(without_folders(&case, &error.to_string()), message);
    assert!(error.is_data() && !case.path("dataset").exists());

    let (case, taken) = run(sound, &rejects);
    let taken = taken.unwrap();
    assert_eq!((taken.events.taken, taken.events.rejected), (1, 2), "{name}");
    assert_eq!(without_folders(&case, &taken.rejected.to_string()), shown);
    assert_eq!(fs::read_to_string(case.path("rejects.ndjson")).unwrap().lines().count(), 2, "{name}");

    let limited = |limit: &str| {
        let limit = limit.parse().unwrap();
        run(sound, &|case, ingest| rejects(case, ingest).max_rejects(limit)).1
    };
    assert!(limited("2").is_ok() && limited("66.6667%").is_ok(), "{name}");
    for limit in ["1", "66.6666%"] {
        let error = limited(limit).unwrap_err();
        assert!(
            error.to_string().starts_with(&format!("2 rows of 3 break a rule, but at most {limit} may")),
            "{error}"
        );
    }

    let (case, all) = run("won = \"sold\"", &rejects);
    let error = all.unwrap_err();
    let ErrorKind::AfterRejects { error: cause, rows: 3, .. } = error.kind() else { panic!("{name}: {error}") };
    assert!(matches!(cause.kind(), ErrorKind::AllRejected { rows: 3, .. }), "{name}: {error}");
    assert!(!case.path("dataset").exists() && case.path("rejects.ndjson").exists(), "{name}");
}

/// The locations and the stages of the faulty rows of a text with a header, of a text without one, and of an input
/// without lines.
const WITH_HEADER: [(&str, &str); 2] = [("line 2", "lead-originated"), ("line 4", "booked")];
const WITHOUT_HEADER: [(&str, &str); 2] = [("line 1", "lead-originated"), ("line 3", "booked")];
const WITHOUT_LINES: [(&str, &str); 2] = [("row 1", "lead-originated"), ("row 3", "booked")];

#[test]
fn rejected_rows_of_texts_are_counted_in_every_container() {
    for (names, faults) in [
        (&["events.csv.gz", "events.csv.zst", "events.csv.bz2", "tab.tsv", "utf-8-mark.csv"][..], WITH_HEADER),
        (&["events.ndjson.gz", "events.ndjson.zst", "events.ndjson.bz2"], WITHOUT_HEADER),
        (&["list.json", "list.json.gz", "list-on-many-lines.json"], WITHOUT_LINES),
    ] {
        for name in names {
            check_rejected_rows(name, &|ingest| ingest.events(foreign(name)), SOLD, faults);
        }
    }
    check_rejected_rows(
        "semicolon.csv",
        &|ingest| ingest.delimiter(';').events(foreign("semicolon.csv")),
        SOLD,
        WITH_HEADER,
    );
    check_rejected_rows(
        "utf-16le.csv",
        &|ingest| ingest.encoding("utf-16le".parse().unwrap()).events(foreign("utf-16le.csv")),
        SOLD,
        WITH_HEADER,
    );
}

#[test]
fn rejected_rows_of_parquet_and_xlsx_are_counted() {
    for name in ["brotli.parquet", "zstd.parquet"] {
        check_rejected_rows(name, &|ingest| ingest.events(foreign(name)), SOLD, WITHOUT_LINES);
    }
    let name = "events.xlsx";
    // As the spreadsheet shows them: the header is row 1.
    let faults = [("row 3", "sold"), ("row 4", "sold")];
    check_rejected_rows(name, &|ingest| ingest.events(foreign(name)), "lead-originated = \"booked\"", faults);
}

#[test]
fn rejected_rows_of_readers_and_record_batches_are_counted() {
    // The program's `-` is such a reader.
    let text = "account,opportunityId,type,date\nacme,1,lead-originated,2025-01-30\nacme,1,sold,2025-02-03\nbolt,7,booked,2025-02-04\n";
    check_rejected_rows(
        "-",
        &|ingest| ingest.events(Source::reader(FileFormat::CSV, text.as_bytes()).named("-")),
        SOLD,
        WITH_HEADER,
    );
    let texts = |texts: [&'static str; 3]| -> ArrayRef { Arc::new(StringArray::from(texts.to_vec())) };
    let columns = [
        ("account", texts(["acme", "acme", "bolt"])),
        ("opportunityId", texts(["1", "1", "7"])),
        ("type", texts(["lead-originated", "sold", "booked"])),
        ("date", texts(["2025-01-30", "2025-02-03", "2025-02-04"])),
    ];
    let batch = RecordBatch::try_from_iter(columns.clone()).unwrap();
    check_rejected_rows(
        "crm",
        &|ingest| ingest.events(Source::batches([batch.clone()]).named("crm")),
        SOLD,
        WITHOUT_LINES,
    );
    // Parquet through a reader, too.
    let bytes = parquet(columns);
    let give = |ingest: Ingest| {
        ingest.events(Source::reader(FileFormat::PARQUET, std::io::Cursor::new(bytes.clone())).named("p"))
    };
    check_rejected_rows("p", &give, SOLD, WITHOUT_LINES);
}

/// A row of a wide file is an event of each stage. If all of these are refused, it is shown once and counted for each.
#[test]
fn a_row_of_several_stages_is_shown_once() {
    let mapping = "[input.a]\nfile = \"a.csv\"\n[[events]]\nfrom = \"a\"\ncolumns = { account = \"k\", opportunityId = \"id\" }\n\
                   [events.stages]\nbooked = { date = \"b\" }\nsold = { date = \"s\" }\n";
    let case = Case::new(mapping).file("a.csv", "k,id,b,s\nx,1,2025-01-01,2025-01-02\n,2,2025-01-03,2025-01-04\n");
    let summary = case.ingest().rejects(case.path("rejects.ndjson")).run().unwrap();
    assert_eq!((summary.events.taken, summary.events.rejected), (2, 2));
    assert_eq!(
        without_folders(&case, &summary.rejected.to_string()),
        "2 rows, column `k`: expected a value\n  `a.csv`, line 3: nothing"
    );
}

fn warnings(case: &Case) -> Vec<String> {
    let summary = case.ingest().run().unwrap();
    summary.warnings.iter().map(|warning| without_folders(case, warning)).collect()
}

#[test]
fn equal_events_without_an_id_give_a_warning() {
    let stages = "\"lead-originated\" = \"lead-originated\", sold = \"sold\", booked = \"booked\"";
    let case = Case::new(&mapping("events.csv", stages)).file_at(foreign("events.csv.gz"));
    assert_eq!(warnings(&case), [""; 0]);
    // Another file with the same rows.
    let again = Ingest::into(case.path("dataset")).mapping(case.path("mapping.toml")).events(foreign("events.csv.zst"));
    let warned = again.run().unwrap().warnings;
    assert_eq!(warned.len(), 1);
    assert!(warned[0].starts_with("3 events without an `eventId` are equal to another event"), "{warned:?}");
}

/// Amounts in a kept column give a warning only if no table of the mapping has a `total`.
#[test]
fn amounts_in_another_column_than_total_give_a_warning() {
    let wide = |sold: &str| {
        let mapping = format!(
            "[input.a]\nfile = \"a.csv\"\n[[events]]\nfrom = \"a\"\nkeep = [\"listPrice\"]\n\
             columns = {{ account = {{ value = \"x\" }}, opportunityId = \"id\" }}\n\
             [events.stages]\nlead-originated = {{ date = \"called\" }}\nsold = {{ {sold} }}\n"
        );
        Case::new(&mapping).file("a.csv", "id,called,sold,sale,listPrice\n1,2025-01-01,2025-01-02,5,7\n")
    };
    assert_eq!(warnings(&wide("date = \"sold\", total = \"sale\"")), [""; 0]);
    assert_eq!(
        warnings(&wide("date = \"sold\"")),
        [
            "`mapping.toml [[events]]`: there is no column `total`, so that these events have no amounts and all revenue is 0; if \
          the amounts are in `listPrice`, name that column `total`"
        ]
    );
}

/// A table of accounts that has the columns of spend is refused while the mapping is read.
#[test]
fn a_table_of_accounts_cannot_have_columns_of_spend() {
    let mapping =
        "[input.a]\nfile = \"a.csv\"\n[[accounts]]\nfrom = \"a\"\ncolumns = { account = \"k\", adSpend = \"cost\" }\n";
    let refusal = Case::new(mapping).file("a.csv", "k,cost\n").refusal();
    let expected = "key `accounts[0].columns.adSpend`, value `adSpend`: a table of accounts has only the columns account, accountName";
    assert!(refusal.contains(expected), "{refusal}");
}
