//! Refuses an XLSX file whose reader would take too much memory.
//!
//! An XLSX file is a ZIP archive of XML files, its parts. The reader holds all texts and styles of the workbook, and a
//! tag, a comment or a cell as a whole; it copies the format of a number into each style that uses it, and reserves
//! memory for the count of texts that the file declares. A few kilobytes could otherwise take many gigabytes. The parts
//! are therefore read once before the reader reads them, with the crates that it uses. A part that has no more bytes
//! than a cell may have is not read, unless the reader of the workbook holds it in memory.

use crate::error::FileFault;
use crate::source::compression::{ANY_RATIO_BYTES, MAX_RATIO};
use crate::source::decoded::ReadLimits;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use zip::ZipArchive;

/// The most rows and columns of a sheet.
pub(super) const MAX_ROWS: u32 = 1 << 20;
const MAX_COLUMNS: u32 = 1 << 14;

/// The most parts of a workbook. The archive lists each with about a kilobyte of memory.
const MAX_PARTS: usize = 1 << 16;

/// The first bytes of a part's entry in the list of the archive.
const ENTRY_MAGIC: u32 = u32::from_be_bytes(*b"PK\x01\x02");

/// The ends of the names of the parts that are held in memory, in lower case. The part that lists the sheets is held,
/// too, but may have any name, and takes less memory.
const HELD_PARTS: [&str; 3] = ["sharedstrings.xml", "styles.xml", ".rels"];

/// Bytes of memory that a text takes in addition to its own.
const TEXT_BYTES: u64 = 64;

/// Bytes of memory that a style, a name or a relationship takes in addition to its texts.
const STYLE_BYTES: u64 = 512;

/// The most texts that a style holds, each of them at most as long as the longest format or font: the format of its
/// numbers, and names of fonts.
const STYLE_COPIES: u64 = 3;

/// The bytes of the shortest text, `<si/>`.
const SHORTEST_TEXT: u64 = 5;

/// A count of texts that a part of any size may declare.
const SMALL_NUMBER: u64 = 1 << 16;

/// The smallest value of [`Bounds::cell`]. The reader holds about four copies of a cell.
const MIN_CELL_BYTES: u64 = 32 << 20;

/// What a workbook may take.
#[derive(Clone, Copy)]
struct Bounds {
    /// The most bytes of a part between two cells, rows or texts.
    cell: u64,
    /// The most bytes of memory for all texts, styles and names.
    held: u64,
}

/// Reads the parts of a workbook, and leaves the file at its beginning.
///
/// # Errors
/// The workbook would take too much memory, has too many parts, rows or cells in a row, or unpacks to far more than
/// data does. An archive or a part that cannot be read is left to the reader to report.
pub(super) fn check(file: &mut (impl BufRead + Seek), limits: ReadLimits) -> io::Result<Result<(), FileFault>> {
    let bounds = Bounds { cell: (limits.record_bytes() as u64).max(MIN_CELL_BYTES), held: limits.table_bytes() as u64 };
    let checked = if count_entries(file)? > MAX_PARTS {
        Err(refusal(format!("it has more than {MAX_PARTS} parts; export CSV")))
    } else {
        check_parts(file, bounds)
    };
    file.seek(SeekFrom::Start(0))?;
    Ok(checked)
}

fn refusal(reason: String) -> FileFault {
    FileFault::DamagedWorkbook(reason)
}

/// Counts what looks like the entry of a part. The archive has at most this number of parts.
fn count_entries(file: &mut impl BufRead) -> io::Result<usize> {
    let (mut count, mut last) = (0, 0_u32);
    loop {
        let bytes = file.fill_buf()?;
        if bytes.is_empty() {
            return Ok(count);
        }
        for byte in bytes {
            last = last << 8 | u32::from(*byte);
            count += usize::from(last == ENTRY_MAGIC);
        }
        let length = bytes.len();
        file.consume(length);
    }
}

fn check_parts(file: &mut (impl BufRead + Seek), bounds: Bounds) -> Result<(), FileFault> {
    let Ok(mut archive) = ZipArchive::new(file) else { return Ok(()) };
    let mut held = 0;
    for index in 0..archive.len() {
        let Ok(part) = archive.by_index(index) else { continue };
        let name = part.name().map(|name| name.to_lowercase()).unwrap_or_default();
        // The archive never returns more bytes of a part than it declares.
        if part.size() > part.compressed_size().saturating_mul(MAX_RATIO).max(ANY_RATIO_BYTES) {
            return Err(FileFault::CompressionBomb(MAX_RATIO));
        }
        if part.size() > bounds.cell || HELD_PARTS.iter().any(|end| name.ends_with(end)) {
            let mut scan = PartScan { size: part.size(), bounds, held, ..PartScan::default() };
            scan.read(part).map_err(|reason| refusal(format!("its part `{name}` {reason}")))?;
            held = scan.held;
        }
    }
    Ok(())
}

/// What a part contains, as far as it was read.
#[derive(Default)]
struct PartScan {
    size: u64,
    bounds: Bounds,
    /// Bytes of memory for texts, styles and names, with those of the parts before.
    held: u64,
    styles: u64,
    /// The bytes of the longest format or font.
    longest: u64,
    rows: u32,
    columns: u32,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { cell: MIN_CELL_BYTES, held: 0 }
    }
}

impl PartScan {
    /// Reads a part to its end, or to where it is damaged.
    fn read(&mut self, part: impl Read) -> Result<(), String> {
        let mut xml = Reader::from_reader(Marked { reader: BufReader::new(part), left: self.bounds.cell });
        // The reader of the workbook has the same settings.
        let config = xml.config_mut();
        config.check_end_names = false;
        config.check_comments = false;
        config.expand_empty_elements = true;
        let mut buffer = Vec::new();
        loop {
            buffer.clear();
            let event = xml.read_event_into(&mut buffer);
            let left = xml.get_ref().left;
            if left == 0 {
                return Err(format!(
                    "holds a cell, a text or a tag of more than {} bytes; export CSV",
                    self.bounds.cell
                ));
            }
            let is_mark = match event {
                Ok(Event::Start(tag)) => {
                    self.check_tag(&tag)?;
                    self.add(tag.local_name().as_ref(), true, self.bounds.cell - left)?
                }
                Ok(Event::End(tag)) => self.add(tag.local_name().as_ref(), false, self.bounds.cell - left)?,
                Ok(Event::Eof) | Err(_) => return Ok(()),
                Ok(_) => false,
            };
            if is_mark {
                xml.get_mut().left = self.bounds.cell;
            }
        }
    }

    /// Refuses a count of texts that the part is too short for.
    fn check_tag(&self, tag: &BytesStart<'_>) -> Result<(), String> {
        if tag.local_name().as_ref() != "sst" {
            return Ok(());
        }
        let text: &str = tag;
        let most = (self.size / SHORTEST_TEXT).max(SMALL_NUMBER);
        let is_large = |digits: &&str| !digits.is_empty() && digits.parse().map_or(true, |number: u64| number > most);
        // The attribute `count` counts the cells that refer to texts, of which there may be far more.
        let values = text.split("uniqueCount").skip(1).flat_map(|rest| rest.split(['"', '\'']).take(2));
        match values.flat_map(|value| value.split(|one: char| !one.is_ascii_digit())).find(is_large) {
            Some(number) => Err(format!("declares {number} texts, but has {} bytes", self.size)),
            None => Ok(()),
        }
    }

    /// Adds the beginning or the end of an element, `bytes` after the last mark. Returns whether it is itself a mark,
    /// as the beginnings and ends of cells, rows, texts, styles and names are.
    fn add(&mut self, name: &str, begins: bool, bytes: u64) -> Result<bool, String> {
        match name {
            "c" => self.columns += u32::from(begins),
            "row" => {
                self.columns = 0;
                self.rows += u32::from(begins);
            }
            "si" => self.held += bytes + if begins { TEXT_BYTES } else { 0 },
            "xf" | "numFmt" | "font" | "fill" | "border" | "sheet" | "definedName" | "Relationship" => {
                self.styles += u64::from(name == "xf" && begins);
                self.held += bytes + if begins { STYLE_BYTES } else { 0 };
                self.longest = self.longest.max(bytes);
            }
            _ => return Ok(false),
        }
        if self.rows > MAX_ROWS {
            return Err(format!("has more than {MAX_ROWS} rows; export CSV"));
        }
        if self.columns > MAX_COLUMNS {
            return Err(format!("has more than {MAX_COLUMNS} cells in a row; export CSV"));
        }
        let copies = self.styles.saturating_mul(self.longest).saturating_mul(STYLE_COPIES);
        if self.held.saturating_add(copies) > self.bounds.held {
            let most = self.bounds.held >> 20;
            return Err(format!(
                "holds more than {most} MiB of texts or styles; use a larger `--memory`, or export CSV"
            ));
        }
        Ok(true)
    }
}

/// A reader that ends after `left` more bytes. Each mark sets `left` again.
struct Marked<R> {
    reader: R,
    left: u64,
}

impl<R: BufRead> Read for Marked<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut bytes = self.fill_buf()?;
        let length = bytes.read(into)?;
        self.consume(length);
        Ok(length)
    }
}

impl<R: BufRead> BufRead for Marked<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let bytes = self.reader.fill_buf()?;
        let most = usize::try_from(self.left).unwrap_or(usize::MAX);
        Ok(bytes.get(..most).unwrap_or(bytes))
    }

    fn consume(&mut self, amount: usize) {
        self.reader.consume(amount);
        self.left = self.left.saturating_sub(amount as u64);
    }
}
