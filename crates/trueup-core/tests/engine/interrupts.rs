//! Checks what ends a query early: too many rows, a deadline, a cancellation.

use crate::run::{dataset, unfiltered};
use proptest::prelude::*;
use std::time::Duration;
use trueup_core::{Error, Execution, Interrupt, Interruption, QueryError};
use trueup_testkit::cases::case;

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn an_answer_may_have_max_rows_and_no_more((tables, request) in case()) {
        let dataset = dataset(&tables, 3);
        let Ok(query) = unfiltered(&request) else { return Ok(()) };
        let Ok(table) = dataset.query(&query) else { return Ok(()) };
        let within = |limit| dataset.run(&query, Execution { max_rows: Some(limit), ..Execution::default() });
        prop_assert_eq!(&within(table.len()).unwrap(), &table);
        if let Some(limit) = table.len().checked_sub(1) {
            let refused = within(limit);
            let names_limit = matches!(refused, Err(Error::Query(QueryError::TooManyRows { limit: max })) if max == limit);
            prop_assert!(names_limit);
        }
    }

    #[test]
    fn an_interrupted_query_is_not_answered((tables, request) in case()) {
        let dataset = dataset(&tables, 3);
        let Ok(query) = unfiltered(&request) else { return Ok(()) };
        if dataset.query(&query).is_err() {
            return Ok(());
        }
        let run = |interrupt| dataset.run(&query, Execution { interrupt, ..Execution::default() });
        prop_assert!(matches!(run(Interrupt::after(Duration::ZERO)), Err(Error::Interrupted(Interruption::Deadline))));
        let canceled = Interrupt::default();
        canceled.clone().cancel();
        prop_assert!(matches!(run(canceled), Err(Error::Interrupted(Interruption::Canceled))));
        prop_assert!(run(Interrupt::after(Duration::from_secs(3_600))).is_ok());
    }
}
