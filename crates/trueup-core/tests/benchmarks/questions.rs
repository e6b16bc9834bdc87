//! Random questions.

use crate::platform::{VALUES, key};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use std::collections::BTreeSet;
use trueup_core::benchmarks::{BenchmarkDimension, BenchmarkMetric, BenchmarkQuery, BenchmarkSelection, Privacy};

/// A question that owns what it is made of.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) selection: BenchmarkSelection,
    pub(crate) scope: BTreeSet<String>,
    pub(crate) reach: BTreeSet<String>,
    /// The `k` and the percentage that `privacy` is made of.
    pub(crate) k: usize,
    pub(crate) share: u8,
}

impl Asked {
    pub(crate) fn question(&self) -> BenchmarkQuery<'_> {
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
        1 => subsequence(BenchmarkMetric::ALL.to_vec(), 1..=3).prop_shuffle(),
    ];
    let dimensions = prop_oneof![
        2 => Just(Vec::new()),
        5 => subsequence(BenchmarkDimension::ALL.to_vec(), 1..=2).prop_shuffle(),
        1 => Just(BenchmarkDimension::ALL.to_vec()).prop_shuffle(),
    ];
    let filter = (0..4_usize).prop_flat_map(|place| {
        let value = prop_oneof![12 => select(VALUES[place]), 1 => Just("nowhere")];
        (Just(BenchmarkDimension::ALL[place]), value)
    });
    (metrics, dimensions, prop_oneof![3 => Just(Vec::new()), 1 => vec(filter, 1..=2)]).prop_map(
        |(metrics, dimensions, filters)| {
            let all = BenchmarkSelection::new(metrics, dimensions);
            filters.into_iter().fold(all, |selection, (dimension, value)| selection.filter(dimension, value))
        },
    )
}

/// Numbers are of accounts that the platform has, mostly.
pub(crate) fn asked() -> impl Strategy<Value = Asked> {
    let scope = prop_oneof![1 => vec(0..45_usize, 0..=1), 11 => vec(0..12_usize, 1..=3)];
    let share = prop_oneof![5 => Just(25), 1 => Just(15)];
    (selection(), scope, vec(0..40_usize, 0..=4), 5..=8_usize, share).prop_map(|(selection, scope, reach, k, share)| {
        let scope: BTreeSet<String> = scope.into_iter().map(key).collect();
        let reach = scope.iter().cloned().chain(reach.into_iter().map(key)).collect();
        Asked { selection, scope, reach, k, share }
    })
}
