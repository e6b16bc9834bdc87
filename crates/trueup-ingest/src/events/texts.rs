//! The distinct texts of an ingest's columns, numbered as they are met.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::collections::BTreeMap;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use trueup_core::model::ACCOUNT;

/// Bytes that a text takes apart from its own, while lists and tables grow.
const OVERHEAD: usize = 48;

/// Bytes that an account takes in lists of accounts apart from its key: sizes, ranks, runs of its rows.
const ACCOUNT_BYTES: usize = 64;

/// The texts of a column by code. The code 0 is the empty text, which stands for null.
#[derive(Debug)]
pub(super) struct Texts {
    known: HashTable<u32>,
    hasher: DefaultHashBuilder,
    texts: Vec<Box<str>>,
    /// Bytes that are left for more texts.
    room: usize,
    /// Bytes that are left for more texts of any column.
    room_of_all: Arc<AtomicUsize>,
}

impl Texts {
    fn new(room: usize, room_of_all: Arc<AtomicUsize>) -> Self {
        let texts = vec![Box::from("")];
        Self { known: HashTable::new(), hasher: DefaultHashBuilder::default(), texts, room, room_of_all }
    }

    /// The code of a text; `None` if it is a new one and there is no room for it.
    pub(super) fn code(&mut self, text: &str) -> Option<u32> {
        if text.is_empty() {
            return Some(0);
        }
        let Self { known, hasher, texts, room, room_of_all } = self;
        let hash = hasher.hash_one(text);
        if let Some(code) = known.find(hash, |code| *texts[*code as usize] == *text) {
            return Some(*code);
        }
        let code = u32::try_from(texts.len()).ok()?;
        let bytes = text.len() + OVERHEAD;
        let left = room.checked_sub(bytes)?;
        room_of_all.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |room| room.checked_sub(bytes)).ok()?;
        *room = left;
        texts.push(Box::from(text));
        known.insert_unique(hash, code, |code| hasher.hash_one(&*texts[*code as usize]));
        Some(code)
    }

    /// The places of the texts among all, by code.
    pub(super) fn ranks(&self) -> Vec<u32> {
        ranks(&self.texts)
    }

    /// The text of a code.
    pub(super) fn text(&self, code: u32) -> &str {
        self.texts.get(code as usize).map_or("", AsRef::as_ref)
    }
}

/// The texts of all columns, which are added to from several threads.
#[derive(Debug)]
pub(super) struct Dictionaries {
    columns: Mutex<BTreeMap<String, Arc<Mutex<Texts>>>>,
    /// Bytes for the texts of a column. A column with more is not held as codes from then on.
    room: usize,
    /// Bytes that are left for the texts of all columns but the accounts.
    room_of_all: Arc<AtomicUsize>,
}

/// The texts of all columns by name and code.
pub(super) type AllTexts = BTreeMap<String, Vec<Box<str>>>;

impl Dictionaries {
    pub(super) fn new(room: usize, room_of_all: usize) -> Self {
        Self { columns: Mutex::default(), room, room_of_all: Arc::new(AtomicUsize::new(room_of_all)) }
    }

    /// How many accounts there are, and the bytes that they take.
    pub(super) fn accounts(&self) -> (usize, usize) {
        let texts = self.of(ACCOUNT);
        let texts = lock(&texts);
        let count = texts.texts.len() - 1;
        (count, usize::MAX - texts.room + count * ACCOUNT_BYTES)
    }

    /// The texts of a column.
    pub(super) fn of(&self, column: &str) -> Arc<Mutex<Texts>> {
        let mut columns = lock(&self.columns);
        if let Some(texts) = columns.get(column) {
            return texts.clone();
        }
        // Every account has a code: the order of the dataset is made with them.
        let texts = match column == ACCOUNT {
            true => Texts::new(usize::MAX, Arc::new(AtomicUsize::new(usize::MAX))),
            false => Texts::new(self.room, self.room_of_all.clone()),
        };
        columns.entry(column.to_owned()).or_insert(Arc::new(Mutex::new(texts))).clone()
    }

    /// The texts, now that there will be no more.
    pub(super) fn finish(self) -> AllTexts {
        let columns = self.columns.into_inner().unwrap_or_else(PoisonError::into_inner);
        columns.into_iter().map(|(name, texts)| (name, std::mem::take(&mut lock(&texts).texts))).collect()
    }
}

/// The places of some texts among all.
pub(super) fn ranks(texts: &[Box<str>]) -> Vec<u32> {
    let mut in_order: Vec<(&str, usize)> = texts.iter().map(AsRef::as_ref).zip(0..).collect();
    in_order.sort_unstable();
    let mut ranks = vec![0; texts.len()];
    for ((_, at), rank) in in_order.into_iter().zip(0..) {
        ranks[at] = rank;
    }
    ranks
}

/// What is behind the lock, which is whole at any time, whatever became of the thread that held it.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn each_text_has_one_code_as_long_as_there_is_room() {
        let room_of_all = Arc::new(AtomicUsize::new(3 * OVERHEAD + 4));
        let mut texts = Texts::new(2 * OVERHEAD + 3, room_of_all.clone());
        assert_eq!(["b", "", "ab", "b"].map(|text| texts.code(text).unwrap()), [1, 0, 2, 1]);
        assert_eq!(texts.code("c"), None);
        assert_eq!((texts.code("ab"), texts.text(1)), (Some(2), "b"));
        let mut others = Texts::new(usize::MAX, room_of_all);
        assert_eq!(["a", "b"].map(|text| others.code(text)), [Some(1), None]);
    }
}
