//! The rows of a test, and the ways to ingest them.

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;
use trueup_core::dataset::manifest_file;
use trueup_core::query::EventsQuery;
use trueup_core::{Dataset, ResultTable};
use trueup_ingest::{Ingest, IngestError, IngestSummary, Source, StagePlan, Staged, StagedIngest, part_of};
use trueup_testkit::random::Random;

/// A folder with datasets; removed when dropped.
pub(crate) struct Case(pub(crate) TempDir);

pub(crate) const HEADER: [&str; 8] =
    ["account", "opportunityId", "type", "date", "dateTime", "eventId", "total", "campaign"];

pub(crate) type Row = [String; HEADER.len()];

pub(crate) const ACCOUNTS: &str = "account,accountName,timeZone\na0,Zero,America/New_York\na3,Three,Asia/Tokyo\n";

pub(crate) const SPEND: &str = "account,date,adSpend,campaign\na0,2025-01-03,12.5,c1\na9,2025-02-03,1,\n";

impl Case {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

/// Returns an ingest whose files are small.
pub(crate) fn into(dataset: &Path) -> Ingest {
    Ingest::into(dataset).row_group_rows(16).file_rows(60).threads(1).time_zone("account".parse().unwrap())
}

/// Returns rows as a source.
pub(crate) fn source(rows: &[Row]) -> Source {
    let column = |at: usize| -> ArrayRef {
        let cells = rows.iter().map(|row| Some(row[at].as_str()).filter(|cell| !cell.is_empty()));
        Arc::new(cells.collect::<StringArray>())
    };
    let columns = HEADER.iter().enumerate().map(|(at, name)| (*name, column(at), true));
    Source::batches([RecordBatch::try_from_iter_with_nullable(columns).unwrap()])
}

/// Returns the rows of a part.
pub(crate) fn rows_of(rows: &[Row], part: u32, parts: u32) -> Vec<Row> {
    rows.iter().filter(|row| part_of(&row[0], parts) == part).cloned().collect()
}

/// Stages a part of some rows. Plan and result go through the form that they have between processes.
pub(crate) fn stage(dataset: &Path, plan: &StagePlan, part: u32, rows: &[Row]) -> Result<Staged, IngestError> {
    let plan = StagePlan::from_json(&plan.to_json()?)?;
    let ingest = Ingest::into(dataset).threads(1).events(source(&rows_of(rows, part, plan.parts())));
    Staged::from_bytes(&ingest.stage(&plan, part)?.to_bytes()?)
}

/// Stages all parts of some rows, the last part first.
pub(crate) fn stage_all(dataset: &Path, ingest: &StagedIngest, rows: &[Row]) -> Vec<Staged> {
    let parts = (0..ingest.plan().parts()).rev();
    parts.map(|part| stage(dataset, ingest.plan(), part, rows).unwrap()).collect()
}

/// Ingests rows in parts. `knows_accounts` says whether the ingest is planned with the accounts of the rows.
pub(crate) fn ingest_in_parts(
    ingest: Ingest,
    dataset: &Path,
    rows: &[Row],
    parts: u32,
    knows_accounts: bool,
) -> IngestSummary {
    let accounts: BTreeSet<String> = rows.iter().map(|row| row[0].clone()).collect();
    let begun = ingest.begin_staged(parts, knows_accounts.then_some(accounts)).unwrap();
    let staged = stage_all(dataset, &begun, rows);
    begun.commit(staged).unwrap()
}

/// Returns random rows of at most four of eight accounts. Event ids recur, each for the same customer and stage.
pub(crate) fn random_rows(count: usize, seed: u64) -> Vec<Row> {
    const STAGES: [&str; 6] = ["lead-originated", "booked", "estimated", "sold", "closed", "canceled"];
    let mut random = Random::new(seed);
    // Not every seed has every account.
    let first = random.below(4);
    let mut events: BTreeMap<(String, String), (String, String)> = BTreeMap::new();
    let rows = (0..count)
        .map(|_| {
            let day = format!("2025-{:02}-{:02}", random.below(3) + 1, random.below(28) + 1);
            let has_time = random.below(3) == 0;
            [
                format!("a{}", first + random.below(3) * random.below(3)),
                format!("customer-{}", random.below(40)),
                STAGES[random.index(6)].to_owned(),
                if has_time { String::new() } else { day.clone() },
                // No time zone skips a time after 3 o'clock.
                if has_time { format!("{day}T{:02}:30:00", 3 + random.below(21)) } else { String::new() },
                if random.below(3) == 0 { String::new() } else { format!("event-{}", random.below(120)) },
                if random.below(2) == 0 {
                    String::new()
                } else {
                    format!("{}.{:02}", random.below(9_000), random.below(100))
                },
                if random.below(5) == 0 { String::new() } else { format!("c{}", random.below(7)) },
            ]
        })
        .collect::<Vec<Row>>();
    let same_event = |mut row: Row| {
        if !row[5].is_empty() {
            let event = events.entry((row[0].clone(), row[5].clone()));
            (row[1], row[2]) = event.or_insert_with(|| (row[1].clone(), row[2].clone())).clone();
        }
        row
    };
    rows.into_iter().map(same_event).collect()
}

/// Returns what a dataset answers to several questions, and the number of its events.
pub(crate) fn answers(dataset: &Path) -> (Vec<ResultTable>, u64) {
    let dataset = Dataset::open(dataset).unwrap();
    let asked: [&[&str]; 4] = [
        &[
            "account",
            "accountName",
            "opportunityId",
            "date",
            "dateTime",
            "type",
            "eventId",
            "campaign",
            "total",
            "eventCount",
        ],
        &["account", "customers", "leads", "closedRevenue", "spend", "adjustedType", "typeIsLast"],
        &["campaign", "firstBooked", "bookRate", "closedRevenue", "roasClosed"],
        &["month", "leads", "bookedCustomers", "closedRevenue", "spend"],
    ];
    let answer = |fields: &&[&str]| {
        let query =
            EventsQuery::new(fields.iter().copied(), "2025-01-01".parse().unwrap(), "2025-03-31".parse().unwrap());
        dataset.query(&query).unwrap()
    };
    (asked.iter().map(answer).collect(), dataset.event_rows())
}

/// Returns the names of all files below a folder that no version names, and of all folders of ingests.
pub(crate) fn leftovers(dataset: &Path) -> Vec<String> {
    let mut named: Vec<String> = Vec::new();
    for version in manifest_file::versions(dataset).unwrap() {
        named.push(manifest_file::file_name(version));
        let manifest = manifest_file::read(dataset, version).unwrap();
        named.extend(manifest.files().map(|file| file.path.clone()));
    }
    let (mut found, mut folders) = (Vec::new(), vec![dataset.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(dataset).unwrap().to_str().unwrap().to_owned();
            if path.is_file() {
                found.push(name);
            } else {
                folders.push(path);
                if name.starts_with('.') {
                    found.push(name);
                }
            }
        }
    }
    found.retain(|name| !named.contains(name));
    found.sort();
    found
}
