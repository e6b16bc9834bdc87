//! A distributed ingest where it begins and where it ends: the process that holds the lock, plans the parts, and
//! publishes the version.

use super::run::{ReceivedInputs, add_value_warnings, receive, write_accounts};
use super::{Ingest, Ingestion, Run};
use crate::amounts::TotalsBySource;
use crate::batch::BatchPlan;
use crate::error::{ErrorKind, StageFault};
use crate::events::{Reassigned, ZoneChange, ZoneChanges, files_with, repeated_warning};
use crate::live_rows::count_left;
use crate::mapping::MappedTables;
use crate::monitor::Monitor;
use crate::parts::{MAX_PARTS, PartSettings, StagePlan, Staged, in_order};
use crate::rejects::{self, FaultyRows};
use crate::settings::CommonSettings;
use crate::spellings::NewValues;
use crate::table::Table;
use crate::version::BegunVersion;
use crate::{IngestError, IngestSummary, Input};
use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use trueup_core::dataset::manifest::{DataFile, Manifest};
use trueup_core::dataset::{CommitOperation, InputProtocol, TableProtocol};
use trueup_core::model::ClockZone;

/// A distributed ingest that has begun: its accounts, spend, insights and targets are written, and other processes
/// stage its events. [`StagedIngest::commit`] publishes everything at once; dropping this instead removes everything.
///
/// As long as it lives, no other ingest can write to the dataset in the folder. In an object store, another ingest can;
/// of the two, one publishes, and the other fails, unless it may begin again ([`Ingest::wait`]).
///
/// # Examples
/// ```
/// use trueup_ingest::{Ingest, Staged, StagePlan, part_of};
///
/// # let dir = tempfile::tempdir()?;
/// let dataset = dir.path().join("dataset");
/// let ingest = Ingest::into(&dataset).begin_staged(2, None)?;
/// let plan = ingest.plan().to_json()?;
/// // In any process that reaches the dataset:
/// let stage = |part: u32| {
///     let events = dir.path().join(format!("{part}.csv"));
///     let accounts = ["acme", "bolt"].into_iter().filter(|account| part_of(account, 2) == part);
///     let rows = accounts.map(|account| format!("{account},1,lead-originated,2025-01-31\n")).collect::<String>();
///     std::fs::write(&events, format!("account,opportunityId,type,date\n{rows}"))?;
///     let staged = Ingest::into(&dataset).events(events).stage(&StagePlan::from_json(&plan)?, part)?;
///     Ok::<_, Box<dyn std::error::Error>>(staged.to_bytes()?)
/// };
/// let staged = [stage(0)?, stage(1)?];
/// // Where the ingest has begun:
/// let staged = staged.iter().map(|bytes| Staged::from_bytes(bytes)).collect::<Result<Vec<_>, _>>()?;
/// let summary = ingest.commit(staged)?;
/// assert_eq!((summary.version, summary.events.taken), (1, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "dropping it gives the ingest up"]
pub struct StagedIngest {
    plan: StagePlan,
    /// The folder or the URL of the dataset.
    dataset: PathBuf,
    version: BegunVersion,
    /// The manifest of the version, without the files of the parts.
    manifest: Manifest,
    /// The stored event files whose rows the parts take over.
    rewritten: Vec<DataFile>,
    batches: BatchPlan,
    zone_changes: ZoneChanges,
    summary: IngestSummary,
    monitor: Arc<Monitor>,
}

impl fmt::Debug for StagedIngest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StagedIngest").field("plan", &self.plan).finish_non_exhaustive()
    }
}

impl Ingest {
    /// Begins a distributed ingest, whose events other processes [stage](Ingest::stage) in `parts` parts. Reads and
    /// writes accounts, spend, insights and targets, of which there may be none.
    ///
    /// `accounts` are the accounts that may have new events. Stored event files that hold none of them, and no account
    /// whose time zone this ingest changes, stay as they are; without this list, the parts write all stored event files
    /// again.
    ///
    /// # Errors
    /// As [`Ingest::run`]; also if the ingest has events, a mapping or a file of rejects, or if the number of parts is
    /// not from 1 to 100,000.
    ///
    /// # Panics
    /// A reader, an iterator or a stream of a [`Source`](crate::Source) panics. The dataset is then unchanged.
    pub fn begin_staged(self, parts: u32, accounts: Option<BTreeSet<String>>) -> Result<StagedIngest, IngestError> {
        let action = &self.action;
        if action.sources.iter().any(|(table, _)| *table == Table::Events) || action.mapping.is_some() {
            return Err(StageFault::Unsupported(
                "a distributed ingest begins without events and without a mapping; give only spend, accounts, insights and targets here, \
                 and the events to its parts",
            )
            .into());
        }
        if action.rejects.is_some() {
            return Err(StageFault::Unsupported("a distributed ingest has no file of rejects").into());
        }
        if action.replaced_source.is_some() {
            return Err(StageFault::Unsupported("a distributed ingest replaces no source").into());
        }
        if !(1..=MAX_PARTS).contains(&parts) {
            return Err(StageFault::Count { parts, limit: MAX_PARTS }.into());
        }
        let (run, action) = self.start();
        action.begin_staged(parts, accounts, &run).map_err(|error| run.monitor.explain(error))
    }
}

impl Ingestion {
    fn begin_staged(
        mut self,
        parts: u32,
        accounts: Option<BTreeSet<String>>,
        run: &Run,
    ) -> Result<StagedIngest, IngestError> {
        run.monitor.check()?;
        let given = if self.sources.is_empty() { Vec::new() } else { self.given(run.dataset(), false)? };
        let (mut version, latest) = run.begin()?;
        // On the caller's thread, because a stream may depend on it.
        let ReceivedInputs { inputs: given, received: _received, warnings } =
            receive(given, &mut version.files, &run.monitor)?;
        let begun = run.settings.on_threads(move || self.begin_here(&given, parts, accounts, version, latest, run));
        let mut begun = begun?;
        begun.summary = begun.summary.with_warnings(warnings);
        Ok(begun)
    }

    fn begin_here(
        &self,
        given: &[(Table, Input)],
        parts: u32,
        changed: Option<BTreeSet<String>>,
        mut version: BegunVersion,
        latest: Option<Manifest>,
        run: &Run,
    ) -> Result<StagedIngest, IngestError> {
        let (mapped, files, monitor) = (MappedTables::default(), &run.settings.files, &run.monitor);
        let batches = BatchPlan::new(given, &mapped, latest.as_ref(), self.batch_settings(run), files, monitor)?;
        let mut summary = IngestSummary::default();
        let mut reader = run.settings.reader(FaultyRows::Refuse { first: None }, monitor);
        let base = latest.clone();
        let written = write_accounts(run.dataset(), &batches, latest, &mut version, &mut reader, &mut summary);
        let written = written.and_then(|(accounts, zone_changes, mut manifest)| {
            self.write_other_tables(run, &batches, &mut manifest, &mut version, &mut reader, &mut summary)?;
            Ok((accounts, zone_changes, manifest))
        });
        let written = written.map_err(|error| monitor.explain(error));
        let (written, _) = rejects::settle(written, reader.faulty_rows, &reader.rejected)?;
        let (accounts, zone_changes, mut manifest) = written;
        summary.warnings.extend(reader.warnings);
        let stored = std::mem::take(&mut manifest.events);
        let rewritten;
        (rewritten, manifest.events) = match &changed {
            Some(changed) => {
                let is_changed = |account: &str| changed.contains(account) || zone_changes.has(account);
                files_with(&stored, &manifest.superseded, run.dataset(), &is_changed)?
            }
            None => (stored, Vec::new()),
        };
        let settings = self.settings_of_parts(&run.settings);
        let zones = zone_changes.iter().map(|(account, ZoneChange { from, to })| (account.to_owned(), (from, to)));
        let known = (&accounts, zones.collect());
        let plan = StagePlan::new(version.id(), base.as_ref(), parts, changed, &rewritten, known, settings);
        version.allow_parts()?;
        let (dataset, monitor) = (run.dataset().to_owned(), Arc::clone(monitor));
        Ok(StagedIngest { plan, dataset, version, manifest, rewritten, batches, zone_changes, summary, monitor })
    }

    /// Returns the settings that the files of parts depend on.
    fn settings_of_parts(&self, common: &CommonSettings) -> PartSettings {
        let clock_zone = self.clock_zone.map(|zone| match zone {
            ClockZone::Account => "account".to_owned(),
            ClockZone::Zone(zone) => zone.name().to_owned(),
        });
        PartSettings {
            clock_zone,
            ignore: self.ignore.clone(),
            group_rows: common.group_rows,
            file_rows: common.file_rows,
            max_columns: common.max_columns,
            max_text_bytes: common.max_text_bytes,
            max_customer_events: self.max_customer_events,
            source: self.reading.source.as_deref().map(str::to_owned),
        }
    }
}

impl StagedIngest {
    /// Returns the plan, which every part follows.
    pub const fn plan(&self) -> &StagePlan {
        &self.plan
    }

    /// Publishes the version with the files of all parts. Before that, checks that each part is there once, that all
    /// are of this ingest and its plan, that every row they read is in their files unless a later row replaced it, that
    /// the parts have taken over each row of the rewritten stored files exactly once, and that their files are there
    /// with the lengths that the parts have noted.
    ///
    /// # Errors
    /// A part is missing, there twice, of another ingest or of another plan of it, its counts do not add up, or one of
    /// its files is missing or has another length; the parts together have too many dimensions; another ingest has
    /// published the version; the ingest is interrupted; or the file system or the store refuses. The dataset is then
    /// unchanged, unless the new version [may be published](IngestError::may_be_published).
    pub fn commit(self, staged: impl IntoIterator<Item = Staged>) -> Result<IngestSummary, IngestError> {
        let Self {
            plan,
            dataset,
            mut version,
            mut manifest,
            rewritten,
            mut batches,
            zone_changes,
            mut summary,
            monitor,
        } = self;
        let staged = in_order(&plan, count_left(&rewritten, &manifest.superseded), staged)?;
        let dimensions: BTreeSet<&String> = staged.iter().flat_map(|part| &part.dimensions).collect();
        check_dimensions(&dimensions, plan.settings.max_columns)?;
        let taken_over = version.adopt(&staged).map_err(|error| monitor.explain(error))?;
        manifest.events.extend(taken_over);
        summary.set(Table::Events, protocol_of_parts(&staged));
        version.add_batch(batches.batch(version.number(), &summary)?);
        monitor.check()?;
        let new_values = NewValues::read(&version.files, &manifest, monitor.interrupt());
        let published = version.publish(manifest, CommitOperation::Ingest, &monitor);
        let manifest = published.map_err(|error| monitor.explain(error))?;
        zone_changes.add_moved(staged.iter().map(|part| part.moved).sum());
        summary.warnings.extend(zone_changes.warning());
        let mut warnings = BTreeSet::new();
        for warning in staged.iter().flat_map(|part| &part.warnings) {
            if warnings.insert(warning) {
                summary.warnings.push(warning.clone());
            }
        }
        summary.warnings.extend(repeated_warning(staged.iter().map(|part| part.repeated).sum()));
        let mut reassigned = Reassigned::default();
        staged.into_iter().for_each(|part| reassigned.merge(part.reassigned));
        summary.warnings.extend(reassigned.warning());
        add_value_warnings(&mut summary, &new_values, (dataset.as_path(), &manifest), &monitor);
        (summary.version, summary.changed) = (manifest.version, true);
        Ok(summary)
    }
}

/// Returns the protocol of the events of all parts. Which rows a part has follows from the number of parts, so that the
/// protocol does not tell their inputs apart.
fn protocol_of_parts(staged: &[Staged]) -> TableProtocol {
    let input = if staged.len() == 1 { "1 part".to_owned() } else { format!("{} parts", staged.len()) };
    let mut all = InputProtocol { input, ..InputProtocol::default() };
    let mut replaced = TotalsBySource::default();
    for part in staged.iter().map(|part| &part.protocol) {
        let TableProtocol { inputs, replaced: of_part, replaced_others, .. } = part;
        inputs.iter().for_each(|input| all.add(input.clone()));
        of_part.iter().for_each(|it| replaced.add(&it.source, &it.channel, it.totals));
        replaced.add_unlisted(*replaced_others);
    }
    let (replaced, replaced_others) = replaced.into_rows();
    let reassigned = staged.iter().map(|part| part.protocol.reassigned).sum();
    TableProtocol { inputs: vec![all], replaced, replaced_others, reassigned, ..TableProtocol::default() }
}

/// Refuses more than `limit` dimensions of all parts together.
fn check_dimensions(dimensions: &BTreeSet<&String>, limit: usize) -> Result<(), IngestError> {
    let count = dimensions.iter().filter(|name| !trueup_core::model::is_own_column(name)).count();
    if count > limit { Err(ErrorKind::ManyDimensions { count, limit }.into()) } else { Ok(()) }
}
