//! Sorts and maps many items in short steps, so that an interrupt ends them soon.

#[cfg(test)]
mod tests;

use crate::{Interrupt, Interruption};
use rayon::prelude::*;
use std::cmp::Ordering;
use std::ops::Range;

/// The number of items that are processed between two checks of the interrupt. They take far less than 10 ms.
pub(super) const INTERRUPT_CHECK_ITEMS: usize = 1 << 13;

/// The number of items that are sorted without a check of the interrupt. Sorting them takes one or two milliseconds.
/// Shorter runs would need more merges, which take longer than sorting.
const RUN_ITEMS: usize = 1 << 15;

/// The largest number of bits of a digit. The table of its values stays in the processor's caches.
const MAX_DIGIT_BITS: u32 = 11;

/// Sorts items on all threads. Items that compare as equal come in any order.
pub(super) fn sort<N: Copy + Default + Send + Sync>(
    mut numbers: Vec<N>,
    interrupt: &Interrupt,
    compare: impl Fn(N, N) -> Ordering + Sync,
) -> Result<Vec<N>, Interruption> {
    interrupt.check()?;
    if numbers.len() <= RUN_ITEMS {
        numbers.sort_unstable_by(|a, b| compare(*a, *b));
        return Ok(numbers);
    }
    numbers.par_chunks_mut(RUN_ITEMS).try_for_each(|run| {
        interrupt.check()?;
        run.sort_unstable_by(|a, b| compare(*a, *b));
        Ok(())
    })?;
    let mut merged = vec![N::default(); numbers.len()];
    let mut run = RUN_ITEMS;
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

/// Merges two sorted runs. `into` has the length of both.
fn merge<'n, N: Copy>(
    mut left: &'n [N],
    mut right: &'n [N],
    into: &mut [N],
    interrupt: &Interrupt,
    compare: impl Fn(N, N) -> Ordering,
) -> Result<(), Interruption> {
    for part in into.chunks_mut(INTERRUPT_CHECK_ITEMS) {
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

/// Sorts items by rank, stably. All ranks are below `ranks`.
pub(super) fn sort_by_rank<N: Copy + Default>(
    numbers: &[N],
    ranks: usize,
    interrupt: &Interrupt,
    rank: impl Fn(N) -> u32,
) -> Result<Vec<N>, Interruption> {
    // The index of the next item of each rank.
    let mut places = vec![0_u32; ranks + 1];
    for step in numbers.chunks(INTERRUPT_CHECK_ITEMS) {
        interrupt.check()?;
        step.iter().for_each(|number| places[rank(*number) as usize + 1] += 1);
    }
    let mut before = 0;
    for place in &mut places {
        before += *place;
        *place = before;
    }
    let mut sorted = vec![N::default(); numbers.len()];
    for step in numbers.chunks(INTERRUPT_CHECK_ITEMS) {
        interrupt.check()?;
        for number in step {
            let place = &mut places[rank(*number) as usize];
            sorted[*place as usize] = *number;
            *place += 1;
        }
    }
    Ok(sorted)
}

/// Sorts numbers by some of their bits, stably. Higher bits must be 0.
pub(super) fn sort_by_bits(
    mut numbers: Vec<u64>,
    bits: Range<u32>,
    interrupt: &Interrupt,
) -> Result<Vec<u64>, Interruption> {
    let count = bits.end - bits.start;
    let digit = count.div_ceil(count.div_ceil(MAX_DIGIT_BITS).max(1)).max(1);
    // Stable sorts, the lowest digit first.
    for lowest in bits.step_by(digit as usize) {
        #[expect(clippy::cast_possible_truncation, reason = "a digit has few bits")]
        let rank = |number: u64| (number >> lowest & ((1 << digit) - 1)) as u32;
        numbers = sort_by_rank(&numbers, 1 << digit, interrupt, rank)?;
    }
    Ok(numbers)
}

/// Returns what `make` makes of each item, in order.
pub(super) fn map_interruptible<N: Copy, T>(
    numbers: &[N],
    interrupt: &Interrupt,
    mut make: impl FnMut(N) -> T,
) -> Result<Vec<T>, Interruption> {
    let mut made = Vec::with_capacity(numbers.len());
    for step in numbers.chunks(INTERRUPT_CHECK_ITEMS) {
        interrupt.check()?;
        for number in step {
            made.push(make(*number));
        }
    }
    Ok(made)
}
