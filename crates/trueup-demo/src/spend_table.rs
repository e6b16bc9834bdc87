use std::sync::Arc;

use arrow_array::builder::Decimal128Builder;
use arrow_array::{ArrayRef, Date32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use super::account::Account;
use super::money;
use super::spend::SpendRow;

/// The columns of the spend table.
pub(super) fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("account", DataType::Utf8, false),
        Field::new("date", DataType::Date32, false),
        Field::new("attributionCategory", DataType::Utf8, true),
        Field::new("attributionChannel", DataType::Utf8, true),
        Field::new("campaign", DataType::Utf8, true),
        Field::new("adSpend", money::TYPE, true),
        Field::new("managementFee", money::TYPE, true),
        Field::new("clicks", DataType::Int64, true),
        Field::new("impressions", DataType::Int64, true),
    ]))
}

/// Spells rows out as a record batch.
pub(super) fn batch(rows: &[SpendRow], accounts: &[Account]) -> Result<RecordBatch, ArrowError> {
    let campaign = |row: &SpendRow| Some(&accounts[row.account].campaigns[row.campaign?]);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(rows.iter().map(|row| &accounts[row.account].key))),
        Arc::new(Date32Array::from_iter_values(rows.iter().map(|row| row.day))),
        Arc::new(rows.iter().map(|row| Some(campaign(row)?.channel.category)).collect::<StringArray>()),
        Arc::new(rows.iter().map(|row| Some(campaign(row)?.channel.name)).collect::<StringArray>()),
        Arc::new(
            rows.iter()
                .map(|row| campaign(row).filter(|_| row.attributed).map(|campaign| &campaign.name))
                .collect::<StringArray>(),
        ),
        amounts(rows, |row| row.ad_cents),
        amounts(rows, |row| row.fee_cents),
        Arc::new(rows.iter().map(|row| row.clicks).collect::<Int64Array>()),
        Arc::new(rows.iter().map(|row| row.impressions).collect::<Int64Array>()),
    ];
    RecordBatch::try_new(schema(), columns)
}

fn amounts(rows: &[SpendRow], read: fn(&SpendRow) -> Option<u64>) -> ArrayRef {
    let mut column = Decimal128Builder::with_capacity(rows.len()).with_data_type(money::TYPE);
    column.extend(rows.iter().map(|row| read(row).map(money::micros)));
    Arc::new(column.finish())
}
