//! A request with several faults is answered with the fault that the contract names first: every combination of up to
//! three faults, and random combinations of any number.

use crate::failures::damage;
use crate::goldens::cases;
use crate::order_table::{BENCHMARKS, EVENTS, Fault, INSIGHTS, OUTCOMES, Place};
use crate::platform::{NOW, Platform, Received, Rival};
use proptest::prelude::*;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;
use trueup::access::{DirectorySettings, Grant};
use trueup::service::{Limits, Request};

/// Services by the values at [`Place::Execution`] and [`Place::Size`].
type Platforms = BTreeMap<(&'static str, &'static str), Arc<Platform>>;

static PLATFORMS: LazyLock<Mutex<Platforms>> = LazyLock::new(Mutex::default);
static ASKERS: AtomicUsize = AtomicUsize::new(0);

/// A request, as the values of its places. A place without a value has its usual one.
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

    fn at(&self, place: Place, usual: &'static str) -> &'static str {
        self.0.get(&place).copied().unwrap_or(usual)
    }

    /// The service whose limits and files match the draft.
    fn platform(&self) -> Arc<Platform> {
        let (execution, size) = (self.at(Place::Execution, ""), self.at(Place::Size, ""));
        let make = || {
            let usual = Limits { benchmarks_wait: Duration::from_secs(600), ..Limits::default() };
            let limits = Limits {
                rows: if execution == "rows" { 1 } else { usual.rows },
                documents: if execution == "documents" { 2 } else { usual.documents },
                deadline: if execution == "deadline" { Duration::ZERO } else { usual.deadline },
                account_intervals: if size == "small" { 2 } else { usual.account_intervals },
                ..usual
            };
            let platform =
                Platform::with(&Rival::default(), DirectorySettings::default(), |builder| builder.limits(limits));
            if execution == "damaged" {
                damage(&platform.dataset(), ".parquet");
                damage(&platform.dataset(), ".ndjson");
            }
            Arc::new(platform)
        };
        Arc::clone(PLATFORMS.lock().unwrap().entry((execution, size)).or_insert_with(make))
    }

    fn query(&self, endpoint: &str) -> String {
        let mut parts = Vec::new();
        let mut put = |name: &str, value: &str| {
            if !value.is_empty() {
                parts.push(format!("{name}={value}"));
            }
        };
        if endpoint != "insights" {
            let metric = if endpoint == "events" { "leads" } else { "bookRate" };
            let fields = [self.at(Place::Dimension, ""), self.at(Place::Metric, metric), self.at(Place::Reserved, "")];
            put("fields", &fields.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>().join(","));
        }
        if endpoint == "benchmarks" {
            put("month", self.at(Place::Month, "2025-01"));
        } else {
            put("start", self.at(Place::Start, "2025-01-01"));
            put("end", self.at(Place::End, "2025-03-31"));
            put("interval", self.at(Place::Interval, ""));
        }
        put("account", self.at(Place::Account, ""));
        let stray = [Place::Again, Place::Stray, Place::Filter, Place::Expression].map(|place| self.at(place, ""));
        parts.extend(stray.into_iter().filter(|part| !part.is_empty()).map(str::to_owned));
        parts.join("&")
    }

    /// Sends the request as a new user, so that no other request uses up the hourly limit.
    fn ask(&self, endpoint: &'static str) -> Received {
        let platform = self.platform();
        let directory = platform.service.directory();
        let user = format!("asker-{}", ASKERS.fetch_add(1, Ordering::Relaxed));
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

/// Whether the response reports the fault.
fn reports(fault: &Fault, received: &Received) -> bool {
    let body: Json = serde_json::from_slice(&received.body).unwrap();
    received.status == fault.status
        && body["error"].is_string()
        && body.get("code").map(|code| code.as_str().unwrap()) == fault.code
}

/// Sends a request with these faults, which are in the order of the contract. Returns `None` if one request cannot have
/// all of them, and otherwise what is wrong with the response, if anything.
fn check(endpoint: &'static str, faults: &[&Fault]) -> Option<Option<String>> {
    let mut draft = Draft::default();
    if !faults.iter().all(|fault| draft.add(fault)) {
        return None;
    }
    let received = draft.ask(endpoint);
    let names: Vec<&str> = faults.iter().map(|fault| fault.name).collect();
    let describe = || format!("{endpoint} {names:?}: {} {}", received.status, String::from_utf8_lossy(&received.body));
    Some((!reports(faults[0], &received)).then(describe))
}

/// Checks every combination of one, two and three faults. Returns how many requests were sent.
fn check_combinations(endpoint: &'static str, faults: &[Fault]) -> usize {
    assert_eq!(Draft::default().ask(endpoint).status, 200, "{endpoint}");
    let mut results = Vec::new();
    for (first, one) in faults.iter().enumerate() {
        results.extend(check(endpoint, &[one]));
        for (second, two) in faults.iter().enumerate().skip(first + 1) {
            results.extend(check(endpoint, &[one, two]));
            results.extend(faults.iter().skip(second + 1).filter_map(|three| check(endpoint, &[one, two, three])));
        }
    }
    let asked = results.len();
    let wrong: Vec<String> = results.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{} of {asked}\n{}", wrong.len(), wrong.join("\n"));
    asked
}

#[test]
fn the_first_of_up_to_three_faults_of_events_is_reported() {
    let asked = check_combinations("events", &EVENTS);
    assert!(asked > 1_000, "{asked}");
}

#[test]
fn the_first_of_up_to_three_faults_of_insights_is_reported() {
    let asked = check_combinations("insights", &INSIGHTS);
    assert!(asked > 200, "{asked}");
}

#[test]
fn the_first_of_up_to_three_faults_of_benchmarks_is_reported() {
    let asked = check_combinations("benchmarks", &BENCHMARKS);
    assert!(asked > 300, "{asked}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_first_of_any_number_of_faults_is_reported(order in Just((0..EVENTS.len()).collect::<Vec<_>>()).prop_shuffle()) {
        let mut draft = Draft::default();
        let first = order.iter().copied().filter(|fault| draft.add(&EVENTS[*fault])).min().unwrap();
        // Faults before `hidden` are left out, because the first fault hides all others.
        for hidden in first..EVENTS.len() {
            let mut draft = Draft::default();
            let kept = order.iter().copied().filter(|fault| *fault >= hidden && draft.add(&EVENTS[*fault]));
            let first = kept.min().unwrap();
            let received = draft.ask("events");
            prop_assert!(reports(&EVENTS[first], &received), "{draft:?}: {}", String::from_utf8_lossy(&received.body));
        }
    }
}

#[test]
fn every_status_and_code_of_the_contract_has_a_golden() {
    let (mut seen, mut others) = (BTreeSet::new(), Vec::new());
    for (file, case) in cases() {
        let expected = case.split_once("\n\n").map_or("", |(_, expected)| expected);
        let status: u16 = expected.lines().next().and_then(|line| line.parse().ok()).unwrap();
        let bodies: Vec<&str> = expected.lines().filter(|line| line.starts_with(['=', '~'])).collect();
        let has = |words: &str| bodies.iter().any(|line| line.contains(words));
        let is_shown = |(known, outcome): &&(u16, &str)| {
            // A golden of a body without a code must say so.
            let no_code =
                || expected.lines().any(|line| line == "^ code" || line == "^ \"code\"" || line.starts_with("= "));
            *known == status
                && (has(&format!("\"code\":\"{outcome}\""))
                    || (outcome.contains(' ') && has(outcome) && no_code())
                    || status == 200)
        };
        match OUTCOMES.iter().find(is_shown) {
            Some(outcome) => _ = seen.insert(*outcome),
            // This golden shows something else, such as a header.
            None => others.push(format!("{file}: {status}")),
        }
    }
    let missing: Vec<_> = OUTCOMES.iter().filter(|outcome| !seen.contains(*outcome)).collect();
    assert!(missing.is_empty(), "{missing:?}; {others:?}");
}

#[test]
fn the_table_of_faults_has_every_code_but_benchmarks_gathering() {
    let listed: BTreeSet<&str> = [&EVENTS[..], &INSIGHTS, &BENCHMARKS]
        .iter()
        .flat_map(|faults| faults.iter())
        .filter_map(|fault| fault.code)
        .collect();
    let outcomes = OUTCOMES.iter().map(|(_, outcome)| *outcome);
    let codes: BTreeSet<&str> = outcomes.filter(|outcome| !outcome.is_empty() && !outcome.contains(' ')).collect();
    assert_eq!(codes.difference(&listed).collect::<Vec<_>>(), [&"benchmarks-gathering"]);
    assert!(listed.is_subset(&codes));
}
