//! The pass over all gathered rows: sorted account by account, while what was sorted before is encoded and written.

use super::coded::Coded;
use super::oversize;
use super::sequence::Rows;
use super::sorted::{Known, Place, SortedRows, sort};
use super::spill::{Spill, Spilled};
use super::writer::EventWriter;
use crate::IngestError;
use crate::error::Doing;
use rayon::prelude::*;
use std::path::Path;
use std::sync::Arc;
use trueup_core::dataset::manifest::DataFile;

/// Of the memory, the share that spilled rows may take that are sorted at once: others are sorted, others encoded meanwhile.
const SORTED: usize = 8;

/// So few rows fit in any memory.
const FEW_ROWS: usize = 32;

/// What sorts and writes.
pub(super) struct Pass<'a> {
    writer: EventWriter<'a>,
    known: &'a Known,
    memory: usize,
    replaced: u64,
}

impl<'a> Pass<'a> {
    pub(super) fn new(writer: EventWriter<'a>, known: &'a Known, memory: usize) -> Self {
        Self { writer, known, memory, replaced: 0 }
    }

    /// Takes rows in memory, given in parts of whole accounts.
    pub(super) fn held(&mut self, batches: &Arc<[Coded]>, parts: Vec<Vec<Place>>) -> Result<(), IngestError> {
        let known = self.known;
        let mut parts = parts.into_iter();
        loop {
            let next: Vec<Vec<Place>> = parts.by_ref().take(rayon::current_num_threads() * 2).collect();
            if next.is_empty() {
                return Ok(());
            }
            self.step(next, |places| sort(batches.clone(), places, known).doing("sort events"))?;
        }
    }

    /// Takes spilled rows.
    pub(super) fn spilled(&mut self, mut spill: Spill) -> Result<(), IngestError> {
        spill.end()?;
        let known = self.known;
        let limit = self.memory / SORTED;
        let mut ranges = spill.ranges.iter().peekable();
        while let Some(range) = ranges.next() {
            if range.bytes() > limit && range.rows() > FEW_ROWS {
                self.oversize(range, spill.scratch.path())?;
                continue;
            }
            let mut next = vec![range];
            let mut bytes = range.bytes();
            while next.len() < rayon::current_num_threads() * 2
                && let Some(range) = ranges.next_if(|range| bytes + range.bytes() <= limit)
            {
                bytes += range.bytes();
                next.push(range);
            }
            self.step(next, |range| {
                let batches: Arc<[Coded]> = range.read()?.into();
                let places = places(&batches);
                sort(batches, places, known).doing("sort events")
            })?;
        }
        Ok(())
    }

    /// Sorts some parts, while what was sorted before is encoded.
    fn step<P: Send>(
        &mut self,
        parts: Vec<P>,
        sort: impl Fn(P) -> Result<SortedRows, IngestError> + Sync + Send,
    ) -> Result<(), IngestError> {
        let writer = &mut self.writer;
        let (encoded, sorted) = rayon::join(
            || writer.encode(),
            || parts.into_par_iter().map(sort).collect::<Result<Vec<SortedRows>, IngestError>>(),
        );
        encoded?;
        for sorted in sorted? {
            self.replaced += sorted.replaced as u64;
            self.writer.push(&Arc::new(sorted));
        }
        Ok(())
    }

    /// Takes a range of accounts that does not fit in memory.
    fn oversize(&mut self, range: &Spilled, dir: &Path) -> Result<(), IngestError> {
        self.writer.encode()?;
        self.replaced += oversize::write(range, dir, self.memory, self.known, &mut self.writer)?;
        Ok(())
    }

    /// Ends the last file; hands out all, and how many rows others have replaced.
    pub(super) fn finish(self) -> Result<(Vec<DataFile>, u64), IngestError> {
        Ok((self.writer.finish()?, self.replaced))
    }
}

/// All rows of some batches.
pub(super) fn places(batches: &[Coded]) -> Vec<Place> {
    let rows = |batch: &Coded| u32::try_from(batch.len()).unwrap_or(u32::MAX);
    (0..).zip(batches).flat_map(|(at, batch)| (0..rows(batch)).map(move |row| (at, row))).collect()
}

impl Spilled {
    fn bytes(&self) -> usize {
        self.stored.bytes + self.new.bytes
    }

    fn rows(&self) -> usize {
        self.stored.rows + self.new.rows
    }

    /// The rows in the order in which they came: those that the dataset held before come first.
    fn read(&self) -> Result<Vec<Coded>, IngestError> {
        self.parts().flat_map(Rows::read).map(|batch| Coded::of_batch(&batch?).doing("read spilled rows")).collect()
    }

    /// Rows that the dataset held before, then those of the inputs.
    pub(super) fn parts(&self) -> impl Iterator<Item = &Rows> {
        [&self.stored, &self.new].into_iter()
    }
}
