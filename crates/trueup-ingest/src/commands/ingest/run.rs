//! The run of an ingest: from its inputs to the manifest of the next version.

use super::Ingestion;
use super::given_inputs::GivenInput;
use crate::batch::{BatchPlan, BatchSettings};
use crate::commands::Run;
use crate::commands::compact;
use crate::commands::forget::stored_forgotten;
use crate::error::{ErrorContext, ErrorKind, FileFault};
use crate::events::{Budget, StoredEvents, ZoneChanges, repeated_warning};
use crate::given::is_stream;
use crate::live_rows::Superseded;
use crate::mapping::{MappedTables, Mapping, PatchKeyRules, PatchKeys, PatchMapper, PatchedEvents, StoredDataset};
use crate::monitor::{Monitor, Phase};
use crate::read::{RowRules, TableReader};
use crate::records::DeliveredRecords;
use crate::rejects::{self, FaultyRows, RejectsWriter};
use crate::spellings::NewValues;
use crate::table::Table;
use crate::version::{BegunVersion, Scratch, VersionFiles};
use crate::{
    IngestError, IngestSummary, Input, Outputs, RemovedSource, RowCounts, events, held, insights, spend, stray_targets,
};
use arrow_schema::Schema;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};
use trueup_core::dataset::manifest::{
    DEFINITIONS_FOLDER, FORGOTTEN_FOLDER, INSIGHTS, MAPPING_FOLDER, Manifest, OtherTzdata, TARGETS, checksum,
};
use trueup_core::dataset::{
    Commit, CommitOperation, ForgottenCustomers, InputProtocol, RemoteFile, manifest_file, read_definitions,
    read_mapping, without_credentials,
};
use trueup_core::definitions::Definitions;
use trueup_core::dictionary;
use trueup_core::model::{Accounts, Targets, tzdata_release};

impl Ingestion {
    /// Ingests after the newest version. It can be attempted again if all inputs can be read again, and rejected rows
    /// can be taken back; otherwise nothing is worth a wait from the first attempt on.
    pub(super) fn attempt(&mut self, run: &Run) -> Result<IngestSummary, IngestError> {
        let again: Option<Vec<_>> =
            self.sources.iter().map(|(table, source)| Some((*table, source.again()?))).collect();
        let is_mapped = self.mapping.is_some() || self.has_stored_mapping(run.dataset())?;
        let given = self.given(run.dataset(), is_mapped)?;
        let rejects = self.checked_rejects(run.dataset(), &given)?;
        let again = again.filter(|_| given.iter().all(|given| !is_stream(&given.input)));
        let again = again.filter(|_| rejects.as_ref().is_none_or(|(path, outputs)| !outputs.is_final(path)));
        let (mut version, latest) = run.begin()?;
        match again {
            Some(sources) => self.sources = sources,
            None => run.monitor.stop_waiting(),
        }
        // On the caller's thread, because a stream may depend on it.
        let ReceivedInputs { inputs: given, received: _received, warnings } =
            receive(given, &mut version.files, &run.monitor)?;
        let done = run.settings.on_threads(|| self.run_here(&given, rejects, version, latest, run));
        Ok(done?.with_warnings(warnings))
    }

    /// Returns whether the dataset has a mapping that reads the inputs, as far as that decides how they are opened.
    fn has_stored_mapping(&self, dataset: &Path) -> Result<bool, IngestError> {
        if !self.uses_stored_mapping || self.format.is_none() {
            return Ok(false);
        }
        Ok(manifest_file::read_latest(dataset)?.is_some_and(|latest| latest.named(MAPPING_FOLDER).is_some()))
    }

    /// Runs the ingest on the current thread pool.
    fn run_here(
        // Not shared, because a source may belong to one thread at a time.
        &mut self,
        given: &[(Table, Input)],
        rejects: Option<(PathBuf, Outputs)>,
        mut version: BegunVersion,
        latest: Option<Manifest>,
        run: &Run,
    ) -> Result<IngestSummary, IngestError> {
        let (dir, files, monitor) = (run.dataset(), &run.settings.files, &*run.monitor);
        let patched;
        let given = if self.is_patch {
            patched = self.completed(given, latest.as_ref(), run, &mut version.files)?;
            patched.as_slice()
        } else {
            given
        };
        let mapping = self.read_mapping(given, latest.as_ref(), dir)?;
        let (limits, stored) = (run.settings.limits(), StoredDataset { dir, manifest: latest.as_ref() });
        let mapped = match &mapping {
            Some(mapping) => {
                let raw = given.iter().filter(|(table, _)| *table == Table::Events);
                let raw: Vec<Input> = raw.map(|(_, input)| input.clone()).collect();
                let tables = mapping.tables(&raw, files, limits, self.clock_zone, Some(stored));
                tables.map_err(|error| if mapping.is_stored() { error.of_stored_mapping(dir) } else { error })?
            }
            None => MappedTables::default(),
        };
        let mut plan = BatchPlan::new(given, &mapped, latest.as_ref(), self.batch_settings(run), files, monitor)?;
        if !plan.changes_accounts() {
            plan.decide(&held::stored_accounts(latest.as_ref(), dir)?)?;
        }
        let removed = self.replaced_source.clone().map(|source| RemovedSource { source, ..RemovedSource::default() });
        let mut summary = IngestSummary { version: version.number() - 1, removed, ..IngestSummary::default() };
        if plan.is_empty() && self.replaced_source.is_none() {
            plan.repeated_events().into_iter().for_each(|protocol| summary.set(Table::Events, protocol));
            summary.warnings.extend(plan.warning());
            let accounts = held::stored_accounts(latest.as_ref(), dir)?;
            let other_tzdata = latest.and_then(|latest| latest.other_tzdata(&accounts));
            summary.warnings.extend(other_tzdata.map(|other| other.to_string()));
            return Ok(summary);
        }
        let faulty_rows = match rejects {
            Some((path, outputs)) => FaultyRows::Reject(RejectsWriter::create(&path, &outputs)?),
            None => FaultyRows::Refuse { first: None },
        };
        let mut reader = run.settings.reader(faulty_rows, monitor);
        let written = self.write(run, plan, &mapped, latest, &mut version, &mut reader, &mut summary);
        let written = written.and_then(|mut manifest| {
            let given = mapping.filter(|_| self.mapping.is_some()).map(|mapping| mapping.text().to_owned());
            let stored = manifest.named(MAPPING_FOLDER).map(|file| file.blake3.as_str());
            if let Some(text) = given.filter(|text| stored != Some(checksum(text).as_str())) {
                version.write_mapping(&text, &mut manifest)?;
            }
            Ok(manifest)
        });
        let written = written.map_err(|error| monitor.explain(error));
        let (manifest, rejects) = rejects::settle(written, reader.faulty_rows, &reader.rejected)?;
        let id = version.id().to_owned();
        let new_values = NewValues::read(&version.files, &manifest, monitor.interrupt());
        let manifest =
            version.publish(manifest, CommitOperation::Ingest, monitor).map_err(|error| rejects.take_back(error))?;
        summary.warnings.extend(reader.warnings);
        summary.not_normal = reader.not_normal;
        summary.warnings.extend(mapped.warnings());
        add_value_warnings(&mut summary, &new_values, (dir, &manifest), monitor);
        summary.left_out = mapped.left_out();
        summary.rejected = reader.rejected;
        summary.version = manifest.version;
        summary.changed = true;
        // The version is published. Another ingest merges what this one cannot merge now.
        monitor.stop_waiting();
        match compact::after_ingest(run, &id, &manifest) {
            Ok(compacted) => summary.compacted = compacted,
            Err(error) => {
                let warning = format!("the new version is complete, but the merge of its files failed: {error}");
                summary.warnings.push(warning);
            }
        }
        Ok(summary)
    }

    /// Returns the inputs, of which those of events are a patch, with what makes whole events of its rows.
    fn completed(
        &self,
        given: &[(Table, Input)],
        latest: Option<&Manifest>,
        run: &Run,
        files: &mut VersionFiles,
    ) -> Result<Vec<(Table, Input)>, IngestError> {
        if self.mapping.is_some() || self.replaced_source.is_some() || self.reading.source.is_some() {
            return Err(ErrorKind::PatchWithOthers.into());
        }
        let mut reader = run.settings.reader(FaultyRows::PassOver, &run.monitor);
        let limits = reader.limits;
        let is_patch = |(table, _): &&(Table, Input)| *table == Table::Events;
        let inputs = || given.iter().filter(is_patch).map(|(_, input)| input);
        run.monitor.begin(Phase::FindingPatched, Some(inputs().map(Input::size).sum()));
        let mut patched = PatchedEvents::default();
        for input in inputs() {
            let rules = |schema: &Schema| Ok(Box::new(PatchKeyRules::new(schema)?) as Box<dyn RowRules<PatchKeys>>);
            reader.read(input, Table::Events, &rules, &mut InputProtocol::default(), &mut |rows| {
                patched.add(rows, limits)
            })?;
        }
        if let Some(latest) = latest {
            let stored = (latest.events.as_slice(), &latest.superseded);
            events::find_patched(&mut patched, run.dataset(), stored, files, &reader)?;
        }
        let patched = Arc::new(patched);
        let completed = |(table, input): &(Table, Input)| {
            let mut input = input.clone();
            if *table == Table::Events {
                input.mapper = Some(Arc::new(PatchMapper::new(&input.shown, &patched)));
            }
            (*table, input)
        };
        Ok(given.iter().map(completed).collect())
    }

    /// Reads the mapping of the inputs: the given one, or the one that the dataset has; `None` if they need none.
    fn read_mapping(
        &self,
        given: &[(Table, Input)],
        latest: Option<&Manifest>,
        dir: &Path,
    ) -> Result<Option<Mapping>, IngestError> {
        if let Some(path) = &self.mapping {
            if is_stream(&Input::given(path)) {
                let reason =
                    "a mapping is read more than once, which a pipe does not allow; write its content to a file first";
                return Err(FileFault::Refused(reason.to_owned()).at(path));
            }
            return Mapping::read(path).map(Some);
        }
        let is_needed =
            self.uses_stored_mapping && !self.is_patch && given.iter().any(|(table, _)| *table == Table::Events);
        let stored = latest.and_then(|latest| latest.named(MAPPING_FOLDER)).filter(|_| is_needed);
        let Some(file) = stored else { return Ok(None) };
        let path = dir.join(&file.path);
        let text = read_mapping(dir, file).of_dataset(&path)?;
        Mapping::stored(text, &without_credentials(&path)).map(Some).map_err(|error| error.of_stored_mapping(dir))
    }

    /// Writes the new data files. Returns the manifest that names them. Accounts come first, because events need their
    /// time zones.
    #[expect(clippy::too_many_arguments, reason = "what an ingest consists of")]
    fn write(
        &self,
        run: &Run,
        mut plan: BatchPlan,
        mapped: &MappedTables,
        latest: Option<Manifest>,
        version: &mut BegunVersion,
        reader: &mut TableReader<'_>,
        summary: &mut IngestSummary,
    ) -> Result<Manifest, IngestError> {
        let dir = run.dataset();
        let (accounts, zone_changes, mut manifest) = write_accounts(dir, &plan, latest, version, reader, summary)?;
        plan.decide(&accounts)?;
        mapped.set_accounts(&accounts);
        plan.repeated_events().into_iter().for_each(|protocol| summary.set(Table::Events, protocol));
        summary.warnings.extend(plan.warning());
        let event_inputs = plan.inputs(Table::Events);
        if event_inputs.is_some() || !zone_changes.is_empty() || self.replaced_source.is_some() {
            if event_inputs.is_some() {
                mapped.find_first_conversions(reader)?;
                mapped.find_records(reader)?;
            }
            let inputs = event_inputs.unwrap_or_default();
            // What a mapping holds may be most of a small memory; the events still have half of it.
            let memory = run.settings.memory.saturating_sub(mapped.held_bytes()).max(run.settings.memory / 2);
            let (superseded, defined_names) = (&manifest.superseded, defined_names(dir, Some(&manifest))?);
            let forgotten = forgotten_in(dir, Some(&manifest))?;
            let known = (&defined_names, forgotten.as_ref(), mapped.records());
            let settings = self.event_settings(run, &accounts, &zone_changes, known, superseded, memory);
            let stored = StoredEvents::All(&manifest.events);
            let written = events::ingest(&inputs, stored, dir, &settings, &mut version.files, reader)?;
            if !reader.is_refusing() {
                plan.note_events(&written.new, &accounts)?;
            }
            let mut protocol = written.protocol;
            protocol.inputs.extend(plan.repeated_events().into_iter().flat_map(|repeated| repeated.inputs));
            summary.set(Table::Events, protocol);
            reader.warnings.extend(repeated_warning(written.repeated));
            reader.warnings.extend(written.reassigned.warning());
            version.supersede(written.superseded);
            manifest.events = written.kept;
            manifest.events.extend(written.files);
        }
        summary.warnings.extend(zone_changes.warning());
        self.write_other_tables(run, &plan, &mut manifest, version, reader, summary)?;
        if !reader.is_refusing() {
            self.check_rejects(summary)?;
        }
        let batch = plan.batch(version.number(), summary)?;
        if !reader.is_refusing() {
            reader.warnings.extend(plan.overtaken(&batch, &manifest, dir)?);
        }
        version.add_batch(batch);
        Ok(manifest)
    }

    /// Returns what the batch depends on besides its inputs.
    pub(super) fn batch_settings<'a>(&'a self, run: &'a Run) -> BatchSettings<'a> {
        let (dir, ignore, limits) = (run.dataset(), self.ignore.as_slice(), run.settings.limits());
        let replaced_source = self.replaced_source.as_deref();
        BatchSettings { dir, clock_zone: self.clock_zone, ignore, again: self.again, replaced_source, limits }
    }

    /// Checks that a table with rejected rows has other rows, too, and that no more rows are rejected than allowed.
    fn check_rejects(&self, summary: &IngestSummary) -> Result<(), IngestError> {
        let counts = Table::ALL.map(|table| (table, summary.counts(table)));
        for (table, counts) in counts {
            if counts.taken + counts.forgotten == 0 && counts.rejected > 0 {
                return Err(ErrorKind::AllRejected { table: table.name(), rows: counts.rejected }.into());
            }
        }
        let tables = counts.map(|(_, counts)| {
            let RowCounts { taken, rejected, forgotten, .. } = counts;
            (rejected, rejected + taken + forgotten)
        });
        match self.max_rejects.filter(|limit| limit.is_exceeded(&tables)) {
            None => Ok(()),
            Some(limit) => {
                let [rejected, all] =
                    [tables.map(|(rejected, _)| rejected), tables.map(|(_, all)| all)].map(|rows| rows.iter().sum());
                Err(ErrorKind::ManyRejects { rejected, all, limit }.into())
            }
        }
    }

    /// Returns the settings of an ingest of events.
    pub(super) fn event_settings<'a>(
        &'a self,
        run: &'a Run,
        accounts: &'a Accounts,
        zone_changes: &'a ZoneChanges,
        (defined_names, forgotten, records): KnownOfEvents<'a>,
        superseded: &'a Superseded,
        memory: usize,
    ) -> events::Settings<'a> {
        let budget = Budget { memory, customer_events: self.max_customer_events };
        events::Settings {
            accounts,
            zone_changes,
            defined_names,
            forgotten,
            records,
            clock_zone: self.clock_zone,
            superseded,
            replaced_source: self.replaced_source.as_deref(),
            budget,
            common: &run.settings,
        }
    }

    /// Writes spend, insights and targets, and names their files in the manifest.
    pub(super) fn write_other_tables(
        &self,
        run: &Run,
        plan: &BatchPlan,
        manifest: &mut Manifest,
        version: &mut BegunVersion,
        reader: &mut TableReader<'_>,
        summary: &mut IngestSummary,
    ) -> Result<(), IngestError> {
        let dir = run.dataset();
        let inputs = plan.inputs(Table::Spend);
        if inputs.is_some() || self.replaced_source.is_some() {
            let settings = (&run.settings, self.replaced_source.as_deref());
            let stored = (manifest.spend.as_slice(), &manifest.superseded);
            let written = spend::ingest(&inputs.unwrap_or_default(), stored, settings, version, reader)?;
            reader.warnings.extend(written.warnings);
            manifest.spend = written.files;
            summary.set(Table::Spend, written.protocol);
            reader.warnings.extend(summary.removed.as_ref().and_then(RemovedSource::note));
        }
        if let Some(inputs) = plan.inputs(Table::Insights) {
            let stored = manifest.named(INSIGHTS);
            let (file, protocol) = insights::ingest(&inputs, stored, dir, &mut version.files, reader)?;
            file.into_iter().for_each(|file| manifest.set_named(file));
            summary.set(Table::Insights, protocol);
        }
        if let Some(inputs) = plan.inputs(Table::Targets) {
            let definitions = definitions_in(dir, Some(manifest))?;
            let is_metric = |name: &str| dictionary::metric(name).is_some() || definitions.metric(name).is_some();
            let mut targets: Targets = held::stored(manifest.named(TARGETS), dir)?;
            let (file, protocol) =
                held::ingest(Table::Targets, &inputs, &mut targets, &is_metric, &mut version.files, reader)?;
            file.into_iter().for_each(|file| manifest.set_named(file));
            summary.set(Table::Targets, protocol);
        }
        Ok(())
    }
}

/// Adds the warnings about values that only a whole version shows: spellings, and targets that nothing counts toward.
/// `manifest` is that of the published version in `dir`.
pub(super) fn add_value_warnings(
    summary: &mut IngestSummary,
    new_values: &NewValues,
    (dir, manifest): (&Path, &Manifest),
    monitor: &Monitor,
) {
    summary.warnings.extend(new_values.warnings(dir, manifest, monitor.interrupt()));
    if summary.targets.taken > 0 {
        summary.warnings.extend(stray_targets::warnings(dir, manifest.version, monitor.interrupt()));
    }
}

/// What an ingest of events knows before it reads them: the names that the dataset defines, the customers that it has
/// forgotten, and the records that the inputs deliver.
pub(super) type KnownOfEvents<'a> =
    (&'a BTreeSet<String>, Option<&'a ForgottenCustomers>, Option<&'a DeliveredRecords>);

/// Writes the accounts. Returns all accounts of the version, the changes of their time zones, and its manifest, which
/// is otherwise that of the version before.
pub(super) fn write_accounts(
    dir: &Path,
    plan: &BatchPlan,
    latest: Option<Manifest>,
    version: &mut BegunVersion,
    reader: &mut TableReader<'_>,
    summary: &mut IngestSummary,
) -> Result<(Accounts, ZoneChanges, Manifest), IngestError> {
    let stored_accounts = held::stored_accounts(latest.as_ref(), dir)?;
    let older_tzdata = match latest.as_ref().and_then(|latest| latest.other_tzdata(&stored_accounts)) {
        Some(newer @ OtherTzdata::Newer(_)) => return Err(ErrorKind::NewerTzdata(newer).into()),
        Some(OtherTzdata::Older(older)) => Some(older),
        None => None,
    };
    let mut accounts = stored_accounts.clone();
    let mut account_file = None;
    if let Some(inputs) = plan.inputs(Table::Accounts) {
        let protocol;
        (account_file, protocol) =
            held::ingest(Table::Accounts, &inputs, &mut accounts, &|_| true, &mut version.files, reader)?;
        summary.set(Table::Accounts, protocol);
    }
    let mut zone_changes = ZoneChanges::find(&stored_accounts, &accounts, latest.as_ref(), dir)?;
    if let (Some(older), Some(latest)) = (older_tzdata, &latest) {
        zone_changes.add_changed_rules(older, &accounts, latest, dir, reader.monitor)?;
    }
    // The version gets its number, and what there is to say of its commit, when it is published.
    let mut manifest = latest.unwrap_or_else(|| {
        Manifest::new(0, "", Commit::after(None, UNIX_EPOCH, CommitOperation::Ingest, Duration::ZERO))
    });
    account_file.into_iter().for_each(|file| manifest.set_named(file));
    tzdata_release().clone_into(&mut manifest.tzdata);
    Ok((accounts, zone_changes, manifest))
}

/// Returns the names that a version of the dataset defines.
pub(super) fn defined_names(dir: &Path, manifest: Option<&Manifest>) -> Result<BTreeSet<String>, IngestError> {
    Ok(definitions_in(dir, manifest)?.names().map(str::to_owned).collect())
}

/// Returns the definitions of a version of the dataset.
fn definitions_in(dir: &Path, manifest: Option<&Manifest>) -> Result<Definitions, IngestError> {
    let Some(file) = manifest.and_then(|manifest| manifest.named(DEFINITIONS_FOLDER)) else {
        return Ok(Definitions::default());
    };
    read_definitions(dir, file).of_dataset(&dir.join(&file.path))
}

/// Returns the customers that a version of the dataset has forgotten; `None` if it has forgotten nobody.
pub(super) fn forgotten_in(dir: &Path, manifest: Option<&Manifest>) -> Result<Option<ForgottenCustomers>, IngestError> {
    let file = manifest.and_then(|manifest| manifest.named(FORGOTTEN_FOLDER));
    file.map(|file| stored_forgotten(dir, file)).transpose()
}

/// The inputs of an ingest, all of which are files now.
pub(super) struct ReceivedInputs {
    pub(super) inputs: Vec<(Table, Input)>,
    /// Holds what was received.
    pub(super) received: Vec<Scratch>,
    /// What the user should know of where they came from.
    pub(super) warnings: Vec<String>,
}

/// Receives the inputs that are no files.
pub(super) fn receive(
    mut given: Vec<GivenInput>,
    version: &mut VersionFiles,
    monitor: &Monitor,
) -> Result<ReceivedInputs, IngestError> {
    let (mut received, mut warnings) = (Vec::new(), Vec::new());
    for GivenInput { input, producer, remote, .. } in &mut given {
        if let Some(producer) = producer.take() {
            let scratch = version.scratch()?;
            input.path = producer.receive(&input.shown, &scratch, monitor)?;
            received.push(scratch);
            if let Some(host) = remote.as_ref().and_then(RemoteFile::redirected_to) {
                warnings.push(format!("`{}` is redirected to the host `{host}`", input.shown.display()));
            }
        }
    }
    let inputs = given.into_iter().map(|given| (given.table, given.input)).collect();
    Ok(ReceivedInputs { inputs, received, warnings })
}
