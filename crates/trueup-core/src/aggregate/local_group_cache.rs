//! LocalGroupCache by the codes of one split, where few combinations of them are possible: texts and groups are then looked at once for each
//! combination that the split has.

use super::key_encoder::KeyEncoder;

/// LocalGroupCache by position.
#[derive(Debug)]
pub(crate) struct LocalGroupCache {
    /// By dimension, how far a position is shifted to make room for its code.
    bits: Vec<u32>,
    /// 0 where none was found yet.
    known: Vec<u32>,
    /// The sub-range and the codes of a position.
    key: Vec<u32>,
}

/// A position has at most so many bits.
const MOST_BITS: u32 = 18;

impl LocalGroupCache {
    /// LocalGroupCache of combinations of a sub-range and a code per dimension, which so many customers have; `None` if there are too many, or a
    /// dimension has so many values that few combinations come twice.
    pub(crate) fn new(sub_ranges: usize, coders: &[KeyEncoder<'_>], customers: usize) -> Option<Self> {
        // As many as hold all numbers below.
        let bits_of = |values: usize| usize::BITS - values.saturating_sub(1).leading_zeros();
        let cardinality = |coder: &KeyEncoder<'_>| coder.cardinality().filter(|values| *values <= customers / 2);
        let bits: Option<Vec<u32>> = coders.iter().map(|coder| cardinality(coder).map(bits_of)).collect();
        let bits = bits?;
        let all = bits.iter().sum::<u32>() + bits_of(sub_ranges);
        (all <= MOST_BITS).then(|| Self { key: vec![0; bits.len() + 1], bits, known: vec![0; 1 << all] })
    }

    /// How many bits a position has.
    pub(crate) fn bits(&self) -> u32 {
        self.known.len().ilog2()
    }

    /// Writes the positions of units to `positions`, of which there are `sub_ranges` and, by dimension, codes.
    pub(crate) fn positions(&self, sub_ranges: &[u32], codes: &[Vec<u32>], positions: &mut Vec<u32>) {
        positions.clear();
        positions.extend_from_slice(sub_ranges);
        for (codes, bits) in codes.iter().zip(&self.bits) {
            positions.iter_mut().zip(codes).for_each(|(position, code)| *position = *position << bits | code);
        }
    }

    /// The slot at a position; `find` finds it by the sub-range and, by dimension, the codes.
    #[inline]
    pub(crate) fn slot(&mut self, position: u32, find: impl FnOnce(&mut [u32]) -> u32) -> u32 {
        match self.known[position as usize] {
            0 => self.find(position, find),
            known => known,
        }
    }

    #[cold]
    fn find(&mut self, position: u32, find: impl FnOnce(&mut [u32]) -> u32) -> u32 {
        let Self { bits, known, key } = self;
        let mut rest = position;
        for (code, bits) in key[1..].iter_mut().zip(bits).rev() {
            *code = rest & ((1 << *bits) - 1);
            rest >>= *bits;
        }
        key[0] = rest;
        let slot = find(key);
        known[position as usize] = slot;
        slot
    }
}
