//! The text of an input: its file, unpacked if it is compressed, as UTF-8, and in blocks of whole records.

use super::chunk::{ChunkRows, DecodedBatches, FormatChunk, FormatReader, ReadFault};
use super::compression::{Compression, CountedReader, Unpacker, detect_compression};
use super::decoded::{DecodedBatch, ReadLimits, TEXT_COPIES};
use super::detect::read_begin;
use super::encoding::{self, Recoder, TextEncoding, UTF8_MARK};
use super::header::FileHead;
use super::input::Input;
use super::text_blocks::{TextBlock, TextBlockFault, TextBlocks};
use crate::IngestError;
use crate::error::{ErrorContext, FileFault, InputLocation, OPEN};
use crate::table::Table;
use arrow_schema::SchemaRef;
use std::io::{self, Cursor, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use trueup_core::files::{Files, OpenFile};

/// The text of an input, read from its beginning to its end.
pub(super) struct TextInput {
    pub(super) reader: Box<dyn Read + Send>,
    /// The first bytes of the text, after the byte order mark.
    pub(super) begin: Vec<u8>,
    /// The bytes of the text, in UTF-8, that `reader` no longer has: the byte order mark and title lines.
    pub(super) skipped: usize,
    /// The line on which `reader` begins, counted from 1.
    pub(super) line: u64,
    /// Whether the text was in another encoding than UTF-8.
    is_recoded: bool,
    /// The bytes of the file that were read.
    read: Arc<AtomicU64>,
}

/// Bytes at the beginning of a text from which its format is detected.
const BEGIN_BYTES: u64 = 4 << 10;

/// Bytes of a byte order mark of UTF-16.
const MARK_BYTES: u64 = 2;

/// Opens the text of a file. If the text is empty, so is [`TextInput::begin`].
pub(super) fn open(
    file: OpenFile,
    compression: Option<Compression>,
    encoding: Option<TextEncoding>,
) -> Result<TextInput, ReadFault> {
    let read = Arc::new(AtomicU64::new(0));
    let file = CountedReader { reader: file, bytes: read.clone() };
    let mut bytes: Box<dyn Read + Send> = match compression {
        Some(compression) => Box::new(Unpacker::new(file, compression)?),
        None => Box::new(file),
    };
    let mut first = Vec::new();
    bytes.by_ref().take(MARK_BYTES).read_to_end(&mut first)?;
    // Nothing but a byte order mark begins with these bytes, so it has precedence over what the user says.
    let encoding = encoding::of_mark(&first).or(encoding).filter(|encoding| !encoding.is_utf8());
    let bytes = Cursor::new(first).chain(bytes);
    let mut text: Box<dyn Read + Send> = match encoding {
        Some(encoding) => Box::new(Recoder::new(bytes, encoding)),
        None => Box::new(bytes),
    };
    let mut begin = Vec::new();
    text.by_ref().take(BEGIN_BYTES).read_to_end(&mut begin)?;
    if let Some(likely) = encoding::utf16(&begin) {
        return Err(FileFault::Utf16(likely).into());
    }
    let skipped = if begin.starts_with(UTF8_MARK) { UTF8_MARK.len() } else { 0 };
    begin.drain(..skipped);
    let reader = Box::new(Cursor::new(begin.clone()).chain(text));
    Ok(TextInput { reader, begin, skipped, line: 1, is_recoded: encoding.is_some(), read })
}

/// The blocks of an input's text.
pub(super) struct InputBlocks {
    blocks: TextBlocks<Box<dyn Read + Send>>,
    /// Returns the location of a line.
    location: fn(u64) -> InputLocation,
    /// The bytes of the file that were read.
    read: Arc<AtomicU64>,
}

impl InputBlocks {
    /// `has_quotes` says whether a line end between quotes belongs to its record.
    pub(super) fn new(
        text: TextInput,
        has_quotes: bool,
        location: fn(u64) -> InputLocation,
        limits: ReadLimits,
    ) -> Self {
        let TextInput { reader, skipped, line, read, .. } = text;
        let blocks =
            TextBlocks::new(reader, limits.block_bytes(), limits.record_bytes(), has_quotes).after(skipped, line);
        Self { blocks, location, read }
    }

    /// Returns the reader of an input whose blocks have rows. `first` is the first block, if it was read.
    pub(super) fn reader(
        self,
        schema: Option<SchemaRef>,
        head: FileHead,
        first: Option<TextBlock>,
        rows: impl TextRows + 'static,
    ) -> FormatReader {
        let (read, location) = (self.read.clone(), self.location);
        let rows: Arc<dyn TextRows> = Arc::new(rows);
        let chunk = move |block: TextBlock| FormatChunk {
            memory: block.bytes.len() * TEXT_COPIES,
            rows: Box::new(TextChunk { block, location, rows: rows.clone() }),
        };
        let blocks = first.map(Ok).into_iter().chain(self);
        FormatReader { schema, head, read, chunks: Box::new(blocks.map(move |block| block.map(&chunk))) }
    }
}

impl Iterator for InputBlocks {
    type Item = Result<TextBlock, ReadFault>;

    fn next(&mut self) -> Option<Self::Item> {
        let block = self.blocks.next().map_err(|fault| match fault {
            TextBlockFault::Io(error) => error.into(),
            TextBlockFault::TooLong { line, longest } => {
                FileFault::LongRecord { location: (self.location)(line), longest }.into()
            }
        });
        block.transpose()
    }
}

/// How a format decodes the blocks of a text.
pub(super) trait TextRows: Send + Sync {
    /// Decodes the next rows of a block, of which some text is left.
    fn decode(&self, block: &mut BlockText, table: Table, limits: ReadLimits) -> Result<DecodedBatch, FileFault>;

    /// Returns the names of all columns of a text, in any order, if the file declares none.
    fn names(&self, _: &str) -> Vec<String> {
        Vec::new()
    }
}

/// The text of a block while it is decoded.
pub(super) struct BlockText {
    pub(super) text: String,
    /// Where the next record begins, and its line.
    pub(super) at: usize,
    pub(super) line: u64,
}

/// A block before it is decoded.
struct TextChunk {
    block: TextBlock,
    location: fn(u64) -> InputLocation,
    rows: Arc<dyn TextRows>,
}

impl ChunkRows for TextChunk {
    fn decode(self: Box<Self>, table: Table, limits: ReadLimits) -> Result<DecodedBatches, FileFault> {
        let Self { block, location, rows } = *self;
        let mut block = BlockText { line: block.line, at: 0, text: block.into_text(location)? };
        let next = move || (block.at < block.text.len()).then(|| rows.decode(&mut block, table, limits));
        Ok(Box::new(std::iter::from_fn(next)))
    }

    fn names(self: Box<Self>) -> Result<Vec<String>, FileFault> {
        let Self { block, location, rows } = *self;
        Ok(rows.names(&block.into_text(location)?))
    }
}

/// Returns whether a file shows its encoding: it has a byte order mark, or is UTF-8 as a whole. A text with bytes of
/// zero or escapes may be another encoding, however it looks as UTF-8.
pub(crate) fn shows_encoding(files: &Files, input: &Input) -> Result<bool, IngestError> {
    const ESCAPE: u8 = 0x1b;
    let mut file = files.open(&input.path).at(OPEN, &input.path)?;
    let begin = read_begin(&mut file).at(OPEN, &input.path)?;
    let compression = detect_compression(&input.shown, &begin).map_err(|fault| fault.at(&input.shown))?;
    // What cannot be opened in this way is reported when the file is read.
    let Ok(TextInput { reader: mut text, skipped, is_recoded, .. }) = open(file, compression, None) else {
        return Ok(false);
    };
    if is_recoded || skipped > 0 {
        return Ok(true);
    }
    let mut bytes = Vec::new();
    loop {
        let length = text.by_ref().take(COPIED_BYTES as u64).read_to_end(&mut bytes);
        let length = length.map_err(|error| ReadFault::from(error).at("read", input))?;
        match std::str::from_utf8(&bytes) {
            _ if bytes.contains(&0) || bytes.contains(&ESCAPE) => return Ok(false),
            Ok(_) => bytes.clear(),
            // A block may end within a character.
            Err(fault) if fault.error_len().is_none() => drop(bytes.drain(..fault.valid_up_to())),
            Err(_) => return Ok(false),
        }
        if length == 0 {
            return Ok(bytes.is_empty());
        }
    }
}

/// Bytes of a text that are copied at a time.
const COPIED_BYTES: usize = 1 << 20;

/// Writes the text of an input to a file if the input is compressed, is in an encoding other than UTF-8, or begins with
/// a byte order mark. Returns whether the file was written.
pub(crate) fn write_text(files: &Files, input: &Input, to: &Path) -> Result<bool, IngestError> {
    let (path, of_input) = (&input.path, |fault: FileFault| fault.at(&input.shown));
    let mut file = files.open(path).at(OPEN, path)?;
    let begin = read_begin(&mut file).at(OPEN, path)?;
    let compression = detect_compression(&input.shown, &begin).map_err(of_input)?;
    let TextInput { reader: mut text, skipped, is_recoded, .. } =
        open(file, compression, input.options.encoding).map_err(|fault| fault.at(OPEN, input))?;
    if compression.is_none() && !is_recoded && skipped == 0 {
        return Ok(false);
    }
    let mut file = files.create(to).at("create", to)?;
    let mut block = vec![0; COPIED_BYTES];
    loop {
        match text.read(&mut block) {
            Ok(0) => return Ok(true),
            Ok(length) => file.write_all(&block[..length]).at("write", to)?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(ReadFault::from(error).at("read", input)),
        }
    }
}
