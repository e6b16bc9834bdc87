//! Texts, each under one code that all splits share.

use super::partial_result::STEP;
use crate::{Interrupt, Interruption, TextList};
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// Distinct texts, each under one code.
#[derive(Debug)]
pub(crate) struct Interner {
    /// The same for all interners of a query: what one has hashed another need not.
    hasher: DefaultHashBuilder,
    codes: HashTable<u32>,
    texts: TextList,
    /// The hash of each text.
    hashes: Vec<u64>,
}

impl Interner {
    pub(super) fn new(hasher: &DefaultHashBuilder) -> Self {
        Self { hasher: hasher.clone(), codes: HashTable::new(), texts: TextList::default(), hashes: Vec::new() }
    }

    /// Makes room for so many more texts as long as those of a list are on average.
    pub(super) fn reserve(&mut self, texts: usize, list: &TextList) {
        if self.codes.capacity() - self.codes.len() < texts {
            // Where there are many there will be more, and each time all find a new place.
            self.codes.reserve(texts.max(3 * self.codes.len()), |code| self.hashes[*code as usize]);
            let room = self.codes.capacity() - self.codes.len();
            self.hashes.reserve(room);
            self.texts.reserve(room, room * (list.text_bytes() / list.len().max(1) + 1));
        }
    }

    /// The code of a text, given now if it is new.
    pub(crate) fn code(&mut self, text: &str) -> u32 {
        let hash = self.hasher.hash_one(text);
        self.known(text, hash).unwrap_or_else(|| self.push(text, hash))
    }

    fn known(&self, text: &str, hash: u64) -> Option<u32> {
        let is_text = |code: &u32| self.hashes[*code as usize] == hash && self.texts[*code as usize] == *text;
        self.codes.find(hash, is_text).copied()
    }

    /// Gives a text that is new a code.
    fn push(&mut self, text: &str, hash: u64) -> u32 {
        // Texts alone would take 64 GiB before their number could overflow.
        let code = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        self.texts.push(text);
        self.hashes.push(hash);
        self.codes.insert_unique(hash, code, |code| self.hashes[*code as usize]);
        code
    }

    /// Takes in the texts of another interner of the query: for each of its codes, the one here.
    pub(super) fn merge(&mut self, other: Self, interrupt: &Interrupt) -> Result<Vec<u32>, Interruption> {
        let mut codes = Vec::with_capacity(other.texts.len());
        for (text, hash) in other.texts.iter().zip(other.hashes) {
            if codes.len().is_multiple_of(STEP) {
                interrupt.check()?;
            }
            codes.push(self.known(text, hash).unwrap_or_else(|| self.push(text, hash)));
        }
        Ok(codes)
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.texts.bytes() + self.hashes.capacity() * size_of::<u64>() + self.codes.allocation_size()
    }

    /// The distinct texts by code.
    pub(crate) const fn texts(&self) -> &TextList {
        &self.texts
    }

    /// The distinct texts by code.
    pub(crate) fn into_texts(self) -> TextList {
        self.texts
    }
}

/// Shared codes of the codes of one split, found when first met.
#[derive(Debug, Default)]
pub(crate) struct CodeMap(Vec<u32>);

/// Not met yet; there are fewer codes than this.
const UNKNOWN: u32 = u32::MAX;

impl CodeMap {
    /// The shared code of a code of `texts`.
    #[inline]
    pub(crate) fn code(&mut self, code: u32, texts: &TextList, interner: &mut Interner) -> u32 {
        let at = code as usize;
        match self.0.get(at) {
            Some(shared) if *shared != UNKNOWN => *shared,
            _ => {
                self.0.resize(self.0.len().max(texts.len()), UNKNOWN);
                self.0[at] = interner.code(&texts[at]);
                self.0[at]
            }
        }
    }

    /// Puts shared codes in place of codes of `texts`.
    pub(crate) fn apply(&mut self, codes: &mut [u32], texts: &TextList, interner: &mut Interner) {
        interner.reserve(codes.len().min(texts.len()), texts);
        for code in codes {
            *code = self.code(*code, texts, interner);
        }
    }
}
