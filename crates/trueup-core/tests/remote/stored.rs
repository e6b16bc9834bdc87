//! A dataset in a folder, which a server serves as an object store.

use parquet::arrow::ArrowWriter;
use std::fs::{self, File};
use std::path::PathBuf;
use tempfile::TempDir;
use trueup_core::query::EventsQuery;
use trueup_core::{Dataset, Day, ResultTable};
use trueup_demo::{Generator, Settings};
use trueup_ingest::Ingest;
use trueup_testkit::object_server::ObjectServer;

pub(crate) struct Stored {
    dir: TempDir,
    pub(crate) server: ObjectServer,
}

impl Stored {
    /// Makes a dataset of several files, each of several row groups, with three insights.
    pub(crate) fn new() -> Self {
        Self::of(12_000, 4_000, 10)
    }

    /// Makes a dataset of about `rows` events, in files of at most `file_rows`, and with three insights, one of which
    /// has a text of `bytes` bytes.
    pub(crate) fn of(rows: u64, file_rows: usize, bytes: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let generator = Generator::new(Settings::scale(rows, 8)).unwrap();
        let mut events =
            ArrowWriter::try_new(File::create(path("e.parquet")).unwrap(), generator.event_schema(), None).unwrap();
        generator.events().for_each(|batch| events.write(&batch.unwrap()).unwrap());
        events.close().unwrap();
        let mut spend =
            ArrowWriter::try_new(File::create(path("s.parquet")).unwrap(), generator.spend_schema(), None).unwrap();
        generator.spend().for_each(|batch| spend.write(&batch.unwrap()).unwrap());
        spend.close().unwrap();
        let batch = generator.accounts().unwrap();
        let mut accounts =
            ArrowWriter::try_new(File::create(path("a.parquet")).unwrap(), batch.schema(), None).unwrap();
        accounts.write(&batch).unwrap();
        accounts.close().unwrap();
        let line = |account: &str, text: &str| {
            format!("{{\"account\":\"{account}\",\"date\":\"2025-01-01\",\"insight\":{{\"text\":\"{text}\"}}}}\n")
        };
        let insights = line("a", "one") + &line("b", &"x".repeat(bytes)) + &line("c", "three");
        fs::write(path("i.ndjson"), insights).unwrap();
        Ingest::into(path("bucket/acme"))
            .events(path("e.parquet"))
            .spend(path("s.parquet"))
            .accounts(path("a.parquet"))
            .insights(path("i.ndjson"))
            .row_group_rows(1_000)
            .file_rows(file_rows)
            .run()
            .unwrap();
        let server = ObjectServer::start(dir.path()).unwrap();
        Self { dir, server }
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.dir.path().join("bucket/acme")
    }

    pub(crate) fn url(&self) -> PathBuf {
        format!("{}/bucket/acme", self.server.url()).into()
    }

    pub(crate) fn local(&self) -> Dataset {
        Dataset::open(self.folder()).unwrap()
    }

    pub(crate) fn remote(&self) -> Dataset {
        Dataset::open(self.url()).unwrap()
    }
}

/// Returns queries of different columns and ranges.
pub(crate) fn queries(dataset: &Dataset) -> Vec<EventsQuery> {
    let all = dataset.date_range().unwrap();
    let before_end = |days: u16| Day::from_number(all.end.number() - days);
    let query =
        |fields: &[&str], start: Day, end: Day| EventsQuery::new(fields.iter().copied(), start, end).allow_long_total();
    vec![
        query(&["leads", "spend"], all.start, all.end),
        query(&["campaign", "leads", "closedRevenue", "roasClosed"], before_end(89), all.end),
        query(&["account", "zip", "customers", "bookRate"], before_end(400), before_end(300)).allow_unknown(true),
        query(&["attributionChannel", "eventCount", "total"], all.start, before_end(30)).allow_unknown(true),
    ]
}

/// Returns the answers to [`queries`].
pub(crate) fn answers(dataset: &Dataset) -> Vec<ResultTable> {
    queries(dataset).iter().map(|query| dataset.query(query).unwrap()).collect()
}
