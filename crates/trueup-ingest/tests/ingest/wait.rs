//! Commands that write to the same dataset wait for one another, as long as they may.

use crate::dataset::{Case, names};
use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};
use trueup_core::Dataset;
use trueup_core::dataset::manifest_file;
use trueup_core::definitions::Definitions;
use trueup_core::query::EventsQuery;
use trueup_ingest::{Define, ErrorKind, Expire, Ingest, Interrupt, Phase, Progress};

const LONG: Duration = Duration::from_secs(300);

/// Writes the events of an ingest, which no other one has.
fn events(case: &Case, number: usize) -> PathBuf {
    let mut text = "account,opportunityId,type,date,eventId,total\n".to_owned();
    for row in 0..20 {
        let (account, kind) = (row % 3, ["lead-originated", "sold"][row / 10]);
        text += &format!("a{account},{number}-{row},{kind},2025-01-{:02},{number}-{row},{number}{row}\n", number + 1);
    }
    case.file(&format!("{number}.csv"), text)
}

/// Returns a function for `progress` that sends a message when a command begins to wait.
fn when_waiting(sender: Sender<()>) -> impl FnMut(&Progress) + Send + 'static {
    move |now| {
        if now.phase == Phase::Waiting {
            sender.send(()).unwrap();
        }
    }
}

#[test]
fn concurrent_ingests_land_one_after_another() {
    let case = Case::new();
    let inputs: Vec<PathBuf> = (0..10).map(|number| events(&case, number)).collect();
    let ingest = |input: &PathBuf| case.ingest().events(input).threads(1).wait(LONG).run().unwrap().version;
    let mut versions: Vec<u64> = thread::scope(|scope| {
        let threads: Vec<_> = inputs.iter().map(|input| scope.spawn(move || ingest(input))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    versions.sort_unstable();
    versions.dedup();
    assert_eq!(versions.len(), 10);
    let whole = case.path("whole");
    inputs.iter().fold(Ingest::into(&whole), Ingest::events).run().unwrap();
    let answers = |dataset: PathBuf| {
        let fields = ["account", "opportunityId", "type", "eventCount", "total"];
        let query = EventsQuery::new(fields, "2025-01-01".parse().unwrap(), "2025-01-31".parse().unwrap());
        Dataset::open(dataset).unwrap().query(&query).unwrap()
    };
    assert_eq!(answers(case.dataset()), answers(whole));
    assert!(!names(&case.dataset()).iter().any(|name| name.starts_with('.')), "{:?}", names(&case.dataset()));
}

#[test]
fn no_ingest_waits_longer_than_it_may() {
    let case = Case::new();
    case.ingest().events(events(&case, 1)).run().unwrap();
    let folder = File::open(case.dataset()).unwrap();
    folder.lock().unwrap();
    let before = case.snapshot();
    let more = events(&case, 2);
    let dataset = case.dataset().display().to_string();
    for (wait, expected) in [
        (0, "try again when it is done, or wait for it with `--wait 30s`"),
        (300, "it was not done after a wait of 300ms"),
    ] {
        let (begun, wait) = (Instant::now(), Duration::from_millis(wait));
        let error = case.ingest().events(&more).wait(wait).run().unwrap_err();
        assert!(begun.elapsed() >= wait && begun.elapsed() < wait + Duration::from_secs(20));
        assert!(matches!(error.kind(), ErrorKind::Busy { waited, .. } if *waited == wait), "{error}");
        assert_eq!(error.to_string(), format!("another command is writing to `{dataset}`; {expected}"));
    }
    assert_eq!(case.snapshot(), before);
}

#[test]
fn an_interrupt_ends_the_wait_and_leaves_nothing() {
    let case = Case::new();
    case.ingest().events(events(&case, 1)).run().unwrap();
    let folder = File::open(case.dataset()).unwrap();
    folder.lock().unwrap();
    let before = case.snapshot();
    let (interrupt, begun) = (Interrupt::default(), Instant::now());
    let cancel = interrupt.clone();
    let report = move |now: &Progress| {
        assert_eq!(now.phase, Phase::Waiting);
        cancel.cancel();
    };
    let ingest = case.ingest().events(events(&case, 2)).wait(LONG).interrupt(interrupt).progress(report);
    let error = ingest.run().unwrap_err();
    assert!(error.interruption().is_some() && begun.elapsed() < Duration::from_secs(20), "{error}");
    assert_eq!(case.snapshot(), before);
}

#[test]
fn a_first_ingest_that_fails_may_remove_the_folder_that_another_waits_for() {
    let case = Case::new();
    fs::create_dir(case.dataset()).unwrap();
    let folder = File::open(case.dataset()).unwrap();
    folder.lock().unwrap();
    let (sender, waits) = channel();
    let ingest = case.ingest().events(events(&case, 1)).wait(LONG).progress(when_waiting(sender));
    thread::scope(|scope| {
        let ingest = scope.spawn(|| ingest.run().unwrap().version);
        waits.recv().unwrap();
        fs::remove_dir(case.dataset()).unwrap();
        drop(folder);
        assert_eq!(ingest.join().unwrap(), 1);
    });
    assert_eq!(case.manifest().version, 1);
}

#[test]
fn definitions_and_expiry_wait_too() {
    let case = Case::new();
    case.ingest().events(events(&case, 1)).run().unwrap();
    let dataset = case.dataset();
    let definitions = Definitions::parse("[[metric]]\nname = \"own\"\nnumerator = [\"leads\"]").unwrap();
    type Command<'a> = &'a (dyn Fn(Sender<()>) -> u64 + Sync);
    let define = |sender| Define::new(&dataset, &definitions).wait(LONG).progress(when_waiting(sender)).run().unwrap();
    let expire = |sender| {
        let expire = Expire::new(&dataset).keep_last(1).grace(Duration::ZERO).wait(LONG);
        expire.progress(when_waiting(sender)).run().unwrap().kept[0]
    };
    for command in [&define as Command<'_>, &expire] {
        let folder = File::open(&dataset).unwrap();
        folder.lock().unwrap();
        let refused = Expire::new(&dataset).vacuum().run().unwrap_err();
        assert!(matches!(refused.kind(), ErrorKind::Busy { .. }), "{refused}");
        let (sender, waits) = channel();
        thread::scope(|scope| {
            let command = scope.spawn(move || command(sender));
            waits.recv().unwrap();
            drop(folder);
            assert_eq!(command.join().unwrap(), 2);
        });
    }
    assert_eq!(manifest_file::versions(&dataset).unwrap(), [2]);
}
