//! Decompresses pages.

use parquet::basic::Compression;
use parquet::errors::{ParquetError, Result};
use std::cell::RefCell;
use std::io::Read;
use zstd::bulk::Decompressor as ZstdDecompressor;

thread_local! {
    /// Kept for the next page, because making one takes as long as decompressing a small page.
    static ZSTD: RefCell<Option<ZstdDecompressor<'static>>> = const { RefCell::new(None) };
}

/// Appends the decompressed bytes of a page. It is an error if they are not `length` bytes. Takes at most about twice
/// as many bytes of memory, even if `length` is wrong.
pub(super) fn decompress(codec: Compression, compressed: &[u8], length: usize, into: &mut Vec<u8>) -> Result<()> {
    let wrong = || ParquetError::General(format!("a page does not decompress to {length} bytes, as its header says"));
    let begin = into.len();
    match codec {
        Compression::UNCOMPRESSED => into.extend_from_slice(compressed),
        Compression::LZ4_RAW => lz4_block(compressed, length, into).ok_or_else(wrong)?,
        Compression::LZ4 => lz4(compressed, length, into).ok_or_else(wrong)?,
        Compression::ZSTD(_) => {
            // zstd fills the capacity of the vector, which may be larger than `length`, so each page gets a new
            // vector.
            let mut page = zstd(compressed, length)?;
            if begin == 0 {
                *into = page;
            } else {
                into.append(&mut page);
            }
        }
        codec => foreign(codec, compressed, length, into)?,
    }
    if into.len() - begin == length { Ok(()) } else { Err(wrong()) }
}

fn zstd(compressed: &[u8], length: usize) -> std::io::Result<Vec<u8>> {
    ZSTD.with_borrow_mut(|zstd| match zstd {
        Some(zstd) => zstd.decompress(compressed, length),
        None => zstd.insert(ZstdDecompressor::new()?).decompress(compressed, length),
    })
}

/// Decompresses a page with a codec that files of others have, and no file of a dataset.
#[cfg(feature = "foreign-codecs")]
fn foreign(codec: Compression, compressed: &[u8], length: usize, into: &mut Vec<u8>) -> Result<()> {
    /// Bytes of a page that brotli takes at a time.
    const BUFFER_BYTES: usize = 8 << 10;

    match codec {
        Compression::SNAPPY => {
            let external = |error: snap::Error| ParquetError::External(Box::new(error));
            if snap::raw::decompress_len(compressed).map_err(external)? == length {
                let begin = into.len();
                into.resize(begin + length, 0);
                snap::raw::Decoder::new().decompress(compressed, &mut into[begin..]).map_err(external)?;
            }
        }
        Compression::GZIP(_) => at_most(flate2::read::MultiGzDecoder::new(compressed), length, into)?,
        Compression::BROTLI(_) => {
            at_most(brotli_decompressor::Decompressor::new(compressed, BUFFER_BYTES), length, into)?;
        }
        codec => return Err(ParquetError::NYI(format!("pages compressed with {codec} cannot be read"))),
    }
    Ok(())
}

/// Refuses a page with a codec that no file of a dataset has.
#[cfg(not(feature = "foreign-codecs"))]
fn foreign(codec: Compression, _: &[u8], _: usize, _: &mut Vec<u8>) -> Result<()> {
    Err(ParquetError::NYI(format!("pages compressed with {codec} cannot be read: no file of a dataset has them")))
}

/// Appends what can be read, at most one byte more than `length`, so that the caller detects a page that is longer.
fn at_most(from: impl Read, length: usize, into: &mut Vec<u8>) -> std::io::Result<()> {
    into.reserve(length);
    from.take((length as u64).saturating_add(1)).read_to_end(into)?;
    Ok(())
}

fn lz4_block(compressed: &[u8], length: usize, into: &mut Vec<u8>) -> Option<()> {
    /// The most bytes that one byte of a block can become.
    const MAX_RATIO: usize = 255;

    if length / MAX_RATIO > compressed.len() {
        return None;
    }
    let begin = into.len();
    into.resize(begin + length, 0);
    let decompressed = lz4_flex::block::decompress_into(compressed, &mut into[begin..]).ok()?;
    (decompressed == length).then_some(())
}

/// Decompresses what Parquet calls LZ4: blocks in Hadoop's frames, LZ4's own frames, or a bare block.
fn lz4(compressed: &[u8], length: usize, into: &mut Vec<u8>) -> Option<()> {
    let begin = into.len();
    if hadoop(compressed, length, into).is_some() {
        return Some(());
    }
    into.truncate(begin);
    if at_most(lz4_flex::frame::FrameDecoder::new(compressed), length, into).is_ok() && into.len() - begin == length {
        return Some(());
    }
    into.truncate(begin);
    lz4_block(compressed, length, into)
}

/// Decompresses blocks, each after its decompressed and its compressed length.
fn hadoop(mut compressed: &[u8], length: usize, into: &mut Vec<u8>) -> Option<()> {
    let mut left = length;
    while left > 0 {
        let (decompressed, rest) = compressed.split_first_chunk()?;
        let (size, rest) = rest.split_first_chunk()?;
        let decompressed = usize::try_from(u32::from_be_bytes(*decompressed)).ok()?;
        let (block, rest) = rest.split_at_checked(usize::try_from(u32::from_be_bytes(*size)).ok()?)?;
        left = left.checked_sub(decompressed).filter(|_| decompressed > 0)?;
        lz4_block(block, decompressed, into)?;
        compressed = rest;
    }
    compressed.is_empty().then_some(())
}
