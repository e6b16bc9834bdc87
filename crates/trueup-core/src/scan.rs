//! A split's columns, decoded to narrow types.

mod ahead;
mod amounts;
mod batch;
mod codes;
mod columns;
mod decode;
mod encoding;
mod fault;
mod history;
mod runs;
mod source;
mod spend;
mod text;
mod values;

pub(crate) use ahead::Ahead;
pub(crate) use amounts::Amounts;
pub(crate) use codes::Codes;
pub(crate) use columns::Columns;
pub(crate) use decode::customer_numbers;
pub(crate) use encoding::{Chunk, StoredRows, delta_count, delta_decode};
pub(crate) use fault::ColumnFault;
pub(crate) use history::{Histories, Shape, stage};
pub(crate) use runs::{BLOCK_EVENTS, Block, Runs};
pub(crate) use source::Source;
pub(crate) use spend::{SpendSplit, SpendTexts};
pub(crate) use text::{Dictionary, TextColumn};
pub(crate) use values::Values;

use std::collections::BTreeMap;
use std::sync::Arc;

/// The decoded columns of whole customers, sorted as the dataset is. Each is shared, so that queries that need different columns can
/// hold the same ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Split {
    /// Which rows are one customer.
    pub(crate) runs: Arc<Runs>,
    /// Per event, its day; never falls inside a customer.
    pub(crate) days: Arc<[u16]>,
    /// The stages of events and customers.
    pub(crate) histories: Arc<Histories>,
    /// Per event, its amount; `None` if not asked for.
    pub(crate) totals: Option<Arc<Amounts>>,
    /// Per event, microseconds since 1970 in UTC, or [`NO_VALUE`]; `None` if not asked for.
    pub(crate) date_times: Option<Arc<[i64]>>,
    /// Text columns by name, those that were asked for; `None` where the file has none of the name.
    pub(crate) texts: BTreeMap<String, Option<Arc<TextColumn>>>,
}

impl Split {
    /// The text column of that name, if it was asked for and the file has it.
    pub(crate) fn text(&self, name: &str) -> Option<&TextColumn> {
        self.texts.get(name)?.as_deref()
    }

    /// A customer's events, as [`Histories::events`] has them.
    pub(crate) fn history(&self, customer: usize) -> &[u8] {
        &self.histories.events()[self.runs.events(customer)]
    }
}

/// Stands for null in a column of whole numbers; no amount and no point in time that the tables accept is this far out.
pub(crate) const NO_VALUE: i64 = i64::MIN;
