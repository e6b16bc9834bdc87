//! Events, from checked rows to the files of the dataset.
//!
//! ```text
//! TableReader: batches of checked rows        touched: stored events of the customers in the inputs, and of accounts
//!                                             that get another time zone (new_keys, key_index)
//! 1  encode                                     stored_files, encode
//!      └─────────────► EventBatch ◄─────────────┘      the form of events in memory
//!                          │
//! 2  spill                 EventBuffer, which moves its batches to disk when memory is full
//!                          │
//!    sort_and_write        divides all accounts into slices (row_ranges); for each slice:
//! 3    sort                  concatenates its rows (row_ranges), leaves out superseded rows, sorts
//!      sort/oversize         does the same on disk, if a slice is too large for memory
//! 4    write                 collects sorted customers into row groups, and encodes these as Parquet
//!    shared_ids            rejects new rows that share an event id, which step 3 left out
//! ```
//!
//! A compaction has no inputs: `merge` passes the rows of stored files through the same steps. `forgotten` finds the
//! events of customers to forget.
//!
//! All steps use the `dictionaries`, which hold the texts of the codes in event batches, and the `budget`, which says
//! how much memory each step may take.

mod budget;
mod dictionaries;
mod encode;
mod event_batch;
mod forgotten;
mod key_index;
mod left_out;
mod merge;
mod missing_total;
mod new_keys;
mod patched;
mod reassigned;
mod row_ranges;
mod shared_ids;
mod sort;
mod sort_and_write;
mod sources;
mod spill;
mod stored_files;
mod touched;
mod write;
mod zone_changes;

pub(crate) use budget::Budget;
pub(crate) use forgotten::{Forgotten, ForgottenRows, forgotten_rows};
pub(crate) use merge::merge;
pub(crate) use patched::find_patched;
pub(crate) use reassigned::Reassigned;
pub(crate) use sources::InputEvents;
pub(crate) use stored_files::{distinct_rows, files_with};
pub(crate) use zone_changes::{ZoneChange, ZoneChanges};

use crate::amounts::TotalsBySource;
use crate::error::{ErrorContext, ErrorKind};
use crate::live_rows::Superseded;
use crate::monitor::Phase;
use crate::parts::PartOfAccounts;
use crate::read::TableReader;
use crate::records::DeliveredRecords;
use crate::report::protocols_of;
use crate::settings::CommonSettings;
use crate::stored_copy::local_copy;
use crate::table::Table;
use crate::version::{Scratch, VersionFiles};
use crate::{IngestError, Input};
use dictionaries::DictionaryBuilders;
use encode::{EventRules, NormalizerFactory};
use event_batch::EventBatch;
use left_out::LeftOut;
use missing_total::MissingTotal;
use new_keys::NewKeys;
use reassigned::CustomersOfRecords;
use sort_and_write::SortedFiles;
use sources::{may_have_source, without_records, without_source};
use spill::EventBuffer;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use touched::{Touched, TouchedFinder};
use trueup_core::dataset::manifest::DataFile;
use trueup_core::dataset::{DeletionVector, ForgottenCustomers, TableProtocol};
use trueup_core::model::{Accounts, ClockZone};
use write::FileLayout;

/// The settings of an ingest of events.
pub(crate) struct Settings<'a> {
    /// The accounts, whose time zones turn times into dates.
    pub(crate) accounts: &'a Accounts,
    /// The accounts that have stored events and get another time zone.
    pub(crate) zone_changes: &'a ZoneChanges,
    /// The names that the dataset defines. No input may have a column with one.
    pub(crate) defined_names: &'a BTreeSet<String>,
    /// The customers whose events are left out; `None` if there are none.
    pub(crate) forgotten: Option<&'a ForgottenCustomers>,
    /// The records that the inputs deliver; `None` if their events are no records.
    pub(crate) records: Option<&'a DeliveredRecords>,
    /// The time zone of times without an offset; `None` if they are refused.
    pub(crate) clock_zone: Option<ClockZone>,
    /// The stored rows that are superseded, which are not read.
    pub(crate) superseded: &'a Superseded,
    /// The source whose stored events are all removed.
    pub(crate) replaced_source: Option<&'a str>,
    pub(crate) budget: Budget,
    /// The settings of the command.
    pub(crate) common: &'a CommonSettings,
}

/// The event files that the dataset has, and what an ingest does with their rows.
#[derive(Clone, Copy)]
pub(crate) enum StoredEvents<'a> {
    /// All files. The customers that the inputs concern are written again, and those of accounts that get another time
    /// zone.
    All(&'a [DataFile]),
    /// The files that all parts of a distributed ingest write again, each with the rows of its own accounts.
    Rewritten(&'a [DataFile], &'a PartOfAccounts<'a>),
}

/// The events that an ingest has written.
pub(crate) struct WrittenEvents {
    /// The stored files that stay.
    pub(crate) kept: Vec<DataFile>,
    /// The rows of these files that were written again.
    pub(crate) superseded: BTreeMap<String, DeletionVector>,
    /// The new files.
    pub(crate) files: Vec<DataFile>,
    pub(crate) protocol: TableProtocol,
    /// The number of rows of stored files that were written again, before rows of the inputs replaced some of them.
    pub(crate) carried: u64,
    /// The number of rows without an event id that are equal to another in every column.
    pub(crate) repeated: u64,
    /// The replaced events that had another customer.
    pub(crate) reassigned: Reassigned,
    /// The dimensions of the new files.
    pub(crate) dimensions: BTreeSet<String>,
    pub(crate) new: NewEvents,
}

/// What is known of the events of the inputs.
#[derive(Default)]
pub(crate) struct NewEvents {
    pub(crate) inputs: Vec<InputEvents>,
    /// The accounts of the events, if clock times are in the time zones of accounts.
    pub(crate) accounts: BTreeSet<String>,
}

impl WrittenEvents {
    /// Returns what an ingest has written that changes no events.
    fn unchanged(kept: Vec<DataFile>, protocol: TableProtocol) -> Self {
        let (superseded, files, dimensions) = (BTreeMap::new(), Vec::new(), BTreeSet::new());
        let (reassigned, new) = (Reassigned::default(), NewEvents::default());
        Self { kept, superseded, files, protocol, carried: 0, repeated: 0, reassigned, dimensions, new }
    }
}

/// Adds the events of some inputs to the stored event files of the dataset. The event files of the next version are
/// stored files without the customers that the inputs concern, and new files with all other events. If faulty rows make
/// the ingest fail, there are no files.
pub(crate) fn ingest(
    inputs: &[&Input],
    stored: StoredEvents<'_>,
    dir: &Path,
    settings: &Settings<'_>,
    version: &mut VersionFiles,
    reader: &mut TableReader<'_>,
) -> Result<WrittenEvents, IngestError> {
    let mut protocol = TableProtocol { inputs: protocols_of(inputs), ..TableProtocol::default() };
    let Settings { zone_changes, records, clock_zone, superseded, replaced_source, budget, .. } = *settings;
    let dictionaries = DictionaryBuilders::new(budget.dictionary(), budget.dictionaries());
    let mut buffer = EventBuffer::new(budget, &dictionaries);
    // With them, rows are found in stored files.
    let mut keys = match stored {
        StoredEvents::All(files) if !files.is_empty() && replaced_source.is_none() => {
            Some(NewKeys::new(&dictionaries, budget.keys()))
        }
        _ => None,
    };
    let mut customers = match (stored, records) {
        (StoredEvents::All(files), Some(records)) => CustomersOfRecords::new(records, files),
        _ => None,
    };
    let missing_total = MissingTotal::default();
    let normalizers = NormalizerFactory::new(settings.accounts, clock_zone);
    let left_out = LeftOut::new(settings.forgotten, records);
    let total = inputs.iter().map(|input| input.size()).sum();
    reader.monitor.begin(Phase::Reading(Table::Events.name()), Some(total));
    let mut new = NewEvents { inputs: vec![InputEvents::default(); inputs.len()], ..NewEvents::default() };
    let of_inputs = inputs.iter().zip(&mut protocol.inputs).zip(&mut new.inputs);
    for (at, ((input, protocol), noted)) in of_inputs.enumerate() {
        let make_rules = |schema: &_| {
            let (normalizer, source) = (normalizers.normalizer(schema)?, input.options.source.clone());
            let (missing_total, left_out, dictionaries) = (&missing_total, &left_out, &dictionaries);
            let delivery = left_out.file(&input.path);
            Ok(Box::new(EventRules { normalizer, source, missing_total, left_out, delivery, dictionaries }) as _)
        };
        reader.read(input, Table::Events, &make_rules, protocol, &mut |batch: EventBatch| {
            keys.iter_mut().for_each(|keys| keys.add(&batch));
            customers.iter_mut().for_each(|customers| customers.add(&batch, &dictionaries));
            noted.add(&batch, &dictionaries);
            buffer.add(batch, version)
        })?;
        left_out.add_to(protocol);
        // The tables of a mapping are judged together: a table of leads needs no amounts if one of sales has them.
        let is_continued = inputs.get(at + 1).is_some_and(|next| next.mapper.is_some() && input.mapper.is_some());
        if !is_continued {
            reader.warnings.extend(missing_total.take_warning(input));
        }
        buffer.check_dimensions(reader.limits.max_columns)?;
        // Before this input, no column had such a name.
        if let Some(column) = settings.defined_names.iter().find(|name| buffer.has_dimension(name)) {
            let (path, column) = (input.shown.clone(), column.clone());
            return Err(ErrorKind::DefinedColumn { path, column }.into());
        }
    }
    if reader.is_refusing() {
        return Ok(WrittenEvents::unchanged(Vec::new(), protocol));
    }
    reader.warnings.extend(left_out.warnings(inputs));
    if clock_zone == Some(ClockZone::Account) {
        new.accounts = buffer.new_accounts().into_iter().collect();
    }
    let (mut carried, mut replaced, mut reassigned) = (0, TotalsBySource::default(), Reassigned::default());
    let mut without_replaced = |batch: EventBatch| match records {
        Some(records) => {
            let (records, changes) = ((records, customers.as_ref()), (&mut replaced, &mut reassigned));
            without_records(batch, records, &dictionaries, changes).doing("replace records")
        }
        None => Ok(batch),
    };
    let delivers_nothing = records.is_none_or(|records| records.count() == 0);
    let mut part = None;
    let touched = match stored {
        StoredEvents::All(files)
            if buffer.is_empty() && zone_changes.is_empty() && replaced_source.is_none() && delivers_nothing =>
        {
            return Ok(WrittenEvents::unchanged(files.to_vec(), protocol));
        }
        StoredEvents::All(files) => match keys.and_then(|keys| keys.finish(zone_changes, records)) {
            Some(wanted) => {
                let dictionaries = &dictionaries;
                let finder = TouchedFinder { files, superseded, dir, zone_changes, dictionaries, reader };
                finder.pass_touched(&wanted, &mut |batch| {
                    carried += batch.len() as u64;
                    buffer.add_stored(without_replaced(batch)?, version)
                })?
            }
            None => {
                let mut changed = buffer.new_accounts();
                changed.extend(zone_changes.accounts().map(str::to_owned));
                let delivered = records.into_iter().flat_map(DeliveredRecords::by_account);
                changed.extend(delivered.map(|(account, _)| account.to_owned()));
                let may_have = |file: &DataFile| replaced_source.is_some_and(|source| may_have_source(file, source));
                let (mut rewritten, others): (Vec<_>, Vec<_>) = files.iter().cloned().partition(may_have);
                let (changed, kept) = files_with(&others, superseded, dir, &|account| changed.contains(account))?;
                rewritten.extend(changed);
                Touched { kept, rewritten, passed: superseded.clone(), ..Touched::default() }
            }
        },
        StoredEvents::Rewritten(files, accounts) => {
            buffer.new_accounts().iter().try_for_each(|account| accounts.check(account))?;
            part = Some(accounts);
            let (rewritten, _) = files_with(files, superseded, dir, &|account| accounts.has(account))?;
            Touched { rewritten, passed: superseded.clone(), ..Touched::default() }
        }
    };
    let Touched { kept, superseded: superseded_now, rewritten, passed } = touched;
    buffer.check_dimensions(reader.limits.max_columns)?;
    if !rewritten.is_empty() {
        let size = rewritten.iter().map(|file| file.size).sum::<u64>();
        reader.monitor.begin(Phase::ReadingStoredEvents, Some(size));
    }
    for file in &rewritten {
        let copy = local_copy(dir, file, version, reader.monitor)?;
        let dir = copy.as_ref().map_or(dir, Scratch::path);
        stored_files::read(dir, (file, &passed), reader, zone_changes, &dictionaries, part, &mut |batch| {
            carried += batch.len() as u64;
            let batch = match replaced_source {
                Some(source) => {
                    without_source(batch, source, &dictionaries, &mut protocol.removed).doing("remove a source")?
                }
                None => batch,
            };
            buffer.add_stored(without_replaced(batch)?, version)
        })?;
        buffer.check_dimensions(reader.limits.max_columns)?;
    }
    reader.monitor.begin_rows(Phase::WritingEvents, protocol.taken().rows + carried);
    let events = buffer.finish(version)?;
    let dimensions = events.summary.dimensions.keys().cloned().collect();
    let layout = FileLayout::new(settings.common, budget);
    let dictionaries = dictionaries.finish();
    let SortedFiles { files, superseded, repeated, shared, reassigned: by_id } =
        sort_and_write::sort_and_write(events, &dictionaries, budget, layout, version, reader.monitor)?;
    replaced.merge(superseded);
    reassigned.merge(by_id);
    protocol.reassigned = reassigned.events;
    (protocol.replaced, protocol.replaced_others) = replaced.into_rows();
    let rules = (&normalizers, &left_out);
    shared_ids::reject(&shared, &dictionaries, inputs, rules, reader, &mut protocol.inputs)?;
    let superseded = superseded_now;
    Ok(WrittenEvents { kept, superseded, files, protocol, carried, repeated, reassigned, dimensions, new })
}

/// Returns the warning about events that may be counted twice.
pub(crate) fn repeated_warning(repeated: u64) -> Option<String> {
    let (are, another) = match repeated {
        0 => return None,
        1 => ("1 event without an `eventId` is", "it counts"),
        _ => ("events without an `eventId` are", "they count"),
    };
    let count = if repeated == 1 { String::new() } else { format!("{repeated} ") };
    Some(format!(
        "{count}{are} equal to another event of the same customer in every column, and {another} in addition; if the same events \
         were ingested twice, ingest all events with an `eventId` into a new dataset"
    ))
}
