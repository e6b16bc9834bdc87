use std::fmt::Write as _;
use std::sync::Arc;

use arrow_array::builder::{Decimal128Builder, StringBuilder};
use arrow_array::{ArrayRef, Date32Array, RecordBatch, TimestampMicrosecondArray};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};

use super::account::Account;
use super::calendar::DemoCalendar;
use super::channel::{Channel, WALK_IN};
use super::event::{EventRow, Stage};
use super::money;

/// How a text column is read off a row.
type Text = for<'a> fn(&'a EventRow, &'a Account) -> Option<&'a str>;

/// The columns that are dimensions, in the order of the table.
const DIMENSIONS: [(&str, Text); 21] = [
    ("attributionCategory", |row, account| Some(credited(row, account).category)),
    ("attributionChannel", |row, account| Some(credited(row, account).name)),
    ("attributionDetail", |row, account| filled(&account.campaigns[row.customer.campaign?].detail)),
    ("campaign", |row, account| Some(&account.campaigns[row.customer.campaign?].name)),
    ("conversionAttribution", |row, account| Some(converted(row, account)?.path)),
    ("conversionCategory", |row, account| Some(converted(row, account)?.category)),
    ("conversionChannel", |row, account| Some(converted(row, account)?.name)),
    ("conversionCampaign", |row, account| Some(&account.campaigns[row.event.conversion?.campaign].name)),
    ("conversionType", |row, _| Some(row.event.conversion?.kind)),
    ("source", |row, account| Some(credited(row, account).source)),
    ("customerStatus", |row, _| Some(if row.event.returning { "Existing Customer" } else { row.customer.status })),
    ("businessUnit", |row, account| on_job(row).then(|| account.industry.units[row.customer.unit].0)),
    ("normalizedBusinessUnit", |row, account| on_job(row).then(|| account.industry.units[row.customer.unit].1)),
    ("opportunityAgent", |row, account| Some(&account.agents[row.customer.agent])),
    ("technician", |row, account| on_site(row).then(|| account.technicians[row.customer.technician].as_str())),
    ("zip", |row, account| Some(&account.zips[row.customer.zip?])),
    ("opportunitySource", |row, _| Some(row.customer.source)),
    ("opportunityType", |row, _| on_job(row).then_some(row.customer.kind)),
    ("conversionReasonUnbookable", |row, _| row.event.conversion?.grade?.reason),
    ("conversionDetailedLabel", |row, _| Some(row.event.conversion?.grade?.label)),
    ("conversionIntent", |row, _| Some(row.event.conversion?.grade?.intent)),
];

/// The columns of the event table.
pub(super) fn schema() -> SchemaRef {
    let mut fields = vec![
        Field::new("account", DataType::Utf8, false),
        Field::new("opportunityId", DataType::Utf8, false),
        Field::new("type", DataType::Utf8, false),
        Field::new("dateTime", DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), true),
        Field::new("date", DataType::Date32, false),
        Field::new("eventId", DataType::Utf8, false),
        Field::new("total", money::TYPE, true),
    ];
    fields.extend(DIMENSIONS.iter().map(|(name, _)| Field::new(*name, DataType::Utf8, true)));
    Arc::new(Schema::new(fields))
}

/// Spells rows out as a record batch.
pub(super) fn batch(
    rows: &[EventRow],
    accounts: &[Account],
    calendar: &DemoCalendar,
) -> Result<RecordBatch, ArrowError> {
    let (opportunities, events) = ids(rows, calendar);
    let mut total = Decimal128Builder::with_capacity(rows.len()).with_data_type(money::TYPE);
    total.extend(rows.iter().map(|row| row.event.cents.map(money::micros)));
    let mut columns: Vec<ArrayRef> = vec![
        text(rows, accounts, |_, account| Some(&account.key)),
        opportunities,
        text(rows, accounts, |row, _| Some(row.event.stage.name())),
        Arc::new(
            rows.iter()
                .map(|row| date_time(row, &accounts[row.customer.account], calendar))
                .collect::<TimestampMicrosecondArray>()
                .with_timezone("UTC"),
        ),
        Arc::new(Date32Array::from_iter_values(rows.iter().map(|row| row.event.at.day))),
        events,
        Arc::new(total.finish()),
    ];
    columns.extend(DIMENSIONS.iter().map(|(_, read)| text(rows, accounts, *read)));
    RecordBatch::try_new(schema(), columns)
}

fn text(rows: &[EventRow], accounts: &[Account], read: Text) -> ArrayRef {
    let mut column = StringBuilder::with_capacity(rows.len(), rows.len() * 12);
    for row in rows {
        column.append_option(read(row, &accounts[row.customer.account]));
    }
    Arc::new(column.finish())
}

/// Customers are numbered within the month in which they begin, events within their customer.
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

/// Microseconds since 1970 in UTC; nothing where the account's job software knows the date only.
fn date_time(row: &EventRow, account: &Account, calendar: &DemoCalendar) -> Option<i64> {
    let at = row.event.at;
    if account.dates_only && matches!(row.event.stage, Stage::Sold | Stage::Closed) {
        return None;
    }
    let offset = account.offsets.get(usize::try_from(at.day - calendar.first).ok()?)?;
    Some((i64::from(at.day) * 86_400 + i64::from(at.second) - offset) * 1_000_000)
}

fn credited(row: &EventRow, account: &Account) -> &'static Channel {
    row.customer.campaign.map_or(&WALK_IN, |campaign| account.campaigns[campaign].channel)
}

fn converted(row: &EventRow, account: &Account) -> Option<&'static Channel> {
    Some(account.campaigns[row.event.conversion?.campaign].channel)
}

fn on_job(row: &EventRow) -> bool {
    row.event.stage != Stage::LeadOriginated
}

fn on_site(row: &EventRow) -> bool {
    matches!(row.event.stage, Stage::Estimated | Stage::Sold | Stage::Closed)
}

fn filled(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}
