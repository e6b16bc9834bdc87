//! Compares the engine with the naive oracle, byte for byte.

use crate::run::{dataset, run, same_refusal};
use chrono::NaiveDate;
use proptest::prelude::*;
use std::collections::BTreeMap;
use trueup_core::Execution;
use trueup_testkit::cases::{case, cohort_case, duration_case, faulty_case};
use trueup_testkit::exhaustive::cases;
use trueup_testkit::oracle::{Attribution, EventRow, Request, Tables, answer};

/// Checks that the engine and the oracle give the same answer, or refuse for the same reason.
fn agrees(tables: &Tables, request: &Request) -> Result<(), TestCaseError> {
    let engine = run(&dataset(tables, 7), request, Execution::default());
    match (engine, answer(tables, request)) {
        (Ok(found), Ok(expected)) => prop_assert_eq!(found, expected),
        (Err(engine), Err(oracle)) => prop_assert!(same_refusal(&engine, &oracle), "{:?} but {:?}", engine, oracle),
        (engine, oracle) => return Err(TestCaseError::fail(format!("engine {engine:?}, oracle {oracle:?}"))),
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(2_500))]

    #[test]
    fn the_engine_agrees_with_the_naive_oracle((tables, request) in case()) {
        agrees(&tables, &request)?;
    }
}

proptest! {
    #![proptest_config(cases(1_500))]

    #[test]
    fn cohorts_agree_with_the_naive_oracle((tables, request) in cohort_case()) {
        agrees(&tables, &request)?;
    }
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn days_between_stages_agree_with_the_naive_oracle((tables, request) in duration_case()) {
        agrees(&tables, &request)?;
    }
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn the_engine_and_the_oracle_report_the_same_fault((tables, request) in faulty_case()) {
        agrees(&tables, &request)?;
    }
}

/// The depth of a filter and the number of operands of a request, each at its limit and one beyond.
#[test]
fn the_engine_and_the_oracle_have_the_same_limits() {
    let nested = |levels: usize| format!("{}\"x\"{}", "[\"not\",".repeat(levels), "]".repeat(levels));
    let either = |count: usize| format!("[\"or\"{}]", ",\"x\"".repeat(count));
    let pairs = |count: usize| format!("[\"or\"{}]", ",[\"and\",\"x\",1]".repeat(count));
    let across = |text: String| format!("{{\"zip\":{text},\"agent\":\"x\"}}");
    let cases: [(&[String], Option<String>, bool); 16] = [
        (&[nested(31)], None, true),
        (&[nested(32)], None, false),
        (&[nested(31), nested(31)], None, true),
        (&[nested(31), nested(32)], None, false),
        (&[nested(31)], Some(across(nested(30))), true),
        (&[nested(31)], Some(across(nested(31))), false),
        (&[either(1_000)], None, true),
        (&[either(1_001)], None, false),
        (&[either(500), either(500)], None, true),
        (&[either(500), either(501)], None, false),
        (&[either(998)], Some(across("1".to_owned())), true),
        (&[either(999)], Some(across("1".to_owned())), false),
        (&[pairs(333), "x".to_owned()], None, true),
        (&[pairs(333), either(2)], None, false),
        (&[pairs(166), pairs(167)], Some("{\"zip\":1}".to_owned()), true),
        (&[pairs(166), pairs(167)], Some(across("1".to_owned())), false),
    ];
    for (campaigns, across, accepted) in cases {
        let request = Request {
            fields: vec!["leads".to_owned()],
            start: NaiveDate::default(),
            end: NaiveDate::default(),
            interval: "total".to_owned(),
            accounts: None,
            filters: campaigns.iter().map(|value| ("campaign".to_owned(), value.clone())).collect(),
            filter: across.into_iter().collect(),
            cohort: None,
            attribution: Attribution::Recorded,
        };
        assert_eq!(answer(&Tables::default(), &request).is_ok(), accepted, "{request:?}");
        agrees(&Tables::default(), &request).unwrap();
    }
}

/// Section 2: "`total`, absent first". An absent amount comes before one below 0, so that the latter is the last event.
#[test]
fn an_absent_amount_comes_first() {
    let event = |total| EventRow {
        account: "a".to_owned(),
        opportunity_id: "c".to_owned(),
        kind: "closed".to_owned(),
        date: Some(NaiveDate::default()),
        date_time: None,
        event_id: None,
        total,
        other: BTreeMap::new(),
    };
    let request = Request {
        fields: vec!["typeIsLast".to_owned(), "total".to_owned()],
        start: NaiveDate::default(),
        end: NaiveDate::default(),
        interval: "total".to_owned(),
        accounts: None,
        filters: Vec::new(),
        filter: Vec::new(),
        cohort: None,
        attribution: Attribution::Recorded,
    };
    for totals in [[None, Some(-5_000_000)], [Some(-5_000_000), None]] {
        let tables = Tables { events: totals.map(event).to_vec(), ..Tables::default() };
        let expected = r#"[{"typeIsLast":"false","total":0},{"typeIsLast":"true","total":-5}]"#;
        assert_eq!(answer(&tables, &request).unwrap(), expected);
        agrees(&tables, &request).unwrap();
    }
}
