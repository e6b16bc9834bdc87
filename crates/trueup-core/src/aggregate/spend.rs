//! Spend rows of one split to partial sums.

use super::QueryContext;
use super::field_predicate::FieldPredicate;
use super::group_table::GroupTable;
use super::predicate::{CodePredicate, Ternary};
use super::segments::select;
use super::spend_keys::SpendKeyEncoder;
use crate::dictionary::{Measure, SpendColumn};
use crate::plan::Condition;
use crate::scan::{Amounts, SpendColumns, TextDictionary};
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
    pub(crate) groups: GroupTable,
    pub(crate) sums: Vec<SpendSums>,
    /// Per carried dimension, its texts by code.
    pub(crate) texts: Vec<TextDictionary>,
}

/// Rows that are worked on at once: few enough for all that is made of them to be at hand.
const AT_ONCE: usize = 1 << 12;

/// Aggregates a split of the spend table.
pub(crate) fn aggregate_spend(context: &QueryContext<'_>, split: &SpendColumns) -> SpendPartial {
    let selected = context.selected(&split.accounts.texts);
    let coder = |column| SpendKeyEncoder::new(context, split, column);
    let coders: Vec<SpendKeyEncoder<'_>> =
        context.plan.dimensions.iter().filter_map(|dimension| dimension.spend).map(coder).collect();
    let texts: Vec<TextDictionary> = coders.iter().map(SpendKeyEncoder::texts).collect();
    let mut tests = context.condition.as_ref().map(|condition| Tests::new(condition, coder));
    let mut groups = GroupTable::new(context.plan.sub_ranges.len(), coders.len());
    for (place, texts) in texts.iter().enumerate() {
        groups.expect(place + 1, texts.len());
    }
    let by_campaign = context.plan.spend.contains(&Measure::CampaignSpend);
    let mut sums = Vec::new();
    let (mut rows, mut slots) = (Vec::new(), Vec::new());
    let (mut sub_ranges, mut codes) = (Vec::new(), vec![Vec::new(); coders.len()]);
    for first in (0..split.days.len()).step_by(AT_ONCE) {
        find_rows(context, split, &selected, first, &mut rows);
        if let Some(tests) = &mut tests {
            tests.keep(&mut rows);
        }
        sub_ranges.clear();
        match &*context.plan.sub_ranges {
            [_] => sub_ranges.resize(rows.len(), 0),
            _ => sub_ranges.extend(rows.iter().map(|row| context.calendar.sub_range(split.days[*row as usize]).0)),
        }
        coders.iter().zip(&mut codes).for_each(|(coder, codes)| coder.fill(&rows, codes));
        let keys: Vec<&[u32]> = std::iter::once(&sub_ranges).chain(&codes).map(Vec::as_slice).collect();
        groups.slots(&keys, rows.len(), &mut slots);
        sums.resize(groups.len(), SpendSums::default());
        split.add(&rows, &slots, by_campaign, &mut sums);
    }
    SpendPartial { groups, sums, texts }
}

impl SpendColumns {
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

/// Writes those of the next rows from `first` on that lie in the range and are of a selected account to `rows`.
fn find_rows(context: &QueryContext<'_>, split: &SpendColumns, selected: &[bool], first: usize, rows: &mut Vec<u32>) {
    let range = context.plan.range;
    let days = range.start.number()..=range.end.number();
    let end = split.days.len().min(first + AT_ONCE);
    let is_kept = |(row, day): (usize, &u16)| days.contains(day) & selected[split.accounts.codes.get(row) as usize];
    select(rows, (first..end).zip(&split.days[first..end]).map(is_kept));
    #[expect(clippy::cast_possible_truncation, reason = "a split has fewer than 2^32 rows")]
    rows.iter_mut().for_each(|row| *row += first as u32);
}

/// A filter, bound to the columns of a split; `None` is a test of what spend does not have.
struct Tests<'a> {
    condition: Condition<Option<(SpendKeyEncoder<'a>, TextDictionary, CodePredicate<'a>)>>,
    codes: Vec<u32>,
}

impl<'a> Tests<'a> {
    fn new(condition: &'a Condition<FieldPredicate>, coder: impl Fn(SpendColumn) -> SpendKeyEncoder<'a>) -> Self {
        let condition = condition.map(&mut |test| match test {
            FieldPredicate::Dimension(dimension, test) => {
                let coder = coder(dimension.spend?);
                let texts = coder.texts();
                Some((coder, texts, CodePredicate::new(test)))
            }
            FieldPredicate::Total(_) => None,
        });
        Self { condition, codes: Vec::new() }
    }

    /// Keeps the rows that are not certainly outside the filter.
    fn keep(&mut self, rows: &mut Vec<u32>) {
        let Self { condition, codes } = self;
        let truths = condition.evaluate(rows.len(), &mut |test, truths: &mut Vec<Ternary>| match test {
            Some((coder, texts, test)) => {
                coder.fill(rows, codes);
                test.fill(codes, texts, truths);
            }
            None => truths.resize(rows.len(), Ternary::Unknown),
        });
        let mut truths = truths.into_iter();
        rows.retain(|_| truths.next() != Some(Ternary::False));
    }
}
