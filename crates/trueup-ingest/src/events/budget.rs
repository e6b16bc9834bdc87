//! What each step may take of the memory.

use super::gather::MAX_TEXT;
use crate::IngestError;
use crate::error::ErrorKind;
use crate::place::shortened;

/// Bytes that fit in any memory: less would make row groups and files that no query likes, or refuse common customers.
const ANY: usize = 16 << 20;

/// Rows, and the bytes of memory that they take.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Size {
    pub(super) rows: usize,
    pub(super) bytes: usize,
}

/// The memory of an ingest of events, and the share that each step may take of it. Together the shares are more than the whole, but the
/// steps do not all take theirs at the same time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) memory: usize,
    /// The most events of a customer.
    pub(crate) customer_events: usize,
}

impl Budget {
    /// Rows that are held while others are read.
    pub(super) fn held(self) -> usize {
        self.memory / 2
    }

    /// The distinct texts of a column.
    pub(super) fn texts(self) -> usize {
        self.memory / 64
    }

    /// The distinct texts of all columns.
    pub(super) fn all_texts(self) -> usize {
        self.memory / 8
    }

    /// The keys of accounts, and what is known of each.
    pub(super) fn accounts(self) -> usize {
        (self.memory / 2).max(ANY)
    }

    /// A block of spilled rows; a thread holds a few.
    pub(super) fn block(self) -> usize {
        (self.memory / 128).clamp(1, ANY)
    }

    /// Rows that are sorted at once, while others are encoded.
    pub(super) fn sorted(self) -> usize {
        (self.memory / 8).min(MAX_TEXT)
    }

    /// The rows of a customer, which are held, sorted, and encoded as a whole.
    pub(super) fn customer(self) -> usize {
        (self.memory / 8).clamp(ANY, MAX_TEXT)
    }

    /// Refuses a customer with more events, or with events of more bytes, than are taken. `name` gives its account and itself.
    pub(super) fn check_customer<'n>(
        self,
        size: Size,
        name: impl FnOnce() -> (&'n str, &'n str),
    ) -> Result<(), IngestError> {
        if size.rows <= self.customer_events && size.bytes <= self.customer() {
            return Ok(());
        }
        let (account, customer) = name();
        let (account, customer) = (shown(account), shown(customer));
        let Size { rows: events, bytes } = size;
        let limit = self.customer_events;
        Err(match events > limit {
            true => ErrorKind::LongHistory { account, customer, events, limit },
            false => ErrorKind::LargeHistory { account, customer, events, bytes, limit: self.customer() },
        }
        .into())
    }

    /// The rows of a row group.
    pub(super) fn row_group(self) -> usize {
        (self.memory / 16).max(ANY)
    }

    /// The rows of the row groups that are being filled.
    pub(super) fn open_groups(self) -> usize {
        (self.memory / 6).max(2 * ANY)
    }
}

/// The most bytes of a name that a message repeats.
const SHOWN: usize = 200;

fn shown(name: &str) -> String {
    shortened(name, SHOWN).to_owned()
}
