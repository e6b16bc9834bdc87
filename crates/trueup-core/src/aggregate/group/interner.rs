//! Texts under codes that all row groups of a partial result share.

use crate::aggregate::types::INTERRUPT_CHECK_GROUPS;
use crate::memory::{column_bytes_while_adding, table_bytes_while_adding};
use crate::{Interrupt, Interruption, StringList};
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;
use std::sync::LazyLock;

/// Hashes the texts of all interners of the process, so that a merge of two need not hash again.
static HASHER: LazyLock<DefaultHashBuilder> = LazyLock::new(DefaultHashBuilder::default);

/// Distinct texts, each with a code.
#[derive(Clone, Debug)]
pub(crate) struct Interner {
    /// A copy of [`HASHER`].
    hasher: DefaultHashBuilder,
    codes: HashTable<u32>,
    texts: StringList,
    /// The hash of each text.
    hashes: Vec<u64>,
}

impl Default for Interner {
    fn default() -> Self {
        Self { hasher: HASHER.clone(), codes: HashTable::new(), texts: StringList::default(), hashes: Vec::new() }
    }
}

impl Interner {
    /// Reserves capacity for more texts, so that entries move fewer times.
    fn reserve(&mut self, NewTexts { texts, bytes }: NewTexts) {
        self.codes.reserve(texts, |code| self.hashes[*code as usize]);
        self.hashes.reserve(texts);
        self.texts.reserve(texts, bytes);
    }

    /// Returns the code of a text, which it gets now if it is new.
    pub(crate) fn code(&mut self, text: &str) -> u32 {
        let hash = self.hasher.hash_one(text);
        self.find(text, hash).unwrap_or_else(|| self.push(text, hash))
    }

    fn find(&self, text: &str, hash: u64) -> Option<u32> {
        let is_text = |code: &u32| self.hashes[*code as usize] == hash && self.texts[*code as usize] == *text;
        self.codes.find(hash, is_text).copied()
    }

    /// Appends a text that is new, and returns its code.
    fn push(&mut self, text: &str, hash: u64) -> u32 {
        // The offsets of the texts and their hashes would take 64 GiB before the number of texts could overflow.
        let code = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        self.texts.push(text);
        self.hashes.push(hash);
        self.codes.insert_unique(hash, code, |code| self.hashes[*code as usize]);
        code
    }

    /// Adds the texts of another interner. Returns for each of its codes the code here.
    pub(crate) fn merge(&mut self, other: Self, interrupt: &Interrupt) -> Result<Vec<u32>, Interruption> {
        let mut codes = Vec::with_capacity(other.texts.len());
        for (text, hash) in other.texts.iter().zip(other.hashes) {
            if codes.len().is_multiple_of(INTERRUPT_CHECK_GROUPS) {
                interrupt.check()?;
            }
            codes.push(self.find(text, hash).unwrap_or_else(|| self.push(text, hash)));
        }
        Ok(codes)
    }

    /// Returns the number of bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.texts.bytes() + self.hashes.capacity() * size_of::<u64>() + self.codes.allocation_size()
    }

    /// Returns the number of bytes that may be held while texts are added.
    pub(crate) fn bytes_while_adding(&self, NewTexts { texts, bytes }: NewTexts) -> usize {
        let Self { codes, .. } = self;
        let table =
            table_bytes_while_adding(codes.len(), codes.capacity(), codes.allocation_size(), texts, size_of::<u32>());
        table + column_bytes_while_adding(&self.hashes, texts) + self.texts.bytes_while_adding(texts, bytes)
    }

    /// Returns the distinct texts by code.
    pub(crate) const fn texts(&self) -> &StringList {
        &self.texts
    }

    /// Returns the distinct texts by code, and drops the rest.
    pub(crate) fn into_texts(self) -> StringList {
        self.texts
    }
}

/// The number of texts that may be new, and about the number of their bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NewTexts {
    pub(crate) texts: usize,
    pub(crate) bytes: usize,
}

/// The shared codes of one row group's codes, each found when it first appears.
#[derive(Debug, Default)]
pub(crate) struct CodeMap {
    codes: Vec<u32>,
    /// The texts whose codes have appeared.
    known: NewTexts,
}

/// The shared code of a code that has not appeared yet. Shared codes are smaller, because there are fewer texts.
const UNKNOWN: u32 = u32::MAX;

impl CodeMap {
    /// Returns the number of bytes held once a code of `texts` has appeared.
    pub(crate) const fn bytes(&self, texts: &StringList) -> usize {
        let codes = if self.codes.is_empty() { texts.len() } else { self.codes.capacity() };
        codes * size_of::<u32>()
    }

    /// Returns the texts that may be new among `units` units: those whose codes have not appeared yet.
    pub(crate) fn new_texts(&self, units: usize, texts: &StringList) -> NewTexts {
        let (left, bytes) = (texts.len() - self.known.texts, texts.text_bytes() - self.known.bytes);
        let new = units.min(left);
        let bytes = if new == left { bytes } else { new * (bytes / left + 1) };
        NewTexts { texts: new, bytes }
    }

    /// Returns the shared code of a code of `texts`.
    #[inline]
    pub(crate) fn shared_code(&mut self, code: u32, texts: &StringList, interner: &mut Interner) -> u32 {
        let at = code as usize;
        match self.codes.get(at) {
            Some(shared) if *shared != UNKNOWN => *shared,
            _ => {
                self.codes.resize(self.codes.len().max(texts.len()), UNKNOWN);
                let text = &texts[at];
                self.known.texts += 1;
                self.known.bytes += text.len();
                self.codes[at] = interner.code(text);
                self.codes[at]
            }
        }
    }

    /// Replaces codes of `texts` with shared codes.
    pub(crate) fn apply(&mut self, codes: &mut [u32], texts: &StringList, interner: &mut Interner) {
        interner.reserve(self.new_texts(codes.len(), texts));
        for code in codes {
            *code = self.shared_code(*code, texts, interner);
        }
    }
}
