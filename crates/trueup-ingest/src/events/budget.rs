//! How much of the memory each step of an ingest of events may take.

use crate::IngestError;
use crate::error::ErrorKind;

/// The least limit of what must fit in memory as a whole, even if the memory is smaller. A lower limit would refuse
/// ordinary customers, and make row groups and files that slow every query down.
const MIN_LIMIT: usize = 16 << 20;

/// The most bytes of a column of texts: Arrow stores the ends of texts as `i32`.
pub(super) const MAX_TEXT_COLUMN_BYTES: usize = i32::MAX as usize;

/// A number of rows, and the bytes of memory that they take.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Size {
    pub(super) rows: usize,
    pub(super) bytes: usize,
}

/// The memory of an ingest of events, and the share of each step, in bytes. The shares add up to more than the whole,
/// because the steps do not all use theirs at the same time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) memory: usize,
    /// The most events of a customer.
    pub(crate) customer_events: usize,
}

impl Budget {
    /// Returns the share of the events that are buffered while others are read.
    pub(super) fn buffer(self) -> usize {
        self.memory / 2
    }

    /// Returns the share of one dictionary.
    pub(super) fn dictionary(self) -> usize {
        self.memory / 64
    }

    /// Returns the share of all dictionaries.
    pub(super) fn dictionaries(self) -> usize {
        self.memory / 8
    }

    /// Returns the share of the account keys and of what is stored per account.
    pub(super) fn accounts(self) -> usize {
        (self.memory / 2).max(MIN_LIMIT)
    }

    /// Returns the share of the keys of new rows, with which stored customers are found.
    pub(super) fn keys(self) -> usize {
        self.memory / 16
    }

    /// Returns the share of one batch of a spill file; each thread holds a few.
    pub(super) fn spilled_batch(self) -> usize {
        (self.memory / 128).clamp(1, MIN_LIMIT)
    }

    /// Returns the share of the events that are being sorted while others are encoded as Parquet.
    pub(super) fn sort(self) -> usize {
        (self.memory / 8).min(MAX_TEXT_COLUMN_BYTES)
    }

    /// Returns the share of one customer, whose history is held, sorted and encoded as a whole.
    pub(super) fn customer(self) -> usize {
        (self.memory / 8).clamp(MIN_LIMIT, MAX_TEXT_COLUMN_BYTES)
    }

    /// Returns the share of one row group.
    pub(super) fn row_group(self) -> usize {
        (self.memory / 16).max(MIN_LIMIT)
    }

    /// Returns the share of all row groups that are being filled.
    pub(super) fn open_row_groups(self) -> usize {
        (self.memory / 6).max(2 * MIN_LIMIT)
    }

    /// Refuses a history that is longer or larger than allowed. `name` returns its account and its customer.
    pub(super) fn check_customer<'n>(
        self,
        history: Size,
        name: impl FnOnce() -> (&'n str, &'n str),
    ) -> Result<(), IngestError> {
        if history.rows <= self.customer_events && history.bytes <= self.customer() {
            return Ok(());
        }
        let (account, customer) = name();
        let (account, customer) = (account.to_owned(), customer.to_owned());
        let Size { rows: events, bytes } = history;
        let limit = self.customer_events;
        Err(match events > limit {
            true => ErrorKind::LongHistory { account, customer, events, limit },
            false => ErrorKind::LargeHistory { account, customer, events, bytes, limit: self.customer() },
        }
        .into())
    }
}
