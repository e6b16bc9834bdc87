//! A split's columns, decoded to narrow types.

mod decode;
mod fault;
mod runs;
mod spend;
mod text;

pub(crate) use fault::ColumnFault;
pub(crate) use runs::Runs;
pub(crate) use spend::SpendSplit;
pub(crate) use text::{CodedTexts, Dictionary, TextColumn};

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
    /// Per event, the code of its stage.
    pub(crate) stages: Arc<[u8]>,
    /// Per event, its amount in millionths, or [`NO_VALUE`]; empty if not asked for.
    pub(crate) totals: Arc<[i64]>,
    /// Per event, microseconds since 1970 in UTC, or [`NO_VALUE`]; empty if not asked for.
    pub(crate) date_times: Arc<[i64]>,
    /// Text columns by name, those that were asked for.
    pub(crate) texts: BTreeMap<String, Arc<TextColumn>>,
}

impl Split {
    /// The text column of that name, if it was asked for and the file has it.
    pub(crate) fn text(&self, name: &str) -> Option<&TextColumn> {
        self.texts.get(name).map(|column| &**column)
    }
}

/// Stands for null in a column of whole numbers; no amount and no point in time that the tables accept is this far out.
pub(crate) const NO_VALUE: i64 = i64::MIN;

/// Codes of the funnel's stages.
pub(crate) mod stage {
    use crate::model::Stage;

    pub(crate) const LEAD_ORIGINATED: u8 = Stage::LeadOriginated.code();
    pub(crate) const BOOKED: u8 = Stage::Booked.code();
    pub(crate) const ESTIMATED: u8 = Stage::Estimated.code();
    pub(crate) const SOLD: u8 = Stage::Sold.code();
    pub(crate) const CLOSED: u8 = Stage::Closed.code();
    pub(crate) const CANCELED: u8 = Stage::Canceled.code();
    /// How many stages there are; codes are below.
    pub(crate) const COUNT: usize = Stage::ALL.len();
}
