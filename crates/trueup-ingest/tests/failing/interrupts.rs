//! Ingests that are interrupted, at every position. They leave nothing behind.

use super::{Case, answers, faults, leftovers};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use trueup_core::files::{FaultInjector, Files, InjectedFault, Operation};
use trueup_ingest::{ErrorKind, Ingest, Interrupt, Interruption, Phase};
use trueup_testkit::damage::copy_folder;
use trueup_testkit::exhaustive::step;

/// Cancels an ingest before an operation, which then happens as usual if the interrupt lets it.
#[derive(Debug)]
pub(crate) struct Canceling {
    pub(crate) interrupt: Interrupt,
    /// The number of the operation.
    at: usize,
    /// The number of operations so far.
    pub(crate) count: AtomicUsize,
}

impl Canceling {
    pub(crate) fn new(at: usize) -> Arc<Self> {
        Arc::new(Self { interrupt: Interrupt::default(), at, count: AtomicUsize::new(0) })
    }

    fn apply(self: &Arc<Self>, ingest: Ingest) -> Ingest {
        ingest.files(Files::failing(self.clone())).interrupt(self.interrupt.clone())
    }
}

impl FaultInjector for Canceling {
    fn before(&self, _: Operation, _: &Path) -> Option<InjectedFault> {
        if self.count.fetch_add(1, Ordering::Relaxed) == self.at {
            self.interrupt.cancel();
        }
        None
    }
}

/// Returns everything in a folder, with the content of each file.
pub(crate) fn content(folder: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            found.extend(content(&entry));
            found.push((entry, None));
        } else {
            let bytes = fs::read(&entry).unwrap();
            found.push((entry, Some(bytes)));
        }
    }
    found.sort();
    found
}

/// Interrupts the second ingest of a case before every operation whose number is a multiple of `step`. Returns how many
/// ingests stopped, and how many were published all the same.
fn interrupt_each(case: &Case, step: usize) -> (usize, usize) {
    let (folder, dataset, rejects) = (case.dir.path(), case.dataset(), case.dir.path().join("rejects.ndjson"));
    // A row that breaks a rule, so that there is a rejects file, too.
    let with_fault = fs::read_to_string(folder.join("2.csv")).unwrap() + "a01,c1,bought,2025-01-01,x,\n";
    fs::write(folder.join("2.csv"), with_fault).unwrap();
    let second = || case.second().rejects(&rejects);
    let old = content(&dataset);
    copy_folder(&dataset, &folder.join("old")).unwrap();
    let counting = Canceling::new(usize::MAX);
    assert_eq!(counting.apply(second()).run().unwrap().events.rejected, 1);
    let (new, operations) = (answers(&dataset), counting.count.load(Ordering::Relaxed));
    let (mut stopped, mut published) = (0, 0);
    for at in (0..operations).step_by(step) {
        fs::remove_dir_all(&dataset).unwrap();
        copy_folder(&folder.join("old"), &dataset).unwrap();
        drop(fs::remove_file(&rejects));
        let run = Canceling::new(at).apply(second()).run();
        let what = format!("canceled before operation {at} of {operations}: {run:?}");
        match run {
            Ok(summary) => {
                // An interrupt lets an ingest succeed only after the version was published.
                assert!(summary.changed && rejects.exists(), "{what}");
                assert_eq!(answers(&dataset), new, "{what}");
                assert_eq!(leftovers(&dataset), Vec::<PathBuf>::new(), "{what}");
                published += 1;
            }
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::Interrupted(Interruption::Canceled)), "{what}");
                assert!(!rejects.exists(), "{what}");
                assert_eq!(content(&dataset), old, "{what}");
                stopped += 1;
            }
        }
        assert_eq!(faults(&dataset), Vec::<String>::new(), "{what}");
    }
    (stopped, published)
}

#[test]
fn an_interrupt_at_any_operation_leaves_the_dataset_as_it_was() {
    let (stopped, published) = interrupt_each(&Case::new(), 1);
    assert!(stopped > 40 && (1..20).contains(&published), "{stopped} stopped, {published} published");
}

#[test]
fn an_interrupt_while_rows_are_spilled_leaves_the_dataset_as_it_was() {
    let (stopped, _) = interrupt_each(&Case::spilled(), step(23));
    assert!(stopped > 15, "{stopped}");
}

#[test]
fn an_interrupted_first_ingest_leaves_no_folder() {
    let case = Case::new();
    let counting = Canceling::new(usize::MAX);
    fs::remove_dir_all(case.dataset()).unwrap();
    counting.apply(case.first()).run().unwrap();
    for at in 0..counting.count.load(Ordering::Relaxed) {
        fs::remove_dir_all(case.dataset()).unwrap();
        match Canceling::new(at).apply(case.first()).run() {
            Ok(_) => assert!(answers(&case.dataset()).0.rows().len() > 0, "{at}"),
            Err(error) => {
                assert_eq!(error.interruption(), Some(Interruption::Canceled), "{at}: {error}");
                assert!(!case.dataset().exists(), "{at}");
                fs::create_dir(case.dataset()).unwrap();
            }
        }
    }
}

/// The function that reports the progress may interrupt the ingest, as a button next to a progress bar does.
#[test]
fn an_interrupt_from_the_progress_stops_each_phase() {
    let phases = [
        Phase::Reading("events"),
        Phase::ReadingStoredEvents,
        Phase::WritingEvents,
        Phase::Reading("spend"),
        Phase::WritingSpend,
        Phase::Reading("insights"),
    ];
    let case = Case::new();
    case.ingest(&[("insights.ndjson", Ingest::insights)]).run().unwrap();
    case.write("insights2.ndjson", "{\"account\":\"a01\",\"date\":\"2025-01-02\",\"insight\":{\"n\":2}}\n");
    let second = || {
        case.ingest(&[("2.csv", Ingest::events), ("spend2.csv", Ingest::spend), ("insights2.ndjson", Ingest::insights)])
    };
    let old = content(&case.dataset());
    for phase in phases {
        let interrupt = Interrupt::default();
        let cancel = interrupt.clone();
        let run = second()
            .interrupt(interrupt)
            .progress(move |now| {
                if now.phase == phase {
                    cancel.cancel();
                }
            })
            .run();
        assert_eq!(run.unwrap_err().interruption(), Some(Interruption::Canceled), "{phase}");
        assert_eq!(content(&case.dataset()), old, "{phase}");
    }
    assert!(second().run().unwrap().changed);
}

/// Cancels an ingest when it has written its spend. The sync itself happens as usual.
#[derive(Debug)]
struct CancelingAfterSpend(Interrupt);

impl FaultInjector for CancelingAfterSpend {
    fn before(&self, operation: Operation, path: &Path) -> Option<InjectedFault> {
        let is_spend = path.components().any(|part| part.as_os_str() == "spend") && path.extension().is_some();
        if operation == Operation::Sync && is_spend {
            self.0.cancel();
        }
        None
    }
}

#[test]
fn an_interrupt_stops_an_ingest_that_reads_stored_insights() {
    let case = Case::new();
    case.ingest(&[("insights.ndjson", Ingest::insights)]).run().unwrap();
    case.write("insights2.ndjson", "{\"account\":\"a01\",\"date\":\"2025-01-02\",\"insight\":{\"n\":2}}\n");
    let (interrupt, is_past) = (Interrupt::default(), Arc::new(AtomicBool::new(false)));
    let reads_inputs = is_past.clone();
    let run = case
        .ingest(&[("spend2.csv", Ingest::spend), ("insights2.ndjson", Ingest::insights)])
        .files(Files::failing(Arc::new(CancelingAfterSpend(interrupt.clone()))))
        .interrupt(interrupt)
        .progress(move |now| {
            if now.phase == Phase::Reading("insights") {
                reads_inputs.store(true, Ordering::Relaxed);
            }
        })
        .run();
    assert_eq!(run.unwrap_err().interruption(), Some(Interruption::Canceled));
    assert!(!is_past.load(Ordering::Relaxed));
}

#[test]
fn a_deadline_stops_an_ingest() {
    let case = Case::new();
    let old = content(&case.dataset());
    let error = case.second().interrupt(Interrupt::after(Duration::ZERO)).run().unwrap_err();
    assert_eq!(error.interruption(), Some(Interruption::Deadline));
    assert_eq!(error.to_string(), "the command took longer than it may, and no incomplete change was published");
    assert!(!error.is_usage());
    assert_eq!(content(&case.dataset()), old);
    assert!(case.second().interrupt(Interrupt::after(Duration::from_secs(600))).run().unwrap().changed);
}
