//! The encodings of Parquet's pages. The encoder of the hybrid is in the crate `trueup-ingest`.
//!
//! - `plain`: `PLAIN`, one value after the other
//! - `delta`: `DELTA_BINARY_PACKED`, the differences of numbers
//! - `hybrid`: runs and bit-packed numbers, for dictionary codes and definition levels
//! - `bits`: bit-packed numbers and variable-length integers

mod bits;
mod delta;
mod hybrid;
mod plain;

pub(super) use bits::{ENDS_EARLY, number_at, ones};
pub(crate) use delta::{delta_count, delta_decode};
pub(super) use hybrid::{HybridRun, HybridRuns, NOT_IN_DICTIONARY, decode_bits, decode_hybrid};
pub(crate) use plain::take_counted;
pub(super) use plain::{OUT_OF_RANGE, plain_bytes, plain_numbers, plain_texts, text};
