//! A random sequence of ingests and forgotten customers, and what is valid after each.

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;
use trueup_core::dataset::manifest::Manifest;
use trueup_core::dataset::{Verification, manifest_file};
use trueup_core::query::{AccountFilter, EventsQuery, Interval};
use trueup_core::{Dataset, Day, Interrupt, ResultTable};
use trueup_ingest::{FileFormat, Forget, Ingest, IngestSummary, Source};
use trueup_testkit::random::Random;
use trueup_testkit::search::files_with;

const HEADER: [&str; 9] =
    ["account", "opportunityId", "type", "date", "dateTime", "eventId", "total", "campaign", "zip"];
const STAGES: [&str; 6] = ["lead-originated", "booked", "estimated", "sold", "closed", "canceled"];
const ZONES: [&str; 4] = ["UTC", "America/New_York", "Asia/Tokyo", "Pacific/Auckland"];

/// The accounts; the fourth one has no rows.
const ACCOUNTS: [&str; 5] = ["a0", "a1", "a2", "a3", "a4"];

type Row = [String; HEADER.len()];

/// How often the cases that a sequence may go through have occurred.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) ingests: u64,
    pub(crate) replaced: u64,
    pub(crate) moved: u64,
    pub(crate) shared: u64,
    pub(crate) zones: u64,
    pub(crate) with_vectors: u64,
    pub(crate) rewritten: u64,
    pub(crate) merged_vectors: u64,
    pub(crate) spilled: u64,
    pub(crate) forgotten: u64,
    pub(crate) left_out: u64,
    pub(crate) purged: u64,
    pub(crate) spend_replaced: u64,
    pub(crate) spend_in_files: u64,
    pub(crate) spend_with_vectors: u64,
    pub(crate) spend_rewritten: u64,
}

impl Seen {
    pub(crate) fn add(&mut self, other: &Self) {
        self.ingests += other.ingests;
        self.replaced += other.replaced;
        self.moved += other.moved;
        self.shared += other.shared;
        self.zones += other.zones;
        self.with_vectors += other.with_vectors;
        self.rewritten += other.rewritten;
        self.merged_vectors += other.merged_vectors;
        self.spilled += other.spilled;
        self.forgotten += other.forgotten;
        self.left_out += other.left_out;
        self.purged += other.purged;
        self.spend_replaced += other.spend_replaced;
        self.spend_in_files += other.spend_in_files;
        self.spend_with_vectors += other.spend_with_vectors;
        self.spend_rewritten += other.spend_rewritten;
    }
}

/// A dataset that a sequence of ingests makes, and the rows that are valid.
pub(crate) struct Sequence {
    dir: TempDir,
    random: Random,
    /// The valid events in the order of arrival.
    events: Vec<Row>,
    /// The valid spend by account and day.
    spend: BTreeMap<(String, String), Vec<String>>,
    zones: BTreeMap<String, String>,
    /// The last day whose events of a forgotten customer are left out, by account and customer.
    forgotten: BTreeMap<(String, String), Day>,
    insights: BTreeMap<(String, String), String>,
    /// The number of the last new event id; 0 before the first.
    ids: u64,
    layout: (usize, usize),
    seen: Seen,
}

impl Sequence {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let layout = ([4, 8, 16][random.index(3)], [16, 40, 400][random.index(3)]);
        Self {
            dir: tempfile::tempdir().unwrap(),
            random,
            events: Vec::new(),
            spend: BTreeMap::new(),
            zones: BTreeMap::new(),
            forgotten: BTreeMap::new(),
            insights: BTreeMap::new(),
            ids: 0,
            layout,
            seen: Seen::default(),
        }
    }

    /// Runs the sequence, and checks the last version and some before it.
    pub(crate) fn run(mut self) -> Seen {
        // A few sequences are long, so that vectors and small files become many.
        let is_long = self.random.below(8) == 0;
        let ingests = if is_long { 24 } else { self.random.below(5) + 2 };
        if is_long {
            self.layout = (16, 400);
        }
        for ingest in 0..ingests {
            self.ingest(ingest, is_long);
            if self.random.below(5) == 0 {
                self.forget();
            }
            if ingest + 1 == ingests || self.random.below(6) == 0 {
                self.check(&format!("ingest {ingest}"));
            }
        }
        self.seen
    }

    fn dataset(&self) -> PathBuf {
        self.dir.path().join("dataset")
    }

    fn settings(&self, dataset: &Path) -> Ingest {
        let (group_rows, file_rows) = self.layout;
        let zone = "account".parse().unwrap();
        Ingest::into(dataset).threads(1).row_group_rows(group_rows).file_rows(file_rows).time_zone(zone)
    }

    /// Ingests some events, or some of another table, or both.
    fn ingest(&mut self, number: u64, is_long: bool) {
        let mut ingest = self.settings(&self.dataset());
        let before = self.manifest();
        if self.random.below(8) == 0 && !is_long {
            ingest = ingest.memory(1);
            self.seen.spilled += 1;
        }
        let mut new_events = None;
        let kind = self.random.below(10);
        let mut rejected = 0;
        if kind != 0 || number == 0 {
            let count = match self.random.below(4) {
                0 if !is_long => 120,
                1 if !is_long => 30,
                _ => 4,
            };
            let mut rows = self.new_rows(count, is_long);
            if sharing(&rows).len() == rows.len() {
                // An ingest whose rows are all rejected fails.
                rows.truncate(1);
            }
            // An input need not have every column.
            let columns = HEADER.len() - self.random.index(3);
            ingest = ingest.events(source(&rows, columns));
            new_events = Some((rows, columns));
        }
        if self.random.below(5) == 0 && !is_long {
            ingest = self.with_zone(ingest);
        }
        // The days of events are those of the new time zones.
        let left_out = new_events.map_or(0, |(rows, columns)| {
            let (rows, left_out) = self.without_forgotten(rows);
            let sharing = sharing(&rows);
            rejected = sharing.len() as u64;
            let kept: Vec<Row> =
                rows.into_iter().enumerate().filter(|(at, _)| !sharing.contains(at)).map(|(_, row)| row).collect();
            self.take_events(&kept, columns);
            left_out
        });
        let mut replaced_spend = 0;
        if self.random.below(2) == 0 || (kind == 0 && number > 0) {
            (ingest, replaced_spend) = self.with_spend(ingest);
        }
        if self.random.below(6) == 0 {
            ingest = self.with_insights(ingest);
        }
        if rejected > 0 {
            ingest = ingest.rejects(self.dir.path().join("rejects.ndjson")).replace_rejects(true);
        }
        let summary = ingest.run().unwrap();
        assert_eq!(summary.spend.replaced, replaced_spend, "ingest {number}");
        assert_eq!(summary.events.rejected, rejected, "ingest {number}");
        self.seen.shared += rejected;
        assert_eq!(summary.events.forgotten, left_out, "ingest {number}");
        self.seen.left_out += left_out;
        self.look(before.as_ref(), &summary);
    }

    /// Forgets some customers, of whom some may not exist.
    fn forget(&mut self) {
        let purges = self.random.below(2) == 0;
        // Another account may have, or have had, a customer of the same id.
        let is_everywhere = self.random.below(2) == 0;
        let (group_rows, file_rows) = self.layout;
        let mut forget = Forget::new(self.dataset()).threads(1).row_group_rows(group_rows).file_rows(file_rows);
        // At 13:00 UTC, Auckland has the next day already.
        let today = format!("2025-{:02}-{:02}T13:00:00Z", self.random.below(9) + 1, self.random.below(28) + 1);
        let seconds = 86_400 * u64::from(day(&today[..10]).number()) + 13 * 3_600;
        forget = forget.now(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        let mut ids = Vec::new();
        for _ in 0..=self.random.below(3) {
            let (account, id) = match self.random.index(self.events.len() + 1) {
                at if at < self.events.len() => (self.events[at][0].clone(), self.events[at][1].clone()),
                _ => (self.account(), "customer-0;".to_owned()),
            };
            let accounts = if is_everywhere { ACCOUNTS.map(str::to_owned).to_vec() } else { vec![account] };
            for account in accounts {
                self.events.retain(|row| row[0] != account || row[1] != id);
                let today = local_day(&today, self.zone(&account));
                let until = self.forgotten.entry((account.clone(), id.clone())).or_insert(today);
                *until = today.max(*until);
                forget = forget.customer(account, &id);
            }
            ids.push(id);
        }
        if purges {
            forget = forget.purge().grace(Duration::ZERO);
        }
        let events = self.manifest().map(|before| rows(&before));
        let summary = forget.run().unwrap();
        assert_eq!(events.map(|events| events - summary.events), self.manifest().map(|after| rows(&after)));
        self.seen.forgotten += u64::from(summary.events > 0);
        if purges && is_everywhere {
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            assert_eq!(files_with(&self.dataset(), &ids).unwrap(), Vec::<PathBuf>::new());
            self.seen.purged += u64::from(!summary.expired.is_empty());
        }
    }

    /// Counts the cases that an ingest went through.
    fn look(&mut self, before: Option<&Manifest>, summary: &IngestSummary) {
        self.seen.ingests += 1;
        self.seen.replaced += u64::from(summary.events.replaced > 0);
        let Some((before, after)) = before.zip(self.manifest()) else { return };
        self.seen.with_vectors += u64::from(!after.deletion_vectors.is_empty());
        self.seen.merged_vectors += u64::from(after.deletion_vectors.len() + 1 < before.deletion_vectors.len());
        let gone = before.events.iter().filter(|file| !after.events.contains(file)).count();
        self.seen.rewritten += u64::from(gone > 0);
        assert!(after.deletion_vectors.len() <= 17, "{}", after.deletion_vectors.len());
        self.seen.spend_replaced += u64::from(summary.spend.replaced > 0);
        self.seen.spend_in_files += u64::from(after.spend.len() > 2);
        self.seen.spend_with_vectors +=
            u64::from(after.spend.iter().filter(|file| after.superseded.contains_key(&file.path)).count() > 1);
        let is_gone = before.spend.iter().any(|file| !after.spend.contains(file));
        self.seen.spend_rewritten += u64::from(is_gone && summary.compacted.is_none());
    }

    fn manifest(&self) -> Option<Manifest> {
        manifest_file::read_latest(&self.dataset()).unwrap()
    }

    fn account(&mut self) -> String {
        ACCOUNTS[self.random.index(3) * self.random.index(3)].to_owned()
    }

    /// Returns rows of which some restate stored events, maybe for another customer or account.
    fn new_rows(&mut self, count: u64, is_long: bool) -> Vec<Row> {
        // Mostly few customers, so that an ingest touches some of a file. In a long sequence, it hardly touches any, so
        // that small files become many.
        let customers = if is_long { 5_000 } else { [5, 20, 200][self.random.index(3)] };
        let restates = if is_long { self.random.below(2) } else { [0, 2, 8][self.random.index(3)] };
        (0..count)
            .map(|_| {
                let random = &mut self.random;
                let day = format!("2025-{:02}-{:02}", random.below(9) + 1, random.below(28) + 1);
                let (has_time, has_date) = (random.below(2) == 0, random.below(3) == 0);
                let time = format!("{day}T{:02}:{:02}:00Z", random.below(24), random.below(60));
                let stage = STAGES[random.index(6)].to_owned();
                let total = if random.below(2) == 0 { String::new() } else { format!("{}.25", random.below(9_000)) };
                let campaign = if random.below(4) == 0 { String::new() } else { format!("c{}", random.below(5)) };
                let zip = format!("{:05}", random.below(30));
                let (old, choice) = (random.index(self.events.len().max(1)), random.below(10));
                let (account, customer) = (self.account(), format!("customer-{};", self.random.below(customers)));
                let (account, customer, id) = match self.events.get(old).filter(|_| choice < restates).cloned() {
                    // The same event of its customer, of another customer, or of another account: a new event there.
                    Some(old) => match self.random.below(6) {
                        0 => (account, customer, old[5].clone()),
                        1 => {
                            self.seen.moved += u64::from(!old[5].is_empty() && old[1] != customer);
                            (old[0].clone(), customer, old[5].clone())
                        }
                        _ => (old[0].clone(), old[1].clone(), old[5].clone()),
                    },
                    None if choice == 9 => (account, customer, String::new()),
                    None => {
                        self.ids += 1;
                        (account, customer, format!("e{}", self.ids))
                    }
                };
                let date = if has_time && !has_date { String::new() } else { day };
                let time = if has_time { time } else { String::new() };
                [account, customer, stage, date, time, id, total, campaign, zip]
            })
            .collect()
    }

    fn zone(&self, account: &str) -> &str {
        self.zones.get(account).map_or("UTC", String::as_str)
    }

    /// Returns rows without the ones that are left out because their customers are forgotten, and how many these are.
    fn without_forgotten(&self, mut rows: Vec<Row>) -> (Vec<Row>, u64) {
        let before = rows.len();
        rows.retain(|row| {
            let date = if row[3].is_empty() { local_day(&row[4], self.zone(&row[0])) } else { day(&row[3]) };
            let until = self.forgotten.get(&(row[0].clone(), row[1].clone()));
            until.is_none_or(|until| date > *until)
        });
        let left_out = before - rows.len();
        (rows, left_out as u64)
    }

    /// Replaces what new events replace.
    fn take_events(&mut self, rows: &[Row], columns: usize) {
        for row in rows {
            let mut row = row.clone();
            row[columns..].iter_mut().for_each(String::clear);
            if !row[5].is_empty() {
                self.events.retain(|old| old[0] != row[0] || old[5] != row[5]);
            }
            self.events.push(row);
        }
    }

    fn with_zone(&mut self, ingest: Ingest) -> Ingest {
        let (account, zone) = (self.account(), ZONES[self.random.index(4)].to_owned());
        let text = format!("account,timeZone\n{account},{zone}\n");
        self.zones.insert(account, zone);
        self.seen.zones += 1;
        ingest.accounts(csv(text))
    }

    /// Ingests the spend of some days. Returns how many rows it replaces.
    fn with_spend(&mut self, ingest: Ingest) -> (Ingest, u64) {
        let mut text = "account,date,adSpend,campaign\n".to_owned();
        let mut new: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
        // Mostly few rows, so that an ingest replaces some of a file; and days that recur.
        let rows = [2, 9, 9, 80][self.random.index(4)];
        for _ in 0..=self.random.below(rows) {
            let account = self.account();
            let day = format!("2025-{:02}-{:02}", self.random.below(9) + 1, self.random.below(3) + 1);
            let row = format!("{account},{day},{}.5,c{}\n", self.random.below(90), self.random.below(3));
            text += &row;
            new.entry((account, day)).or_default().push(row);
        }
        let replaced = new.keys().filter_map(|key| self.spend.get(key)).map(Vec::len).sum::<usize>() as u64;
        self.spend.extend(new);
        (ingest.spend(csv(text)), replaced)
    }

    fn with_insights(&mut self, ingest: Ingest) -> Ingest {
        let (account, day) = (self.account(), format!("2025-01-{:02}", self.random.below(5) + 1));
        let line = format!(
            "{{\"account\":\"{account}\",\"date\":\"{day}\",\"insight\":{{\"n\":{}}}}}\n",
            self.random.below(100)
        );
        self.insights.insert((account, day), line.clone());
        ingest.insights(Source::reader(FileFormat::NDJSON, std::io::Cursor::new(line.into_bytes())))
    }

    /// Compares the dataset with one that is built from what is valid.
    fn check(&self, what: &str) {
        let folder = tempfile::tempdir().unwrap();
        let expected = folder.path().join("dataset");
        let mut ingest = self.settings(&expected).events(source(&self.events, HEADER.len()));
        if !self.zones.is_empty() {
            let rows = self.zones.iter().map(|(account, zone)| format!("{account},{zone}\n"));
            ingest = ingest.accounts(csv(format!("account,timeZone\n{}", rows.collect::<String>())));
        }
        if !self.spend.is_empty() {
            let rows = self.spend.values().flatten().map(String::as_str).collect::<String>();
            ingest = ingest.spend(csv(format!("account,date,adSpend,campaign\n{rows}")));
        }
        if !self.insights.is_empty() {
            let text = self.insights.values().map(String::as_str).collect::<String>();
            ingest = ingest.insights(Source::reader(FileFormat::NDJSON, std::io::Cursor::new(text.into_bytes())));
        }
        ingest.run().unwrap();
        let (expected, found) = (Dataset::open(&expected).unwrap(), Dataset::open(self.dataset()).unwrap());
        assert_eq!(found.event_rows(), expected.event_rows(), "{what}");
        assert_eq!(found.spend_rows(), expected.spend_rows(), "{what}");
        assert_eq!(found.date_range(), expected.date_range(), "{what}");
        for (expected, found) in answers(&expected).into_iter().zip(answers(&found)) {
            assert_eq!(found, expected, "{what}");
        }
        let insights = |dataset: &Dataset| {
            let found = dataset.insights(&AccountFilter::All, None, 1_000, &Interrupt::default()).unwrap();
            found.map(Result::unwrap).map(|it| (it.account, it.date, it.document)).collect::<Vec<_>>()
        };
        assert_eq!(insights(&found), insights(&expected), "{what}");
        let verified = Verification::of(self.dataset(), None).unwrap();
        assert_eq!(verified.faults, Vec::<String>::new(), "{what}");
    }
}

/// Returns the numbers of the rows that share an event id with a row of another customer or stage.
fn sharing(rows: &[Row]) -> Vec<usize> {
    let is_shared = |row: &Row| {
        let differs = |other: &Row| other[0] == row[0] && other[5] == row[5] && other[1..3] != row[1..3];
        !row[5].is_empty() && rows.iter().any(differs)
    };
    rows.iter().enumerate().filter(|(_, row)| is_shared(row)).map(|(at, _)| at).collect()
}

fn day(text: &str) -> Day {
    text.parse().unwrap()
}

/// Returns the day of a time of 2025 in UTC, such as `2025-03-09T06:59:00Z`, in one of [`ZONES`]. The offsets are
/// written here once more, so that they do not come from the database of the program.
fn local_day(time: &str, zone: &str) -> Day {
    let is_between = |start: &str, end: &str| (start..end).contains(&time);
    let hours = match zone {
        "UTC" => 0,
        "Asia/Tokyo" => 9,
        "America/New_York" if is_between("2025-03-09T07:00:00Z", "2025-11-02T06:00:00Z") => -4,
        "America/New_York" => -5,
        _ if is_between("2025-04-05T14:00:00Z", "2025-09-27T14:00:00Z") => 12,
        _ => 13,
    };
    let hour: i32 = time[11..13].parse().unwrap();
    let number = i32::from(day(&time[..10]).number()) + (hour + hours).div_euclid(24);
    Day::from_number(u16::try_from(number).unwrap())
}

/// Returns the number of events that a version has.
fn rows(manifest: &Manifest) -> u64 {
    let superseded = |path: &String| manifest.superseded.get(path).map_or(0, |vector| vector.rows());
    manifest.events.iter().map(|file| file.rows - superseded(&file.path)).sum()
}

/// Returns what a dataset answers to several questions.
pub(crate) fn answers(dataset: &Dataset) -> Vec<ResultTable> {
    let asked: [(&[&str], Interval); 5] = [
        (
            &[
                "account",
                "opportunityId",
                "date",
                "dateTime",
                "type",
                "eventId",
                "campaign",
                "zip",
                "total",
                "eventCount",
            ],
            Interval::Total,
        ),
        (&["account", "customers", "leads", "closedRevenue", "spend", "adjustedType", "typeIsLast"], Interval::Total),
        (&["campaign", "firstBooked", "bookRate", "closedRevenue", "roasClosed", "stepSoldRate"], Interval::Month),
        (&["leads", "bookedCustomers", "cancelRate", "revenuePotential", "spend"], Interval::Week),
        (&["account", "campaign", "date", "spend", "campaignSpend"], Interval::Total),
    ];
    let answer = |(fields, interval): &(&[&str], Interval)| {
        let (start, end) = ("2024-12-30".parse().unwrap(), "2025-10-02".parse().unwrap());
        dataset.query(&EventsQuery::new(fields.iter().copied(), start, end).interval(*interval).allow_long_total())
    };
    asked.iter().map(|asked| answer(asked).unwrap()).collect()
}

/// Returns the first `columns` columns of rows as a source.
pub(crate) fn source(rows: &[Row], columns: usize) -> Source {
    let column = |at: usize| -> ArrayRef {
        let cells = rows.iter().map(|row| Some(row[at].as_str()).filter(|cell| !cell.is_empty()));
        Arc::new(cells.collect::<StringArray>())
    };
    let columns = HEADER.iter().enumerate().take(columns).map(|(at, name)| (*name, column(at), true));
    Source::batches([RecordBatch::try_from_iter_with_nullable(columns).unwrap()])
}

pub(crate) fn csv(text: String) -> Source {
    Source::reader(FileFormat::CSV, std::io::Cursor::new(text.into_bytes()))
}
