//! Putting many in order in steps, each of which is short.

#[cfg(test)]
mod tests;

use crate::{Interrupt, Interruption};
use rayon::prelude::*;
use std::cmp::Ordering;

/// Numbers that are worked on before the interrupt is looked at again: far less than what takes 10 ms.
pub(super) const STEP: usize = 1 << 13;

/// Puts numbers in order, by all threads; what compares as equal comes in any order.
pub(super) fn sort(
    mut numbers: Vec<usize>,
    interrupt: &Interrupt,
    compare: impl Fn(usize, usize) -> Ordering + Sync,
) -> Result<Vec<usize>, Interruption> {
    interrupt.check()?;
    if numbers.len() <= STEP {
        numbers.sort_unstable_by(|a, b| compare(*a, *b));
        return Ok(numbers);
    }
    numbers.par_chunks_mut(STEP).try_for_each(|run| {
        interrupt.check()?;
        run.sort_unstable_by(|a, b| compare(*a, *b));
        Ok(())
    })?;
    let mut merged = vec![0; numbers.len()];
    let mut run = STEP;
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
fn merge<'n>(
    mut left: &'n [usize],
    mut right: &'n [usize],
    into: &mut [usize],
    interrupt: &Interrupt,
    compare: impl Fn(usize, usize) -> Ordering,
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

/// What `make` makes of each number, in their order.
pub(super) fn each<T, E: From<Interruption>>(
    numbers: &[usize],
    interrupt: &Interrupt,
    mut make: impl FnMut(usize) -> Result<T, E>,
) -> Result<Vec<T>, E> {
    let mut made = Vec::with_capacity(numbers.len());
    for step in numbers.chunks(STEP) {
        interrupt.check()?;
        for number in step {
            made.push(make(*number)?);
        }
    }
    Ok(made)
}
