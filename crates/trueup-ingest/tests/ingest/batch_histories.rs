//! Random histories of batches, sources that are removed, and versions that are restored, compared with a model.

use crate::batches::repetition;
use crate::dataset::Case;
use std::collections::{BTreeMap, BTreeSet};
use trueup_core::query::EventsQuery;
use trueup_core::{Dataset, Row, Value};
use trueup_ingest::Restore;
use trueup_testkit::random::Random;

/// How the files of a batch are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HowRead {
    /// The time zone of clock times.
    zone: &'static str,
    ignores_campaign: bool,
    /// The source of rows that name none.
    source: &'static str,
}

/// A row of a file.
#[derive(Clone)]
struct FileRow {
    customer: u64,
    hour: u64,
    id: String,
    campaign: String,
    source: &'static str,
}

/// An event that a dataset has.
#[derive(Clone)]
struct StoredRow {
    customer: u64,
    /// From 2025-01-01 in UTC.
    hour: i64,
    id: String,
    campaign: String,
    source: &'static str,
}

/// What SEMANTICS says of batches, in the slow and obvious way.
#[derive(Clone)]
struct Model {
    rows: Vec<StoredRow>,
    batches: Vec<AppliedBatch>,
    /// The time zone of the account.
    zone: &'static str,
}

#[derive(Clone)]
struct AppliedBatch {
    /// Each file, with the sources of its rows that were not removed later.
    files: BTreeMap<usize, BTreeSet<&'static str>>,
    how: HowRead,
    /// The time zone of the account then, if the batch depends on it.
    zone: &'static str,
}

#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Applied,
    NothingChanged,
    Refused,
}

impl Model {
    fn ingest(
        &mut self,
        all: &[Vec<FileRow>],
        files: &[usize],
        how: HowRead,
        (again, removed): (bool, Option<&'static str>),
    ) -> Outcome {
        let mut next = self.clone();
        if let Some(removed) = removed {
            next.rows.retain(|row| row.source != removed);
            for batch in &mut next.batches {
                // A file of which nothing is left is as if it had never come; with a part of it, the batch is no more
                // the same.
                batch.files.retain(|_, sources| !sources.remove(removed) || !sources.is_empty());
            }
        }
        let has_row_without_id = |file: &usize| all[*file].iter().any(|row| row.id.is_empty());
        let batch = AppliedBatch {
            files: files
                .iter()
                .map(|file| (*file, all[*file].iter().map(|row| row.source_by(how)).collect()))
                .collect(),
            how,
            zone: if how.zone == "account" { self.zone } else { "" },
        };
        let would_repeat = |before: &&AppliedBatch| {
            before.files.keys().any(|file| batch.files.contains_key(file) && has_row_without_id(file))
        };
        let is_same =
            |before: &AppliedBatch| before.files == batch.files && before.how == how && before.zone == batch.zone;
        let mut repeated = next.batches.iter().filter(would_repeat).map(is_same).peekable();
        if !again && repeated.peek().is_some() {
            if !repeated.any(|is_same| is_same) {
                return Outcome::Refused;
            }
            *self = next;
            return if removed.is_some() { Outcome::Applied } else { Outcome::NothingChanged };
        }
        let zone = if how.zone == "account" { self.zone } else { how.zone };
        let offset = if zone == "Asia/Tokyo" { 9 } else { 0 };
        for row in files.iter().flat_map(|file| &all[*file]) {
            if !row.id.is_empty() {
                next.rows.retain(|other| other.id != row.id);
            }
            next.rows.push(StoredRow {
                customer: row.customer,
                hour: i64::try_from(row.hour).unwrap() - offset,
                id: row.id.clone(),
                campaign: if how.ignores_campaign { String::new() } else { row.campaign.clone() },
                source: row.source_by(how),
            });
        }
        next.batches.push(batch);
        *self = next;
        Outcome::Applied
    }

    /// Returns the number of each kind of event.
    fn counts(&self) -> BTreeMap<String, i64> {
        let mut counts = BTreeMap::new();
        for StoredRow { customer, hour, id, campaign, source } in &self.rows {
            let (day, hour) = (hour.div_euclid(24), hour.rem_euclid(24));
            let date = chrono::NaiveDate::from_ymd_opt(2025, 1, 1).unwrap() + chrono::Duration::days(day);
            *counts.entry(format!("{customer}|{date}T{hour:02}:00:00Z|{id}|{campaign}|{source}")).or_default() += 1;
        }
        counts
    }
}

impl FileRow {
    /// Returns the source of the row in a file that is read in some way.
    fn source_by(&self, how: HowRead) -> &'static str {
        if self.source.is_empty() { how.source } else { self.source }
    }

    /// Returns a random row of a file.
    fn random(random: &mut Random, file: u64, row: u64) -> Self {
        // Files 0 to 2 have ids, which recur with their customers; the others have some or none.
        let has_id = file < 3 || (file == 3 && row == 0);
        let customer = if has_id { random.below(4) } else { 10 * file + row };
        let id = if has_id { format!("e{customer}") } else { String::new() };
        let source = if file.is_multiple_of(2) { "" } else { ["", "crm"][random.index(2)] };
        Self { customer, hour: random.below(48), id, campaign: format!("c{}", random.below(3)), source }
    }

    fn csv(&self) -> String {
        let Self { customer, hour, id, campaign, source } = self;
        let (day, hour) = (1 + hour / 24, hour % 24);
        format!("a,{customer},booked,2025-01-{day:02}T{hour:02}:00:00,{id},{campaign},{source}\n")
    }
}

/// Returns how often the dataset has each kind of event.
fn stored_counts(case: &Case) -> BTreeMap<String, i64> {
    let (start, end) = ("2024-12-01".parse().unwrap(), "2025-03-01".parse().unwrap());
    let dimensions = ["opportunityId", "dateTime", "eventId", "campaign", "source"];
    let fields = dimensions.into_iter().chain(["eventCount"]);
    let table = Dataset::open(case.dataset())
        .unwrap()
        .query(&EventsQuery::new(fields, start, end).allow_unknown(true).allow_long_total())
        .unwrap();
    let text = |row: &Row<'_>, name: &str| match row.get(name) {
        Some(Value::Text(text)) => text.to_owned(),
        other => unreachable!("{name}: {other:?}"),
    };
    let count = |row: &Row<'_>| match row.get("eventCount") {
        Some(Value::Count(count)) => i64::try_from(count).unwrap(),
        other => unreachable!("{other:?}"),
    };
    table.rows().map(|row| (dimensions.map(|name| text(&row, name)).join("|"), count(&row))).collect()
}

#[test]
fn any_history_of_batches_is_as_the_rule_says() {
    const READINGS: [(&str, bool); 5] =
        [("UTC", false), ("Asia/Tokyo", false), ("account", false), ("UTC", true), ("account", true)];
    const SOURCES: [&str; 3] = ["", "crm", "calls"];
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for seed in 0..40 {
        let (case, mut random) = (Case::new(), Random::new(seed));
        let mut model = Model { rows: Vec::new(), batches: Vec::new(), zone: "UTC" };
        let mut versions: BTreeMap<u64, Model> = BTreeMap::new();
        let files: Vec<Vec<FileRow>> = (0..5_u64)
            .map(|file| {
                let rows = random.below(3) + u64::from(file > 0);
                (0..rows).map(|row| FileRow::random(&mut random, file, row)).collect()
            })
            .collect();
        let paths: Vec<_> = (0..)
            .zip(&files)
            .map(|(file, rows)| {
                let rows: String = rows.iter().map(FileRow::csv).collect();
                let header = "account,opportunityId,type,dateTime,eventId,campaign,source\n";
                case.file(&format!("{file}.csv"), format!("{header}{rows}{}", "\n".repeat(file)))
            })
            .collect();
        for step in 0..20 {
            let earlier = random.index(versions.len() + 1);
            if let Some((version, earlier)) = versions.iter().nth(earlier).filter(|_| random.below(8) == 0) {
                Restore::new(case.dataset(), *version).run().unwrap();
                model = earlier.clone();
                versions.insert(case.manifest().version, model.clone());
                continue;
            }
            if random.below(8) == 0 {
                model.zone = ["UTC", "Asia/Tokyo"][random.index(2)];
                let accounts = format!("account,timeZone\na,{}\n", model.zone);
                case.ingest().accounts(case.file("accounts.csv", accounts)).run().unwrap();
                versions.insert(case.manifest().version, model.clone());
                continue;
            }
            let mut given: Vec<usize> = (0..files.len()).filter(|_| random.below(3) == 0).collect();
            if given.is_empty() {
                given.push(random.index(files.len()));
            }
            let readings = if random.below(2) == 0 { 1 } else { READINGS.len() };
            let ((zone, ignores_campaign), again) = (READINGS[random.index(readings)], random.below(8) == 0);
            let mut how = HowRead { zone, ignores_campaign, source: SOURCES[random.index(2)] };
            let removed = (random.below(5) == 0).then(|| SOURCES[random.index(3)]);
            let earlier = random.index(model.batches.len() + 1);
            if let Some(before) = model.batches.get(earlier).filter(|_| random.below(3) == 0) {
                let files: Vec<usize> = before.files.keys().copied().collect();
                given = if files.is_empty() { given } else { files };
                how = before.how;
            }
            let mut ingest = case.ingest().time_zone(how.zone.parse().unwrap()).source(how.source).again(again);
            if how.ignores_campaign {
                ingest = ingest.ignore("campaign");
            }
            if let Some(removed) = removed {
                ingest = ingest.replace_source(removed);
            }
            let ingest = given.iter().fold(ingest, |ingest, file| ingest.events(&paths[*file]));
            let expected = model.ingest(&files, &given, how, (again, removed));
            let found = match ingest.run() {
                Ok(summary) if summary.changed => Outcome::Applied,
                Ok(_) => Outcome::NothingChanged,
                Err(error) => {
                    assert!(repetition(&error).version > 0);
                    Outcome::Refused
                }
            };
            assert_eq!(found, expected, "seed {seed}, step {step}: {given:?} {how:?} {again} {removed:?}");
            *seen.entry(format!("{found:?}")).or_default() += 1;
            if found == Outcome::Applied {
                assert_eq!(stored_counts(&case), model.counts(), "seed {seed}, step {step}");
                versions.insert(case.manifest().version, model.clone());
            }
        }
    }
    assert!(seen.len() == 3 && seen.values().all(|count| *count > 10), "{seen:?}");
}
