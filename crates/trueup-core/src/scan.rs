//! A split's columns, decoded to narrow types.

mod amounts;
mod batch;
mod codes;
mod columns;
mod customers;
mod decode;
mod encoding;
mod fault;
mod history;
mod prefetch;
mod projection;
mod source;
mod spend;
mod text;
mod values;

pub(crate) use amounts::Amounts;
pub(crate) use codes::Codes;
pub(crate) use columns::TableColumns;
pub(crate) use customers::{CustomerBlock, CustomerIndex, MAX_BLOCK_EVENTS};
pub(crate) use decode::customer_numbers;
pub(crate) use encoding::{ColumnChunk, StoredRows, delta_count, delta_decode};
pub(crate) use fault::ColumnFault;
pub(crate) use history::{EventFlags, PatternId, StageHistories, StagePattern, stage};
pub(crate) use prefetch::Prefetch;
pub(crate) use projection::{Projection, SpendProjection};
pub(crate) use source::ColumnSource;
pub(crate) use spend::{SpendColumns, SpendTextColumn};
pub(crate) use text::{TextColumn, TextDictionary};
pub(crate) use values::StoredColumn;

use std::collections::BTreeMap;
use std::sync::Arc;

/// The decoded columns of whole customers, sorted as the dataset is. Each is shared, so that queries that need different columns can
/// hold the same ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct EventColumns {
    /// Which rows are one customer.
    pub(crate) customers: Arc<CustomerIndex>,
    /// Per event, its day; never falls inside a customer.
    pub(crate) days: Arc<[u16]>,
    /// The stages of events and customers.
    pub(crate) histories: Arc<StageHistories>,
    /// Per event, its amount; `None` if not asked for.
    pub(crate) totals: Option<Arc<Amounts>>,
    /// Per event, microseconds since 1970 in UTC, or [`NO_VALUE`]; `None` if not asked for.
    pub(crate) date_times: Option<Arc<[i64]>>,
    /// Text columns by name, those that were asked for; `None` where the file has none of the name.
    pub(crate) texts: BTreeMap<String, Option<Arc<TextColumn>>>,
}

impl EventColumns {
    /// The text column of that name, if it was asked for and the file has it.
    pub(crate) fn text(&self, name: &str) -> Option<&TextColumn> {
        self.texts.get(name)?.as_deref()
    }

    /// A customer's events, as flags.
    pub(crate) fn history(&self, customer: usize) -> &[EventFlags] {
        &self.histories.events()[self.customers.events(customer)]
    }
}

/// Stands for null in a column of whole numbers; no amount and no point in time that the tables accept is this far out.
pub(crate) const NO_VALUE: i64 = i64::MIN;
