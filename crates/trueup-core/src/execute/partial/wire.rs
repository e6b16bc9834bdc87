//! The bytes of a partial result. `docs/splits.md` describes the form. Lengths are little-endian.
//!
//! ```text
//! magic, 8 bytes
//! length of the header, 8 bytes      header, JSON
//! for each range of the query: that of the rows, the earlier one if it compares, then those of the totals
//!   length, 8 bytes                  groups of events, an Arrow IPC stream
//!   length, 8 bytes                  groups of spend, an Arrow IPC stream
//! BLAKE3 of all bytes before, 32 bytes
//! ```

use super::{ControlTotal, CoveredResult, Partial, PartialError, PartialKey, RangePartial};
use crate::Error;
use crate::aggregate::{GroupColumns, PartialResult, ResultShape};
use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;
use serde::{Deserialize, Serialize};
use trueup_parquet::catch_panics;

/// The first bytes: the name of the form, and its version.
const MAGIC: &[u8; 8] = b"TUPART02";

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Header {
    key: PartialKey,
    rows: u64,
    ranges: Vec<RangeHeader>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RangeHeader {
    shape: ResultShape,
    control: ControlTotal,
    /// The number of rows of the query: events in a sub-range that passed the filter.
    kept_rows: u64,
}

impl RangeHeader {
    fn new(partial: &RangePartial) -> Self {
        let RangePartial { shape, covered: CoveredResult { result, control } } = partial;
        Self { shape: shape.clone(), control: control.clone(), kept_rows: result.rows }
    }

    /// Returns the partial result that this header describes, with the groups of two streams.
    fn partial(self, bytes: &mut &[u8]) -> Result<RangePartial, PartialError> {
        let Self { shape, control, kept_rows } = self;
        let columns = GroupColumns { events: read_batch(bytes)?, spend: read_batch(bytes)? };
        let result = PartialResult::from_columns(&shape, &columns, kept_rows).map_err(damaged)?;
        control.check_sums(&result)?;
        Ok(RangePartial { shape, covered: CoveredResult { result, control } })
    }
}

impl Partial {
    /// Writes the partial result as bytes, for another process.
    ///
    /// # Errors
    /// A sum has more than 38 digits.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let ranges = self.ranges.iter().map(RangeHeader::new).collect();
        let header = Header { key: self.key.clone(), rows: self.rows, ranges };
        let header = serde_json::to_vec(&header).map_err(not_writable)?;
        let mut bytes = MAGIC.to_vec();
        push(&mut bytes, &header);
        for RangePartial { shape, covered } in &self.ranges {
            let GroupColumns { events, spend } = covered.result.to_columns(shape).map_err(not_writable)?;
            push(&mut bytes, &stream(&events).map_err(not_writable)?);
            push(&mut bytes, &stream(&spend).map_err(not_writable)?);
        }
        let digest = blake3::hash(&bytes);
        bytes.extend_from_slice(digest.as_bytes());
        Ok(bytes)
    }

    /// Reads a partial result that [`to_bytes`](Self::to_bytes) has written.
    ///
    /// # Errors
    /// The bytes have changed, are those of another version of this form, or hold groups that do not add up.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, PartialError> {
        let content = bytes.len().checked_sub(blake3::OUT_LEN).and_then(|end| bytes.split_at_checked(end));
        let (content, digest) = content.ok_or_else(|| damaged("too few bytes"))?;
        let other_magic = || damaged(format!("expected `{}` at the beginning", MAGIC.escape_ascii()));
        let mut rest = content.strip_prefix(MAGIC).ok_or_else(other_magic)?;
        if blake3::hash(content).as_slice() != digest {
            return Err(damaged("their checksum does not match"));
        }
        let Header { key, rows, ranges } = serde_json::from_slice(take(&mut rest)?).map_err(damaged)?;
        let ranges = ranges.into_iter().map(|range| range.partial(&mut rest)).collect::<Result<_, _>>()?;
        if rest.is_empty() { Ok(Self { key, rows, ranges }) } else { Err(damaged("bytes after the end")) }
    }
}

fn damaged(reason: impl ToString) -> PartialError {
    PartialError::Damaged { reason: reason.to_string() }
}

fn not_writable(reason: impl ToString) -> PartialError {
    PartialError::NotWritable { reason: reason.to_string() }
}

/// Appends a part, after its length.
fn push(bytes: &mut Vec<u8>, part: &[u8]) {
    bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
    bytes.extend_from_slice(part);
}

/// Takes a part from the beginning.
fn take<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8], PartialError> {
    let part = bytes
        .split_first_chunk::<8>()
        .and_then(|(length, rest)| rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?));
    let (part, rest) = part.ok_or_else(|| damaged("a part is cut off"))?;
    *bytes = rest;
    Ok(part)
}

/// Writes a batch as an Arrow IPC stream.
fn stream(batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema())?;
    writer.write(batch)?;
    writer.into_inner()
}

/// Takes an Arrow IPC stream of one batch from the beginning.
fn read_batch(bytes: &mut &[u8]) -> Result<RecordBatch, PartialError> {
    let part = take(bytes)?;
    let read = || StreamReader::try_new(part, None)?.collect::<Result<Vec<_>, _>>().map_err(Into::into);
    let mut batches = catch_panics(read).map_err(damaged)?;
    match (batches.pop(), batches.is_empty()) {
        (Some(batch), true) => Ok(batch),
        _ => Err(damaged("a stream does not have exactly one batch")),
    }
}
