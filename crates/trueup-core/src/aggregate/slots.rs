//! Slots by the codes of one split, where few combinations of them are possible: texts and groups are then looked at once for each
//! combination that the split has.

use super::coder::Coder;

/// Slots by position.
#[derive(Debug)]
pub(crate) struct Slots {
    /// By dimension, how far a position is shifted to make room for its code.
    bits: Vec<u32>,
    /// 0 where none was found yet.
    known: Vec<u32>,
}

/// A position has at most so many bits.
const MOST_BITS: u32 = 18;

impl Slots {
    /// Slots of combinations of a sub-range and a code per dimension; `None` if there are too many.
    pub(crate) fn new(sub_ranges: usize, coders: &[Coder<'_>]) -> Option<Self> {
        // As many as hold all numbers below.
        let bits_of = |values: usize| usize::BITS - values.saturating_sub(1).leading_zeros();
        let bits: Option<Vec<u32>> = coders.iter().map(|coder| coder.cardinality().map(bits_of)).collect();
        let bits = bits?;
        let all = bits.iter().sum::<u32>() + bits_of(sub_ranges);
        (all <= MOST_BITS).then(|| Self { bits, known: vec![0; 1 << all] })
    }

    /// Writes the slots of units to `slots`, of which there are `sub_ranges` and, by dimension, codes; `find` finds the slot of a unit.
    pub(crate) fn fill(
        &mut self,
        sub_ranges: &[u32],
        codes: &[Vec<u32>],
        slots: &mut Vec<u32>,
        mut find: impl FnMut(usize) -> u32,
    ) {
        slots.clear();
        slots.extend_from_slice(sub_ranges);
        for (codes, bits) in codes.iter().zip(&self.bits) {
            slots.iter_mut().zip(codes).for_each(|(position, code)| *position = *position << bits | code);
        }
        for (unit, slot) in slots.iter_mut().enumerate() {
            let known = &mut self.known[*slot as usize];
            if *known == 0 {
                *known = find(unit);
            }
            *slot = *known;
        }
    }
}
