//! Headers of sheets over several rows, with merged cells.

use crate::case::{Case, column};
use crate::sheets::workbook;

fn spend(keys: &str, columns: &str) -> String {
    format!(
        "[input.fees]\nfile = \"fees.xlsx\"\n{keys}\n[[spend]]\nfrom = \"fees\"\n[spend.columns]\naccount = \"Client\"\n{columns}\n"
    )
}

const ROWS: &[&[&str]] = &[
    &["Client", "March 2026", "", "April 2026", ""],
    &["", "Cost", "Fee", "Cost", "Fee"],
    &["oak", "100", "10", "120", "11"],
    &["elm", "200", "", "220", "22"],
];

const MERGED: &[&str] = &["A1:A2", "B1:C1", "D1:E1"];

const MARCH: &str =
    "date = { value = \"2026-03-01\" }\nadSpend = \"March 2026 Cost\"\nmanagementFee = \"March 2026 Fee\"";

#[test]
fn a_merged_cell_names_every_column_that_it_spans() {
    // With the key, and without it, because neither row can be the header alone.
    for keys in ["merged = true", "", "merged = true\nheader_row = 1", "header_row = [\"Client\", \"April 2026 Fee\"]"]
    {
        let case = Case::new(&spend(keys, MARCH)).file("fees.xlsx", workbook(ROWS, MERGED));
        let rows = case.spend();
        assert_eq!(column(&rows, "account"), ["oak", "elm"], "{keys}");
        assert_eq!(
            (column(&rows, "adSpend"), column(&rows, "managementFee")),
            (vec!["100".into(), "200".into()], vec!["10".into(), String::new()])
        );
    }
    let refused = Case::new(&spend("merged = false", MARCH)).file("fees.xlsx", workbook(ROWS, MERGED)).refusal();
    assert!(refused.contains("has no name"), "{refused}");
}

#[test]
fn title_lines_and_months_that_become_rows() {
    let titled: Vec<&[&str]> = [&["Report of all clients"][..], &[]].into_iter().chain(ROWS.iter().copied()).collect();
    let months = "unpivot = { columns = { regex = \" 2026 Cost$\" }, name = \"month\", value = \"cost\" }";
    let mapping = spend(&format!("merged = true\nheader_row = [\"Client\"]\n{months}"), "adSpend = \"cost\"")
        .replace("from = \"fees\"\n", "from = \"fees\"\nspread = { month = \"month\", format = \"%B %Y Cost\" }\n");
    let case = Case::new(&mapping).file("fees.xlsx", workbook(&titled, &["A1:E1", "A3:A4", "B3:C3", "D3:E3"]));
    let summary = case.ingest().run().unwrap();
    assert_eq!((summary.spend.taken, summary.protocol["spend"].read().ad_spend), (2 * 61, 640_000_000));
    let left_out = &summary.left_out[0];
    assert_eq!((left_out.title_lines, left_out.blank_lines), (1, 0));
}

#[test]
fn a_single_row_that_can_be_the_header_is_the_header() {
    let rows: &[&[&str]] = &[&["Client", "Cost", "Fee"], &["oak", "100", "10"], &["elm", "200", "20"]];
    // The merged cell is below the header.
    let columns = "date = { value = \"2026-03-01\" }\nadSpend = \"Cost\"";
    let case = Case::new(&spend("", columns)).file("fees.xlsx", workbook(rows, &["A2:A3"]));
    assert_eq!(case.spend().len(), 2);
}

/// The first row of such a header has no gap: it ends before the second one.
#[test]
fn a_merged_cell_at_the_right_edge_needs_no_key() {
    let rows: &[&[&str]] =
        &[&["Client", "Fee"], &["", "March", "April"], &["oak", "100", "120"], &["elm", "200", "220"]];
    let titled: Vec<&[&str]> = [&["Fees of 2026"][..]].into_iter().chain(rows.iter().copied()).collect();
    let columns = "date = { value = \"2026-03-01\" }\nadSpend = \"Fee April\"";
    for keys in ["", "header_row = [\"Client\"]", "header_row = 1"] {
        let case = Case::new(&spend(keys, columns)).file("fees.xlsx", workbook(rows, &["A1:A2", "B1:C1"]));
        let made = case.spend();
        assert_eq!(
            (column(&made, "account"), column(&made, "adSpend")),
            (vec!["oak".into(), "elm".into()], vec!["120".into(), "220".into()]),
            "{keys}"
        );
        let keys = keys.replace('1', "2");
        let titled = workbook(&titled, &["A1:C1", "A2:A3", "B2:C2"]);
        assert_eq!(
            column(&Case::new(&spend(&keys, columns)).file("fees.xlsx", titled).spend(), "adSpend"),
            ["120", "220"]
        );
    }
    // Without merged cells, the row below is one of another width.
    let columns = columns.replace("Fee April", "Fee");
    for keys in ["", "header_row = [\"Client\"]", "header_row = 1", "merged = false"] {
        let refused = Case::new(&spend(keys, &columns)).file("fees.xlsx", workbook(rows, &[])).refusal();
        assert!(refused.contains("the cell C2 of the sheet `S` has a value, too"), "{keys}: {refused}");
    }
}

#[test]
fn only_sheets_have_merged_cells() {
    let mapping = spend("merged = true", MARCH).replace("fees.xlsx", "fees.csv");
    let refused = Case::new(&mapping).file("fees.csv", "Client\n").refusal();
    assert!(
        refused.contains("`input.fees.merged`") && refused.contains("only XLSX files can have this key"),
        "{refused}"
    );
}
