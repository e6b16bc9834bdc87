//! Sorted customers to event files.

use super::encoding;
use super::layout::Layout;
use super::open_groups::OpenGroups;
use super::row_group::RowGroup;
use super::sorted::{Known, SortedRows};
use crate::IngestError;
use crate::draft::{Draft, Ending};
use crate::error::Doing;
use crate::parquet_file::ParquetFile;
use crate::table::Table;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::errors::ParquetError;
use std::sync::Arc;
use trueup_core::dataset::manifest::{CUSTOMER_COLUMN, DataFile};

/// Digits of a total that Parquet keeps in 64 bits.
const NARROW: u8 = 18;

/// Takes customers in the order of the dataset and writes them into files.
pub(super) struct EventWriter<'a> {
    draft: &'a mut Draft,
    layout: Layout,
    known: &'a Known,
    /// Of the files: the customer's number, then the stored columns.
    schema: SchemaRef,
    files: Vec<Ending>,
    open: Option<ParquetFile>,
    /// Rows of the file that is being filled.
    rows: usize,
    /// Customers of its row groups that are whole.
    customers: i32,
    account: Option<u32>,
    groups: OpenGroups,
    /// Row groups that are whole but not yet encoded, file by file; the last file may go on.
    ready: Vec<Vec<RowGroup>>,
}

impl<'a> EventWriter<'a> {
    /// `stored` are the columns of all rows to come.
    pub(super) fn new(draft: &'a mut Draft, layout: Layout, stored: &Schema, known: &'a Known) -> Self {
        let customer = Arc::new(Field::new(CUSTOMER_COLUMN, DataType::Int32, false));
        let stored = stored.fields().iter().map(|field| match field.data_type() {
            DataType::Decimal128(_, scale) if known.narrow => {
                Arc::new(Field::new(field.name(), DataType::Decimal128(NARROW, *scale), true))
            }
            _ => field.clone(),
        });
        Self {
            draft,
            layout,
            known,
            schema: Arc::new(Schema::new(std::iter::once(customer).chain(stored).collect::<Vec<_>>())),
            files: Vec::new(),
            open: None,
            rows: 0,
            customers: 0,
            account: None,
            groups: OpenGroups::default(),
            ready: vec![Vec::new()],
        }
    }

    /// Adds the next customers, and writes the row groups that are whole now.
    pub(super) fn write(&mut self, sorted: impl IntoIterator<Item = SortedRows>) -> Result<(), IngestError> {
        sorted.into_iter().for_each(|sorted| self.push(sorted));
        self.encode()?;
        self.groups.let_go().doing("take rows")
    }

    fn push(&mut self, sorted: SortedRows) {
        let rows = Arc::new(sorted.rows);
        for ends in sorted.customers.windows(2) {
            let order = &sorted.order[ends[0] as usize..ends[1] as usize];
            let account = order.first().map(|row| rows.accounts.value(*row as usize));
            let new_account = account != self.account;
            self.account = account;
            if self.layout.ends_file(self.rows, new_account) {
                self.end_file();
            }
            self.rows += order.len();
            if let Some(whole) = self.groups.push(self.layout, &rows, order) {
                self.end_group(whole);
            }
        }
    }

    fn end_group(&mut self, mut group: RowGroup) {
        self.customers += group.number(self.customers);
        if let Some(file) = self.ready.last_mut() {
            file.push(group);
        }
    }

    fn end_file(&mut self) {
        for group in self.groups.end() {
            self.end_group(group);
        }
        (self.rows, self.customers) = (0, 0);
        self.ready.push(Vec::new());
    }

    /// Encodes and writes the row groups that are whole.
    fn encode(&mut self) -> Result<(), IngestError> {
        let ready = std::mem::replace(&mut self.ready, vec![Vec::new()]);
        for (at, groups) in ready.into_iter().enumerate() {
            if at > 0 {
                self.end_open()?;
            }
            self.append(&groups)?;
        }
        Ok(())
    }

    fn append(&mut self, groups: &[RowGroup]) -> Result<(), IngestError> {
        if groups.is_empty() {
            return Ok(());
        }
        let file = match &mut self.open {
            Some(file) => file,
            None => {
                let file = self.draft.create(Table::Events, self.files.len())?;
                self.open.insert(ParquetFile::begin(file, &self.schema, encoding::properties(&self.schema))?)
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
        self.files.extend(self.open.take().map(ParquetFile::end).transpose()?);
        Ok(())
    }

    /// Ends the last file and hands out all.
    pub(super) fn finish(mut self) -> Result<Vec<DataFile>, IngestError> {
        self.end_file();
        self.encode()?;
        self.end_open()?;
        self.files.into_iter().map(Ending::wait).collect()
    }
}
