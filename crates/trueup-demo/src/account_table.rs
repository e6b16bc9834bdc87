use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema};

use super::account::Account;

/// The account table, one row per account.
pub(super) fn batch(accounts: &[Account]) -> Result<RecordBatch, ArrowError> {
    let schema = Schema::new(vec![
        Field::new("account", DataType::Utf8, false),
        Field::new("accountName", DataType::Utf8, false),
        Field::new("industry", DataType::Utf8, false),
        Field::new("timeZone", DataType::Utf8, false),
        Field::new("leadGrading", DataType::Boolean, false),
    ]);
    let text =
        |read: fn(&Account) -> &str| -> ArrayRef { Arc::new(StringArray::from_iter_values(accounts.iter().map(read))) };
    let columns: Vec<ArrayRef> = vec![
        text(|account| &account.key),
        text(|account| &account.name),
        text(|account| account.industry.name),
        text(|account| account.city.zone.name()),
        Arc::new(accounts.iter().map(|account| Some(account.lead_grading)).collect::<BooleanArray>()),
    ];
    RecordBatch::try_new(Arc::new(schema), columns)
}
