//! Sums of spend. Spend has groups of its own, because a dimension that it does not have must not split it.

use super::arrow_columns::sum_name;
use super::{Accumulator, ArrowColumns, values};
use crate::aggregate::types::{GroupSlot, INTERRUPT_CHECK_GROUPS};
use crate::dictionary::Measure;
use crate::memory::column_bytes_while_adding;
use crate::plan::MeasureLayout;
use crate::scan::{Amounts, SpendColumns};
use crate::{Code, Interrupt, Interruption, Shown};
use arrow_array::RecordBatch;
use arrow_array::types::Decimal128Type;
use arrow_schema::ArrowError;
use std::fmt::Write;

/// The measures, by place. All are held whatever the query needs, because spend without events makes a row of the
/// answer if any of them but [`Measure::CampaignSpend`] is not 0.
const MEASURES: [Measure; 5] =
    [Measure::AdSpend, Measure::ManagementFee, Measure::CampaignSpend, Measure::Clicks, Measure::Impressions];

/// The sums of spend of each group. Money is in millionths of a currency unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spend {
    /// The sums, by slot and then by place.
    sums: Vec<[i128; MEASURES.len()]>,
}

impl Spend {
    /// Adds rows of a row group, given the slot of each. What was spent on campaigns is added only if `needs_campaigns`
    /// is set.
    pub(in crate::aggregate) fn add_rows(
        &mut self,
        columns: &SpendColumns,
        rows: &[u32],
        slots: &[GroupSlot],
        needs_campaigns: bool,
    ) {
        for (slot, amounts) in slots.iter().zip(amounts(columns, rows, needs_campaigns)) {
            self.sums[slot.index()].iter_mut().zip(amounts).for_each(|(sum, amount)| *sum += amount);
        }
    }

    /// Returns what each of some rows adds to a measure.
    pub(crate) fn explain(columns: &SpendColumns, measure: Measure, rows: &[u32]) -> impl Iterator<Item = i128> {
        let place = MEASURES.iter().position(|sum| *sum == measure);
        amounts(columns, rows, true).map(move |amounts| place.map_or(0, |place| amounts[place]))
    }

    /// Returns the number of bytes that may be held while `groups` groups are added.
    pub(in crate::aggregate) fn bytes_while_adding(&self, groups: usize) -> usize {
        column_bytes_while_adding(&self.sums, groups)
    }

    /// Returns for each group whether spend, ad spend, clicks or impressions differ from 0, so that spend without
    /// events makes a row of the result table.
    pub(in crate::aggregate) fn make_rows(&self) -> impl Iterator<Item = bool> {
        // The entry of `GroupSlot::NONE` is skipped.
        self.sums.iter().skip(1).map(|[ad_spend, management_fee, _, clicks, impressions]| {
            ad_spend + management_fee != 0 || *ad_spend != 0 || *clicks != 0 || *impressions != 0
        })
    }

    /// Returns the rule by which a measure counts a row with these texts in category, channel and campaign. `not_split`
    /// names the dimensions of the query that spend does not have.
    pub(crate) fn rule(measure: Measure, texts: &[String; 3], not_split: &[&str]) -> String {
        let what = match measure {
            Measure::AdSpend => "the ad spend",
            Measure::ManagementFee => "the management fee",
            Measure::CampaignSpend => "the ad spend and management fee",
            Measure::Clicks => "the clicks",
            _ => "the impressions",
        };
        let names = ["category", "channel", "campaign"].into_iter().zip(texts).filter(|(_, text)| !text.is_empty());
        let names: Vec<String> = names.map(|(name, text)| format!("{name} `{}`", Shown(text))).collect();
        let mut rule = match names.as_slice() {
            [] => format!("{what} of a row of spend without an attribution"),
            names => format!("{what} of {}", names.join(", ")),
        };
        if !not_split.is_empty() {
            let _ = write!(rule, "; {} does not split spend", not_split.join(" or "));
        }
        rule
    }
}

/// Returns what each of some rows adds, by place. A column that was not read adds nothing, and null is 0. All columns
/// are read in one pass, because a pass for each measure takes a sixth longer over all metrics.
fn amounts(
    columns: &SpendColumns,
    rows: &[u32],
    needs_campaigns: bool,
) -> impl Iterator<Item = [i128; MEASURES.len()]> {
    let (ad_spend, fees) = (money(columns.ad_spend.as_deref(), rows), money(columns.management_fee.as_deref(), rows));
    let campaigns = columns.text("campaign").filter(|_| needs_campaigns);
    rows.iter().zip(ad_spend.into_iter().zip(fees)).map(move |(row, (ad_spend, fee))| {
        let row = *row as usize;
        let is_of_campaign = campaigns.is_some_and(|campaigns| campaigns.codes.get(row) != Code::EMPTY);
        let [ad_spend, fee] = [ad_spend, fee].map(i128::from);
        let campaign_spend = if is_of_campaign { ad_spend + fee } else { 0 };
        [
            ad_spend,
            fee,
            campaign_spend,
            count(columns.clicks.as_deref(), row),
            count(columns.impressions.as_deref(), row),
        ]
    })
}

/// Returns the amounts of rows.
fn money(amounts: Option<&Amounts>, rows: &[u32]) -> Vec<i64> {
    amounts.map_or_else(|| vec![0; rows.len()], |amounts| amounts.gather(rows))
}

/// Returns the count of a row.
fn count(counts: Option<&[u64]>, row: usize) -> i128 {
    counts.map_or(0, |counts| counts[row].into())
}

impl Accumulator for Spend {
    fn holds(measure: Measure) -> bool {
        measure.is_spend()
    }

    fn new(_layout: &MeasureLayout) -> Self {
        // The entry of `GroupSlot::NONE`.
        Self { sums: vec![[0; MEASURES.len()]] }
    }

    fn bytes(&self) -> usize {
        self.sums.capacity() * size_of::<[i128; MEASURES.len()]>()
    }

    fn grow(&mut self, slots: usize) {
        self.sums.resize(slots, [0; MEASURES.len()]);
    }

    fn merge(&mut self, other: Self, slots: &[GroupSlot], interrupt: &Interrupt) -> Result<(), Interruption> {
        for (at, (slot, more)) in slots.iter().zip(&other.sums[1..]).enumerate() {
            if at.is_multiple_of(INTERRUPT_CHECK_GROUPS) {
                interrupt.check()?;
            }
            self.sums[slot.index()].iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
        Ok(())
    }

    fn sums(&self) -> Vec<i128> {
        (0..MEASURES.len()).map(|place| self.sums.iter().map(|sums| sums[place]).sum()).collect()
    }

    fn to_arrow(&self, groups: usize, columns: &mut ArrowColumns) -> Result<(), ArrowError> {
        for (place, measure) in MEASURES.into_iter().enumerate() {
            columns.push_sums(measure, GroupSlot::first(groups).map(|slot| self.sums[slot.index()][place]))?;
        }
        Ok(())
    }

    fn add_arrow(&mut self, batch: &RecordBatch, slots: &[GroupSlot]) -> Result<(), ArrowError> {
        for (place, measure) in MEASURES.into_iter().enumerate() {
            let sums = values::<Decimal128Type>(batch, &sum_name(measure))?;
            slots.iter().zip(sums).for_each(|(slot, sum)| self.sums[slot.index()][place] += *sum);
        }
        Ok(())
    }

    fn value(&self, measure: Measure) -> Option<impl Fn(GroupSlot) -> i128> {
        let place = MEASURES.iter().position(|sum| *sum == measure)?;
        Some(move |slot: GroupSlot| self.sums[slot.index()][place])
    }
}
