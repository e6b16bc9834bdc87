//! Finds the spilled rows that later rows supersede.

use super::partitions::{PARTITION, SEQUENCE};
use crate::IngestError;
use crate::error::ErrorContext;
use crate::events::dictionaries::lock;
use crate::events::event_batch::{primitive_column, text_column};
use crate::spill_file::SpillFile;
use crate::version::Scratch;
use arrow_array::RecordBatch;
use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_schema::ArrowError;
use hashbrown::{HashMap, HashSet};
use rayon::prelude::*;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use trueup_core::model::{ACCOUNT, EVENT_ID};

/// Superseded rows that are held before they are written.
const MAX_HELD: usize = 1 << 16;

/// The positions of superseded rows on disk, in one file for each partition of rows.
pub(super) struct SupersededRows<'a> {
    scratch: &'a Scratch,
    pub(super) count: u64,
}

impl<'a> SupersededRows<'a> {
    /// Finds all rows but the last among those with the same account and event id.
    pub(super) fn find(ids: &[SpillFile], scratch: &'a Scratch) -> Result<Self, IngestError> {
        let all = Mutex::new(Self { scratch, count: 0 });
        let add = |superseded| lock(&all).add(superseded);
        ids.par_iter().with_max_len(1).try_for_each(|ids| {
            let mut latest = LatestRows::default();
            for batch in ids.read() {
                latest.record(&batch?).doing("find replaced events")?;
                if latest.superseded.len() >= MAX_HELD {
                    add(std::mem::take(&mut latest.superseded))?;
                }
            }
            add(latest.superseded)
        })?;
        Ok(all.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Appends rows, as partition and position, to the files of their partitions.
    fn add(&mut self, mut rows: Vec<(u32, u64)>) -> Result<(), IngestError> {
        self.count += u64::try_from(rows.len()).unwrap_or(0);
        rows.sort_unstable();
        for rows in rows.chunk_by(|(a, _), (b, _)| a == b) {
            let bytes: Vec<u8> = rows.iter().flat_map(|(_, position)| position.to_le_bytes()).collect();
            let path = self.path(rows[0].0);
            let file = self.scratch.files().append(&path);
            file.and_then(|mut file| file.write_all(&bytes)).at("write", &path)?;
        }
        Ok(())
    }

    /// Returns the positions of the superseded rows of a partition.
    pub(super) fn of(&self, partition: u32) -> Result<HashSet<u64>, IngestError> {
        let path = self.path(partition);
        if !path.exists() {
            return Ok(HashSet::new());
        }
        let mut bytes = Vec::new();
        let file = self.scratch.files().open(&path);
        file.and_then(|mut file| file.read_to_end(&mut bytes)).at("read", &path)?;
        let (positions, _) = bytes.as_chunks::<8>();
        Ok(positions.iter().map(|position| u64::from_le_bytes(*position)).collect())
    }

    fn path(&self, partition: u32) -> PathBuf {
        self.scratch.path().join(format!("superseded-{partition:03}"))
    }
}

/// The last row of each account and event id so far.
#[derive(Default)]
struct LatestRows {
    /// Position and partition of the row, by account and event id.
    rows: HashMap<u32, HashMap<String, (u64, u32)>>,
    /// The superseded rows so far, as partition and position.
    superseded: Vec<(u32, u64)>,
}

impl LatestRows {
    fn record(&mut self, ids: &RecordBatch) -> Result<(), ArrowError> {
        let accounts = primitive_column::<UInt32Type>(ids, ACCOUNT)?;
        let partitions = primitive_column::<UInt32Type>(ids, PARTITION)?;
        let positions = primitive_column::<UInt64Type>(ids, SEQUENCE)?;
        let event_ids = text_column(ids, EVENT_ID)?;
        let keys = accounts.values().iter().zip(&event_ids);
        for ((account, id), (partition, position)) in keys.zip(partitions.values().iter().zip(positions.values())) {
            let row = (*position, *partition);
            let latest = self.rows.entry(*account).or_default().entry_ref(id.unwrap_or_default()).or_insert(row);
            // The position decides, and not the order in which the rows are read.
            let superseded = std::cmp::min(*latest, row);
            if *latest != row {
                *latest = std::cmp::max(*latest, row);
                self.superseded.push((superseded.1, superseded.0));
            }
        }
        Ok(())
    }
}
