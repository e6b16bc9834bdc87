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
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Spend {
    /// The sums, by slot and then by place.
    sums: Vec<[i128; MEASURES.len()]>,
}

impl Spend {
    /// Adds rows of a row group, given the slot of each, to `measures`.
    pub(in crate::aggregate) fn add_rows(
        &mut self,
        columns: &SpendColumns,
        rows: &[u32],
        slots: &[GroupSlot],
        measures: impl Fn(Measure) -> bool,
    ) {
        for (place, measure) in MEASURES.into_iter().enumerate().filter(|(_, measure)| measures(*measure)) {
            // A column that was not read adds nothing.
            for (slot, amount) in slots.iter().zip(Self::explain(columns, measure, rows).into_iter().flatten()) {
                self.sums[slot.index()][place] += amount;
            }
        }
    }

    /// Returns what each of some rows adds to a measure; `None` if its columns were not read.
    pub(crate) fn explain(columns: &SpendColumns, measure: Measure, rows: &[u32]) -> Option<Vec<i128>> {
        match measure {
            Measure::AdSpend => amounts(columns.ad_spend.as_deref(), rows),
            Measure::ManagementFee => amounts(columns.management_fee.as_deref(), rows),
            Measure::CampaignSpend => {
                let campaigns = &columns.text("campaign")?.codes;
                let mut spend = amounts(columns.ad_spend.as_deref(), rows)?;
                let fees = amounts(columns.management_fee.as_deref(), rows)?;
                for ((spend, fee), row) in spend.iter_mut().zip(fees).zip(rows) {
                    *spend = if campaigns.get(*row as usize) == Code::EMPTY { 0 } else { *spend + fee };
                }
                Some(spend)
            }
            Measure::Clicks => counts(columns.clicks.as_deref(), rows),
            Measure::Impressions => counts(columns.impressions.as_deref(), rows),
            _ => None,
        }
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

/// Returns the amounts of rows; null is 0.
fn amounts(amounts: Option<&Amounts>, rows: &[u32]) -> Option<Vec<i128>> {
    Some(amounts?.gather(rows).into_iter().map(i128::from).collect())
}

/// Returns the counts of rows.
fn counts(counts: Option<&[u64]>, rows: &[u32]) -> Option<Vec<i128>> {
    let counts = counts?;
    Some(rows.iter().map(|row| counts[*row as usize].into()).collect())
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
