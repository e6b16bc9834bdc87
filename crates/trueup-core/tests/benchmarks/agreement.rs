//! Gathered figures answer as the accounts do one by one.

use crate::oracle;
use crate::platform::{Platform, platform};
use crate::questions::{Asked, asked};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use trueup_core::benchmarks::{BenchmarkRow, Series};

pub(crate) fn lines(rows: &[BenchmarkRow]) -> Vec<String> {
    let line =
        |row: &BenchmarkRow| format!("{} {} {:?} {:?}", row.series, row.cohort_accounts, row.dimensions, row.metrics);
    rows.iter().map(line).collect()
}

fn answer(platform: &Platform, asked: &Asked) -> Vec<BenchmarkRow> {
    platform.figures().answer(&asked.question())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn benchmarks_agree_with_the_oracle(platform in platform(), asked in asked()) {
        let dataset = platform.dataset();
        prop_assert_eq!(lines(&answer(&platform, &asked)), oracle::answer(&dataset, &asked));
    }
}

/// Random platforms would show nothing if they were too small, and hide nothing if they were too even.
#[test]
fn random_questions_have_answers_and_gaps() {
    let mut runner = TestRunner::deterministic();
    let (mut nothing, mut shown, mut withheld, mut segments) = (0, 0, 0, 0);
    for _ in 0..300 {
        let (platform, asked) = (platform(), asked()).new_tree(&mut runner).unwrap().current();
        let rows = answer(&platform, &asked);
        nothing += usize::from(rows.is_empty());
        let pooled: Vec<&BenchmarkRow> = rows.iter().filter(|row| row.series == Series::Benchmark).collect();
        segments += usize::from(pooled.len() > 1);
        shown += pooled.iter().flat_map(|row| &row.metrics).filter(|metric| metric.is_some()).count();
        withheld += pooled.iter().flat_map(|row| &row.metrics).filter(|metric| metric.is_none()).count();
    }
    assert!((30..180).contains(&nothing), "{nothing} without answer");
    assert!(
        shown > 300 && withheld > 150 && segments > 30,
        "{shown} shown, {withheld} withheld, {segments} of several"
    );
}
