//! The format of a file: as it is given, as the file's name says, or as the first bytes show.

use super::encoding::UTF8_MARK;
use super::input::{FileFormat, InputFormat};
use super::json_array;
use crate::error::InputFault;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use trueup_core::files::OpenFile;
use trueup_core::formats::Format;

/// The first bytes of every Parquet file.
const PARQUET_MAGIC: &[u8] = b"PAR1";

/// The first bytes of every ZIP archive, which an XLSX file is.
const ZIP_MAGIC: &[u8] = b"PK\x03\x04";

/// The first bytes of Excel files before XLSX.
const OLD_EXCEL_MAGIC: &[u8] = b"\xd0\xcf\x11\xe0";

/// The kinds of files that are no tables, each with its first bytes.
const OTHER_FILES: [(&[u8], &str); 9] = [
    (b"%PDF-", "a PDF file"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
    (b"Rar!", "a RAR archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"SQLite format 3\0", "a SQLite database"),
    (b"{\\rtf", "an RTF document"),
    (b"<?xml", "an XML file"),
];

/// The tags with which web pages begin, in lower case.
const PAGE_TAGS: [&[u8]; 2] = [b"<!doctype html", b"<html"];

/// Returns what a file is if it is no table.
fn other_file(begin: &[u8]) -> Option<&'static str> {
    let text = begin.strip_prefix(UTF8_MARK).unwrap_or(begin).trim_ascii_start();
    let is_tag = |tag: &&[u8]| text.get(..tag.len()).is_some_and(|first| first.eq_ignore_ascii_case(tag));
    if PAGE_TAGS.iter().any(is_tag) {
        return Some("a web page");
    }
    OTHER_FILES.iter().find(|(magic, _)| text.starts_with(magic)).map(|(_, what)| *what)
}

/// Reads the first bytes of a file, and leaves the file at its beginning.
pub(super) fn read_begin(file: &mut OpenFile) -> io::Result<Vec<u8>> {
    let mut begin = Vec::new();
    file.by_ref().take(64).read_to_end(&mut begin)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(begin)
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TextFormat {
    Csv,
    Ndjson,
    JsonArray,
}

/// Returns the format in which a file is read, as its name says it; `None` if the name says none, or one that is not
/// read. `name` is without an ending that says how the file is compressed.
pub(crate) fn named_format(name: &Path) -> Option<FileFormat> {
    match Format::from_name(name)? {
        Format::Csv | Format::Tsv | Format::Text => Some(FileFormat::Csv),
        Format::Json | Format::Ndjson => Some(FileFormat::Ndjson),
        Format::Parquet => Some(FileFormat::Parquet),
        Format::Xlsx => Some(FileFormat::Xlsx),
        Format::Arrow | Format::Html | Format::Markdown => None,
    }
}

/// Returns whether a file's name says the format in which it is read, see [`named_format`].
pub(crate) fn is_known_name(name: &Path) -> bool {
    named_format(name).is_some()
}

/// Returns the format of a file that is no text, as its first bytes show it; `None` for a text.
///
/// # Errors
/// The file is empty, is in no format that is read, or is called or given as another format.
pub(super) fn binary_format(
    name: &Path,
    given: Option<InputFormat>,
    begin: &[u8],
) -> Result<Option<InputFormat>, InputFault> {
    let wanted = given.or_else(|| named_format(name).map(InputFormat::from));
    let found = match begin {
        [] => return Err(InputFault::Empty),
        _ if begin.starts_with(OLD_EXCEL_MAGIC) => return Err(InputFault::OldExcel),
        _ if begin.starts_with(PARQUET_MAGIC) => Some(InputFormat::Parquet),
        _ if begin.starts_with(ZIP_MAGIC) => Some(InputFormat::Xlsx),
        _ => match other_file(begin) {
            Some(what) => return Err(InputFault::NoTable { what }),
            None => None,
        },
    };
    match (found, wanted) {
        (None, _) => Ok(None),
        (_, None) => Ok(found),
        (_, Some(_)) if found == wanted => Ok(found),
        (_, Some(InputFormat::Parquet)) => Err(InputFault::NotParquet),
        (_, Some(InputFormat::Xlsx)) => Err(InputFault::NotXlsx),
        (Some(InputFormat::Parquet), _) => Err(InputFault::IsParquet),
        _ => Err(InputFault::IsZip),
    }
}

/// Returns the format of a text: the one given, or the one that the ending of the file's name says, or else the one
/// that its beginning shows. NDJSON that begins as an array of objects is a JSON array.
///
/// # Errors
/// The text is empty, is a Parquet file or a ZIP archive that was compressed, or should be Parquet or XLSX.
pub(super) fn text_format(name: &Path, given: Option<InputFormat>, begin: &[u8]) -> Result<TextFormat, InputFault> {
    if begin.is_empty() {
        return Err(InputFault::Empty);
    }
    if begin.starts_with(PARQUET_MAGIC) || begin.starts_with(ZIP_MAGIC) {
        return Err(InputFault::CompressedBinary);
    }
    match given.or_else(|| named_format(name).map(InputFormat::from)) {
        Some(InputFormat::Parquet) => Err(InputFault::NotParquet),
        Some(InputFormat::Xlsx) => Err(InputFault::NotXlsx),
        Some(InputFormat::Ndjson) | None if json_array::begins(begin) => Ok(TextFormat::JsonArray),
        Some(InputFormat::Ndjson) => Ok(TextFormat::Ndjson),
        None if begin.trim_ascii_start().starts_with(b"{") => Ok(TextFormat::Ndjson),
        _ => Ok(TextFormat::Csv),
    }
}
