//! Events in no order at all: stages, times and ids collide.

use chrono::NaiveDate;
use proptest::prelude::*;

use super::columns;
use super::pools::{ACCOUNTS, AMOUNTS, CUSTOMERS, EVENT_IDS, STAGES};
use super::window;
use crate::oracle::{Cell, EventRow, Tables, local_date};

/// How `date` is given beside a `dateTime`: it may be absent, or up to a day off.
#[derive(Clone, Copy, Debug)]
enum Shown {
    Local,
    Absent,
    DayAfter,
    DayBefore,
}

/// An event whose day is still counted from a base.
#[derive(Clone, Debug)]
pub(super) struct Event {
    account: usize,
    customer: &'static str,
    kind: &'static str,
    offset: i64,
    /// Microseconds after midnight UTC; `None`: only a date is known.
    time: Option<i64>,
    shown: Shown,
    event_id: Option<&'static str>,
    total: Option<i64>,
    cells: Vec<Cell>,
}

pub(super) fn event() -> impl Strategy<Value = Event> {
    let kind = prop_oneof![
        5 => Just(STAGES[0]),
        2 => Just(STAGES[1]),
        2 => Just(STAGES[2]),
        2 => Just(STAGES[3]),
        2 => Just(STAGES[4]),
        2 => Just(STAGES[5]),
    ];
    let shown = prop_oneof![
        3 => Just(Shown::Local),
        3 => Just(Shown::Absent),
        1 => Just(Shown::DayAfter),
        1 => Just(Shown::DayBefore),
    ];
    let event_id = prop_oneof![
        5 => Just(None),
        1 => Just(Some("")),
        4 => proptest::sample::select(&EVENT_IDS[..]).prop_map(Some),
    ];
    // Few customers, so that they have histories.
    let customer = prop_oneof![
        3 => Just(CUSTOMERS[0]),
        3 => proptest::sample::select(&CUSTOMERS[..3]),
        2 => proptest::sample::select(&CUSTOMERS[..]),
    ];
    let account = prop_oneof![2 => Just(0), 3 => 0..4_usize];
    (account, customer, kind, window::offset(), time(), shown, event_id, total(), columns::cells()).prop_map(
        |(account, customer, kind, offset, time, shown, event_id, total, cells)| Event {
            account,
            customer,
            kind,
            offset,
            time,
            shown,
            event_id,
            total,
            cells,
        },
    )
}

/// Times at the midnights of Chicago (UTC-6, UTC-5 in summer), Kolkata (UTC+5:30) and UTC.
fn time() -> impl Strategy<Value = Option<i64>> {
    let seconds = vec![0, 43_200, 86_399, 18_000, 17_999, 21_600, 21_599, 66_600, 66_599];
    let time = (proptest::sample::select(seconds), proptest::sample::select(vec![0, 1, 500_000, 999_999]));
    prop_oneof![
        1 => Just(None),
        2 => time.prop_map(|(seconds, fraction): (i64, i64)| Some(seconds * 1_000_000 + fraction)),
    ]
}

/// Null, one of the nasty amounts, or an ordinary one.
fn total() -> impl Strategy<Value = Option<i64>> {
    prop_oneof![
        2 => Just(None),
        2 => proptest::sample::select(&AMOUNTS[..]).prop_map(Some),
        2 => (0..5_000_i64).prop_map(|units| Some(units * 1_000_000)),
        1 => (-1_000_000_000..1_000_000_000_i64).prop_map(Some),
    ]
}

impl Event {
    /// The row, in one of the first `accounts` accounts, whose zones `zones` knows.
    pub(super) fn at(self, base: NaiveDate, accounts: usize, columns: &[bool], zones: &Tables) -> EventRow {
        let account = ACCOUNTS[self.account % accounts.clamp(1, ACCOUNTS.len())];
        let day = window::day(base, self.offset);
        let date_time = self.time.filter(|_| window::allows_times(base)).map(|time| window::midnight(day) + time);
        let local = date_time.and_then(|micros| local_date(micros, &zones.account(account).time_zone));
        let date = match (local, self.shown) {
            (None, _) => Some(day),
            (Some(_), Shown::Absent) => None,
            (Some(local), Shown::Local) => Some(local),
            (Some(local), Shown::DayAfter) => Some(window::neighbour(local, true)),
            (Some(local), Shown::DayBefore) => Some(window::neighbour(local, false)),
        };
        EventRow {
            account: account.to_owned(),
            opportunity_id: self.customer.to_owned(),
            kind: self.kind.to_owned(),
            date,
            date_time,
            event_id: self.event_id.map(str::to_owned),
            total: self.total,
            other: columns::row(columns, self.cells),
        }
    }
}
