//! Which stored customers an ingest touches: their whole histories are written again, together with the new rows, and
//! everything else stays where it is.
//!
//! A stored customer is touched if the new rows have its id, or an event id of it, or if its account gets another time
//! zone. The lists of files and the `key_index` of each file say which rows may be of such customers. Of these rows the
//! ids are read, and then the other columns of the touched rows, which get a deletion vector. A file of which more than
//! half is then superseded is written again as a whole, and so is a file without an index, if it has a row of an
//! account that has new rows or gets another time zone.

use super::dictionaries::DictionaryBuilders;
use super::event_batch::EventBatch;
use super::key_index::{FoundRows, KeyIndex};
use super::new_keys::{KeysOfAccount, WantedKeys};
use super::stored_files::{encode_stored, files_with};
use super::zone_changes::ZoneChanges;
use crate::IngestError;
use crate::error::ErrorContext;
use crate::live_rows::{LeftCursor, LeftInRowGroup, Superseded};
use crate::monitor::Phase;
use crate::read::TableReader;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use trueup_core::dataset::manifest::DataFile;
use trueup_core::dataset::{CheckedFile, DatasetError, Days, DeletionVector, EventFile, EventRowGroup};
use trueup_core::model::{ACCOUNT, EVENT_ID, OPPORTUNITY_ID, RECORD_COLUMN};
use trueup_parquet::TextRows;

/// The most column chunks of files whose footers are in memory at the same time, unless a single file has more.
const OPEN_CHUNKS: usize = 1 << 16;

/// What an ingest does with the stored files.
#[derive(Default)]
pub(super) struct Touched {
    /// The files that the next version has, too.
    pub(super) kept: Vec<DataFile>,
    /// The rows of kept files that were passed on.
    pub(super) superseded: BTreeMap<String, DeletionVector>,
    /// The files of which the other rows are to be written again, too.
    pub(super) rewritten: Vec<DataFile>,
    /// The rows of these files that are superseded or were passed on.
    pub(super) passed: Superseded,
}

/// Finds the touched customers in the stored files of a dataset.
pub(super) struct TouchedFinder<'a> {
    pub(super) files: &'a [DataFile],
    pub(super) superseded: &'a Superseded,
    pub(super) dir: &'a Path,
    pub(super) zone_changes: &'a ZoneChanges,
    pub(super) dictionaries: &'a DictionaryBuilders,
    pub(super) reader: &'a TableReader<'a>,
}

/// Where a file may have touched customers.
enum Places {
    Nowhere,
    /// Among these rows.
    Rows(Vec<FoundRows>),
    /// Among all rows, because the file has no index; or in row groups that do not fit in memory.
    Unknown,
}

/// A file whose footer was read, if it may have touched customers.
struct Opened<'f> {
    stored: &'f DataFile,
    places: Places,
    file: Option<EventFile>,
    /// The bytes of memory that each of these row groups takes.
    bytes: Vec<usize>,
}

/// A row group that may have touched customers.
struct Candidate<'a> {
    /// The position of its file among the open ones.
    at: usize,
    stored: &'a DataFile,
    file: &'a EventFile,
    found: &'a FoundRows,
    /// The bytes of memory that it takes.
    bytes: usize,
}

/// The rows of touched customers of a row group.
struct TouchedRows {
    /// Counted within the row group: ascending, and neither empty nor adjacent.
    ranges: Vec<Range<usize>>,
    events: EventBatch,
    /// The days of the rows that the row group has left without `ranges`.
    left_days: Days,
}

impl TouchedFinder<'_> {
    /// Passes the rows of touched customers on, in the order of the files, and says what becomes of the files.
    pub(super) fn pass_touched(
        &self,
        wanted: &WantedKeys,
        pass: &mut dyn FnMut(EventBatch) -> Result<(), IngestError>,
    ) -> Result<Touched, IngestError> {
        let monitor = self.reader.monitor;
        let places: Vec<Places> =
            self.files.par_iter().map(|file| self.places(file, wanted)).collect::<Result<_, _>>()?;
        let files: Vec<(&DataFile, Places)> = self.files.iter().zip(places).collect();
        monitor.begin(Phase::ReadingStoredEvents, Some(files.iter().map(|(file, places)| places.bytes(file)).sum()));
        let mut touched = Touched::default();
        for files in steps(files, OPEN_CHUNKS, |(file, _)| file.columns.len().saturating_mul(file.row_groups.len())) {
            let opened: Vec<_> =
                files.into_par_iter().map(|(file, places)| self.open(file, places)).collect::<Result<_, _>>()?;
            let mut vectors = vec![DeletionVector::default(); opened.len()];
            let candidates: Vec<Candidate<'_>> =
                opened.iter().enumerate().flat_map(|(at, opened)| opened.candidates(at)).collect();
            for candidates in steps(candidates, self.reader.limits.decoded_bytes, |candidate| candidate.bytes) {
                monitor.check()?;
                let read = candidates.par_iter().map(|candidate| self.read(candidate, wanted));
                let read: Vec<Option<TouchedRows>> = read.collect::<Result<_, _>>()?;
                for (Candidate { at, stored, found, .. }, read) in candidates.iter().zip(read) {
                    let number = found.row_group;
                    let entry = stored.row_groups.get(number);
                    let rows = read.as_ref().map_or(0, |read| read.events.len());
                    monitor.add(rows, entry.map_or(0, |entry| proportional_bytes(stored, entry.rows)));
                    let Some(TouchedRows { ranges, events, left_days }) = read else { continue };
                    pass(events)?;
                    let ranges = ranges.into_iter().map(|rows| rows.start as u64..rows.end as u64);
                    vectors[*at].supersede(stored, number, ranges, left_days);
                }
            }
            for (Opened { stored, places, .. }, vector) in opened.iter().zip(vectors) {
                touched.add(stored, places, vector, self.superseded);
            }
        }
        Ok(touched)
    }

    /// Finds the rows of a file that may be of touched customers.
    fn places(&self, file: &DataFile, wanted: &WantedKeys) -> Result<Places, IngestError> {
        if !wanted.concern(file) {
            return Ok(Places::Nowhere);
        }
        self.reader.monitor.check()?;
        let path = self.dir.join(&file.path);
        let checked = CheckedFile::open(self.dir, file).of_dataset(&path)?.until(self.reader.monitor.interrupt());
        let Some(index) = KeyIndex::open(file, &checked, &path)? else {
            let is_wanted = |account: &str| wanted.of(account).is_some();
            let (with, _) = files_with(std::slice::from_ref(file), self.superseded, self.dir, &is_wanted)?;
            return Ok(if with.is_empty() { Places::Nowhere } else { Places::Unknown });
        };
        let found = index.find(|entry, customers, event_ids| wanted.lookup(entry, customers, event_ids))?;
        Ok(if found.is_empty() { Places::Nowhere } else { Places::Rows(found) })
    }

    /// Reads the footer of a file that may have touched customers.
    fn open<'f>(&self, stored: &'f DataFile, places: Places) -> Result<Opened<'f>, IngestError> {
        let Places::Rows(found) = &places else {
            return Ok(Opened { stored, places, file: None, bytes: Vec::new() });
        };
        let path = self.dir.join(&stored.path);
        let row_groups = found.iter().map(|found| found.row_group).collect();
        let file = EventFile::open(self.dir, stored, row_groups, self.reader.monitor.interrupt()).of_dataset(&path)?;
        let bytes = found.iter().map(|found| file.row_group_bytes(found.row_group));
        let bytes: Vec<usize> = bytes.collect::<Result<_, _>>().of_dataset(&path)?;
        let fit = bytes.iter().all(|bytes| *bytes <= self.reader.limits.row_group_bytes());
        let places = if fit { places } else { Places::Unknown };
        Ok(Opened { stored, places, file: Some(file), bytes })
    }

    /// Reads the rows of touched customers of a row group; `None` if it has none.
    fn read(&self, candidate: &Candidate<'_>, wanted: &WantedKeys) -> Result<Option<TouchedRows>, IngestError> {
        let Candidate { stored, file, found, .. } = *candidate;
        let (path, number) = (self.dir.join(&stored.path), found.row_group);
        let row_group = file.row_group(number, None, found.rows.clone()).of_dataset(&path)?;
        let with_records = found.has_event_ids && stored.columns.iter().any(|column| column == RECORD_COLUMN);
        let ids = Ids::read(&row_group, found.has_event_ids, with_records).of_dataset(&path)?;
        let left = LeftInRowGroup::new(stored, number, self.superseded);
        let ranges = ids.touched(&found.rows, wanted, left.cursor());
        if ranges.is_empty() {
            return Ok(None);
        }
        let events = row_group.pick(&ranges).of_dataset(&path)?;
        let left_days = left.days_without(&ranges, &row_group).of_dataset(&path)?;
        let events = encode_stored(events, self.zone_changes, self.dictionaries, None)?;
        Ok(Some(TouchedRows { ranges, events, left_days }))
    }
}

impl Opened<'_> {
    /// Returns the row groups that may have touched customers.
    fn candidates(&self, at: usize) -> impl Iterator<Item = Candidate<'_>> {
        let found = match &self.places {
            Places::Rows(found) => found.as_slice(),
            _ => &[],
        };
        let of_file = move |file| found.iter().zip(&self.bytes).map(move |(found, bytes)| (file, found, *bytes));
        let candidates = self.file.iter().flat_map(of_file);
        candidates.map(move |(file, found, bytes)| Candidate { at, stored: self.stored, file, found, bytes })
    }
}

/// Divides items into consecutive steps. The items of a step cost at most `limit`, unless it has a single one.
fn steps<T>(items: Vec<T>, limit: usize, cost: impl Fn(&T) -> usize) -> Vec<Vec<T>> {
    let mut steps: Vec<Vec<T>> = Vec::new();
    let mut left = 0_usize;
    for item in items {
        match (left.checked_sub(cost(&item)), steps.last_mut()) {
            (Some(rest), Some(step)) => {
                left = rest;
                step.push(item);
            }
            _ => {
                left = limit.saturating_sub(cost(&item));
                steps.push(vec![item]);
            }
        }
    }
    steps
}

impl Places {
    /// Returns the share of the file's bytes that their row groups have, for the progress report.
    fn bytes(&self, file: &DataFile) -> u64 {
        let Self::Rows(found) = self else { return 0 };
        let entries = found.iter().filter_map(|found| file.row_groups.get(found.row_group));
        entries.map(|entry| proportional_bytes(file, entry.rows)).sum()
    }
}

/// Returns the share of a file's bytes that some of its rows have.
fn proportional_bytes(file: &DataFile, rows: u64) -> u64 {
    let bytes = u128::from(rows) * u128::from(file.size) / u128::from(file.rows.max(1));
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

impl Touched {
    /// Adds a file, of which the rows of `vector` were passed on.
    fn add(&mut self, file: &DataFile, places: &Places, vector: DeletionVector, before: &Superseded) {
        let before = before.get(&file.path);
        let superseded = before.map_or(0, |vector| vector.rows()).saturating_add(vector.rows());
        let left = file.rows.saturating_sub(superseded);
        if !matches!(places, Places::Unknown) && (vector.rows() == 0 || left.saturating_mul(2) >= file.rows) {
            self.kept.push(file.clone());
            if vector.rows() > 0 {
                self.superseded.insert(file.path.clone(), vector);
            }
            return;
        }
        self.rewritten.push(file.clone());
        let mut passed = before.map_or_else(DeletionVector::default, |vector| DeletionVector::clone(vector));
        passed.merge(&vector);
        if passed.rows() > 0 {
            self.passed.insert(file.path.clone(), Arc::new(passed));
        }
    }
}

/// The columns by which the touched customers of a row group are found.
struct Ids<'r> {
    accounts: TextRows<'r>,
    customers: TextRows<'r>,
    /// Only where an event id may be wanted.
    event_ids: Option<TextRows<'r>>,
    /// Only where an event id or a record may be wanted, and the file has records.
    records: Option<TextRows<'r>>,
}

impl<'r> Ids<'r> {
    fn read(row_group: &'r EventRowGroup<'_>, with_event_ids: bool, with_records: bool) -> Result<Self, DatasetError> {
        Ok(Self {
            records: with_records.then(|| row_group.texts(RECORD_COLUMN)).transpose()?,
            accounts: row_group.texts(ACCOUNT)?,
            customers: row_group.texts(OPPORTUNITY_ID)?,
            event_ids: with_event_ids.then(|| row_group.texts(EVENT_ID)).transpose()?,
        })
    }

    /// Returns the rows of touched customers among some rows, which have all rows of each touched customer.
    fn touched(&self, among: &[Range<usize>], wanted: &WantedKeys, mut left: LeftCursor) -> Vec<Range<usize>> {
        let mut touched: Vec<Range<usize>> = Vec::new();
        // Of most customers, the ending of the id is enough to see that they are not wanted. It does not say whether
        // one of their events is.
        let endings = wanted.endings(self.accounts.texts().filter_map(text));
        let candidates = self.event_ids.is_none().then(|| self.customers.rows_with(|id| endings.has(id)));
        let next_candidate = |rows: Range<usize>| match &candidates {
            Some(candidates) => candidates.first(rows),
            None => Some(rows.start).filter(|_| !rows.is_empty()),
        };
        // A row of the last account, and what is wanted of the account.
        let mut account: Option<(usize, Option<&KeysOfAccount>)> = None;
        for among in among {
            let mut next = among.start;
            while let Some(start) = next_candidate(next..among.end) {
                let is_same = |row: &usize| self.customers.is_same(start, *row) && self.accounts.is_same(start, *row);
                next = (start + 1..among.end).find(|row| !is_same(row)).unwrap_or(among.end);
                let rows = start..next;
                // Of the rows of a customer, a file has all left or none.
                if !left.has(rows.start) {
                    continue;
                }
                let keys = match account {
                    Some((row, keys)) if self.accounts.is_same(row, rows.start) => keys,
                    _ => self.accounts.get(rows.start).and_then(text).and_then(|account| wanted.of(account)),
                };
                account = Some((rows.start, keys));
                let is_touched = |keys: &KeysOfAccount| {
                    self.customers.get(rows.start).is_some_and(|id| keys.wants_customer(id))
                        || self.has_wanted_event(rows.clone(), keys)
                };
                if keys.is_some_and(is_touched) {
                    match touched.last_mut() {
                        Some(last) if last.end == rows.start => last.end = rows.end,
                        _ => touched.push(rows),
                    }
                }
            }
        }
        touched
    }

    fn has_wanted_event(&self, mut rows: Range<usize>, keys: &KeysOfAccount) -> bool {
        let has_wanted = |ids: &Option<TextRows<'_>>, row| {
            ids.as_ref().and_then(|ids| ids.get(row)).is_some_and(|id| keys.wants_event(id))
        };
        rows.any(|row| has_wanted(&self.event_ids, row) || has_wanted(&self.records, row))
    }
}

/// Returns an id as a text; `None` if it is not UTF-8.
pub(super) fn text(bytes: &[u8]) -> Option<&str> {
    str::from_utf8(bytes).ok()
}
