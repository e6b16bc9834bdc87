//! Small random platforms, with many accounts and few events in each, and random requests for their benchmarks.

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use trueup_core::benchmarks::{
    BenchmarkData, BenchmarkDimension, BenchmarkMetric, BenchmarkQuery, BenchmarkSelection, Privacy,
};
use trueup_core::dataset::{Dataset, Tables};
use trueup_core::query::DateRange;
use trueup_core::{Day, Execution};

/// The values of the four dimensions, in their order. They are few, so that segments hold several accounts.
pub(crate) const VALUES: [&[&str]; 4] =
    [&["Advertising", ""], &["Search", "Social"], &["New", "Unmatched", ""], &["Repair", "Install"]];

const HISTORIES: [&[&str]; 9] = [
    &["lead-originated"],
    &["lead-originated", "booked"],
    &["lead-originated", "booked", "estimated"],
    &["lead-originated", "booked", "sold"],
    &["lead-originated", "booked", "sold", "closed"],
    &["lead-originated", "closed"],
    &["lead-originated", "booked", "canceled"],
    &["booked", "estimated", "canceled", "booked"],
    &["lead-originated", "estimated", "sold", "canceled", "lead-originated"],
];

#[derive(Clone, Debug, Default)]
pub(crate) struct Account {
    pub(crate) industry: Option<&'static str>,
    pub(crate) currency: Option<&'static str>,
    pub(crate) customers: Vec<Customer>,
    pub(crate) spend: Vec<Spend>,
}

#[derive(Clone, Debug)]
pub(crate) struct Customer {
    pub(crate) stages: &'static [&'static str],
    /// The day of the first event, counted from the first of the month; one event follows on each day.
    pub(crate) day: i32,
    /// The dimensions of all events but the last.
    pub(crate) values: [&'static str; 4],
    /// The dimensions of the last event.
    pub(crate) last_values: [&'static str; 4],
    pub(crate) total: String,
}

#[derive(Clone, Debug)]
pub(crate) struct Spend {
    pub(crate) day: i32,
    pub(crate) category: &'static str,
    pub(crate) channel: &'static str,
    pub(crate) amount: String,
}

/// Accounts; the account at index `i` has the key [`key(i)`](key).
#[derive(Clone, Debug)]
pub(crate) struct Platform(pub(crate) Vec<Account>);

pub(crate) fn key(number: usize) -> String {
    format!("a{number:02}")
}

/// Returns the month of all requests.
pub(crate) fn month() -> DateRange {
    DateRange { start: "2025-01-01".parse().unwrap(), end: "2025-01-31".parse().unwrap() }
}

fn date(day: i32) -> String {
    Day::from_number(u16::try_from(i32::from(month().start.number()) + day).unwrap()).to_string()
}

/// Returns the rows as a batch of texts.
fn batch<const N: usize>(names: [&str; N], rows: &[[String; N]]) -> RecordBatch {
    let column = |at: usize| Arc::new(StringArray::from_iter_values(rows.iter().map(|row| &row[at]))) as ArrayRef;
    RecordBatch::try_from_iter(names.into_iter().enumerate().map(|(at, name)| (name, column(at)))).unwrap()
}

impl Platform {
    pub(crate) fn dataset(&self) -> Dataset {
        let (mut events, mut spend, mut accounts) = (Vec::new(), Vec::new(), Vec::new());
        for (number, account) in self.0.iter().enumerate() {
            // What states nothing is not described.
            if account.industry.is_some() || account.currency.is_some() {
                let stated = |text: Option<&str>| text.unwrap_or_default().to_owned();
                accounts.push([key(number), stated(account.industry), stated(account.currency)]);
            }
            for (customer, Customer { stages, day, values, last_values, total }) in account.customers.iter().enumerate()
            {
                for (at, stage) in (0..).zip(*stages) {
                    let [category, channel, status, unit] = if at + 1 == stages.len() { last_values } else { values };
                    events.push(
                        [&key(number), &format!("c{customer}"), *stage, &date(day + i32::try_from(at).unwrap()), total]
                            .into_iter()
                            .chain([*category, *channel, *status, *unit])
                            .map(str::to_owned)
                            .collect::<Vec<_>>()
                            .try_into()
                            .unwrap(),
                    );
                }
            }
            let row = |spend: &Spend| {
                [&key(number), &date(spend.day), spend.category, spend.channel, &spend.amount].map(str::to_owned)
            };
            spend.extend(account.spend.iter().map(row));
        }
        let events = batch(
            [
                "account",
                "opportunityId",
                "type",
                "date",
                "total",
                "attributionCategory",
                "attributionChannel",
                "customerStatus",
                "normalizedBusinessUnit",
            ],
            &events,
        );
        let spend = batch(["account", "date", "attributionCategory", "attributionChannel", "adSpend"], &spend);
        Dataset::from_tables(&Tables {
            events: vec![events],
            spend: vec![spend],
            accounts: vec![batch(["account", "industry", "currency"], &accounts)],
            targets: Vec::new(),
            row_group_rows: 50,
        })
        .unwrap()
    }

    pub(crate) fn data(&self) -> BenchmarkData {
        BenchmarkData::gather(&self.dataset(), month(), &Execution::default()).unwrap()
    }
}

fn values() -> impl Strategy<Value = [&'static str; 4]> {
    VALUES.map(|values| prop_oneof![3 => Just(values[0]), 2 => proptest::sample::select(values)])
}

/// Generates amounts whose ratios have many digits. Few are negative.
fn amount() -> impl Strategy<Value = String> {
    prop_oneof![
        1 => Just("0"),
        8 => proptest::sample::select(vec!["100", "250.5", "333.333333", "90", "120.000001"]),
        1 => Just("-75.25"),
    ]
    .prop_map(str::to_owned)
}

fn customer() -> impl Strategy<Value = Customer> {
    let last_values = prop_oneof![3 => Just(None), 1 => values().prop_map(Some)];
    // Some customers begin before the month, or end after it.
    let day = prop_oneof![6 => 0..27_i32, 1 => -4..0_i32, 1 => 27..32_i32];
    (proptest::sample::select(&HISTORIES[..]), day, values(), last_values, amount()).prop_map(
        |(stages, day, values, last_values, total)| Customer {
            stages,
            day,
            values,
            last_values: last_values.unwrap_or(values),
            total,
        },
    )
}

fn spend() -> impl Strategy<Value = Spend> {
    (-2..33_i32, proptest::sample::select(VALUES[0]), proptest::sample::select(VALUES[1]), amount())
        .prop_map(|(day, category, channel, amount)| Spend { day, category, channel, amount })
}

pub(crate) fn account() -> impl Strategy<Value = Account> {
    let industry = prop_oneof![12 => Just(Some("plumbing")), 5 => Just(Some("heating")), 1 => Just(None)];
    let currency = prop_oneof![16 => Just(Some("USD")), 5 => Just(Some("CAD")), 1 => Just(None)];
    let customers = prop_oneof![1 => vec(customer(), 0..4), 5 => vec(customer(), 5..10)];
    (industry, currency, customers, vec(spend(), 0..3)).prop_map(|(industry, currency, customers, spend)| Account {
        industry,
        currency,
        customers,
        spend,
    })
}

/// Generates platforms. About half of them have one currency; the others are larger, so that each has enough accounts.
pub(crate) fn platform() -> impl Strategy<Value = Platform> {
    let of_one_currency = vec(account(), 18..45).prop_map(|mut accounts| {
        accounts.iter_mut().for_each(|account| account.currency = None);
        accounts
    });
    prop_oneof![1 => vec(account(), 0..8), 5 => of_one_currency, 4 => vec(account(), 30..60)].prop_map(Platform)
}

/// A random request that owns its parts.
#[derive(Clone, Debug)]
pub(crate) struct RandomRequest {
    pub(crate) selection: BenchmarkSelection,
    pub(crate) scope: BTreeSet<String>,
    pub(crate) reach: BTreeSet<String>,
    /// The number of accounts for [`Privacy::of_accounts`].
    pub(crate) k: usize,
    /// The percentage for [`Privacy::of_share`].
    pub(crate) share: u8,
}

impl RandomRequest {
    pub(crate) fn query(&self) -> BenchmarkQuery<'_> {
        BenchmarkQuery {
            selection: &self.selection,
            scope: &self.scope,
            reach: &self.reach,
            privacy: Privacy::of_accounts(self.k).of_share(self.share),
        }
    }
}

fn selection() -> impl Strategy<Value = BenchmarkSelection> {
    let metrics = prop_oneof![
        2 => Just(BenchmarkMetric::ALL.to_vec()),
        1 => proptest::sample::subsequence(BenchmarkMetric::ALL.to_vec(), 1..=3).prop_shuffle(),
    ];
    let dimensions = prop_oneof![
        2 => Just(Vec::new()),
        5 => proptest::sample::subsequence(BenchmarkDimension::ALL.to_vec(), 1..=2).prop_shuffle(),
        1 => Just(BenchmarkDimension::ALL.to_vec()).prop_shuffle(),
    ];
    let filter = (0..4_usize).prop_flat_map(|index| {
        let value = prop_oneof![12 => proptest::sample::select(VALUES[index]), 1 => Just("nowhere")];
        (Just(BenchmarkDimension::ALL[index]), value)
    });
    (metrics, dimensions, prop_oneof![3 => Just(Vec::new()), 1 => vec(filter, 1..=2)]).prop_map(
        |(metrics, dimensions, filters)| {
            let all = BenchmarkSelection::new(metrics, dimensions);
            filters.into_iter().fold(all, |selection, (dimension, value)| selection.filter(dimension, value))
        },
    )
}

/// Generates requests. Most of their accounts exist on the platform.
pub(crate) fn request() -> impl Strategy<Value = RandomRequest> {
    let scope = prop_oneof![1 => vec(0..45_usize, 0..=1), 11 => vec(0..12_usize, 1..=3)];
    let share = prop_oneof![5 => Just(25), 1 => Just(15)];
    (selection(), scope, vec(0..40_usize, 0..=4), 5..=8_usize, share).prop_map(|(selection, scope, reach, k, share)| {
        let scope: BTreeSet<String> = scope.into_iter().map(key).collect();
        let reach = scope.iter().cloned().chain(reach.into_iter().map(key)).collect();
        RandomRequest { selection, scope, reach, k, share }
    })
}
