use std::cell::Cell as Counter;

use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

use super::case;
use crate::oracle::{Refusal, answer};

/// Most cases have rows, few are refused, and every refusal is an intended one.
#[test]
fn most_cases_have_an_answer_with_rows() {
    let (refused, empty, full) = (Counter::new(0), Counter::new(0), Counter::new(0));
    let config = ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let outcome = runner.run(&case(), |(tables, request)| {
        let count = match answer(&tables, &request) {
            Ok(text) if text == "[]" => &empty,
            Ok(text) => {
                let rows: Result<Vec<serde_json::Map<String, serde_json::Value>>, _> = serde_json::from_str(&text);
                prop_assert!(rows.is_ok(), "{text}");
                &full
            }
            Err(Refusal::UnknownInterval(_) | Refusal::InvalidRange) => return Err(TestCaseError::fail("range")),
            Err(_) => &refused,
        };
        count.set(count.get() + 1);
        Ok(())
    });
    outcome.unwrap();
    assert!(full.get() > 300, "{full:?} full, {empty:?} empty, {refused:?} refused");
    assert!(refused.get() < 150, "{full:?} full, {empty:?} empty, {refused:?} refused");
}
