//! The encodings of Parquet's pages, with what decodes them and, where it is ours, what encodes them.
//!
//! - `plain`: `PLAIN`, one value after the other
//! - `delta`: `DELTA_BINARY_PACKED`, the differences of numbers
//! - `hybrid`: runs and bit-packed numbers, for dictionary codes and definition levels
//! - `bits`: bit-packed numbers and variable-length integers

mod bits;
mod delta;
mod hybrid;
mod plain;

pub(crate) use bits::{ENDS_EARLY, number_at, ones, push_varint, take_signed, take_varint};
pub(crate) use delta::{delta_count, delta_decode};
pub(crate) use hybrid::{
    HybridRun, HybridRuns, NOT_IN_DICTIONARY, bit_width, decode_bits, decode_hybrid, encode_hybrid, encode_run,
};
pub use plain::OUT_OF_RANGE;
pub(crate) use plain::{plain_bytes, plain_numbers, plain_texts, push_counted, take_counted, text};
