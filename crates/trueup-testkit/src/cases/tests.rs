use std::cell::Cell as Counter;

use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

use super::{account_batches, case, event_batches, spend_batches};
use crate::oracle::{Cell, Refusal, Request, answer, local_date};

/// Section 1: "`date` and `dateTime` more than a day apart" are refused, and so are amounts beyond 9e12 currency units.
#[test]
fn tables_are_valid_input() {
    proptest!(ProptestConfig::with_cases(100), |((tables, _) in case())| {
        for event in &tables.events {
            prop_assert!(event.date.is_some() || event.date_time.is_some());
            prop_assert!(event.total.is_none_or(|micros| micros.unsigned_abs() <= 9_000_000_000_000_000_000));
            let zone = tables.account(&event.account).time_zone;
            let local = event.date_time.map(|micros| local_date(micros, &zone).unwrap());
            if let (Some(date), Some(local)) = (event.date, local) {
                prop_assert!(date.signed_duration_since(local).num_days().abs() <= 1);
            }
        }
    });
}

#[test]
fn batches_have_one_row_per_table_row() {
    proptest!(ProptestConfig::with_cases(100), |((tables, _) in case())| {
        let rows = |batches: Vec<arrow_array::RecordBatch>| batches.iter().map(|batch| batch.num_rows()).sum::<usize>();
        prop_assert_eq!(rows(event_batches(&tables)), tables.events.len());
        prop_assert_eq!(rows(spend_batches(&tables)), tables.spend.len());
        prop_assert_eq!(rows(account_batches(&tables)), tables.accounts.len());
        for (name, column) in event_batches(&tables)[0].schema().fields().iter().zip(event_batches(&tables)[0].columns()) {
            let nulls = tables.events.iter().filter(|event| matches!(event.other.get(name.name()), Some(Cell::Null)));
            if tables.events.iter().any(|event| event.other.contains_key(name.name())) {
                prop_assert_eq!(column.null_count(), nulls.count());
            }
        }
    });
}

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

/// Section 2: the order of a history is total, so the order of the input matters only for events with the same id.
#[test]
fn the_order_of_rows_does_not_matter_without_ids() {
    proptest!(|((mut tables, request) in case())| {
        for event in &mut tables.events {
            event.event_id = None;
        }
        let forwards = answer(&tables, &request);
        tables.events.reverse();
        tables.spend.reverse();
        tables.accounts.reverse();
        prop_assert_eq!(forwards, answer(&tables, &request));
    });
}

/// Section 3: "Each sub-range is computed as if it alone had been asked."
#[test]
fn a_sub_range_has_the_same_rows_when_requested_alone() {
    proptest!(|((tables, mut request) in case())| {
        request.interval = "month".to_owned();
        if let Ok(whole) = answer(&tables, &request) {
            let mut parts = Vec::new();
            let days: Vec<_> = request.start.iter_days().take_while(|day| *day <= request.end).collect();
            for month in days.chunk_by(|a, b| a.format("%Y-%m").to_string() == b.format("%Y-%m").to_string()) {
                let alone = Request { start: month[0], end: month[month.len() - 1], ..request.clone() };
                let text = answer(&tables, &alone).unwrap();
                parts.push(text.trim_start_matches('[').trim_end_matches(']').to_owned());
            }
            parts.retain(|part| !part.is_empty());
            prop_assert_eq!(whole, format!("[{}]", parts.join(",")));
        }
    });
}
