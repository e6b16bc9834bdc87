//! Forgetting: the newest version answers as one that never had the customers, and after a purge no file has them.

#![expect(clippy::unwrap_used, reason = "tests")]

mod stays;

use arrow_array::{Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;
use trueup_core::dataset::manifest::{DataFile, FileList, checksum};
use trueup_core::dataset::{
    AsOf, BlockHasher, CommitOperation, DatasetError, Verification, VersionSummary, encode_list, manifest_file,
};
use trueup_core::definitions::Definitions;
use trueup_core::files::Files;
use trueup_core::query::EventsQuery;
use trueup_core::{Dataset, Day, Error, ResultTable, Value};
use trueup_ingest::{Compact, Customer, Define, ErrorKind, Expire, Forget, ForgetSummary, Ingest};
use trueup_testkit::damage::copy_folder;
use trueup_testkit::search::files_with;

const HEADER: &str = "account,opportunityId,type,date,eventId,campaign\n";

/// The customer that most tests forget; no other text has its id, but another customer has a part of it.
const ANN: &str = "ann-7c1f";

/// What the events of that customer have: its id, ids of its events, and a dimension. One of the events moves to
/// another customer, and keeps its id.
const TRACES: [&str; 3] = [ANN, "event-of-a", "campaign-of-a"];

/// A dataset in a folder, next to its inputs.
struct Case {
    dir: TempDir,
}

impl Case {
    /// Makes a dataset of three versions. The first does not have the customer, and the third moves one of the
    /// customer's events to another customer.
    fn new() -> Self {
        let case = Self { dir: tempfile::tempdir().unwrap() };
        case.ingest(&rows("b", 0..40));
        let ann =
            |number: usize, kind: &str| format!("a,{ANN},{kind},2025-01-0{number},event-of-a-{number},campaign-of-a\n");
        case.ingest(&(ann(1, "lead-originated") + &ann(2, "booked") + &ann(3, "sold") + &rows("a", 0..40)));
        case.ingest(&("a,ann-7c,lead-originated,2025-01-02,event-of-a-2,c1\n".to_owned() + &rows("z", 0..3)));
        case
    }

    fn dataset(&self) -> PathBuf {
        self.dir.path().join("ds")
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn ingest(&self, rows: &str) -> u64 {
        let events = self.write("events.csv", &format!("{HEADER}{rows}"));
        Ingest::into(self.dataset()).events(events).row_group_rows(16).run().unwrap().version
    }

    fn forget(&self) -> Forget {
        Forget::new(self.dataset()).row_group_rows(16).now(noon("2025-06-30"))
    }

    fn versions(&self) -> Vec<u64> {
        manifest_file::versions(&self.dataset()).unwrap()
    }
}

/// Returns events of some customers of an account.
fn rows(account: &str, customers: std::ops::Range<usize>) -> String {
    let row = |customer| format!("{account},{customer},lead-originated,2025-01-02,{account}{customer},c{customer}\n");
    customers.map(row).collect()
}

/// Returns noon of a day in UTC.
fn noon(day: &str) -> SystemTime {
    let day: Day = day.parse().unwrap();
    SystemTime::UNIX_EPOCH + Duration::from_secs(86_400 * u64::from(day.number()) + 43_200)
}

fn answers(dataset: &Dataset) -> ResultTable {
    let fields = ["account", "opportunityId", "type", "date", "campaign", "eventId", "eventCount", "customers"];
    dataset.query(&EventsQuery::new(fields, "2025-01-01".parse().unwrap(), "2025-03-31".parse().unwrap())).unwrap()
}

fn answers_of(dataset: &Path) -> ResultTable {
    answers(&Dataset::open(dataset).unwrap())
}

/// Returns the ids of the customers of which a dataset has events, with their accounts.
fn customers(dataset: &Dataset) -> Vec<String> {
    let query = EventsQuery::new(
        ["account", "opportunityId", "eventCount"],
        "2025-01-01".parse().unwrap(),
        "2025-03-31".parse().unwrap(),
    );
    let answer = dataset.query(&query).unwrap();
    let text = |row, name| match answer.value(row, name) {
        Some(Value::Text(text)) => text.to_owned(),
        other => unreachable!("{other:?}"),
    };
    (0..answer.len()).map(|row| format!("{}/{}", text(row, "account"), text(row, "opportunityId"))).collect()
}

fn faults(dataset: &Path) -> Vec<String> {
    let versions = manifest_file::versions(dataset).unwrap().into_iter();
    versions.flat_map(|version| Verification::of(dataset, Some(version.into())).unwrap().faults).collect()
}

/// Returns the paths below the dataset's folder that no version names, except for the manifests.
fn unnamed(dataset: &Path) -> Vec<String> {
    let versions = manifest_file::versions(dataset).unwrap().into_iter();
    let named: Vec<String> = versions
        .flat_map(|version| manifest_file::read(dataset, version).unwrap().files().cloned().collect::<Vec<_>>())
        .map(|file| file.path)
        .collect();
    let mut unnamed = Vec::new();
    for entry in fs::read_dir(dataset).unwrap().map(|entry| entry.unwrap()) {
        let folder = entry.file_name().into_string().unwrap();
        if !entry.path().is_dir() {
            unnamed.extend((!folder.starts_with("manifest-")).then_some(folder));
            continue;
        }
        for file in fs::read_dir(entry.path()).unwrap() {
            unnamed.push(format!("{folder}/{}", file.unwrap().file_name().into_string().unwrap()));
        }
    }
    unnamed.retain(|path| !named.contains(path));
    unnamed
}

#[test]
fn the_newest_version_answers_as_if_it_never_had_the_customers() {
    let case = Case::new();
    let before = Dataset::open(case.dataset()).unwrap();
    let (all, expected) = (answers(&before), customers(&before));
    let summary = case.forget().customer("a", ANN).customer("b", ANN).customer("z", "1").run().unwrap();
    let absent = Customer { account: "b".to_owned(), opportunity_id: ANN.to_owned() };
    assert_eq!((summary.version, summary.customers, summary.events, summary.recorded), (4, 2, 3, 3));
    assert_eq!((summary.absent, summary.expired.len(), summary.removed.files), (vec![absent], 0, 0));
    let now = Dataset::open(case.dataset()).unwrap();
    let gone = [format!("a/{ANN}"), "z/1".to_owned()];
    let left: Vec<String> = expected.iter().filter(|customer| !gone.contains(customer)).cloned().collect();
    assert_eq!(customers(&now), left);
    assert_eq!(faults(&case.dataset()), Vec::<String>::new());
    let operation = VersionSummary::of_all(case.dataset()).unwrap()[3].operation;
    assert_eq!((operation, operation.name()), (CommitOperation::Forget, "forget"));
    // A reader of the version before still sees the customers.
    assert_eq!((answers(&before), answers(&Dataset::open_as_of(case.dataset(), 3).unwrap())), (all.clone(), all));
    assert!(!files_with(&case.dataset(), &[ANN]).unwrap().is_empty());
    // A dataset that is opened again takes over what the open one has in memory.
    assert_eq!(answers(&before.reopen().unwrap().unwrap()), answers(&now));
    // What is forgotten is forgotten, also after a compaction.
    let again = case.forget().customer("a", ANN).run().unwrap();
    assert_eq!((again.version, again.customers, again.events, again.absent.len()), (4, 0, 0, 1));
    Compact::new(case.dataset()).all().run().unwrap();
    assert_eq!(answers_of(&case.dataset()), answers(&now));
}

#[test]
fn a_dataset_may_forget_all_of_its_customers() {
    for purges in [false, true] {
        let case = Case { dir: tempfile::tempdir().unwrap() };
        case.ingest(&rows("a", 0..3));
        let forget = (0..3).fold(case.forget(), |forget, customer| forget.customer("a", customer.to_string()));
        let forget = if purges { forget.purge() } else { forget };
        assert_eq!(forget.run().unwrap().events, 3);
        let opened = Dataset::open(case.dataset()).unwrap();
        assert_eq!((opened.event_rows(), opened.date_range()), (0, None));
        assert_eq!(faults(&case.dataset()), Vec::<String>::new());
        assert_eq!(case.ingest(&rows("a", 1..5)), 3);
        assert_eq!(customers(&Dataset::open(case.dataset()).unwrap()), ["a/3", "a/4"]);
    }
}

#[test]
fn after_a_purge_no_file_has_the_customers() {
    let case = Case::new();
    let first = answers(&Dataset::open_as_of(case.dataset(), 1).unwrap());
    assert!(files_with(&case.dataset(), &TRACES).unwrap().len() > 1);
    let summary = case.forget().customer("a", ANN).purge().grace(Duration::ZERO).run().unwrap();
    assert_eq!((summary.version, summary.customers, summary.events, summary.absent.len()), (4, 1, 2, 0));
    // The first version has no file with the customer, so it stays.
    assert_eq!((summary.expired.as_slice(), case.versions()), ([2, 3].as_slice(), vec![1, 4]));
    assert!(summary.removed.files > 0 && summary.waiting.files == 0, "{summary:?}");
    // The event that moved to another customer keeps its own id, `event-of-a-2`, which is therefore not searched for.
    let found = files_with(&case.dataset(), &[ANN, "event-of-a-1", "event-of-a-3", "campaign-of-a"]).unwrap();
    assert_eq!(found, Vec::<PathBuf>::new());
    assert_eq!((faults(&case.dataset()), unnamed(&case.dataset())), (vec![], vec![]));
    let left = customers(&Dataset::open(case.dataset()).unwrap());
    assert!(left.contains(&"a/ann-7c".to_owned()) && !left.contains(&format!("a/{ANN}")), "{left:?}");
    assert_eq!(left.len(), 84);
    assert_eq!(answers(&Dataset::open_as_of(case.dataset(), 1).unwrap()), first);
    // Calling it again changes nothing.
    let again = case.forget().customer("a", ANN).purge().grace(Duration::ZERO).run().unwrap();
    assert_eq!((again.version, again.events, again.absent.len(), again.expired.len()), (4, 0, 1, 0));
}

/// Takes the index away from all files of events, as in a dataset of an earlier trueup: makes another dataset, whose
/// only version is the newest one of `from`.
fn without_index(from: &Path, to: &Path) {
    let mut manifest = manifest_file::read_latest(from).unwrap().unwrap();
    copy_folder(from, to).unwrap();
    for version in manifest_file::versions(to).unwrap() {
        fs::remove_file(to.join(manifest_file::file_name(version))).unwrap();
    }
    let describe = |file: &mut DataFile| {
        let bytes = fs::read(to.join(&file.path)).unwrap();
        let mut blocks = BlockHasher::default();
        blocks.add(&bytes);
        (file.size, file.blocks) = (bytes.len() as u64, blocks.finish());
        file.blake3 = checksum(&bytes);
    };
    for file in &mut manifest.events {
        let mut bytes = fs::read(to.join(&file.path)).unwrap();
        let mark = bytes.windows(8).position(|window| window == b"TRUEUPK3").unwrap();
        bytes[mark] = b'_';
        fs::write(to.join(&file.path), bytes).unwrap();
        describe(file);
    }
    let path = "lists/events.parquet".to_owned();
    fs::write(to.join(&path), encode_list(&manifest.events).unwrap()).unwrap();
    let mut list = DataFile { path, rows: manifest.events.len() as u64, ..DataFile::default() };
    describe(&mut list);
    manifest.lists.events = vec![FileList { file: list, removed: Vec::new() }];
    let staging = tempfile::tempdir_in(to.parent().unwrap()).unwrap();
    manifest_file::publish(&Files::default(), to, staging.path(), &manifest).unwrap();
}

#[test]
fn files_without_an_index_are_searched_too() {
    for purges in [false, true] {
        let case = Case::new();
        case.forget().customer("a", ANN).run().unwrap();
        let expected = answers_of(&case.dataset());
        let former = Case::new();
        let dataset = former.dir.path().join("former");
        without_index(&former.dataset(), &dataset);
        assert_eq!(answers_of(&dataset), answers_of(&former.dataset()));
        let forget = Forget::new(&dataset).customer("a", ANN);
        let summary = if purges { forget.purge().grace(Duration::ZERO) } else { forget }.run().unwrap();
        assert_eq!((summary.events, answers_of(&dataset)), (2, expected));
        assert_eq!(files_with(&dataset, &[ANN]).unwrap().is_empty(), purges);
    }
}

#[test]
fn events_that_were_superseded_or_forgotten_before_are_purged_too() {
    let case = Case::new();
    case.forget().customer("a", ANN).run().unwrap();
    let summary = case.forget().customer("a", ANN).purge().grace(Duration::ZERO).run().unwrap();
    // Only files of the newest version that have superseded events of the customer are written again.
    assert_eq!((summary.customers, summary.events, summary.absent.len()), (0, 0, 0));
    assert_eq!(files_with(&case.dataset(), &[ANN]).unwrap(), Vec::<PathBuf>::new());
    assert_eq!((case.versions()[0], faults(&case.dataset())), (1, vec![]));
    // Versions that have expired before, whose files wait for the end of their grace period.
    let case = Case::new();
    let before = answers_of(&case.dataset());
    Compact::new(case.dataset()).all().run().unwrap();
    Expire::new(case.dataset()).run().unwrap();
    let summary = case.forget().customer("a", ANN).purge().grace(Duration::ZERO).run().unwrap();
    assert_eq!((summary.expired.as_slice(), summary.waiting.files), ([4].as_slice(), 0));
    assert_eq!(files_with(&case.dataset(), &[ANN]).unwrap(), Vec::<PathBuf>::new());
    assert_ne!(answers_of(&case.dataset()), before);
}

#[test]
fn a_reader_of_an_earlier_version_goes_on_until_the_grace_period_is_over() {
    let case = Case::new();
    let opened = Dataset::open(case.dataset()).unwrap();
    let before = answers(&opened);
    let summary = case.forget().customer("a", ANN).purge().run().unwrap();
    assert!(summary.removed.files == 0 && summary.waiting.files > 0, "{summary:?}");
    let opened_late = Dataset::open_as_of(case.dataset(), 3).unwrap_err();
    assert!(matches!(opened_late, Error::Dataset(DatasetError::ExpiredVersion { .. })), "{opened_late}");
    assert_eq!(answers(&opened), before);
    assert!(!files_with(&case.dataset(), &[ANN]).unwrap().is_empty());
    // No command removes the files before the grace period is over; a day later, any command that writes does.
    let again = case.forget().customer("a", ANN).purge().run().unwrap();
    assert_eq!((again.waiting, again.version), (summary.waiting, 4));
    assert_eq!(Expire::new(case.dataset()).vacuum().run().unwrap().waiting, summary.waiting);
    for name in unnamed(&case.dataset()).iter().filter(|name| name.starts_with(".trueup-expired-")) {
        let record = File::options().write(true).open(case.dataset().join(name)).unwrap();
        record.set_modified(SystemTime::now() - Duration::from_secs(25 * 60 * 60)).unwrap();
    }
    case.ingest(&rows("y", 0..1));
    assert_eq!((files_with(&case.dataset(), &[ANN]).unwrap(), unnamed(&case.dataset())), (vec![], vec![]));
}

#[test]
fn no_time_of_a_purged_version_is_answered_from_another_one() {
    let case = Case::new();
    let committed: Vec<SystemTime> =
        VersionSummary::of_all(case.dataset()).unwrap().iter().map(|version| version.committed.into()).collect();
    case.forget().customer("a", ANN).purge().grace(Duration::ZERO).run().unwrap();
    let version = |time: SystemTime| Dataset::open_as_of(case.dataset(), AsOf::from(time));
    for time in &committed[1..] {
        let error = version(*time).unwrap_err();
        let removed = matches!(error, Error::Dataset(DatasetError::RemovedAsOf { before: 1, after: 4, .. }));
        assert!(removed && error.to_string().contains("those between 1 and 4 were removed"), "{error}");
    }
    for (time, expected) in [(committed[0], 1), (SystemTime::now(), 4)] {
        assert_eq!(version(time).unwrap().manifest().unwrap().version, expected);
    }
}

/// Returns what becomes of the call, and the number of events that are left.
fn forget_in(case: &Case, list: &Path) -> Result<(ForgetSummary, u64), String> {
    let summary = case.forget().customers_in(list).run().map_err(|error| error.to_string())?;
    Ok((summary, Dataset::open(case.dataset()).unwrap().event_rows()))
}

#[test]
fn customers_are_read_from_files() {
    let case = Case::new();
    let all = Dataset::open(case.dataset()).unwrap().event_rows();
    let list = format!("requested,opportunityId,account\n2026-01-02,{ANN},a\n2026-01-03,1,b\n2026-01-03,1,b\n");
    let (summary, left) = forget_in(&case, &case.write("list.csv", &list)).unwrap();
    assert_eq!((summary.customers, summary.events, left), (2, 3, all - 3));
    let list = case
        .write("list.ndjson", "{\"account\":\"b\",\"opportunityId\":2}\n{\"account\":\"b\",\"opportunityId\":\"3\"}\n");
    assert_eq!(forget_in(&case, &list).unwrap().1, all - 5);
    let list = case.dir.path().join("list.parquet");
    let batch = RecordBatch::try_from_iter([
        ("opportunityId", Arc::new(Int64Array::from(vec![4, 5, 99])) as _),
        ("account", Arc::new(StringArray::from(vec!["b"; 3])) as _),
    ]);
    let mut writer =
        ArrowWriter::try_new(File::create(&list).unwrap(), batch.as_ref().unwrap().schema(), None).unwrap();
    writer.write(&batch.unwrap()).unwrap();
    writer.close().unwrap();
    let (summary, left) = forget_in(&case, &list).unwrap();
    assert_eq!((summary.absent.len(), left), (1, all - 7));
}

#[test]
fn a_faulty_list_changes_nothing() {
    let case = Case::new();
    for (text, message) in [
        ("account,opportunityId\nb,1\nb,\n", "list.csv`, line 3, column `opportunityId`: expected a value"),
        ("account,opportunityId\nb,1\n,1\n", "line 3, column `account`: expected a value"),
        ("account,opportunityId\nb,1\nb\n", "line 3: expected 2 cells as in the header"),
        ("account,customer\nb,1\n", "list.csv`: expected a column `opportunityId`, but found `account`, `customer`"),
        ("account,opportunityid\nb,1\n", "expected the column `opportunityId` in this very spelling"),
        ("account,opportunityId\n", "there is nobody to forget: name at least one customer"),
    ] {
        let error = forget_in(&case, &case.write("list.csv", text)).unwrap_err();
        assert!(error.contains(message), "{error}");
    }
    let error = forget_in(&case, &case.dir.path().join("absent.csv")).unwrap_err();
    assert!(error.contains("cannot open the input"), "{error}");
    let error = case.forget().run().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NobodyToForget) && error.is_usage(), "{error}");
    let absent = case.dir.path().join("absent");
    let error = Forget::new(&absent).customer("a", "1").run().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NoDataset(_)) && !absent.exists(), "{error}");
    assert_eq!(case.versions(), [1, 2, 3]);
}

#[test]
fn rejected_rows_of_the_customers_are_removed() {
    let case = Case::new();
    let rejects = case.dir.path().join("rejects.ndjson");
    let events =
        format!("{HEADER}a,{ANN},sold,soon,,\na,{ANN}0,sold,soon,,\nb,{ANN},sold,soon,,\na,7,sold,2025-02-01,,\n");
    let events = case.write("more.csv", &events);
    Ingest::into(case.dataset()).events(events).rejects(&rejects).run().unwrap();
    let forget = || case.forget().customer("a", ANN).rejects(&rejects);
    let summary = forget().run().unwrap();
    assert_eq!((summary.rejects, summary.events), (1, 2));
    let left = fs::read_to_string(&rejects).unwrap();
    assert!(
        left.lines().count() == 2
            && left.contains(&format!("\"{ANN}0\""))
            && !left.contains("\"account\":\"a\",\"opportunityId\":\"ann-7c1f\""),
        "{left}"
    );
    let written = fs::metadata(&rejects).unwrap().modified().unwrap();
    assert_eq!(forget().run().unwrap().rejects, 0);
    assert_eq!(fs::metadata(&rejects).unwrap().modified().unwrap(), written);
    // Anything else is refused before the dataset changes.
    let other = case.write("other.ndjson", &format!("{left}{{\"account\":\"b\"}}\n"));
    let error = case.forget().customer("b", "1").rejects(&other).run().unwrap_err();
    assert!(
        error.is_data()
            && error
                .to_string()
                .ends_with("other.ndjson`, line 3: expected a row as `--rejects` of an ingest writes it"),
        "{error}"
    );
    let own = case.dataset().join(manifest_file::file_name(1));
    assert!(
        case.forget()
            .customer("b", "1")
            .rejects(&own)
            .run()
            .unwrap_err()
            .to_string()
            .contains("belongs to the dataset")
    );
    assert_eq!(case.versions().last(), Some(&summary.version));
}

#[test]
fn rejected_json_objects_of_the_customers_are_removed() {
    let case = Case::new();
    let rejects = case.dir.path().join("rejects.ndjson");
    let object = |total: &str| format!("{{\"account\":\"a\",\"opportunityId\":\"{ANN}\",{total}}}\n");
    let events = object("\"total\":{\"sum\":1}")
        + &object("\"total\":1,\"total\":2")
        + "{\"account\":\"a\",\"opportunityId\":\"7\",\"type\":\"sold\",\"date\":\"2025-02-01\"}\n";
    let events = case.write("more.ndjson", &events);
    Ingest::into(case.dataset()).events(events).rejects(&rejects).run().unwrap();
    assert_eq!(case.forget().customer("a", ANN).rejects(&rejects).run().unwrap().rejects, 2);
    assert_eq!(fs::read_to_string(&rejects).unwrap(), "");
}

#[test]
fn a_definition_keeps_the_column_that_it_needs() {
    let case = Case { dir: tempfile::tempdir().unwrap() };
    case.ingest(&rows("b", 0..5));
    let events = format!("account,opportunityId,type,date,color\na,{ANN},booked,2025-01-31,crimson\n");
    Ingest::into(case.dataset()).events(case.write("color.csv", &events)).run().unwrap();
    let text =
        "[[dimension]]\nname = \"paint\"\nfrom = \"color\"\ncases = [{ equals = [\"crimson\"], value = \"Red\" }]\n";
    let define = |text: &str| Define::new(case.dataset(), &Definitions::parse(text).unwrap()).run();
    define(text).unwrap();
    let before = answers_of(&case.dataset());
    for forget in [case.forget(), case.forget().purge()] {
        let error = forget.customer("a", ANN).run().unwrap_err();
        let message = error.to_string();
        assert!(error.is_data() && message.contains("color") && message.ends_with("(`trueup define`)"), "{message}");
        assert_eq!((answers_of(&case.dataset()), unnamed(&case.dataset())), (before.clone(), vec![]));
    }
    define("").unwrap();
    assert_eq!(case.forget().customer("a", ANN).purge().grace(Duration::ZERO).run().unwrap().events, 1);
    assert_eq!(files_with(&case.dataset(), &[ANN, "crimson"]).unwrap(), Vec::<PathBuf>::new());
}
