//! Files, their manifest and statistics; pruning, and the splits that a query reads.

mod blocks;
mod cache;
mod checked;
mod file;
mod file_slice;
mod insights;
pub mod manifest;
mod memory;
mod open;
mod pages;
mod plain;
mod prune;
mod reader;
mod row_group;
pub mod store;
mod verify;

pub use blocks::BlockHasher;
pub use checked::{CheckedFile, CheckedReader, FileAt};
pub use insights::{Insight, Insights};
pub use memory::Tables;
pub use open::read_accounts;
pub use pages::{Pages, Room, check_footer, measure};
pub use reader::{check_ranges, reading};
pub use verify::Verification;

pub(crate) use prune::Pruning;
pub(crate) use row_group::RowGroup;

use crate::Day;
use crate::error::DatasetError;
use crate::model::Accounts;
use crate::query::DateRange;
use crate::scan::{EventColumns, Projection, SpendColumns, SpendProjection};
use cache::ColumnCache;
use insights::InsightFile;
use manifest::Manifest;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Events, spend and accounts, ready to be queried. Immutable, and shared between threads freely.
#[derive(Debug)]
pub struct Dataset {
    manifest: Option<Manifest>,
    accounts: Accounts,
    /// Event columns beyond those that every dataset has.
    columns: BTreeSet<String>,
    events: Vec<RowGroup<EventColumns>>,
    spend: Vec<RowGroup<SpendColumns>>,
    insights: Vec<InsightFile>,
    cache: Arc<ColumnCache>,
}

/// What statistics say of a part's rows; `None` where they say nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// The first and last account, as bytes compare; the texts need not be accounts themselves.
    pub(crate) accounts: Option<(Vec<u8>, Vec<u8>)>,
    /// The earliest and the latest day.
    pub(crate) days: Option<(i32, i32)>,
}

impl Dataset {
    /// What the dataset was opened from; `None` in memory.
    #[must_use]
    pub const fn manifest(&self) -> Option<&Manifest> {
        self.manifest.as_ref()
    }

    /// The account table; an account that is met only in events or spend is not in it and has the defaults.
    #[must_use]
    pub const fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// Every account that has a row in any table.
    ///
    /// # Errors
    /// A file does not read.
    pub fn account_keys(&self) -> Result<BTreeSet<String>, DatasetError> {
        let mut keys: BTreeSet<String> = self.accounts.iter().map(|account| account.key.clone()).collect();
        for part in &self.events {
            let split = part.read(&Projection::default())?;
            keys.extend(split.customers.present_accounts().map(|key| key.to_string()));
        }
        for part in &self.spend {
            let split = part.read(&SpendProjection::default())?;
            let met: BTreeSet<u32> = (0..split.days.len()).map(|row| split.accounts.codes.get(row)).collect();
            keys.extend(met.into_iter().map(|code| split.accounts.texts[code as usize].to_string()));
        }
        Ok(keys)
    }

    /// The event columns beyond those that every dataset has, by name; each is a dimension.
    #[must_use]
    pub const fn columns(&self) -> &BTreeSet<String> {
        &self.columns
    }

    /// The number of events.
    #[must_use]
    pub fn event_rows(&self) -> u64 {
        self.events.iter().map(|part| part.rows).sum()
    }

    /// The number of spend rows.
    #[must_use]
    pub fn spend_rows(&self) -> u64 {
        self.spend.iter().map(|part| part.rows).sum()
    }

    /// The number of parts that events are read in: row groups, in files.
    #[must_use]
    pub fn event_parts(&self) -> usize {
        self.events.len()
    }

    /// The first and the last day of any event or spend row; `None` without rows.
    #[must_use]
    pub fn date_range(&self) -> Option<DateRange> {
        let bounds = self.events.iter().map(|part| &part.bounds).chain(self.spend.iter().map(|part| &part.bounds));
        let days = bounds.filter_map(|bounds| bounds.days).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
        let day = |number| u16::try_from(number).ok().map(Day::from_number);
        Some(DateRange { start: day(days.0)?, end: day(days.1)? })
    }

    pub(crate) fn events(&self) -> &[RowGroup<EventColumns>] {
        &self.events
    }

    pub(crate) fn spend(&self) -> &[RowGroup<SpendColumns>] {
        &self.spend
    }
}
