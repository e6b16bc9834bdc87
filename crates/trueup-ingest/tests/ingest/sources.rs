//! Inputs that are not files: readers, record batches, and streams of them.

use crate::dataset::Case;
use arrow_array::builder::{StringDictionaryBuilder, TimestampSecondBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, Decimal128Array, LargeStringArray, RecordBatch, RecordBatchIterator, StringArray};
use arrow_schema::ArrowError;
use futures_core::Stream;
use std::io::{self, Read};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::task::{Context, Poll};
use std::time::Duration;
use trueup_ingest::{
    ErrorKind, FileFault, FileFormat, Ingest, InputLocation, Interrupt, Interruption, Phase, Progress, Reason, Rule,
    Source,
};

fn texts(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

/// Makes events that differ in their customer and stage.
fn events(rows: &[(&str, &str)]) -> RecordBatch {
    let (customers, stages): (Vec<&str>, Vec<&str>) = rows.iter().copied().unzip();
    RecordBatch::try_from_iter([
        ("account", texts(&vec!["a"; rows.len()])),
        ("opportunityId", texts(&customers)),
        ("type", texts(&stages)),
        ("date", texts(&vec!["2025-01-03"; rows.len()])),
    ])
    .unwrap()
}

const CSV: &[u8] =
    b"account,opportunityId,type,date\na,1,booked,2025-01-03\na,2,sold,2025-01-03\na,3,sold,2025-01-03\n";

fn batches() -> [RecordBatch; 2] {
    [events(&[("1", "booked"), ("2", "sold")]), events(&[("3", "sold")])]
}

/// The batches as a stream that is not ready every other time that it is polled.
struct Batches {
    left: Vec<RecordBatch>,
    is_ready: bool,
}

impl Stream for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.is_ready = !self.is_ready;
        if self.is_ready {
            return Poll::Ready(self.left.pop().map(Ok));
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

#[test]
fn every_source_makes_the_same_dataset() {
    let file = Case::new();
    file.events("a.csv", str::from_utf8(CSV).unwrap());
    let sources: [fn() -> Source; 4] = [
        || Source::reader(FileFormat::CSV, CSV),
        || Source::batches(batches()),
        || Source::batch_reader(RecordBatchIterator::new(batches().map(Ok), batches()[0].schema())),
        || {
            let mut left = batches().to_vec();
            left.reverse();
            Source::stream(left[0].schema(), Batches { left, is_ready: true })
        },
    ];
    for source in sources {
        let case = Case::new();
        let ingest = || case.ingest().events(source().named("events of January"));
        assert!(ingest().run().unwrap().changed);
        assert_eq!(case.stored_events(), file.stored_events());
        assert_eq!(crate::batches::batches(&case)[0].protocol["events"].names(), ["events of January"]);
        assert_eq!(case.names(), ["dataset"]);
        let before = case.snapshot();
        // The same rows are the same batch.
        assert!(!ingest().run().unwrap().changed);
        assert_eq!(case.snapshot(), before);
    }
}

#[test]
fn batches_keep_the_types_of_their_columns() {
    let case = Case::new();
    let mut channels = StringDictionaryBuilder::<Int32Type>::new();
    channels.append_value("Referral");
    channels.append_null();
    let mut times = TimestampSecondBuilder::new().with_timezone("+00:00");
    times.append_slice(&[1_735_900_000, 1_735_900_060]);
    let totals = Decimal128Array::from(vec![1_250, 99]).with_precision_and_scale(12, 2).unwrap();
    let batch = RecordBatch::try_from_iter([
        ("account", texts(&["a", "a"])),
        ("opportunityId", Arc::new(LargeStringArray::from_iter_values(["1", "2"])) as ArrayRef),
        ("type", texts(&["sold", "sold"])),
        ("dateTime", Arc::new(times.finish())),
        ("total", Arc::new(totals)),
        ("attributionChannel", Arc::new(channels.finish())),
    ])
    .unwrap();
    // Slices of one row each, the second row first, so that offsets matter.
    let summary = case.ingest().events(Source::batches([batch.slice(1, 1), batch.slice(0, 1)])).run().unwrap();
    assert_eq!(summary.events.taken, 2);
    assert_eq!(
        case.stored_events(),
        [
            "a|1|sold|2025-01-03|2025-01-03T10:26:40Z||12.500000|Referral",
            "a|2|sold|2025-01-03|2025-01-03T10:27:40Z||0.990000|"
        ]
    );
}

#[test]
fn the_error_of_a_row_says_where_it_is() {
    let case = Case::new();
    let second = events(&[("2", "sold"), ("3", "bought")]);
    let run = |memory: usize| {
        let source = Source::batches([events(&[("1", "sold")]), second.clone()]).named("crm");
        case.ingest().memory(memory).events(source).run().unwrap_err()
    };
    for memory in [1 << 30, 1] {
        let error = run(memory);
        let (file, row) = error.row().unwrap();
        assert_eq!(file.to_str(), Some("crm"));
        assert_eq!(row.location(), InputLocation::Batch { batch: 1, row: 1 });
        assert_eq!((row.column(), row.value()), (Some("type"), Some("bought")));
        assert_eq!(row.rule(), &Rule::Value(Reason::Stage));
        assert!(
            error
                .to_string()
                .starts_with("`crm`, record batch 1, row 1 (both counted from 0), column `type`: expected")
        );
    }
    let rejects = case.path("rejects.ndjson");
    let source = Source::batches([second]).named("crm");
    assert_eq!(case.ingest().events(source).rejects(&rejects).run().unwrap().events.rejected, 1);
    let line: serde_json::Value = serde_json::from_str(std::fs::read_to_string(rejects).unwrap().trim()).unwrap();
    assert_eq!((&line["file"], &line["batch"], &line["rowInBatch"]), (&"crm".into(), &0.into(), &1.into()));
}

/// A reader that fails after its first bytes.
struct Failing(bool);

impl Read for Failing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if std::mem::replace(&mut self.0, true) {
            return Err(io::Error::new(io::ErrorKind::ConnectionReset, "the other side has hung up"));
        }
        buffer[..7].copy_from_slice(b"account");
        Ok(7)
    }
}

#[test]
fn a_source_that_fails_leaves_nothing() {
    let case = Case::new();
    let fault = |ingest: Ingest| {
        let error = ingest.run().unwrap_err();
        assert!(error.is_data() || matches!(error.kind(), ErrorKind::Io { .. }), "{error}");
        assert_eq!(case.names(), Vec::<String>::new(), "{error}");
        error
    };
    let error = fault(case.ingest().events(Source::reader(FileFormat::CSV, Failing(false))));
    assert!(matches!(error.kind(), ErrorKind::Io { action: "read", .. }), "{error:?}");
    let schema = batches()[0].schema();
    let broken = [Ok(batches()[0].clone()), Err(ArrowError::ComputeError("no more".to_owned()))];
    let error = fault(case.ingest().events(Source::batch_reader(RecordBatchIterator::new(broken, schema))));
    assert_eq!(error.to_string(), "`events`: Compute error: no more");
    let other = events(&[("1", "sold")]).project(&[0, 1]).unwrap();
    let error = fault(case.ingest().spend(Source::batches([batches()[0].clone(), other])));
    assert!(matches!(error.kind(), ErrorKind::Input { fault: FileFault::OtherColumns(1), .. }));
    assert_eq!(
        error.to_string(),
        "`spend`: record batch 1 (counted from 0) has other columns than its source states or, if it states none, than the \
         first batch"
    );
    let error = fault(case.ingest().events(Source::batches([])));
    assert!(matches!(error.kind(), ErrorKind::Input { fault: FileFault::NoBatches, .. }));
    let error = fault(case.ingest().insights(Source::batches(batches())));
    assert!(matches!(error.kind(), ErrorKind::Input { fault: FileFault::NotDocuments, .. }));
}

#[test]
fn no_rows_are_no_error_if_the_columns_are_known() {
    let case = Case::new();
    let none = events(&[]);
    let summary = case.ingest().events(Source::batches([none.clone()])).run().unwrap();
    assert_eq!(summary.events.taken, 0);
    let reader = RecordBatchIterator::new([], none.schema());
    assert_eq!(case.ingest().events(Source::batch_reader(reader)).run().unwrap().events.taken, 0);
}

/// The producer of the rows never sends one, like a pipe that nobody writes to.
#[test]
fn an_interrupt_ends_an_ingest_whose_source_blocks() {
    let case = Case::new();
    let (sender, receiver) = channel::<RecordBatch>();
    let after = || Interrupt::after(Duration::from_millis(100));
    let error = case.ingest().events(Source::batches(receiver)).interrupt(after()).run().unwrap_err();
    assert_eq!(error.interruption(), Some(Interruption::Deadline));
    drop(sender);

    struct Never;
    impl Stream for Never {
        type Item = Result<RecordBatch, ArrowError>;
        fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            Poll::Pending
        }
    }
    let source = Source::stream(batches()[0].schema(), Never);
    let error = case.ingest().events(source).interrupt(after()).run().unwrap_err();
    assert_eq!(error.interruption(), Some(Interruption::Deadline));
    assert_eq!(case.names(), Vec::<String>::new());
}

#[test]
fn an_interrupt_while_batches_are_received_leaves_nothing() {
    let case = Case::new();
    let interrupt = Interrupt::default();
    let cancel = interrupt.clone();
    let endless = std::iter::repeat_with(move || {
        cancel.cancel();
        events(&[("1", "sold")])
    });
    let error = case.ingest().events(Source::batches(endless)).interrupt(interrupt).run().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Interrupted(Interruption::Canceled)));
    assert_eq!(case.names(), Vec::<String>::new());
}

#[test]
fn a_panic_of_a_source_leaves_nothing() {
    let case = Case::new();
    let source = Source::batches(std::iter::from_fn(|| -> Option<RecordBatch> { panic!("a bug of the caller") }));
    let ingest = case.ingest().events(source);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| ingest.run())).is_err());
    assert_eq!(case.names(), Vec::<String>::new());
}

#[test]
fn progress_counts_rows_and_bytes_of_each_phase() {
    let case = Case::new();
    let (sender, reports) = channel();
    let file = case.file("a.csv", CSV);
    let report = move |now: &Progress| sender.send(*now).unwrap();
    case.ingest().events(file).spend(Source::batches([spend()])).progress(report).run().unwrap();
    let reports: Vec<Progress> = reports.iter().collect();
    let mut phases: Vec<Phase> = reports.iter().map(|now| now.phase).collect();
    phases.dedup();
    assert_eq!(
        phases,
        [
            Phase::ReceivingInputs,
            Phase::Reading("events"),
            Phase::WritingEvents,
            Phase::Reading("spend"),
            Phase::WritingSpend
        ]
    );
    let last = |phase| *reports.iter().rfind(|now| now.phase == phase).unwrap();
    let events = last(Phase::Reading("events"));
    // The header is no row, but its bytes are read.
    let header = CSV.iter().position(|byte| *byte == b'\n').unwrap() as u64 + 1;
    assert_eq!(events.rows, 3);
    assert_eq!(events.total_bytes, Some(CSV.len() as u64));
    assert!(events.bytes == CSV.len() as u64 || events.bytes == CSV.len() as u64 - header, "{events:?}");
    assert_eq!((last(Phase::ReceivingInputs).rows, last(Phase::WritingEvents).rows), (1, 3));
    assert_eq!((last(Phase::Reading("spend")).rows, last(Phase::WritingSpend).rows), (1, 1));
    let totals = [Phase::WritingEvents, Phase::WritingSpend].map(|phase| last(phase).total_rows);
    assert_eq!(totals, [Some(3), Some(1)]);
}

fn spend() -> RecordBatch {
    RecordBatch::try_from_iter([
        ("account", texts(&["a"])),
        ("date", texts(&["2025-01-03"])),
        ("adSpend", texts(&["5"])),
    ])
    .unwrap()
}
