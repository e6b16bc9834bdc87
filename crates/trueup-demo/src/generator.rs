//! The generator: draws accounts, and streams the tables.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};

use super::account::Account;
use super::calendar::DemoCalendar;
use super::dice::{Dice, DrawStream};
use super::event::EventRow;
use super::history::HistoryGenerator;
use super::market::CompanyNames;
use super::plan::CustomerPlan;
use super::settings::{Settings, SettingsError};
use super::spend::SpendLedger;
use super::tables::{self, Batches};
use super::target;

/// Number of customers to draw in the rehearsal, which counts their events. The events per customer show how many
/// customers have about as many events as the settings ask for.
const REHEARSED_CUSTOMERS: u64 = 20_000;

/// A generator of one synthetic dataset. Each table can be generated any number of times; only one batch of rows is in
/// memory at a time.
#[derive(Debug)]
pub struct Generator {
    settings: Settings,
    calendar: DemoCalendar,
    accounts: Vec<Account>,
    plan: CustomerPlan,
}

impl Generator {
    /// Draws the accounts and their campaigns, and plans how many customers begin in each month of each account.
    ///
    /// # Errors
    /// If a setting is outside its bounds.
    pub fn new(settings: Settings) -> Result<Self, SettingsError> {
        let calendar = DemoCalendar::new(&settings)?;
        let accounts = accounts(&settings, &calendar);
        let plan = CustomerPlan::new(&accounts, &calendar, REHEARSED_CUSTOMERS);
        let mut generator = Self { settings, calendar, accounts, plan };
        let rehearsed =
            generator.rows(|_| true, |account, month| DrawStream::Rehearsal { account, month }).count().max(1);
        let customers = u128::from(generator.settings.events) * u128::from(REHEARSED_CUSTOMERS) / rehearsed as u128;
        let customers = u64::try_from(customers).unwrap_or(u64::MAX).max(1);
        generator.plan = generator.plan.scaled(customers);
        Ok(generator)
    }

    /// Returns the settings of the generator.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the schema of [`Self::events`].
    #[must_use]
    pub fn event_schema(&self) -> SchemaRef {
        tables::event_schema()
    }

    /// Returns the schema of [`Self::spend`].
    #[must_use]
    pub fn spend_schema(&self) -> SchemaRef {
        tables::spend_schema()
    }

    /// Generates the event table in batches of [`Settings::batch_rows`]. Rows are ordered by account, then by the month
    /// in which a customer begins; the events of a customer are consecutive. `date` is in the account's time zone;
    /// `dateTime` is in UTC, and null on some sales and invoices.
    ///
    /// # Errors
    /// A batch is an error only if Arrow refuses its columns.
    pub fn events(&self) -> impl Iterator<Item = Result<RecordBatch, ArrowError>> + '_ {
        self.events_of(|_| true)
    }

    /// Generates the rows of [`Self::events`] of some accounts: `has_account` returns true for their keys.
    ///
    /// # Errors
    /// As [`Self::events`].
    pub fn events_of<'a>(
        &'a self,
        has_account: impl Fn(&str) -> bool + 'a,
    ) -> impl Iterator<Item = Result<RecordBatch, ArrowError>> + 'a {
        let rows = self.rows(has_account, |account, month| DrawStream::Customers { account, month });
        Batches::new(rows, self.settings.batch_rows, |rows| tables::event_batch(rows, &self.accounts, &self.calendar))
    }

    /// Generates the spend table in batches of [`Settings::batch_rows`], ordered by account, then by day. Some rows
    /// have a campaign, some only a channel; management fees have a channel or none.
    ///
    /// # Errors
    /// A batch is an error only if Arrow refuses its columns.
    pub fn spend(&self) -> impl Iterator<Item = Result<RecordBatch, ArrowError>> + '_ {
        let rows = self.accounts.iter().enumerate().flat_map(move |(index, account)| {
            let mut ledger = SpendLedger::new(account, index, &self.calendar, self.settings.seed);
            (0..self.calendar.months.len())
                .flat_map(move |month| ledger.month(month, self.plan.customers(index, month)))
        });
        Batches::new(rows, self.settings.batch_rows, |rows| tables::spend_batch(rows, &self.accounts))
    }

    /// Generates the account table: key, name, industry, time zone, and whether leads are graded.
    ///
    /// # Errors
    /// Only if Arrow refuses the columns.
    pub fn accounts(&self) -> Result<RecordBatch, ArrowError> {
        tables::account_batch(&self.accounts)
    }

    /// Generates the table of targets: leads, spend and book rate of each account and month.
    ///
    /// # Errors
    /// Only if Arrow refuses the columns.
    pub fn targets(&self) -> Result<RecordBatch, ArrowError> {
        let rows: Vec<_> = target::targets(&self.accounts, &self.calendar, &self.plan).collect();
        tables::target_batch(&rows, &self.accounts, &self.calendar)
    }

    /// Draws the events of some accounts. `stream` returns the stream of random numbers for an account and a month,
    /// both by index.
    fn rows<'a>(
        &'a self,
        has_account: impl Fn(&str) -> bool + 'a,
        stream: fn(usize, usize) -> DrawStream,
    ) -> impl Iterator<Item = EventRow> + 'a {
        let accounts = self.accounts.iter().enumerate().filter(move |(_, account)| has_account(&account.key));
        accounts.flat_map(move |(index, account)| {
            (0..self.calendar.months.len()).flat_map(move |month| {
                let histories = HistoryGenerator::new(&self.calendar, account, index, month);
                let mut dice = Dice::new(self.settings.seed, stream(index, month));
                let customers = self.plan.customers(index, month);
                (1..=customers).flat_map(move |number| histories.draw(&mut dice, number))
            })
        })
    }
}

fn accounts(settings: &Settings, calendar: &DemoCalendar) -> Vec<Account> {
    let mut names = Dice::new(settings.seed, DrawStream::Names);
    let mut companies = CompanyNames::new(&mut names);
    let mut zones = HashMap::new();
    (0..usize::try_from(settings.accounts).unwrap_or(0))
        .map(|index| {
            let zone = Account::home(index).zone;
            let offsets = zones.entry(zone).or_insert_with(|| Arc::new(calendar.offsets(zone)));
            let mut dice = Dice::new(settings.seed, DrawStream::Account(index));
            Account::new(&mut dice, &mut companies, index, calendar.months.len(), Arc::clone(offsets))
        })
        .collect()
}
