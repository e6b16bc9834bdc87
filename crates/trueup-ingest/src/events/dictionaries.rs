//! The distinct texts of an ingest's columns, and their codes. Codes are given in the order in which texts are first
//! seen.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::collections::BTreeMap;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use trueup_core::model::ACCOUNT;

/// Bytes of memory that a text takes in addition to its own bytes, including the spare room of lists and tables that
/// grow.
const TEXT_OVERHEAD_BYTES: usize = 48;

/// Bytes of memory that an account takes in addition to its key, in lists of sizes, of ranks, and of ranges of rows.
const ACCOUNT_BYTES: usize = 64;

/// The dictionaries of all columns while events are read. Several threads add to them.
#[derive(Debug)]
pub(super) struct DictionaryBuilders {
    columns: Mutex<BTreeMap<String, Arc<Mutex<DictionaryBuilder>>>>,
    /// Bytes for the texts of a column. A column with more keeps its further texts as they are.
    room: usize,
    /// Bytes that are left for the texts of all columns but the accounts.
    shared_room: Arc<AtomicUsize>,
}

/// The dictionary of one column while events are read. Code 0 is the empty text, which represents null.
#[derive(Debug)]
pub(super) struct DictionaryBuilder {
    codes: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// By code.
    texts: Vec<Box<str>>,
    /// Bytes that are left for texts of this column.
    room: usize,
    /// Bytes that are left for texts of any column.
    shared_room: Arc<AtomicUsize>,
}

/// The dictionaries of all columns once everything is read.
#[derive(Debug)]
pub(super) struct EventDictionaries {
    /// The texts of each column by code.
    texts: BTreeMap<String, Vec<Box<str>>>,
    /// The rank of each account in the order of the keys, by code.
    account_ranks: Vec<u32>,
}

impl DictionaryBuilders {
    /// Begins without dictionaries. `room` is the memory of each in bytes, `shared_room` that of all together.
    pub(super) fn new(room: usize, shared_room: usize) -> Self {
        Self { columns: Mutex::default(), room, shared_room: Arc::new(AtomicUsize::new(shared_room)) }
    }

    /// Returns the dictionary of a column.
    pub(super) fn of(&self, column: &str) -> Arc<Mutex<DictionaryBuilder>> {
        let mut columns = lock(&self.columns);
        if let Some(dictionary) = columns.get(column) {
            return dictionary.clone();
        }
        // Every account needs a code, because the rows are sorted by the ranks of the codes.
        let dictionary = match column == ACCOUNT {
            true => DictionaryBuilder::new(usize::MAX, Arc::new(AtomicUsize::new(usize::MAX))),
            false => DictionaryBuilder::new(self.room, self.shared_room.clone()),
        };
        columns.entry(column.to_owned()).or_insert(Arc::new(Mutex::new(dictionary))).clone()
    }

    /// Returns the number of accounts, and the bytes that they take.
    pub(super) fn accounts(&self) -> (usize, usize) {
        let accounts = self.of(ACCOUNT);
        let accounts = lock(&accounts);
        // The empty text is no account. The room began as `usize::MAX`, so the difference is what the accounts take.
        let count = accounts.texts.len() - 1;
        (count, usize::MAX - accounts.room + count * ACCOUNT_BYTES)
    }

    /// Ends the dictionaries.
    pub(super) fn finish(self) -> EventDictionaries {
        let columns = self.columns.into_inner().unwrap_or_else(PoisonError::into_inner);
        let texts: BTreeMap<_, _> =
            columns.into_iter().map(|(name, texts)| (name, std::mem::take(&mut lock(&texts).texts))).collect();
        let account_ranks = ranks(texts.get(ACCOUNT).map_or(&[], Vec::as_slice));
        EventDictionaries { texts, account_ranks }
    }
}

impl DictionaryBuilder {
    fn new(room: usize, shared_room: Arc<AtomicUsize>) -> Self {
        let texts = vec![Box::from("")];
        Self { codes: HashTable::new(), hasher: DefaultHashBuilder::default(), texts, room, shared_room }
    }

    /// Returns the code of a text, or `None` if the text is new and there is no room for it.
    pub(super) fn code(&mut self, text: &str) -> Option<u32> {
        if text.is_empty() {
            return Some(0);
        }
        let Self { codes, hasher, texts, room, shared_room } = self;
        let hash = hasher.hash_one(text);
        if let Some(code) = codes.find(hash, |code| *texts[*code as usize] == *text) {
            return Some(*code);
        }
        let code = u32::try_from(texts.len()).ok()?;
        let bytes = text.len() + TEXT_OVERHEAD_BYTES;
        let left = room.checked_sub(bytes)?;
        take(shared_room, bytes)?;
        *room = left;
        texts.push(Box::from(text));
        codes.insert_unique(hash, code, |code| hasher.hash_one(&*texts[*code as usize]));
        Some(code)
    }

    /// Returns the rank of each text among the texts so far, by code.
    pub(super) fn ranks(&self) -> Vec<u32> {
        ranks(&self.texts)
    }

    /// Returns the text of a code.
    pub(super) fn text(&self, code: u32) -> &str {
        self.texts.get(code as usize).map_or("", AsRef::as_ref)
    }
}

impl EventDictionaries {
    /// Returns the texts of a column by code; none if no row has codes of it.
    pub(super) fn texts(&self, column: &str) -> &[Box<str>] {
        self.texts.get(column).map_or(&[], Vec::as_slice)
    }

    /// Returns the key of an account, given its code.
    pub(super) fn account(&self, code: u32) -> &str {
        self.texts(ACCOUNT).get(code as usize).map_or("", AsRef::as_ref)
    }

    /// Returns the rank of an account in the order of the keys, given its code.
    pub(super) fn account_rank(&self, code: u32) -> u32 {
        self.account_ranks[code as usize]
    }

    /// Returns the rank of each account in the order of the keys, by code.
    pub(super) fn account_ranks(&self) -> &[u32] {
        &self.account_ranks
    }
}

/// Returns the rank of each text in their sorted order.
fn ranks(texts: &[Box<str>]) -> Vec<u32> {
    let mut sorted: Vec<(&str, usize)> = texts.iter().map(AsRef::as_ref).zip(0..).collect();
    sorted.sort_unstable();
    let mut ranks = vec![0; texts.len()];
    for ((_, at), rank) in sorted.into_iter().zip(0..) {
        ranks[at] = rank;
    }
    ranks
}

/// Locks a mutex. Its content is whole at any time, even if a thread has panicked while it held the lock.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes bytes from the room that several threads share; `None` if there is less.
fn take(room: &AtomicUsize, bytes: usize) -> Option<()> {
    room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |room| room.checked_sub(bytes)).ok().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_has_one_code_as_long_as_there_is_room() {
        let shared_room = Arc::new(AtomicUsize::new(3 * TEXT_OVERHEAD_BYTES + 4));
        let mut texts = DictionaryBuilder::new(2 * TEXT_OVERHEAD_BYTES + 3, shared_room.clone());
        assert_eq!(["b", "", "ab", "b"].map(|text| texts.code(text).unwrap()), [1, 0, 2, 1]);
        assert_eq!(texts.code("c"), None);
        assert_eq!((texts.code("ab"), texts.text(1)), (Some(2), "b"));
        let mut others = DictionaryBuilder::new(usize::MAX, shared_room);
        assert_eq!(["a", "b"].map(|text| others.code(text)), [Some(1), None]);
    }
}
