//! The batch of an ingest: the tables that it changes, and the record of what was ingested, by which events without ids
//! are recognized if they come again.
//!
//! `reading` finds out which files the events are in, and what else decides their rows. `repetition` compares that with
//! the records of earlier ingests, and `overtaken` finds files that are older than what they replace.

mod overtaken;
mod reading;
mod repetition;

use reading::EventOrigins;

use crate::error::{ErrorContext, ErrorKind, Repetition};
use crate::events::NewEvents;
use crate::mapping::MappedTables;
use crate::monitor::{Monitor, Phase};
use crate::source::{ReadLimits, file_name};
use crate::table::Table;
use crate::{IngestError, IngestSummary, Input};
use reading::EventReading;
use repetition::{EarlierBatches, Verdict};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use trueup_core::dataset::manifest::Manifest;
use trueup_core::dataset::{Batch, ControlTotals, InputProtocol, TableProtocol};
use trueup_core::files::Files;
use trueup_core::model::{Accounts, ClockZone};

/// What the batch of an ingest depends on besides its inputs.
#[derive(Clone, Copy)]
pub(crate) struct BatchSettings<'a> {
    /// The folder of the dataset.
    pub(crate) dir: &'a Path,
    pub(crate) clock_zone: Option<ClockZone>,
    /// Patterns of columns that are left out.
    pub(crate) ignore: &'a [String],
    /// Whether events are applied whatever was ingested before.
    pub(crate) again: bool,
    /// The source whose stored rows are all removed.
    pub(crate) replaced_source: Option<&'a str>,
    pub(crate) limits: ReadLimits,
}

/// Returns the protocol of events that are not applied because they were ingested before in a batch: all that it read
/// is left out.
fn repeated_events(batch: &Batch) -> Option<TableProtocol> {
    let cause = format!("ingested before, as version {}", batch.version);
    let left_out = |input: &InputProtocol| InputProtocol {
        taken: ControlTotals::default(),
        left_out: BTreeMap::from([(cause.clone(), input.read())]),
        rejected: BTreeMap::new(),
        joined: ControlTotals::default(),
        ..input.clone()
    };
    let events = batch.protocol.get(Table::Events.name())?;
    Some(TableProtocol { inputs: events.inputs.iter().map(left_out).collect(), ..TableProtocol::default() })
}

fn ingested_before(repetition: Repetition) -> IngestError {
    ErrorKind::IngestedBefore(Box::new(repetition)).into()
}

/// The tables that an ingest changes. Events are not among them if the dataset already has that batch, and one of its
/// events has no id.
pub(crate) struct BatchPlan {
    /// The inputs of each.
    tables: Vec<(Table, Vec<Input>)>,
    reading: Option<EventReading>,
    /// Whether the time zones of accounts decide rows.
    has_account_zones: bool,
    /// What the events are compared with; nothing if they are applied whatever was ingested before.
    earlier: EarlierBatches,
    /// Whether the events still have to be compared.
    is_undecided: bool,
    skipped: Option<SkippedEvents>,
    removed_source: Option<String>,
}

struct SkippedEvents {
    /// The version that the batch became.
    version: u64,
    /// Whether there are later batches of events, so that the dataset may no longer hold the events of this one.
    is_overtaken: bool,
    protocol: Option<TableProtocol>,
}

impl BatchPlan {
    /// Plans an ingest that follows `latest`. [`decide`](Self::decide) then finds out whether its events are applied.
    pub(crate) fn new(
        given: &[(Table, Input)],
        mapped: &MappedTables,
        latest: Option<&Manifest>,
        settings: BatchSettings<'_>,
        files: &Files,
        monitor: &Monitor,
    ) -> Result<Self, IngestError> {
        let tables = Table::ALL.into_iter().map(|table| (table, mapped.inputs_of(table, given)));
        let tables = tables.filter(|(_, inputs)| !inputs.is_empty()).collect();
        let has_account_zones = settings.clock_zone == Some(ClockZone::Account);
        let mut plan = Self {
            tables,
            reading: None,
            has_account_zones,
            earlier: EarlierBatches::default(),
            is_undecided: false,
            skipped: None,
            removed_source: settings.replaced_source.map(str::to_owned),
        };
        let Some(inputs) = plan.inputs(Table::Events) else { return Ok(plan) };
        let origins = EventOrigins::new(&inputs, mapped, settings)?;
        if let Some(latest) = latest.filter(|_| !settings.again) {
            let batches = latest.read_batches(settings.dir).of_dataset(settings.dir)?;
            plan.earlier = EarlierBatches::new(batches, settings.replaced_source);
        }
        // Only these can come again, so that otherwise the checksums may be computed while the events are ingested.
        let has_events_without_id = |batch: &Batch| repetition::files(batch).any(|file| file.without_id > 0);
        plan.is_undecided = plan.earlier.batches.iter().any(has_events_without_id);
        plan.reading = Some(if plan.is_undecided {
            monitor.begin(Phase::CheckingInputs, Some(origins.bytes()));
            EventReading::of(files, &origins, settings.limits, monitor)?
        } else {
            EventReading::begin(files.clone(), origins, settings.limits)?
        });
        Ok(plan)
    }

    /// Returns whether the ingest changes accounts, whose time zones may decide whether its events are applied.
    pub(crate) fn changes_accounts(&self) -> bool {
        self.inputs(Table::Accounts).is_some()
    }

    /// Finds out, once the accounts of the new version are known, whether the events are applied.
    ///
    /// # Errors
    /// The events were ingested before, but not all of them, or in another way, or some were removed since, and some
    /// would count twice.
    pub(crate) fn decide(&mut self, accounts: &Accounts) -> Result<(), IngestError> {
        let reading = self.reading.as_ref().filter(|_| self.is_undecided).and_then(EventReading::known);
        let Some(reading) = reading else { return Ok(()) };
        let verdict = self.earlier.judge(reading, accounts).map_err(ingested_before)?;
        if let Verdict::Repeated(version) = verdict {
            let earlier = &self.earlier.batches;
            let is_overtaken = earlier.last().is_some_and(|last| last.version > version);
            let protocol = earlier.iter().find(|batch| batch.version == version).and_then(repeated_events);
            self.skipped = Some(SkippedEvents { version, is_overtaken, protocol });
            self.reading = None;
            self.tables.retain(|(table, _)| *table != Table::Events);
        }
        self.is_undecided = false;
        Ok(())
    }

    /// Takes note of the events that were written.
    ///
    /// # Errors
    /// Some have no id, although all of them had ids when their files were ingested before; or an input cannot be read.
    pub(crate) fn note_events(&mut self, new: &NewEvents, accounts: &Accounts) -> Result<(), IngestError> {
        let NewEvents { inputs, accounts: present } = new;
        let paths: Vec<PathBuf> =
            self.inputs(Table::Events).into_iter().flatten().map(|input| input.path.clone()).collect();
        let Some(reading) = &mut self.reading else { return Ok(()) };
        let zoned = self.has_account_zones.then_some((accounts, present));
        reading.note(paths.into_iter().zip(inputs), zoned);
        if self.earlier.batches.is_empty() || inputs.iter().all(|input| input.without_id == 0) {
            return Ok(());
        }
        self.earlier.judge_written(reading.finish()?, accounts).map_err(ingested_before)
    }

    /// Returns whether the ingest changes no table.
    pub(crate) fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// Returns a warning if the events are not applied. If the ingest makes no version, there is none unless the
    /// dataset may no longer hold the events, because the summary then says that the dataset has not changed.
    pub(crate) fn warning(&self) -> Option<String> {
        let makes_version = !self.is_empty() || self.removed_source.is_some();
        let SkippedEvents { version, .. } =
            self.skipped.as_ref().filter(|skipped| makes_version || skipped.is_overtaken)?;
        Some(format!(
            "these events were ingested before, as version {version}; they are not applied again, because some have no \
             `eventId` and would count twice (`--again` applies them)"
        ))
    }

    /// Returns the protocol of events that are not applied because they were ingested before; `None` if there are none.
    pub(crate) fn repeated_events(&self) -> Option<TableProtocol> {
        self.skipped.as_ref()?.protocol.clone()
    }

    /// Returns the inputs of a table that the ingest changes; `None` for any other table.
    pub(crate) fn inputs(&self, table: Table) -> Option<Vec<&Input>> {
        let (_, inputs) = self.tables.iter().find(|(of, _)| *of == table)?;
        Some(inputs.iter().collect())
    }

    /// Returns the record of the batch.
    ///
    /// # Errors
    /// An input cannot be read.
    pub(crate) fn batch(&mut self, version: u64, summary: &IngestSummary) -> Result<Batch, IngestError> {
        let reading = self.reading.take().map(|mut reading| reading.finish().cloned()).transpose()?;
        Ok(Batch { version, protocol: summary.protocol.clone(), reading, removed_source: self.removed_source.take() })
    }

    /// Returns warnings about files of the batch that were ingested before, and may have replaced newer rows. `stored`
    /// is the version before.
    pub(crate) fn overtaken(&self, batch: &Batch, stored: &Manifest, dir: &Path) -> Result<Vec<String>, IngestError> {
        let has_replaced = |table: Table| {
            let protocol = batch.protocol.get(table.name());
            protocol.is_some_and(|protocol| protocol.all_replaced().rows > 0)
        };
        let mut warnings = Vec::new();
        if has_replaced(Table::Events) {
            warnings.extend(overtaken::warning(Table::Events, &self.earlier.batches, batch, &BTreeMap::new()));
        }
        if has_replaced(Table::Spend) {
            let mut sources = overtaken::FileSources::new();
            for input in self.inputs(Table::Spend).into_iter().flatten() {
                let source = input.options.source.as_deref().unwrap_or_default();
                sources.entry(file_name(&input.shown)).or_default().insert(source.to_owned());
            }
            let earlier = stored.read_batches(dir).of_dataset(dir)?;
            warnings.extend(overtaken::warning(Table::Spend, &earlier, batch, &sources));
        }
        Ok(warnings)
    }
}
