//! Mappings as an ingest runs them: rejected rows, and datasets that do not depend on the size of batches.

use crate::case::Case;
use crate::values::events_with;
use proptest::prelude::*;
use serde_json::json;
use std::fs;
use std::path::Path;
use trueup_core::dataset::manifest_file;
use trueup_core::query::EventsQuery;
use trueup_core::{Dataset, Value};

const MAPPING: &str = r#"
[input.log]
file = "log.csv"
[input.branches]
file = "branches.csv"
[[events]]
from = "log"
join = [{ input = "branches", on = "branch", unmatched = "refuse", many = true }]
unless = { note = "test" }
keep = ["note"]
[events.columns]
account = "key"
opportunityId = "ref"
eventId = { columns = ["n", "key"], separator = "/" }
type = { column = "status", unmapped = "skip", map = { lead = "lead-originated", job = "sold", won = "closed" } }
date = { column = "when", format = "%m/%d/%Y" }
total = { column = "amount", remove = "$," }
attributionChannel = { column = "channel", map = { web = "Web", tv = "TV" } }
[first_touch]
copy = ["attributionChannel"]
"#;

const BRANCHES: &str = "branch,key\noak,oakville\nelm,elmwood\nelm,elmhurst\n";

fn case(log: &str) -> Case {
    Case::new(MAPPING).file("log.csv", log).file("branches.csv", BRANCHES)
}

fn rejects(path: &Path) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Without the warning, nobody would notice that a misspelled value leaves out every row.
#[test]
fn a_condition_that_no_row_meets_is_a_warning() {
    let table = |condition: &str| {
        format!(
            "[[events]]\nfrom = \"log\"\nwhere = {{ {condition} }}\n[events.columns]\n\
         account = \"branch\"\nopportunityId = \"ref\"\ntype = {{ value = \"sold\" }}\ndate = \"when\"\n"
        )
    };
    let mapping = [
        "[input.log]\nfile = \"log.csv\"\n".to_owned(),
        table("status = \"won\", branch = \"oak\""),
        table("status = [\"lost\", \"won\"]"),
        table("status = \"Won\", branch = \"oak\""),
    ];
    let log = "ref,when,status,branch\nA,2025-01-02,won,elm\nB,2025-01-02,,oak\n";
    let summary = Case::new(&mapping.concat()).file("log.csv", log).ingest().run().unwrap();
    assert_eq!(summary.events.taken, 1);
    let warnings: Vec<&str> =
        summary.warnings.iter().filter_map(|text| text.split_once("mapping.toml`, ")).map(|(_, text)| text).collect();
    assert_eq!(
        warnings,
        [
            "key `events[2].where.status`: no row of the input `log` has the value `Won`, so that the table has no rows; the column \
             has ``, `won`"
        ]
    );
}

/// A joined file of another month has none of the keys, and the values that it had last month would be lost in silence.
#[test]
fn a_join_that_keeps_rows_and_matches_none_is_a_warning() {
    let mapping = "[input.log]\nfile = \"log.csv\"\n[input.names]\nfile = \"names.csv\"\n[[events]]\nfrom = \"log\"\n\
                   join = [{ input = \"names\", on = \"ref\", unmatched = \"keep\" }]\n[events.columns]\naccount = { value = \"a\" }\n\
                   opportunityId = \"ref\"\ntype = { value = \"sold\" }\ndate = \"day\"\nnote = \"name\"\ntotal = { value = 1 }\n";
    let warnings = |log: &str, names: &str| {
        let log = format!("ref,day\n{log}");
        let case = Case::new(mapping).file("log.csv", log).file("names.csv", format!("ref,name\n{names}"));
        let warnings = case.ingest().run().unwrap().warnings.into_iter();
        warnings.filter_map(|text| Some(text.split_once("mapping.toml`, ")?.1.to_owned())).collect::<Vec<_>>()
    };
    assert_eq!(
        warnings("1,2025-01-02\n2,2025-01-02\n", "3,Ada\n"),
        [
            "key `events[0].join[0]`: no row has a match in the input `names`, so that its columns are empty; a join sees only the \
             files of this ingest: give all files of the input, or join what the dataset holds with `stored = true`"
        ]
    );
    assert_eq!(warnings("1,2025-01-02\n2,2025-01-02\n", "2,Ada\n"), [""; 0]);
    // No row shows anything about the file.
    assert_eq!(warnings("", "3,Ada\n"), [""; 0]);
}

#[test]
fn a_warning_about_a_condition_lists_five_values() {
    let mapping = "[input.log]\nfile = \"log.csv\"\n[[events]]\nfrom = \"log\"\nwhere = { status = [\"Won\", \"Sold\"] }\n\
                   [events.columns]\naccount = \"status\"\nopportunityId = \"ref\"\ntype = { value = \"sold\" }\ndate = \"when\"\n";
    let warned = |statuses: &[&str]| {
        let rows: String = statuses.iter().map(|status| format!("A,2025-01-02,{status}\n")).collect();
        let case = Case::new(mapping).file("log.csv", format!("ref,when,status\n{rows}"));
        let warnings = case.ingest().run().unwrap().warnings;
        warnings.into_iter().find_map(|text| Some(text.split_once("has the value ")?.1.to_owned()))
    };
    let words = |found: &str| Some(format!("`Won` or `Sold`, so that the table has no rows; the column has {found}"));
    assert_eq!(warned(&["f", "e", "d", "c", "b", "a", "a"]), words("`a`, `b`, `c`, `d`, `e` and others"));
    assert_eq!(warned(&["b", "c", "d", "e", "a", "c"]), words("`a`, `b`, `c`, `d`, `e`"));
    assert_eq!(warned(&["won"]), words("`won`"));
    // A file without rows shows nothing about the value.
    assert_eq!(warned(&[]), None);
    assert_eq!(warned(&["b", "Sold"]), None);
}

#[test]
fn a_condition_that_leaves_out_no_row_is_a_warning_if_there_are_other_values() {
    let warned = |unless: &str, spam: &[&str]| {
        let mapping = format!(
            "[input.log]\nfile = \"log.csv\"\n[[events]]\nfrom = \"log\"\nunless = {{ Spam = {unless} }}\n[events.columns]\n\
             account = \"ref\"\nopportunityId = \"ref\"\ntype = {{ value = \"sold\" }}\ndate = \"when\"\n"
        );
        let rows: String = spam.iter().map(|spam| format!("A,2025-01-02,{spam}\n")).collect();
        let summary = Case::new(&mapping).file("log.csv", format!("ref,when,Spam\n{rows}")).ingest().run().unwrap();
        let text = summary.warnings.into_iter().find_map(|text| Some(text.split_once(", key ")?.1.to_owned()));
        (summary.events.taken, text)
    };
    let words = "`events[0].unless.Spam`: no row of the input `log` has the value `true` or `yes`, so that the condition leaves \
                 out none; the column has `FALSE`, `TRUE`";
    assert_eq!(warned("['true', 'yes']", &["TRUE", "", "FALSE", "TRUE"]), (4, Some(words.to_owned())));
    assert_eq!(warned("['true', 'yes']", &["TRUE", "yes"]), (1, None));
    // A column that is filled only where the condition holds, and a condition about cells without a value.
    assert_eq!(warned("'true'", &["", ""]), (2, None));
    assert_eq!(warned("''", &["TRUE"]), (1, None));
}

#[test]
fn rows_that_a_mapping_cannot_read_are_rejected() {
    let log = "n,ref,when,status,amount,branch,channel,note\n\
               1,A,01/02/2025,lead,,oak,web,\n\
               2,A,2025-01-03,job,5,oak,,\n\
               3,A,01/04/2025,job,\"$1,000.5O\",elm,tv,\"two\nlines\"\n\
               4,A,01/05/2025,call,bad,oak,,\n\
               5,A,01/06/2025,won,7,ash,,\n\
               6,A,01/07/2025,won,7,oak,fax,\n\
               7,A,01/08/2025\n\
               8,A,01/09/2025,won,\"$9.50\",elm,,\n\
               9,A,01/10/2025,won,99999999999999999999,oak,,\n";
    let case = case(log);
    let path = case.path("rejects.ndjson");
    let summary = case.ingest().rejects(&path).run().unwrap();
    assert_eq!((summary.events.taken, summary.events.rejected), (3, 6));
    let rows = rejects(&path);
    assert_eq!(
        rows[0],
        json!({
            "file": case.path("log.csv"), "line": 3, "column": "when", "value": "2025-01-03",
            "key": "events[0].columns.date",
            "reason": "expected a date as `%m/%d/%Y`, but found `2025-01-03` (mapping key `events[0].columns.date`)",
            "row": {"n": "2", "ref": "A", "when": "2025-01-03", "status": "job", "amount": "5", "branch": "oak",
                    "channel": null, "note": null},
        })
    );
    let found: Vec<_> = rows.iter().map(|row| (row["line"].as_u64(), row["column"].as_str())).collect();
    assert_eq!(
        found,
        [
            (Some(3), Some("when")),
            // Its branch has two accounts, but it is one row.
            (Some(4), Some("amount")),
            (Some(7), Some("branch")),
            (Some(8), Some("channel")),
            (Some(9), None),
            // The rules of the data model refuse it.
            (Some(11), Some("total")),
        ]
    );
    assert_eq!(
        rows[2]["reason"],
        "expected a row of the input `branches` with the same key, but found `ash` (mapping key `events[0].join[0].on`)"
    );
    assert_eq!(rows[5]["row"]["account"], "oakville");
}

/// Without a rejects file a faulty row makes the ingest fail; the error names the first one as it is in its file.
#[test]
fn faulty_rows_refuse_the_ingest() {
    let refused = |rows: &str| {
        let case = case(&format!("n,ref,when,status,amount,branch,channel,note\n{rows}"));
        let error = case.ingest().run().unwrap_err();
        assert!(error.is_data());
        error.to_string().replace(&format!("{}/", case.path("").display().to_string().trim_end_matches('/')), "")
    };
    assert_eq!(
        refused("1,A,01/02/2025,lead,,oak,web,\n2,A,,job,,oak,,\n3,A,x,job,,oak,,\n"),
        "`log.csv`, line 3, column `when`: expected a date, but found nothing (mapping key `events[0].columns.date`); 1 more row breaks a rule"
    );
    let more = refused("1,A,x,lead,,oak,web,\n2,A,,job,,oak,,\n");
    assert!(
        more.starts_with("`log.csv`, line 2, column `when`: expected a date as `%m/%d/%Y`, but found `x`"),
        "{more}"
    );
    let rule = refused("1,A,01/02/2025,lead,99999999999999999999,oak,web,\n");
    assert!(rule.starts_with("`log.csv`, line 2, column `total`: expected an amount"), "{rule}");
}

/// The message about a value of a joined file names its place in that file; the row to which the value was joined is
/// rejected.
#[test]
fn a_fault_of_a_joined_file_names_that_file() {
    let mapping =
        MAPPING.replace("account = \"key\"", "account = \"key\"\nzip = { column = \"branches.zip\", map = { a = 1 } }");
    let log =
        "n,ref,when,status,amount,branch,channel,note\n1,A,01/02/2025,lead,,oak,web,\n2,A,01/02/2025,job,,elm,web,\n";
    let branches = "branch,key,zip\noak,oakville,a\nelm,elmwood,b\n";
    let case = Case::new(&mapping).file("log.csv", log).file("branches.csv", branches);
    assert!(case.refusal().starts_with("`branches.csv`, line 3, column `zip`: expected a value that the map has"));
    let path = case.path("rejects.ndjson");
    assert_eq!(case.ingest().rejects(&path).run().unwrap().events.taken, 1);
    let rows = rejects(&path);
    assert_eq!((&rows[0]["line"], &rows[0]["row"]["n"]), (&json!(3), &json!("2")));
    assert!(rows[0]["reason"].as_str().unwrap().contains("but found `b` in line 3 of `"), "{}", rows[0]["reason"]);
}

/// The conversion is not in the dataset, so it gives no credit.
#[test]
fn a_rejected_conversion_gives_no_credit() {
    let log = "n,ref,when,status,amount,branch,channel,note\n\
               1,A,01/02/2025,lead,?,oak,web,\n\
               2,A,01/03/2025,lead,,oak,tv,\n\
               3,A,01/04/2025,won,5,oak,,\n";
    let case = case(log);
    case.ingest().rejects(case.path("rejects.ndjson")).run().unwrap();
    let (start, end) = ("2025-01-01".parse().unwrap(), "2025-01-31".parse().unwrap());
    let channels = EventsQuery::new(["attributionChannel", "eventCount"], start, end);
    let table = Dataset::open(case.path("dataset")).unwrap().query(&channels).unwrap();
    assert_eq!((table.len(), table.value(0, "attributionChannel")), (1, Some(Value::Text("TV"))));
}

/// The pattern also fits the name of the column that says which amounts are numbers.
#[test]
fn a_number_stays_what_it_is_if_other_columns_are_ignored() {
    let columns = "date = { value = \"2025-01-02\" }\n\
                   total = { column = \"t\", remove = \".\", decimal_mark = \",\" }";
    let case = Case::new(&events_with(columns).replace("a.csv", "a.ndjson"))
        .file("a.ndjson", "{\"id\": 1, \"t\": 1234.5, \"notes\": \"x\"}\n");
    case.ingest().ignore("*s").run().unwrap();
    let (start, end) = ("2025-01-01".parse().unwrap(), "2025-01-31".parse().unwrap());
    let totals = EventsQuery::new(["account", "total"], start, end);
    let table = Dataset::open(case.path("dataset")).unwrap().query(&totals).unwrap();
    assert_eq!(table.value(0, "total"), Some(Value::Money(1_234_500_000)));
}

#[test]
fn events_with_ids_are_applied_again() {
    let case = case("n,ref,when,status,amount,branch,channel,note\n1,A,01/02/2025,lead,,oak,web,\n");
    assert!(case.ingest().run().unwrap().changed);
    let again = case.ingest().run().unwrap();
    assert!(again.changed && again.events.replaced == again.events.taken, "{again:?}");
}

/// Ingests a log with a sound row. Returns the checksums of the dataset's event files, and the rejects file.
fn ingested(log: &str, batch_rows: usize, threads: usize) -> (Vec<String>, String) {
    let case = case(log);
    let path = case.path("rejects.ndjson");
    case.ingest().rejects(&path).batch_rows(batch_rows).threads(threads).run().unwrap();
    let manifest = manifest_file::read_latest(&case.path("dataset")).unwrap().unwrap();
    let rejects = fs::read_to_string(&path).unwrap().replace(&case.path("").display().to_string(), "");
    (manifest.events.into_iter().map(|file| file.blake3).collect(), rejects)
}

prop_compose! {
    fn row()(
        customer in "[ab]",
        day in prop_oneof![9 => (1..28_u32).prop_map(|day| format!("01/{day:02}/2025")), 1 => Just("soon".to_owned())],
        status in prop::sample::select(vec!["lead", "job", "won", "call"]),
        amount in prop::sample::select(vec!["", "\"$1,200.50\"", "7", "x"]),
        branch in prop::sample::select(vec!["oak", "elm", "ash"]),
        channel in prop::sample::select(vec!["", "web", "tv", "fax"]),
        note in prop::sample::select(vec!["", "test", "\"two\nlines\"", "\"a \"\"b\"\"\""]),
    ) -> String {
        format!("{customer},{day},{status},{amount},{branch},{channel},{note}\n")
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn batches_and_threads_change_nothing(rows in prop::collection::vec(row(), 1..60)) {
        // The first row is sound, because an ingest whose rows are all rejected fails.
        let mut log = "n,ref,when,status,amount,branch,channel,note\nx,a,01/02/2025,lead,,oak,web,\n".to_owned();
        for (n, row) in rows.iter().enumerate() {
            log += &format!("{n},{row}");
            if n % 7 == 3 {
                log += "\n";
            }
        }
        let whole = ingested(&log, 1 << 16, 2);
        for (batch_rows, threads) in [(1, 1), (2, 2), (5, 1)] {
            prop_assert_eq!(&ingested(&log, batch_rows, threads), &whole);
        }
    }
}

/// Rows have the name of their input as their source, unless the mapping or the ingest gives another.
#[test]
fn rows_have_the_source_of_their_table() {
    let mapping = "[input.crm]\nfile = \"crm.csv\"\n[input.google]\nfile = \"google.csv\"\n[input.meta]\nfile = \"meta.csv\"\n\
        [[events]]\nfrom = \"crm\"\n[events.columns]\naccount = { value = \"a\" }\nopportunityId = \"id\"\n\
        type = { value = \"sold\" }\ndate = \"day\"\n\
        [[spend]]\nfrom = \"google\"\n[spend.columns]\naccount = { value = \"a\" }\ndate = \"day\"\nadSpend = \"cost\"\n\
        [[spend]]\nfrom = \"meta\"\nsource = \"facebook\"\n[spend.columns]\naccount = { value = \"a\" }\ndate = \"day\"\nadSpend = \"cost\"\n";
    let case = |google: &str| {
        Case::new(mapping)
            .file("crm.csv", "id,day\n1,2025-01-01\n")
            .file("google.csv", format!("day,cost\n2025-01-01,{google}\n"))
            .file("meta.csv", "day,cost\n2025-01-01,6\n")
    };
    let sources = |case: &Case| {
        let query = EventsQuery::new(["source", "spend"], "2025-01-01".parse().unwrap(), "2025-01-31".parse().unwrap());
        let table = Dataset::open(case.path("dataset")).unwrap().query(&query).unwrap();
        let rows = table.rows().map(|row| format!("{:?} {:?}", row.get("source").unwrap(), row.get("spend").unwrap()));
        rows.collect::<Vec<_>>()
    };
    let plain = case("5");
    let replaced = |summary: &trueup_ingest::IngestSummary| {
        summary.protocol["spend"].replaced.iter().map(|row| (row.source.clone(), row.totals.rows)).collect::<Vec<_>>()
    };
    plain.ingest().run().unwrap();
    // Spend does not carry the source, so the row of the only event shows all of it.
    assert_eq!(sources(&plain), ["Text(\"crm\") Money(11000000)"]);
    std::fs::write(plain.path("google.csv"), "day,cost\n2025-01-01,7\n").unwrap();
    let again = plain.ingest().run().unwrap();
    assert_eq!(replaced(&again), [("facebook".to_owned(), 1), ("google".to_owned(), 1)]);
    let named = case("5");
    named.ingest().source("all").run().unwrap();
    assert_eq!(sources(&named), ["Text(\"all\") Money(11000000)"]);
    let accounts = "[[accounts]]\nsource = \"x\"\n[accounts.columns]\naccount = { value = \"a\" }\n";
    let refused = Case::new(&format!("[input.a]\nfile = \"a.csv\"\n{accounts}")).file("a.csv", "x\n1\n").refusal();
    assert!(
        refused.contains("`accounts[0].source`") && refused.contains("only tables of events and spend"),
        "{refused}"
    );
}
