//! A fast path of grouping: the slots of a row group's own combinations of codes, where few combinations are possible.
//!
//! Texts are interned and group keys are hashed once for each combination in the row group, not once per unit.

use crate::aggregate::key_encoder::KeyEncoder;
use crate::aggregate::types::GroupSlot;

/// The slot of each dense key of a row group.
///
/// A dense key packs a sub-range and the code of each dimension into as few bits as their numbers of values need. With
/// 3 sub-ranges and a dimension of 10 values, the dense key of sub-range 1 and code 7 is `1 << 4 | 7`, and there are 64
/// dense keys.
#[derive(Debug)]
pub(crate) struct LocalGroupCache {
    /// For each dimension, the number of bits of its codes.
    bits: Vec<u32>,
    /// By dense key; `NONE` if it has not been seen yet.
    slots: Vec<GroupSlot>,
    /// The sub-range and the codes of a dense key.
    key: Vec<u32>,
}

/// The largest number of bits of a dense key.
const MAX_DENSE_KEY_BITS: u32 = 18;

impl LocalGroupCache {
    /// Returns a cache for combinations of a sub-range and a code per dimension, in a row group of which the query
    /// reads `customers` customers. Returns `None` if there are too many combinations, if a dimension has too many
    /// values for combinations to repeat, or if the number of its values is not known before rows are read.
    pub(crate) fn new(sub_ranges: usize, encoders: &[KeyEncoder<'_>], customers: usize) -> Option<Self> {
        let bits_of = |values: usize| usize::BITS - values.saturating_sub(1).leading_zeros();
        let cardinality = |encoder: &KeyEncoder<'_>| encoder.cardinality().filter(|values| *values <= customers / 2);
        let bits: Option<Vec<u32>> = encoders.iter().map(|encoder| cardinality(encoder).map(bits_of)).collect();
        let bits = bits?;
        let all = bits.iter().sum::<u32>() + bits_of(sub_ranges);
        (all <= MAX_DENSE_KEY_BITS).then(|| Self {
            key: vec![0; bits.len() + 1],
            bits,
            slots: vec![GroupSlot::NONE; 1 << all],
        })
    }

    /// Returns the number of bytes held.
    pub(crate) const fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<GroupSlot>()
    }

    /// Returns the number of bits of a dense key.
    pub(crate) fn key_bits(&self) -> u32 {
        self.slots.len().ilog2()
    }

    /// Writes the dense keys of units, given the sub-range of each and, by dimension, its code.
    pub(crate) fn dense_keys(&self, sub_ranges: &[u32], codes: &[Vec<u32>], dense_keys: &mut Vec<u32>) {
        dense_keys.clear();
        dense_keys.extend_from_slice(sub_ranges);
        for (codes, bits) in codes.iter().zip(&self.bits) {
            dense_keys.iter_mut().zip(codes).for_each(|(key, code)| *key = *key << bits | code);
        }
    }

    /// Returns the slot of a dense key. `find` finds it by the sub-range and the codes, if this is the first unit with
    /// the key.
    #[inline]
    pub(crate) fn slot(&mut self, dense_key: u32, find: impl FnOnce(&mut [u32]) -> GroupSlot) -> GroupSlot {
        match self.slots[dense_key as usize] {
            GroupSlot::NONE => self.find(dense_key, find),
            slot => slot,
        }
    }

    #[cold]
    fn find(&mut self, dense_key: u32, find: impl FnOnce(&mut [u32]) -> GroupSlot) -> GroupSlot {
        let Self { bits, slots, key } = self;
        let mut rest = dense_key;
        for (code, bits) in key[1..].iter_mut().zip(bits).rev() {
            *code = rest & ((1 << *bits) - 1);
            rest >>= *bits;
        }
        key[0] = rest;
        let slot = find(key);
        slots[dense_key as usize] = slot;
        slot
    }
}
