//! The spend of accounts: ads and management fees.

use super::account::{Account, Fee};
use super::calendar::{CalendarMonth, DemoCalendar};
use super::dice::{Dice, DrawStream};
use super::plan::LeadMix;

/// A row of the spend table.
#[derive(Debug, Clone, Copy)]
pub(super) struct SpendRow {
    /// Index of the account.
    pub(super) account: usize,
    /// Days since 1970-01-01.
    pub(super) day: i32,
    /// Index of a campaign of the account, which determines the channel; `None` for a fee without a channel.
    pub(super) campaign: Option<usize>,
    /// Whether the spend belongs to that campaign; otherwise it belongs to its channel as a whole.
    pub(super) attributed: bool,
    /// Ad spend and management fee; exactly one of them is present.
    pub(super) ad_cents: Option<u64>,
    pub(super) fee_cents: Option<u64>,
    /// Clicks and impressions; present on ad spend of channels that are paid per click.
    pub(super) clicks: Option<i64>,
    pub(super) impressions: Option<i64>,
}

/// Smallest bill in cents. A campaign is billed on the day on which it owes at least this much; on the last day of the
/// dataset, it is billed for whatever it owes.
const MIN_BILL_CENTS: u64 = 2_000;

/// A generator of the spend of an account, month by month: what its leads are expected to cost, spread unevenly over
/// the days.
#[derive(Debug)]
pub(super) struct SpendLedger<'a> {
    account: &'a Account,
    /// Index of the account.
    index: usize,
    calendar: &'a DemoCalendar,
    seed: u64,
    /// What each campaign has used and not been billed for, in thousandths of a cent.
    owed: Vec<u64>,
}

impl<'a> SpendLedger<'a> {
    pub(super) fn new(account: &'a Account, index: usize, calendar: &'a DemoCalendar, seed: u64) -> Self {
        Self { account, index, calendar, seed, owed: vec![0; account.campaigns.len()] }
    }

    /// Draws the spend of a month with `customers` new customers. Must be called for each month, in order.
    pub(super) fn month(&mut self, index: usize, customers: u64) -> Vec<SpendRow> {
        let month = &self.calendar.months[index];
        let mut dice = Dice::new(self.seed, DrawStream::Spend { account: self.index, month: index });
        let mix = LeadMix::new(self.account, index);
        let budgets: Vec<u64> =
            (0..self.owed.len()).map(|campaign| mix.budget(self.account, campaign, customers)).collect();
        let mut rows = Vec::new();
        for day in 0..month.day_ends.len() {
            self.ads(&mut dice, month, day, &budgets, &mut rows);
            self.fees(month, day, &budgets, &mut rows);
        }
        rows
    }

    /// Draws the ad spend of a day of the month, by campaign, or in one row for the channel that the account does not
    /// split.
    fn ads(&mut self, dice: &mut Dice, month: &CalendarMonth, day: usize, budgets: &[u64], rows: &mut Vec<SpendRow>) {
        let date = month.day(day);
        let mut unsplit: Option<SpendRow> = None;
        for (index, campaign) in self.account.campaigns.iter().enumerate() {
            if !campaign.channel.is_paid() {
                continue;
            }
            let used = if campaign.channel.monthly {
                if day == 0 { budgets[index] * 1_000 } else { 0 }
            } else {
                let share = budgets[index] * u64::from(month.day_weight(day)) / u64::from(month.weight());
                share * u64::from(dice.between(700, 1_300))
            };
            let owed = &mut self.owed[index];
            *owed += used;
            let bill = *owed / 1_000;
            // On the last day all remaining amounts are billed.
            if bill == 0 || (bill < MIN_BILL_CENTS && date < self.calendar.last) {
                continue;
            }
            *owed %= 1_000;
            let row = self.ad(dice, date, index, bill);
            if self.account.unsplit == Some(campaign.channel.name) {
                let row = SpendRow { attributed: false, ..row };
                unsplit = Some(unsplit.map_or(row, |sum| add(sum, row)));
            } else {
                rows.push(row);
            }
        }
        rows.extend(unsplit);
    }

    /// Draws the clicks and impressions of a bill.
    fn ad(&self, dice: &mut Dice, day: i32, campaign: usize, cents: u64) -> SpendRow {
        let price = u64::from(self.account.campaigns[campaign].channel.click_cents);
        let clicks = (price > 0).then(|| cents * u64::from(dice.between(85, 118)) / 100 / price.max(1));
        let impressions = clicks.map(|clicks| clicks * u64::from(dice.between(18, 42)) + u64::from(dice.below(90)));
        let count = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        SpendRow {
            account: self.index,
            day,
            campaign: Some(campaign),
            attributed: true,
            ad_cents: Some(cents),
            fee_cents: None,
            clicks: clicks.map(count),
            impressions: impressions.map(count),
        }
    }

    /// Computes the management fees of a day of the month from the budgets of the campaigns.
    fn fees(&self, month: &CalendarMonth, day: usize, budgets: &[u64], rows: &mut Vec<SpendRow>) {
        let days = month.day_ends.len() as u64;
        let (share, parts, by_channel) = match self.account.fee {
            Fee::Monthly(share) if day == 0 => (share, 1, true),
            Fee::Daily(share) => (share, days, true),
            Fee::Retainer(share) if day == 0 => (share, 1, false),
            Fee::None | Fee::Monthly(_) | Fee::Retainer(_) => return,
        };
        let mut retainer = 0;
        for (channel, budget) in self.managed(budgets) {
            let fee = budget * u64::from(share) / 1_000 / parts;
            if by_channel {
                rows.extend((fee > 0).then(|| self.fee(month.day(day), Some(channel), fee)));
            } else {
                retainer += fee;
            }
        }
        rows.extend((retainer > 0).then(|| self.fee(month.day(day), None, retainer)));
    }

    /// Returns each managed channel, as the index of one of its campaigns, with its budget of the month in cents.
    fn managed(&self, budgets: &[u64]) -> Vec<(usize, u64)> {
        let campaigns = &self.account.campaigns;
        let mut sums: Vec<(usize, u64)> = Vec::new();
        for (index, campaign) in campaigns.iter().enumerate().filter(|(_, campaign)| campaign.channel.managed) {
            match sums.iter_mut().find(|(other, _)| campaigns[*other].channel.name == campaign.channel.name) {
                Some((_, sum)) => *sum += budgets[index],
                None => sums.push((index, budgets[index])),
            }
        }
        sums
    }

    fn fee(&self, day: i32, campaign: Option<usize>, cents: u64) -> SpendRow {
        SpendRow {
            account: self.index,
            day,
            campaign,
            attributed: false,
            ad_cents: None,
            fee_cents: Some(cents),
            clicks: None,
            impressions: None,
        }
    }
}

/// Adds two rows of the same channel and day.
fn add(left: SpendRow, right: SpendRow) -> SpendRow {
    fn sum<T: std::ops::Add<Output = T>>(left: Option<T>, right: Option<T>) -> Option<T> {
        left.zip(right).map(|(left, right)| left + right)
    }
    SpendRow {
        ad_cents: sum(left.ad_cents, right.ad_cents),
        clicks: sum(left.clicks, right.clicks),
        impressions: sum(left.impressions, right.impressions),
        ..left
    }
}
