//! How pages are packed.

use parquet::basic::Compression;
use parquet::errors::{ParquetError, Result};
use std::io::Read;
use zstd::bulk::Decompressor;

/// Unpacks pages of one column chunk. None takes more room than its header says, whatever its bytes would become.
pub(super) struct Unpacker {
    codec: Compression,
    /// To make one takes as long as to unpack a small page.
    zstd: Option<Decompressor<'static>>,
}

impl Unpacker {
    pub(super) const fn new(codec: Compression) -> Self {
        Self { codec, zstd: None }
    }

    /// Whether pages are as they are in the file.
    pub(super) fn is_idle(&self) -> bool {
        self.codec == Compression::UNCOMPRESSED
    }

    /// Appends the `length` bytes that a page is packed from.
    pub(super) fn unpack(&mut self, packed: &[u8], length: usize, into: &mut Vec<u8>) -> Result<()> {
        let wrong = || ParquetError::General(format!("a page does not unpack to {length} bytes, as its header says"));
        let begin = into.len();
        match self.codec {
            Compression::UNCOMPRESSED => into.extend_from_slice(packed),
            Compression::LZ4_RAW => lz4_block(packed, length, into).ok_or_else(wrong)?,
            Compression::LZ4 => lz4(packed, length, into).ok_or_else(wrong)?,
            Compression::SNAPPY => {
                if snap::raw::decompress_len(packed).map_err(external)? != length {
                    return Err(wrong());
                }
                into.resize(begin + length, 0);
                snap::raw::Decoder::new().decompress(packed, &mut into[begin..]).map_err(external)?;
            }
            Compression::GZIP(_) => at_most(flate2::read::MultiGzDecoder::new(packed), length, into)?,
            Compression::ZSTD(_) => {
                let zstd = match &mut self.zstd {
                    Some(zstd) => zstd,
                    None => self.zstd.insert(Decompressor::new()?),
                };
                // What fits in is what there is room for, and that may be more than was asked for.
                if begin == 0 {
                    *into = zstd.decompress(packed, length)?;
                } else {
                    into.append(&mut zstd.decompress(packed, length)?);
                }
            }
            codec => return Err(ParquetError::NYI(format!("pages packed by {codec} cannot be read"))),
        }
        if into.len() - begin == length { Ok(()) } else { Err(wrong()) }
    }
}

fn external(error: snap::Error) -> ParquetError {
    ParquetError::External(Box::new(error))
}

/// Appends what can be read, but no more than one byte beyond `length`.
fn at_most(from: impl Read, length: usize, into: &mut Vec<u8>) -> std::io::Result<()> {
    into.reserve(length);
    from.take((length as u64).saturating_add(1)).read_to_end(into)?;
    Ok(())
}

fn lz4_block(packed: &[u8], length: usize, into: &mut Vec<u8>) -> Option<()> {
    /// No byte of a block becomes more than this many.
    const MOST: usize = 255;

    if length / MOST > packed.len() {
        return None;
    }
    let begin = into.len();
    into.resize(begin + length, 0);
    let unpacked = lz4_flex::block::decompress_into(packed, &mut into[begin..]).ok()?;
    (unpacked == length).then_some(())
}

/// What is called LZ4 is one of three: blocks as Hadoop frames them, LZ4's own frames, or a bare block.
fn lz4(packed: &[u8], length: usize, into: &mut Vec<u8>) -> Option<()> {
    let begin = into.len();
    if hadoop(packed, length, into).is_some() {
        return Some(());
    }
    into.truncate(begin);
    if at_most(lz4_flex::frame::FrameDecoder::new(packed), length, into).is_ok() && into.len() - begin == length {
        return Some(());
    }
    into.truncate(begin);
    lz4_block(packed, length, into)
}

/// Blocks, each behind the number of its bytes unpacked and packed.
fn hadoop(mut packed: &[u8], length: usize, into: &mut Vec<u8>) -> Option<()> {
    let mut left = length;
    while left > 0 {
        let (unpacked, rest) = packed.split_first_chunk()?;
        let (size, rest) = rest.split_first_chunk()?;
        let unpacked = usize::try_from(u32::from_be_bytes(*unpacked)).ok()?;
        let (block, rest) = rest.split_at_checked(usize::try_from(u32::from_be_bytes(*size)).ok()?)?;
        left = left.checked_sub(unpacked).filter(|_| unpacked > 0)?;
        lz4_block(block, unpacked, into)?;
        packed = rest;
    }
    packed.is_empty().then_some(())
}
