//! What every format of inputs must do. A new format needs a writer of tables and the places of its rows, both here.

use crate::dataset::{Case, HEADER, TestTable, random_events, write_csv, write_ndjson, write_parquet};
use serde_json::Value;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use trueup_ingest::{FORMATS, FileFormat, Ingest, Source};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// The rows of a row group of Parquet.
const GROUP_ROWS: usize = 40;

/// Writes a table in a format.
fn write(format: FileFormat, table: TestTable<'_>, path: &Path) {
    match format.name {
        "csv" => write_csv(table, path),
        "ndjson" => write_ndjson(table, path),
        "parquet" => write_parquet(table, GROUP_ROWS, path),
        "xlsx" => write_xlsx(table, path),
        other => unreachable!("add a writer of {other} here"),
    }
}

/// Returns the place of a row, which is counted from 0, as a message names it.
fn place(format: FileFormat, row: usize) -> String {
    match format.name {
        "csv" => format!("line {}", row + 2),
        "ndjson" => format!("line {}", row + 1),
        "parquet" => format!("row group {}, row {} (both counted from 0)", row / GROUP_ROWS, row % GROUP_ROWS),
        // As the spreadsheet shows it, below the header.
        "xlsx" => format!("row {}", row + 2),
        other => unreachable!("add here how a message names a row of {other}"),
    }
}

fn write_xlsx((header, rows): TestTable<'_>, path: &Path) {
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
    let cell = |text: &str| match text {
        "" => "<c/>".to_owned(),
        text => format!("<c t=\"str\"><v>{}</v></c>", escaped(text)),
    };
    let row = |cells: &mut dyn Iterator<Item = &str>| format!("<row>{}</row>", cells.map(cell).collect::<String>());
    let mut sheet = row(&mut header.iter().copied());
    sheet.extend(rows.iter().map(|cells| row(&mut cells.iter().map(String::as_str))));
    let office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let relation = |kind: &str, target: &str| {
        let one = format!("<Relationship Id=\"r\" Type=\"{office}/{kind}\" Target=\"{target}\"></Relationship>");
        format!("<Relationships>{one}</Relationships>")
    };
    let sheets = "<sheets><sheet name=\"S\" sheetId=\"1\" r:id=\"r\"></sheet></sheets>";
    let mut archive = ZipWriter::new(File::create(path).unwrap());
    for (name, content) in [
        ("_rels/.rels", relation("officeDocument", "xl/workbook.xml")),
        ("xl/_rels/workbook.xml.rels", relation("worksheet", "sheet.xml")),
        ("xl/workbook.xml", format!("<workbook xmlns:r=\"{office}\">{sheets}</workbook>")),
        ("xl/sheet.xml", format!("<worksheet><sheetData>{sheet}</sheetData></worksheet>")),
    ] {
        archive.start_file(name, SimpleFileOptions::default()).unwrap();
        archive.write_all(content.as_bytes()).unwrap();
    }
    archive.finish().unwrap();
}

/// Returns rows of which every event id is unique, because the order of the inputs decides between rows with the same
/// id, and some texts that formats write in their own ways.
fn sound_rows() -> Vec<Vec<String>> {
    let mut rows = random_events(600, 7);
    for (at, row) in rows.iter_mut().enumerate() {
        row[4] = if at % 3 == 0 { String::new() } else { format!("e{at}") };
    }
    for (row, text) in
        rows.iter_mut().zip(["a,b;c\td", "say \"no\"", "two  blanks", "Zürich 😀", "{[<&>]}", "1e3", "null"])
    {
        row[6] = text.to_owned();
    }
    rows
}

/// Returns what an ingest of events stores: the rows, and the checksum of their file.
fn stored(ingest: impl FnOnce(&Case) -> Ingest) -> (Vec<String>, String) {
    let case = Case::new();
    // The rows have commas in CSV, whatever the ending of the file.
    ingest(&case).delimiter(',').run().unwrap();
    (case.stored_events(), case.manifest().events[0].blake3.clone())
}

/// Checks that an ingest is refused, and leaves nothing behind. Returns the message without the path of the folder.
fn refused(case: &Case, ingest: Ingest) -> String {
    let error = ingest.run().unwrap_err();
    assert!(error.is_data() && !case.dataset().exists(), "{error}");
    error.to_string().replace(case.path("").to_str().unwrap(), "")
}

/// The conformance suite.
fn conforms(format: FileFormat) {
    println!("{}", format.name);
    takes_the_same_rows(format);
    names_the_place_of_a_faulty_row(format);
    keeps_limits(format);
    refuses_other_content(format);
}

/// However a file is given and split, the same rows become the same dataset as from CSV.
fn takes_the_same_rows(format: FileFormat) {
    let rows = sound_rows();
    let write = |case: &Case, name: &str, format: FileFormat| {
        let path = case.path(name);
        write(format, (&HEADER, &rows), &path);
        path
    };
    let expected = stored(|case| case.ingest().events(write(case, "a.csv", FileFormat::CSV)));
    for ending in format.endings {
        let named = stored(|case| case.ingest().events(write(case, &format!("a.{ending}"), format)));
        assert_eq!(named, expected, "{ending}");
    }
    let given = stored(|case| case.ingest().format(format).events(write(case, "a", format)));
    assert_eq!(given, expected);
    let reader =
        stored(|case| case.ingest().events(Source::reader(format, File::open(write(case, "a", format)).unwrap())));
    assert_eq!(reader, expected);
    let split = stored(|case| {
        case.ingest().format(format).events(write(case, "a", format)).batch_rows(17).threads(2).memory(1 << 20)
    });
    assert_eq!(split, expected);

    let mapped = |format: FileFormat| {
        stored(|case| {
            let columns: String = HEADER[..6].iter().map(|name| format!("{name} = \"{name}\"\n")).collect();
            let text = format!(
                "[input.a]\nfile = \"a\"\nformat = \"{}\"\n[[events]]\nfrom = \"a\"\nkeep = [\"campaign\", \"zip\"]\n\
                 [events.columns]\n{columns}",
                format.name
            );
            case.ingest().mapping(case.file("mapping.toml", text)).events(write(case, "a", format))
        })
    };
    assert_eq!(mapped(format), mapped(FileFormat::CSV));
}

/// The columns of the tables with a faulty row.
const NOTED: [&str; 6] = ["account", "opportunityId", "type", "date", "total", "note"];

/// The faulty row, which lies in the second row group of Parquet.
const FAULTY: usize = GROUP_ROWS + 3;

/// Returns a table whose row [`FAULTY`] has another value in a column.
fn with_value(column: usize, value: &str) -> Vec<Vec<String>> {
    let row =
        |id: usize| vec!["a".to_owned(), id.to_string(), "sold".to_owned(), "2025-01-01".to_owned(), "1.5".to_owned()];
    let mut rows: Vec<Vec<String>> = (0..FAULTY + 7).map(|id| [row(id), vec!["n".to_owned()]].concat()).collect();
    value.clone_into(&mut rows[FAULTY][column]);
    rows
}

fn names_the_place_of_a_faulty_row(format: FileFormat) {
    let long = "n".repeat(1_001);
    let too_long = "expected a text of at most 1000 bytes, but found one of 1001; `--max-text` raises the limit";
    for (column, value, reason) in [
        (0, "", "expected a value"),
        (2, "won", "expected a stage"),
        (3, "2025-02-30", "expected a date"),
        (4, "$1,200.00", "expected an amount as a plain decimal number, such as `1234.5`, but found `$1,200.00`"),
        (5, long.as_str(), too_long),
    ] {
        let case = Case::new();
        let path = case.path("a");
        let rows = with_value(column, value);
        write(format, (&NOTED, &rows), &path);
        let ingest = || case.ingest().format(format).max_text_bytes(1_000).events(&path);
        let message = refused(&case, ingest());
        let expected = format!("`a`, {}, column `{}`: {reason}", place(format, FAULTY), NOTED[column]);
        assert!(message.starts_with(&expected), "{message}");
        let rejects = case.path("rejects.ndjson");
        let summary = ingest().rejects(&rejects).run().unwrap();
        assert_eq!((summary.events.taken, summary.events.rejected), (rows.len() as u64 - 1, 1));
        let rejected: Value = serde_json::from_str(&fs::read_to_string(rejects).unwrap()).unwrap();
        assert!(rejected["reason"].as_str().unwrap().starts_with(reason), "{rejected}");
        // A long text is shortened.
        let cells = NOTED.iter().zip(&rows[FAULTY]).filter(|(_, cell)| !cell.is_empty());
        for (name, cell) in cells {
            assert_eq!(rejected["row"][name].as_str().unwrap(), &cell[..cell.len().min(200)], "{rejected}");
        }
    }
}

/// The largest number of columns, and the longest name of one.
fn keeps_limits(format: FileFormat) {
    let names: Vec<String> = (4..2_001).map(|column| format!("column-{column}")).collect();
    let wide: Vec<&str> = NOTED[..4].iter().copied().chain(names.iter().map(String::as_str)).collect();
    let named = "x".repeat(1_025);
    let long: Vec<&str> = NOTED[..4].iter().copied().chain([named.as_str()]).collect();
    let case = Case::new();
    let file = |name: &str, header: &[&str]| {
        let mut row = ["a", "1", "sold", "2025-01-01"].map(str::to_owned).to_vec();
        row.resize(header.len(), "x".to_owned());
        write(format, (header, &[row]), &case.path(name));
        case.ingest().format(format).events(case.path(name))
    };
    let many = refused(&case, file("wide", &wide));
    let advice = "leave some out, or raise `--max-columns`";
    let expected = ["has 2001 columns, but at most 2000 are allowed", "has more than 2000 columns"];
    assert!(expected.iter().any(|count| many == format!("`wide`: the file {count}; {advice}")), "{many}");
    let message = refused(&case, file("long", &long));
    assert!(message.ends_with("has 1025 bytes, but at most 1024 are allowed; rename it"), "{message}");
    for ingest in [file("1", &wide).max_columns(2_001), file("2", &wide[..2_000]), file("3", &wide).ignore("column-7")]
    {
        assert_eq!(ingest.again(true).run().unwrap().events.taken, 1);
    }
}

/// A file without bytes, one that is cut short, and one in another format.
fn refuses_other_content(format: FileFormat) {
    let rows = with_value(5, "other");
    for other in FORMATS.iter().copied().filter(|other| *other != format) {
        let case = Case::new();
        write(other, (&NOTED, &rows), &case.path("a"));
        refused(&case, case.ingest().format(format).events(case.path("a")));
    }
    let case = Case::new();
    assert_eq!(refused(&case, case.ingest().format(format).events(case.file("a", ""))), "`a`: the file is empty");
    write(format, (&NOTED, &rows), &case.path("a"));
    let whole = fs::read(case.path("a")).unwrap();
    for length in (1..whole.len()).step_by(whole.len() / 30) {
        let case = Case::new();
        let path = case.file("a", &whole[..length]);
        // A text may end anywhere.
        if let Err(error) = case.ingest().format(format).events(path).run() {
            assert!(error.is_data(), "{length} bytes: {error}");
        }
    }
}

#[test]
fn every_format_conforms() {
    FORMATS.iter().copied().for_each(conforms);
}

#[test]
fn the_order_of_inputs_in_any_format_does_not_change_the_files() {
    let rows = sound_rows();
    let parts: Vec<&[Vec<String>]> = rows.chunks(150).collect();
    let write = |case: &Case, format: FileFormat, part: usize, name: &str| {
        write(format, (&HEADER, parts[part]), &case.path(name));
        case.path(name)
    };
    let expected = stored(|case| {
        write_csv((&HEADER, &rows), &case.path("a.csv"));
        case.ingest().events(case.path("a.csv"))
    });
    let case = Case::new();
    // Two of the files do not say their formats.
    let files = [
        write(&case, FileFormat::PARQUET, 3, "3.parquet"),
        write(&case, FileFormat::CSV, 0, "0"),
        write(&case, FileFormat::XLSX, 2, "2"),
        write(&case, FileFormat::NDJSON, 1, "1.jsonl"),
    ];
    files.into_iter().fold(case.ingest(), Ingest::events).batch_rows(17).threads(2).run().unwrap();
    assert_eq!((case.stored_events(), case.manifest().events[0].blake3.clone()), expected);

    // The files of a dataset are inputs too.
    let file = case.dataset().join(&case.manifest().events[0].path);
    assert_eq!(stored(|copy| copy.ingest().events(file)), expected);
}
