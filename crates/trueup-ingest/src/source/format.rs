//! Which format an input has.

use crate::error::InputFault;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InputFormat {
    Parquet,
    Csv,
    Ndjson,
}

/// What every Parquet file begins with.
const PARQUET_MARK: &[u8] = b"PAR1";

/// What some programs put before text in UTF-8.
pub(super) const MARK: &[u8] = b"\xef\xbb\xbf";

/// The format by the file's name, or else by its first bytes. The file is read from its beginning afterwards.
pub(super) fn detect(path: &Path, file: &mut (impl Read + Seek)) -> io::Result<Result<InputFormat, InputFault>> {
    let mut begin = Vec::new();
    file.by_ref().take(64).read_to_end(&mut begin)?;
    file.seek(SeekFrom::Start(0))?;
    if begin.is_empty() {
        return Ok(Err(InputFault::Empty));
    }
    let text = begin.strip_prefix(MARK).unwrap_or(&begin);
    let parquet = begin.starts_with(PARQUET_MARK);
    let extension = path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase);
    Ok(match extension.as_deref() {
        Some("parquet") if !parquet => Err(InputFault::NotParquet),
        Some("csv" | "ndjson" | "jsonl") if parquet => Err(InputFault::IsParquet),
        Some("csv") => Ok(InputFormat::Csv),
        Some("ndjson" | "jsonl") => Ok(InputFormat::Ndjson),
        _ if parquet => Ok(InputFormat::Parquet),
        _ if text.trim_ascii_start().starts_with(b"{") => Ok(InputFormat::Ndjson),
        _ => Ok(InputFormat::Csv),
    })
}
