//! Many customers in one part of a table: what is found once for all that have the same history, or the same cut out of one, is right for each.

use crate::ask::{dataset, json, run};
use chrono::{Days, NaiveDate};
use proptest::prelude::*;
use std::collections::BTreeMap;
use trueup_core::Execution;
use trueup_core::dictionary::{self, Kind};
use trueup_testkit::oracle::{Cell, EventRow, Request, Tables, answer};

const STAGES: [&str; 6] = ["lead-originated", "booked", "estimated", "sold", "closed", "canceled"];

/// The days that events have.
const DAYS: u64 = 12;

fn day(offset: u64) -> NaiveDate {
    NaiveDate::from_ymd_opt(2026, 3, 25).unwrap() + Days::new(offset)
}

/// The stage, the day and the campaign of each event of a customer: of some customers more than have a shape, and of more customers than
/// there are numbers for shapes.
fn customers() -> impl Strategy<Value = Vec<Vec<(usize, u64, u64)>>> {
    let event = (0..STAGES.len(), 0..DAYS, 0..3_u64);
    let likely = (prop_oneof![3 => Just(0_usize), 2 => Just(1), 1 => Just(5)], 0..DAYS, 0..3_u64);
    let any = prop::collection::vec(event, 1..6);
    let long = prop::collection::vec(likely.clone(), 5..12);
    let short = prop::collection::vec(likely, 1..4);
    prop::collection::vec(prop_oneof![3 => any, 3 => long, 2 => short], 450..600)
}

fn tables(customers: &[Vec<(usize, u64, u64)>]) -> Tables {
    let mut events = Vec::new();
    for (number, history) in customers.iter().enumerate() {
        for (stage, offset, campaign) in history {
            // Of every other customer all events have one campaign.
            let campaign = if number % 2 == 0 { 0 } else { *campaign };
            let other = [("campaign", format!("{campaign}")), ("attributionChannel", format!("{}", number % 3))];
            events.push(EventRow {
                account: "acme".to_owned(),
                opportunity_id: format!("{number:04}"),
                kind: STAGES[*stage].to_owned(),
                date: Some(day(*offset)),
                date_time: None,
                event_id: None,
                total: Some(i64::try_from(number).unwrap() * 10_000),
                other: other
                    .map(|(name, text)| (name.to_owned(), Cell::Text(text)))
                    .into_iter()
                    .collect::<BTreeMap<_, _>>(),
            });
        }
    }
    Tables { events, ..Tables::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn every_customer_counts_for_what_it_is(customers in customers(), first in 0..DAYS / 2, last in DAYS / 2..DAYS) {
        let tables = tables(&customers);
        let dataset = dataset(&tables, 65_536);
        let metrics = dictionary::fields().filter(|field| matches!(field.kind, Kind::Metric(_)));
        let metrics: Vec<&str> = metrics.map(|field| field.name).collect();
        for (interval, dimensions) in [
            ("total", &[][..]),
            ("total", &["attributionChannel"]),
            ("total", &["campaign", "adjustedType"]),
            ("week", &["attributionChannel"]),
            ("week", &["campaign"]),
            ("day", &[]),
            ("day", &["typeIsLast"]),
        ] {
            let fields = dimensions.iter().chain(&metrics).map(|name| (*name).to_owned()).collect();
            let request = Request {
                fields,
                start: day(first),
                end: day(last),
                interval: interval.to_owned(),
                accounts: None,
                filters: Vec::new(),
                filter: Vec::new(),
            };
            let found = run(&dataset, &request, Execution::default()).map(|table| json(&table));
            prop_assert_eq!(found.ok(), answer(&tables, &request).ok(), "{} {:?}", interval, dimensions);
        }
    }
}
