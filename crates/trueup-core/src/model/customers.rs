//! Lists of customers: tables with the columns `account` and `opportunityId`.

use super::columns::{ACCOUNT, Meaning, OPPORTUNITY_ID, check_columns, require, require_all};
use super::fault::{CellFaults, TableFault};
use super::normalize::Normalized;
use super::plain_column::{PlainColumn, read_account_keys, read_ids};
use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema};
use std::sync::Arc;

/// Reads the customers of a batch as texts in the columns `account` and `opportunityId`, and rejects rows without one
/// of them. Further columns are ignored.
///
/// # Errors
/// One of the two columns is missing or has a wrong type, a name occurs twice or is another spelling of one of the
/// two, a column is nested, or the batch has too many rows.
pub fn read_customers(batch: &RecordBatch) -> Result<Normalized, TableFault> {
    let given = batch.schema_ref();
    require_all(given, &[&[ACCOUNT], &[OPPORTUNITY_ID]])?;
    check_columns(given, &[ACCOUNT, OPPORTUNITY_ID])?;
    let column = |at: usize| PlainColumn::new(given.field(at).name(), batch.column(at));
    let mut faults = CellFaults::default();
    let accounts = read_account_keys(&column(require(given, &[ACCOUNT], Meaning::Id)?)?, &mut faults)?;
    let ids = read_ids(&column(require(given, &[OPPORTUNITY_ID], Meaning::Id)?)?, &mut faults)?;
    let field = |name| Field::new(name, DataType::Utf8, false);
    let schema = Arc::new(Schema::new(vec![field(ACCOUNT), field(OPPORTUNITY_ID)]));
    Ok(Normalized::new(schema, vec![Arc::new(accounts), Arc::new(ids)], faults)?)
}
