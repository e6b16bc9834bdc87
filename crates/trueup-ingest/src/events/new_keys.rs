//! The customers and the event ids of the rows that an ingest brings, as keys that indexes of stored files have.

use super::dictionaries::{DictionaryBuilders, lock};
use super::event_batch::EventBatch;
use super::key_index::{AccountKeys, FoundPages, FoundRows, KeyIndex};
use super::zone_changes::ZoneChanges;
use arrow_array::Array;
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeMap;
use std::ops::Bound;
use trueup_core::dataset::manifest::{DataFile, RowGroupEntry};
use trueup_core::model::ACCOUNT;

/// Bytes of memory that a key takes, with the spare room of its set.
const KEY_BYTES: usize = 16;

/// The bits of [`ending`].
const ENDING_BITS: u32 = 12;

/// Collects the keys of new rows.
pub(super) struct NewKeys<'a> {
    dictionaries: &'a DictionaryBuilders,
    /// By the code of the account; `None` once they do not fit.
    accounts: Option<HashMap<u32, KeysOfAccount>>,
    /// How many further keys fit.
    room: usize,
}

/// The keys of an account's new rows.
#[derive(Debug)]
pub(super) struct KeysOfAccount {
    keys: AccountKeys,
    customers: HashSet<u64>,
    /// Those of the customers, or all if every customer is wanted.
    endings: Endings,
    event_ids: HashSet<u64>,
    /// Whether every customer of the account is wanted.
    wants_all: bool,
}

/// How ids of customers end, as far as [`ending`] tells. Most stored customers have another ending than all wanted
/// ones, and no key of them is computed.
#[derive(Debug)]
pub(super) struct Endings(Box<[u64; 1 << (ENDING_BITS - 6)]>);

/// The stored customers that an ingest concerns: those of its rows, those with an event id of its rows, and all of
/// accounts that get another time zone. By account key.
#[derive(Debug)]
pub(super) struct WantedKeys(BTreeMap<String, KeysOfAccount>);

impl<'a> NewKeys<'a> {
    /// Begins without keys. They may take `bytes` of memory.
    pub(super) fn new(dictionaries: &'a DictionaryBuilders, bytes: usize) -> Self {
        Self { dictionaries, accounts: Some(HashMap::new()), room: bytes / KEY_BYTES }
    }

    /// Adds the keys of some rows.
    pub(super) fn add(&mut self, batch: &EventBatch) {
        let Some(accounts) = &mut self.accounts else { return };
        let mut start = 0;
        for (account, len) in batch.account_runs() {
            let rows = start..start + len as usize;
            start = rows.end;
            let of_account = accounts.entry(account).or_insert_with(|| {
                KeysOfAccount::new(AccountKeys::of(lock(&self.dictionaries.of(ACCOUNT)).text(account)))
            });
            for row in rows {
                let is_new = of_account.add_customer(batch.opportunity_ids.value(row).as_bytes());
                let is_new_event = batch.event_ids.is_valid(row)
                    && of_account.event_ids.insert(of_account.keys.event(batch.event_ids.value(row).as_bytes()));
                let Some(room) = self.room.checked_sub(usize::from(is_new) + usize::from(is_new_event)) else {
                    self.accounts = None;
                    return;
                };
                self.room = room;
            }
        }
    }

    /// Returns the keys, with the accounts that get another time zone; `None` if they do not fit in memory.
    pub(super) fn finish(self, zone_changes: &ZoneChanges) -> Option<WantedKeys> {
        let dictionary = self.dictionaries.of(ACCOUNT);
        let dictionary = lock(&dictionary);
        let mut wanted: BTreeMap<String, KeysOfAccount> =
            self.accounts?.into_iter().map(|(account, keys)| (dictionary.text(account).to_owned(), keys)).collect();
        for account in zone_changes.accounts() {
            let keys = || KeysOfAccount::new(AccountKeys::of(account));
            wanted.entry(account.to_owned()).or_insert_with(keys).want_all();
        }
        Some(WantedKeys(wanted))
    }
}

impl KeysOfAccount {
    fn new(keys: AccountKeys) -> Self {
        let (endings, customers, event_ids) = (Endings::none(), HashSet::new(), HashSet::new());
        Self { keys, customers, endings, event_ids, wants_all: false }
    }

    /// Adds a customer. Returns whether its key is new.
    fn add_customer(&mut self, opportunity_id: &[u8]) -> bool {
        self.endings.add(opportunity_id);
        self.customers.insert(self.keys.customer(opportunity_id))
    }

    fn want_all(&mut self) {
        self.wants_all = true;
        self.endings = Endings::all();
    }

    pub(super) fn wants_customer(&self, opportunity_id: &[u8]) -> bool {
        let has_key = || self.customers.contains(&self.keys.customer(opportunity_id));
        self.endings.has(opportunity_id) && (self.wants_all || has_key())
    }

    pub(super) fn wants_event(&self, event_id: &[u8]) -> bool {
        self.event_ids.contains(&self.keys.event(event_id))
    }
}

impl Endings {
    fn none() -> Self {
        Self(Box::new([0; 1 << (ENDING_BITS - 6)]))
    }

    fn all() -> Self {
        Self(Box::new([u64::MAX; 1 << (ENDING_BITS - 6)]))
    }

    fn add(&mut self, id: &[u8]) {
        let ending = ending(id);
        self.0[ending / 64] |= 1 << (ending % 64);
    }

    fn add_all(&mut self, others: &Self) {
        self.0.iter_mut().zip(&others.0[..]).for_each(|(word, other)| *word |= other);
    }

    /// Returns whether some id with the ending of this one was added.
    pub(super) fn has(&self, id: &[u8]) -> bool {
        let ending = ending(id);
        self.0[ending / 64] >> (ending % 64) & 1 == 1
    }
}

/// Returns a number below 2^[`ENDING_BITS`] that depends on the last bytes of an id, because ids mostly begin alike.
fn ending(id: &[u8]) -> usize {
    // 2^64 divided by the golden ratio, which spreads numbers that are close to each other.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

    let last = match id.last_chunk::<8>() {
        Some(last) => u64::from_le_bytes(*last),
        None => id.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)),
    };
    usize::try_from(last.wrapping_mul(SPREAD) >> (64 - ENDING_BITS)).unwrap_or(0)
}

impl WantedKeys {
    /// Returns the keys of an account; `None` if nothing of it is wanted.
    pub(super) fn of(&self, account: &str) -> Option<&KeysOfAccount> {
        self.0.get(account)
    }

    /// Returns the endings of the wanted customers of some accounts.
    pub(super) fn endings<'n>(&self, accounts: impl Iterator<Item = &'n str>) -> Endings {
        let mut endings = Endings::none();
        let mut last = None;
        for account in accounts {
            // An account may be there many times.
            if last != Some(account) {
                last = Some(account);
                self.of(account).into_iter().for_each(|keys| endings.add_all(&keys.endings));
            }
        }
        endings
    }

    /// Returns the keys of the accounts between two, or of all.
    fn within<'k>(&'k self, bounds: Option<(&'k str, &'k str)>) -> impl Iterator<Item = (&'k str, &'k KeysOfAccount)> {
        let range = match bounds {
            // A range whose ends are in the wrong order would panic; it has no account.
            Some((first, last)) if first > last => (Bound::Excluded(last), Bound::Included(last)),
            Some((first, last)) => (Bound::Included(first), Bound::Included(last)),
            None => (Bound::Unbounded, Bound::Unbounded),
        };
        self.0.range::<str, _>(range).map(|(account, keys)| (account.as_str(), keys))
    }

    /// Returns whether a file may have rows of an account of which something is wanted.
    pub(super) fn concern(&self, file: &DataFile) -> bool {
        file.row_groups.iter().any(|row_group| self.within(bounds(row_group)).next().is_some())
    }

    /// Returns the rows of a file among which what is wanted is to be looked for.
    pub(super) fn find(&self, file: &DataFile, index: &KeyIndex<'_>) -> Vec<FoundRows> {
        let mut pages = FoundPages::within(file, index);
        let of_row_groups = file.row_groups.iter().map(bounds);
        let of_file = of_row_groups.reduce(|one, other| {
            let ((first, last), other) = one.zip(other)?;
            Some((first.min(other.0), last.max(other.1)))
        });
        for (account, keys) in of_file.into_iter().flat_map(|bounds| self.within(bounds)) {
            if keys.wants_all {
                pages.add_account(account);
            }
            keys.customers.iter().for_each(|key| pages.add_customer(account, *key, index));
            keys.event_ids.iter().for_each(|key| pages.add_event_id(account, *key, index));
        }
        pages.rows()
    }
}

/// Returns the first and the last account that a row group may have; `None` if it may have any.
fn bounds(row_group: &RowGroupEntry) -> Option<(&str, &str)> {
    row_group.accounts.as_ref().map(|(first, last)| (first.as_str(), last.as_str()))
}
