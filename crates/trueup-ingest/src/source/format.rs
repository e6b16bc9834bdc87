//! Detects the format of an input.

use crate::error::InputFault;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InputFormat {
    Parquet,
    Csv,
    Ndjson,
}

/// The first bytes of every Parquet file.
const PARQUET_MAGIC: &[u8] = b"PAR1";

/// The bytes that some programs write before UTF-8.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Detects the format from the file's name, or from its first bytes if the name says nothing. Leaves the file at its
/// beginning.
pub(super) fn detect(path: &Path, file: &mut (impl Read + Seek)) -> io::Result<Result<InputFormat, InputFault>> {
    let mut begin = Vec::new();
    file.by_ref().take(64).read_to_end(&mut begin)?;
    file.seek(SeekFrom::Start(0))?;
    if begin.is_empty() {
        return Ok(Err(InputFault::Empty));
    }
    let text = begin.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&begin);
    let is_parquet = begin.starts_with(PARQUET_MAGIC);
    let extension = path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase);
    Ok(match extension.as_deref() {
        Some("parquet") if !is_parquet => Err(InputFault::NotParquet),
        Some("csv" | "ndjson" | "jsonl") if is_parquet => Err(InputFault::IsParquet),
        Some("csv") => Ok(InputFormat::Csv),
        Some("ndjson" | "jsonl") => Ok(InputFormat::Ndjson),
        _ if is_parquet => Ok(InputFormat::Parquet),
        _ if text.trim_ascii_start().starts_with(b"{") => Ok(InputFormat::Ndjson),
        _ => Ok(InputFormat::Csv),
    })
}
