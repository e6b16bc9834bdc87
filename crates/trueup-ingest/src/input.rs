//! The inputs of an ingest, as given or read through a mapping.

use crate::mapping::{MappedTables, Mapping, StoredDataset};
use crate::read::TableReader;
use crate::records::DeliveredRecords;
use crate::report::LeftOutRows;
use crate::source::ReadLimits;
use crate::table::Table;
use crate::{IngestError, Input};
use trueup_core::files::Files;
use trueup_core::model::{Accounts, ClockZone};

/// The inputs of a mapping: the files that are given as events, read through the mapping as events, spend and accounts.
/// Empty without a mapping.
#[derive(Default)]
pub(crate) struct MappedInputs {
    tables: MappedTables,
    /// What warnings call the mapping, which reads the files that are given as events; `None` if there is none.
    mapping: Option<String>,
}

impl MappedInputs {
    /// Plans a mapping, and reads the inputs that it joins.
    pub(crate) fn new(
        mapping: Option<&Mapping>,
        given: &[(Table, Input)],
        files: &Files,
        limits: ReadLimits,
        clock_zone: Option<ClockZone>,
        stored: StoredDataset<'_>,
    ) -> Result<Self, IngestError> {
        let Some(mapping) = mapping else { return Ok(Self::default()) };
        let given = given.iter().filter(|(table, _)| *table == Table::Events);
        let raw: Vec<Input> = given.map(|(_, input)| input.clone()).collect();
        let tables = mapping.tables(&raw, files, limits, clock_zone, Some(stored))?;
        Ok(Self { tables, mapping: Some(mapping.title()) })
    }

    /// Sets the accounts whose time zones clock times may be in, and whose currencies amounts are in. Must be called
    /// before events and spend are read.
    pub(crate) fn set_accounts(&self, accounts: &Accounts) {
        self.tables.set_accounts(accounts);
    }

    /// Returns the bytes of memory that the mapping holds until the ingest ends.
    pub(crate) fn held_bytes(&self) -> usize {
        self.tables.held_bytes()
    }

    /// Finds the first conversion of each customer, if the mapping gives first-touch credit. Must be called before
    /// events are read.
    pub(crate) fn find_first_conversions(&self, reader: &TableReader<'_>) -> Result<(), IngestError> {
        self.tables.find_first_conversions(reader)
    }

    /// Finds the records that the files deliver, if the mapping has any. Must be called before events are read.
    pub(crate) fn find_records(&self, reader: &TableReader<'_>) -> Result<(), IngestError> {
        self.tables.find_records(reader)
    }

    /// Returns the records that the files deliver; `None` if the mapping has none.
    pub(crate) fn records(&self) -> Option<&DeliveredRecords> {
        self.tables.records()
    }

    /// Returns warnings about values and matches that the mapping names and no row had, and about optional inputs
    /// without a file. Must be called after all rows are read.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let Some(mapping) = &self.mapping else { return Vec::new() };
        let mut all: Vec<String> = self.tables.missing_warning().into_iter().collect();
        for mapper in self.tables.inputs.iter().filter_map(|(_, input)| input.mapper.as_ref()) {
            let warnings = mapper.warnings().into_iter();
            for warning in warnings.map(|warning| format!("{mapping}, {warning}")) {
                // The stages of a wide table have the same rows.
                if !all.contains(&warning) {
                    all.push(warning);
                }
            }
        }
        all
    }

    /// Returns the lines of the mapping's files that are no rows. Must be called after all rows are read.
    pub(crate) fn left_out(&self) -> Vec<LeftOutRows> {
        self.tables.left_out()
    }

    /// Returns the checksum of what the mapping says of events; `None` without a mapping.
    pub(crate) fn checksum_for_events(&self) -> Option<&str> {
        self.mapping.as_ref().map(|_| self.tables.events_checksum.as_str())
    }

    /// Returns the inputs that the mapping joins to events, by their names.
    pub(crate) fn joined_to_events(&self) -> Vec<(String, Vec<Input>)> {
        self.tables.joined_to_events.clone()
    }

    /// Returns the inputs of a table.
    pub(crate) fn inputs(&self, table: Table, given: &[(Table, Input)]) -> Vec<Input> {
        let is_mapped = self.mapping.is_some() && table == Table::Events;
        let direct = given.iter().filter(|(of, _)| *of == table && !is_mapped);
        direct.chain(self.tables.inputs.iter().filter(|(of, _)| *of == table)).map(|(_, input)| input.clone()).collect()
    }
}
