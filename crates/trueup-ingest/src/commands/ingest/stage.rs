//! A part of a distributed ingest: the events of its accounts become files, which nobody sees yet.

use super::run::{ReceivedInputs, defined_names, forgotten_in, receive};
use super::{Ingest, Ingestion, Run};
use crate::error::{ErrorKind, StageFault};
use crate::events::{self, StoredEvents, ZoneChange, ZoneChanges};
use crate::live_rows::Superseded;
use crate::parts::{PartSettings, StagePlan, Staged, base_of};
use crate::rejects::{self, FaultyRows};
use crate::settings::CommonSettings;
use crate::table::Table;
use crate::version::{PartVersion, VersionFiles};
use crate::{IngestError, Input};
use std::time::Duration;
use trueup_core::Shown;
use trueup_core::dataset::manifest::Manifest;
use trueup_core::dataset::manifest_file;

impl Ingest {
    /// Stages a part of a distributed ingest: reads the part's events, checks and sorts them together with the stored
    /// events of the same accounts, and writes their files, as [`Ingest::run`] does, except that no version names the
    /// files until [`StagedIngest::commit`](crate::StagedIngest::commit). `part` is counted from 0. Any process may
    /// stage a part, and several attempts may stage the same part, even at the same time; pass the result of only one
    /// of them to the commit.
    ///
    /// The events are all new rows of the accounts of the part ([`StagePlan::part_of`]). A part without rows needs a
    /// source, too. The plan decides the settings that the files depend on: the [time zone](Ingest::time_zone), the
    /// [source](Ingest::source), the [ignored columns](Ingest::ignore), the rows of
    /// [row groups](Ingest::row_group_rows) and of [files](Ingest::file_rows), the most
    /// [columns](Ingest::max_columns), the most [bytes of a text](Ingest::max_text_bytes), and the most
    /// [events of a customer](Ingest::max_customer_events). All other settings are those of this ingest.
    ///
    /// # Errors
    /// As [`Ingest::run`]; also if this ingest has spend, accounts, insights, targets, a mapping or a file of rejects,
    /// if the plan has no such part, if a row belongs to another part or to an account that the ingest was not planned
    /// with, if the ingest of the plan has ended, or if the dataset is not the one that it was planned with. Nothing of
    /// this attempt stays.
    ///
    /// # Panics
    /// A reader, an iterator or a stream of a [`Source`](crate::Source) panics.
    pub fn stage(mut self, plan: &StagePlan, part: u32) -> Result<Staged, IngestError> {
        let action = &self.action;
        let has_others = action.sources.iter().any(|(table, _)| *table != Table::Events);
        for (is_set, why) in [
            (
                has_others || action.mapping.is_some(),
                "a part of a distributed ingest has events alone; give spend, accounts, insights and targets where the ingest begins",
            ),
            (action.rejects.is_some(), "a part of a distributed ingest has no file of rejects"),
            (action.is_patch, "a part of a distributed ingest has whole events, and no patch"),
            (action.replaced_source.is_some(), "a part of a distributed ingest replaces no source"),
        ] {
            if is_set {
                return Err(StageFault::Unsupported(why).into());
            }
        }
        plan.part(part)?;
        let PartSettings { group_rows, file_rows, max_columns, max_text_bytes, .. } = plan.settings;
        self.settings = CommonSettings { group_rows, file_rows, max_columns, max_text_bytes, ..self.settings };
        self.wait = Duration::ZERO;
        let (run, mut action) = self.start();
        action.clock_zone = plan.settings.clock_zone()?;
        action.ignore.clone_from(&plan.settings.ignore);
        action.reading.source = plan.settings.source.as_deref().map(Into::into);
        action.max_customer_events = plan.settings.max_customer_events;
        let staged = action.stage(plan, part, &run).map_err(|error| run.monitor.explain(error));
        staged.map_err(|error| of_part(error, plan, part))
    }
}

impl Ingestion {
    fn stage(mut self, plan: &StagePlan, part: u32, run: &Run) -> Result<Staged, IngestError> {
        run.monitor.check()?;
        let given = self.given(run.dataset(), false)?;
        let (mut version, attempt) = PartVersion::begin(&run.settings.files, run.dataset(), plan, part, &run.monitor)?;
        let base = match plan.version - 1 {
            0 => None,
            base => Some(manifest_file::read(run.dataset(), base)?),
        };
        if base_of(base.as_ref()) != plan.base {
            return Err(StageFault::OtherBase(plan.version - 1).into());
        }
        // On the caller's thread, because a stream may depend on it.
        let ReceivedInputs { inputs: given, received: _received, warnings } =
            receive(given, &mut version.files, &run.monitor)?;
        let inputs: Vec<Input> = given.into_iter().map(|(_, input)| input).collect();
        run.settings.on_threads(move || {
            let mut staged = self.write_part(plan, part, attempt, &inputs, base.as_ref(), &mut version.files, run)?;
            staged.warnings.extend(warnings);
            version.release(&run.monitor)?;
            Ok(staged)
        })
    }

    /// Writes the files of a part.
    #[expect(clippy::too_many_arguments, reason = "what a part consists of")]
    fn write_part(
        &self,
        plan: &StagePlan,
        part: u32,
        attempt: String,
        inputs: &[Input],
        base: Option<&Manifest>,
        version: &mut VersionFiles,
        run: &Run,
    ) -> Result<Staged, IngestError> {
        let accounts = plan.zoned_accounts()?;
        let zones = plan.zone_changes()?.into_iter();
        let zone_changes =
            ZoneChanges::new(zones.map(|(account, (from, to))| (account, ZoneChange { from, to })).collect());
        let rewritten = plan.rewritten_of(base.map_or(&[], |manifest| &manifest.events));
        let accounts_of_part = plan.part(part)?;
        let defined_names = defined_names(run.dataset(), base)?;
        let none = Superseded::new();
        let superseded = base.map_or(&none, |manifest| &manifest.superseded);
        let forgotten = forgotten_in(run.dataset(), base)?;
        let known = (&defined_names, forgotten.as_ref(), None);
        let settings = self.event_settings(run, &accounts, &zone_changes, known, superseded, run.settings.memory);
        let mut reader = run.settings.reader(FaultyRows::Refuse { first: None }, &run.monitor);
        let stored = StoredEvents::Rewritten(&rewritten, &accounts_of_part);
        let inputs: Vec<&Input> = inputs.iter().collect();
        let written = events::ingest(&inputs, stored, run.dataset(), &settings, version, &mut reader);
        let written = written.map_err(|error| run.monitor.explain(error));
        let (written, _) = rejects::settle(written, reader.faulty_rows, &reader.rejected)?;
        Ok(Staged {
            ingest: plan.ingest.clone(),
            plan: plan.fingerprint()?,
            part,
            attempt,
            files: written.files,
            protocol: written.protocol,
            carried: written.carried,
            repeated: written.repeated,
            reassigned: written.reassigned,
            moved: zone_changes.moved(),
            dimensions: written.dimensions,
            warnings: reader.warnings,
        })
    }
}

/// Names the part at fault and, if a row is, the cells of the row.
fn of_part(error: IngestError, plan: &StagePlan, part: u32) -> IngestError {
    if matches!(error.kind(), ErrorKind::Stage(_)) {
        return error;
    }
    let row = cells_of_first_row(&error);
    ErrorKind::Part { part, parts: plan.parts(), error, row }.into()
}

/// Returns the cells of the first row at fault that are not null.
fn cells_of_first_row(error: &IngestError) -> Option<String> {
    let fault = match error.kind() {
        ErrorKind::Row { fault, .. } => fault,
        ErrorKind::Rejected { first, .. } => return cells_of_first_row(first),
        _ => return None,
    };
    let cells = fault.cells.texts().ok()?;
    let cells = cells.iter().filter_map(|(name, cell)| Some(format!("{} = `{}`", Shown(name), Shown(cell.as_ref()?))));
    Some(cells.collect::<Vec<_>>().join(", "))
}
