//! Spend rows of one split to partial sums.

use super::Context;
use super::condition::FieldTest;
use super::groups::Groups;
use super::mask::{CodeTest, Truth};
use super::segments::select;
use crate::dictionary::{Measure, SpendColumn};
use crate::scan::{Amounts, CodedTexts, Dictionary, SpendSplit};
use std::sync::Arc;

/// What spend rows add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SpendSums {
    /// Millionths.
    pub(crate) ad_spend: i128,
    /// Millionths.
    pub(crate) management_fee: i128,
    /// Millionths, of rows with a campaign.
    pub(crate) campaign_spend: i128,
    pub(crate) clicks: i128,
    pub(crate) impressions: i128,
}

impl SpendSums {
    pub(crate) fn add(&mut self, other: &Self) {
        self.ad_spend += other.ad_spend;
        self.management_fee += other.management_fee;
        self.campaign_spend += other.campaign_spend;
        self.clicks += other.clicks;
        self.impressions += other.impressions;
    }

    /// Whether any of spend, cost, clicks and impressions is not 0.
    pub(crate) const fn shows(&self) -> bool {
        self.ad_spend + self.management_fee != 0 || self.ad_spend != 0 || self.clicks != 0 || self.impressions != 0
    }
}

/// Sums per group; a group's key is the sub-range and a code per dimension of the query that spend carries.
#[derive(Debug)]
pub(crate) struct SpendPartial {
    pub(crate) groups: Groups,
    pub(crate) sums: Vec<SpendSums>,
    /// Per carried dimension, its texts by code.
    pub(crate) texts: Vec<Dictionary>,
}

/// Rows whose amounts are added at once: few enough for all of them to be at hand.
const AT_ONCE: usize = 1 << 11;

/// Aggregates a split of the spend table.
pub(crate) fn aggregate_spend(context: &Context<'_>, split: &SpendSplit) -> SpendPartial {
    let mut rows = rows_in_range(context, split);
    keep(context, split, &mut rows);
    let columns = context.plan.dimensions.iter().filter_map(|dimension| dimension.spend);
    let coded: Vec<CodedTexts> = columns.map(|column| codes(context, split, column, &rows)).collect();
    let mut groups = Groups::new(context.plan.sub_ranges.len(), coded.len());
    for (place, (_, texts)) in coded.iter().enumerate() {
        groups.expect(place + 1, texts.len());
    }
    let sub_range = |row: &u32| context.calendar.sub_range(split.days[*row as usize]).0;
    let sub_ranges: Vec<u32> = match &*context.plan.sub_ranges {
        [_] => vec![0; rows.len()],
        _ => rows.iter().map(sub_range).collect(),
    };
    let keys: Vec<&[u32]> =
        std::iter::once(&sub_ranges).chain(coded.iter().map(|(codes, _)| codes)).map(Vec::as_slice).collect();
    let mut slots = Vec::new();
    groups.slots(&keys, rows.len(), &mut slots);
    let mut sums = vec![SpendSums::default(); groups.len()];
    let by_campaign = context.plan.spend.contains(&Measure::CampaignSpend);
    for (rows, slots) in rows.chunks(AT_ONCE).zip(slots.chunks(AT_ONCE)) {
        split.add(rows, slots, by_campaign, &mut sums);
    }
    SpendPartial { groups, sums, texts: coded.into_iter().map(|(_, texts)| texts).collect() }
}

impl SpendSplit {
    /// Adds rows to the sums of their groups; a column that was not asked for adds nothing. What is spent on campaigns is found if it is asked
    /// for.
    fn add(&self, rows: &[u32], slots: &[u32], by_campaign: bool, sums: &mut [SpendSums]) {
        let amounts = |column: &Option<Arc<Amounts>>| match column {
            Some(amounts) => amounts.gather(rows),
            None => vec![0; rows.len()],
        };
        let counts = |column: &Option<Arc<[u64]>>| match column.as_deref() {
            Some(counts) => rows.iter().map(|row| counts[*row as usize]).collect(),
            None => vec![0; rows.len()],
        };
        let (ad_spend, management_fee) = (amounts(&self.ad_spend), amounts(&self.management_fee));
        let (clicks, impressions) = (counts(&self.clicks), counts(&self.impressions));
        let money = ad_spend.iter().zip(&management_fee);
        for (slot, ((ad_spend, management_fee), (clicks, impressions))) in
            slots.iter().zip(money.clone().zip(clicks.iter().zip(&impressions)))
        {
            let sums = &mut sums[*slot as usize - 1];
            sums.ad_spend += i128::from(*ad_spend);
            sums.management_fee += i128::from(*management_fee);
            sums.clicks += i128::from(*clicks);
            sums.impressions += i128::from(*impressions);
        }
        if let ([.., Some(campaigns)], true) = (&self.texts, by_campaign) {
            for ((row, slot), (ad_spend, management_fee)) in rows.iter().zip(slots).zip(money) {
                let of_campaign = |amount| if campaigns.codes.get(*row as usize) == 0 { 0 } else { i128::from(amount) };
                sums[*slot as usize - 1].campaign_spend += of_campaign(*ad_spend) + of_campaign(*management_fee);
            }
        }
    }
}

fn rows_in_range(context: &Context<'_>, split: &SpendSplit) -> Vec<u32> {
    let selected = context.selected(&split.accounts.texts);
    let range = context.plan.range;
    let days = range.start.number()..=range.end.number();
    let is_kept = |(row, day): (usize, &u16)| days.contains(day) & selected[split.accounts.codes.get(row) as usize];
    let mut rows = Vec::new();
    select(&mut rows, split.days.iter().enumerate().map(is_kept));
    rows
}

/// Keeps the rows that are not certainly outside the filter.
fn keep(context: &Context<'_>, split: &SpendSplit, rows: &mut Vec<u32>) {
    let Some(condition) = &context.condition else { return };
    let mut bound = condition.map(&mut |test| match test {
        FieldTest::Dimension(dimension, test) => {
            dimension.spend.map(|column| (codes(context, split, column, rows), CodeTest::new(test)))
        }
        FieldTest::Total(_) => None,
    });
    let truths = bound.evaluate(rows.len(), &mut |test, truths: &mut Vec<Truth>| match test {
        Some(((codes, texts), test)) => test.fill(codes, texts, truths),
        None => truths.resize(rows.len(), Truth::Unknown),
    });
    let mut truths = truths.into_iter();
    rows.retain(|_| truths.next() != Some(Truth::False));
}

/// The codes of `rows` in a column, and its texts.
fn codes(context: &Context<'_>, split: &SpendSplit, column: SpendColumn, rows: &[u32]) -> CodedTexts {
    let [category, channel, campaign] = &split.texts;
    let coded = match column {
        SpendColumn::Account | SpendColumn::AccountName => Some(&split.accounts),
        SpendColumn::AttributionCategory => category.as_ref(),
        SpendColumn::AttributionChannel => channel.as_ref(),
        SpendColumn::Campaign => campaign.as_ref(),
        SpendColumn::Date | SpendColumn::Week | SpendColumn::Month => {
            let Some(table) = context.calendar.spend_table(column) else {
                return (vec![0; rows.len()], [Arc::from("")].into());
            };
            let code = |row: &u32| table.codes[context.calendar.offset(split.days[*row as usize])];
            return (rows.iter().map(code).collect(), table.texts.clone());
        }
    };
    let Some(coded) = coded else { return (vec![0; rows.len()], [Arc::from("")].into()) };
    let mut codes = Vec::with_capacity(rows.len());
    coded.codes.gather(rows, &mut codes);
    let texts =
        if column == SpendColumn::AccountName { context.account_names(&coded.texts) } else { coded.texts.clone() };
    (codes, texts)
}
