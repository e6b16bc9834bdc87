//! Random small tables and requests, made to collide: same-day ties, range edges, cancellations out of turn, shared ids.
//!
//! Every table is valid input (section 1 of the semantics page); some requests are not, and must be refused.

mod accounts;
mod batches;
mod columns;
mod events;
mod expressions;
mod filters;
mod pools;
mod requests;
mod spend;
#[cfg(test)]
mod tests;
mod window;

pub use batches::{account_batches, event_batches, spend_batches};

use chrono::NaiveDate;
use proptest::prelude::*;

use crate::oracle::{Request, Tables};

/// Tables of at most 40 events and 12 spend rows, and a request that mostly touches them.
pub fn case() -> impl Strategy<Value = (Tables, Request)> {
    (window::base(), parts(), requests::request()).prop_map(|(base, parts, request)| {
        let tables = parts.at(base);
        let request = request.at(base, &tables);
        (tables, request)
    })
}

/// Tables and a request that is to be refused, mostly for two reasons or more; a few of its faults only look like some.
pub fn faulty_case() -> impl Strategy<Value = (Tables, Request)> {
    (window::base(), parts(), requests::faulty()).prop_map(|(base, parts, request)| {
        let tables = parts.at(base);
        let request = request.at(base, &tables);
        (tables, request)
    })
}

/// Tables alone, over the same days as those of [`case`].
pub fn tables() -> impl Strategy<Value = Tables> {
    (window::base(), parts()).prop_map(|(base, parts)| parts.at(base))
}

/// Tables whose days are still counted from a base.
#[derive(Clone, Debug)]
struct Parts {
    accounts: Vec<accounts::Account>,
    columns: Vec<bool>,
    events: Vec<events::Event>,
    spend: Vec<spend::Spend>,
}

fn parts() -> impl Strategy<Value = Parts> {
    let events = prop_oneof![
        1 => proptest::collection::vec(events::event(), 0..=3),
        6 => proptest::collection::vec(events::event(), 0..=40),
    ];
    let spend = prop_oneof![
        1 => proptest::collection::vec(spend::spend(), 0..=1),
        2 => proptest::collection::vec(spend::spend(), 0..=12),
    ];
    (accounts::accounts(), columns::present(), events, spend).prop_map(|(accounts, columns, events, spend)| Parts {
        accounts,
        columns,
        events,
        spend,
    })
}

impl Parts {
    fn at(self, base: NaiveDate) -> Tables {
        let accounts = accounts::rows(&self.accounts);
        let zones = Tables { accounts: accounts.clone(), ..Tables::default() };
        let count = self.accounts.len();
        Tables {
            events: self.events.into_iter().map(|event| event.at(base, count, &self.columns, &zones)).collect(),
            spend: self.spend.into_iter().map(|spend| spend.at(base, count)).collect(),
            accounts,
        }
    }
}
