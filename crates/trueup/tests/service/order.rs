//! A request with several faults is answered with the first one in the order that the contract of the service fixes
//! (CONTRACT, see `docs/compat.md`): every combination of up to three faults, and random combinations of any number.
//!
//! [`EVENTS`], [`INSIGHTS`] and [`BENCHMARKS`] list the faults of each endpoint, in the order in which CONTRACT
//! sections 1 and 2 report them. A fault puts values at [`Place`]s of a request, of its user or of the service. A
//! [`Draft`] takes faults as long as their places are free, and sends the request.

use crate::goldens::OUTCOMES;
use crate::platform::{NOW, Platform, Received, Rival, damage};
use proptest::prelude::*;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;
use trueup::access::Grant;
use trueup::service::{Limits, Request};
use trueup_testkit::exhaustive::cases;

/// A fault that a request can have.
struct Fault {
    name: &'static str,
    /// The status of the response that reports the fault.
    status: u16,
    /// The code of that response; `None` if it has a text only.
    code: Option<&'static str>,
    /// The values that the fault puts at places. One request cannot have two faults that set the same place.
    sets: &'static [(Place, &'static str)],
}

/// The places of a request, of its user, and of the service, at which a fault can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Method,
    /// The last segment of the path.
    Endpoint,
    /// Has a value if the user is inactive.
    Key,
    /// Has a value if the user has used up the hourly limit.
    Hour,
    Organization,
    Account,
    /// The values of `Metric`, `Dimension` and `Reserved` that are not empty make up `fields`.
    Metric,
    Dimension,
    Reserved,
    Start,
    End,
    Interval,
    Month,
    /// `Stray`, `Again`, `Filter` and `Expression` each hold whole parameters as the query spells them.
    Stray,
    Again,
    Filter,
    Expression,
    /// Which limit is small, or what fails while the query runs. The faults at this place have no order among
    /// themselves, so a request has one of them.
    Execution,
    /// Has a value if the limit on accounts times sub-ranges is small. That fault is reported before the query runs.
    Size,
}

const fn fault(name: &'static str, status: u16, code: &'static str, sets: &'static [(Place, &'static str)]) -> Fault {
    Fault { name, status, code: Some(code), sets }
}

/// Returns a fault whose response has status 400 and no code.
const fn without_code(name: &'static str, sets: &'static [(Place, &'static str)]) -> Fault {
    Fault { name, status: 400, code: None, sets }
}

const METHOD: Fault = fault("method", 405, "method-not-allowed", &[(Place::Method, "POST")]);
const PATH: Fault = fault("path", 404, "not-found", &[(Place::Endpoint, "forecasts")]);
const KEY: Fault = fault("credentials", 401, "unauthorized", &[(Place::Key, "off")]);
const HOUR: Fault = fault("hourly limit", 429, "rate-limited", &[(Place::Hour, "used up")]);
const ORGANIZATION: Fault = fault("organization", 404, "inaccessible-organization", &[(Place::Organization, "rival")]);
const ACCOUNTS: Fault = fault("accounts", 404, "inaccessible-accounts", &[(Place::Account, "rival-1")]);
const NOT_UTF8: Fault = fault("not UTF-8", 400, "invalid-query", &[(Place::Stray, "campaign=%FF")]);
const DATE: Fault = fault("not a date", 400, "invalid-date", &[(Place::Start, "2025-02-30")]);
const REVERSED: Fault =
    fault("reversed", 400, "invalid-range", &[(Place::Start, "2025-06-01"), (Place::End, "2025-01-31")]);
const TWICE: Fault = fault("start twice", 400, "invalid-query", &[(Place::Again, "start=2025-01-02")]);
const DAMAGED: Fault = fault("damaged", 502, "upstream-failed", &[(Place::Execution, "damaged")]);
const DEADLINE: Fault = fault("deadline", 504, "timeout", &[(Place::Execution, "deadline")]);

/// The faults of a request for events, in the order of the contract.
const EVENTS: [Fault; 22] = [
    METHOD,
    PATH,
    KEY,
    HOUR,
    ORGANIZATION,
    ACCOUNTS,
    fault("no fields", 400, "missing-fields", &[(Place::Metric, ""), (Place::Dimension, ""), (Place::Reserved, "")]),
    fault("no end", 400, "missing-range", &[(Place::End, "")]),
    fault("no metric", 400, "missing-metric", &[(Place::Metric, "campaign")]),
    NOT_UTF8,
    TWICE,
    fault("reserved field", 400, "invalid-fields", &[(Place::Reserved, "start")]),
    fault("not an interval", 400, "unknown-interval", &[(Place::Interval, "fortnight")]),
    DATE,
    REVERSED,
    fault("not a filter", 400, "invalid-filter", &[(Place::Filter, "campaign=[%22nope%22]")]),
    fault("not a row", 400, "invalid-row", &[(Place::Expression, "why=leads&row=campaign")]),
    without_code("over 90 days", &[(Place::Start, "2025-01-01"), (Place::End, "2025-04-01")]),
    fault("intervals", 400, "too-many-intervals", &[(Place::Size, "small")]),
    fault("rows", 400, "too-many-rows", &[(Place::Dimension, "date"), (Place::Execution, "rows")]),
    DAMAGED,
    DEADLINE,
];

/// The faults of a request for insights, in the order of the contract.
const INSIGHTS: [Fault; 14] = [
    METHOD,
    PATH,
    KEY,
    HOUR,
    ORGANIZATION,
    ACCOUNTS,
    fault("start alone", 400, "missing-range", &[(Place::End, "")]),
    NOT_UTF8,
    TWICE,
    DATE,
    REVERSED,
    without_code("documents", &[(Place::Execution, "documents")]),
    DAMAGED,
    DEADLINE,
];

/// The faults of a request for benchmarks, in the order of the contract.
const BENCHMARKS: [Fault; 15] = [
    METHOD,
    PATH,
    KEY,
    HOUR,
    ORGANIZATION,
    ACCOUNTS,
    fault("no metric", 400, "missing-metric", &[(Place::Metric, "attributionChannel")]),
    NOT_UTF8,
    fault("month twice", 400, "invalid-query", &[(Place::Again, "month=2024-01")]),
    fault("not a month", 400, "invalid-month", &[(Place::Month, "2024-13")]),
    fault("month to come", 400, "future-month", &[(Place::Month, "2031-01")]),
    fault("field", 400, "not-benchmarkable", &[(Place::Dimension, "crew")]),
    fault("filter", 400, "not-benchmarkable", &[(Place::Filter, "crew=12")]),
    fault("expression", 400, "not-benchmarkable", &[(Place::Expression, "customerStatus=[%22eq%22,%22x%22]")]),
    DAMAGED,
];

/// Services by the values at [`Place::Execution`] and [`Place::Size`], which decide about limits and damaged files.
type Platforms = BTreeMap<(&'static str, &'static str), Arc<Platform>>;

/// The services that were made so far.
static PLATFORMS: LazyLock<Mutex<Platforms>> = LazyLock::new(Mutex::default);

/// How many users have been added. Each request has its own user, because of the hourly limit.
static USERS: AtomicUsize = AtomicUsize::new(0);

/// A request, as the values at its places. A place without a value has its usual one.
#[derive(Debug, Default)]
struct Draft(BTreeMap<Place, &'static str>);

impl Draft {
    /// Adds a fault if its places are free, and returns whether they were.
    fn add(&mut self, fault: &Fault) -> bool {
        let is_free = fault.sets.iter().all(|(place, _)| !self.0.contains_key(place));
        if is_free {
            self.0.extend(fault.sets.iter().copied());
        }
        is_free
    }

    /// Returns the value at a place, or `usual` if it has none.
    fn at(&self, place: Place, usual: &'static str) -> &'static str {
        self.0.get(&place).copied().unwrap_or(usual)
    }

    /// Returns the service whose limits and files match the draft.
    fn platform(&self) -> Arc<Platform> {
        let (execution, size) = (self.at(Place::Execution, ""), self.at(Place::Size, ""));
        let mut limits = Limits { benchmarks_wait: Duration::from_secs(600), ..Limits::default() };
        match execution {
            "rows" => limits.rows = 1,
            "documents" => limits.documents = 2,
            "deadline" => limits.deadline = Duration::ZERO,
            _ => (),
        }
        if size == "small" {
            limits.account_intervals = 2;
        }
        let make = || {
            let platform = Platform::with(&Rival::default(), |builder| builder.limits(limits));
            if execution == "damaged" {
                damage(&platform.dataset());
            }
            Arc::new(platform)
        };
        Arc::clone(PLATFORMS.lock().unwrap().entry((execution, size)).or_insert_with(make))
    }

    /// Returns the query string of the request.
    fn query(&self, endpoint: &str) -> String {
        let fields = match endpoint {
            "insights" => String::new(),
            _ => {
                let metric = if endpoint == "events" { "leads" } else { "bookRate" };
                let places = [(Place::Dimension, ""), (Place::Metric, metric), (Place::Reserved, "")];
                let names = places.map(|(place, usual)| self.at(place, usual));
                names.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>().join(",")
            }
        };
        let days = match endpoint {
            "benchmarks" => vec![("month", self.at(Place::Month, "2025-01"))],
            _ => vec![
                ("start", self.at(Place::Start, "2025-01-01")),
                ("end", self.at(Place::End, "2025-03-31")),
                ("interval", self.at(Place::Interval, "")),
            ],
        };
        let named = [("fields", &*fields), ("account", self.at(Place::Account, ""))].into_iter().chain(days);
        let named = named.filter(|(_, value)| !value.is_empty()).map(|(name, value)| format!("{name}={value}"));
        let whole = [Place::Again, Place::Stray, Place::Filter, Place::Expression].map(|place| self.at(place, ""));
        let whole = whole.into_iter().filter(|parameter| !parameter.is_empty()).map(str::to_owned);
        named.chain(whole).collect::<Vec<_>>().join("&")
    }

    /// Sends the request as a new user.
    fn send(&self, endpoint: &'static str) -> Received {
        let platform = self.platform();
        let directory = platform.service.directory();
        let user = format!("user-{}", USERS.fetch_add(1, Ordering::Relaxed));
        directory.add_user(&user).unwrap();
        directory.grant(&user, &Grant::Organization("acme".to_owned())).unwrap();
        let key = directory.create_key(&user, NOW).unwrap();
        if self.0.contains_key(&Place::Hour) {
            let login = directory.login(&user).unwrap().unwrap();
            for _ in 0..1_000 {
                directory.count(&login, NOW).unwrap();
            }
        }
        directory.set_active(&user, !self.0.contains_key(&Place::Key)).unwrap();
        let (organization, name) = (self.at(Place::Organization, "acme"), self.at(Place::Endpoint, endpoint));
        platform.ask(&Request {
            method: self.at(Place::Method, "GET").to_owned(),
            authorization: Some(key.secret.reveal().to_owned()),
            accept_encoding: Some("identity".to_owned()),
            ..Request::get(format!("/api/{organization}/{name}?{}", self.query(endpoint)))
        })
    }
}

/// Returns whether the response reports the fault.
fn reports(fault: &Fault, received: &Received) -> bool {
    let body: Json = serde_json::from_slice(&received.body).unwrap();
    received.status == fault.status
        && body["error"].is_string()
        && body.get("code").map(|code| code.as_str().unwrap()) == fault.code
}

/// What is wrong with the response to one request; `None` if nothing is.
type Wrong = Option<String>;

/// Sends a request with these faults, which are in the order of the contract. Returns `None` if one request cannot have
/// all of them.
fn check(endpoint: &'static str, faults: &[&Fault]) -> Option<Wrong> {
    let mut draft = Draft::default();
    if !faults.iter().all(|fault| draft.add(fault)) {
        return None;
    }
    let received = draft.send(endpoint);
    let names: Vec<&str> = faults.iter().map(|fault| fault.name).collect();
    let describe = || format!("{endpoint} {names:?}: {} {}", received.status, String::from_utf8_lossy(&received.body));
    Some((!reports(faults[0], &received)).then(describe))
}

/// Checks every combination of one, two and three faults. Returns how many requests were sent.
fn check_combinations(endpoint: &'static str, faults: &[Fault]) -> usize {
    assert_eq!(Draft::default().send(endpoint).status, 200, "{endpoint}");
    let mut results: Vec<Wrong> = Vec::new();
    for (first, one) in faults.iter().enumerate() {
        results.extend(check(endpoint, &[one]));
        for (second, two) in faults.iter().enumerate().skip(first + 1) {
            results.extend(check(endpoint, &[one, two]));
            results.extend(faults.iter().skip(second + 1).filter_map(|three| check(endpoint, &[one, two, three])));
        }
    }
    let sent = results.len();
    let wrong: Vec<String> = results.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{} of {sent}\n{}", wrong.len(), wrong.join("\n"));
    sent
}

#[test]
fn the_first_of_up_to_three_faults_of_events_is_reported() {
    let sent = check_combinations("events", &EVENTS);
    assert!(sent > 1_000, "{sent}");
}

#[test]
fn the_first_of_up_to_three_faults_of_insights_is_reported() {
    let sent = check_combinations("insights", &INSIGHTS);
    assert!(sent > 200, "{sent}");
}

#[test]
fn the_first_of_up_to_three_faults_of_benchmarks_is_reported() {
    let sent = check_combinations("benchmarks", &BENCHMARKS);
    assert!(sent > 300, "{sent}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..cases(512) })]

    #[test]
    fn the_first_of_any_number_of_faults_is_reported(order in Just((0..EVENTS.len()).collect::<Vec<_>>()).prop_shuffle()) {
        // The first fault hides all others, so each round leaves out one more of the first faults. `order` decides
        // which of two faults that set the same place the request has.
        for from in 0..EVENTS.len() {
            let mut draft = Draft::default();
            let kept = order.iter().copied().filter(|fault| *fault >= from && draft.add(&EVENTS[*fault]));
            let first = kept.min().unwrap();
            let received = draft.send("events");
            prop_assert!(reports(&EVENTS[first], &received), "{draft:?}: {}", String::from_utf8_lossy(&received.body));
        }
    }
}

#[test]
fn the_table_of_faults_has_every_code_but_benchmarks_gathering() {
    let faults = EVENTS.iter().chain(&INSIGHTS).chain(&BENCHMARKS);
    let listed: BTreeSet<&str> = faults.filter_map(|fault| fault.code).collect();
    let outcomes = OUTCOMES.iter().map(|(_, outcome)| *outcome);
    let codes: BTreeSet<&str> = outcomes.filter(|outcome| !outcome.is_empty() && !outcome.contains(' ')).collect();
    assert_eq!(codes.difference(&listed).collect::<Vec<_>>(), [&"benchmarks-gathering"]);
    assert!(listed.is_subset(&codes));
}
