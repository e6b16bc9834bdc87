//! The customers that a dataset forgets, as a file lists them.

use crate::error::ErrorContext;
use crate::held::read_whole;
use crate::monitor::Phase;
use crate::read::TableReader;
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
    let (input, limit) = (Input::given(path), reader.limits.table_bytes());
    reader.monitor.begin(Phase::ReadingCustomers, Some(input.size()));
    read_whole(&input, Table::Events, reader, &mut InputProtocol::default(), &mut |batch| {
        let read = read_customers(batch)?;
        let added = add(&read.batch, customers).doing("read customers").and_then(|()| check_size(customers, limit));
        Ok((read.batch.num_rows(), read.faults, added))
    })
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
