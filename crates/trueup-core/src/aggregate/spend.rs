//! Spend rows of one split to partial sums.

use super::Context;
use super::condition::FieldTest;
use super::groups::Groups;
use super::mask::{CodeTest, Truth};
use crate::dictionary::SpendColumn;
use crate::scan::{CodedTexts, Dictionary, SpendSplit};
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

/// Aggregates a split of the spend table.
pub(crate) fn aggregate_spend(context: &Context<'_>, split: &SpendSplit) -> SpendPartial {
    let rows = rows_in_range(context, split);
    let kept = kept(context, split, &rows);
    let columns = context.plan.dimensions.iter().filter_map(|dimension| dimension.spend);
    let coded: Vec<CodedTexts> = columns.map(|column| codes(context, split, column, &rows)).collect();
    let mut groups = Groups::hashed(coded.len() + 1);
    let mut sums: Vec<SpendSums> = Vec::new();
    let mut key = vec![0; coded.len() + 1];
    for (at, row) in rows.iter().enumerate().filter(|(at, _)| kept[*at]) {
        key[0] = context.calendar.sub_range(split.days[*row]);
        for (code, (codes, _)) in key[1..].iter_mut().zip(&coded) {
            *code = codes[at];
        }
        let group = groups.number(&key) as usize;
        if group == sums.len() {
            sums.push(SpendSums::default());
        }
        sums[group].add(&split.sums(*row));
    }
    SpendPartial { groups, sums, texts: coded.into_iter().map(|(_, texts)| texts).collect() }
}

impl SpendSplit {
    fn sums(&self, row: usize) -> SpendSums {
        // A column that was not asked for is empty.
        let amount = |column: &[i64]| column.get(row).copied().map_or(0, i128::from);
        let count = |column: &[u64]| column.get(row).copied().map_or(0, i128::from);
        let (ad_spend, management_fee) = (amount(&self.ad_spend), amount(&self.management_fee));
        let [.., (campaigns, _)] = &self.texts;
        let has_campaign = campaigns.get(row).is_some_and(|code| *code != 0);
        SpendSums {
            ad_spend,
            management_fee,
            campaign_spend: if has_campaign { ad_spend + management_fee } else { 0 },
            clicks: count(&self.clicks),
            impressions: count(&self.impressions),
        }
    }
}

fn rows_in_range(context: &Context<'_>, split: &SpendSplit) -> Vec<usize> {
    let (codes, keys) = &split.accounts;
    let selected = context.selected(keys);
    let range = context.plan.range;
    let days = range.start.number()..=range.end.number();
    (0..split.days.len()).filter(|row| days.contains(&split.days[*row]) && selected[codes[*row] as usize]).collect()
}

/// Which rows are not certainly outside the filter.
fn kept(context: &Context<'_>, split: &SpendSplit, rows: &[usize]) -> Vec<bool> {
    let Some(condition) = &context.condition else { return vec![true; rows.len()] };
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
    truths.into_iter().map(|truth| truth != Truth::False).collect()
}

/// The codes of `rows` in a column, and its texts.
fn codes(context: &Context<'_>, split: &SpendSplit, column: SpendColumn, rows: &[usize]) -> CodedTexts {
    let pick = |codes: &[u32], texts: &Dictionary| (rows.iter().map(|row| codes[*row]).collect(), texts.clone());
    let [category, channel, campaign] = &split.texts;
    let (codes, texts) = match column {
        SpendColumn::Account | SpendColumn::AccountName => &split.accounts,
        SpendColumn::AttributionCategory => category,
        SpendColumn::AttributionChannel => channel,
        SpendColumn::Campaign => campaign,
        SpendColumn::Date | SpendColumn::Week | SpendColumn::Month => {
            let Some(table) = context.calendar.spend_table(column) else {
                return (vec![0; rows.len()], [Arc::from("")].into());
            };
            let code = |row: &usize| table.codes[context.calendar.offset(split.days[*row])];
            return (rows.iter().map(code).collect(), table.texts.clone());
        }
    };
    match column {
        SpendColumn::AccountName => pick(codes, &context.account_names(texts)),
        _ => pick(codes, texts),
    }
}
