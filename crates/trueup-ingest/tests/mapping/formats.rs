//! Inputs in NDJSON and XLSX.

use crate::case::{Case, column, foreign, rows};
use crate::values::events_with;
use std::path::PathBuf;

const DATED: &str = "date = { value = \"2025-01-01\" }\n";

fn ndjson(columns: &str, text: &str) -> Case {
    Case::new(&events_with(columns).replace("a.csv", "a.ndjson")).file("a.ndjson", text)
}

#[test]
fn ndjson_cells_are_read_as_they_are_written() {
    let text = "{\"id\": \"007\", \"t\": 12.50, \"zip\": 1234567890123456789012, \"x\": {\"a\": [1]}}\n\
                \n\
                {\"id\": 8, \"zip\": true, \"t\": null}\n\
                {\"id\": 9.0, \"zip\": \"a\\nb\", \"t\": 1e3}";
    let rows = ndjson(&format!("{DATED}total = \"t\"\nzip = \"zip\""), text).events();
    assert_eq!(column(&rows, "opportunityId"), ["007", "8", "9.0"]);
    assert_eq!(column(&rows, "total"), ["12.50", "", "1000"]);
    assert_eq!(column(&rows, "zip"), ["1234567890123456789012", "true", "a\nb"]);
}

/// A column may first appear late.
#[test]
fn ndjson_has_the_members_of_all_its_objects() {
    let mut text: String = (0..70_000).map(|id| format!("{{\"id\": {id}}}\n")).collect();
    text += "{\"id\": \"last\", \"zip\": \"z\"}\n";
    let rows = ndjson(&format!("{DATED}zip = \"zip\""), &text).events();
    assert_eq!((rows.len(), rows[70_000]["zip"].as_str()), (70_001, "z"));
    let refusal = ndjson(&format!("{DATED}zip = \"zap\""), &text).refusal();
    assert!(refusal.contains("value `zap`: no input has this column; the columns are: id, zip"), "{refusal}");
}

#[test]
fn ndjson_that_is_no_table_is_refused() {
    for (text, expected) in [
        ("{\"id\": 1}\n{\"id\": [2]}\n", "line 2, column `id`: expected a single value, but found an array: `[2]`"),
        ("{\"id\": 1}\n[1]\n", "line 2: expected a JSON object"),
        ("{\"id\": \"\"}\n", "line 1, column `id`: expected a value, but found nothing"),
    ] {
        let refusal = ndjson(DATED, text).refusal();
        assert!(refusal.starts_with("`a.ndjson`") && refusal.contains(expected), "{refusal}");
    }
}

/// The rules for the texts of this column would turn the number 1234.5 into 12345.
#[test]
fn numbers_of_ndjson_keep_their_decimal_point() {
    let text =
        "{\"id\": 1, \"t\": 1234.5}\n{\"id\": 2, \"t\": \"€ 1.234,5\"}\n{\"id\": 3}\n{\"id\": 4, \"t\": -0.25}\n";
    let rows =
        ndjson(&format!("{DATED}total = {{ column = \"t\", remove = \"€ .\", decimal_mark = \",\" }}"), text).events();
    assert_eq!(column(&rows, "total"), ["1234.5", "1234.5", "", "-0.25"]);
}

/// What the mapping itself gives is a text, which has the format of the column, whatever the cell is in the file.
#[test]
fn values_of_the_mapping_are_texts() {
    let source = "{ column = \"d\", format = \"%Y-%d-%m\", map = { 7 = \"2025-04-03\" }, unmapped = \"keep\", \
                  default = \"2025-02-03\" }";
    let text = "{\"id\": 1, \"d\": null}\n{\"id\": 2}\n{\"id\": 3, \"d\": \"\"}\n{\"id\": 4, \"d\": 7}\n\
                {\"id\": 5, \"d\": \"7\"}\n{\"id\": 6, \"d\": \"2025-05-03\"}\n";
    let rows = ndjson(&format!("date = {source}"), text).events();
    let (default, mapped, text) = ("2025-03-02", "2025-03-04", "2025-03-05");
    assert_eq!(column(&rows, "date"), [default, default, default, mapped, mapped, text]);
}

/// Only the columns that a mapping names are decoded, but the names of all columns of the file are held.
#[test]
fn ndjson_with_too_many_members_is_refused() {
    let text: String = (0..300).map(|at| format!("{{\"id\": {at}, \"name-{at}\": 1}}\n")).collect();
    let case = ndjson(DATED, &text);
    let ingest = |columns: usize| case.ingest().max_columns(columns);
    let error = ingest(300).run().unwrap_err().to_string();
    let expected = "a.ndjson`: the file has more than 300 columns; leave some out, or raise `--max-columns`";
    assert!(error.ends_with(expected), "{error}");
    assert_eq!(ingest(301).run().unwrap().events.taken, 300);
    let other = ndjson(DATED, &text);
    assert_eq!(other.ingest().max_columns(10).ignore("name-*").run().unwrap().events.taken, 300);
    let refusal = ndjson(DATED, &format!("{{\"id\": 1, \"{}\": 2}}\n", "x".repeat(1_025))).refusal();
    assert!(refusal.ends_with("has 1025 bytes, but at most 1024 are allowed; rename it"), "{refusal}");
}

fn workbook(columns: &str, more: &str) -> Case {
    let mapping = events_with(columns).replace("file = \"a.csv\"", &format!("file = \"*.xlsx\"\n{more}"));
    Case::new(&mapping).file_at(jobs())
}

fn jobs() -> PathBuf {
    foreign("jobs.xlsx")
}

#[test]
fn xlsx_cells_become_texts() {
    let columns = "date = \"called\"\ndateTime = { column = \"booked\", time_zone = \"UTC\" }\ntotal = \"sale\"\npaid = \"paid\"\n\
         note = \"note\"\nflag = \"flag\"";
    let rows = workbook(columns, "empty = [\"#N/A\"]").events();
    assert_eq!(column(&rows, "opportunityId"), ["7", "A-8", "9"]);
    assert_eq!(column(&rows, "date"), ["2025-04-01", "2025-04-03", "2025-04-04"]);
    assert_eq!(column(&rows, "dateTime"), ["2025-04-02T09:45:00Z", "", ""]);
    assert_eq!(column(&rows, "total"), ["1800", "0.1", "1234567890123"]);
    assert_eq!(column(&rows, "paid"), ["1746.5", "", ""]);
    assert_eq!(column(&rows, "note"), ["first & last", "", ""]);
    assert_eq!(column(&rows, "flag"), ["true", "false", ""]);
}

/// A sheet holds these two ids as one number.
#[test]
fn xlsx_numbers_that_may_be_others_are_refused() {
    let rows = |id: &'static str| {
        let rows: [&[&str]; 3] = [&["id", "d", "n"], &["9007199254740991", "2025-04-01", "1"], &[id, "2025-04-01", id]];
        crate::sheets::workbook(&rows, &[])
    };
    let case = |columns: &str, id| {
        let mapping =
            events_with(columns).replace("a.csv", "a.xlsx").replace("opportunityId = \"id\"", "opportunityId = \"n\"");
        Case::new(&mapping).file("a.xlsx", rows(id))
    };
    let dated = "date = \"d\"\n";
    for id in ["12345678901234567", "12345678901234568", "9007199254740992", "-9007199254740993", "1e300"] {
        let refusal = case(dated, id).refusal();
        let expected = "`a.xlsx`, row 3, column `n`: expected a number below 9007199254740992, as a sheet holds no longer \
                        ones exactly, but the cell C3 of the sheet `S` holds the number `";
        assert!(refusal.starts_with(expected) && refusal.ends_with("`; store it as text"), "{refusal}");
    }
    // The largest whole number that is no other one.
    let rows = case(&format!("{dated}phone = \"id\""), "9007199254740990").events();
    assert_eq!(column(&rows, "phone"), ["9007199254740991", "9007199254740990"]);
    assert_eq!(column(&rows, "opportunityId"), ["1", "9007199254740990"]);
}

/// Programs write some cells of a column as numbers or dates, and others as text.
#[test]
fn xlsx_numbers_and_dates_do_not_depend_on_how_texts_are_written() {
    let mixed = foreign("mixed.xlsx");
    let source = "date = { column = \"day\", format = \"%d.%m.%Y\" }\n\
                  total = { column = \"sum\", remove = \"€ .\", decimal_mark = \",\" }";
    let case = |columns: &str| Case::new(&events_with(columns).replace("a.csv", "mixed.xlsx")).file_at(mixed.clone());
    let rows = case(source).events();
    assert_eq!(column(&rows, "date"), ["2024-04-13", "2024-04-05", "2024-04-06", "2024-04-14"]);
    assert_eq!(column(&rows, "total"), ["1234.5", "1234.50", "1000", "99.99"]);
    // The same through a join.
    let (head, _) =
        events_with("").split_once("[[events]]").map(|(head, rest)| (head.to_owned(), rest.to_owned())).unwrap();
    let joined = format!(
        "{head}[input.sheet]\nfile = \"mixed.xlsx\"\n[[events]]\nfrom = \"a\"\n\
         join = [{{ input = \"sheet\", on = \"id\", unmatched = \"refuse\" }}]\n[events.columns]\n\
         account = {{ value = \"acme\" }}\nopportunityId = \"id\"\ntype = {{ value = \"sold\" }}\n{source}"
    );
    let rows = Case::new(&joined).file("a.csv", "id\n2\n1\n").file_at(mixed.clone()).events();
    assert_eq!(column(&rows, "date"), ["2024-04-05", "2024-04-13"]);
    assert_eq!(column(&rows, "total"), ["1234.50", "1234.5"]);
    let refusal = case("date = { column = \"sum\", format = \"%d.%m.%Y\" }\n").refusal();
    assert!(refusal.contains("row 2, column `sum`: expected a date as `%d.%m.%Y`, but found `1234.5`"), "{refusal}");
}

#[test]
fn inputs_share_a_workbook_if_each_reads_another_sheet() {
    let case = |sheet: &str| {
        let notes = format!(
            "[input.notes]\nfile = \"jobs.xlsx\"\n{sheet}\n[[accounts]]\nfrom = \"notes\"\ncolumns = {{ account = \"text\" }}\n"
        );
        let mapping = events_with(DATED).replace("file = \"a.csv\"", "file = \"*.xlsx\"\nsheet = \"Jobs\"");
        Case::new(&format!("{mapping}\n{notes}")).file_at(jobs())
    };
    let case_of_two = case("sheet = \"Notes\"");
    let made = case_of_two.run().unwrap();
    assert_eq!(column(&rows(&made.events[0]), "opportunityId"), ["7", "A-8", "9"]);
    assert!(!column(&rows(&made.accounts[0]), "account").is_empty());
    // The first sheet may be the one of the other input.
    for sheet in ["sheet = \"Jobs\"", ""] {
        assert!(case(sheet).refusal().contains("the inputs `a` and `notes` both name this file"), "{sheet}");
    }
}

#[test]
fn xlsx_that_cannot_be_read_is_refused() {
    let named = |case: Case| case.refusal().replace(&jobs().display().to_string(), "jobs.xlsx");
    assert_eq!(
        named(workbook(&format!("{DATED}paid = \"paid\""), "")),
        "`jobs.xlsx`, row 6, column `paid`: expected a value, but the cell F6 of the sheet `Jobs` holds the error `#N/A`"
    );
    // Nothing reads the column that holds the error.
    assert_eq!(workbook(DATED, "").events().len(), 3);
    let missing = named(workbook(DATED, "sheet = \"Leads\""));
    assert_eq!(missing, "`jobs.xlsx`: the workbook has no sheet `Leads`; its sheets are `Jobs`, `Notes`");
    let other = workbook(DATED, "sheet = \"Notes\"").refusal();
    assert!(other.contains("value `id`: no input has this column; the columns are: text"), "{other}");
    let faulty = workbook("date = { column = \"sale\" }\n", "");
    assert_eq!(
        named(faulty),
        "`jobs.xlsx`, row 3, column `sale`: expected a date as YYYY-MM-DD, but found `1800` \
         (mapping key `events[0].columns.date`)"
    );
    for (content, expected) in [
        ("id\n1\n", "expected an XLSX file, but the file does not begin as a ZIP archive"),
        ("PK\u{3}\u{4}", "the XLSX file cannot be read: "),
    ] {
        let case = Case::new(&events_with(DATED).replace("a.csv", "a.xlsx")).file("a.xlsx", content);
        assert!(case.refusal().starts_with(&format!("`a.xlsx`: {expected}")), "{}", case.refusal());
    }
    let case = Case::new(&events_with(DATED)).file("a.csv", std::fs::read(jobs()).unwrap());
    assert!(case.refusal().starts_with("`a.csv`: this is a ZIP archive, such as an XLSX file"), "{}", case.refusal());
}
