//! A damaged file, which the log names and the response does not; changed bytes, which no answer contains; and a passed
//! deadline.

use crate::platform::{Platform, Rival, damage};
use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use trueup::Dataset;
use trueup::access::{DirectorySettings, MemoryDirectory};
use trueup::service::{Limits, ServiceError};
use trueup_testkit::exhaustive::step;

const EVENTS: &str = "/api/acme/events?fields=leads&start=2025-01-01&end=2025-03-31";

#[test]
fn a_passed_deadline_is_answered_504() {
    let limits = Limits { deadline: Duration::ZERO, ..Limits::default() };
    let platform = Platform::with(&Rival::default(), |builder| builder.limits(limits));
    let response = platform.get("anna", EVENTS);
    assert_eq!(response.status, 504);
    let body = String::from_utf8(response.body).unwrap();
    assert!(
        body.ends_with(r#"use a shorter date range, fewer dimensions or fewer metrics","code":"timeout"}"#),
        "{body}"
    );
}

#[test]
fn only_the_log_names_a_damaged_file() {
    let logged: Arc<Mutex<Vec<String>>> = Arc::default();
    let hook = {
        let logged = logged.clone();
        move |error: &ServiceError| {
            let cause = std::error::Error::source(error).map(ToString::to_string);
            logged.lock().unwrap().push(cause.unwrap_or_default());
        }
    };
    let platform = Platform::with(&Rival::default(), |builder| builder.on_failure(hook));
    damage(&platform.dataset());
    let response = platform.get("anna", EVENTS);
    assert_eq!(response.status, 502);
    let body = String::from_utf8(response.body).unwrap();
    assert!(body.contains(r#""code":"upstream-failed""#) && !body.contains("parquet"), "{body}");
    let logged = logged.lock().unwrap();
    assert!(logged.len() == 1 && logged[0].contains(".parquet"), "{logged:?}");
}

#[test]
fn a_running_service_never_answers_changed_bytes() {
    // These budgets are smaller than the columns, which are therefore dropped and read again.
    for budget in [0, 1_000] {
        let directory = MemoryDirectory::new(DirectorySettings::default().hourly_limit(u32::MAX)).unwrap();
        let platform = Platform::with_directory(Arc::new(directory), &Rival::default(), |builder| builder);
        let dataset = Dataset::open(platform.dataset()).unwrap().with_column_budget(budget);
        platform.service.replace_dataset(Arc::new(dataset));
        let questions = [
            EVENTS,
            "/api/acme/events?fields=account,opportunityId,customers,total,spend&start=2025-01-01&end=2025-03-31",
            "/api/acme/events?fields=campaign,date,eventCount,closedRevenue&start=2025-01-01&end=2025-03-31",
            "/api/acme/insights",
        ];
        let right = questions.map(|question| platform.get("anna", question).body);
        let manifest = platform.service.dataset().manifest().unwrap().clone();
        let mut refused = 0;
        for file in manifest.files() {
            let path = platform.dataset().join(&file.path);
            let sound = fs::read(&path).unwrap();
            for at in (0..sound.len()).step_by(step(sound.len() / 40 + 1)) {
                let mut changed = sound.clone();
                changed[at] ^= 1 << (at % 8);
                // Written in place, because the service may have the file open.
                fs::write(&path, &changed).unwrap();
                for (question, right) in questions.iter().zip(&right) {
                    let response = platform.get("anna", question);
                    match response.status {
                        200 => assert_eq!(response.body, *right, "{question}, byte {at} of {}", file.path),
                        status => {
                            assert_eq!(status, 502, "{question}");
                            refused += 1;
                        }
                    }
                }
            }
            fs::write(&path, &sound).unwrap();
            let restored = questions.map(|question| platform.get("anna", question).body);
            assert_eq!(restored, right, "{}", file.path);
        }
        assert!(refused > 30, "{refused} with a budget of {budget}");
    }
}
