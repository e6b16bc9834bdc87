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

/// A published segment.
struct Published {
    dimensions: Vec<BenchmarkDimension>,
    segment: Vec<String>,
    /// What it sums of others.
    sum: Sum,
}

fn request(dimensions: &[BenchmarkDimension]) -> RandomRequest {
    let own = BTreeSet::from([key(CALLER)]);
    let selection = BenchmarkSelection::new([BenchmarkMetric::BookRate], dimensions.iter().copied());
    RandomRequest { selection, scope: own.clone(), reach: own, k: K, share: 25 }
}

/// Returns what is published of customers over the sets that `dimensions` contains.
fn published(platform: &Platform, dimensions: &[BenchmarkDimension]) -> Vec<Published> {
    let (dataset, data) = (platform.dataset(), platform.data());
    let parts = oracle::members(&dataset, &request(&BenchmarkDimension::ALL));
    let mut all = Vec::new();
    for bits in 0..1_usize << dimensions.len() {
        let set = dimensions.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1);
        let set: Vec<BenchmarkDimension> = set.map(|(_, dimension)| *dimension).collect();
        let request = request(&set);
        let members = oracle::members(&dataset, &request);
        for row in data.answer(&request.query()).iter().filter(|row| row.series == Series::Benchmark) {
            let segment: Vec<String> = row.dimensions.iter().map(|text| text.to_string()).collect();
            let pooled = oracle::pooled(&members[&segment], BenchmarkMetric::BookRate, K);
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
            all.push(Published { dimensions: set.clone(), segment, sum });
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// The total and the segments along one dimension determine no sum over fewer than `k` accounts of others.
    #[test]
    fn no_combination_along_one_dimension_concerns_few_accounts(platform in small_platform()) {
        for dimension in [BenchmarkDimension::AttributionChannel, BenchmarkDimension::CustomerStatus] {
            let sums: Vec<Sum> = published(&platform, &[dimension]).into_iter().map(|published| published.sum).collect();
            prop_assert_eq!(revealed(&sums), None, "along {}: {:?}", dimension, sums);
        }
    }

    /// Neither do a segment and those of its children that are published, whichever other dimension splits it.
    #[test]
    fn no_combination_of_a_segment_and_its_children_concerns_few_accounts(platform in small_platform()) {
        let dimensions = [BenchmarkDimension::AttributionChannel, BenchmarkDimension::CustomerStatus];
        let all = published(&platform, &dimensions);
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
    let all = published(&platform, &dimensions);
    let shown: Vec<String> = all.iter().map(|published| published.segment.join("/")).collect();
    assert_eq!(shown, ["", "Radio", "Search", "New", "VIP", "Search/New"]);
    let sums: Vec<Sum> = all.into_iter().map(|published| published.sum).collect();
    assert!(revealed(&sums).is_some_and(|accounts| accounts.contains(&key(1))));
}
