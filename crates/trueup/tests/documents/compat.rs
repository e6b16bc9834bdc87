//! Checks that each row of the matrix in `docs/compat.md` names goldens or tests, unless no test can show the row; that
//! each row of the tables in `docs/reliability.md` names tests; and that all of these exist.

use crate::{at, goldens};
use std::collections::BTreeSet;
use std::fs;

/// The heading above the matrix of `docs/compat.md`.
const HEADING: &str = "## API.md, sentence by sentence";

/// The first word of a row's third cell if no test can show the row.
const STATEMENT: &str = "statement";

/// A row of the matrix.
struct Row {
    number: String,
    /// The cell that names the tests.
    shown: String,
}

fn rows() -> Vec<Row> {
    let text = fs::read_to_string(at("docs/compat.md")).unwrap();
    let (_, section) = text.split_once(HEADING).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(|line| {
        let cells: Vec<&str> = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect();
        let [number, _, shown, _] = cells.as_slice() else { panic!("{line}") };
        let is_number = number.starts_with(|first: char| first.is_ascii_digit());
        is_number.then(|| Row { number: (*number).to_owned(), shown: (*shown).to_owned() })
    });
    rows.collect()
}

/// Returns each text in backticks, with the text after it up to the next one.
fn quoted(cell: &str) -> Vec<(&str, &str)> {
    let parts: Vec<&str> = cell.split('`').collect();
    parts.chunks(2).skip(1).zip(parts.chunks(2)).map(|(after, before)| (before[1], after[0])).collect()
}

/// Returns whether a golden of the file has the text in its title.
fn has_golden(goldens: &[(String, String)], file: &str, text: &str) -> bool {
    goldens.iter().any(|(known, title)| known == file && title.contains(text))
}

/// Returns whether a file below `crates` has a test of that name.
fn has_test(path: &str, name: &str) -> bool {
    let Ok(text) = fs::read_to_string(at("crates").join(path)) else { return false };
    if path.ends_with(".py") {
        return text.contains(&format!("\ndef {name}("));
    }
    let Some(at) = text.find(&format!("fn {name}(")) else { return false };
    // The attribute belongs to this function only if no other item ends between the two.
    let before = text[..at].trim_end();
    before.rfind("#[test]").is_some_and(|test| !before[test..].contains("\n}\n"))
}

#[test]
fn every_row_names_existing_tests() {
    // Backticks and quotation marks of a title are left out in the matrix.
    let goldens: Vec<_> =
        goldens().into_iter().map(|golden| (golden.file, golden.title.replace(['`', '"'], ""))).collect();
    let mut wrong = Vec::new();
    for row in rows() {
        let mut named = 0;
        for (reference, after) in quoted(&row.shown) {
            let found = match reference.split_once("::") {
                Some((path, name)) => has_test(path, name),
                None => {
                    let text = after.trim_start().strip_prefix('"').and_then(|text| text.split('"').next());
                    text.is_some_and(|text| has_golden(&goldens, reference, text))
                }
            };
            if !found {
                wrong.push(format!("{}: {reference}{after}", row.number));
            }
            named += 1;
        }
        if named == 0 && !row.shown.starts_with(STATEMENT) {
            wrong.push(format!("{}: shown by nothing", row.number));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_promise_of_reliability_names_existing_tests() {
    let text = fs::read_to_string(at("docs/reliability.md")).unwrap();
    let tables = text.split("| promise |").skip(1);
    let rows: Vec<&str> =
        tables.flat_map(|table| table.lines().skip(2).take_while(|line| line.starts_with("| "))).collect();
    assert!(rows.len() > 25, "{}", rows.len());
    for row in rows {
        let shown = row.strip_suffix(" |").unwrap().rsplit_once(" | ").unwrap().1;
        let named = quoted(shown);
        assert!(!named.is_empty(), "{row}");
        for (reference, _) in named {
            let found = match reference.split_once("::") {
                Some((path, name)) => has_test(path, name),
                None => fs::read_to_string(at("crates").join(reference)).is_ok_and(|text| text.contains("#[test]")),
            };
            assert!(found, "{reference}");
        }
    }
}

#[test]
fn row_numbers_are_unique() {
    let rows = rows();
    assert!(rows.len() > 150, "{}", rows.len());
    let numbers: BTreeSet<&String> = rows.iter().map(|row| &row.number).collect();
    assert_eq!(numbers.len(), rows.len());
}
