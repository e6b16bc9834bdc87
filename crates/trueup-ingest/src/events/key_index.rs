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

/// The 64-bit words of an id's prefix.
const PREFIX_WORDS: usize = 2;

/// The bytes of an id that the contents have.
const PREFIX_BYTES: usize = PREFIX_WORDS * size_of::<u64>();

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

/// The first bytes of an id, with zeros if it has fewer, as numbers that begin with the highest byte. Prefixes have the
/// order of their ids, but different ids may have the same prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Prefix([u64; PREFIX_WORDS]);

impl Prefix {
    pub(super) fn of(id: &[u8]) -> Self {
        let (first, rest) = id.split_at_checked(8).unwrap_or((id, &[]));
        Self([number(first), number(rest)])
    }

    fn to_bytes(self) -> [u8; PREFIX_BYTES] {
        let mut bytes = [0; PREFIX_BYTES];
        bytes.as_chunks_mut().0.iter_mut().zip(self.0).for_each(|(bytes, number)| *bytes = number.to_be_bytes());
        bytes
    }
}

/// Returns the number whose bytes, beginning with the highest one, are the first eight, with zeros if there are fewer.
fn number(bytes: &[u8]) -> u64 {
    match bytes.first_chunk() {
        Some(first) => u64::from_be_bytes(*first),
        // A copy of so few bytes would take longer.
        None => (0..8).fold(0, |number, at| number << 8 | u64::from(bytes.get(at).copied().unwrap_or_default())),
    }
}

/// The least and the greatest prefix of some ids. Without ids, the first one is greater than the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PrefixBounds {
    pub(super) first: Prefix,
    pub(super) last: Prefix,
}

impl PrefixBounds {
    const OF_NONE: Self = Self { first: Prefix([u64::MAX; PREFIX_WORDS]), last: Prefix([0; PREFIX_WORDS]) };

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
            for (id, prefix) in ids.iter().zip(&prefixes) {
                let mut padded = id.as_bytes().to_vec();
                padded.resize(PREFIX_BYTES, 0);
                prop_assert_eq!(prefix.to_bytes().to_vec(), padded);
            }
            let mut bounds = PrefixBounds::OF_NONE;
            prop_assert!(prefixes.iter().all(|prefix| !bounds.contains(*prefix)));
            ids.iter().for_each(|id| bounds.add(id.as_bytes()));
            prop_assert!(prefixes.iter().all(|prefix| bounds.contains(*prefix)));
        }
    }
}
