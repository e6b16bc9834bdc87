use super::account::Account;
use super::campaign::MAIN;
use super::dice::Dice;

/// Customers out of a thousand who begin with a conversion; the others walk in.
pub(super) const LEADS: u32 = 960;

/// From which campaigns an account's leads come in one month. Events draw from it, and spend is what it leads to expect.
#[derive(Debug)]
pub(super) struct LeadMix {
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

    /// The campaign of a lead.
    pub(super) fn draw(&self, dice: &mut Dice) -> usize {
        if dice.chance(self.main_line) { MAIN } else { self.draw_other(dice) }
    }

    /// The campaign of a lead that does not come by the main line.
    pub(super) fn draw_other(&self, dice: &mut Dice) -> usize {
        dice.weighted(&self.ends)
    }

    /// What a month with that many new customers costs in a campaign, in cents.
    pub(super) fn budget(&self, account: &Account, campaign: usize, customers: u64) -> u64 {
        let weight = self.ends[campaign] - if campaign == 0 { 0 } else { self.ends[campaign - 1] };
        let total = u128::from(self.ends.last().copied().unwrap_or(1).max(1));
        let cents = u128::from(customers)
            * u128::from(LEADS)
            * u128::from(1_000 - self.main_line)
            * u128::from(weight)
            * u128::from(account.campaigns[campaign].lead_cents)
            / (total * 1_000_000);
        u64::try_from(cents).unwrap_or(u64::MAX)
    }
}
