//! Requests when other queries and answers hold the memory.

use crate::platform::{Platform, Received, Rival};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use trueup::access::DirectorySettings;
use trueup::service::{Limits, Request};
use trueup::{MemoryBudget, Reservation};

const EVENTS: &str = "/api/acme/events?fields=account,date,leads,spend&start=2025-01-01&end=2025-03-31";

/// Limits with which no request waits for memory.
pub(crate) fn no_waiting() -> Limits {
    Limits { memory_wait: Duration::ZERO, ..Limits::default() }
}

/// A budget that is all reserved, and the reservations.
pub(crate) fn exhausted(bytes: usize) -> (MemoryBudget, Vec<Reservation>) {
    let budget = MemoryBudget::new(bytes);
    let held = (1..usize::BITS).filter_map(|half| budget.reserve(bytes >> half).ok()).collect();
    (budget, held)
}

fn platform(budget: &MemoryBudget, limits: Limits) -> Platform {
    Platform::with(&Rival::default(), DirectorySettings::default(), |builder| {
        builder.limits(limits).memory(budget.clone())
    })
}

#[test]
fn an_answer_holds_memory_until_it_is_sent_or_dropped() {
    let budget = MemoryBudget::new(1 << 30);
    let platform = platform(&budget, no_waiting());
    let columns = |platform: &Platform| platform.service.dataset().held_column_bytes();
    for path in [EVENTS, "/api/acme/insights", "/api", "/api/acme/benchmarks?month=2025-01"] {
        for accept in ["identity", "gzip"] {
            let request = Request {
                authorization: Some(platform.secret("<anna>")),
                accept_encoding: Some(accept.to_owned()),
                ..Request::get(path)
            };
            let response = platform.service.handle(&request);
            assert_eq!(response.status, 200, "{path}");
            let held = budget.held() - columns(&platform);
            assert!(held > 0, "{path}");
            // An answer that is dropped unsent gives its memory back, too.
            if accept == "gzip" {
                drop(response);
            } else {
                assert!(response.body.into_bytes().unwrap().len() > 1);
            }
            assert_eq!(budget.held(), columns(&platform), "{path}");
        }
    }
    assert!(columns(&platform) > 0);
    let before = columns(&platform);
    let reopened = trueup::Dataset::open(platform.dataset()).unwrap();
    platform.service.replace_dataset(Arc::new(reopened));
    // The worker thread may hold the replaced dataset for a moment after the answer is complete.
    let deadline = Instant::now() + Duration::from_secs(10);
    while budget.held() > 0 && Instant::now() < deadline {
        thread::yield_now();
    }
    assert_eq!((columns(&platform), budget.held()), (0, 0));
    assert_eq!(platform.get("anna", EVENTS).status, 200);
    assert_eq!((budget.held(), columns(&platform) <= before), (columns(&platform), true));
}

#[test]
fn a_request_without_memory_waits_for_it() {
    let (budget, held) = exhausted(1 << 20);
    let platform = platform(&budget, Limits { memory_wait: Duration::from_secs(60), ..Limits::default() });
    let free = Platform::new().get("anna", EVENTS);
    thread::scope(|scope| {
        let waits = scope.spawn(|| platform.get("anna", EVENTS));
        thread::sleep(Duration::from_millis(100));
        assert!(!waits.is_finished());
        drop(held);
        let Received { status, body, .. } = waits.join().unwrap();
        assert_eq!((status, body), (200, free.body));
    });
}

#[test]
fn the_queue_for_memory_and_the_deadline_limit_waiting() {
    let (budget, held) = exhausted(1 << 20);
    let limits = Limits { memory_wait: Duration::from_secs(60), memory_queue: 1, ..Limits::default() };
    let patient = platform(&budget, limits);
    thread::scope(|scope| {
        let waits = scope.spawn(|| patient.get("anna", EVENTS));
        // The queue has one place, so one of the two requests is refused immediately.
        let begun = Instant::now();
        let other = scope.spawn(|| patient.get("anna", EVENTS));
        while !waits.is_finished() && !other.is_finished() {
            assert!(begun.elapsed() < Duration::from_secs(30));
            thread::sleep(Duration::from_millis(10));
        }
        drop(held);
        let mut statuses = [waits, other].map(|request| request.join().unwrap().status);
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 503]);
    });
    let (budget, _held) = exhausted(1 << 20);
    let overdue = platform(&budget, Limits { deadline: Duration::from_millis(200), ..limits });
    assert_eq!(overdue.get("anna", EVENTS).status, 504);
    assert_eq!(platform(&budget, Limits { memory_queue: 0, ..limits }).get("anna", EVENTS).status, 503);
}
