//! Sorted customers to event files.

use super::budget::{Budget, Size};
use super::encoding;
use super::layout::Layout;
use super::open_groups::OpenGroups;
use super::row_group::RowGroup;
use super::sorted::{Known, SortedRows};
use crate::IngestError;
use crate::error::ErrorContext;
use crate::parquet_file::ParquetFileWriter;
use crate::table::Table;
use crate::version::{FileFinisher, VersionBuilder};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::errors::ParquetError;
use std::collections::VecDeque;
use std::sync::Arc;
use trueup_core::dataset::manifest::DataFile;
use trueup_core::model::{ACCOUNT, CUSTOMER_COLUMN};

/// Digits of a total that Parquet keeps in 64 bits.
const NARROW: u8 = 18;

/// Row groups that are encoded at once for each thread.
const GROUPS: usize = 4;

/// Column chunks that are encoded at once: the means to encode one take memory even before its values do.
const CHUNKS: usize = 1 << 11;

/// Files that may be on their way to the disk while the next are filled.
const MOST_ENDING: usize = 4;

/// Takes customers in the order of the dataset and writes them into files.
pub(super) struct EventWriter<'a> {
    version: &'a mut VersionBuilder,
    layout: Layout,
    known: &'a Known,
    /// Of the files: the customer's number, then the stored columns.
    schema: SchemaRef,
    files: Vec<DataFile>,
    /// The files after those, which are on their way to the disk.
    ending: VecDeque<FileFinisher>,
    open: Option<ParquetFileWriter>,
    /// Rows of the file that is being filled.
    rows: usize,
    /// Customers of its row groups that are whole.
    customers: i32,
    account: Option<u32>,
    groups: OpenGroups,
    /// Bytes of the rows of `groups`.
    open_bytes: usize,
    /// Row groups of the file that are whole.
    whole: usize,
    budget: Budget,
    /// Row groups that are whole but not yet encoded, file by file; the last file may go on.
    ready: Vec<Vec<RowGroup>>,
}

impl<'a> EventWriter<'a> {
    /// `stored` are the columns of all rows to come.
    pub(super) fn new(
        version: &'a mut VersionBuilder,
        layout: Layout,
        stored: &Schema,
        known: &'a Known,
        budget: Budget,
    ) -> Self {
        let customer = Arc::new(Field::new(CUSTOMER_COLUMN, DataType::Int32, false));
        let stored = stored.fields().iter().map(|field| match field.data_type() {
            DataType::Decimal128(_, scale) if known.narrow => {
                Arc::new(Field::new(field.name(), DataType::Decimal128(NARROW, *scale), true))
            }
            _ => field.clone(),
        });
        Self {
            version,
            layout,
            known,
            schema: Arc::new(Schema::new(std::iter::once(customer).chain(stored).collect::<Vec<_>>())),
            files: Vec::new(),
            ending: VecDeque::new(),
            open: None,
            rows: 0,
            customers: 0,
            account: None,
            groups: OpenGroups::default(),
            open_bytes: 0,
            whole: 0,
            budget,
            ready: vec![Vec::new()],
        }
    }

    /// Adds the next customers, and writes the row groups that are whole now.
    pub(super) fn write(&mut self, sorted: impl IntoIterator<Item = SortedRows>) -> Result<(), IngestError> {
        sorted.into_iter().try_for_each(|sorted| self.push(sorted))?;
        self.encode()?;
        self.groups.let_go().doing("take rows")
    }

    fn push(&mut self, sorted: SortedRows) -> Result<(), IngestError> {
        let rows = Arc::new(sorted.rows);
        let most_bytes = rows.most_bytes();
        // Commonly no row group can have too many bytes, whatever its rows are.
        let are_small = most_bytes.saturating_mul(self.layout.group_rows) <= self.layout.group_bytes;
        for ends in sorted.customers.windows(2) {
            let order = &sorted.order[ends[0] as usize..ends[1] as usize];
            let bytes = if are_small { order.len() * most_bytes } else { rows.bytes_of(order) };
            let Some(first) = order.first().map(|row| *row as usize) else { continue };
            let account = Some(rows.accounts.value(first));
            self.budget.check_customer(Size { rows: order.len(), bytes }, || {
                let key = account.and_then(|account| self.known.texts(ACCOUNT).get(account as usize));
                (key.map_or("", AsRef::as_ref), rows.opportunity_ids.value(first))
            })?;
            let new_account = account != self.account;
            self.account = account;
            let chunks = self.whole * self.schema.fields().len();
            if self.layout.ends_file(self.rows, new_account) || self.layout.is_too_large(self.open_bytes, chunks) {
                self.end_file();
            }
            self.rows += order.len();
            self.open_bytes += bytes;
            if let Some(whole) = self.groups.push(self.layout, &rows, order, bytes) {
                self.end_group(whole);
            }
        }
        Ok(())
    }

    fn end_group(&mut self, mut group: RowGroup) {
        self.open_bytes -= group.bytes;
        self.whole += 1;
        self.customers += group.number(self.customers);
        if let Some(file) = self.ready.last_mut() {
            file.push(group);
        }
    }

    fn end_file(&mut self) {
        for group in self.groups.end() {
            self.end_group(group);
        }
        (self.rows, self.customers, self.whole) = (0, 0, 0);
        self.ready.push(Vec::new());
    }

    /// Encodes and writes the row groups that are whole.
    fn encode(&mut self) -> Result<(), IngestError> {
        let ready = std::mem::replace(&mut self.ready, vec![Vec::new()]);
        let columns = self.schema.fields().len();
        let most = (rayon::current_num_threads() * GROUPS).min(CHUNKS / columns).max(1);
        for (at, groups) in ready.into_iter().enumerate() {
            if at > 0 {
                self.end_open()?;
            }
            let mut left = groups.into_iter().peekable();
            while left.peek().is_some() {
                // As many at once as keep every thread busy, as far as they fit in memory, and one at least.
                let (mut groups, mut bytes) = (Vec::new(), 0);
                while groups.len() < most
                    && (groups.is_empty() || bytes < self.budget.sorted())
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

    fn append(&mut self, groups: &[RowGroup]) -> Result<(), IngestError> {
        let file = match &mut self.open {
            Some(file) => file,
            None => {
                let file = self.version.create(Table::Events, self.files.len() + self.ending.len())?;
                self.open.insert(ParquetFileWriter::begin(file, &self.schema, encoding::properties(&self.schema))?)
            }
        };
        file.write_groups(
            groups,
            |group| group.rows,
            |group, at, column| {
                let field =
                    self.schema.fields().get(at).ok_or_else(|| ParquetError::General("no such column".to_owned()))?;
                group.column(field.name(), field.data_type(), self.known, column)
            },
        )
    }

    fn end_open(&mut self) -> Result<(), IngestError> {
        self.ending.extend(self.open.take().map(ParquetFileWriter::end).transpose()?);
        // Files that are on their way to the disk hold what was not written yet.
        while self.ending.len() > MOST_ENDING
            && let Some(ending) = self.ending.pop_front()
        {
            self.files.push(ending.wait()?);
        }
        Ok(())
    }

    /// Ends the last file and hands out all.
    pub(super) fn finish(mut self) -> Result<Vec<DataFile>, IngestError> {
        self.end_file();
        self.encode()?;
        self.end_open()?;
        for ending in self.ending {
            self.files.push(ending.wait()?);
        }
        Ok(self.files)
    }
}
