//! The text of an input: its file, unpacked if it is compressed, as UTF-8.

use super::compression::{CountedReader, Unpacker};
use super::encoding::{self, Recoder, TextEncoding, UTF8_MARK};
use crate::error::InputFault;
use std::io::{self, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use trueup_core::files::OpenFile;
use trueup_core::formats::Compression;

/// The text of an input, read from its beginning to its end.
pub(super) struct TextInput {
    reader: Box<dyn Read + Send>,
    /// The first bytes of the text, after the byte order mark.
    pub(super) begin: Vec<u8>,
    /// The bytes of the byte order mark, which `reader` no longer has.
    pub(super) skipped: usize,
    /// The bytes of the file that were read.
    read: Arc<AtomicU64>,
}

/// Bytes at the beginning of a text from which its format is detected.
const BEGIN_BYTES: u64 = 4 << 10;

/// Opens the text of a file. If the text is empty, so is [`TextInput::begin`].
pub(super) fn open(
    file: OpenFile,
    compression: Option<Compression>,
    encoding: Option<TextEncoding>,
) -> io::Result<Result<TextInput, InputFault>> {
    let read = Arc::new(AtomicU64::new(0));
    let file = CountedReader { reader: file, bytes: read.clone() };
    let bytes: Box<dyn Read + Send> = match compression {
        Some(compression) => Box::new(Unpacker::new(file, compression)?),
        None => Box::new(file),
    };
    let mut text: Box<dyn Read + Send> = match encoding.filter(|encoding| !encoding.is_utf8()) {
        Some(encoding) => Box::new(Recoder::new(bytes, encoding)),
        None => bytes,
    };
    let mut begin = Vec::new();
    if let Err(error) = text.by_ref().take(BEGIN_BYTES).read_to_end(&mut begin) {
        return input_fault(error).map(Err);
    }
    if let Some(likely) = encoding::utf16(&begin) {
        return Ok(Err(InputFault::Utf16 { likely }));
    }
    let skipped = if begin.starts_with(UTF8_MARK) { UTF8_MARK.len() } else { 0 };
    begin.drain(..skipped);
    let reader = Box::new(Cursor::new(begin.clone()).chain(text));
    Ok(Ok(TextInput { reader, begin, skipped, read }))
}

impl TextInput {
    /// Returns the text, and the counter of the file's bytes that were read.
    pub(super) fn into_parts(self) -> (Box<dyn Read + Send>, Arc<AtomicU64>) {
        (self.reader, self.read)
    }
}

/// Returns what is wrong with a file that cannot be unpacked, decoded or split into the elements of its JSON array, or
/// the error of the file system.
pub(crate) fn input_fault(error: io::Error) -> io::Result<InputFault> {
    error.downcast::<InputFault>()
}
