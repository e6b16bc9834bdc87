//! The decoded columns of spend.

use super::event_columns::{accounts, amounts, codes, days};
use super::source::NumberKind;
use super::{Amounts, Codes, ColumnFault, ColumnSource, SpendProjection, TableColumns, TextDictionary};
use crate::model::SPEND_TEXTS;
use std::sync::Arc;
use trueup_parquet::LiveRows;

/// The decoded columns of spend rows; a column that is not decoded is `None`.
#[derive(Clone, Debug, Default)]
pub(crate) struct SpendColumns {
    pub(crate) accounts: Arc<SpendTextColumn>,
    /// For each row, whether it is left; `None` if all are. Others were superseded after the columns were decoded, and
    /// no query may count them.
    pub(crate) left: Option<Arc<[bool]>>,
    /// For each row, its day, in days since 1970-01-01.
    pub(crate) days: Arc<[u16]>,
    /// The text columns in the order of [`SPEND_TEXTS`].
    pub(crate) texts: [Option<Arc<SpendTextColumn>>; 3],
    pub(crate) ad_spend: Option<Arc<Amounts>>,
    pub(crate) management_fee: Option<Arc<Amounts>>,
    /// The clicks of each row; null is 0.
    pub(crate) clicks: Option<Arc<[u64]>>,
    /// The impressions of each row; null is 0.
    pub(crate) impressions: Option<Arc<[u64]>>,
}

/// A text column of the spend table: a code for each row, and the texts by code. Code 0 is the empty text.
#[derive(Clone, Debug, Default)]
pub(crate) struct SpendTextColumn {
    pub(crate) codes: Codes,
    pub(crate) texts: TextDictionary,
}

impl From<(Codes, TextDictionary)> for SpendTextColumn {
    fn from((codes, texts): (Codes, TextDictionary)) -> Self {
        Self { codes, texts }
    }
}

impl TableColumns for SpendColumns {
    type Projection = SpendProjection;

    fn names(projection: &SpendProjection, is_first: bool) -> Vec<&str> {
        projection.columns(is_first)
    }

    fn decode(source: &ColumnSource<'_>, projection: &SpendProjection) -> Result<Self, ColumnFault> {
        let accounts: SpendTextColumn = accounts(source)?.into();
        Self { accounts: Arc::new(accounts), days: days(source)?.into(), ..Self::default() }.with(source, projection)
    }

    fn with(mut self, source: &ColumnSource<'_>, projection: &SpendProjection) -> Result<Self, ColumnFault> {
        for (name, texts) in SPEND_TEXTS.into_iter().zip(&mut self.texts) {
            if projection.reads(name) {
                *texts = Some(Arc::new(codes(name, source)?.into()));
            }
        }
        for (name, held) in [("adSpend", &mut self.ad_spend), ("managementFee", &mut self.management_fee)] {
            if projection.reads(name) {
                *held = Some(Arc::new(amounts(name, source)?));
            }
        }
        for (name, held) in [("clicks", &mut self.clicks), ("impressions", &mut self.impressions)] {
            if projection.reads(name) {
                *held = Some(counts(name, source)?.into());
            }
        }
        Ok(self)
    }

    fn add_decoded(&self, projection: &mut SpendProjection) {
        let texts = SPEND_TEXTS.into_iter().zip(self.texts.iter().map(Option::is_some));
        let others = [
            ("adSpend", self.ad_spend.is_some()),
            ("managementFee", self.management_fee.is_some()),
            ("clicks", self.clicks.is_some()),
            ("impressions", self.impressions.is_some()),
        ];
        projection.add(texts.chain(others).filter(|(_, is_decoded)| *is_decoded).map(|(name, _)| name));
    }

    fn missing(&self, projection: &SpendProjection) -> SpendProjection {
        let mut decoded = SpendProjection::default();
        self.add_decoded(&mut decoded);
        projection.without(&decoded)
    }

    fn leave_out(&self, left: &LiveRows) -> Result<Self, ColumnFault> {
        let mut is_left = vec![false; self.days.len()];
        left.ranges().iter().cloned().for_each(|rows| is_left[rows].fill(true));
        Ok(Self { left: Some(is_left.into()), ..self.clone() })
    }

    fn left_days(&self) -> Option<(u16, u16)> {
        let days = || self.live_rows().map(|row| self.days[row]);
        days().min().zip(days().max())
    }

    fn left_bytes(&self) -> usize {
        self.left.as_ref().map_or(0, |left| left.len())
    }

    /// Does not count the texts, because they are few.
    fn bytes(&self) -> usize {
        let texts: usize = self.texts.iter().flatten().map(|texts| texts.codes.bytes()).sum();
        let amounts = [&self.ad_spend, &self.management_fee];
        let amounts: usize = amounts.into_iter().flatten().map(|amounts| amounts.bytes()).sum();
        let counts: usize =
            [&self.clicks, &self.impressions].into_iter().flatten().map(|counts| counts.len() * 8).sum();
        self.accounts.codes.bytes() + self.left_bytes() + size_of_val(&*self.days) + texts + amounts + counts
    }
}

impl SpendColumns {
    /// Returns the rows that are left, in order.
    pub(crate) fn live_rows(&self) -> impl Iterator<Item = usize> {
        (0..self.days.len()).filter(|row| self.left.as_ref().is_none_or(|left| left[*row]))
    }

    /// Returns the texts that the rows that are left have in a column, each once, and the empty text.
    pub(crate) fn present_texts<'a>(&self, column: &'a SpendTextColumn) -> impl Iterator<Item = &'a str> {
        let mut present = vec![self.left.is_none(); column.texts.len()];
        present[0] = true;
        if self.left.is_some() {
            self.live_rows().for_each(|row| present[column.codes.get(row).index()] = true);
        }
        column.texts.iter().zip(present).filter_map(|(text, is_present)| is_present.then_some(text))
    }

    /// Returns a text column, if it is decoded. Its dictionary may hold texts of rows that are not left.
    pub(crate) fn text(&self, name: &str) -> Option<&SpendTextColumn> {
        let column = SPEND_TEXTS.iter().position(|text| *text == name)?;
        self.texts[column].as_deref()
    }
}

fn counts(name: &str, source: &ColumnSource<'_>) -> Result<Vec<u64>, ColumnFault> {
    let counts =
        source.numbers(name, NumberKind::Count, |count| u64::try_from(count).map_err(|_| "a count is negative"))?;
    counts.rows.expand(counts.values, 0).map_err(|fault| ColumnFault::new(name, fault))
}
