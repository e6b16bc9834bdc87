//! Turns raw Parquet, CSV, NDJSON and XLSX files into a sorted, verified dataset. [`Ingest`] is the entry.
//!
//! ```text
//! commands            what changes a dataset: each command with its settings, and how all of them run
//!   ingest            one ingest: its inputs as given, and its run to the next version of the dataset
//!   parts             an ingest that several processes run: its plan, and what its parts hand back
//!   given             the paths and URLs as given: folders and patterns become files, and streams are opened
//!   received          sources that are no local files: readers, URLs and record batches, which become files
//!   mapping           the rows of the inputs: as given, or made from them by a mapping
//!   records           the records that the files deliver, whose events are replaced together
//!   version           the next version while it is written: the lock, scratch folders, the lists of files and deletion
//!                     vectors, publication
//!   batch             skips or refuses events without ids that were ingested before, and records what was ingested
//!   accounts, events, spend, insights, targets   ingest one table each
//!     read            reads the inputs of a table in parallel, and keeps the order of their rows
//!       source        decodes files of any format into batches (value_marks)
//!       row_check     finds rows that break a rule
//!       rejects       writes these rows to a file (output)
//!     spill_file      rows on disk that do not fit into memory
//!     parquet_file    writes a Parquet file (pending_file)
//!     live_rows       leaves out stored rows that are superseded
//!     buffered_chunks     reads column chunks of a stored file as a whole
//!     stored_copy     copies a stored file of a dataset in an object store to this machine
//!   spellings         finds values that differ only in case or blanks
//!   stray_targets     finds targets of accounts and values that nothing has
//! ```
//!
//! `commands/define` stores definitions of metrics and dimensions in a version of their own. `compact` merges stored
//! files, also at the end of an ingest; `compact/choice` decides which. `forget` removes the events of customers;
//! `forget/customers` reads a list of them, and `forget/rejects` removes their rejected rows. `restore` makes the
//! content of an earlier version that of the newest one. `expire` lets versions expire, and removes files that nobody
//! needs any more. `settings` holds what all of them let their callers set, `customer` names a customer, and `table`
//! names the four tables. `monitor` reports the progress of a command and stops it when it is interrupted, `report`
//! holds what an ingest returns, and `error` says what can go wrong, from a row to a command.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod amounts;
mod batch;
mod buffered_chunks;
mod commands;
mod customer;
mod error;
mod events;
mod given;
mod held;
mod insights;
mod live_rows;
pub mod mapping;
mod monitor;
mod output;
mod parquet_file;
mod parts;
mod pending_file;
mod read;
mod received;
mod records;
mod rejects;
mod report;
mod row_check;
mod row_source;
mod settings;
mod shared_id_places;
mod source;
mod spellings;
mod spend;
mod spill_file;
mod stored_copy;
mod stray_targets;
mod table;
mod value_marks;
mod version;

pub use commands::{
    Action, Command, Compact, Define, Expire, ExpireSummary, Forget, ForgetSummary, Ingest, Restore, RestoreSummary,
    StagedIngest, WritesRows,
};
pub use customer::Customer;
pub use error::{
    BrokenRule, Difference, ErrorKind, FileFault, IngestError, InputLocation, MappingFault, MaxRejects, OutputError,
    ParseMaxRejectsError, RejectedRow, RejectedRows, Repetition, RowFault, Rule, SpendTwice, StageFault, TwiceRows,
    UnfitColumn,
};
pub use monitor::{Phase, Progress};
pub use output::{OutputFile, Outputs};
pub use parts::{StagePlan, Staged, part_of};
pub use received::Source;
pub use report::{CompactSummary, IngestSummary, LeftOutRows, NotNormalValue, RemovedSource, RowCounts};
pub use source::{FORMATS, FileFormat, TextEncoding, UnknownEncoding, UnknownFormat, listed};
pub use trueup_core::model::{ClockZone, Reason, SchemaFault};
pub use trueup_core::{Interrupt, Interruption};
pub use version::FileCount;

use source::Input;

/// The program that wrote a manifest or a file, as both name it.
const CREATED_BY: &str = concat!("trueup ", env!("CARGO_PKG_VERSION"));
