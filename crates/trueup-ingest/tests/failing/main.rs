//! File operations of an ingest that fail, in every way and at every position. The dataset is then the old one or the
//! new one, as a whole.

#![expect(clippy::unwrap_used, reason = "tests")]

mod case;
mod compact;
mod forget;
mod interrupts;

use case::Case;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use trueup_core::dataset::{Verification, manifest_file};
use trueup_core::files::{FaultInjector, Files, InjectedFault, Operation};
use trueup_core::query::EventsQuery;
use trueup_core::{Dataset, ResultTable};
use trueup_ingest::{Ingest, IngestError, IngestSummary};
use trueup_testkit::damage::copy_folder;
use trueup_testkit::exhaustive::{is_exhaustive, step};

/// Error numbers of Linux.
const EINTR: i32 = 4;
const EIO: i32 = 5;
const EACCES: i32 = 13;
const ENOSPC: i32 = 28;

/// How an operation fails.
#[derive(Clone, Copy, Debug)]
enum Way {
    Error(i32),
    /// The operation takes effect, but reports an error.
    ErrorAfter(i32),
    /// The operation reads or writes a single byte.
    Short,
}

const WAYS: [Way; 6] =
    [Way::Error(EIO), Way::Error(ENOSPC), Way::Error(EACCES), Way::Error(EINTR), Way::ErrorAfter(EIO), Way::Short];

/// Fails one operation, or all from it on, as if the disk were lost. Counts only operations that can fail in this way.
#[derive(Debug)]
struct Failing {
    way: Way,
    /// The number of the operation that fails.
    first: usize,
    /// Whether all later operations fail too.
    ever_after: bool,
    /// The number of operations so far that can fail in this way.
    count: AtomicUsize,
    /// All operations so far.
    seen: Mutex<Vec<Operation>>,
    hit: Mutex<Option<(Operation, PathBuf)>>,
}

impl Failing {
    fn new(way: Way, first: usize, ever_after: bool) -> Arc<Self> {
        let (count, seen, hit) = (AtomicUsize::new(0), Mutex::default(), Mutex::default());
        Arc::new(Self { way, first, ever_after, count, seen, hit })
    }
}

impl FaultInjector for Failing {
    fn before(&self, operation: Operation, path: &Path) -> Option<InjectedFault> {
        self.seen.lock().unwrap().push(operation);
        // The thread that computes checksums may run earlier or later, so a number alone does not say which operation
        // it is.
        if !self.way.applies_to(operation) {
            return None;
        }
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let fails = if self.ever_after { number >= self.first } else { number == self.first };
        if !fails {
            return None;
        }
        self.hit.lock().unwrap().get_or_insert_with(|| (operation, path.to_owned()));
        Some(match self.way {
            Way::Error(number) => InjectedFault::Fail(io::Error::from_raw_os_error(number)),
            Way::ErrorAfter(number) => InjectedFault::FailAfter(io::Error::from_raw_os_error(number)),
            Way::Short => InjectedFault::Short,
        })
    }
}

impl Way {
    /// Returns whether an operation can fail in this way. Only reads and writes can be short or report that a signal
    /// interrupted them, because the standard library repeats the other calls.
    fn applies_to(self, operation: Operation) -> bool {
        let is_transfer = matches!(operation, Operation::Read | Operation::Write);
        is_transfer || !matches!(self, Self::Error(EINTR) | Self::Short)
    }
}

/// Returns the answer to a query of the dataset, and the number of its files of insights.
fn answers(dataset: &Path) -> (ResultTable, usize) {
    let fields = ["account", "opportunityId", "eventCount", "total", "closedRevenue", "spend", "customers"];
    let query = EventsQuery::new(fields, "2025-01-01".parse().unwrap(), "2025-04-30".parse().unwrap());
    let query = query.allow_long_total();
    let dataset = Dataset::open(dataset).unwrap();
    let insights = dataset.manifest().unwrap().tables()[3].1.len();
    (dataset.query(&query).unwrap(), insights)
}

fn faults(dataset: &Path) -> Vec<String> {
    Verification::of(dataset, None).unwrap().faults
}

/// Returns everything in the dataset's folder that no manifest names, except for the manifests.
fn leftovers(dataset: &Path) -> Vec<PathBuf> {
    let versions = manifest_file::versions(dataset).unwrap();
    let manifests = versions.iter().map(|version| manifest_file::read(dataset, *version).unwrap());
    let named: Vec<PathBuf> = manifests
        .flat_map(|manifest| manifest.files().cloned().collect::<Vec<_>>())
        .map(|file| dataset.join(file.path))
        .collect();
    let mut left = Vec::new();
    for entry in fs::read_dir(dataset).unwrap().map(|entry| entry.unwrap().path()) {
        let name = entry.file_name().unwrap().to_string_lossy().into_owned();
        if entry.is_file() {
            left.extend((!name.starts_with("manifest-")).then_some(entry));
        } else if ["events", "spend", "accounts", "insights", "forgotten", "lists", "vectors", "batches", "mapping"]
            .contains(&&*name)
        {
            left.extend(
                fs::read_dir(entry).unwrap().map(|file| file.unwrap().path()).filter(|path| !named.contains(path)),
            );
        } else {
            left.push(entry);
        }
    }
    left
}

/// Runs an ingest with failing operations.
fn run_failing(failing: &Arc<Failing>, ingest: Ingest) -> Result<IngestSummary, IngestError> {
    ingest.files(Files::failing(failing.clone())).run()
}

/// Lets operations of an ingest fail in the given ways, at every position that is a multiple of `step`, and checks each
/// time what is left. Each way has its own case and thread. Returns how many ingests failed.
fn fail_each(make: fn() -> Case, ways: &[Way], ever_after: bool, step: usize) -> usize {
    thread::scope(|scope| {
        let threads: Vec<_> =
            ways.iter().map(|way| scope.spawn(move || fail_in(&make(), *way, ever_after, step))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    })
}

fn fail_in(case: &Case, way: Way, ever_after: bool, step: usize) -> usize {
    let (old_folder, dataset) = (case.dir.path().join("old"), case.dataset());
    fs::rename(&dataset, &old_folder).unwrap();
    let inputs = case.inputs();
    let reset = || {
        if dataset.exists() {
            fs::remove_dir_all(&dataset).unwrap();
        }
        copy_folder(&old_folder, &dataset).unwrap();
    };
    reset();
    let old = answers(&dataset);
    let counting = Failing::new(Way::Short, usize::MAX, false);
    run_failing(&counting, case.second()).unwrap();
    let new = answers(&dataset);
    assert_ne!(old, new);
    assert_eq!(leftovers(&dataset), Vec::<PathBuf>::new());
    let operations = std::mem::take(&mut *counting.seen.lock().unwrap());
    let count = operations.iter().filter(|operation| way.applies_to(**operation)).count();
    let mut failed = 0;
    for first in (0..count).step_by(step) {
        reset();
        let failing = Failing::new(way, first, ever_after);
        let run = run_failing(&failing, case.second());
        let (operation, path) = failing.hit.lock().unwrap().clone().unwrap();
        let what = format!("{way:?} of {operation:?} {first} at {}: {run:?}", path.display());
        let found = answers(&dataset);
        match &run {
            Ok(_) => assert_eq!(found, new, "{what}"),
            Err(error) if error.may_be_published() => assert!(found == new || found == old, "{what}"),
            Err(error) => {
                assert_eq!(found, old, "{what}");
                assert!(!error.to_string().is_empty());
            }
        }
        if matches!(way, Way::Error(EINTR) | Way::Short) {
            assert!(run.is_ok(), "{what}");
        }
        assert_eq!(case.inputs(), inputs, "{what}");
        failed += usize::from(run.is_err());
        // When the disk works again, the same ingest makes the new dataset, and nothing is left over.
        case.second().run().unwrap();
        assert_eq!(answers(&dataset), new, "{what}");
        assert_eq!(faults(&dataset), Vec::<String>::new(), "{what}");
        assert_eq!(leftovers(&dataset), Vec::<PathBuf>::new(), "{what}");
    }
    println!("{way:?}: {failed} of {} ingests failed", count.div_ceil(step));
    failed
}

#[test]
fn a_failed_operation_leaves_the_old_dataset_or_the_new_one() {
    let failed = fail_each(Case::new, &WAYS, false, step(3));
    assert!(failed > 20, "{failed}");
}

#[test]
fn a_lost_disk_leaves_the_old_dataset_or_the_new_one() {
    let failed = fail_each(Case::new, &[Way::Error(EIO), Way::ErrorAfter(EIO)], true, step(3));
    assert!(failed > 13, "{failed}");
}

#[test]
fn a_failed_spill_leaves_the_old_dataset_or_the_new_one() {
    let ways = if is_exhaustive() { &WAYS[..] } else { &[Way::Error(ENOSPC), Way::Short] };
    let failed = fail_each(Case::spilled, ways, false, step(23));
    assert!(failed > 15, "{failed}");
}

#[test]
fn a_failed_operation_on_other_inputs_leaves_the_old_dataset_or_the_new_one() {
    for make in [Case::gzip, Case::xlsx, Case::mapped] {
        let failed = fail_each(make, &WAYS, false, step(13));
        assert!(failed > 5, "{failed}");
    }
}

#[test]
fn a_failed_first_ingest_leaves_nothing() {
    let case = Case::new();
    let dataset = case.dataset();
    let counting = Failing::new(Way::Short, usize::MAX, false);
    fs::remove_dir_all(&dataset).unwrap();
    run_failing(&counting, case.first()).unwrap();
    let new = answers(&dataset);
    let operations = counting.seen.lock().unwrap().len();
    for first in 0..operations {
        fs::remove_dir_all(&dataset).unwrap();
        let failing = Failing::new(Way::Error(EIO), first, false);
        let run = run_failing(&failing, case.first());
        let hit = failing.hit.lock().unwrap().clone();
        match run {
            Err(error) if !error.may_be_published() => assert!(!dataset.exists(), "{hit:?}: {error}"),
            _ => assert_eq!(answers(&dataset), new, "{hit:?}"),
        }
        case.first().run().unwrap();
        assert_eq!(answers(&dataset), new, "{hit:?}");
    }
}

#[test]
fn the_name_of_a_new_folder_is_durable_even_if_it_is_relative() {
    /// Fails the sync of the working folder.
    #[derive(Debug)]
    struct WorkingFolder;
    impl FaultInjector for WorkingFolder {
        fn before(&self, operation: Operation, path: &Path) -> Option<InjectedFault> {
            let is_synced = operation == Operation::Sync && path == Path::new(".");
            is_synced.then(|| InjectedFault::Fail(io::Error::from_raw_os_error(EIO)))
        }
    }
    let case = Case::new();
    let dataset = PathBuf::from(format!("dataset-of-test-{}", std::process::id()));
    let ingest = Ingest::into(&dataset).events(case.dir.path().join("1.csv"));
    let run = ingest.files(Files::failing(Arc::new(WorkingFolder))).run();
    let is_left = dataset.exists();
    if is_left {
        fs::remove_dir_all(&dataset).unwrap();
    }
    assert_eq!(run.unwrap_err().to_string(), "cannot sync `.`");
    assert!(!is_left);
}

#[test]
fn new_folders_are_durable_before_a_version_is_published() {
    /// Notes the operations on folders, and the publication.
    #[derive(Debug, Default)]
    struct Noting(Mutex<Vec<(Operation, PathBuf)>>);
    impl FaultInjector for Noting {
        fn before(&self, operation: Operation, path: &Path) -> Option<InjectedFault> {
            self.0.lock().unwrap().push((operation, path.to_owned()));
            None
        }
    }
    let case = Case::new();
    let dataset = case.dataset();
    fs::remove_dir_all(&dataset).unwrap();
    for ingest in [case.first(), case.second()] {
        let noting = Arc::new(Noting::default());
        ingest.files(Files::failing(noting.clone())).run().unwrap();
        let noted = noting.0.lock().unwrap();
        let published = noted.iter().position(|(operation, _)| *operation == Operation::Link).unwrap();
        let is_new = |(operation, path): &(Operation, PathBuf)| {
            *operation == Operation::CreateFolder && path.parent() == Some(&*dataset)
        };
        let made = noted[..published].iter().rposition(is_new).unwrap();
        let is_synced = noted[made..published].contains(&(Operation::Sync, dataset.clone()));
        assert!(is_synced, "{:?}", &noted[made..=published]);
    }
}

#[test]
fn a_record_that_a_part_still_writes_into_is_removed() {
    /// Lets the first removal of a record fail, as if a file had been written into it meanwhile.
    #[derive(Debug)]
    struct Written(PathBuf, AtomicUsize);
    impl FaultInjector for Written {
        fn before(&self, operation: Operation, path: &Path) -> Option<InjectedFault> {
            let is_removal = operation == Operation::RemoveFolder && path == self.0;
            let is_first = is_removal && self.1.fetch_add(1, Ordering::Relaxed) == 0;
            is_first.then(|| InjectedFault::Fail(io::ErrorKind::DirectoryNotEmpty.into()))
        }
    }
    let case = Case::new();
    let record = case.dataset().join(format!(".trueup-pending-{}", "a".repeat(32)));
    fs::create_dir(&record).unwrap();
    let files = Files::failing(Arc::new(Written(record.clone(), AtomicUsize::new(0))));
    case.second().files(files).run().unwrap();
    assert!(!record.exists());
}

#[test]
fn a_failed_sync_after_publication_keeps_the_version() {
    /// Fails the sync of the dataset's folder after the second manifest was published.
    #[derive(Debug)]
    struct LastSync(PathBuf);
    impl FaultInjector for LastSync {
        fn before(&self, operation: Operation, path: &Path) -> Option<InjectedFault> {
            let is_last =
                operation == Operation::Sync && path == self.0 && path.join("manifest-00000002.json").exists();
            is_last.then(|| InjectedFault::Fail(io::Error::from_raw_os_error(EIO)))
        }
    }
    let case = Case::new();
    let old = answers(&case.dataset());
    let files = Files::failing(Arc::new(LastSync(case.dataset())));
    let error = case.second().files(files).run().unwrap_err();
    assert!(error.may_be_published() && !error.is_usage(), "{error}");
    assert!(error.to_string().starts_with("version 2 is published, durability unknown: cannot sync"), "{error}");
    let new = answers(&case.dataset());
    assert_ne!(old, new);
    assert_eq!(faults(&case.dataset()), Vec::<String>::new());
    // Events with ids are applied again, and change nothing that is asked.
    assert!(case.second().run().unwrap().changed);
    assert_eq!(answers(&case.dataset()), new);
}
