//! The customers and the event ids of the rows that an ingest brings, as keys that indexes of stored files have.

use super::dictionaries::{DictionaryBuilders, lock};
use super::event_batch::EventBatch;
use super::key_index::{AccountKeys, KeySet};
use super::zone_changes::ZoneChanges;
use arrow_array::Array;
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeMap;
use std::ops::Bound;
use trueup_core::dataset::manifest::RowGroupEntry;
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
    /// Has the bit of [`ending`] of each customer: most stored customers have none of these bits, and no key of them is
    /// computed.
    endings: Box<[u64; 1 << (ENDING_BITS - 6)]>,
    event_ids: HashSet<u64>,
    /// Whether every customer of the account is wanted.
    wants_all: bool,
}

/// The stored customers that an ingest concerns: those of its rows, those with an event id of its rows, and all of
/// accounts that get another time zone. By account key.
#[derive(Debug)]
pub(super) struct WantedKeys(BTreeMap<String, KeysOfAccount>);

/// What a row group may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wanted {
    Nothing,
    /// Wanted customers, and no wanted event id.
    Customers,
    EventIds,
}

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
                let is_new = of_account.add_customer(batch.opportunity_ids.value(row));
                let is_new_event = batch.event_ids.is_valid(row)
                    && of_account.event_ids.insert(of_account.keys.event(batch.event_ids.value(row)));
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
            wanted.entry(account.to_owned()).or_insert_with(keys).wants_all = true;
        }
        Some(WantedKeys(wanted))
    }
}

impl KeysOfAccount {
    fn new(keys: AccountKeys) -> Self {
        let endings = Box::new([0; 1 << (ENDING_BITS - 6)]);
        Self { keys, customers: HashSet::new(), endings, event_ids: HashSet::new(), wants_all: false }
    }

    /// Adds a customer. Returns whether its key is new.
    fn add_customer(&mut self, opportunity_id: &str) -> bool {
        let ending = ending(opportunity_id);
        self.endings[ending / 64] |= 1 << (ending % 64);
        self.customers.insert(self.keys.customer(opportunity_id))
    }

    pub(super) fn wants_customer(&self, opportunity_id: &str) -> bool {
        let ending = ending(opportunity_id);
        let may_have = self.endings[ending / 64] >> (ending % 64) & 1 == 1;
        self.wants_all || may_have && self.customers.contains(&self.keys.customer(opportunity_id))
    }

    pub(super) fn wants_event(&self, event_id: &str) -> bool {
        self.event_ids.contains(&self.keys.event(event_id))
    }
}

/// Returns a number below 2^[`ENDING_BITS`] that depends on the last bytes of an id, because ids mostly begin alike.
fn ending(id: &str) -> usize {
    // 2^64 divided by the golden ratio, which spreads numbers that are close to each other.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

    let last = match id.as_bytes().last_chunk::<8>() {
        Some(last) => u64::from_le_bytes(*last),
        None => id.bytes().fold(0, |number, byte| number << 8 | u64::from(byte)),
    };
    usize::try_from(last.wrapping_mul(SPREAD) >> (64 - ENDING_BITS)).unwrap_or(0)
}

impl WantedKeys {
    /// Returns the keys of an account; `None` if nothing of it is wanted.
    pub(super) fn of(&self, account: &str) -> Option<&KeysOfAccount> {
        self.0.get(account)
    }

    /// Returns the keys of the accounts that a row group may have.
    fn within<'k>(&'k self, row_group: &'k RowGroupEntry) -> impl Iterator<Item = &'k KeysOfAccount> {
        let (first, last) = match &row_group.accounts {
            Some((first, last)) => (Bound::Included(first.as_str()), Bound::Included(last.as_str())),
            None => (Bound::Unbounded, Bound::Unbounded),
        };
        // A range whose ends are in the wrong order would panic; it has no account.
        let is_range = row_group.accounts.as_ref().is_none_or(|(first, last)| first <= last);
        let keys = is_range.then(|| self.0.range::<str, _>((first, last)));
        keys.into_iter().flatten().map(|(_, keys)| keys)
    }

    /// Returns whether a row group may have rows of an account of which something is wanted.
    pub(super) fn concerns(&self, row_group: &RowGroupEntry) -> bool {
        self.within(row_group).next().is_some()
    }

    /// Returns what a row group may have of what is wanted, given the keys of all of its rows.
    pub(super) fn wanted_of(&self, row_group: &RowGroupEntry, stored: &KeySet<'_>) -> Wanted {
        let mut wanted = Wanted::Nothing;
        for keys in self.within(row_group) {
            if keys.event_ids.iter().any(|key| stored.may_have(*key)) {
                return Wanted::EventIds;
            }
            if wanted == Wanted::Nothing && (keys.wants_all || keys.customers.iter().any(|key| stored.may_have(*key))) {
                wanted = Wanted::Customers;
            }
        }
        wanted
    }
}
