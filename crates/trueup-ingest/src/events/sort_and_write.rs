//! Steps 3 and 4 at the same time: while some slices are sorted, the slices that were sorted before are written.

use super::budget::Budget;
use super::dictionaries::EventDictionaries;
use super::event_batch::EventBatch;
use super::reassigned::Reassigned;
use super::row_ranges::{AccountSlice, BatchSet, NewRows, ranges_by_account};
use super::shared_ids::SharedRows;
use super::sort::{SortedCustomers, oversize, sort};
use super::spill::{AccountSpill, BufferedEvents};
use super::write::{EventWriter, FileLayout};
use crate::IngestError;
use crate::amounts::TotalsBySource;
use crate::error::ErrorContext;
use crate::monitor::Monitor;
use crate::version::VersionFiles;
use rayon::prelude::*;
use trueup_core::dataset::manifest::DataFile;

/// Slices that are sorted at the same time, per thread.
const SLICES_PER_THREAD: usize = 4;

/// A slice of at most this many rows and bytes fits in any memory.
const SMALL_ROWS: usize = 32;
const SMALL_BYTES: usize = 1 << 20;

/// The files of sorted events.
pub(super) struct SortedFiles {
    pub(super) files: Vec<DataFile>,
    /// The superseded rows, which are left out, by source.
    pub(super) superseded: TotalsBySource,
    /// The number of rows that [repeat](SortedCustomers::repeated) another.
    pub(super) repeated: u64,
    /// The rows that are left out because they share an event id.
    pub(super) shared: SharedRows,
    /// The superseded rows that had another customer.
    pub(super) reassigned: Reassigned,
}

/// Sorts all events and writes their files.
pub(super) fn sort_and_write(
    events: BufferedEvents,
    dictionaries: &EventDictionaries,
    budget: Budget,
    layout: FileLayout,
    version: &mut VersionFiles,
    monitor: &Monitor,
) -> Result<SortedFiles, IngestError> {
    let BufferedEvents { batches, stored, spill, summary } = events;
    let slices = AccountSlice::divide(&summary.accounts, summary.row_bytes(), dictionaries);
    let dimensions = summary.dimensions.keys().map(String::as_str);
    let writer = EventWriter::new(version, layout, dimensions, summary.has_narrow_totals, dictionaries, budget);
    let mut pass = SortAndWrite {
        writer,
        dictionaries,
        has_ids: summary.has_ids,
        budget,
        monitor,
        sorted: Vec::new(),
        superseded: TotalsBySource::default(),
        repeated: 0,
        shared: SharedRows::default(),
        reassigned: Reassigned::default(),
    };
    let Some(spill) = spill else {
        pass.add_buffered(&batches, stored, &slices)?;
        return pass.finish();
    };
    pass.add_spilled(&spill, &slices)?;
    // Removing the spill takes long enough to be done while the last files are written.
    rayon::join(|| pass.finish(), || drop(spill)).0
}

struct SortAndWrite<'a> {
    writer: EventWriter<'a>,
    dictionaries: &'a EventDictionaries,
    /// Whether any row has an event id.
    has_ids: bool,
    budget: Budget,
    monitor: &'a Monitor,
    /// Sorted but not yet written.
    sorted: Vec<SortedCustomers>,
    superseded: TotalsBySource,
    repeated: u64,
    shared: SharedRows,
    reassigned: Reassigned,
}

impl SortAndWrite<'_> {
    /// Adds all rows, which are in memory. The first `stored` batches have rows that the dataset already had.
    fn add_buffered(
        &mut self,
        batches: &[EventBatch],
        stored: usize,
        slices: &[AccountSlice],
    ) -> Result<(), IngestError> {
        let (dictionaries, has_ids) = (self.dictionaries, self.has_ids);
        let ranges = ranges_by_account(batches, dictionaries.account_ranks());
        let batches = BatchSet::new(batches);
        let rows_of = |slice: &AccountSlice| {
            let found = &ranges[slice.find(&ranges, |(rank, _)| *rank, |(rank, _)| *rank)];
            let mut new = NewRows::default();
            found.iter().for_each(|(_, range)| new.push(range.len as usize, range.batch as usize >= stored));
            Ok((batches.rows(&found.iter().map(|(_, range)| *range).collect::<Vec<_>>())?, new))
        };
        let mut left = slices;
        while !left.is_empty() {
            let (now, later) = left.split_at(self.slices_per_step(left));
            self.step(now, |slice| {
                rows_of(slice).and_then(|(rows, new)| sort(rows, has_ids, &new, dictionaries)).doing("sort events")
            })?;
            left = later;
        }
        Ok(())
    }

    /// Adds all rows, which are on disk.
    fn add_spilled(&mut self, spill: &AccountSpill, slices: &[AccountSlice]) -> Result<(), IngestError> {
        let (dictionaries, has_ids) = (self.dictionaries, self.has_ids);
        let mut left = slices;
        while let Some(slice) = left.first() {
            let is_small = slice.size.rows <= SMALL_ROWS && slice.size.bytes <= SMALL_BYTES;
            if slice.size.bytes > self.budget.sort() && !is_small {
                self.add_oversize(spill, slice)?;
                left = &left[1..];
                continue;
            }
            let (now, later) = left.split_at(self.slices_per_step(left));
            self.step(now, |slice| {
                let (mut batches, mut new) = (Vec::new(), NewRows::default());
                spill.read(slice, dictionaries, &mut |batch, is_new| {
                    new.push(batch.len(), is_new);
                    batches.push(batch);
                    Ok(())
                })?;
                let rows = BatchSet::new(&batches).all();
                rows.and_then(|rows| sort(rows, has_ids, &new, dictionaries)).doing("sort events")
            })?;
            left = later;
        }
        Ok(())
    }

    /// Adds a slice that cannot be sorted in memory: a large account, or several accounts if the memory is small.
    fn add_oversize(&mut self, spill: &AccountSpill, slice: &AccountSlice) -> Result<(), IngestError> {
        self.monitor.check()?;
        self.monitor.add(slice.size.rows, 0);
        let Self { writer, dictionaries, budget, repeated, .. } = self;
        writer.write(self.sorted.drain(..))?;
        let (superseded, shared, reassigned) = oversize::sort(spill, slice, *budget, dictionaries, &mut |sorted| {
            *repeated += sorted.repeated(dictionaries);
            writer.write([sorted])
        })?;
        self.superseded.merge(superseded);
        self.reassigned.merge(reassigned);
        self.shared.add(shared)
    }

    /// Returns how many of the slices to sort in one step: enough to keep every thread busy, as far as they fit in
    /// memory, and at least one.
    fn slices_per_step(&self, slices: &[AccountSlice]) -> usize {
        let mut bytes = 0;
        let fitting = slices.iter().take_while(|slice| {
            bytes += slice.size.bytes;
            bytes <= self.budget.sort()
        });
        fitting.take(rayon::current_num_threads() * SLICES_PER_THREAD).count().max(1)
    }

    /// Sorts some slices, while what the step before has sorted is written.
    fn step(
        &mut self,
        slices: &[AccountSlice],
        sort: impl Fn(&AccountSlice) -> Result<SortedCustomers, IngestError> + Sync + Send,
    ) -> Result<(), IngestError> {
        self.monitor.check()?;
        self.monitor.add(slices.iter().map(|slice| slice.size.rows).sum(), 0);
        let (writer, before) = (&mut self.writer, std::mem::take(&mut self.sorted));
        let dictionaries = self.dictionaries;
        let sort = |slice: &AccountSlice| {
            let sorted = sort(slice)?;
            let repeated = sorted.repeated(dictionaries);
            Ok((sorted, repeated))
        };
        let (written, sorted) = rayon::join(
            || writer.write(before),
            || slices.par_iter().map(sort).collect::<Result<Vec<(SortedCustomers, u64)>, IngestError>>(),
        );
        written?;
        let (mut sorted, repeated): (Vec<_>, Vec<_>) = sorted?.into_iter().unzip();
        for sorted in &mut sorted {
            self.shared.add(std::mem::take(&mut sorted.shared))?;
            self.superseded.merge(std::mem::take(&mut sorted.superseded));
            self.reassigned.merge(std::mem::take(&mut sorted.reassigned));
        }
        self.sorted = sorted;
        self.repeated += repeated.iter().sum::<u64>();
        Ok(())
    }

    /// Writes the rest.
    fn finish(mut self) -> Result<SortedFiles, IngestError> {
        self.writer.write(std::mem::take(&mut self.sorted))?;
        let Self { writer, superseded, repeated, shared, reassigned, .. } = self;
        Ok(SortedFiles { files: writer.finish()?, superseded, repeated, shared, reassigned })
    }
}
