//! Finds the spilled rows that later rows supersede, and the new rows that share an event id.

use super::partitions::{EVENT_HASH, PARTITION, SEQUENCE};
use crate::IngestError;
use crate::error::ErrorContext;
use crate::events::dictionaries::lock;
use crate::events::event_batch::{primitive_column, text_column};
use crate::events::shared_ids::SharedRows;
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

/// The positions of superseded rows on disk, in one file for each partition of rows. The rows that share an event id
/// are among them.
pub(super) struct SupersededRows<'a> {
    scratch: &'a Scratch,
    /// The rows that only rows with a shared event id would supersede, as partition and position. They stay.
    restored: HashSet<(u32, u64)>,
}

impl<'a> SupersededRows<'a> {
    /// Finds all rows but the last among those with the same account and event id. Among rows from the position
    /// `first_new` on, finds the ones that share an id but differ in stage or customer; none of these stays.
    pub(super) fn find(
        ids: &[SpillFile],
        first_new: u64,
        scratch: &'a Scratch,
    ) -> Result<(Self, SharedRows), IngestError> {
        let all = Mutex::new((Self { scratch, restored: HashSet::new() }, SharedRows::default()));
        let add = |superseded| lock(&all).0.add(superseded);
        ids.par_iter().with_max_len(1).try_for_each(|ids| {
            let mut latest = LatestRows { first_new, ..LatestRows::default() };
            for batch in ids.read() {
                latest.record(&batch?).doing("find replaced events")?;
                if latest.superseded.len() >= MAX_HELD {
                    add(std::mem::take(&mut latest.superseded))?;
                }
            }
            let shared = if latest.shared.is_empty() { None } else { Some(latest.take_shared(ids)?) };
            add(latest.superseded)?;
            let Some(SharedOfPartition { rows, restored }) = shared else { return Ok(()) };
            let mut all = lock(&all);
            all.0.restored.extend(restored);
            all.1.add(rows)
        })?;
        Ok(all.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Appends rows, as partition and position, to the files of their partitions.
    fn add(&self, mut rows: Vec<(u32, u64)>) -> Result<(), IngestError> {
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
        let positions = positions.iter().map(|position| u64::from_le_bytes(*position));
        Ok(positions.filter(|position| !self.restored.contains(&(partition, *position))).collect())
    }

    fn path(&self, partition: u32) -> PathBuf {
        self.scratch.path().join(format!("superseded-{partition:03}"))
    }
}

/// The last row of each account and event id so far.
#[derive(Default)]
struct LatestRows {
    first_new: u64,
    /// The row of each account and event id.
    rows: HashMap<u32, HashMap<String, LatestRow>>,
    /// The superseded rows so far, as partition and position.
    superseded: Vec<(u32, u64)>,
    /// The accounts and event ids whose new rows are several events.
    shared: HashSet<(u32, String)>,
}

/// A row, ordered by its position.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct LatestRow {
    position: u64,
    partition: u32,
    event: u64,
}

/// The rows with shared ids of a partition of ids.
struct SharedOfPartition {
    rows: SharedRows,
    /// Rows that the dataset already had, as partition and position, and that stay.
    restored: Vec<(u32, u64)>,
}

impl LatestRows {
    fn record(&mut self, ids: &RecordBatch) -> Result<(), ArrowError> {
        let Self { first_new, rows, superseded, shared } = self;
        each_id(ids, |account, id, row| {
            let latest = rows.entry(account).or_default().entry_ref(id).or_insert(row);
            // The position decides, and not the order in which the rows are read.
            let earlier = std::cmp::min(*latest, row);
            if *latest != row {
                if earlier.position >= *first_new && latest.event != row.event {
                    shared.insert((account, id.to_owned()));
                }
                *latest = std::cmp::max(*latest, row);
                superseded.push((earlier.partition, earlier.position));
            }
        })
    }

    /// Makes superseded rows of all new rows with shared ids, and takes back that they supersede others. `ids` is the
    /// partition that was read.
    fn take_shared(&mut self, ids: &SpillFile) -> Result<SharedOfPartition, IngestError> {
        let Self { first_new, rows, superseded, shared } = self;
        for (account, id) in shared.iter() {
            let latest = rows.get(account).and_then(|rows| rows.get(id));
            superseded.extend(latest.map(|latest| (latest.partition, latest.position)));
        }
        let mut found = SharedRows::default();
        let mut stored: HashMap<(u32, String), LatestRow> = HashMap::new();
        for batch in ids.read() {
            each_id(&batch?, |account, id, row| {
                let key = (account, id.to_owned());
                let is_shared = shared.contains(&key);
                if is_shared && row.position >= *first_new {
                    found.push(account, id);
                } else if is_shared {
                    let latest = stored.entry(key).or_insert(row);
                    *latest = std::cmp::max(*latest, row);
                }
            })
            .doing("find replaced events")?;
        }
        let restored = stored.into_values().map(|row| (row.partition, row.position)).collect();
        Ok(SharedOfPartition { rows: found, restored })
    }
}

/// Passes on the account, the event id and the row of each record of a partition of ids.
fn each_id(ids: &RecordBatch, mut take: impl FnMut(u32, &str, LatestRow)) -> Result<(), ArrowError> {
    let accounts = primitive_column::<UInt32Type>(ids, ACCOUNT)?;
    let partitions = primitive_column::<UInt32Type>(ids, PARTITION)?;
    let positions = primitive_column::<UInt64Type>(ids, SEQUENCE)?;
    let events = primitive_column::<UInt64Type>(ids, EVENT_HASH)?;
    let rows = partitions.values().iter().zip(positions.values()).zip(events.values());
    let rows = rows.map(|((partition, position), event)| LatestRow {
        position: *position,
        partition: *partition,
        event: *event,
    });
    let event_ids = text_column(ids, EVENT_ID)?;
    for ((account, id), row) in accounts.values().iter().zip(&event_ids).zip(rows) {
        take(*account, id.unwrap_or_default(), row);
    }
    Ok(())
}
