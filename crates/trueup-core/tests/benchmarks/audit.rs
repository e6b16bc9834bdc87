//! What published figures determine, by linear algebra. A caller who subtracts the caller's own part knows, for each
//! published segment, one sum over the parts of accounts of others. Any figure that the caller can compute from these
//! sums is a linear combination of them, so exact Gaussian elimination decides whether one of them concerns only a few
//! accounts.

use crate::by_hand::plumber;
use crate::oracle;
use crate::platform::{Account, Customer, Platform, RandomRequest, key};
use num_bigint::BigInt;
use proptest::prelude::*;
use std::collections::BTreeSet;
use trueup_core::benchmarks::{BenchmarkDimension, BenchmarkMetric, BenchmarkSelection, Series};

/// The accounts that every sum of others must concern.
const K: usize = 5;

/// The caller's account.
const CALLER: usize = 0;

/// An account's part of a segment over all dimensions.
type Part = (String, Vec<String>);

/// One published sum, as a combination of parts.
type Sum = BTreeSet<Part>;

/// What a caller asks for: a metric of some accounts of the caller.
#[derive(Clone, Copy)]
struct Asked<'a> {
    metric: BenchmarkMetric,
    scope: &'a [usize],
    reach: &'a [usize],
}

const BOOK_RATE: Asked<'_> = Asked { metric: BenchmarkMetric::BookRate, scope: &[CALLER], reach: &[CALLER] };

/// A published segment.
struct Published {
    dimensions: Vec<BenchmarkDimension>,
    segment: Vec<String>,
    figure: f64,
    /// What it sums of others.
    sum: Sum,
}

fn request(asked: Asked<'_>, dimensions: &[BenchmarkDimension]) -> RandomRequest {
    let keys = |numbers: &[usize]| numbers.iter().copied().map(key).collect();
    let selection = BenchmarkSelection::new([asked.metric], dimensions.iter().copied());
    RandomRequest { selection, scope: keys(asked.scope), reach: keys(asked.reach), k: K, share: 25 }
}

/// Returns what is published over the sets that `dimensions` contains.
fn published(platform: &Platform, asked: Asked<'_>, dimensions: &[BenchmarkDimension]) -> Vec<Published> {
    let (dataset, data) = (platform.dataset(), platform.data());
    let parts = oracle::members(&dataset, &request(asked, &BenchmarkDimension::ALL));
    let mut all = Vec::new();
    for bits in 0..1_usize << dimensions.len() {
        let set = dimensions.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1);
        let set: Vec<BenchmarkDimension> = set.map(|(_, dimension)| *dimension).collect();
        let request = request(asked, &set);
        let members = oracle::members(&dataset, &request);
        for row in data.answer(&request.query()).iter().filter(|row| row.series == Series::Benchmark) {
            let segment: Vec<String> = row.dimensions.iter().map(|text| text.to_string()).collect();
            let pooled = oracle::pooled(&members[&segment], asked.metric, K);
            let others: BTreeSet<&String> =
                pooled.iter().filter(|(_, member)| member.is_other).map(|(key, _)| key).collect();
            let is_in = |texts: &[String]| {
                set.iter().zip(&segment).all(|(dimension, text)| {
                    texts[BenchmarkDimension::ALL.iter().position(|it| it == dimension).unwrap()] == *text
                })
            };
            let of_segment = parts.iter().filter(|(texts, _)| is_in(texts));
            let sum = of_segment.flat_map(|(texts, group)| {
                let of_others = group.iter().filter(|(key, member)| others.contains(key) && member.has_customers());
                of_others.map(|(key, _)| (key.clone(), texts.clone()))
            });
            let sum = sum.collect();
            all.push(Published { dimensions: set.clone(), segment, figure: row.metrics[0].unwrap(), sum });
        }
    }
    all
}

/// Returns the rank of a matrix, by elimination without fractions (Bareiss): all numbers stay integers, and every
/// division is exact.
fn rank(mut rows: Vec<Vec<BigInt>>) -> usize {
    let columns = rows.first().map_or(0, Vec::len);
    let (mut rank, mut divisor) = (0, BigInt::from(1));
    for column in 0..columns {
        let Some(pivot) = (rank..rows.len()).find(|row| rows[*row][column] != BigInt::ZERO) else { continue };
        rows.swap(rank, pivot);
        let (done, open) = rows.split_at_mut(rank + 1);
        let pivot = &done[rank];
        for row in open {
            let factor = row[column].clone();
            for (value, of_pivot) in row.iter_mut().zip(pivot) {
                *value = (&*value * &pivot[column] - of_pivot * &factor) / &divisor;
            }
        }
        divisor = pivot[column].clone();
        rank += 1;
    }
    rank
}

/// Returns fewer than [`K`] accounts, if a combination of the sums concerns only these. There is one if and only if
/// the rank of the sums shrinks when the parts of these accounts are left out.
fn revealed(sums: &[Sum]) -> Option<Vec<String>> {
    let parts: BTreeSet<&Part> = sums.iter().flatten().collect();
    let accounts: Vec<&String> =
        parts.iter().map(|(account, _)| account).collect::<BTreeSet<_>>().into_iter().collect();
    let matrix = |left_out: &[&String]| -> Vec<Vec<BigInt>> {
        let kept: Vec<&&Part> = parts.iter().filter(|(account, _)| !left_out.contains(&account)).collect();
        sums.iter().map(|sum| kept.iter().map(|part| BigInt::from(u8::from(sum.contains(**part)))).collect()).collect()
    };
    let whole = rank(matrix(&[]));
    // What concerns fewer accounts concerns some of these.
    let chosen = (0..1_usize << accounts.len()).filter(|bits| bits.count_ones() as usize == K - 1);
    let chosen = chosen.map(|bits| -> Vec<&String> {
        accounts.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1).map(|(_, account)| *account).collect()
    });
    chosen
        .into_iter()
        .find(|left_out| rank(matrix(left_out)) < whole)
        .map(|left_out| left_out.into_iter().cloned().collect())
}

/// Returns a customer of a channel and a status.
fn customer(channel: &'static str, status: &'static str) -> Customer {
    let values = ["Advertising", channel, status, "Repair"];
    Customer { stages: &["lead-originated", "booked"], day: 3, values, last_values: values, total: String::new() }
}

/// Returns an account with a number of customers of each channel and status.
fn account(customers: &[(&'static str, &'static str, usize)]) -> Account {
    let of_cells = customers.iter().flat_map(|(channel, status, number)| vec![customer(channel, status); *number]);
    Account { customers: of_cells.collect(), ..plumber(0, 0) }
}

const CHANNELS: [&str; 3] = ["Radio", "Search", "Social"];
const STATUSES: [&str; 3] = ["New", "Old", "VIP"];

/// Generates the caller and seven to nine others, most of which have customers of most channels and statuses.
fn small_platform() -> impl Strategy<Value = Platform> {
    let number = prop_oneof![2 => Just(0_usize), 3 => Just(2), 3 => Just(3)];
    let cells = proptest::collection::vec(number, CHANNELS.len() * STATUSES.len());
    proptest::collection::vec(cells, 8..=10).prop_map(|accounts| {
        let of_account = |numbers: &Vec<usize>| {
            let cells = CHANNELS.iter().flat_map(|channel| STATUSES.map(|status| (*channel, status)));
            account(
                &cells.zip(numbers).map(|((channel, status), number)| (channel, status, *number)).collect::<Vec<_>>(),
            )
        };
        Platform(accounts.iter().map(of_account).collect())
    })
}

/// The caller's accounts of two currencies.
const OWN: [usize; 2] = [0, 1];

/// What each paying customer of two currencies pays.
const TICKETS: [(&str, f64); 2] = [("USD", 500.0), ("CAD", 40_000.0)];

/// Returns accounts of one of the two currencies, each with a number of paying customers of each channel.
fn paying(currency: usize, accounts: &[Vec<usize>]) -> Vec<Account> {
    let (code, ticket) = TICKETS[currency];
    let of_account = |numbers: &Vec<usize>| {
        let cells: Vec<_> =
            CHANNELS.iter().zip(numbers).map(|(channel, number)| (*channel, STATUSES[0], *number)).collect();
        let mut account = Account { currency: Some(code), ..account(&cells) };
        for customer in &mut account.customers {
            (customer.stages, customer.total) = (&["lead-originated", "booked", "sold", "closed"], ticket.to_string());
        }
        account
    };
    accounts.iter().map(of_account).collect()
}

/// Returns a platform on which the first account of each currency is the caller's.
fn of_two_currencies([dollars, canadian]: [Vec<Vec<usize>>; 2]) -> Platform {
    let [mut all, mut others] = [paying(0, &dollars), paying(1, &canadian)];
    all.insert(1, others.remove(0));
    all.extend(others);
    Platform(all)
}

/// Generates the caller's accounts, and three to six others of each of two currencies.
fn platform_of_two_currencies() -> impl Strategy<Value = Platform> {
    let number = prop_oneof![1 => Just(0_usize), 3 => Just(2), 3 => Just(3)];
    let accounts = || proptest::collection::vec(proptest::collection::vec(number.clone(), CHANNELS.len()), 4..=7);
    [accounts(), accounts()].prop_map(of_two_currencies)
}

/// Returns what the caller learns of the average ticket by asking for the accounts of each currency, and for both.
fn tickets(platform: &Platform, dimensions: &[BenchmarkDimension]) -> Vec<Published> {
    let asked =
        [&OWN[..1], &OWN[1..], &OWN].map(|scope| Asked { metric: BenchmarkMetric::AvgTicket, scope, reach: &OWN });
    asked.into_iter().flat_map(|asked| published(platform, asked, dimensions)).collect()
}

/// Returns the currency of an account.
fn currency_of(platform: &Platform, account: &str) -> Option<&'static str> {
    let (_, found) = platform.0.iter().enumerate().find(|(number, _)| key(*number) == account).unwrap();
    found.currency
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// A figure of money is one of accounts of one currency, and the figures of both currencies together determine no
    /// sum over fewer than `k` accounts of others.
    #[test]
    fn no_combination_of_figures_of_two_currencies_concerns_few_accounts(platform in platform_of_two_currencies()) {
        let all = tickets(&platform, &[BenchmarkDimension::AttributionChannel]);
        for Published { figure, sum, .. } in &all {
            let of_sum: BTreeSet<_> = sum.iter().map(|(account, _)| currency_of(&platform, account)).collect();
            let expected = TICKETS.iter().filter(|(code, _)| of_sum.contains(&Some(*code))).map(|(_, ticket)| *ticket);
            prop_assert_eq!(vec![*figure], expected.collect::<Vec<_>>());
        }
        let sums: Vec<Sum> = all.into_iter().map(|published| published.sum).collect();
        prop_assert_eq!(revealed(&sums), None, "{:?}", sums);
    }
}

/// With a figure of all currencies, the figure of one of them would leave that of the few accounts of the other.
#[test]
fn a_figure_of_all_currencies_would_reveal_the_few_accounts_of_one() {
    let accounts = |others: usize| vec![vec![2, 3, 2]; 1 + others];
    let platform = of_two_currencies([accounts(6), accounts(3)]);
    let all = tickets(&platform, &[]);
    assert_eq!(all.iter().map(|published| published.figure).collect::<Vec<_>>(), [500.0]);
    let of_all = Asked { metric: BenchmarkMetric::BookRate, scope: &OWN, reach: &OWN };
    let [of_all] = <[Published; 1]>::try_from(published(&platform, of_all, &[])).ok().unwrap();
    let [of_one] = <[Published; 1]>::try_from(all).ok().unwrap();
    let few = [8, 9, 10].map(key);
    assert!(revealed(&[of_one.sum, of_all.sum]).is_some_and(|accounts| few.iter().all(|it| accounts.contains(it))));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// The total and the segments along one dimension determine no sum over fewer than `k` accounts of others.
    #[test]
    fn no_combination_along_one_dimension_concerns_few_accounts(platform in small_platform()) {
        for dimension in [BenchmarkDimension::AttributionChannel, BenchmarkDimension::CustomerStatus] {
            let sums: Vec<Sum> = published(&platform, BOOK_RATE, &[dimension]).into_iter().map(|published| published.sum).collect();
            prop_assert_eq!(revealed(&sums), None, "along {}: {:?}", dimension, sums);
        }
    }

    /// Neither do a segment and those of its children that are published, whichever other dimension splits it.
    #[test]
    fn no_combination_of_a_segment_and_its_children_concerns_few_accounts(platform in small_platform()) {
        let dimensions = [BenchmarkDimension::AttributionChannel, BenchmarkDimension::CustomerStatus];
        let all = published(&platform, BOOK_RATE, &dimensions);
        for parent in &all {
            for dimension in dimensions.iter().filter(|dimension| !parent.dimensions.contains(dimension)) {
                let is_child = |child: &&Published| {
                    child.dimensions.len() == parent.dimensions.len() + 1
                        && child.dimensions.contains(dimension)
                        && child.sum.is_subset(&parent.sum)
                };
                let children = all.iter().filter(is_child).map(|child| child.sum.clone());
                let sums: Vec<Sum> = [parent.sum.clone()].into_iter().chain(children).collect();
                prop_assert_eq!(revealed(&sums), None, "{:?} along {}", sums, dimension);
            }
        }
    }
}

/// The rule looks at each parent by itself. Where two dimensions withhold a segment, the rests along both may differ by
/// the few accounts that the rule protects, which `docs/compat.md` says. Here all have leads of two channels, and one
/// account alone has VIPs of the radio: VIPs minus the VIPs of search, which are search minus what is published of it.
#[test]
fn rests_along_two_dimensions_may_differ_by_few_accounts() {
    let of_account = |number: usize| {
        let alone = usize::from(number == 1) * 2;
        account(&[("Radio", "New", 3), ("Radio", "VIP", alone), ("Search", "New", 3), ("Search", "VIP", 3)])
    };
    let platform = Platform((0..9).map(of_account).collect());
    let dimensions = [BenchmarkDimension::AttributionChannel, BenchmarkDimension::CustomerStatus];
    let all = published(&platform, BOOK_RATE, &dimensions);
    let shown: Vec<String> = all.iter().map(|published| published.segment.join("/")).collect();
    assert_eq!(shown, ["", "Radio", "Search", "New", "VIP", "Search/New"]);
    let sums: Vec<Sum> = all.into_iter().map(|published| published.sum).collect();
    assert!(revealed(&sums).is_some_and(|accounts| accounts.contains(&key(1))));
}
