//! Finds the spilled rows that later rows supersede, and the new rows that share an event id.

use super::partitions::{EVENT_HASH, PARTITION, SEQUENCE};
use crate::IngestError;
use crate::error::ErrorContext;
use crate::events::dictionaries::{EventDictionaries, lock};
use crate::events::event_batch::{primitive_column, text_column};
use crate::events::reassigned::Reassigned;
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
use trueup_core::model::{ACCOUNT, EVENT_ID, OPPORTUNITY_ID};

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
    /// `first_new` on, finds the ones that share an id but differ in stage or customer; none of these stays. Also finds
    /// the other rows whose customer changes.
    pub(super) fn find(
        ids: &[SpillFile],
        first_new: u64,
        scratch: &'a Scratch,
        dictionaries: &EventDictionaries,
    ) -> Result<(Self, SharedRows, Reassigned), IngestError> {
        let none = Self { scratch, restored: HashSet::new() };
        let all = Mutex::new((none, SharedRows::default(), Reassigned::default()));
        let add = |superseded| lock(&all).0.add(superseded);
        ids.par_iter().with_max_len(1).try_for_each(|ids| {
            let mut latest = LatestRows { first_new, ..LatestRows::default() };
            for batch in ids.read() {
                latest.record(&batch?).doing("find replaced events")?;
                if latest.superseded.len() >= MAX_HELD {
                    add(std::mem::take(&mut latest.superseded))?;
                }
            }
            let is_done = latest.shared.is_empty() && latest.changed.is_empty();
            let again = if is_done { None } else { Some(latest.read_again(ids, dictionaries)?) };
            add(latest.superseded)?;
            let Some(ReadAgain { rows, restored, reassigned }) = again else { return Ok(()) };
            let mut all = lock(&all);
            all.0.restored.extend(restored);
            all.2.merge(reassigned);
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
    /// The accounts and event ids of rows whose stage or customer a new row changes.
    changed: HashSet<(u32, String)>,
}

/// A row, ordered by its position.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct LatestRow {
    position: u64,
    partition: u32,
    event: u64,
}

/// What a second reading of a partition of ids finds.
struct ReadAgain {
    /// The rows with shared ids.
    rows: SharedRows,
    /// Rows that the dataset already had, as partition and position, and that stay.
    restored: Vec<(u32, u64)>,
    reassigned: Reassigned,
}

impl LatestRows {
    fn record(&mut self, ids: &RecordBatch) -> Result<(), ArrowError> {
        let Self { first_new, rows, superseded, shared, changed } = self;
        each_id(ids, |account, id, _, row| {
            let latest = rows.entry(account).or_default().entry_ref(id).or_insert(row);
            // The position decides, and not the order in which the rows are read.
            let earlier = std::cmp::min(*latest, row);
            if *latest != row {
                if latest.event != row.event {
                    let ids = if earlier.position >= *first_new { &mut *shared } else { &mut *changed };
                    ids.insert((account, id.to_owned()));
                }
                *latest = std::cmp::max(*latest, row);
                superseded.push((earlier.partition, earlier.position));
            }
        })
    }

    /// Makes superseded rows of all new rows with shared ids, and takes back that they supersede others. Finds which of
    /// the other rows get another customer. `ids` is the partition that was read.
    fn read_again(&mut self, ids: &SpillFile, dictionaries: &EventDictionaries) -> Result<ReadAgain, IngestError> {
        let Self { first_new, rows, superseded, shared, changed } = self;
        for (account, id) in shared.iter() {
            let latest = rows.get(account).and_then(|rows| rows.get(id));
            superseded.extend(latest.map(|latest| (latest.partition, latest.position)));
        }
        let mut found = SharedRows::default();
        let mut stored: HashMap<(u32, String), LatestRow> = HashMap::new();
        // The customer before and the customer now.
        let mut customers: HashMap<(u32, String), [String; 2]> = HashMap::new();
        for batch in ids.read() {
            each_id(&batch?, |account, id, customer, row| {
                let key = (account, id.to_owned());
                let is_shared = shared.contains(&key);
                if !is_shared && changed.contains(&key) {
                    let side = usize::from(row.position >= *first_new);
                    customer.clone_into(&mut customers.entry(key).or_default()[side]);
                    return;
                }
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
        let mut reassigned = Reassigned::default();
        for ((account, _), [old, new]) in customers.iter().filter(|(_, [old, new])| old != new) {
            reassigned.add(dictionaries.account(*account), old, new);
        }
        Ok(ReadAgain { rows: found, restored, reassigned })
    }
}

/// Passes on the account, the event id, the customer and the row of each record of a partition of ids.
fn each_id(ids: &RecordBatch, mut take: impl FnMut(u32, &str, &str, LatestRow)) -> Result<(), ArrowError> {
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
    let (event_ids, customers) = (text_column(ids, EVENT_ID)?, text_column(ids, OPPORTUNITY_ID)?);
    for (((account, id), customer), row) in accounts.values().iter().zip(&event_ids).zip(&customers).zip(rows) {
        take(*account, id.unwrap_or_default(), customer.unwrap_or_default(), row);
    }
    Ok(())
}
