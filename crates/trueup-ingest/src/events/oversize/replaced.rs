//! Which spilled rows later ones have replaced.

use super::super::sequence::{Rows, SEQUENCE};
use super::split::{PARTITION, accounts, text};
use crate::IngestError;
use crate::error::ErrorContext;
use crate::version::Scratch;
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_schema::ArrowError;
use hashbrown::{HashMap, HashSet};
use rayon::prelude::*;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use trueup_core::model::EVENT_ID;

/// The places of replaced rows, on disk, by the partition that holds the row.
pub(super) struct Replaced<'a> {
    scratch: &'a Scratch,
    pub(super) count: u64,
}

impl<'a> Replaced<'a> {
    /// Finds, among rows with the same account and event id, all but the one that came last.
    pub(super) fn find(ids: &[Rows], scratch: &'a Scratch) -> Result<Self, IngestError> {
        let replaced = Mutex::new(Self { scratch, count: 0 });
        let add = |losers| replaced.lock().unwrap_or_else(PoisonError::into_inner).add(losers);
        ids.par_iter().with_max_len(1).try_for_each(|ids| {
            let mut latest = Latest::default();
            for batch in ids.read() {
                latest.note(&batch?).doing("find replaced events")?;
                if latest.losers.len() >= MANY {
                    add(std::mem::take(&mut latest.losers))?;
                }
            }
            add(latest.losers)
        })?;
        Ok(replaced.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&mut self, mut losers: Vec<(u32, u64)>) -> Result<(), IngestError> {
        self.count += u64::try_from(losers.len()).unwrap_or(0);
        losers.sort_unstable();
        for losers in losers.chunk_by(|(a, _), (b, _)| a == b) {
            let bytes: Vec<u8> = losers.iter().flat_map(|(_, place)| place.to_le_bytes()).collect();
            let path = self.path(losers[0].0);
            let file = self.scratch.files().append(&path);
            file.and_then(|mut file| file.write_all(&bytes)).at("write", &path)?;
        }
        Ok(())
    }

    /// The places of the replaced rows of a partition.
    pub(super) fn of(&self, partition: u32) -> Result<HashSet<u64>, IngestError> {
        let path = self.path(partition);
        if !path.exists() {
            return Ok(HashSet::new());
        }
        let mut bytes = Vec::new();
        let file = self.scratch.files().open(&path);
        file.and_then(|mut file| file.read_to_end(&mut bytes)).at("read", &path)?;
        let (places, _) = bytes.as_chunks::<8>();
        Ok(places.iter().map(|place| u64::from_le_bytes(*place)).collect())
    }

    fn path(&self, partition: u32) -> PathBuf {
        self.scratch.path().join(format!("replaced-{partition:03}"))
    }
}

/// Replaced rows that are held before they are written.
const MANY: usize = 1 << 16;

/// The rows with an event id of their account each.
#[derive(Default)]
struct Latest {
    /// By account and id the place and the partition of the row that came last.
    rows: HashMap<u32, HashMap<String, (u64, u32)>>,
    /// The rows, as partition and place, that others with the same id have replaced.
    losers: Vec<(u32, u64)>,
}

impl Latest {
    fn note(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let column = |name| batch.column_by_name(name);
        let (Some(partitions), Some(places)) = (
            column(PARTITION).and_then(|column| column.as_primitive_opt::<UInt32Type>()),
            column(SEQUENCE).and_then(|column| column.as_primitive_opt::<UInt64Type>()),
        ) else {
            return Err(ArrowError::SchemaError("spilled ids have other columns than expected".to_owned()));
        };
        let keys = accounts(batch)?.values().iter().zip(text(batch, EVENT_ID)?);
        for ((account, id), (partition, place)) in keys.zip(partitions.values().iter().zip(places.values())) {
            let row = (*place, *partition);
            let known = self.rows.entry(*account).or_default().entry_ref(id.unwrap_or_default()).or_insert(row);
            // A stored row may come after the row that replaces it.
            let loser = std::cmp::min(*known, row);
            if *known != row {
                *known = std::cmp::max(*known, row);
                self.losers.push((loser.1, loser.0));
            }
        }
        Ok(())
    }
}
