//! Typed columns of a table, decoded from the columns as they are stored. In call order:
//!
//! - `projection`: the columns that a query reads
//! - `event_columns`, `spend_columns`: the decoded columns of a row group, and the steps from the stored ones
//! - `source`: where stored columns come from: the pages of a row group, or a record batch
//! - `text`, `amounts`, `customers`, `history`: the typed columns, each as narrow as its values allow
//! - `prefetch`: brings the next blocks of customers into the processor's cache while a query reads the current ones
//!
//! `dataset` opens files and passes their column chunks on, which `trueup_parquet` decodes. Nothing in this folder
//! knows files.

mod amounts;
mod customers;
mod event_columns;
mod history;
mod prefetch;
mod projection;
mod source;
mod spend_columns;
mod text;

pub(crate) use amounts::Amounts;
pub(crate) use customers::{CustomerBlock, CustomerIndex, MAX_BLOCK_EVENTS};
pub(crate) use event_columns::{EventColumns, customer_numbers};
pub(crate) use history::{
    EventFlags, FlagsSlice, HistoryCutter, PackedFlags, PatternId, StageHistories, StagePattern, stage,
};
pub(crate) use prefetch::Prefetch;
pub(crate) use projection::{AttributedText, EventProjection, SpendProjection};
pub(crate) use source::{ColumnFault, ColumnSource, TableColumns};
pub(crate) use spend_columns::{SpendColumns, SpendTextColumn};
pub(crate) use text::{Codes, TextColumn, TextDictionary};

/// Represents null in a column of whole numbers. No amount and no point in time that the tables accept is this far out.
pub(crate) const NO_VALUE: i64 = i64::MIN;
