//! Random rows of the three tables. Their days are offsets from a base, so that cases can be moved in the calendar.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use proptest::prelude::*;

use super::pools::{
    self, ACCOUNTS, AGENTS, AMOUNTS, CAMPAIGNS, CATEGORIES, CHANNELS, CUSTOMERS, EVENT_IDS, LABELS, STAGES, STATUSES,
    TEXTS, value,
};
use crate::oracle::{AccountRow, Cell, EventRow, SpendRow, Tables, local_date};

/// An account, and whether the account table lists it.
#[derive(Clone, Debug)]
pub(super) struct RandomAccount {
    listed: bool,
    name: Option<&'static str>,
    industry: Option<&'static str>,
    zone: &'static str,
    lead_grading: bool,
    currency: Option<&'static str>,
}

/// Generates one to four accounts. The account table may lack some of them.
pub(super) fn accounts() -> impl Strategy<Value = Vec<RandomAccount>> {
    let name = prop_oneof![Just(None), Just(Some("")), Just(Some("Same name")), Just(Some("Bø & Söhne"))];
    let industry = prop_oneof![Just(None), Just(Some("plumbing"))];
    let zone = prop_oneof![
        2 => Just("UTC"),
        3 => Just("America/Chicago"),
        2 => Just("Asia/Kolkata"),
        1 => Just("Pacific/Auckland"),
    ];
    let currency = prop_oneof![2 => Just(None), 3 => Just(Some("USD")), 1 => Just(Some("CAD")), 1 => Just(Some(""))];
    let account = (proptest::bool::weighted(0.8), name, industry, zone, any::<bool>(), currency);
    let account = account.prop_map(|(listed, name, industry, zone, lead_grading, currency)| RandomAccount {
        listed,
        name,
        industry,
        zone,
        lead_grading,
        currency,
    });
    proptest::collection::vec(account, 1..=4)
}

/// Returns the account table.
pub(super) fn account_rows(accounts: &[RandomAccount]) -> Vec<AccountRow> {
    let listed = accounts.iter().zip(ACCOUNTS).filter(|(account, _)| account.listed);
    let row = |(account, key): (&RandomAccount, &str)| AccountRow {
        account: key.to_owned(),
        account_name: account.name.map(str::to_owned),
        industry: account.industry.map(str::to_owned),
        time_zone: account.zone.to_owned(),
        lead_grading: account.lead_grading,
        currency: account.currency.map(str::to_owned),
    };
    listed.map(row).collect()
}

/// The further columns of the event table, in the order of [`cells`]. Ingest ignores the last two, because their names
/// are those of a computed field and of a metric.
const COLUMNS: [&str; 18] = [
    "campaign",
    "attributionCategory",
    "attributionChannel",
    "attributionSource",
    "customerStatus",
    "opportunityAgent",
    "conversionDetailedLabel",
    "opportunityIntent",
    "Campaign",
    "zip",
    "my column|$[0]",
    "größe",
    "flag",
    "jobs",
    "visit",
    "seen",
    "adjustedType",
    "leads",
];

/// Generates which of [`COLUMNS`] a table has.
pub(super) fn present_columns() -> impl Strategy<Value = Vec<bool>> {
    let usual = proptest::collection::vec(proptest::bool::weighted(0.8), 8);
    let further = proptest::collection::vec(proptest::bool::weighted(0.3), 8);
    let ignored = proptest::collection::vec(proptest::bool::weighted(0.05), 2);
    (usual, further, ignored).prop_map(|(usual, further, ignored)| [usual, further, ignored].concat())
}

/// The usual first day of a case, 2025-01-20, in days since 1970-01-01.
const USUAL_DAY: i64 = 20_108;

/// Returns a generator of cells for each of [`COLUMNS`]. Dates and points in time are near the days of most cases.
fn cells() -> Vec<BoxedStrategy<Cell>> {
    let integers = vec![0, 10, -3, i64::MAX, i64::MIN];
    let floats = vec![0.0, -0.0, 0.1, 10.0, 1e21, 5e-324, 0.1 + 0.2, 123_456_789.125, -1e-7];
    vec![
        text(&CAMPAIGNS),
        text(&CATEGORIES),
        text(&CHANNELS),
        text(&CATEGORIES),
        text(&STATUSES),
        text(&AGENTS),
        text(&LABELS),
        text(&TEXTS),
        text(&CAMPAIGNS),
        text(&TEXTS),
        text(&TEXTS),
        or_null(proptest::sample::select(floats).prop_map(Cell::Float)),
        or_null(any::<bool>().prop_map(Cell::Bool)),
        or_null(proptest::sample::select(integers).prop_map(Cell::Integer)),
        or_null(pools::offset().prop_map(|offset| Cell::Date(pools::day(NaiveDate::default(), USUAL_DAY + offset)))),
        or_null(
            (pools::offset(), fraction())
                .prop_map(|(days, fraction)| Cell::Timestamp((USUAL_DAY + days) * 86_400_000_000 + fraction)),
        ),
        text(&TEXTS),
        or_null((0..3_i64).prop_map(Cell::Integer)),
    ]
}

/// Generates microseconds after midnight: 0, whole seconds, and fractions with and without trailing zeros.
fn fraction() -> impl Strategy<Value = i64> {
    proptest::sample::select(vec![0, 1, 120_000, 1_000_000, 86_399_999_999])
}

/// Returns the cells of the present columns, by name.
fn present_cells(present: &[bool], cells: Vec<Cell>) -> BTreeMap<String, Cell> {
    let named = COLUMNS.iter().zip(present).zip(cells);
    named.filter(|((_, present), _)| **present).map(|((name, _), cell)| ((*name).to_owned(), cell)).collect()
}

fn text(pool: &'static [&'static str]) -> BoxedStrategy<Cell> {
    or_null(value(pool).prop_map(|text| Cell::Text(text.to_owned())))
}

fn or_null(cell: impl Strategy<Value = Cell> + 'static) -> BoxedStrategy<Cell> {
    prop_oneof![1 => Just(Cell::Null), 4 => cell].boxed()
}

/// The `date` of an event with a `dateTime`: the local date of the `dateTime`, none, or a day after or before.
#[derive(Clone, Copy, Debug)]
enum GivenDate {
    Local,
    Absent,
    DayAfter,
    DayBefore,
}

/// An event whose day is an offset from a base.
#[derive(Clone, Debug)]
pub(super) struct RelativeEvent {
    account: usize,
    customer: &'static str,
    kind: &'static str,
    offset: i64,
    /// Microseconds after midnight UTC; `None` if only the date is known.
    time: Option<i64>,
    given_date: GivenDate,
    event_id: Option<&'static str>,
    total: Option<i64>,
    cells: Vec<Cell>,
}

/// Generates an event. Stages, times and ids are drawn from few values and in no order, so that events collide.
pub(super) fn event() -> impl Strategy<Value = RelativeEvent> {
    let kind = prop_oneof![
        5 => Just(STAGES[0]),
        2 => Just(STAGES[1]),
        2 => Just(STAGES[2]),
        2 => Just(STAGES[3]),
        2 => Just(STAGES[4]),
        2 => Just(STAGES[5]),
    ];
    let given_date = prop_oneof![
        3 => Just(GivenDate::Local),
        3 => Just(GivenDate::Absent),
        1 => Just(GivenDate::DayAfter),
        1 => Just(GivenDate::DayBefore),
    ];
    let event_id = prop_oneof![
        5 => Just(None),
        1 => Just(Some("")),
        4 => proptest::sample::select(&EVENT_IDS[..]).prop_map(Some),
    ];
    // Few customers, so that they have histories of several events.
    let customer = prop_oneof![
        3 => Just(CUSTOMERS[0]),
        3 => proptest::sample::select(&CUSTOMERS[..3]),
        2 => proptest::sample::select(&CUSTOMERS[..]),
    ];
    let account = prop_oneof![2 => Just(0), 3 => 0..4_usize];
    (account, customer, kind, pools::offset(), time(), given_date, event_id, total(), cells()).prop_map(
        |(account, customer, kind, offset, time, given_date, event_id, total, cells)| RelativeEvent {
            account,
            customer,
            kind,
            offset,
            time,
            given_date,
            event_id,
            total,
            cells,
        },
    )
}

/// Generates no time, or one near midnight in Chicago (UTC-6, UTC-5 in summer), Kolkata (UTC+5:30), Auckland (UTC+12
/// from April 6) or UTC, in microseconds after midnight UTC.
fn time() -> impl Strategy<Value = Option<i64>> {
    let seconds = vec![0, 43_200, 86_399, 18_000, 17_999, 21_600, 21_599, 66_600, 66_599];
    let time = (proptest::sample::select(seconds), proptest::sample::select(vec![0, 1, 500_000, 999_999]));
    prop_oneof![
        1 => Just(None),
        2 => time.prop_map(|(seconds, fraction): (i64, i64)| Some(seconds * 1_000_000 + fraction)),
    ]
}

/// Generates null, extreme amounts, and ordinary ones.
fn total() -> impl Strategy<Value = Option<i64>> {
    prop_oneof![
        2 => Just(None),
        2 => proptest::sample::select(&AMOUNTS[..]).prop_map(Some),
        2 => (0..5_000_i64).prop_map(|units| Some(units * 1_000_000)),
        1 => (-1_000_000_000..1_000_000_000_i64).prop_map(Some),
    ]
}

impl RelativeEvent {
    /// Returns the row, in one of the first `accounts` accounts and with the further columns for which `columns` is
    /// true. `zones` has the account table, for the time zones.
    pub(super) fn at(self, base: NaiveDate, accounts: usize, columns: &[bool], zones: &Tables) -> EventRow {
        let account = ACCOUNTS[self.account % accounts.clamp(1, ACCOUNTS.len())];
        let day = pools::day(base, self.offset);
        let date_time = self.time.filter(|_| pools::allows_times(base)).map(|time| pools::midnight(day) + time);
        let local = date_time.and_then(|micros| local_date(micros, &zones.account(account).time_zone));
        let date = match (local, self.given_date) {
            (None, _) => Some(day),
            (Some(_), GivenDate::Absent) => None,
            (Some(local), GivenDate::Local) => Some(local),
            (Some(local), GivenDate::DayAfter) => Some(pools::neighbor(local, true)),
            (Some(local), GivenDate::DayBefore) => Some(pools::neighbor(local, false)),
        };
        EventRow {
            account: account.to_owned(),
            opportunity_id: self.customer.to_owned(),
            kind: self.kind.to_owned(),
            date,
            date_time,
            event_id: self.event_id.map(str::to_owned),
            total: self.total,
            other: present_cells(columns, self.cells),
        }
    }
}

/// A spend row whose day is an offset from a base.
#[derive(Clone, Debug)]
pub(super) struct RelativeSpend {
    account: usize,
    offset: i64,
    category: Option<&'static str>,
    channel: Option<&'static str>,
    campaign: Option<&'static str>,
    ad_spend: Option<i64>,
    management_fee: Option<i64>,
    clicks: Option<u64>,
    impressions: Option<u64>,
}

/// Generates a spend row of an account with or without events, or of the account that has only spend.
pub(super) fn spend() -> impl Strategy<Value = RelativeSpend> {
    let account = prop_oneof![4 => 0..4_usize, 1 => Just(ACCOUNTS.len() - 1)];
    let counts = || {
        prop_oneof![
            2 => Just(None),
            1 => Just(Some(0)),
            3 => (1..1_000_u64).prop_map(Some),
            1 => Just(Some(9_007_199_254_740_993)),
        ]
    };
    let names = (name(&CATEGORIES), name(&CHANNELS), name(&CAMPAIGNS));
    (account, pools::offset(), names, spend_amount(), spend_amount(), counts(), counts()).prop_map(
        |(account, offset, (category, channel, campaign), ad_spend, management_fee, clicks, impressions)| {
            RelativeSpend {
                account,
                offset,
                category,
                channel,
                campaign,
                ad_spend,
                management_fee,
                clicks,
                impressions,
            }
        },
    )
}

fn name(pool: &'static [&'static str]) -> impl Strategy<Value = Option<&'static str>> {
    prop_oneof![1 => Just(None), 3 => value(pool).prop_map(Some)]
}

/// Generates null, zero, ordinary amounts, negative ones that cancel them out, and extreme ones.
fn spend_amount() -> impl Strategy<Value = Option<i64>> {
    prop_oneof![
        2 => Just(None),
        1 => Just(Some(0)),
        3 => proptest::sample::select(vec![10_000_000, -10_000_000, 33_333_333]).prop_map(Some),
        2 => (0..500_i64).prop_map(|units| Some(units * 1_000_000)),
        1 => proptest::sample::select(&AMOUNTS[..]).prop_map(Some),
    ]
}

impl RelativeSpend {
    /// Returns the row, in one of the first `accounts` accounts or in the one that only spend has.
    pub(super) fn at(self, base: NaiveDate, accounts: usize) -> SpendRow {
        let spend_only = ACCOUNTS.len() - 1;
        let account =
            if self.account == spend_only { spend_only } else { self.account % accounts.clamp(1, spend_only) };
        SpendRow {
            account: ACCOUNTS[account].to_owned(),
            date: pools::day(base, self.offset),
            attribution_category: self.category.map(str::to_owned),
            attribution_channel: self.channel.map(str::to_owned),
            campaign: self.campaign.map(str::to_owned),
            ad_spend: self.ad_spend,
            management_fee: self.management_fee,
            clicks: self.clicks,
            impressions: self.impressions,
        }
    }
}
