//! Random requests, valid and invalid.

use chrono::NaiveDate;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::filters::{FilterParameters, filters, invalid};
use super::pools::{self, ACCOUNTS, DIMENSIONS, SPAN};
use crate::oracle::{METRICS, Request, Tables};

/// A request whose days are offsets from a base, and whose accounts are not yet restricted to those of the tables.
#[derive(Clone, Debug)]
pub(super) struct RelativeRequest {
    fields: Vec<String>,
    /// Offset of the first day.
    start: i64,
    /// Number of days; negative for a range that ends before it starts.
    days: i64,
    interval: &'static str,
    /// For each of [`ACCOUNTS`], whether the request names it; `None` for all accounts.
    accounts: Option<Vec<bool>>,
    filters: FilterParameters,
}

/// Generates a request. Most requests are valid.
pub(super) fn request() -> impl Strategy<Value = RelativeRequest> {
    let start = prop_oneof![3 => Just(0), 2 => pools::offset(), 1 => -20..0_i64];
    let days = prop_oneof![3 => Just(SPAN), 2 => select(vec![1, 7, 31, 90]), 3 => 1..SPAN + 30, 1 => Just(400)];
    let interval = prop_oneof![4 => Just("total"), 2 => Just("month"), 2 => Just("week"), 1 => Just("day")];
    let accounts = prop_oneof![
        3 => Just(None),
        1 => proptest::collection::vec(any::<bool>(), ACCOUNTS.len()).prop_map(Some),
    ];
    (fields(), start, days, interval, accounts, filters()).prop_map(
        |(fields, start, days, interval, accounts, filters)| RelativeRequest {
            fields,
            start,
            days,
            interval,
            accounts,
            filters,
        },
    )
}

/// Generates a request with additional faults, mostly two or more.
pub(super) fn faulty() -> impl Strategy<Value = RelativeRequest> {
    let faults = prop_oneof![1 => subsequence(RequestFault::ALL.to_vec(), 1), 3 => subsequence(RequestFault::ALL.to_vec(), 2..=4)];
    (request(), faults, any::<prop::sample::Index>(), invalid()).prop_map(|(mut request, faults, place, invalid)| {
        for fault in faults {
            match fault {
                RequestFault::NoMetric => request.fields.retain(|name| !METRICS.contains(&name.as_str())),
                RequestFault::ReservedName => {
                    request.fields.insert(place.index(request.fields.len() + 1), "end".to_owned())
                }
                RequestFault::Reversed => request.days = -request.days,
                RequestFault::Filter => {
                    request.filters.0.extend(invalid.0.clone());
                    request.filters.1.extend(invalid.1.clone());
                }
            }
        }
        request
    })
}

/// A fault that a request is given.
#[derive(Clone, Copy, Debug)]
enum RequestFault {
    /// No field is a metric.
    NoMetric,
    /// A field is named `end`, which is the key of a sub-range's last day.
    ReservedName,
    /// The range ends before it starts.
    Reversed,
    /// A filter is invalid, or only looks so.
    Filter,
}

impl RequestFault {
    const ALL: [Self; 4] = [Self::NoMetric, Self::ReservedName, Self::Reversed, Self::Filter];
}

/// Generates metrics and dimensions in any order, some twice; sometimes no metric, or a reserved name.
fn fields() -> impl Strategy<Value = Vec<String>> {
    // Each metric is chosen independently, so that a failing case shrinks to the few metrics that matter.
    let most = proptest::collection::vec(proptest::bool::weighted(0.8), METRICS.len()).prop_map(|chosen| {
        let chosen = METRICS.into_iter().zip(chosen).filter(|(_, chosen)| *chosen);
        chosen.map(|(metric, _)| metric).collect::<Vec<_>>()
    });
    let metrics = prop_oneof![1 => subsequence(METRICS.to_vec(), 1..=4), 1 => most];
    let some = || DIMENSIONS.to_vec();
    let dimensions = prop_oneof![
        3 => Just(Vec::new()),
        4 => subsequence(some(), 1..=2),
        1 => subsequence(some(), 3..=6),
    ];
    // The usual dimensions are chosen more often than the others.
    let usual = prop_oneof![2 => Just(Vec::new()), 1 => subsequence(DIMENSIONS[..9].to_vec(), 1..=3)];
    let further = prop_oneof![
        20 => Just(Vec::new()),
        3 => subsequence(vec!["leads", "campaign", "total"], 1..=3),
        1 => Just(vec!["start"]),
    ];
    let valid = (metrics, dimensions, usual, further)
        .prop_map(|(metrics, dimensions, usual, further)| [metrics, dimensions, usual, further].concat())
        .prop_shuffle();
    let fields = prop_oneof![60 => valid, 1 => subsequence(some(), 0..=2)];
    fields.prop_map(|fields: Vec<&str>| fields.into_iter().map(str::to_owned).collect())
}

impl RelativeRequest {
    /// Returns the request. It names only accounts of the tables, and reads all accounts if it names none.
    pub(super) fn at(self, base: NaiveDate, tables: &Tables) -> Request {
        let known = tables.account_keys();
        let chosen = |chosen: Vec<bool>| {
            let named = ACCOUNTS.iter().zip(chosen).filter(|(key, chosen)| *chosen && known.contains(**key));
            let named: Vec<String> = named.map(|(key, _)| (*key).to_owned()).collect();
            if named.is_empty() { None } else { Some(named) }
        };
        let (filters, filter) = self.filters;
        Request {
            fields: self.fields,
            start: pools::day(base, self.start),
            end: pools::day(base, self.start + self.days - 1),
            interval: self.interval.to_owned(),
            accounts: self.accounts.and_then(chosen),
            filters,
            filter,
        }
    }
}
