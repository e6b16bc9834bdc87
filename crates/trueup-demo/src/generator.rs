use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};

use super::account::Account;
use super::batches::Batches;
use super::calendar::DemoCalendar;
use super::customer_plan::CustomerPlan;
use super::dice::{Dice, DrawStream};
use super::event::EventRow;
use super::history::HistoryGenerator;
use super::names::CompanyNames;
use super::settings::{Settings, SettingsError};
use super::spend::SpendLedger;
use super::{account_table, event_table, spend_table};

/// Customers drawn beforehand to learn how many events a customer has, so that the events asked for come out.
const REHEARSED: u64 = 20_000;

/// Writes one synthetic data set, as often as asked, without ever holding more of it than a batch.
#[derive(Debug)]
pub struct Generator {
    settings: Settings,
    calendar: DemoCalendar,
    accounts: Vec<Account>,
    allotment: CustomerPlan,
}

impl Generator {
    /// Draws the accounts and their campaigns, and how many customers each account gains in each month.
    ///
    /// # Errors
    /// If a setting is outside its bounds.
    pub fn new(settings: Settings) -> Result<Self, SettingsError> {
        let calendar = DemoCalendar::new(&settings)?;
        let accounts = accounts(&settings, &calendar);
        let allotment = CustomerPlan::new(&accounts, &calendar, REHEARSED);
        let mut generator = Self { settings, calendar, accounts, allotment };
        let rehearsed = generator.rows(|account, month| DrawStream::Rehearsal { account, month }).count().max(1);
        let customers = u128::from(generator.settings.events) * u128::from(REHEARSED) / rehearsed as u128;
        let customers = u64::try_from(customers).unwrap_or(u64::MAX).max(1);
        generator.allotment = generator.allotment.scaled(customers);
        Ok(generator)
    }

    /// What it was made from.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The columns of [`Self::events`].
    #[must_use]
    pub fn event_schema(&self) -> SchemaRef {
        event_table::schema()
    }

    /// The columns of [`Self::spend`].
    #[must_use]
    pub fn spend_schema(&self) -> SchemaRef {
        spend_table::schema()
    }

    /// The event table in batches of [`Settings::batch_rows`]: account by account, each by the month in which a customer
    /// begins, and a customer's events together. Dates are those of the account's time zone, `dateTime` is UTC and null on
    /// some sales and invoices.
    ///
    /// # Errors
    /// A batch is an error only if arrow refuses its columns.
    pub fn events(&self) -> impl Iterator<Item = Result<RecordBatch, ArrowError>> + '_ {
        let rows = self.rows(|account, month| DrawStream::Customers { account, month });
        Batches::new(rows, self.settings.batch_rows, |rows| event_table::batch(rows, &self.accounts, &self.calendar))
    }

    /// The spend table in batches of [`Settings::batch_rows`], account by account and day by day. Rows with a campaign, rows
    /// with a channel alone, and management fees with or without a channel.
    ///
    /// # Errors
    /// A batch is an error only if arrow refuses its columns.
    pub fn spend(&self) -> impl Iterator<Item = Result<RecordBatch, ArrowError>> + '_ {
        let rows = self.accounts.iter().enumerate().flat_map(move |(index, account)| {
            let mut ledger = SpendLedger::new(account, index, &self.calendar, self.settings.seed);
            (0..self.calendar.months.len())
                .flat_map(move |month| ledger.month(month, self.allotment.customers(index, month)))
        });
        Batches::new(rows, self.settings.batch_rows, |rows| spend_table::batch(rows, &self.accounts))
    }

    /// The account table: key, name, industry, time zone and whether its leads are graded.
    ///
    /// # Errors
    /// Only if arrow refuses the columns.
    pub fn accounts(&self) -> Result<RecordBatch, ArrowError> {
        account_table::batch(&self.accounts)
    }

    /// All events, with the draws of a customer starting at the account's and month's own stream.
    fn rows(&self, stream: fn(usize, usize) -> DrawStream) -> impl Iterator<Item = EventRow> + '_ {
        self.accounts.iter().enumerate().flat_map(move |(index, account)| {
            (0..self.calendar.months.len()).flat_map(move |month| {
                let histories = HistoryGenerator::new(&self.calendar, account, index, month);
                let mut dice = Dice::new(self.settings.seed, stream(index, month));
                let customers = self.allotment.customers(index, month);
                (1..=customers).flat_map(move |number| histories.draw(&mut dice, number))
            })
        })
    }
}

fn accounts(settings: &Settings, calendar: &DemoCalendar) -> Vec<Account> {
    let mut names = Dice::new(settings.seed, DrawStream::Names);
    let mut register = CompanyNames::new(&mut names);
    let mut zones = HashMap::new();
    (0..usize::try_from(settings.accounts).unwrap_or(0))
        .map(|index| {
            let zone = Account::home(index).zone;
            let offsets = zones.entry(zone).or_insert_with(|| Arc::new(calendar.offsets(zone)));
            let mut dice = Dice::new(settings.seed, DrawStream::Account(index));
            Account::new(&mut dice, &mut register, index, calendar.months.len(), Arc::clone(offsets))
        })
        .collect()
}
