//! XLSX files that would take far more memory than their size, and sheets that contradict themselves.

use crate::hostile::{MAX_PEAK, ingest_in_process};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use tempfile::TempDir;
use trueup_ingest::Ingest;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const RELATIONSHIPS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

/// A part: its beginning, a text that follows it, how often this text is repeated, and the end of the part.
struct Part<'a>(&'a str, &'a str, usize, &'a str);

/// The parts of a workbook that matter here.
struct Workbook<'a> {
    sheet: Part<'a>,
    texts: Part<'a>,
    styles: Part<'a>,
    /// The number of parts without content.
    empty_parts: usize,
    method: CompressionMethod,
}

const HEADER: &str = "<worksheet><sheetData><row r=\"1\"><c t=\"str\"><v>account</v></c><c t=\"str\"><v>opportunityId</v></c>\
     <c t=\"str\"><v>type</v></c><c t=\"str\"><v>date</v></c></row>";
const EVENT: &str = "<row r=\"2\"><c t=\"str\"><v>a</v></c><c t=\"str\"><v>1</v></c><c t=\"str\"><v>sold</v></c>\
     <c t=\"str\"><v>2025-01-01</v></c></row>";
const END: &str = "</sheetData></worksheet>";

impl Default for Workbook<'_> {
    fn default() -> Self {
        Self {
            sheet: Part(HEADER, EVENT, 1, END),
            texts: Part("<sst>", "", 0, "</sst>"),
            styles: Part("<styleSheet>", "", 0, "</styleSheet>"),
            empty_parts: 0,
            method: CompressionMethod::Stored,
        }
    }
}

impl Workbook<'_> {
    fn write(&self, path: &Path) {
        let relation = |kind, target| {
            format!("<Relationship Id=\"r\" Type=\"{RELATIONSHIPS}/{kind}\" Target=\"{target}\"></Relationship>")
        };
        let relations = |one: String| format!("<Relationships>{one}</Relationships>");
        let mut archive = ZipWriter::new(File::create(path).unwrap());
        let mut add = |name: &str, Part(begin, middle, count, end): &Part<'_>| {
            archive.start_file(name, SimpleFileOptions::default().compression_method(self.method)).unwrap();
            archive.write_all(begin.as_bytes()).unwrap();
            let (many, rest) = (middle.repeat(1_000.min(*count)), middle.repeat(count % 1_000));
            (0..count / 1_000).for_each(|_| archive.write_all(many.as_bytes()).unwrap());
            archive.write_all(if *count < 1_000 { &many } else { &rest }.as_bytes()).unwrap();
            archive.write_all(end.as_bytes()).unwrap();
        };
        let package = relations(relation("officeDocument", "xl/workbook.xml"));
        let workbook = format!(
            "<workbook xmlns:r=\"{RELATIONSHIPS}\"><sheets><sheet name=\"S\" sheetId=\"1\" r:id=\"r\"></sheet></sheets></workbook>"
        );
        add("_rels/.rels", &Part(&package, "", 0, ""));
        add("xl/_rels/workbook.xml.rels", &Part(&relations(relation("worksheet", "sheet.xml")), "", 0, ""));
        add("xl/workbook.xml", &Part(&workbook, "", 0, ""));
        add("xl/sheet.xml", &self.sheet);
        add("xl/sharedStrings.xml", &self.texts);
        add("xl/styles.xml", &self.styles);
        (0..self.empty_parts).for_each(|at| add(&at.to_string(), &Part("", "", 0, "")));
        archive.finish().unwrap();
    }

    /// Ingests the workbook in a separate process with little memory. Returns the outcome.
    fn outcome(&self) -> String {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("events.xlsx");
        self.write(&path);
        let (output, peak) = ingest_in_process(&path);
        let mut outcomes = output.lines().filter(|line| line.starts_with("taken: ") || line.starts_with("refused: "));
        let outcome = outcomes.next().unwrap().replace(&format!("`{}`: ", path.display()), "");
        println!("{} bytes took {} MiB: {outcome}", path.metadata().unwrap().len(), peak >> 20);
        assert!(peak < MAX_PEAK, "{outcome}: {} MiB", peak >> 20);
        outcome
    }
}

fn check(workbook: &Workbook<'_>, expected: &str) {
    let outcome = workbook.outcome();
    assert!(outcome.contains(expected), "expected `{expected}`, but found `{outcome}`");
}

#[test]
fn a_sound_workbook_is_ingested() {
    check(&Workbook::default(), "taken: 1");
}

/// `count` is the number of cells that refer to a shared text, and says nothing about the number of texts.
#[test]
fn many_cells_may_refer_to_few_texts() {
    let event = EVENT.replace("<c t=\"str\"><v>a</v></c>", "<c t=\"s\"><v>0</v></c>");
    assert_ne!(event, EVENT);
    let texts = Part("<sst count=\"69470\" uniqueCount=\"1\">", "<si><t>acme</t></si>", 1, "</sst>");
    check(&Workbook { sheet: Part(HEADER, &event, 1, END), texts, ..Workbook::default() }, "taken: 1");
}

/// The reader of workbooks holds each of these as a whole.
#[test]
fn a_long_cell_tag_or_comment_of_a_sheet_is_refused() {
    let text = "a".repeat(1 << 10);
    for (begin, end) in [
        ("<row r=\"2\"><c t=\"inlineStr\"><is><t>", "</t></is></c></row>"),
        ("<!--", "-->"),
        ("<![CDATA[", "]]>"),
        ("<row a=\"", "\"></row>"),
    ] {
        let sheet = Part(&format!("{HEADER}{begin}"), &text, 40 << 10, &format!("{end}{EVENT}{END}"));
        check(
            &Workbook { sheet, ..Workbook::default() },
            "its part `xl/sheet.xml` holds a cell, a text or a tag of more",
        );
    }
    let sheet = Part(&format!("{HEADER}<row r=\"2\"><c t=\"inlineStr\"><is>"), "<r><t>b</t></r>", 3 << 20, END);
    check(&Workbook { sheet, ..Workbook::default() }, "holds a cell, a text or a tag of more than 33554432 bytes");
}

#[test]
fn a_part_that_expands_too_much_is_refused() {
    let sheet = Part(HEADER, &" ".repeat(1 << 10), 60_000, END);
    let workbook = Workbook { sheet, method: CompressionMethod::Deflated, ..Workbook::default() };
    check(&workbook, "the file unpacks to more than 1000 times its size");
}

#[test]
fn more_rows_or_cells_than_a_sheet_may_have_are_refused() {
    let rows = Part(HEADER, "<row a='some text'></row>", (1 << 20) + (1 << 19), END);
    check(&Workbook { sheet: rows, ..Workbook::default() }, "its part `xl/sheet.xml` has more than 1048576 rows");
    let cells = Part(&format!("{HEADER}<row>"), "<c r=\"A2\"></c>", 6 << 19, END);
    check(
        &Workbook { sheet: cells, ..Workbook::default() },
        "its part `xl/sheet.xml` has more than 16384 cells in a row",
    );
}

/// The reader reserves memory for the declared count, and a failure to do so would end the process.
#[test]
fn a_declared_count_of_texts_is_no_larger_than_the_part() {
    for count in ["9999999999", "99999999999999", "99999999999999999999"] {
        let texts = Part(&format!("<sst count=\"1\" uniqueCount=\"{count}\"><si><t>a</t></si>"), "", 0, "</sst>");
        let refused = format!("its part `xl/sharedstrings.xml` declares {count} texts, but has");
        check(&Workbook { texts, ..Workbook::default() }, &refused);
    }
}

#[test]
fn texts_and_styles_have_a_limit() {
    let refused = "holds more than 16 MiB of texts or styles; use a larger `--memory`, or export CSV";
    let texts = Part("<sst>", "<si><t>a</t></si>", 1 << 20, "</sst>");
    check(&Workbook { texts, ..Workbook::default() }, refused);
    // The reader copies the format into each style.
    let format = format!("<numFmts><numFmt numFmtId=\"200\" formatCode=\"{}\"/></numFmts>", "0".repeat(1 << 20));
    let begin = format!("<styleSheet>{format}<cellXfs>");
    let styles = Part(&begin, "<xf numFmtId=\"200\"/>", 20_000, "</cellXfs></styleSheet>");
    check(&Workbook { styles, ..Workbook::default() }, refused);
    let styles = Part("<styleSheet><fonts>", "<font/>", 1 << 20, "</fonts></styleSheet>");
    check(&Workbook { styles, ..Workbook::default() }, refused);
}

/// Cells may share one long text.
#[test]
fn a_row_whose_cells_share_a_long_text_is_refused() {
    let text = format!("<sst><si><t>{}</t></si>", "a".repeat(1 << 20));
    let texts = Part(&text, "", 0, "</sst>");
    let sheet =
        Part(&format!("{HEADER}<row r=\"2\">"), "<c t=\"s\"><v>0</v></c>", 16_000, "</row></sheetData></worksheet>");
    check(&Workbook { sheet, texts, ..Workbook::default() }, "row 2 of the sheet `S` has more than 4194304 bytes");
}

/// Each row has an entry in each column, even where the sheet has no cell. All rows are of one customer, whose history
/// is refused only after they have been read.
#[test]
fn rows_that_are_empty_in_many_columns_take_little_memory() {
    let columns: String = (0..1_900).map(|at| format!("<c t=\"str\"><v>c{at}</v></c>")).collect();
    let header = HEADER.replace("</row>", &format!("{columns}</row>"));
    let rows = EVENT.replace(" r=\"2\"", "").replace("<v>1</v>", "<v>1</v><!---->");
    check(
        &Workbook { sheet: Part(&header, &rows, 20_000, END), ..Workbook::default() },
        "the 20000 events of the customer `1`",
    );
}

#[test]
fn a_workbook_of_too_many_parts_is_refused() {
    check(&Workbook { empty_parts: 1 << 16, ..Workbook::default() }, "it has more than 65536 parts");
}

#[test]
fn a_cell_that_occurs_twice_is_refused() {
    let twice = EVENT.replace("<c t=\"str\"><v>sold", "<c r=\"B2\" t=\"str\"><v>2</v></c><c t=\"str\"><v>sold");
    check(&Workbook { sheet: Part(HEADER, &twice, 1, END), ..Workbook::default() }, "the cell B2 occurs twice");
    let back = format!("{}{EVENT}", EVENT.replace("r=\"2\"", "r=\"7\""));
    check(&Workbook { sheet: Part(HEADER, &back, 1, END), ..Workbook::default() }, "the cell A2 comes after row 7");
    let far = EVENT.replace("r=\"2\"", "r=\"1048577\"");
    let expected = "the cell A1048577 is below row 1048576, the last that a sheet can have";
    check(&Workbook { sheet: Part(HEADER, &far, 1, END), ..Workbook::default() }, expected);
}

#[test]
fn an_ignored_column_may_hold_errors() {
    let with = |sheet: &str, cell: &str| sheet.replace("</row>", &format!("{cell}</row>"));
    let header = with(HEADER, "<c t=\"str\"><v>note</v></c>");
    let event = with(EVENT, "<c t=\"e\"><v>#N/A</v></c>");
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("events.xlsx");
    Workbook { sheet: Part(&header, &event, 1, END), ..Workbook::default() }.write(&path);
    let ingest = || Ingest::into(dir.path().join("dataset")).events(&path);
    let error = ingest().run().unwrap_err().to_string();
    assert!(error.contains("the cell E2 of the sheet `S` holds the error `#N/A`"), "{error}");
    assert_eq!(ingest().ignore("note").run().unwrap().events.taken, 1);
}

#[test]
fn a_formula_without_a_saved_value_is_refused() {
    let with = |sheet: &str, cell: &str| sheet.replace("</row>", &format!("{cell}</row>"));
    let header = with(HEADER, "<c t=\"str\"><v>total</v></c>");
    let ingested = |header: &str, cell: &str, ignored: Option<&str>| {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("events.xlsx");
        Workbook { sheet: Part(header, &with(EVENT, cell), 1, END), ..Workbook::default() }.write(&path);
        let ingest = Ingest::into(dir.path().join("dataset")).events(&path);
        let ingest = ignored.into_iter().fold(ingest, Ingest::ignore);
        ingest.run().map(|summary| summary.events.taken).map_err(|error| error.to_string())
    };
    let shared = "<c><f t=\"shared\" si=\"0\"></f></c>";
    for cell in ["<c><f>1+1</f></c>", "<c><f>1+1</f><v></v></c>", "<c t=\"n\"><f>1+1</f><v/></c>", shared] {
        let error = ingested(&header, cell, None).unwrap_err();
        let expected = "column `total`: expected a formula with a saved value, but the cell E2 of the sheet `S` has none; open \
                        the file in a spreadsheet program and save it";
        assert!(error.contains(expected), "{cell}: {error}");
        // Without a column, too, but not of a column that is not read.
        assert!(ingested(HEADER, cell, None).unwrap_err().contains("the cell E2 of the sheet `S` has none"), "{cell}");
        assert_eq!(ingested(&header, cell, Some("total")), Ok(1), "{cell}");
    }
    // A saved value may be an empty text.
    for cell in ["<c><f>1+1</f><v>2</v></c>", "<c t=\"str\"><f>\"\"</f><v></v></c>", "<c></c>"] {
        assert_eq!(ingested(&header, cell, None), Ok(1), "{cell}");
    }
    let header = with(HEADER, "<c><f>A1</f></c>");
    assert!(ingested(&header, "", None).unwrap_err().contains("column 5"));
}

#[test]
fn a_rejected_row_of_a_sheet_has_the_beginning_of_a_long_text() {
    let with = |sheet: &str, cells: &str| sheet.replace("</row>", &format!("{cells}</row>"));
    let (dir, long) = (TempDir::new().unwrap(), "x".repeat(300));
    let (path, rejects) = (dir.path().join("events.xlsx"), dir.path().join("rejects.ndjson"));
    let header = with(HEADER, "<c t=\"str\"><v>note</v></c><c t=\"str\"><v>error</v></c>");
    let faulty = format!("<c t=\"str\"><v>{long}</v></c><c t=\"e\"><v>#N/A</v></c>");
    let rows = format!("{EVENT}{}", with(&EVENT.replace("r=\"2\"", "r=\"3\""), &faulty));
    Workbook { sheet: Part(&header, &rows, 1, END), ..Workbook::default() }.write(&path);
    let ingest = Ingest::into(dir.path().join("dataset")).events(&path).max_text_bytes(250).rejects(&rejects);
    assert_eq!(ingest.run().unwrap().events.rejected, 1);
    let row: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&rejects).unwrap()).unwrap();
    assert_eq!(row["row"]["note"], long[..200]);
}
