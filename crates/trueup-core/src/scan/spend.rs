//! Spend rows, decoded.

use super::decode::{accounts, column, days, totals};
use super::text::dictionary_codes;
use super::{CodedTexts, ColumnFault, NO_VALUE};
use crate::model::SPEND_TEXTS;
use crate::plan::SpendProjection;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, RecordBatch};

/// Columns of spend rows, those that were asked for; code 0 is the empty text.
#[derive(Clone, Debug, Default)]
pub(crate) struct SpendSplit {
    pub(crate) accounts: CodedTexts,
    pub(crate) days: Vec<u16>,
    /// In the order of [`SPEND_TEXTS`].
    pub(crate) texts: [CodedTexts; 3],
    /// Millionths; null is 0.
    pub(crate) ad_spend: Vec<i64>,
    /// Millionths; null is 0.
    pub(crate) management_fee: Vec<i64>,
    /// Null is 0.
    pub(crate) clicks: Vec<u64>,
    /// Null is 0.
    pub(crate) impressions: Vec<u64>,
}

impl SpendSplit {
    /// Decodes the columns of `projection` from a batch of spend rows; the others stay empty.
    pub(crate) fn decode(batch: &RecordBatch, projection: &SpendProjection) -> Result<Self, ColumnFault> {
        let coded = |name: &str| {
            if projection.reads(name) {
                dictionary_codes(name, column(batch, name)?)
            } else {
                Ok(CodedTexts::default())
            }
        };
        let amounts = |name: &str| if projection.reads(name) { amounts(batch, name) } else { Ok(Vec::new()) };
        let counts =
            |name: &str| if projection.reads(name) { counts(name, column(batch, name)?) } else { Ok(Vec::new()) };
        let [category, channel, campaign] = SPEND_TEXTS;
        Ok(Self {
            accounts: accounts(batch)?,
            days: days(column(batch, "date")?)?,
            texts: [coded(category)?, coded(channel)?, coded(campaign)?],
            ad_spend: amounts("adSpend")?,
            management_fee: amounts("managementFee")?,
            clicks: counts("clicks")?,
            impressions: counts("impressions")?,
        })
    }
}

fn amounts(batch: &RecordBatch, name: &str) -> Result<Vec<i64>, ColumnFault> {
    let mut amounts = totals(name, column(batch, name)?)?;
    amounts.iter_mut().filter(|amount| **amount == NO_VALUE).for_each(|amount| *amount = 0);
    Ok(amounts)
}

fn counts(name: &str, array: &ArrayRef) -> Result<Vec<u64>, ColumnFault> {
    let counts =
        array.as_primitive_opt::<Int64Type>().ok_or_else(|| ColumnFault::new(name, "expected whole numbers"))?;
    counts
        .iter()
        .map(|count| u64::try_from(count.unwrap_or(0)).map_err(|_| ColumnFault::new(name, "a count is negative")))
        .collect()
}
