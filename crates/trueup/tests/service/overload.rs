//! Limits on what requests cost: requests that would take long or have large answers, and requests that find no memory,
//! because other queries and answers hold it.

use crate::platform::{Platform, Received, Rival, bytes};
use std::fmt::Write as _;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use trueup::query::MAX_PATTERNS_BYTES;
use trueup::service::{Limits, Request};
use trueup::{MemoryBudget, Reservation};

const EVENTS: &str = "/api/acme/events?fields=account,date,leads,spend&start=2025-01-01&end=2025-03-31";
const LEADS: &str = "/api/acme/events?fields=leads&start=2025-01-01&end=2025-03-31";

/// Returns limits with which no request waits for memory.
pub(crate) fn no_waiting() -> Limits {
    Limits { memory_wait: Duration::ZERO, ..Limits::default() }
}

/// Returns a budget that is reserved but for a few bytes, and the reservations.
pub(crate) fn exhausted(bytes: usize) -> (MemoryBudget, Vec<Reservation>) {
    let budget = MemoryBudget::new(bytes);
    let held = (1..usize::BITS).filter_map(|half| budget.reserve(bytes >> half).ok()).collect();
    (budget, held)
}

fn platform(budget: &MemoryBudget, limits: Limits) -> Platform {
    Platform::with(&Rival::default(), |builder| builder.limits(limits).memory(budget.clone()))
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
            // What a first answer leaves for later ones: decoded columns, and months of benchmarks.
            drop(platform.service.handle(&request));
            let kept = budget.held();
            let response = platform.service.handle(&request);
            assert_eq!(response.status, 200, "{path}");
            assert!(budget.held() > kept, "{path}");
            // An answer that is dropped unsent gives its memory back, too.
            if accept == "gzip" {
                drop(response);
            } else {
                assert!(bytes(response.body).len() > 1);
            }
            assert_eq!(budget.held(), kept, "{path}");
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

/// Without a share of memory for each user, one user's unread answers would leave too little for an answer of the same
/// size to another user.
#[test]
fn unread_answers_of_one_user_leave_memory_to_others() {
    let customers = |account: &str| {
        (0..3_000).fold(String::new(), |mut rows, number| {
            writeln!(rows, "{account},{account}-{number:04},lead-originated,2025-01-05,,,,New Customer,,,,,,").unwrap();
            rows
        })
    };
    let rival = Rival { events: customers("rival-1") + &customers("north"), ..Rival::default() };
    let path =
        |account: &str| format!("/api/{account}/events?fields=opportunityId,leads&start=2025-01-01&end=2025-01-31");
    let roomy = MemoryBudget::new(1 << 30);
    let platform = Platform::with(&rival, |builder| builder.memory(roomy.clone()));
    let expected = platform.get("rita", &path("rival-1")).body;
    let one = roomy.peak();
    let budget = MemoryBudget::new(8 * one);
    let platform = Platform::with(&rival, |builder| builder.memory(budget.clone()).limits(no_waiting()));
    let ask = |user: &str, path: &str| {
        let authorization = Some(platform.secret(&format!("<{user}>")));
        platform.service.handle(&Request { authorization, ..Request::get(path) })
    };
    let mut unread = Vec::new();
    for _ in 0..100 {
        for account in ["north", "acme"] {
            unread.push(ask("anna", &path(account)));
            unread.push(ask("anna", "/api/acme/insights"));
        }
    }
    let refused = unread.iter().filter(|response| response.status == 503).count();
    assert!(refused > 100 && refused < unread.len() - 4, "{refused}");
    assert!(unread.iter().all(|response| matches!(response.status, 200 | 503)));
    assert!(budget.held() - platform.service.dataset().held_column_bytes() <= budget.limit() / 2);
    for _ in 0..3 {
        let response = platform.get("rita", &path("rival-1"));
        assert!(response.status == 200 && response.body == expected, "{}", response.status);
    }
    assert_eq!(ask("anna", &path("north")).header("retry-after"), Some("5"));
    drop(unread);
    assert_eq!(ask("anna", &path("north")).status, 200);
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

fn text(response: &Received) -> &str {
    std::str::from_utf8(&response.body).unwrap()
}

#[test]
fn regular_expressions_of_a_request_share_one_limit() {
    let patterns = (0..900).fold(String::new(), |mut list, number| {
        write!(list, r#",["regex","{number}\\w{{20}}"]"#).unwrap();
        list
    });
    let response = Platform::new().get("anna", &format!(r#"{LEADS}&campaign=["or"{patterns}]"#));
    assert_eq!(response.status, 400);
    let body = text(&response);
    assert!(body.starts_with(r#"{"error":"`campaign["#) && body.ends_with(r#""code":"invalid-filter"}"#), "{body}");
    assert!(body.contains(&format!("more than {MAX_PATTERNS_BYTES} bytes")), "{body}");
}

#[test]
fn a_repeated_regular_expression_counts_once() {
    let pattern = r#",["regex","\\w{20}"]"#.repeat(900);
    let response = Platform::new().get("anna", &format!(r#"{LEADS}&campaign=["or"{pattern}]"#));
    assert_eq!((response.status, text(&response)), (200, r#"[{"leads":0}]"#));
}

#[test]
fn a_canceled_request_compiles_no_expression() {
    let platform = Platform::new();
    // This expression does not compile, which would be reported if the service tried.
    let asked = |path: String| Request { authorization: Some(platform.secret("<anna>")), ..Request::get(path) };
    let request = asked(format!(r#"{LEADS}&campaign=["regex","(a"]"#));
    assert_eq!(platform.ask(&request).status, 400);
    request.interrupt.cancel();
    assert_eq!(platform.ask(&request).status, 504);
}

#[test]
fn the_limit_of_values_counts_rows_times_columns() {
    // The number of campaigns that have events, the empty one included.
    let path = "/api/acme/events?fields=campaign,leads,spend&start=2025-01-01&end=2025-03-31";
    let rows = text(&Platform::new().get("anna", path)).matches("\"campaign\"").count();
    let limits = Limits { cells: 3 * rows, ..Limits::default() };
    let platform = Platform::with(&Rival::default(), |builder| builder.limits(limits));
    assert_eq!(platform.get("anna", path).status, 200);
    // A repeated field adds no column; an unknown field does.
    assert_eq!(platform.get("anna", &path.replace("campaign,", "campaign,campaign,")).status, 200);
    let response = platform.get("anna", &path.replace("campaign,", "campaign,noSuchField,"));
    assert_eq!(response.status, 400);
    let expected = format!("more than {} of 4 columns, and the limit is {} values; reduce", 3 * rows / 4, 3 * rows);
    let body = text(&response);
    assert!(body.contains(&expected) && body.ends_with(r#""code":"too-many-rows"}"#), "{body}");
}

#[test]
fn the_header_of_unknown_fields_has_at_most_4_kib() {
    let names = (0..2_000).map(|number| format!("x{number}")).collect::<Vec<_>>().join(",");
    let response = Platform::new().get("anna", &LEADS.replace("leads", &format!("leads,{names}")));
    assert_eq!(response.status, 200);
    let header = response.header("trueup-unknown-fields").unwrap();
    assert!(header.len() <= 4_096 && header.starts_with("x0, x1, ") && header.ends_with(", ..."), "{header}");
    // The body has all of them.
    assert!(text(&response).ends_with(r#""x1999":""}]"#));
}
