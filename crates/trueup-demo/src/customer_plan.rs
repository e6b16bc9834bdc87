use super::account::Account;
use super::calendar::DemoCalendar;

/// How many customers begin in each month of each account: in proportion to the account's size, its trade's season and a
/// growth over the months, in whole numbers that add up.
#[derive(Debug)]
pub(super) struct CustomerPlan {
    /// Running sums of the weights, account by account and month by month.
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
                    end += u64::from(account.size) * u64::from(account.industry.season[month.of_year]) * growth;
                }
                ends.push(end);
            }
        }
        Self { ends, months: calendar.months.len(), customers }
    }

    /// The same weights for another number of customers.
    pub(super) fn scaled(self, customers: u64) -> Self {
        Self { customers, ..self }
    }

    /// The customers that begin in a month of an account.
    pub(super) fn customers(&self, account: usize, month: usize) -> u64 {
        let cell = account * self.months + month;
        self.before(cell + 1) - self.before(cell)
    }

    fn before(&self, cell: usize) -> u64 {
        let total = u128::from(self.ends.last().copied().unwrap_or(1)).max(1);
        let end = if cell == 0 { 0 } else { self.ends[cell - 1] };
        // At most the number of customers, which is a u64.
        u64::try_from(u128::from(self.customers) * u128::from(end) / total).unwrap_or(u64::MAX)
    }
}
