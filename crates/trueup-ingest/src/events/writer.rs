//! Sorted customers to event files.

use super::encoding;
use super::layout::{Begins, Filled, Layout};
use crate::IngestError;
use crate::draft::Draft;
use crate::error::Doing;
use crate::parquet_file::ParquetFile;
use crate::table::Table;
use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_array::{ArrayRef, Int32Array, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use arrow_select::interleave::interleave_record_batch;
use hashbrown::HashMap;
use std::sync::Arc;
use trueup_core::dataset::manifest::{CUSTOMER_COLUMN, DataFile};

/// Digits of a total that Parquet keeps in 64 bits.
const NARROW: u8 = 18;

/// Takes customers in the order of the dataset and writes them into files.
pub(super) struct EventWriter<'a> {
    draft: &'a mut Draft,
    layout: Layout,
    /// Of the files: the customer's number, then the stored columns.
    schema: SchemaRef,
    files: Vec<DataFile>,
    open: Option<ParquetFile>,
    filled: Filled,
    /// Customers that the open file has.
    customers: i32,
    account: String,
    /// The row group that is being gathered.
    group: Gathered,
    /// Row groups of the open file that are whole, but not yet encoded.
    ready: Vec<RecordBatch>,
}

/// Consecutive customers, as runs of rows of some batches.
#[derive(Default)]
struct Gathered {
    batches: Vec<RecordBatch>,
    /// Where each batch stands in `batches`, by the address of its first column.
    known: HashMap<*const (), usize>,
    /// Batch, first row, rows.
    runs: Vec<(usize, usize, usize)>,
    /// For each row, the number of its customer.
    customers: Vec<i32>,
}

impl<'a> EventWriter<'a> {
    /// `stored` are the columns of all batches to come; `narrow` says that every total fits into 64 bits of Parquet.
    pub(super) fn new(draft: &'a mut Draft, layout: Layout, stored: &Schema, narrow: bool) -> Self {
        let customer = Arc::new(Field::new(CUSTOMER_COLUMN, DataType::Int32, false));
        let stored = stored.fields().iter().map(|field| match field.data_type() {
            DataType::Decimal128(_, scale) if narrow => {
                Arc::new(Field::new(field.name(), DataType::Decimal128(NARROW, *scale), true))
            }
            _ => field.clone(),
        });
        Self {
            draft,
            layout,
            schema: Arc::new(Schema::new(std::iter::once(customer).chain(stored).collect::<Vec<_>>())),
            files: Vec::new(),
            open: None,
            filled: Filled::default(),
            customers: 0,
            account: String::new(),
            group: Gathered::default(),
            ready: Vec::new(),
        }
    }

    /// Adds the next customer: `rows` rows of `batch` from `start`.
    pub(super) fn push(&mut self, batch: &RecordBatch, start: usize, rows: usize) -> Result<(), IngestError> {
        let account = batch.column(0).as_string::<i32>().value(start);
        let new_account = self.account != account;
        if new_account {
            account.clone_into(&mut self.account);
        }
        match self.layout.next(self.filled, rows, new_account) {
            Begins::Nothing => {}
            Begins::Group => self.end_group()?,
            Begins::File => self.end_file()?,
        }
        self.group.push(batch, start, rows, self.customers);
        self.customers += 1;
        self.filled.group += rows;
        self.filled.file += rows;
        Ok(())
    }

    /// Ends the last file and hands out all.
    pub(super) fn finish(mut self) -> Result<Vec<DataFile>, IngestError> {
        self.end_file()?;
        Ok(self.files)
    }

    fn end_group(&mut self) -> Result<(), IngestError> {
        self.filled.group = 0;
        let group = std::mem::take(&mut self.group);
        if !group.runs.is_empty() {
            self.ready.push(group.finish(&self.schema).doing("put a row group together")?);
        }
        // As many as are encoded at once.
        if self.ready.len() >= rayon::current_num_threads() { self.encode() } else { Ok(()) }
    }

    fn encode(&mut self) -> Result<(), IngestError> {
        let Some(first) = self.ready.first() else { return Ok(()) };
        let file = match &mut self.open {
            Some(file) => file,
            None => {
                let properties = encoding::properties(&self.schema, first);
                let file = self.draft.create(Table::Events, self.files.len())?;
                self.open.insert(ParquetFile::begin(file, &self.schema, properties)?)
            }
        };
        file.write(&self.ready)?;
        self.ready.clear();
        Ok(())
    }

    fn end_file(&mut self) -> Result<(), IngestError> {
        self.end_group()?;
        self.encode()?;
        self.files.extend(self.open.take().map(ParquetFile::finish).transpose()?);
        self.filled = Filled::default();
        self.customers = 0;
        Ok(())
    }
}

impl Gathered {
    fn push(&mut self, batch: &RecordBatch, start: usize, rows: usize, customer: i32) {
        // The batches are held, so that no other can come to lie at the same address.
        let at = *self.known.entry(Arc::as_ptr(batch.column(0)).cast()).or_insert(self.batches.len());
        if at == self.batches.len() {
            self.batches.push(batch.clone());
        }
        match self.runs.last_mut() {
            Some((batch, first, length)) if *batch == at && *first + *length == start => *length += rows,
            _ => self.runs.push((at, start, rows)),
        }
        self.customers.extend(std::iter::repeat_n(customer, rows));
    }

    /// The row group with the columns of `schema`.
    fn finish(self, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
        let rows = match self.runs.as_slice() {
            [(batch, first, length)] => self.batches[*batch].slice(*first, *length),
            runs => {
                let batches: Vec<&RecordBatch> = self.batches.iter().collect();
                let rows: Vec<(usize, usize)> = runs
                    .iter()
                    .flat_map(|(batch, first, length)| (*first..first + length).map(|row| (*batch, row)))
                    .collect();
                interleave_record_batch(&batches, &rows)?
            }
        };
        let customers: ArrayRef = Arc::new(Int32Array::from(self.customers));
        let stored = rows.columns().iter().zip(schema.fields().iter().skip(1)).map(|(column, field)| {
            match (field.data_type(), column.data_type()) {
                (DataType::Decimal128(precision, scale), stored) if field.data_type() != stored => {
                    let column = column.as_primitive::<Decimal128Type>().clone();
                    Ok(Arc::new(column.with_precision_and_scale(*precision, *scale)?) as ArrayRef)
                }
                _ => Ok(column.clone()),
            }
        });
        let columns = std::iter::once(Ok(customers)).chain(stored).collect::<Result<_, ArrowError>>()?;
        RecordBatch::try_new(schema.clone(), columns)
    }
}
