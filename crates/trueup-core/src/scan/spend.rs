//! Spend rows, decoded.

use super::decode::{accounts, column, days, totals};
use super::text::dictionary_codes;
use super::{Amounts, Codes, ColumnFault, Columns, Dictionary};
use crate::model::SPEND_TEXTS;
use crate::plan::SpendProjection;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, RecordBatch};
use std::sync::Arc;

/// Columns of spend rows; what was not asked for is `None`.
#[derive(Clone, Debug, Default)]
pub(crate) struct SpendSplit {
    pub(crate) accounts: Arc<SpendTexts>,
    pub(crate) days: Arc<[u16]>,
    /// In the order of [`SPEND_TEXTS`].
    pub(crate) texts: [Option<Arc<SpendTexts>>; 3],
    pub(crate) ad_spend: Option<Arc<Amounts>>,
    pub(crate) management_fee: Option<Arc<Amounts>>,
    /// Null is 0.
    pub(crate) clicks: Option<Arc<[u64]>>,
    /// Null is 0.
    pub(crate) impressions: Option<Arc<[u64]>>,
}

/// A code per row, and the texts by code; code 0 is the empty text.
#[derive(Clone, Debug)]
pub(crate) struct SpendTexts {
    pub(crate) codes: Codes,
    pub(crate) texts: Dictionary,
}

impl SpendTexts {
    fn new((codes, texts): (Vec<u32>, Dictionary)) -> Self {
        Self { codes: Codes::new(codes, texts.len()), texts }
    }
}

impl Default for SpendTexts {
    fn default() -> Self {
        Self::new((Vec::new(), Dictionary::default()))
    }
}

impl Columns for SpendSplit {
    type Projection = SpendProjection;

    fn names(projection: &SpendProjection, is_first: bool) -> Vec<&str> {
        projection.columns(is_first)
    }

    fn decode(batch: &RecordBatch, projection: &SpendProjection) -> Result<Self, ColumnFault> {
        let accounts = Arc::new(SpendTexts::new(accounts(batch)?));
        Self { accounts, days: days(column(batch, "date")?)?.into(), ..Self::default() }.with(batch, projection)
    }

    fn with(mut self, batch: &RecordBatch, projection: &SpendProjection) -> Result<Self, ColumnFault> {
        for (name, texts) in SPEND_TEXTS.into_iter().zip(&mut self.texts) {
            if projection.reads(name) {
                *texts = Some(Arc::new(SpendTexts::new(dictionary_codes(name, column(batch, name)?)?)));
            }
        }
        for (name, amounts) in [("adSpend", &mut self.ad_spend), ("managementFee", &mut self.management_fee)] {
            if projection.reads(name) {
                *amounts = Some(Arc::new(Amounts::new(totals(name, column(batch, name)?)?)));
            }
        }
        for (name, held) in [("clicks", &mut self.clicks), ("impressions", &mut self.impressions)] {
            if projection.reads(name) {
                *held = Some(counts(name, column(batch, name)?)?.into());
            }
        }
        Ok(self)
    }

    fn missing(&self, projection: &SpendProjection) -> SpendProjection {
        let texts = SPEND_TEXTS.into_iter().zip(self.texts.iter().map(Option::is_some));
        let others = [
            ("adSpend", self.ad_spend.is_some()),
            ("managementFee", self.management_fee.is_some()),
            ("clicks", self.clicks.is_some()),
            ("impressions", self.impressions.is_some()),
        ];
        projection.without(texts.chain(others).filter(|(_, is_decoded)| *is_decoded).map(|(name, _)| name))
    }

    /// Keys and texts, which are few, aside.
    fn bytes(&self) -> usize {
        let texts: usize = self.texts.iter().flatten().map(|texts| texts.codes.bytes()).sum();
        let amounts = [&self.ad_spend, &self.management_fee];
        let amounts: usize = amounts.into_iter().flatten().map(|amounts| amounts.bytes()).sum();
        let counts: usize =
            [&self.clicks, &self.impressions].into_iter().flatten().map(|counts| counts.len() * 8).sum();
        self.accounts.codes.bytes() + size_of_val(&*self.days) + texts + amounts + counts
    }
}

fn counts(name: &str, array: &ArrayRef) -> Result<Vec<u64>, ColumnFault> {
    let counts =
        array.as_primitive_opt::<Int64Type>().ok_or_else(|| ColumnFault::new(name, "expected whole numbers"))?;
    counts
        .iter()
        .map(|count| u64::try_from(count.unwrap_or(0)).map_err(|_| ColumnFault::new(name, "a count is negative")))
        .collect()
}
