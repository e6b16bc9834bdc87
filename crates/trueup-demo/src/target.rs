//! The targets of accounts: what the plan expects of a whole month, and a little more.

use super::account::Account;
use super::calendar::DemoCalendar;
use super::plan::{CustomerPlan, LEADS_PER_MILLE, LeadMix};

/// A row of the table of targets.
#[derive(Debug, Clone, Copy)]
pub(super) struct TargetRow {
    /// Index of the account.
    pub(super) account: usize,
    /// Index of the month.
    pub(super) month: usize,
    pub(super) metric: &'static str,
    /// The value, in hundredths.
    pub(super) hundredths: u64,
}

/// The target of every book rate, in hundredths: the same for all accounts, so that they have one together.
const BOOK_RATE: u64 = 35;

/// Returns the targets of the months in which an account has customers: leads to a multiple of five, spend to a
/// hundred, and the book rate.
pub(super) fn targets(
    accounts: &[Account],
    calendar: &DemoCalendar,
    plan: &CustomerPlan,
) -> impl Iterator<Item = TargetRow> {
    accounts.iter().enumerate().flat_map(move |(index, account)| {
        calendar.months.iter().enumerate().flat_map(move |(month, days)| {
            let customers = plan.customers(index, month) * 1_000 / days.part().max(1);
            let mix = LeadMix::new(account, month);
            let budget: u64 =
                (0..account.campaigns.len()).map(|campaign| mix.budget(account, campaign, customers)).sum();
            let leads = (customers * u64::from(LEADS_PER_MILLE) * 105).div_ceil(100_000).next_multiple_of(5);
            // With management fees.
            let spend = (budget * 13 / 10).next_multiple_of(10_000);
            let rows = [("leads", leads * 100), ("spend", spend), ("bookRate", BOOK_RATE)];
            let rows = rows.into_iter().filter(move |(_, hundredths)| customers > 0 && *hundredths > 0);
            rows.map(move |(metric, hundredths)| TargetRow { account: index, month, metric, hundredths })
        })
    })
}
