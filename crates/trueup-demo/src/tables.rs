//! Record batches of the event, spend and account tables.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow_array::builder::{Decimal128Builder, StringBuilder};
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};

use super::account::Account;
use super::calendar::DemoCalendar;
use super::campaign::{Channel, WALK_IN};
use super::event::{EventRow, Stage};
use super::spend::SpendRow;
use super::target::TargetRow;

/// An iterator that collects rows into record batches of `size` rows; the last batch may be smaller. Holds the rows of
/// one batch.
#[derive(Debug)]
pub(super) struct Batches<I, F> {
    rows: I,
    size: usize,
    build: F,
}

impl<I, F> Batches<I, F>
where
    I: Iterator,
    F: Fn(&[I::Item]) -> Result<RecordBatch, ArrowError>,
{
    pub(super) fn new(rows: I, size: usize, build: F) -> Self {
        Self { rows, size, build }
    }
}

impl<I, F> Iterator for Batches<I, F>
where
    I: Iterator,
    F: Fn(&[I::Item]) -> Result<RecordBatch, ArrowError>,
{
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rows: Vec<I::Item> = self.rows.by_ref().take(self.size).collect();
        (!rows.is_empty()).then(|| (self.build)(&rows))
    }
}

/// The type of money columns: exact millionths of a currency unit.
const MONEY: DataType = DataType::Decimal128(19, 6);

/// Builds a money column from amounts in cents.
fn money_column(cents: impl ExactSizeIterator<Item = Option<u64>>) -> ArrayRef {
    let mut column = Decimal128Builder::with_capacity(cents.len()).with_data_type(MONEY);
    column.extend(cents.map(|cents| cents.map(|cents| i128::from(cents) * 10_000)));
    Arc::new(column.finish())
}

/// Reads the value of a text column from an event.
type TextReader = for<'a> fn(&'a EventRow, &'a Account) -> Option<&'a str>;

/// The dimensions of the event table, in the order of its columns.
const DIMENSIONS: [(&str, TextReader); 22] = [
    ("attributionCategory", |row, account| Some(credited(row, account).category)),
    ("attributionChannel", |row, account| Some(credited(row, account).name)),
    ("attributionDetail", |row, account| non_empty(&account.campaigns[row.customer.campaign?].detail)),
    ("campaign", |row, account| Some(&account.campaigns[row.customer.campaign?].name)),
    ("conversionAttribution", |row, account| Some(converted(row, account)?.path)),
    ("conversionCategory", |row, account| Some(converted(row, account)?.category)),
    ("conversionChannel", |row, account| Some(converted(row, account)?.name)),
    ("conversionCampaign", |row, account| Some(&account.campaigns[row.event.conversion?.campaign].name)),
    ("conversionType", |row, _| Some(row.event.conversion?.kind)),
    ("source", |row, account| Some(credited(row, account).source)),
    ("customerStatus", |row, _| Some(if row.event.returning { "Existing" } else { row.customer.status })),
    ("businessUnit", |row, account| on_job(row).then(|| account.industry.units[row.customer.unit].0)),
    ("normalizedBusinessUnit", |row, account| on_job(row).then(|| account.industry.units[row.customer.unit].1)),
    ("opportunityAgent", |row, account| Some(&account.agents[row.customer.agent])),
    ("technician", |row, account| on_site(row).then(|| account.technicians[row.customer.technician].as_str())),
    ("zip", |row, account| Some(&account.zips[row.customer.zip?])),
    ("opportunitySource", |row, _| Some(row.customer.source)),
    ("opportunityType", |row, _| row.customer.contact),
    ("jobType", |row, _| on_job(row).then_some(row.customer.job)),
    ("conversionReasonUnbookable", |row, _| row.event.conversion?.grade?.reason),
    ("conversionDetailedLabel", |row, _| Some(row.event.conversion?.grade?.label)),
    ("conversionIntent", |row, _| Some(row.event.conversion?.grade?.intent)),
];

/// Returns the schema of the event table.
pub(super) fn event_schema() -> SchemaRef {
    let mut fields = vec![
        Field::new("account", DataType::Utf8, false),
        Field::new("opportunityId", DataType::Utf8, false),
        Field::new("type", DataType::Utf8, false),
        Field::new("dateTime", DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), true),
        Field::new("date", DataType::Date32, false),
        Field::new("eventId", DataType::Utf8, false),
        Field::new("total", MONEY, true),
    ];
    fields.extend(DIMENSIONS.iter().map(|(name, _)| Field::new(*name, DataType::Utf8, true)));
    Arc::new(Schema::new(fields))
}

/// Builds a record batch of events.
pub(super) fn event_batch(
    rows: &[EventRow],
    accounts: &[Account],
    calendar: &DemoCalendar,
) -> Result<RecordBatch, ArrowError> {
    let (opportunities, events) = ids(rows, calendar);
    let mut columns: Vec<ArrayRef> = vec![
        text_column(rows, accounts, |_, account| Some(&account.key)),
        opportunities,
        text_column(rows, accounts, |row, _| Some(row.event.stage.name())),
        Arc::new(
            rows.iter()
                .map(|row| date_time(row, &accounts[row.customer.account], calendar))
                .collect::<TimestampMicrosecondArray>()
                .with_timezone("UTC"),
        ),
        Arc::new(Date32Array::from_iter_values(rows.iter().map(|row| row.event.at.day))),
        events,
        money_column(rows.iter().map(|row| row.event.cents)),
    ];
    columns.extend(DIMENSIONS.iter().map(|(_, read)| text_column(rows, accounts, *read)));
    RecordBatch::try_new(event_schema(), columns)
}

fn text_column(rows: &[EventRow], accounts: &[Account], read: TextReader) -> ArrayRef {
    let mut column = StringBuilder::with_capacity(rows.len(), rows.len() * 12);
    for row in rows {
        column.append_option(read(row, &accounts[row.customer.account]));
    }
    Arc::new(column.finish())
}

/// Builds the columns `opportunityId` and `eventId`. Customers are numbered within the month in which they begin,
/// events within their customer.
fn ids(rows: &[EventRow], calendar: &DemoCalendar) -> (ArrayRef, ArrayRef) {
    let mut opportunities = StringBuilder::with_capacity(rows.len(), rows.len() * 12);
    let mut events = StringBuilder::with_capacity(rows.len(), rows.len() * 14);
    let mut id = String::new();
    for row in rows {
        id.clear();
        // Writing to a string cannot fail.
        let _ = write!(id, "{}-{:06}", calendar.months[row.customer.month].label, row.customer.number);
        opportunities.append_value(&id);
        let _ = write!(id, "-{}", row.nth + 1);
        events.append_value(&id);
    }
    (Arc::new(opportunities.finish()), Arc::new(events.finish()))
}

/// Returns microseconds since 1970-01-01 UTC; `None` for sales and invoices of an account whose software records only
/// dates.
fn date_time(row: &EventRow, account: &Account, calendar: &DemoCalendar) -> Option<i64> {
    let at = row.event.at;
    if account.dates_only && matches!(row.event.stage, Stage::Sold | Stage::Closed) {
        return None;
    }
    let offset = account.offsets.get(usize::try_from(at.day - calendar.first).ok()?)?;
    Some((i64::from(at.day) * 86_400 + i64::from(at.second) - offset) * 1_000_000)
}

/// Returns the channel that is credited with the customer.
fn credited(row: &EventRow, account: &Account) -> &'static Channel {
    row.customer.campaign.map_or(&WALK_IN, |campaign| account.campaigns[campaign].channel)
}

/// Returns the channel of the conversion; `None` if the event is not a conversion.
fn converted(row: &EventRow, account: &Account) -> Option<&'static Channel> {
    Some(account.campaigns[row.event.conversion?.campaign].channel)
}

/// Returns whether the event belongs to a job, as all events except conversions do.
fn on_job(row: &EventRow) -> bool {
    row.event.stage != Stage::LeadOriginated
}

/// Returns whether the event has a stage that only follows the visit of a technician.
fn on_site(row: &EventRow) -> bool {
    matches!(row.event.stage, Stage::Estimated | Stage::Sold | Stage::Closed)
}

fn non_empty(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

/// Returns the schema of the spend table.
pub(super) fn spend_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("account", DataType::Utf8, false),
        Field::new("date", DataType::Date32, false),
        Field::new("attributionCategory", DataType::Utf8, true),
        Field::new("attributionChannel", DataType::Utf8, true),
        Field::new("campaign", DataType::Utf8, true),
        Field::new("adSpend", MONEY, true),
        Field::new("managementFee", MONEY, true),
        Field::new("clicks", DataType::Int64, true),
        Field::new("impressions", DataType::Int64, true),
    ]))
}

/// Builds a record batch of spend.
pub(super) fn spend_batch(rows: &[SpendRow], accounts: &[Account]) -> Result<RecordBatch, ArrowError> {
    let campaign = |row: &SpendRow| Some(&accounts[row.account].campaigns[row.campaign?]);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(rows.iter().map(|row| &accounts[row.account].key))),
        Arc::new(Date32Array::from_iter_values(rows.iter().map(|row| row.day))),
        Arc::new(rows.iter().map(|row| Some(campaign(row)?.channel.category)).collect::<StringArray>()),
        Arc::new(rows.iter().map(|row| Some(campaign(row)?.channel.name)).collect::<StringArray>()),
        Arc::new(
            rows.iter()
                .map(|row| campaign(row).filter(|_| row.attributed).map(|campaign| &campaign.name))
                .collect::<StringArray>(),
        ),
        money_column(rows.iter().map(|row| row.ad_cents)),
        money_column(rows.iter().map(|row| row.fee_cents)),
        Arc::new(rows.iter().map(|row| row.clicks).collect::<Int64Array>()),
        Arc::new(rows.iter().map(|row| row.impressions).collect::<Int64Array>()),
    ];
    RecordBatch::try_new(spend_schema(), columns)
}

/// Builds the table of targets.
pub(super) fn target_batch(
    rows: &[TargetRow],
    accounts: &[Account],
    calendar: &DemoCalendar,
) -> Result<RecordBatch, ArrowError> {
    let months = rows.iter().map(|row| calendar.months[row.month].first);
    let columns: [(&str, ArrayRef, bool); 4] = [
        ("account", Arc::new(StringArray::from_iter_values(rows.iter().map(|row| &accounts[row.account].key))), false),
        ("month", Arc::new(Date32Array::from_iter_values(months)), false),
        ("metric", Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.metric))), false),
        ("value", money_column(rows.iter().map(|row| Some(row.hundredths))), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns)
}

/// Builds the account table, one row per account.
pub(super) fn account_batch(accounts: &[Account]) -> Result<RecordBatch, ArrowError> {
    let text =
        |read: fn(&Account) -> &str| -> ArrayRef { Arc::new(StringArray::from_iter_values(accounts.iter().map(read))) };
    let gradings: BooleanArray = accounts.iter().map(|account| Some(account.lead_grading)).collect();
    let gradings: ArrayRef = Arc::new(gradings);
    RecordBatch::try_from_iter_with_nullable([
        ("account", text(|account| &account.key), false),
        ("accountName", text(|account| &account.name), false),
        ("industry", text(|account| account.industry.name), false),
        ("timeZone", text(|account| account.city.zone), false),
        ("leadGrading", gradings, false),
    ])
}
