//! The encodings of texts: text of another encoding becomes UTF-8, and text that is not UTF-8 is recognized.

use crate::error::FileFault;
use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Decoder, DecoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE};
use std::io::{self, Read};
use std::str::FromStr;

/// The encoding of a text, such as `utf-16`, `latin1` or `windows-1252`. The names are those of the web's
/// [Encoding Standard](https://encoding.spec.whatwg.org/#names-and-labels), in which `latin1` is `windows-1252`.
///
/// ```
/// use trueup_ingest::TextEncoding;
///
/// assert_eq!("Latin1".parse::<TextEncoding>()?.name(), "windows-1252");
/// assert!("latin0".parse::<TextEncoding>().is_err());
/// # Ok::<(), trueup_ingest::UnknownEncoding>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextEncoding(&'static Encoding);

impl TextEncoding {
    /// Returns the name of the encoding in the standard.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    pub(crate) fn is_utf8(self) -> bool {
        self.0 == UTF_8
    }
}

impl FromStr for TextEncoding {
    type Err = UnknownEncoding;

    /// Reads a name of the standard in any letter case. `utf16`, `utf16le`, `utf16be` and `latin1` need no hyphen;
    /// `utf-16` is little-endian.
    ///
    /// # Errors
    /// The standard has no such name, or no text can be decoded with it.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let plain = name.to_ascii_lowercase().replace(['-', '_'], "");
        let label = match plain.as_str() {
            "latin1" => "latin1",
            "utf16" | "utf16le" => "utf-16le",
            "utf16be" => "utf-16be",
            _ => name,
        };
        // Not the encoding of the standard that decodes nothing, which stands for names that are dangerous on the web.
        let known = Encoding::for_label_no_replacement(label.as_bytes());
        known.map(Self).ok_or_else(|| UnknownEncoding(name.to_owned()))
    }
}

/// The name of an encoding that does not exist.
#[derive(Debug, thiserror::Error)]
#[error("there is no encoding `{}`; use `utf-8`, `utf-16le`, `utf-16be`, `windows-1252` or another name of the web's Encoding Standard", trueup_core::Shown(.0))]
pub struct UnknownEncoding(String);

/// The bytes that some programs write before UTF-8.
pub(super) const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";

/// Returns the encoding of UTF-16 whose byte order mark a text begins with; `None` if it begins with none.
pub(super) fn of_mark(begin: &[u8]) -> Option<TextEncoding> {
    match begin {
        [0xff, 0xfe, ..] => Some(TextEncoding(UTF_16LE)),
        [0xfe, 0xff, ..] => Some(TextEncoding(UTF_16BE)),
        _ => None,
    }
}

/// Returns the name of the UTF-16 encoding that the first bytes of a text without a byte order mark show, because
/// every second byte is zero; `None` if they show none.
pub(super) fn utf16(begin: &[u8]) -> Option<&'static str> {
    /// The bytes that are checked. In each pair of these bytes, the same one must be zero, and the other must not.
    const SAMPLE: usize = 16;
    let (pairs, _) = begin[..begin.len().min(SAMPLE)].as_chunks::<2>();
    let zero_at = |at: usize| !pairs.is_empty() && pairs.iter().all(|pair| pair[at] == 0 && pair[1 - at] != 0);
    let encoding = if zero_at(1) { Some(UTF_16LE) } else { Some(UTF_16BE).filter(|_| zero_at(0)) };
    encoding.map(Encoding::name)
}

/// Returns the encoding that a text probably has, if it is not UTF-8.
pub(super) fn likely(text: &[u8]) -> &'static str {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(text, true);
    detector.guess(None, Utf8Detection::Deny).name()
}

/// A text of another encoding, read as UTF-8. Bytes that are no text of the encoding are an error.
pub(super) struct Recoder<R> {
    reader: R,
    decoder: Decoder,
    /// Bytes of the reader. The bytes before `at` are decoded.
    raw: Vec<u8>,
    at: usize,
    /// The position of `raw` in the text.
    offset: u64,
    /// Whether `raw` is the end of the text.
    is_last: bool,
    /// Decoded bytes, in UTF-8. The bytes before `taken` were returned.
    decoded: Vec<u8>,
    taken: usize,
    /// The position of the first bytes that are no text.
    fault: Option<u64>,
    is_done: bool,
}

/// Bytes that are decoded at a time.
const RAW_BYTES: u64 = 64 << 10;

impl<R: Read> Recoder<R> {
    pub(super) fn new(reader: R, encoding: TextEncoding) -> Self {
        Self {
            reader,
            // A byte order mark has precedence over the given encoding.
            decoder: encoding.0.new_decoder(),
            raw: Vec::new(),
            at: 0,
            offset: 0,
            is_last: false,
            decoded: Vec::new(),
            taken: 0,
            fault: None,
            is_done: false,
        }
    }

    /// Decodes further bytes.
    fn decode(&mut self) -> io::Result<()> {
        if self.at == self.raw.len() && !self.is_last {
            self.offset += self.raw.len() as u64;
            self.at = 0;
            self.raw.clear();
            self.reader.by_ref().take(RAW_BYTES).read_to_end(&mut self.raw)?;
            self.is_last = (self.raw.len() as u64) < RAW_BYTES;
        }
        let raw = &self.raw[self.at..];
        let room = self.decoder.max_utf8_buffer_length_without_replacement(raw.len());
        self.decoded.resize(room.ok_or(io::ErrorKind::OutOfMemory)?, 0);
        let (result, read, written) =
            self.decoder.decode_to_utf8_without_replacement(raw, &mut self.decoded, self.is_last);
        self.decoded.truncate(written);
        (self.at, self.taken) = (self.at + read, 0);
        match result {
            DecoderResult::InputEmpty => self.is_done = self.is_last,
            DecoderResult::OutputFull => {}
            DecoderResult::Malformed(length, after) => {
                let behind = u64::from(length) + u64::from(after);
                self.fault = Some((self.offset + self.at as u64).saturating_sub(behind));
            }
        }
        Ok(())
    }
}

impl<R: Read> Read for Recoder<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.decoded.len() {
            if let Some(offset) = self.fault {
                // The encoding that the byte order mark says, if the text has one.
                let encoding = self.decoder.encoding().name();
                return Err(io::Error::other(FileFault::NotInEncoding { encoding, offset }));
            }
            if self.is_done {
                return Ok(0);
            }
            self.decode()?;
        }
        let mut rest = &self.decoded[self.taken..];
        let length = rest.read(into)?;
        self.taken += length;
        Ok(length)
    }
}
