//! The engine answers as the naive oracle does, byte for byte.

use crate::ask::{Refused, dataset, json, run};
use proptest::prelude::*;
use trueup_core::Execution;
use trueup_testkit::cases::case;
use trueup_testkit::oracle::{Refusal, Request, Tables, answer};

/// Whether both refuse for the same reason; which of two reasons comes first is the facade's to say.
fn same_refusal(engine: &Refused, oracle: &Refusal) -> bool {
    matches!(
        (engine, oracle),
        (Refused::Filter(_), Refusal::InvalidFilter(_))
            | (Refused::Metric(_), Refusal::MissingMetric)
            | (Refused::Fields(_), Refusal::InvalidFields(_))
            | (Refused::Interval(_), Refusal::UnknownInterval(_))
            | (Refused::Range(_), Refusal::InvalidRange)
    )
}

fn agrees(tables: &Tables, request: &Request) -> Result<(), TestCaseError> {
    let engine = run(&dataset(tables, 7), request, Execution::default());
    match (engine, answer(tables, request)) {
        (Ok(table), Ok(expected)) => prop_assert_eq!(json(&table), expected),
        (Err(engine), Err(oracle)) => prop_assert!(same_refusal(&engine, &oracle), "{:?} but {:?}", engine, oracle),
        (engine, oracle) => {
            return Err(TestCaseError::fail(format!(
                "engine {:?}, oracle {oracle:?}",
                engine.map(|table| json(&table))
            )));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_500, ..ProptestConfig::default() })]

    #[test]
    fn the_engine_agrees_with_the_naive_oracle((tables, request) in case()) {
        agrees(&tables, &request)?;
    }
}
