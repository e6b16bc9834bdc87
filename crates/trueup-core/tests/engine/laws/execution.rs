//! Checks that threads, row groups, batches, the order of rows and pruning change no byte of an answer, and what ends a
//! query early: too many rows, a deadline, a cancellation.

use crate::run::{dataset, run, unfiltered};
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::time::Duration;
use trueup_core::dataset::{Dataset, Tables as CanonicalTables};
use trueup_core::{Error, Execution, Interrupt, Interruption, QueryError};
use trueup_testkit::cases::{account_batches, case, event_batches, spend_batches};
use trueup_testkit::exhaustive::cases;
use trueup_testkit::oracle::{EventRow, Request, Tables};

/// Events per row group, so that a row group has one customer, a few, or all.
const ROW_GROUP_ROWS: [usize; 4] = [1, 3, 50, 65_536];

/// Returns a dataset of the tables in several batches of rows.
fn in_batches(tables: &Tables, rows: usize, row_group_rows: usize) -> Dataset {
    let events = tables.events.chunks(rows).map(|events| Tables { events: events.to_vec(), ..Tables::default() });
    let spend = tables.spend.chunks(rows).map(|spend| Tables { spend: spend.to_vec(), ..Tables::default() });
    let accounts = tables.accounts.chunks(rows).map(|rows| Tables { accounts: rows.to_vec(), ..Tables::default() });
    let canonical = CanonicalTables {
        events: events.flat_map(|tables| event_batches(&tables)).collect(),
        spend: spend.flat_map(|tables| spend_batches(&tables)).collect(),
        accounts: accounts.flat_map(|tables| account_batches(&tables)).collect(),
        targets: Vec::new(),
        row_group_rows,
    };
    Dataset::from_tables(&canonical).unwrap()
}

/// Removes shared ids. Of two events of an account with the same id the later one wins, so their order would matter.
fn remove_shared_ids(events: &mut [EventRow]) {
    let mut taken = BTreeSet::new();
    for event in events {
        if !taken.insert((event.account.clone(), event.event_id.clone())) {
            event.event_id = None;
        }
    }
}

/// Returns a case, and the same rows in another order.
fn shuffled() -> impl Strategy<Value = (Tables, Tables, Request)> {
    let with_order = case().prop_flat_map(|(mut tables, request)| {
        remove_shared_ids(&mut tables.events);
        let Tables { events, spend, accounts } = tables.clone();
        let rows = (Just(events).prop_shuffle(), Just(spend).prop_shuffle(), Just(accounts).prop_shuffle());
        (Just(tables), rows, Just(request))
    });
    with_order
        .prop_map(|(tables, (events, spend, accounts), request)| (tables, Tables { events, spend, accounts }, request))
}

proptest! {
    #![proptest_config(super::short())]

    #[test]
    fn threads_change_nothing(((tables, request), row_group_rows) in (case(), select(&ROW_GROUP_ROWS[..]))) {
        let dataset = dataset(&tables, row_group_rows);
        let expected = run(&dataset, &request, Execution::default());
        for threads in [1, 2, 8] {
            let execution = Execution { threads: NonZeroUsize::new(threads), ..Execution::default() };
            prop_assert_eq!(run(&dataset, &request, execution), expected.clone());
        }
    }
}

proptest! {
    #![proptest_config(super::config())]

    #[test]
    fn the_size_of_row_groups_changes_nothing((tables, request) in case()) {
        let expected = run(&dataset(&tables, usize::MAX), &request, Execution::default());
        for row_group_rows in ROW_GROUP_ROWS {
            prop_assert_eq!(run(&dataset(&tables, row_group_rows), &request, Execution::default()), expected.clone());
        }
    }

    #[test]
    fn the_order_of_rows_changes_nothing(
        ((tables, shuffled, request), rows, row_group_rows) in (shuffled(), 1..20_usize, select(&ROW_GROUP_ROWS[..])),
    ) {
        let expected = run(&dataset(&tables, row_group_rows), &request, Execution::default());
        let shuffled = in_batches(&shuffled, rows, row_group_rows);
        prop_assert_eq!(run(&shuffled, &request, Execution::default()), expected);
    }

    /// Ids may be shared, because the rows keep their order.
    #[test]
    fn batches_change_nothing(((tables, request), rows) in (case(), 1..20_usize)) {
        let expected = run(&dataset(&tables, 7), &request, Execution::default());
        prop_assert_eq!(run(&in_batches(&tables, rows, 7), &request, Execution::default()), expected);
    }

    #[test]
    fn pruning_changes_nothing(((tables, request), row_group_rows) in (case(), select(&ROW_GROUP_ROWS[..]))) {
        let dataset = dataset(&tables, row_group_rows);
        let unpruned = Execution { pruning: false, ..Execution::default() };
        prop_assert_eq!(run(&dataset, &request, unpruned), run(&dataset, &request, Execution::default()));
    }
}

proptest! {
    #![proptest_config(cases(200))]

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
