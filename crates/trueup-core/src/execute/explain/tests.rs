use crate::Execution;
use crate::dataset::{Dataset, Tables};
use crate::query::EventsQuery;
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Returns a dataset of two customers a year apart, each in a row group of its own.
fn dataset() -> Dataset {
    let column = |texts: [&str; 2]| -> ArrayRef { Arc::new(StringArray::from(texts.to_vec())) };
    let events = RecordBatch::try_from_iter([
        ("account", column(["a", "a"])),
        ("opportunityId", column(["1", "2"])),
        ("type", column(["booked", "booked"])),
        ("date", column(["2024-01-01", "2025-01-01"])),
    ]);
    Dataset::from_tables(&Tables { events: vec![events.unwrap()], row_group_rows: 1, ..Tables::default() }).unwrap()
}

#[test]
fn an_explanation_names_what_the_query_reads() {
    let day = "2025-01-01".parse().unwrap();
    let query = EventsQuery::new(["leads", "zip"], day, day);
    let dataset = dataset();
    let explanation = dataset.explain(&query).unwrap();
    assert_eq!((explanation.event_row_groups.kept, explanation.event_row_groups.skipped), (1, 1));
    assert_eq!(explanation.columns, ["account", "trueup.customer", "type", "date"]);
    assert!(explanation.spend_columns.is_empty());
    let spend = dataset.explain(&EventsQuery::new(["clicks"], day, day)).unwrap();
    assert_eq!(spend.spend_columns, ["account", "date", "clicks"]);
    for (pruning, kept) in [(true, 1), (false, 2)] {
        let explanation = dataset.analyze(&query, Execution { pruning, ..Execution::default() }).unwrap();
        let statistics = explanation.statistics.unwrap();
        assert_eq!(
            (explanation.event_row_groups.kept, explanation.event_row_groups.skipped, statistics.row_groups),
            (kept, 2 - kept, kept)
        );
        assert_eq!(statistics.rows, kept as u64);
        assert!(statistics.merging <= statistics.aggregation);
    }
}

#[test]
fn one_thread_merges_nothing_and_two_do() {
    let day = |text: &str| text.parse().unwrap();
    let query = EventsQuery::new(["leads", "zip"], day("2024-01-01"), day("2025-01-01")).allow_long_total();
    for threads in [1, 2] {
        let execution = Execution { threads: NonZeroUsize::new(threads), ..Execution::default() };
        let statistics = dataset().analyze(&query, execution).unwrap().statistics.unwrap();
        assert_eq!((statistics.row_groups, statistics.merging.is_zero()), (2, threads == 1));
    }
}
