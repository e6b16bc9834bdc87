//! Step 4, write: sorted customers become row groups, and row groups become Parquet files.
//!
//! [`EventWriter`] is the only entry. It adds each customer to the open row group of the customer's period, ends row
//! groups and files where the `layout` says so, and encodes the columns of whole row groups in parallel: `row_group`
//! collects a column's values from wherever its rows are, and the keys for the `key_index` of the file. Texts that
//! recur become a `TextColumn` of `trueup_parquet`, and parquet's `ArrowWriter` encodes all other columns.

mod layout;
mod row_group;

use super::budget::{Budget, Size};
use super::dictionaries::EventDictionaries;
use super::key_index::{Section, encode_index};
use super::sort::SortedCustomers;
use crate::IngestError;
use crate::error::ErrorContext;
use crate::parquet_file::ParquetFileWriter;
use crate::pending_file::FileFinisher;
use crate::table::Table;
use crate::version::VersionFiles;
use arrow_schema::SchemaRef;
pub(super) use layout::FileLayout;
use parquet::errors::ParquetError;
use rayon::prelude::*;
use row_group::{OpenRowGroups, PendingRowGroup, RowGroupIds};
use std::collections::VecDeque;
use std::sync::Arc;
use trueup_core::dataset::manifest::DataFile;

/// Row groups that are encoded at the same time, per thread.
const GROUPS_PER_THREAD: usize = 4;

/// Column chunks that are encoded at the same time, because the encoder of a chunk takes memory even before it has
/// values.
const MAX_ENCODERS: usize = 1 << 11;

/// Files that may still be on their way to the disk while the next ones are filled.
const MAX_ENDING: usize = 4;

/// Takes customers in the order of the dataset and writes them into files.
pub(super) struct EventWriter<'a> {
    version: &'a mut VersionFiles,
    layout: FileLayout,
    dictionaries: &'a EventDictionaries,
    budget: Budget,
    schema: SchemaRef,
    /// The account of the last customer.
    account: Option<u32>,
    /// What the file that customers are added to has so far.
    filling: FileProgress,
    groups: OpenRowGroups,
    /// Whole row groups that are yet to be encoded, file by file. The last file may get more.
    whole: Vec<Vec<PendingRowGroup>>,
    /// The file that encoded row groups are appended to.
    open: Option<ParquetFileWriter>,
    /// The sections of its row groups in its index.
    sections: Vec<Section>,
    /// The files after `files`, which are on their way to the disk.
    ending: VecDeque<FileFinisher>,
    /// The first files, which are complete.
    files: Vec<DataFile>,
}

/// What a file has so far.
#[derive(Default)]
struct FileProgress {
    rows: usize,
    /// The customers of its whole row groups.
    customers: i32,
    /// The number of its whole row groups.
    whole_groups: usize,
    /// Bytes of memory of its open row groups.
    open_bytes: usize,
}

impl<'a> EventWriter<'a> {
    /// Begins without files. `dimensions` are the names of all dimensions in order.
    pub(super) fn new<'n>(
        version: &'a mut VersionFiles,
        layout: FileLayout,
        dimensions: impl Iterator<Item = &'n str>,
        has_narrow_totals: bool,
        dictionaries: &'a EventDictionaries,
        budget: Budget,
    ) -> Self {
        Self {
            version,
            layout,
            dictionaries,
            budget,
            schema: Arc::new(layout::file_schema(dimensions, has_narrow_totals)),
            account: None,
            filling: FileProgress::default(),
            groups: OpenRowGroups::default(),
            whole: vec![Vec::new()],
            open: None,
            sections: Vec::new(),
            ending: VecDeque::new(),
            files: Vec::new(),
        }
    }

    /// Adds the next customers, and writes the row groups that are whole now.
    pub(super) fn write(&mut self, sorted: impl IntoIterator<Item = SortedCustomers>) -> Result<(), IngestError> {
        sorted.into_iter().try_for_each(|sorted| self.add(sorted))?;
        self.encode()?;
        self.groups.release_rows().doing("take rows")
    }

    /// Ends the last file and returns all files.
    pub(super) fn finish(mut self) -> Result<Vec<DataFile>, IngestError> {
        self.end_file();
        self.encode()?;
        self.end_open()?;
        for ending in self.ending {
            self.files.push(ending.wait()?);
        }
        Ok(self.files)
    }

    fn add(&mut self, sorted: SortedCustomers) -> Result<(), IngestError> {
        let rows = Arc::new(sorted.rows);
        let bytes_of = rows.bytes_of_rows();
        for ends in sorted.customers.windows(2) {
            let order = &sorted.order[ends[0] as usize..ends[1] as usize];
            let bytes = bytes_of(order);
            let Some(first) = order.first().map(|row| *row as usize) else { continue };
            let account = rows.accounts.value(first);
            self.budget.check_customer(Size { rows: order.len(), bytes }, || {
                (self.dictionaries.account(account), rows.opportunity_ids.value(first))
            })?;
            let new_account = self.account != Some(account);
            self.account = Some(account);
            let FileProgress { rows: filled, whole_groups, open_bytes, .. } = self.filling;
            let chunks = whole_groups * self.schema.fields().len();
            if self.layout.ends_file(filled, new_account) || self.layout.is_too_large(open_bytes, chunks) {
                self.end_file();
            }
            self.filling.rows += order.len();
            self.filling.open_bytes += bytes;
            if let Some(whole) = self.groups.push(self.layout, &rows, order, bytes) {
                self.end_group(whole);
            }
        }
        Ok(())
    }

    fn end_group(&mut self, mut group: PendingRowGroup) {
        self.filling.open_bytes -= group.bytes;
        self.filling.whole_groups += 1;
        self.filling.customers += group.number(self.filling.customers);
        if let Some(file) = self.whole.last_mut() {
            file.push(group);
        }
    }

    fn end_file(&mut self) {
        for group in self.groups.end() {
            self.end_group(group);
        }
        self.filling = FileProgress::default();
        self.whole.push(Vec::new());
    }

    /// Encodes and writes the row groups that are whole.
    fn encode(&mut self) -> Result<(), IngestError> {
        let whole = std::mem::replace(&mut self.whole, vec![Vec::new()]);
        let columns = self.schema.fields().len();
        let max_groups = (rayon::current_num_threads() * GROUPS_PER_THREAD).min(MAX_ENCODERS / columns).max(1);
        for (at, groups) in whole.into_iter().enumerate() {
            if at > 0 {
                self.end_open()?;
            }
            let mut left = groups.into_iter().peekable();
            while left.peek().is_some() {
                // Take enough to keep every thread busy, as far as they fit in memory, and at least one.
                let (mut groups, mut bytes) = (Vec::new(), 0);
                while groups.len() < max_groups
                    && (groups.is_empty() || bytes < self.budget.sort())
                    && let Some(group) = left.next()
                {
                    bytes += group.bytes;
                    groups.push(group);
                }
                self.append(&groups)?;
            }
        }
        Ok(())
    }

    fn append(&mut self, groups: &[PendingRowGroup]) -> Result<(), IngestError> {
        let page_rows = self.layout.page_rows();
        let groups: Vec<(&PendingRowGroup, RowGroupIds)> =
            groups.par_iter().map(|group| (group, group.ids())).collect();
        let section = |(group, ids): &(&PendingRowGroup, RowGroupIds)| group.section(ids, self.dictionaries, page_rows);
        self.sections.par_extend(groups.par_iter().map(section));
        let file = match &mut self.open {
            Some(file) => file,
            None => {
                let file = self.version.create(Table::Events, self.files.len() + self.ending.len())?;
                self.open.insert(ParquetFileWriter::begin(
                    file,
                    &self.schema,
                    layout::properties(&self.schema, page_rows),
                )?)
            }
        };
        file.write_groups(&groups, |(group, ids), at, column| {
            let field =
                self.schema.fields().get(at).ok_or_else(|| ParquetError::General("no such column".to_owned()))?;
            group.column(field.name(), field.data_type(), ids, self.dictionaries, column, page_rows)
        })
    }

    /// Ends the open file. If more than [`MAX_ENDING`] files are on their way to the disk, waits for the first ones,
    /// because files keep in memory what is not yet written.
    fn end_open(&mut self) -> Result<(), IngestError> {
        if let Some(mut file) = self.open.take() {
            let sections = std::mem::take(&mut self.sections);
            file.write_after_row_groups(&encode_index(self.layout.page_rows(), &sections))?;
            self.ending.push_back(file.end()?);
        }
        while self.ending.len() > MAX_ENDING
            && let Some(ending) = self.ending.pop_front()
        {
            self.files.push(ending.wait()?);
        }
        Ok(())
    }
}
