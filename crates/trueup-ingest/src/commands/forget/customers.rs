//! The customers that a dataset forgets, as a file lists them.

use crate::error::{ErrorContext, FileFault};
use crate::monitor::Phase;
use crate::read::TableReader;
use crate::row_check::check_rows;
use crate::source::{ColumnNames, InputReader};
use crate::table::Table;
use crate::{Customer, IngestError, Input};
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_schema::ArrowError;
use std::collections::BTreeSet;
use std::path::Path;
use trueup_core::dataset::InputProtocol;
use trueup_core::model::read_customers;

/// Bytes of memory that a customer takes apart from its texts, approximately.
const CUSTOMER_BYTES: usize = 160;

/// Reads the customers of a file of any format of an ingest.
///
/// # Errors
/// The file cannot be read, lacks one of the two columns, has a row without one of the two values, or does not fit in
/// memory.
pub(super) fn read(
    path: &Path,
    customers: &mut BTreeSet<Customer>,
    reader: &mut TableReader<'_>,
) -> Result<(), IngestError> {
    let (input, limits) = (Input::given(path), reader.limits);
    reader.monitor.begin(Phase::ReadingCustomers, Some(input.size()));
    let mut names = ColumnNames::default();
    let mut source = InputReader::open(reader.files, &input, limits)?;
    if let Some(schema) = source.schema() {
        let empty = RecordBatch::new_empty(schema.clone());
        read_customers(&empty).map_err(|fault| FileFault::from(fault).at(path))?;
    }
    while let Some(chunk) = source.next()? {
        reader.monitor.check()?;
        reader.monitor.add(0, chunk.bytes());
        for decoded in chunk.decode(Table::Events, limits).map_err(|fault| fault.at(path))? {
            let mut decoded = decoded.map_err(|fault| fault.at(path))?;
            reader.monitor.add(decoded.batch.num_rows() + decoded.malformed.len(), 0);
            let (schema, fatal) = (decoded.batch.schema(), decoded.fatal.take());
            let checked = check_rows(decoded, Table::Accounts, limits.max_text_bytes, |batch| {
                let read = read_customers(batch).map_err(|fault| FileFault::from(fault).at(path))?;
                Ok((read.batch, read.faults))
            });
            let (rows, faults) = checked?;
            reader.reject_rows(&input, Table::Accounts, faults, &mut InputProtocol::default())?;
            if let Some(fault) = fatal {
                return Err(fault.at(path));
            }
            names.add(&schema, limits).map_err(|fault| fault.at(path))?;
            add(&rows, customers).doing("read customers")?;
            check_size(customers, limits.table_bytes())?;
        }
    }
    Ok(())
}

fn add(rows: &RecordBatch, customers: &mut BTreeSet<Customer>) -> Result<(), ArrowError> {
    let texts = |at| rows.column(at).as_string_opt::<i32>().ok_or_else(|| ArrowError::SchemaError("no texts".into()));
    let both = texts(0)?.iter().flatten().zip(texts(1)?.iter().flatten());
    customers.extend(both.map(|(account, id)| Customer { account: account.to_owned(), opportunity_id: id.to_owned() }));
    Ok(())
}

fn check_size(customers: &BTreeSet<Customer>, limit: usize) -> Result<(), IngestError> {
    let bytes = |customer: &Customer| customer.account.len() + customer.opportunity_id.len() + CUSTOMER_BYTES;
    let bytes = customers.iter().map(bytes).sum();
    IngestError::check_size("customers", bytes, limit)
}
