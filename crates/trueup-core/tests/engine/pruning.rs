//! Checks what a query leaves unread.

use parquet::arrow::ArrowWriter;
use std::fs::File;
use trueup_core::query::EventsQuery;
use trueup_core::{Dataset, Day, Execution};
use trueup_demo::{Generator, Settings};
use trueup_ingest::Ingest;

#[test]
fn a_query_of_ninety_days_leaves_most_events_unread() {
    let generator = Generator::new(Settings::scale(40_000, 12)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (input, into) = (folder.path().join("events.parquet"), folder.path().join("dataset"));
    let mut writer = ArrowWriter::try_new(File::create(&input).unwrap(), generator.event_schema(), None).unwrap();
    for batch in generator.events() {
        writer.write(&batch.unwrap()).unwrap();
    }
    writer.close().unwrap();
    Ingest::into(&into).events(input).row_group_rows(2_048).run(&()).unwrap();
    let dataset = Dataset::open(into).unwrap();
    let all = dataset.date_range().unwrap();
    // Calendar quarters, and ranges across two of them.
    for before_end in (0..540).step_by(45) {
        let end = Day::from_number(all.end.number() - before_end);
        let query = EventsQuery::new(["leads"], Day::from_number(end.number() - 89), end);
        let read = dataset.analyze(&query, Execution::default()).unwrap();
        let rows = read.statistics.unwrap().rows;
        let share = |of: u64| rows * 100 <= dataset.event_rows() * of;
        assert!(share(35), "{rows} rows read, {before_end} days before the end");
        assert!(before_end > 0 || share(20), "{rows} rows read of the last quarter");
        assert!(read.event_row_groups_kept * 2 < read.event_row_groups_skipped);
        let unpruned = dataset.analyze(&query, Execution { pruning: false, ..Execution::default() }).unwrap();
        assert_eq!(unpruned.statistics.unwrap().kept_rows, read.statistics.unwrap().kept_rows);
    }
}
