//! The customers, the event ids and the records that an ingest brings, as keys that indexes of stored files have.

use super::dictionaries::{DictionaryBuilders, lock};
use super::event_batch::EventBatch;
use super::key_index::{AccountKeys, Lookup, Prefix, PrefixBounds};
use super::zone_changes::ZoneChanges;
use crate::held::in_row_group;
use crate::records::DeliveredRecords;
use arrow_array::Array;
use hashbrown::hash_map::Entry;
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeMap;
use trueup_core::dataset::manifest::{DataFile, RowGroupEntry};
use trueup_core::model::ACCOUNT;

/// Bytes of memory that a key takes, with the spare room of its set.
const KEY_BYTES: usize = 16;

/// An account takes as much memory as this many keys, for its endings and its sets.
const ACCOUNT_KEYS: usize = 64;

/// Bytes of memory that a key takes in the order of ids, with spare room.
const ORDERED_BYTES: usize = 2 * size_of::<(Prefix, u64)>();

/// One in this many bytes is for keys in the order of ids.
const ORDERED_SHARE: usize = 4;

/// The bits of [`ending`].
const ENDING_BITS: u32 = 12;

/// Collects the keys of new rows.
pub(super) struct NewKeys<'a> {
    dictionaries: &'a DictionaryBuilders,
    /// By the code of the account; `None` once they do not fit.
    accounts: Option<HashMap<u32, KeysOfAccount>>,
    /// How many further keys fit.
    room: usize,
    /// How many further keys fit in the order of ids; `None` once they do not. Sections of indexes are then read even
    /// if they have none of the ids.
    ordered_room: Option<usize>,
}

/// The keys of an account's new rows.
#[derive(Debug)]
pub(super) struct KeysOfAccount {
    keys: AccountKeys,
    customers: NewIds,
    /// Those of the customers, or all if every customer is wanted.
    endings: Endings,
    event_ids: NewIds,
    /// Whether every customer of the account is wanted.
    wants_all: bool,
}

/// The customers of an account's new rows, or their event ids.
#[derive(Debug)]
struct NewIds {
    keys: HashSet<u64>,
    /// The keys with the beginnings of the ids, which are sorted once there are no further ids; `None` if they do not
    /// fit in memory.
    ordered: Option<Vec<(Prefix, u64)>>,
}

/// How ids of customers end, as far as [`ending`] tells. Most stored customers have an ending that no wanted customer
/// has, and their keys are not computed.
#[derive(Debug)]
pub(super) struct Endings(Box<[u64; 1 << (ENDING_BITS - 6)]>);

/// The stored customers that an ingest concerns: those of its rows, those with an event id of its rows, and all of
/// accounts that get another time zone. By account key.
#[derive(Debug)]
pub(super) struct WantedKeys(BTreeMap<String, KeysOfAccount>);

impl<'a> NewKeys<'a> {
    /// Begins without keys. They may take `bytes` of memory.
    pub(super) fn new(dictionaries: &'a DictionaryBuilders, bytes: usize) -> Self {
        let ordered = bytes / ORDERED_SHARE;
        let (room, ordered_room) = ((bytes - ordered) / KEY_BYTES, Some(ordered / ORDERED_BYTES));
        Self { dictionaries, accounts: Some(HashMap::new()), room, ordered_room }
    }

    /// Adds the keys of some rows.
    pub(super) fn add(&mut self, batch: &EventBatch) {
        let Some(accounts) = &mut self.accounts else { return };
        let mut start = 0;
        for (account, len) in batch.account_runs() {
            let rows = start..start + len as usize;
            start = rows.end;
            // Each row has two ids at most.
            let is_ordered = self.ordered_room.is_some_and(|room| room / 2 >= rows.len());
            if !is_ordered && self.ordered_room.take().is_some() {
                accounts.values_mut().for_each(KeysOfAccount::forget_order);
            }
            let of_account = match accounts.entry(account) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => {
                    let Some(room) = self.room.checked_sub(ACCOUNT_KEYS) else {
                        self.accounts = None;
                        return;
                    };
                    self.room = room;
                    let keys = AccountKeys::of(lock(&self.dictionaries.of(ACCOUNT)).text(account));
                    new.insert(KeysOfAccount::new(keys, is_ordered))
                }
            };
            for row in rows {
                let is_new = of_account.add_customer(batch.opportunity_ids.value(row).as_bytes());
                let is_new_event =
                    batch.event_ids.is_valid(row) && of_account.add_event_id(batch.event_ids.value(row).as_bytes());
                let added = usize::from(is_new) + usize::from(is_new_event);
                let Some(room) = self.room.checked_sub(added) else {
                    self.accounts = None;
                    return;
                };
                self.room = room;
                self.ordered_room = self.ordered_room.map(|room| room.saturating_sub(added));
            }
        }
    }

    /// Returns the keys, with delivered records and the accounts that get another time zone; `None` if they do not fit
    /// in memory.
    pub(super) fn finish(self, zone_changes: &ZoneChanges, records: Option<&DeliveredRecords>) -> Option<WantedKeys> {
        let delivered = records.map_or(0, DeliveredRecords::count);
        self.room.checked_sub(delivered)?;
        let is_ordered = self.ordered_room.is_some_and(|room| room >= delivered);
        let dictionary = self.dictionaries.of(ACCOUNT);
        let dictionary = lock(&dictionary);
        let mut wanted: BTreeMap<String, KeysOfAccount> =
            self.accounts?.into_iter().map(|(account, keys)| (dictionary.text(account).to_owned(), keys)).collect();
        if !is_ordered {
            wanted.values_mut().for_each(KeysOfAccount::forget_order);
        }
        for (account, records) in records.into_iter().flat_map(DeliveredRecords::by_account) {
            let keys = || KeysOfAccount::new(AccountKeys::of(account), is_ordered);
            let of_account = wanted.entry(account.to_owned()).or_insert_with(keys);
            // An index has records next to event ids.
            for record in records {
                of_account.add_event_id(record.as_bytes());
            }
        }
        for account in zone_changes.accounts() {
            let keys = || KeysOfAccount::new(AccountKeys::of(account), true);
            wanted.entry(account.to_owned()).or_insert_with(keys).want_all();
        }
        wanted.values_mut().for_each(KeysOfAccount::sort);
        Some(WantedKeys(wanted))
    }
}

impl KeysOfAccount {
    /// Begins without keys. `is_ordered` says whether there is memory for the order of ids.
    fn new(keys: AccountKeys, is_ordered: bool) -> Self {
        let ids = || NewIds { keys: HashSet::new(), ordered: is_ordered.then(Vec::new) };
        Self { keys, customers: ids(), endings: Endings::none(), event_ids: ids(), wants_all: false }
    }

    /// Adds a customer. Returns whether its key is new.
    fn add_customer(&mut self, opportunity_id: &[u8]) -> bool {
        self.endings.add(opportunity_id);
        self.customers.add(opportunity_id, self.keys.customer(opportunity_id))
    }

    /// Adds an event id. Returns whether its key is new.
    fn add_event_id(&mut self, event_id: &[u8]) -> bool {
        self.event_ids.add(event_id, self.keys.event(event_id))
    }

    fn want_all(&mut self) {
        self.wants_all = true;
        self.endings = Endings::all();
    }

    fn forget_order(&mut self) {
        self.customers.ordered = None;
        self.event_ids.ordered = None;
    }

    fn sort(&mut self) {
        for ids in [&mut self.customers, &mut self.event_ids] {
            ids.ordered.iter_mut().for_each(|ordered| ordered.sort_unstable());
        }
    }

    pub(super) fn wants_customer(&self, opportunity_id: &[u8]) -> bool {
        let has_key = || self.customers.keys.contains(&self.keys.customer(opportunity_id));
        self.endings.has(opportunity_id) && (self.wants_all || has_key())
    }

    /// Returns whether an event id or a record is wanted.
    pub(super) fn wants_event(&self, event_id: &[u8]) -> bool {
        self.event_ids.keys.contains(&self.keys.event(event_id))
    }
}

impl NewIds {
    /// Adds an id. Returns whether its key is new.
    fn add(&mut self, id: &[u8], key: u64) -> bool {
        let is_new = self.keys.insert(key);
        if is_new && let Some(ordered) = &mut self.ordered {
            ordered.push((Prefix::of(id), key));
        }
        is_new
    }

    /// Adds the keys of the ids that may lie within bounds to `keys`.
    fn add_within(&self, bounds: PrefixBounds, keys: &mut Vec<u64>) {
        let Some(ordered) = &self.ordered else { return keys.extend(&self.keys) };
        let start = ordered.partition_point(|(prefix, _)| *prefix < bounds.first);
        let within = ordered[start..].iter().take_while(|(prefix, _)| *prefix <= bounds.last);
        keys.extend(within.map(|(_, key)| key));
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
    /// Returns the keys of event ids, which are given by account.
    pub(super) fn of_events<'i>(ids: impl Iterator<Item = (&'i str, impl Iterator<Item = &'i str>)>) -> Self {
        let of_account = |(account, ids): (&'i str, _)| {
            let mut keys = KeysOfAccount::new(AccountKeys::of(account), true);
            for id in ids {
                keys.add_event_id(str::as_bytes(id));
            }
            keys.sort();
            (account.to_owned(), keys)
        };
        Self(ids.map(of_account).collect())
    }

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

    /// Returns whether a file may have rows of an account of which something is wanted.
    pub(super) fn concern(&self, file: &DataFile) -> bool {
        file.row_groups.iter().any(|row_group| in_row_group(&self.0, row_group).next().is_some())
    }

    /// Returns what is to be looked for in a row group whose customers and event ids lie within these bounds.
    pub(super) fn lookup(&self, row_group: &RowGroupEntry, customers: PrefixBounds, event_ids: PrefixBounds) -> Lookup {
        let mut lookup = Lookup::default();
        for (_, keys) in in_row_group(&self.0, row_group) {
            lookup.wants_all |= keys.wants_all;
            keys.customers.add_within(customers, &mut lookup.customers);
            keys.event_ids.add_within(event_ids, &mut lookup.event_ids);
        }
        lookup
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_outside_of_the_bounds_are_not_looked_for() {
        let keys = AccountKeys::of("acme");
        let mut new = KeysOfAccount::new(keys, true);
        let ids = ["2026-04-0009", "2026-05-0001", "2026-05-0002", "9", "2026-05-0001"];
        assert_eq!(ids.map(|id| new.add_customer(id.as_bytes())), [true, true, true, true, false]);
        new.sort();
        let within = |new: &KeysOfAccount, first: &str, last: &str| {
            let mut found = Vec::new();
            let prefix = |id: &str| Prefix::of(id.as_bytes());
            new.customers.add_within(PrefixBounds { first: prefix(first), last: prefix(last) }, &mut found);
            found.sort_unstable();
            found
        };
        let keys_of = |ids: &[&str]| {
            let mut keys: Vec<u64> = ids.iter().map(|id| keys.customer(id.as_bytes())).collect();
            keys.sort_unstable();
            keys
        };
        assert_eq!(within(&new, "2026-05", "2026-05-0001"), keys_of(&["2026-05-0001"]));
        assert_eq!(within(&new, "2026-04-0009", "2026-05-0002"), keys_of(&ids[..3]));
        assert_eq!(within(&new, "2027", "8"), keys_of(&[]));
        // As in a row group without ids.
        assert_eq!(within(&new, "9", "2"), keys_of(&[]));
        new.forget_order();
        assert_eq!(within(&new, "2027", "8"), keys_of(&ids[..4]));
    }
}
