//! Plans how many customers begin in each month of each account, and through which campaigns.

use super::account::Account;
use super::calendar::DemoCalendar;
use super::campaign::MAIN_LINE_INDEX;
use super::dice::Dice;

/// The number of customers that begin in each month of each account: proportional to the account's size, the season of
/// its industry, the days that the month has, and growth over the months. The whole numbers add up to `customers`.
#[derive(Debug)]
pub(super) struct CustomerPlan {
    /// Running sums of the weights, by account and then by month.
    ends: Vec<u64>,
    months: usize,
    customers: u64,
}

impl CustomerPlan {
    pub(super) fn new(accounts: &[Account], calendar: &DemoCalendar, customers: u64) -> Self {
        let mut ends = Vec::with_capacity(accounts.len() * calendar.months.len());
        let mut end = 0_u64;
        for account in accounts {
            for (index, month) in calendar.months.iter().enumerate() {
                if index >= account.opens {
                    let growth = 1_000 + 8 * index as u64;
                    let season = u64::from(account.industry.season[month.of_year]) * month.part();
                    end += u64::from(account.size) * season * growth;
                }
                ends.push(end);
            }
        }
        Self { ends, months: calendar.months.len(), customers }
    }

    /// Returns a plan with the same weights for another number of customers.
    pub(super) fn scaled(self, customers: u64) -> Self {
        Self { customers, ..self }
    }

    /// Returns how many customers begin in a month of an account.
    pub(super) fn customers(&self, account: usize, month: usize) -> u64 {
        let cell = account * self.months + month;
        self.before(cell + 1) - self.before(cell)
    }

    /// Returns how many customers begin before a cell, which is one month of one account, in the order of `ends`.
    fn before(&self, cell: usize) -> u64 {
        let total = u128::from(self.ends.last().copied().unwrap_or(1)).max(1);
        let end = if cell == 0 { 0 } else { self.ends[cell - 1] };
        // At most `customers`, which is a u64.
        u64::try_from(u128::from(self.customers) * u128::from(end) / total).unwrap_or(u64::MAX)
    }
}

/// Customers per thousand who begin with a conversion; the others walk in.
pub(super) const LEADS_PER_MILLE: u32 = 960;

/// The share of each campaign in the leads of an account in one month. Customers are drawn from it, and spend is
/// computed from the leads that it predicts.
#[derive(Debug)]
pub(super) struct LeadMix {
    /// Share of leads that come through the main line, in thousandths.
    main_line: u32,
    /// Running sums of the weights of the campaigns that run in this month.
    ends: Vec<u32>,
}

impl LeadMix {
    pub(super) fn new(account: &Account, month: usize) -> Self {
        let mut end = 0;
        let ends = account
            .campaigns
            .iter()
            .map(|campaign| {
                if (campaign.opens..campaign.closes).contains(&month) {
                    end += campaign.weight;
                }
                end
            })
            .collect();
        Self { main_line: account.main_line, ends }
    }

    /// Draws the campaign of a lead.
    pub(super) fn draw(&self, dice: &mut Dice) -> usize {
        if dice.chance(self.main_line) { MAIN_LINE_INDEX } else { self.draw_other(dice) }
    }

    /// Draws the campaign of a lead that does not come through the main line.
    pub(super) fn draw_other(&self, dice: &mut Dice) -> usize {
        dice.weighted(&self.ends)
    }

    /// Returns the ad spend of a campaign in a month with `customers` new customers, in cents.
    pub(super) fn budget(&self, account: &Account, campaign: usize, customers: u64) -> u64 {
        let weight = self.ends[campaign] - if campaign == 0 { 0 } else { self.ends[campaign - 1] };
        let total = u128::from(self.ends.last().copied().unwrap_or(1).max(1));
        let cents = u128::from(customers)
            * u128::from(LEADS_PER_MILLE)
            * u128::from(1_000 - self.main_line)
            * u128::from(weight)
            * u128::from(account.campaigns[campaign].lead_cents)
            / (total * 1_000_000);
        u64::try_from(cents).unwrap_or(u64::MAX)
    }
}
