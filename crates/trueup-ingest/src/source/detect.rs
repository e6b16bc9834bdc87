//! Opens a file in its format: the one that is given, that the file's name says, or that the first bytes show.

use super::chunk::FormatReader;
use super::compression::detect_compression;
use super::decoded::ReadLimits;
use super::encoding::UTF8_MARK;
use super::formats::{Binary, Content, FORMATS, FileFormat};
use super::input::Input;
use super::text_input;
use crate::IngestError;
use crate::error::{ErrorContext, FileFault, OPEN};
use std::io::{self, Read, Seek, SeekFrom};
use trueup_core::files::{Files, OpenFile};

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

/// Opens an input, and returns its format and its reader.
///
/// # Errors
/// The file cannot be read, is empty, is in no format that is read, is called or given as another format than its first
/// bytes show, or its format refuses it.
pub(super) fn open(
    files: &Files,
    input: &Input,
    limits: ReadLimits,
) -> Result<(FileFormat, FormatReader), IngestError> {
    let (path, options) = (&input.path, &input.options);
    let wanted = options.format.or_else(|| FileFormat::from_name(&input.shown));
    if let Some(format) = wanted
        && let Content::Produced(open) = format.content
    {
        return Ok((format, open(files, input, limits)?));
    }
    let of_input = |fault: FileFault| fault.at(&input.shown);
    let mut file = files.open(path).at(OPEN, path)?;
    let begin = read_begin(&mut file).at(OPEN, path)?;
    if let Some((format, binary)) = binary_format(&begin).map_err(of_input)? {
        check_wanted(wanted, format, binary).map_err(of_input)?;
        let reader = (binary.open)(file, input, limits).map_err(|fault| fault.at("read", input))?;
        return Ok((format, reader));
    }
    let compression = detect_compression(&input.shown, &begin).map_err(of_input)?;
    let text = text_input::open(file, compression, options.encoding).map_err(|fault| fault.at(OPEN, input))?;
    let format = text_format(wanted, &text.begin).map_err(of_input)?;
    let reader = match format.content {
        Content::Text { open, .. } => open(text, input, limits).map_err(|fault| fault.at("read", input))?,
        Content::Binary(binary) => return Err(of_input(FileFault::NotInFormat(binary.is_not))),
        Content::Produced(open) => open(files, input, limits)?,
    };
    Ok((format, reader))
}

/// Returns the formats that are no texts.
fn binaries() -> impl Iterator<Item = (FileFormat, Binary)> {
    FORMATS.iter().copied().filter_map(|format| match format.content {
        Content::Binary(binary) => Some((format, binary)),
        Content::Text { .. } | Content::Produced(_) => None,
    })
}

/// Returns the format of a file that is no text, as its first bytes show it; `None` for a text.
///
/// # Errors
/// The file is empty, or is in no format that is read.
fn binary_format(begin: &[u8]) -> Result<Option<(FileFormat, Binary)>, FileFault> {
    if begin.is_empty() {
        return Err(FileFault::Empty);
    }
    for (format, binary) in binaries() {
        if (binary.begins)(begin)? {
            return Ok(Some((format, binary)));
        }
    }
    other_file(begin).map_or(Ok(None), |what| Err(FileFault::NoTable(what)))
}

/// Checks that a file in a binary format is not called or given as another one.
fn check_wanted(wanted: Option<FileFormat>, format: FileFormat, binary: Binary) -> Result<(), FileFault> {
    match wanted.filter(|wanted| *wanted != format).map(|wanted| wanted.content) {
        None => Ok(()),
        Some(Content::Binary(wanted)) => Err(FileFault::NotInFormat(wanted.is_not)),
        Some(_) => Err(FileFault::IsInFormat(binary.is)),
    }
}

/// Returns the format of a text: the wanted one, or the one that its beginning shows.
///
/// # Errors
/// The text is empty, or no text but a file that was compressed.
fn text_format(wanted: Option<FileFormat>, begin: &[u8]) -> Result<FileFormat, FileFault> {
    if begin.is_empty() {
        return Err(FileFault::Empty);
    }
    if binaries().any(|(_, binary)| matches!((binary.begins)(begin), Ok(true))) {
        return Err(FileFault::CompressedBinary);
    }
    let is_shown = |format: &FileFormat| matches!(format.content, Content::Text { begins, .. } if begins(begin));
    // A text in which no format recognizes itself is CSV, because anything may be the first line of one.
    Ok(wanted.or_else(|| FORMATS.iter().copied().find(is_shown)).unwrap_or(FileFormat::CSV))
}
