#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use super::*;
use crate::{Dataset, Execution};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Instant;
use trueup_core::dataset::Tables;

const LONG: Duration = Duration::from_secs(60);

fn snapshot() -> Arc<Snapshot> {
    Snapshot::new(Arc::new(Dataset::from_tables(&Tables::default()).unwrap()), None)
}

fn period(month: &str, today: &str) -> BenchmarkPeriod {
    BenchmarkPeriod::read(Some(month), today.parse().unwrap()).unwrap()
}

/// Collects what is logged.
fn log() -> (FailureHook, Receiver<String>) {
    let (sender, logged) = channel();
    let hook = move |error: &ServiceError| sender.send(std::error::Error::source(error).unwrap().to_string()).unwrap();
    (Arc::new(hook), logged)
}

/// Begins a gathering that does `gather`; whether it was this that began it.
fn begin(
    snapshot: &Arc<Snapshot>,
    period: BenchmarkPeriod,
    worker: &Worker,
    log: &FailureHook,
    gather: impl FnOnce(&Snapshot, &Interrupt) -> Result<BenchmarkData, crate::Error> + Send + 'static,
) -> Arc<BenchmarkJob> {
    let (gathering, is_new) = snapshot.benchmarks.find(period);
    assert!(is_new);
    snapshot.begin(&gathering, worker, log, gather);
    gathering
}

fn wait(gathering: &BenchmarkJob, wait: Duration) -> Option<Outcome> {
    gathering.wait(&WaitLimit { wait, interrupt: &Interrupt::default() })
}

fn gather(snapshot: &Snapshot, period: BenchmarkPeriod) -> Result<BenchmarkData, crate::Error> {
    BenchmarkData::gather(&snapshot.dataset, period.range, &Execution::default())
}

/// Something to gather that waits until it is told to go on.
fn held(
    period: BenchmarkPeriod,
) -> (Sender<()>, impl FnOnce(&Snapshot, &Interrupt) -> Result<BenchmarkData, crate::Error> + Send) {
    let (go_on, told) = channel::<()>();
    let gather = move |snapshot: &Snapshot, _: &Interrupt| {
        told.recv().unwrap();
        gather(snapshot, period)
    };
    (go_on, gather)
}

#[test]
fn all_who_wait_have_the_same_figures() {
    let (snapshot, worker, (log, _)) = (snapshot(), Worker::default(), log());
    let january = period("2025-01", "2025-03-10");
    let (go_on, gather) = held(january);
    let gathering = begin(&snapshot, january, &worker, &log, gather);
    assert!(wait(&gathering, Duration::ZERO).is_none() && wait(&gathering, Duration::from_millis(20)).is_none());
    let found = thread::scope(|scope| {
        let ask = |_| {
            scope.spawn(|| {
                let patience = WaitLimit { wait: LONG, interrupt: &Interrupt::default() };
                snapshot.figures(january, &worker, &log, &patience).unwrap().unwrap()
            })
        };
        let threads: Vec<_> = (0..8).map(ask).collect();
        go_on.send(()).unwrap();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(found.iter().all(|figures| Arc::ptr_eq(figures, &found[0])));
    assert_eq!(snapshot.benchmarks.begun(), 1);
    // What is there is given to those too who may not wait.
    let patience = WaitLimit { wait: Duration::ZERO, interrupt: &Interrupt::after(Duration::ZERO) };
    assert!(snapshot.figures(january, &worker, &log, &patience).unwrap().is_ok());
}

#[test]
fn a_panic_is_told_to_those_who_wait_and_the_next_tries_again() {
    let (snapshot, worker, (log, logged)) = (snapshot(), Worker::default(), log());
    let january = period("2025-01", "2025-03-10");
    let (go_on, told) = channel::<()>();
    let gathering = begin(&snapshot, january, &worker, &log, move |_, _| {
        told.recv().unwrap();
        panic!("of gathering")
    });
    let failed = thread::scope(|scope| {
        let waits = scope.spawn(|| wait(&gathering, LONG));
        while gathering.state().waiting == 0 {
            thread::yield_now();
        }
        go_on.send(()).unwrap();
        waits.join().unwrap().unwrap().unwrap_err()
    });
    assert_eq!(failed.to_string(), "the gathering panicked: of gathering");
    let patience = WaitLimit { wait: LONG, interrupt: &Interrupt::default() };
    assert!(snapshot.figures(january, &worker, &log, &patience).unwrap().is_ok());
    assert_eq!(snapshot.benchmarks.begun(), 2);
    // The request that waited is refused, and logged, by the service.
    assert!(logged.try_recv().is_err());
}

#[test]
fn a_failure_that_nobody_waits_for_is_logged() {
    let (snapshot, worker, (log, logged)) = (snapshot(), Worker::default(), log());
    begin(&snapshot, period("2025-01", "2025-03-10"), &worker, &log, |_, _| panic!("alone"));
    let words = logged.recv_timeout(LONG).unwrap();
    assert_eq!(words, "the figures of benchmarks were not gathered: the gathering panicked: alone");
}

#[test]
fn whole_months_are_kept_for_good_and_parts_for_a_while() {
    let gathered = BenchmarkCache::default();
    let is_new = |month: &str, today: &str| gathered.find(period(month, today)).1;
    assert!(is_new("2025-02", "2025-03-10") && !is_new("2025-02", "2025-03-11"));
    for today in 10..31 {
        let today = format!("2025-03-{today}");
        assert!(is_new("2025-03", &today) && !is_new("2025-03", &today));
        // From the 28th on the month before is whole.
        assert_eq!(is_new("previous-mtd", &today), &*today < "2025-03-28");
        assert!(!is_new("previous-mtd", &today));
        assert!(gathered.kept().parts.len() <= PARTS);
    }
    // The last day makes the month whole.
    assert!(is_new("2025-03", "2025-03-31") && !is_new("2025-03", "2025-07-01"));
    assert_eq!(gathered.kept().months.len(), 2);
}

#[test]
fn a_request_that_is_ended_waits_no_longer() {
    let (gathering, begun) = (BenchmarkJob::default(), Instant::now());
    let interrupt = Interrupt::default();
    thread::scope(|scope| {
        let waits = scope.spawn(|| gathering.wait(&WaitLimit { wait: LONG, interrupt: &interrupt }));
        interrupt.cancel();
        assert!(waits.join().unwrap().is_none());
    });
    assert!(begun.elapsed() < LONG / 2);
}

#[test]
fn what_a_dataset_that_is_gone_was_asked_is_not_done() {
    let (worker, (log, logged)) = (Worker::default(), log());
    let (old, january) = (snapshot(), period("2025-01", "2025-03-10"));
    let (go_on, gather) = held(january);
    begin(&old, january, &worker, &log, gather);
    let (done, is_done) = channel();
    let second = snapshot();
    begin(&second, january, &worker, &log, |_, _| panic!("nobody can see this"));
    drop(second);
    let third = snapshot();
    begin(&third, january, &worker, &log, move |snapshot, _| {
        done.send(()).unwrap();
        super::tests::gather(snapshot, january)
    });
    go_on.send(()).unwrap();
    is_done.recv_timeout(LONG).unwrap();
    assert!(logged.try_recv().is_err());
}

#[test]
fn one_thread_works_and_ends_with_its_owner() {
    let (worker, (log, logged)) = (Worker::default(), log());
    let (snapshot, january) = (snapshot(), period("2025-01", "2025-03-10"));
    let (begun, has_begun) = channel();
    begin(&snapshot, january, &worker, &log, move |snapshot, interrupt| {
        begun.send(()).unwrap();
        while interrupt.check().is_ok() {
            thread::yield_now();
        }
        BenchmarkData::gather(
            &snapshot.dataset,
            january.range,
            &Execution { interrupt: interrupt.clone(), ..Execution::default() },
        )
    });
    begin(&snapshot, period("2025-02", "2025-03-10"), &worker, &log, |_, _| panic!("never begun"));
    has_begun.recv_timeout(LONG).unwrap();
    drop(worker);
    let words = logged.recv_timeout(LONG).unwrap();
    assert!(words.ends_with("the query was canceled"), "{words}");
    assert!(logged.recv_timeout(Duration::from_millis(50)).is_err());
}
