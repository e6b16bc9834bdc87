//! Events on disk, account by account.

use super::alike::Alike;
use super::coded::Coded;
use super::sequence::Rows;
use super::sorted::Place;
use super::texts::{Dictionaries, lock};
use crate::IngestError;
use crate::error::Doing;
use rayon::prelude::*;
use tempfile::TempDir;
use trueup_core::model::ACCOUNT;

/// Ranges of accounts that are spilled apart, at most.
const RANGES: usize = 128;

/// Rows that are written at once.
const AT_ONCE: usize = 1 << 16;

/// Events on disk, in ranges of accounts that follow each other. A range has whole accounts.
pub(super) struct Spill {
    pub(super) scratch: TempDir,
    pub(super) ranges: Vec<Spilled>,
    /// The first account of each range but the first one.
    firsts: Vec<String>,
}

/// The rows of a range of accounts.
pub(super) struct Spilled {
    /// Those that the dataset held before.
    pub(super) stored: Rows,
    /// Those of the inputs, in their order.
    pub(super) new: Rows,
}

impl Spill {
    /// `rows` counts those known so far, by account; ranges are made to have about as many each.
    pub(super) fn new(scratch: TempDir, dictionaries: &Dictionaries, rows: &[u64]) -> Self {
        let firsts = firsts(dictionaries, rows);
        let name = |kind: &str, at: usize| Rows::new(scratch.path(), &format!("{kind}-{at:03}"));
        let ranges =
            (0..=firsts.len()).map(|at| Spilled { stored: name("stored", at), new: name("new", at) }).collect();
        Self { scratch, ranges, firsts }
    }

    /// Adds rows, behind those of their kind that were added before.
    pub(super) fn write(
        &mut self,
        batches: &[Coded],
        are_stored: bool,
        dictionaries: &Dictionaries,
    ) -> Result<(), IngestError> {
        if batches.is_empty() {
            return Ok(());
        }
        let alike = Alike::new(batches, dictionaries).doing("spill rows")?;
        let homes = self.homes(batches, dictionaries);
        self.ranges.par_iter_mut().zip(homes).try_for_each(|(range, places)| {
            let rows = if are_stored { &mut range.stored } else { &mut range.new };
            places.chunks(AT_ONCE).try_for_each(|places| rows.write(&alike.rows(places).doing("spill rows")?))
        })
    }

    /// For each range its rows, in the order given.
    fn homes(&self, batches: &[Coded], dictionaries: &Dictionaries) -> Vec<Vec<Place>> {
        let texts = dictionaries.of(ACCOUNT);
        let texts = lock(&texts);
        let home = |account| self.firsts.partition_point(|first| first.as_str() <= texts.text(account));
        let mut homes: Vec<Vec<Place>> = vec![Vec::new(); self.ranges.len()];
        let mut known: Vec<Option<usize>> = Vec::new();
        for (at, batch) in (0..).zip(batches) {
            for (row, account) in (0..).zip(batch.accounts.values()) {
                if known.len() <= *account as usize {
                    known.resize(*account as usize + 1, None);
                }
                let home = *known[*account as usize].get_or_insert_with(|| home(*account));
                homes[home].push((at, row));
            }
        }
        homes
    }

    pub(super) fn end(&mut self) -> Result<(), IngestError> {
        self.ranges.iter_mut().try_for_each(|range| range.stored.end().and_then(|()| range.new.end()))
    }
}

/// The accounts at which ranges begin that have about as many rows each.
fn firsts(dictionaries: &Dictionaries, rows: &[u64]) -> Vec<String> {
    let texts = dictionaries.of(ACCOUNT);
    let texts = lock(&texts);
    let mut accounts: Vec<(&str, u64)> =
        (0..).zip(rows).filter(|(_, rows)| **rows > 0).map(|(account, rows)| (texts.text(account), *rows)).collect();
    accounts.sort_unstable();
    let share = rows.iter().sum::<u64>().div_ceil(RANGES as u64).max(1);
    let mut firsts = Vec::new();
    let mut held = 0;
    for (account, rows) in accounts {
        if held > 0 && held + rows > share {
            firsts.push(account.to_owned());
            held = 0;
        }
        held += rows;
    }
    firsts
}
