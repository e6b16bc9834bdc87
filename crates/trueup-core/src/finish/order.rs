//! Putting many in order in steps, each of which is short.

#[cfg(test)]
mod tests;

use crate::{Interrupt, Interruption};
use rayon::prelude::*;
use std::cmp::Ordering;
use std::ops::Range;

/// Numbers that are worked on before the interrupt is looked at again: far less than what takes 10 ms.
pub(super) const STEP: usize = 1 << 13;

/// Numbers that are sorted at once, which takes a millisecond or two: what is sorted apart has to be merged, which takes longer.
const RUN: usize = 1 << 15;

/// Bits that are sorted by at once: as many as places for the numbers of each are at hand.
const DIGIT: u32 = 11;

/// Puts numbers in order, by all threads; what compares as equal comes in any order.
pub(super) fn sort<N: Copy + Default + Send + Sync>(
    mut numbers: Vec<N>,
    interrupt: &Interrupt,
    compare: impl Fn(N, N) -> Ordering + Sync,
) -> Result<Vec<N>, Interruption> {
    interrupt.check()?;
    if numbers.len() <= RUN {
        numbers.sort_unstable_by(|a, b| compare(*a, *b));
        return Ok(numbers);
    }
    numbers.par_chunks_mut(RUN).try_for_each(|run| {
        interrupt.check()?;
        run.sort_unstable_by(|a, b| compare(*a, *b));
        Ok(())
    })?;
    let mut merged = vec![N::default(); numbers.len()];
    let mut run = RUN;
    while run < numbers.len() {
        let pairs = numbers.par_chunks(2 * run).zip(merged.par_chunks_mut(2 * run));
        pairs.try_for_each(|(pair, into)| {
            let (left, right) = pair.split_at(run.min(pair.len()));
            merge(left, right, into, interrupt, &compare)
        })?;
        std::mem::swap(&mut numbers, &mut merged);
        run *= 2;
    }
    Ok(numbers)
}

/// Merges two sorted runs `into` a place for all of their numbers.
fn merge<'n, N: Copy>(
    mut left: &'n [N],
    mut right: &'n [N],
    into: &mut [N],
    interrupt: &Interrupt,
    compare: impl Fn(N, N) -> Ordering,
) -> Result<(), Interruption> {
    for part in into.chunks_mut(STEP) {
        interrupt.check()?;
        for place in part {
            let from = match (left.first(), right.first()) {
                (Some(a), Some(b)) if compare(*a, *b).is_gt() => &mut right,
                (None, _) => &mut right,
                (Some(_), _) => &mut left,
            };
            if let Some((first, rest)) = from.split_first() {
                (*place, *from) = (*first, rest);
            }
        }
    }
    Ok(())
}

/// Puts numbers in order of their ranks, all of which are below `ranks`; those of one rank stay in their order.
pub(super) fn sort_by_rank<N: Copy + Default>(
    numbers: &[N],
    ranks: usize,
    interrupt: &Interrupt,
    rank: impl Fn(N) -> u32,
) -> Result<Vec<N>, Interruption> {
    // Where the next number of each rank goes.
    let mut places = vec![0_u32; ranks + 1];
    for step in numbers.chunks(STEP) {
        interrupt.check()?;
        step.iter().for_each(|number| places[rank(*number) as usize + 1] += 1);
    }
    let mut before = 0;
    for place in &mut places {
        before += *place;
        *place = before;
    }
    let mut sorted = vec![N::default(); numbers.len()];
    for step in numbers.chunks(STEP) {
        interrupt.check()?;
        for number in step {
            let place = &mut places[rank(*number) as usize];
            sorted[*place as usize] = *number;
            *place += 1;
        }
    }
    Ok(sorted)
}

/// Puts numbers in order of some of their bits, above which they have none.
pub(super) fn sort_by_bits(
    mut numbers: Vec<u64>,
    bits: Range<u32>,
    interrupt: &Interrupt,
) -> Result<Vec<u64>, Interruption> {
    let count = bits.end - bits.start;
    let digit = count.div_ceil(count.div_ceil(DIGIT).max(1)).max(1);
    // By the lowest digit first: what comes in order of it stays in it among those that are equal in the next.
    for lowest in bits.step_by(digit as usize) {
        #[expect(clippy::cast_possible_truncation, reason = "a digit has few bits")]
        let rank = |number: u64| (number >> lowest & ((1 << digit) - 1)) as u32;
        numbers = sort_by_rank(&numbers, 1 << digit, interrupt, rank)?;
    }
    Ok(numbers)
}

/// What `make` makes of each number, in their order.
pub(super) fn map_interruptible<N: Copy, T>(
    numbers: &[N],
    interrupt: &Interrupt,
    mut make: impl FnMut(N) -> T,
) -> Result<Vec<T>, Interruption> {
    let mut made = Vec::with_capacity(numbers.len());
    for step in numbers.chunks(STEP) {
        interrupt.check()?;
        for number in step {
            made.push(make(*number));
        }
    }
    Ok(made)
}
