use super::*;
use crate::Execution;
use crate::benchmarks::{BenchmarkQuery, BenchmarkSelection, Privacy};
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};
use trueup_core::dataset::Tables;

const LONG: Duration = Duration::from_secs(60);

fn cache() -> Arc<BenchmarkCache> {
    BenchmarkCache::new(Arc::new(Dataset::from_tables(&Tables::default()).unwrap()), None)
}

fn period(month: &str, today: &str) -> BenchmarkPeriod {
    BenchmarkPeriod::read(Some(month), today.parse().unwrap()).unwrap()
}

/// Returns a failure hook and the receiver of the texts that it logs.
fn log() -> (FailureHook, Receiver<String>) {
    let (sender, logged) = channel();
    let hook = move |error: &ServiceError| sender.send(std::error::Error::source(error).unwrap().to_string()).unwrap();
    (Arc::new(hook), logged)
}

/// Starts the new job of a period with `compute`, for a request that does not wait.
fn start(
    cache: &Arc<BenchmarkCache>,
    period: BenchmarkPeriod,
    worker: &Worker,
    log: &FailureHook,
    compute: impl FnOnce(&BenchmarkCache, &Interrupt) -> Result<BenchmarkData, Error> + Send + 'static,
) -> Arc<BenchmarkJob> {
    let (job, is_new) = cache.find(period, Duration::ZERO);
    assert!(is_new);
    cache.start(&job, worker, log, compute);
    job
}

fn wait(job: &BenchmarkJob, wait: Duration) -> Option<Outcome> {
    job.state().waiting += 1;
    job.wait(&WaitLimit { wait, interrupt: &Interrupt::default() })
}

fn compute(cache: &BenchmarkCache, period: BenchmarkPeriod) -> Result<BenchmarkData, Error> {
    BenchmarkData::gather(&cache.dataset, period.range, &Execution::default())
}

/// Returns a computation that waits until something is sent.
fn held(
    period: BenchmarkPeriod,
) -> (Sender<()>, impl FnOnce(&BenchmarkCache, &Interrupt) -> Result<BenchmarkData, Error> + Send) {
    let (release, released) = channel::<()>();
    let held = move |cache: &BenchmarkCache, _: &Interrupt| {
        released.recv().unwrap();
        compute(cache, period)
    };
    (release, held)
}

#[test]
fn all_waiting_requests_share_one_computation() {
    let (cache, worker, (log, _)) = (cache(), Worker::default(), log());
    let january = period("2025-01", "2025-03-10");
    let (release, held) = held(january);
    let job = start(&cache, january, &worker, &log, held);
    assert!(wait(&job, Duration::ZERO).is_none() && wait(&job, Duration::from_millis(20)).is_none());
    let found = thread::scope(|scope| {
        let ask = |_| {
            scope.spawn(|| {
                let limit = WaitLimit { wait: LONG, interrupt: &Interrupt::default() };
                Arc::clone(&cache.data(january, &worker, &log, &limit).unwrap().unwrap().data)
            })
        };
        let threads: Vec<_> = (0..8).map(ask).collect();
        release.send(()).unwrap();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(found.iter().all(|data| Arc::ptr_eq(data, &found[0])));
    assert_eq!(cache.started(), 1);
    // Computed data is returned even to a request that cannot wait.
    let limit = WaitLimit { wait: Duration::ZERO, interrupt: &Interrupt::after(Duration::ZERO) };
    assert!(cache.data(january, &worker, &log, &limit).unwrap().is_ok());
}

#[test]
fn a_panic_is_reported_to_waiting_requests_and_the_next_request_tries_again() {
    let (cache, worker, (log, logged)) = (cache(), Worker::default(), log());
    let january = period("2025-01", "2025-03-10");
    // The job ends before the request begins to wait.
    let (job, _) = cache.find(january, LONG);
    cache.start(&job, &worker, &log, |_, _| panic!("of January"));
    let (done, is_done) = channel();
    start(&cache, period("2025-02", "2025-03-10"), &worker, &log, move |cache, _| {
        done.send(()).unwrap();
        compute(cache, january)
    });
    is_done.recv_timeout(LONG).unwrap();
    let limit = WaitLimit { wait: LONG, interrupt: &Interrupt::default() };
    let failed = job.wait(&limit).unwrap().unwrap_err();
    assert_eq!(failed.to_string(), "the computation panicked: of January");
    assert!(cache.data(january, &worker, &log, &limit).unwrap().is_ok());
    assert_eq!(cache.started(), 3);
    // The job logs nothing, because the service logs the request that waited.
    assert!(logged.try_recv().is_err());
}

#[test]
fn a_failure_without_a_waiting_request_is_logged() {
    let (cache, worker, (log, logged)) = (cache(), Worker::default(), log());
    start(&cache, period("2025-01", "2025-03-10"), &worker, &log, |_, _| panic!("alone"));
    let words = logged.recv_timeout(LONG).unwrap();
    assert_eq!(words, "the benchmarks were not computed: the computation panicked: alone");
}

#[test]
fn whole_months_are_kept_and_partial_months_only_the_newest() {
    let cache = cache();
    let is_new = |month: &str, today: &str| cache.find(period(month, today), LONG).1;
    let number = |is_whole: bool| cache.jobs().periods.values().filter(|kept| kept.is_whole == is_whole).count();
    assert!(is_new("2025-02", "2025-03-10") && !is_new("2025-02", "2025-03-11"));
    for today in 10..31 {
        let today = format!("2025-03-{today}");
        assert!(is_new("2025-03", &today) && !is_new("2025-03", &today));
        // From the 28th of March on, the previous month up to the same day is all of February.
        assert_eq!(is_new("previous-mtd", &today), &*today < "2025-03-28");
        assert!(!is_new("previous-mtd", &today));
        assert!(number(false) <= MAX_PARTIAL_MONTHS);
    }
    // The last day makes the month whole.
    assert!(is_new("2025-03", "2025-03-31") && !is_new("2025-03", "2025-07-01"));
    assert_eq!(number(true), 2);
}

/// Returns a dataset with one lead in each month of 2025 and each of 200 accounts.
fn year() -> Arc<Dataset> {
    let rows: Vec<(usize, usize)> = (0..200).flat_map(|account| (1..=12).map(move |month| (account, month))).collect();
    let column = |text: &dyn Fn(&(usize, usize)) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(rows.iter().map(text)))
    };
    let events = RecordBatch::try_from_iter([
        ("account", column(&|(account, _)| format!("account-{account:03}"))),
        ("opportunityId", column(&|(_, month)| format!("customer-{month}"))),
        ("type", column(&|_| "lead-originated".to_owned())),
        ("date", column(&|(_, month)| format!("2025-{month:02}-10"))),
    ]);
    Arc::new(Dataset::from_tables(&Tables { events: vec![events.unwrap()], ..Tables::default() }).unwrap())
}

/// Returns the data of a month of 2025.
fn ask(cache: &Arc<BenchmarkCache>, worker: &Worker, log: &FailureHook, month: usize) -> UsedData {
    let limit = WaitLimit { wait: LONG, interrupt: &Interrupt::default() };
    let data = cache.data(period(&format!("2025-{month:02}"), "2026-01-10"), worker, log, &limit);
    data.unwrap().unwrap_or_else(|error| panic!("{error}"))
}

fn kept(cache: &BenchmarkCache) -> Vec<String> {
    let mut kept: Vec<_> = cache.jobs().periods.keys().map(|range| range.start.to_string()[5..7].to_owned()).collect();
    kept.sort();
    kept
}

#[test]
fn months_count_against_the_budget_and_the_oldest_are_dropped() {
    let (worker, (log, _)) = (Worker::default(), log());
    let unlimited = BenchmarkCache::new(year(), None);
    let bytes = ask(&unlimited, &worker, &log, 1).bytes();
    assert!(bytes > 200 * 100, "{bytes}");
    // There is no room for all months, and gathering one needs room of its own, which is given back.
    let memory = MemoryBudget::new(bytes * 8);
    let cache = BenchmarkCache::new(year(), Some(&memory));
    for month in 1..=12 {
        ask(&cache, &worker, &log, month);
        assert!(memory.held() > 0 && memory.held() <= memory.limit());
    }
    let months = kept(&cache);
    assert!((2..=8).contains(&months.len()) && memory.peak() <= memory.limit(), "{months:?}");
    assert!(
        months.iter().rev().eq((1..=12)
            .rev()
            .map(|month| format!("{month:02}"))
            .take(months.len())
            .collect::<Vec<_>>()
            .iter())
    );
    // A use makes another month the oldest. What needs memory takes the place of the oldest.
    ask(&cache, &worker, &log, months[0].parse().unwrap());
    let reserved = memory.reserve(memory.limit() - memory.held() + 1).unwrap();
    assert!(memory.held() <= memory.limit());
    let expected: Vec<&String> = months.iter().filter(|month| **month != months[1]).collect();
    assert_eq!(kept(&cache).iter().collect::<Vec<_>>(), expected);
    drop(reserved);
    // A month that was dropped is gathered again, and a dropped cache counts nothing.
    let started = cache.started();
    ask(&cache, &worker, &log, months[1].parse().unwrap());
    assert_eq!(cache.started(), started + 1);
    drop((cache, worker));
    let begun = Instant::now();
    while memory.held() > 0 {
        assert!(begun.elapsed() < LONG, "{} bytes", memory.held());
        thread::yield_now();
    }
}

#[test]
fn a_month_without_room_fails_and_is_not_kept() {
    let (worker, (log, _)) = (Worker::default(), log());
    let unlimited = BenchmarkCache::new(year(), None);
    let bytes = ask(&unlimited, &worker, &log, 1).bytes();
    let cache = BenchmarkCache::new(year(), Some(&MemoryBudget::new(bytes)));
    let limit = WaitLimit { wait: LONG, interrupt: &Interrupt::default() };
    let outcome = cache.data(period("2025-01", "2026-01-10"), &worker, &log, &limit).unwrap();
    assert!(matches!(outcome.err().as_deref(), Some(BenchmarkJobError::Query(Error::NoRoom(_)))));
    assert_eq!(kept(&cache), Vec::<String>::new());
}

/// What a request decides about a month counts, too.
#[test]
fn what_is_decided_about_a_month_counts() {
    let (worker, (log, _)) = (Worker::default(), log());
    let memory = MemoryBudget::new(1 << 24);
    let cache = BenchmarkCache::new(year(), Some(&memory));
    let (own, selection) = (BTreeSet::from(["account-000".to_owned()]), BenchmarkSelection::default());
    let data = ask(&cache, &worker, &log, 1);
    let query = BenchmarkQuery { selection: &selection, scope: &own, reach: &own, privacy: Privacy::default() };
    let before = data.bytes();
    assert!(!data.answer(&query).is_empty());
    let after = data.bytes();
    assert!(after > before);
    drop(data);
    assert_eq!(memory.held(), after);
}

#[test]
fn an_interrupted_request_stops_waiting() {
    let (job, started) = (BenchmarkJob::default(), Instant::now());
    let interrupt = Interrupt::default();
    thread::scope(|scope| {
        job.state().waiting += 1;
        let waits = scope.spawn(|| job.wait(&WaitLimit { wait: LONG, interrupt: &interrupt }));
        interrupt.cancel();
        assert!(waits.join().unwrap().is_none());
    });
    assert!(started.elapsed() < LONG / 2);
}

#[test]
fn a_pending_job_of_a_dropped_dataset_never_runs() {
    let (worker, (log, logged)) = (Worker::default(), log());
    let (first, january) = (cache(), period("2025-01", "2025-03-10"));
    let (release, held) = held(january);
    start(&first, january, &worker, &log, held);
    let (done, is_done) = channel();
    let second = cache();
    start(&second, january, &worker, &log, |_, _| panic!("ran without its dataset"));
    drop(second);
    let third = cache();
    start(&third, january, &worker, &log, move |cache, _| {
        done.send(()).unwrap();
        compute(cache, january)
    });
    release.send(()).unwrap();
    is_done.recv_timeout(LONG).unwrap();
    assert!(logged.try_recv().is_err());
}

#[test]
fn one_thread_runs_all_jobs_and_ends_with_its_worker() {
    let (worker, (log, logged)) = (Worker::default(), log());
    let (cache, january) = (cache(), period("2025-01", "2025-03-10"));
    let (started, has_started) = channel();
    start(&cache, january, &worker, &log, move |cache, interrupt| {
        started.send(()).unwrap();
        while interrupt.check().is_ok() {
            thread::yield_now();
        }
        let execution = Execution { interrupt: interrupt.clone(), ..Execution::default() };
        BenchmarkData::gather(&cache.dataset, january.range, &execution)
    });
    start(&cache, period("2025-02", "2025-03-10"), &worker, &log, |_, _| panic!("ran after the worker was dropped"));
    has_started.recv_timeout(LONG).unwrap();
    drop(worker);
    let words = logged.recv_timeout(LONG).unwrap();
    assert!(words.ends_with("the query was canceled"), "{words}");
    assert!(logged.recv_timeout(Duration::from_millis(50)).is_err());
}
