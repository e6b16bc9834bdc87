//! What attempts leave, who removes it, and who may not.

use crate::case::{Case, Row, answers, ingest_in_parts, into, leftovers, random_rows, source, stage, stage_all};
use std::env;
use std::fs;
use std::io::{self, Cursor};
use std::path::{Path, PathBuf};
use std::process::{Command, exit};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use trueup_core::Interrupt;
use trueup_core::dataset::manifest_file;
use trueup_core::files::{FaultInjector, Files, InjectedFault, Operation};
use trueup_ingest::{ErrorKind, FileFormat, Ingest, Source, StageFault};
use trueup_testkit::damage::copy_folder;

fn dataset_with_rows(case: &Case) -> (PathBuf, Vec<Row>) {
    let dataset = case.path("dataset");
    into(&dataset).events(source(&random_rows(200, 1))).run().unwrap();
    (dataset, random_rows(100, 2))
}

#[test]
fn a_part_that_is_staged_twice_leaves_no_second_files() {
    let case = Case::new();
    let (dataset, rows) = dataset_with_rows(&case);
    let local = case.path("local");
    into(&local).events(source(&random_rows(200, 1))).run().unwrap();
    into(&local).events(source(&rows)).run().unwrap();
    let ingest = into(&dataset).begin_staged(3, None).unwrap();
    let first = stage_all(&dataset, &ingest, &rows);
    let second = stage_all(&dataset, &ingest, &rows);
    // One attempt of each part; it does not matter which.
    let staged = vec![first[0].clone(), second[1].clone(), first[2].clone()];
    ingest.commit(staged).unwrap();
    assert_eq!(leftovers(&dataset), Vec::<String>::new());
    assert_eq!(answers(&dataset), answers(&local));
}

#[test]
fn an_attempt_that_begins_after_the_ingest_has_ended_leaves_nothing() {
    let case = Case::new();
    let (dataset, rows) = dataset_with_rows(&case);
    let ended = |plan| {
        let error = stage(&dataset, &plan, 0, &rows).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Stage(StageFault::Ended { .. })), "{error}");
        assert_eq!(leftovers(&dataset), Vec::<String>::new());
    };
    let ingest = into(&dataset).begin_staged(2, None).unwrap();
    let plan = ingest.plan().clone();
    let staged = stage_all(&dataset, &ingest, &rows);
    ingest.commit(staged).unwrap();
    ended(plan);
    // The same holds for an ingest that was given up.
    let ingest = into(&dataset).begin_staged(2, None).unwrap();
    let (plan, _) = (ingest.plan().clone(), stage_all(&dataset, &ingest, &rows));
    drop(ingest);
    assert_eq!(manifest_file::versions(&dataset).unwrap(), [1, 2]);
    ended(plan);
}

#[test]
fn an_attempt_that_is_interrupted_leaves_nothing() {
    let case = Case::new();
    let (dataset, rows) = dataset_with_rows(&case);
    let ingest = into(&dataset).begin_staged(1, None).unwrap();
    let interrupt = Interrupt::default();
    let cancel = interrupt.clone();
    let attempt = Ingest::into(&dataset).events(source(&rows)).interrupt(interrupt);
    let error = attempt.progress(move |_| cancel.cancel()).stage(ingest.plan(), 0).unwrap_err();
    assert!(error.interruption().is_some(), "{error}");
    let left = leftovers(&dataset);
    assert!(left.len() == 1 && left[0].starts_with(".trueup-pending-"), "{left:?}");
    let staged = stage_all(&dataset, &ingest, &rows);
    ingest.commit(staged).unwrap();
    assert_eq!(leftovers(&dataset), Vec::<String>::new());
}

#[test]
fn no_other_ingest_writes_meanwhile() {
    let case = Case::new();
    let (dataset, rows) = dataset_with_rows(&case);
    let ingest = into(&dataset).begin_staged(2, None).unwrap();
    let first = stage(&dataset, ingest.plan(), 0, &rows).unwrap();
    let busy = into(&dataset).events(source(&rows)).run().unwrap_err();
    assert!(matches!(busy.kind(), ErrorKind::Busy { .. }), "{busy}");
    assert!(matches!(into(&dataset).begin_staged(1, None).unwrap_err().kind(), ErrorKind::Busy { .. }));
    // The files of the first part are still there.
    let second = stage(&dataset, ingest.plan(), 1, &rows).unwrap();
    ingest.commit([first, second]).unwrap();
    assert_eq!(leftovers(&dataset), Vec::<String>::new());
}

/// Set in a process that begins an ingest, stages it, and is killed.
const KILLED: &str = "TRUEUP_TEST_KILLED";

#[test]
fn a_process_that_is_killed_before_the_commit_leaves_what_the_next_ingest_removes() {
    const NAME: &str = "leftovers::a_process_that_is_killed_before_the_commit_leaves_what_the_next_ingest_removes";
    if let Some(dataset) = env::var_os(KILLED) {
        let dataset = Path::new(&dataset);
        let rows = random_rows(100, 2);
        let ingest = into(dataset).begin_staged(2, None).unwrap();
        fs::write(dataset.with_extension("plan"), ingest.plan().to_json().unwrap()).unwrap();
        let staged = stage_all(dataset, &ingest, &rows);
        assert_eq!(staged.len(), 2);
        // Nothing is dropped, as in a process that is killed.
        exit(9);
    }
    let case = Case::new();
    let (dataset, rows) = dataset_with_rows(&case);
    let before = answers(&dataset);
    let mut child = Command::new(env::current_exe().unwrap());
    let status = child.args(["--exact", NAME, "--nocapture"]).env(KILLED, &dataset).output().unwrap().status;
    assert_eq!(status.code(), Some(9));
    assert!(leftovers(&dataset).len() > 3);
    assert_eq!((manifest_file::versions(&dataset).unwrap(), answers(&dataset)), (vec![1], before));
    // An attempt of another process still runs, and stages its part.
    let plan = fs::read_to_string(dataset.with_extension("plan")).unwrap();
    let plan = trueup_ingest::StagePlan::from_json(&plan).unwrap();
    stage(&dataset, &plan, 1, &rows).unwrap();
    ingest_in_parts(into(&dataset), &dataset, &rows, 2, true);
    assert_eq!(leftovers(&dataset), Vec::<String>::new());
    assert!(stage(&dataset, &plan, 1, &rows).is_err());
    assert_eq!(leftovers(&dataset), Vec::<String>::new());
}

/// Delays what reads the inputs for their checksum.
#[derive(Debug)]
struct SlowChecksum;

impl FaultInjector for SlowChecksum {
    fn before(&self, operation: Operation, _: &Path) -> Option<InjectedFault> {
        if operation == Operation::Read && thread::current().name() == Some("checksum") {
            thread::sleep(Duration::from_millis(200));
        }
        None
    }
}

#[test]
fn received_inputs_stay_until_their_checksum_is_known() {
    let case = Case::new();
    let dataset = case.path("dataset");
    let spend = |account: &str| {
        let text = format!("account,date,adSpend\n{account},2025-01-03,1\n");
        Source::reader(FileFormat::CSV, Cursor::new(text))
    };
    let ingest = into(&dataset).files(Files::failing(Arc::new(SlowChecksum)));
    let ingest = ingest.spend(spend("a0")).spend(spend("a1")).begin_staged(1, None).unwrap();
    let staged = stage_all(&dataset, &ingest, &random_rows(10, 1));
    assert_eq!(ingest.commit(staged).unwrap().spend.taken, 2);
}

/// Makes one file operation fail, once it is armed.
#[derive(Debug)]
struct FailsOnce {
    is_armed: AtomicBool,
    /// The operations before it.
    left: AtomicUsize,
    /// Whether the operation takes effect nevertheless.
    takes_effect: bool,
}

impl FaultInjector for FailsOnce {
    fn before(&self, _: Operation, _: &Path) -> Option<InjectedFault> {
        let is_armed = self.is_armed.load(Ordering::Relaxed);
        let error = || io::Error::other("an injected fault");
        let fault = if self.takes_effect { InjectedFault::FailAfter } else { InjectedFault::Fail };
        (is_armed && self.left.fetch_sub(1, Ordering::Relaxed) == 0).then(|| fault(error()))
    }
}

#[test]
fn a_failed_operation_of_the_commit_leaves_the_old_or_the_new_dataset() {
    let case = Case::new();
    let (dataset, rows) = dataset_with_rows(&case);
    let (before, after) = (answers(&dataset), {
        let local = case.path("local");
        copy_folder(&dataset, &local).unwrap();
        into(&local).events(source(&rows)).run().unwrap();
        answers(&local)
    });
    let mut failed = 0;
    for position in 0.. {
        let mut commits = 0;
        for takes_effect in [false, true] {
            let copy = case.path(&format!("{position}-{takes_effect}"));
            copy_folder(&dataset, &copy).unwrap();
            let fault = Arc::new(FailsOnce { is_armed: false.into(), left: AtomicUsize::new(position), takes_effect });
            let ingest = into(&copy).files(Files::failing(fault.clone())).begin_staged(2, None).unwrap();
            let staged = stage_all(&copy, &ingest, &rows);
            fault.is_armed.store(true, Ordering::Relaxed);
            let committed = ingest.commit(staged);
            failed += usize::from(committed.is_err());
            commits += usize::from(committed.is_ok());
            let is_published = manifest_file::versions(&copy).unwrap() == [1, 2];
            assert!(is_published || committed.is_err(), "{position}");
            assert_eq!(answers(&copy), if is_published { after.clone() } else { before.clone() }, "{position}");
            // The next ingest succeeds, and removes what is left.
            ingest_in_parts(into(&copy), &copy, &rows, 2, true);
            assert_eq!(leftovers(&copy), Vec::<String>::new(), "{position}");
        }
        if commits == 2 && position > 20 {
            break;
        }
    }
    assert!(failed > 10, "{failed}");
}

/// Cancels an ingest before one file operation.
#[derive(Debug)]
struct Canceling {
    interrupt: Interrupt,
    /// The number of the operation.
    at: usize,
    /// The number of operations so far.
    count: AtomicUsize,
}

impl FaultInjector for Canceling {
    fn before(&self, _: Operation, _: &Path) -> Option<InjectedFault> {
        if self.count.fetch_add(1, Ordering::Relaxed) == self.at {
            self.interrupt.cancel();
        }
        None
    }
}

#[test]
fn an_interrupt_is_reported_as_one_wherever_it_comes() {
    let case = Case::new();
    let (dataset, rows) = dataset_with_rows(&case);
    let mut stopped = 0;
    for at in 0.. {
        let copy = case.path(&at.to_string());
        copy_folder(&dataset, &copy).unwrap();
        let canceling = Arc::new(Canceling { interrupt: Interrupt::default(), at, count: AtomicUsize::new(0) });
        let ingest = into(&copy).files(Files::failing(canceling.clone())).interrupt(canceling.interrupt.clone());
        let run = ingest.begin_staged(2, None).and_then(|begun| {
            let staged = stage_all(&copy, &begun, &rows);
            begun.commit(staged)
        });
        match run {
            Ok(_) if canceling.count.load(Ordering::Relaxed) <= at => break,
            // The version was published before.
            Ok(_) => {}
            Err(error) => {
                assert!(error.interruption().is_some(), "{at}: {error}");
                stopped += 1;
            }
        }
    }
    assert!(stopped > 10, "{stopped}");
}
