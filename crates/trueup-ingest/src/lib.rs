//! From raw Parquet, CSV and NDJSON files to a sorted, verified dataset.

mod accounts;
mod batch;
mod error;
mod events;
mod ingest;
mod input;
mod insights;
#[cfg(feature = "mapping")]
pub mod mapping;
mod output;
mod parquet_file;
mod pending_file;
mod read;
mod rejects;
mod report;
mod row_check;
mod row_fault;
mod source;
mod spend;
mod spill_file;
mod table;
mod version;

pub use error::IngestError;
pub use ingest::Ingest;
pub use output::{OutputError, OutputFile, Outputs};
pub use report::{IngestSummary, Progress, RowCounts};

use input::Input;

/// The program that wrote a manifest or a file, as both name it.
const CREATED_BY: &str = concat!("trueup ", env!("CARGO_PKG_VERSION"));
