//! Makes workbooks of one sheet.

use std::io::{Cursor, Write};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const RELATIONSHIPS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

/// Returns a workbook whose sheet has these rows. A cell that reads as a number is one, and an empty cell is none.
/// `merged` are its merged cells, such as `A1:C1`.
pub(crate) fn workbook(rows: &[&[&str]], merged: &[&str]) -> Vec<u8> {
    let relation = |kind, target| {
        format!(
            "<Relationships><Relationship Id=\"r\" Type=\"{RELATIONSHIPS}/{kind}\" Target=\"{target}\"></Relationship></Relationships>"
        )
    };
    let mut sheet = String::from("<worksheet><sheetData>");
    for (row, cells) in (1..).zip(rows) {
        sheet += &format!("<row r=\"{row}\">");
        for (column, cell) in ('A'..='Z').zip(*cells).filter(|(_, cell)| !cell.is_empty()) {
            let kind = if cell.parse::<f64>().is_ok() { "n" } else { "str" };
            sheet += &format!("<c r=\"{column}{row}\" t=\"{kind}\"><v>{cell}</v></c>");
        }
        sheet += "</row>";
    }
    sheet += "</sheetData>";
    if !merged.is_empty() {
        let cells: String = merged.iter().map(|cells| format!("<mergeCell ref=\"{cells}\"></mergeCell>")).collect();
        sheet += &format!("<mergeCells>{cells}</mergeCells>");
    }
    sheet += "</worksheet>";
    let workbook = format!(
        "<workbook xmlns:r=\"{RELATIONSHIPS}\"><sheets><sheet name=\"S\" sheetId=\"1\" r:id=\"r\"></sheet></sheets></workbook>"
    );
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, part) in [
        ("_rels/.rels", relation("officeDocument", "xl/workbook.xml")),
        ("xl/_rels/workbook.xml.rels", relation("worksheet", "sheet.xml")),
        ("xl/workbook.xml", workbook),
        ("xl/sheet.xml", sheet),
        ("xl/sharedStrings.xml", "<sst></sst>".to_owned()),
        ("xl/styles.xml", "<styleSheet></styleSheet>".to_owned()),
    ] {
        archive.start_file(name, SimpleFileOptions::default()).unwrap();
        archive.write_all(part.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}
