//! The pass over all gathered rows: sorted account by account, while what was sorted before is encoded and written.

use super::budget::Budget;
use super::coded::Coded;
use super::concat::Concat;
use super::oversize;
use super::parts::Part;
use super::runs::by_account;
use super::sorted::{Known, SortedRows, sort};
use super::spill::Spill;
use super::writer::EventWriter;
use crate::IngestError;
use crate::error::ErrorContext;
use rayon::prelude::*;
use trueup_core::dataset::manifest::DataFile;

/// Parts for each thread that are sorted at once.
const PARTS: usize = 4;

/// A part with at most this many rows and bytes fits in any memory.
const ANY: (usize, usize) = (32, 1 << 20);

/// What sorts and writes.
pub(super) struct Pass<'a> {
    writer: EventWriter<'a>,
    known: &'a Known,
    budget: Budget,
    /// What is yet to be written.
    sorted: Vec<SortedRows>,
    replaced: u64,
}

impl<'a> Pass<'a> {
    pub(super) fn new(writer: EventWriter<'a>, known: &'a Known, budget: Budget) -> Self {
        Self { writer, known, budget, sorted: Vec::new(), replaced: 0 }
    }

    /// Takes rows in memory.
    pub(super) fn held(&mut self, batches: &[Coded], parts: &[Part]) -> Result<(), IngestError> {
        let known = self.known;
        let runs = by_account(batches, known.ranks());
        let concat = Concat::new(batches);
        let rows_of = |part: &Part| {
            let found = &runs[part.find(&runs, |(rank, _)| *rank, |(rank, _)| *rank)];
            concat.rows(&found.iter().map(|(_, run)| *run).collect::<Vec<_>>())
        };
        let mut left = parts;
        while !left.is_empty() {
            let (now, later) = left.split_at(self.at_once(left));
            self.step(now, |part| rows_of(part).and_then(|rows| sort(rows, known)).doing("sort events"))?;
            left = later;
        }
        Ok(())
    }

    /// Takes spilled rows.
    pub(super) fn spilled(&mut self, spill: &Spill, parts: &[Part]) -> Result<(), IngestError> {
        let known = self.known;
        let mut left = parts;
        while let Some(part) = left.first() {
            let fits = part.size.bytes <= self.budget.sorted() || (part.size.rows <= ANY.0 && part.size.bytes <= ANY.1);
            if !fits {
                self.oversize(spill, part)?;
                left = &left[1..];
                continue;
            }
            let (now, later) = left.split_at(self.at_once(left));
            self.step(now, |part| {
                let mut batches = Vec::new();
                spill.read(part, known, &mut |batch| {
                    batches.push(Coded::of_batch(&batch).doing("read spilled rows")?);
                    Ok(())
                })?;
                Concat::new(&batches).all().and_then(|rows| sort(rows, known)).doing("sort events")
            })?;
            left = later;
        }
        Ok(())
    }

    /// How many of the parts are sorted at once: enough to keep every thread busy, as far as they fit in memory.
    fn at_once(&self, parts: &[Part]) -> usize {
        let mut bytes = 0;
        let fitting = parts.iter().take_while(|part| {
            bytes += part.size.bytes;
            bytes <= self.budget.sorted()
        });
        fitting.take(rayon::current_num_threads() * PARTS).count().max(1)
    }

    /// Sorts some parts, while what was sorted before is written.
    fn step(
        &mut self,
        parts: &[Part],
        sort: impl Fn(&Part) -> Result<SortedRows, IngestError> + Sync + Send,
    ) -> Result<(), IngestError> {
        let (writer, before) = (&mut self.writer, std::mem::take(&mut self.sorted));
        let (written, sorted) = rayon::join(
            || writer.write(before),
            || parts.par_iter().map(sort).collect::<Result<Vec<SortedRows>, IngestError>>(),
        );
        written?;
        self.sorted = sorted?;
        self.replaced += self.sorted.iter().map(|sorted| sorted.replaced as u64).sum::<u64>();
        Ok(())
    }

    /// Takes an account that does not fit in memory.
    fn oversize(&mut self, spill: &Spill, part: &Part) -> Result<(), IngestError> {
        self.writer.write(self.sorted.drain(..))?;
        self.replaced += oversize::write(spill, part, self.budget, self.known, &mut self.writer)?;
        Ok(())
    }

    /// Ends the last file; hands out all, and how many rows others have replaced.
    pub(super) fn finish(mut self) -> Result<(Vec<DataFile>, u64), IngestError> {
        self.writer.write(self.sorted)?;
        Ok((self.writer.finish()?, self.replaced))
    }
}
