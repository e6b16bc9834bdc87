//! Compression, separators and encodings of text files, JSON arrays, insights, and the sheets of a workbook.

use crate::case::{Case, EVENTS, accepted, foreign, no_options, refusal};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs;
use std::io::Write;
use trueup_core::dataset::manifest_file;
use trueup_ingest::{Ingest, TextEncoding};

fn delimiter(char: char) -> impl FnOnce(Ingest) -> Ingest {
    move |ingest| ingest.delimiter(char)
}

fn encoding(name: &str) -> impl FnOnce(Ingest) -> Ingest {
    let encoding: TextEncoding = name.parse().unwrap();
    move |ingest| ingest.encoding(encoding)
}

#[test]
fn compressed_files_are_unpacked() {
    for format in ["csv", "ndjson"] {
        for ending in ["gz", "zst", "bz2"] {
            accepted(&format!("events.{format}.{ending}"), no_options);
        }
    }
    accepted("two-members.csv.gz", no_options);
}

#[test]
fn compression_is_detected_without_the_ending() {
    for ending in ["gz", "zst", "bz2"] {
        let case = Case::new();
        let path = case.dir.path().join("events");
        fs::copy(foreign(&format!("events.csv.{ending}")), &path).unwrap();
        case.ingest().events(path).run().unwrap();
        assert_eq!(case.stored_events(), EVENTS);
    }
}

#[test]
fn compressed_files_that_cannot_be_unpacked_are_refused() {
    assert_eq!(
        refusal("not-compressed.csv.gz", no_options),
        "`not-compressed.csv.gz`: the file's name says that it is compressed with gzip, but its first bytes say otherwise; \
         rename it"
    );
    assert_eq!(
        refusal("events.zip", no_options),
        "`events.zip`: this is a ZIP archive without a workbook in it; unpack it, and give the files in it"
    );
    let cut = refusal("cut-short.csv.gz", no_options);
    assert!(
        cut.starts_with("`cut-short.csv.gz`: the file cannot be unpacked with gzip; it is damaged or cut short: "),
        "{cut}"
    );
    assert_eq!(
        refusal("bomb.csv.zst", no_options),
        "`bomb.csv.zst`: the file unpacks to more than 1000 times its size, which data rarely does; if it is sound, unpack it \
         first"
    );
}

#[test]
fn every_cut_of_a_compressed_file_is_refused() {
    for ending in ["gz", "zst", "bz2"] {
        let whole = fs::read(foreign(&format!("events.csv.{ending}"))).unwrap();
        for length in 0..whole.len() {
            let case = Case::new();
            let path = case.dir.path().join(format!("events.csv.{ending}"));
            fs::write(&path, &whole[..length]).unwrap();
            let error = case.ingest().events(path).run().unwrap_err();
            assert!(error.is_data(), "{ending} {length}: {error}");
        }
    }
}

#[test]
fn json_arrays_are_read() {
    for name in ["list.json", "list-on-many-lines.json", "list.json.gz", "lines.json"] {
        accepted(name, no_options);
    }
}

#[test]
fn broken_json_arrays_are_refused() {
    for (name, expected) in [
        ("cut-short.json", "element 3 of the JSON array: the array has no end; the file is cut short"),
        ("comma-at-the-end.json", "element 4 of the JSON array: an element is missing after a comma"),
        ("two-lists.json", "element 3 of the JSON array: there is text after the end of the array"),
    ] {
        assert_eq!(refusal(name, no_options), format!("`{name}`: {expected}"));
    }
    let refused = refusal("not-an-object.json", no_options);
    assert!(refused.starts_with("`not-an-object.json`, row 4: expected a JSON object"), "{refused}");
}

#[test]
fn every_cut_of_a_json_array_is_refused() {
    let whole = fs::read(foreign("list-on-many-lines.json")).unwrap();
    let end = whole.trim_ascii_end().len();
    for length in 0..end {
        let case = Case::new();
        let path = case.dir.path().join("events.json");
        fs::write(&path, &whole[..length]).unwrap();
        assert!(case.ingest().events(path).run().unwrap_err().is_data(), "{length}");
    }
}

#[test]
fn any_separator_can_be_given() {
    accepted("tab.tsv", no_options);
    accepted("tab.txt", delimiter('\t'));
    accepted("semicolon.csv", delimiter(';'));
    accepted("bar.csv", delimiter('|'));
}

#[test]
fn a_header_of_one_column_counts_the_separators() {
    assert_eq!(
        refusal("semicolon.csv", no_options),
        "`semicolon.csv`: the header has one column: there is no `,` in it, but 6 `;`, 0 tab, 0 `|`; if that separates the \
         columns, say `--delimiter ';'`"
    );
    assert_eq!(
        refusal("tab.txt", no_options),
        "`tab.txt`: the header has one column: there is no `,` in it, but 0 `;`, 6 tab, 0 `|`; if that separates the columns, \
         say `--delimiter '\\t'`"
    );
    let missing = refusal("bar.csv", delimiter(','));
    assert!(
        missing.starts_with("`bar.csv`: expected the columns `account`, `opportunityId`, `type` and `date`"),
        "{missing}"
    );
    assert_eq!(
        refusal("bar.csv", delimiter('é')),
        "`\\u{e9}` cannot separate columns; use an ASCII character that is neither a quote nor a line end"
    );
}

#[test]
fn texts_of_other_encodings_are_read() {
    accepted("utf-8-mark.csv", no_options);
    accepted("utf-8-mark.csv", encoding("utf-8"));
    accepted("windows-1252.csv", encoding("latin1"));
    accepted("windows-1252.csv", encoding("Windows-1252"));
    accepted("utf-16le.csv", encoding("utf-16"));
    accepted("utf-16be.csv", encoding("utf-16be"));
    for options in ["utf16", "utf-8", "latin1"] {
        accepted("utf-16-mark.csv", encoding(options));
    }
    accepted("utf-16-mark.csv", no_options);
}

#[test]
fn a_text_that_is_not_utf8_names_its_likely_encoding() {
    assert_eq!(
        refusal("windows-1252.csv", no_options),
        "`windows-1252.csv`: line 2: the text is not UTF-8 at byte offset 90 (0xFC); it looks like windows-1252: if it is, say \
         `--encoding windows-1252`"
    );
    for (name, likely) in [("utf-16le.csv", "UTF-16LE"), ("utf-16be.csv", "UTF-16BE")] {
        assert_eq!(
            refusal(name, no_options),
            format!(
                "`{name}`: the text is not UTF-8 from byte offset 0 on; it looks like {likely}: if it is, say `--encoding \
                 {likely}`"
            )
        );
    }
    assert_eq!(
        refusal("windows-1252.csv", encoding("shift_jis")),
        "`windows-1252.csv`: the text is not Shift_JIS at byte offset 90; is `--encoding` right?"
    );
    // A byte order mark has precedence over the option.
    let marked = insights("i.ndjson", b"\xef\xbb\xbf{\xff}\n", encoding("latin1")).unwrap_err();
    assert!(marked.ends_with("`: the text is not UTF-8 at byte offset 4; is `--encoding` right?"), "{marked}");
}

#[test]
fn long_texts_of_other_encodings_keep_every_byte() {
    // Longer than what is decoded at a time, so that characters are cut everywhere.
    let text: String = (0..40_000).map(|at| format!("acme,{at},sold,2025-02-03,é{at}😀\n")).collect();
    let text = format!("account,opportunityId,type,date,note\n{text}");
    let units = text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let (one, other) = (Case::new(), Case::new());
    for (case, bytes, name) in [(&one, text.into_bytes(), "utf-8"), (&other, units, "utf-16")] {
        let path = case.dir.path().join("events.csv");
        fs::write(&path, bytes).unwrap();
        encoding(name)(case.ingest().events(path)).run().unwrap();
    }
    assert_eq!(one.stored_events(), other.stored_events());
}

const DOCUMENT: &str = "{\"account\": \"acme\", \"date\": \"2025-02-03\", \"insight\": {\"city\": \"Zürich\"}}\n";

/// Ingests a file of insights, and returns the stored documents, or why the file is refused.
fn insights(name: &str, bytes: &[u8], options: impl FnOnce(Ingest) -> Ingest) -> Result<String, String> {
    let case = Case::new();
    let path = case.dir.path().join(name);
    fs::write(&path, bytes).unwrap();
    options(case.ingest().insights(&path)).run().map_err(|error| error.to_string())?;
    let dataset = case.dir.path().join("dataset");
    let manifest = manifest_file::read_latest(&dataset).unwrap().unwrap();
    assert!(
        fs::read_dir(&dataset)
            .unwrap()
            .all(|entry| { !entry.unwrap().file_name().to_string_lossy().contains("pending") })
    );
    Ok(fs::read_to_string(dataset.join(&manifest.named("insights").unwrap().path)).unwrap())
}

#[test]
fn insights_are_read_as_other_texts() {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(DOCUMENT.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let utf16: Vec<u8> = DOCUMENT.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let latin1: Vec<u8> = DOCUMENT.chars().map(|char| u8::try_from(char).unwrap()).collect();
    let stored = Ok(DOCUMENT.to_owned());
    assert_eq!(insights("i.ndjson", DOCUMENT.as_bytes(), no_options), stored);
    assert_eq!(insights("i.ndjson", format!("\u{feff}{DOCUMENT}").as_bytes(), no_options), stored);
    assert_eq!(insights("i.ndjson.gz", &packed, no_options), stored);
    assert_eq!(insights("i", &packed, no_options), stored);
    assert_eq!(insights("i.ndjson", &utf16, encoding("utf-16le")), stored);
    assert_eq!(insights("i.ndjson", &latin1, encoding("latin1")), stored);
    for (name, bytes, expected) in [
        ("i.ndjson.gz", DOCUMENT.as_bytes(), "gzip"),
        ("i.ndjson.gz", &packed[..packed.len() - 9], "cut short"),
        ("i.ndjson", &utf16, "--encoding UTF-16LE"),
        ("i.ndjson", &latin1, "--encoding"),
    ] {
        let refusal = insights(name, bytes, no_options).unwrap_err();
        assert!(refusal.contains(name) && refusal.contains(expected), "{refusal}");
    }
}

#[test]
fn the_sheet_of_a_workbook_is_chosen() {
    let sheet = |name: &'static str| move |ingest: Ingest| ingest.sheet(name);
    for options in [None, Some("Jobs")] {
        let case = Case::new();
        let ingest = case.ingest().events(foreign("events.xlsx"));
        options.into_iter().fold(ingest, Ingest::sheet).run().unwrap();
        assert_eq!(case.stored_events().len(), 3);
    }
    let other = refusal("events.xlsx", sheet("Notes"));
    assert!(other.contains("but found `text`"), "{other}");
    assert_eq!(
        refusal("events.xlsx", sheet("notes")),
        "`events.xlsx`: the workbook has no sheet `notes`; its sheets are `Jobs`, `Notes`"
    );
}
