//! How Parquet encodes the values of a page.

mod bits;
mod chunk;
mod delta;
mod hybrid;
mod plain;

pub(crate) use chunk::{ColumnChunk, StoredRows};
pub(crate) use delta::{count as delta_count, decode as delta_decode};
pub(super) use hybrid::{NOT_IN_DICTIONARY, decode as decode_codes};

#[cfg(test)]
mod tests;
