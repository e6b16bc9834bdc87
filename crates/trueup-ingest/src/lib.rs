//! From raw Parquet, CSV and NDJSON files to a sorted, verified dataset.

mod accounts;
mod batch;
mod cells;
mod checksum;
mod error;
mod events;
mod faults;
mod ignored;
mod ingest;
mod input;
mod insights;
mod lock;
mod long_texts;
mod mapped;
#[cfg(feature = "mapping")]
pub mod mapping;
mod output;
mod parquet_file;
mod place;
mod progress;
mod read;
mod rejects;
mod source;
mod spend;
mod spill_file;
mod summary;
mod table;
mod version;

pub use error::IngestError;
pub use ingest::Ingest;
pub use output::{OutputError, OutputFile, Outputs};
pub use progress::Progress;
pub use summary::{IngestSummary, RowCounts};

use input::Input;

/// What manifests and files say of the program that wrote them.
const CREATED_BY: &str = concat!("trueup ", env!("CARGO_PKG_VERSION"));
