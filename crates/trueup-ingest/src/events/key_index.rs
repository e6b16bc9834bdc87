//! The index of a file of events: which rows may be of a customer, or have some event id. An ingest thus finds the
//! stored customers that it concerns without reading the columns of all row groups.
//!
//! The index stands between the last row group and the footer, where readers of Parquet do not look. It has a
//! [`section`] for each row group, and then its [`contents`], which say where each section is, and between which
//! ids its customers and its event ids lie. Ids mostly grow with time, so that an ingest of new events reads few
//! sections.

mod contents;
mod section;

pub(super) use contents::{FoundRows, KeyIndex, Lookup, encode_index, may_have_account};
pub(super) use section::{Section, SectionBuilder};

use twox_hash::XxHash64;

/// The bytes of an id that the contents have.
const PREFIX_BYTES: usize = 16;

/// The keys of one account. A key stands for a customer of the account, or for an event id in the account.
#[derive(Clone, Copy, Debug)]
pub(super) struct AccountKeys {
    customers: u64,
    event_ids: u64,
}

impl AccountKeys {
    pub(super) fn of(account: &str) -> Self {
        let seed = |kind| XxHash64::oneshot(kind, account.as_bytes());
        Self { customers: seed(0), event_ids: seed(1) }
    }

    /// Returns the key of a customer.
    pub(super) fn customer(self, opportunity_id: &[u8]) -> u64 {
        XxHash64::oneshot(self.customers, opportunity_id)
    }

    /// Returns the key of an event id.
    pub(super) fn event(self, event_id: &[u8]) -> u64 {
        XxHash64::oneshot(self.event_ids, event_id)
    }
}

/// The first bytes of an id, with zeros if it has fewer. Prefixes have the order of their ids, but different ids may
/// have the same prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Prefix([u8; PREFIX_BYTES]);

impl Prefix {
    pub(super) fn of(id: &[u8]) -> Self {
        Self(id.first_chunk().copied().unwrap_or_else(|| {
            let mut padded = [0; PREFIX_BYTES];
            padded[..id.len()].copy_from_slice(id);
            padded
        }))
    }
}

/// The least and the greatest prefix of some ids. Without ids, the first one is greater than the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PrefixBounds {
    pub(super) first: Prefix,
    pub(super) last: Prefix,
}

impl PrefixBounds {
    const OF_NONE: Self = Self { first: Prefix([u8::MAX; PREFIX_BYTES]), last: Prefix([0; PREFIX_BYTES]) };

    pub(super) fn contains(&self, prefix: Prefix) -> bool {
        self.first <= prefix && prefix <= self.last
    }

    fn add(&mut self, id: &[u8]) {
        let prefix = Prefix::of(id);
        self.first = self.first.min(prefix);
        self.last = self.last.max(prefix);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn prefixes_have_the_order_of_ids(ids in prop::collection::vec("[a-c\0]{0,20}", 2)) {
            let prefixes: Vec<Prefix> = ids.iter().map(|id| Prefix::of(id.as_bytes())).collect();
            prop_assert!(ids[0] > ids[1] || prefixes[0] <= prefixes[1]);
            let mut bounds = PrefixBounds::OF_NONE;
            prop_assert!(prefixes.iter().all(|prefix| !bounds.contains(*prefix)));
            ids.iter().for_each(|id| bounds.add(id.as_bytes()));
            prop_assert!(prefixes.iter().all(|prefix| bounds.contains(*prefix)));
        }
    }
}
