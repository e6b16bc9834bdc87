//! Files that are compressed as a whole: which program did it, and their unpacked bytes.

use crate::error::FileFault;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A program that compresses files as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    Gzip,
    Zstd,
    Bzip2,
}

/// Each compression with the endings that mean it, which follow the ending of the format: `events.csv.gz`.
const ENDINGS: [(Compression, &[&str]); 3] =
    [(Compression::Gzip, &["gz"]), (Compression::Zstd, &["zst", "zstd"]), (Compression::Bzip2, &["bz2"])];

/// Each compression, with the first bytes of its files.
const FIRST_BYTES: [(Compression, &[u8]); 3] =
    [(Compression::Gzip, b"\x1f\x8b\x08"), (Compression::Zstd, b"\x28\xb5\x2f\xfd"), (Compression::Bzip2, b"BZh")];

/// Returns the compression that the ending of a file's name means, in any letter case.
fn named_compression(name: &Path) -> Option<Compression> {
    let ending = name.extension()?;
    let has = |endings: &[&str]| endings.iter().any(|known| ending.eq_ignore_ascii_case(known));
    ENDINGS.iter().find(|(_, endings)| has(endings)).map(|(compression, _)| *compression)
}

/// Returns a file's name without the ending that says how it is compressed.
pub(crate) fn unpacked_name(name: &Path) -> PathBuf {
    if named_compression(name).is_some() { name.with_extension("") } else { name.to_owned() }
}

/// Returns how a file is compressed, if it is.
///
/// # Errors
/// The name says that it is compressed, and its first bytes say otherwise.
pub(super) fn detect_compression(name: &Path, begin: &[u8]) -> Result<Option<Compression>, FileFault> {
    if let Some(named) = named_compression(name) {
        let is_compressed = FIRST_BYTES.iter().any(|(of, magic)| *of == named && begin.starts_with(magic));
        return if is_compressed { Ok(Some(named)) } else { Err(FileFault::NotCompressed(program(named))) };
    }
    // No text begins with the bytes of gzip and zstd. `BZh` alone may begin a text.
    let starts = |magic: &[u8]| begin.starts_with(magic) && (magic != b"BZh" || begin.get(4..10) == Some(b"1AY&SY"));
    Ok(FIRST_BYTES.into_iter().find(|(_, magic)| starts(magic)).map(|(compression, _)| compression))
}

/// Returns the name of the program that compresses so, for messages.
const fn program(compression: Compression) -> &'static str {
    match compression {
        Compression::Gzip => "gzip",
        Compression::Zstd => "zstd",
        Compression::Bzip2 => "bzip2",
    }
}

/// The unpacked bytes of a file.
///
/// A file that unpacks to far more than any data does is an error, because a few kilobytes could otherwise keep an
/// ingest busy for days.
pub(super) struct Unpacker {
    compression: Compression,
    decoder: Box<dyn Read + Send>,
    /// The bytes that were read from the file.
    packed: Arc<AtomicU64>,
    unpacked: u64,
}

/// The most bytes that a byte of the file may become, on average.
pub(super) const MAX_RATIO: u64 = 1_000;

/// The unpacked bytes up to which [`MAX_RATIO`] does not apply.
pub(super) const ANY_RATIO_BYTES: u64 = 32 << 20;

/// Bytes that are read from the file at a time.
const BUFFER_BYTES: usize = 128 << 10;

impl Unpacker {
    pub(super) fn new(file: impl Read + Send + 'static, compression: Compression) -> io::Result<Self> {
        let packed = Arc::new(AtomicU64::new(0));
        let counted = CountedReader { reader: file, bytes: packed.clone() };
        let decoder = decoder(BufReader::with_capacity(BUFFER_BYTES, counted), compression)?;
        Ok(Self { compression, decoder, packed, unpacked: 0 })
    }
}

fn decoder(file: impl BufRead + Send + 'static, compression: Compression) -> io::Result<Box<dyn Read + Send>> {
    Ok(match compression {
        Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(file)),
        Compression::Zstd => Box::new(zstd::Decoder::with_buffer(file)?),
        Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(file)),
    })
}

impl Read for Unpacker {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let program = program(self.compression);
        let length = self.decoder.read(into).map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => error,
            // The file itself cannot be read.
            _ if error.raw_os_error().is_some() => error,
            _ => io::Error::other(FileFault::DamagedCompression { program, source: error }),
        })?;
        self.unpacked += length as u64;
        let most = self.packed.load(Ordering::Relaxed).saturating_mul(MAX_RATIO).max(ANY_RATIO_BYTES);
        if self.unpacked > most {
            return Err(io::Error::other(FileFault::CompressionBomb(MAX_RATIO)));
        }
        Ok(length)
    }
}

/// A reader that counts its bytes.
pub(super) struct CountedReader<R> {
    pub(super) reader: R,
    pub(super) bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for CountedReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.reader.read(into)?;
        self.bytes.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }
}
