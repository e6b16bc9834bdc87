//! Benchmarks as callers see them: computed once per month, and never revealing a single account.

use crate::platform::{NOW, PLUMBERS, Platform, Received, Rival, crowd, crowded, crowded_with, damage};
use std::fs;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use trueup::Dataset;
use trueup::access::{Grant, SecretKey};
use trueup::benchmarks::{BenchmarkMetric, BenchmarkPeriod, BenchmarkSelection, Privacy, Series};
use trueup::service::{Request, ServiceError};

const NOVEMBER: &str = "/api/north/benchmarks?fields=bookRate&month=2024-11";

fn body(received: &Received) -> String {
    String::from_utf8(received.body.clone()).unwrap()
}

/// Repeats the request until its figures are computed.
fn get_gathered(platform: &Platform, user: &str, path: &str) -> Received {
    let begun = Instant::now();
    loop {
        let received = platform.get(user, path);
        if received.status != 503 {
            return received;
        }
        assert!(begun.elapsed() < Duration::from_secs(300));
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_whole_month_is_gathered_once_for_all_requests() {
    let platform = crowded();
    let bodies = thread::scope(|scope| {
        let ask = |number: usize| {
            let (user, account) = [("anna", "north"), ("bert", "south")][number % 2];
            let path = format!("/api/{account}/benchmarks?fields=bookRate&month=2024-11");
            let platform = &platform;
            scope.spawn(move || (0..5).map(|_| platform.get(user, &path)).map(|got| body(&got)).collect::<Vec<_>>())
        };
        let threads: Vec<_> = (0..8).map(ask).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(bodies.len(), 40);
    assert!(bodies.iter().all(|body| *body == bodies[0] && body.contains("\"bookRate\":0.325}")), "{}", bodies[0]);
    assert_eq!(platform.service.benchmark_jobs(), 1);
    // Other fields and accounts use the same data. Another month is computed; a month without rows is not.
    platform.get("carl", "/api/solo/benchmarks?fields=matchRate,customerStatus&month=2024-11");
    assert_eq!(platform.service.benchmark_jobs(), 1);
    platform.get("anna", "/api/north/benchmarks?month=2024-10");
    assert_eq!(platform.service.benchmark_jobs(), 2);
    for year in 1970..2023 {
        assert_eq!(body(&platform.get("anna", &format!("/api/north/benchmarks?month={year}-06"))), "[]");
    }
    assert_eq!(platform.service.benchmark_jobs(), 2);
}

#[test]
fn the_current_month_is_gathered_once_a_day() {
    let now = Arc::new(Mutex::new(NOW));
    let clock = Arc::clone(&now);
    let platform =
        crowded_with(&crowd(), Duration::from_secs(600), |builder| builder.clock(move || *clock.lock().unwrap()));
    let ask = || {
        for path in ["/api/north/benchmarks", "/api/north/benchmarks?month=previous-mtd"] {
            assert_eq!(platform.get("anna", path).status, 200);
        }
        platform.service.benchmark_jobs()
    };
    assert_eq!((ask(), ask()), (2, 2));
    *now.lock().unwrap() = NOW.plus_seconds(86_400);
    assert_eq!((ask(), ask()), (4, 4));
}

#[test]
fn a_request_that_does_not_wait_gets_503_with_retry_after() {
    let platform = crowded_with(&crowd(), Duration::ZERO, |builder| builder);
    let first = platform.get("anna", NOVEMBER);
    assert_eq!(first.status, 503);
    assert!(first.header("retry-after").unwrap().parse::<u32>().unwrap() > 0);
    let received = get_gathered(&platform, "anna", NOVEMBER);
    assert_eq!(received.status, 200);
    assert_eq!(received.body, crowded().get("anna", NOVEMBER).body);
    assert_eq!(platform.service.benchmark_jobs(), 1);
}

#[test]
fn a_canceled_request_stops_waiting_and_the_gathering_continues() {
    let platform = crowded();
    let request =
        Request { authorization: Some(platform.secret("<anna>")), accept_encoding: None, ..Request::get(NOVEMBER) };
    request.interrupt.cancel();
    assert_eq!(platform.ask(&request).status, 503);
    assert_eq!(platform.get("anna", NOVEMBER).status, 200);
    assert_eq!(platform.service.benchmark_jobs(), 1);
}

#[test]
fn a_failed_gathering_is_answered_502_and_the_next_request_retries() {
    let logged: Arc<Mutex<Vec<String>>> = Arc::default();
    let hook = {
        let logged = Arc::clone(&logged);
        move |error: &ServiceError| {
            logged.lock().unwrap().push(std::error::Error::source(error).unwrap().to_string());
        }
    };
    let platform = crowded_with(&crowd(), Duration::from_secs(600), |builder| builder.on_failure(hook));
    let manifest = platform.service.dataset().manifest().unwrap().clone();
    let files = manifest.tables().into_iter().flat_map(|(_, files)| files.to_vec());
    let files: Vec<PathBuf> = files.map(|file| platform.dataset().join(file.path)).collect();
    let sound: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    damage(&platform.dataset());
    let failed = platform.get("anna", NOVEMBER);
    assert_eq!(failed.status, 502);
    let text = body(&failed);
    assert!(text.contains(r#""code":"upstream-failed""#) && !text.contains("parquet"), "{text}");
    assert!(matches!(&logged.lock().unwrap()[..], [cause] if cause.contains(".parquet")));
    for (file, bytes) in files.iter().zip(&sound) {
        fs::write(file, bytes).unwrap();
    }
    assert_eq!(platform.get("anna", NOVEMBER).status, 200);
    assert_eq!(platform.service.benchmark_jobs(), 2);
}

#[test]
fn requests_after_a_replacement_see_the_new_dataset() {
    let platform = Platform::new();
    let other = crowded();
    // The small platform has too few plumbers for benchmarks.
    assert_eq!(body(&platform.get("anna", NOVEMBER)), "[]");
    let events = "/api/south/events?fields=leads,rivalColumn&start=2025-01-01&end=2025-03-31";
    let before = platform.get("anna", events);
    assert_eq!(before.header("trueup-unknown-fields"), Some("rivalColumn"));
    let dataset = Arc::new(Dataset::open(other.dataset()).unwrap());
    platform.service.replace_dataset(Arc::clone(&dataset));
    assert!(Arc::ptr_eq(&platform.service.dataset(), &dataset));
    assert_eq!(platform.service.benchmark_jobs(), 0);
    let shown = |platform: &Platform| body(&get_gathered(platform, "anna", NOVEMBER));
    assert_eq!(shown(&platform), shown(&other));
    assert_eq!(platform.service.benchmark_jobs(), 1);
    // Replacing a dataset with itself keeps its figures.
    platform.service.replace_dataset(dataset);
    assert_eq!(shown(&platform), shown(&other));
    assert_eq!(platform.service.benchmark_jobs(), 1);
    assert_eq!(platform.get("anna", events).body, before.body);
}

/// Grants anna the plumbers with these numbers.
fn grant_plumbers(platform: &Platform, numbers: RangeInclusive<usize>) {
    let directory = platform.service.directory();
    for number in numbers {
        let account = format!("pl{number:02}");
        directory.add_account(&account).unwrap();
        directory.grant("anna", &Grant::Account(account)).unwrap();
    }
}

#[test]
fn accounts_in_reach_do_not_count_towards_the_minimum() {
    let platform = crowded();
    grant_plumbers(&platform, 1..=2);
    // Ten plumbers are out of reach, which is enough.
    assert!(body(&platform.get("anna", NOVEMBER)).contains("\"cohortAccounts\":12"));
    grant_plumbers(&platform, 3..=3);
    assert_eq!(body(&platform.get("anna", NOVEMBER)), "[]");
    assert_eq!(body(&platform.get("anna", "/api/pl01/benchmarks?month=2024-11")), "[]");
    // The answer for another user does not change.
    assert!(body(&platform.get("bert", "/api/south/benchmarks?month=2024-11")).contains("\"cohortAccounts\":12"));
}

#[test]
fn no_setting_reveals_figures_of_fewer_than_five_accounts() {
    let path = "/api/rival-1/benchmarks?fields=bookRate&month=2024-11";
    let shown = |accounts: usize, heating: usize| {
        let mut crowd = crowd();
        // Of the nine heating engineers, the first `heating` remain; the others become painters.
        for number in heating + 1..=9 {
            let row = format!("h{number:02},Name of h{number:02},Heating");
            crowd.accounts = crowd.accounts.replace(&row, &row.replace("Heating", "Painting"));
        }
        let privacy = Privacy::of_accounts(accounts);
        let platform = crowded_with(&crowd, Duration::from_secs(600), |builder| builder.privacy(privacy));
        body(&platform.get("rita", path)) != "[]"
    };
    assert!(!shown(10, 9) && shown(9, 9));
    assert!(!shown(1, 4) && shown(1, 5) && !shown(0, 4));
}

#[test]
fn no_answer_names_an_account_out_of_reach() {
    let platform = crowded();
    for query in [
        "",
        "?month=2024-11",
        "?month=2024-11&fields=bookRate,customerStatus,attributionCategory,attributionChannel,normalizedBusinessUnit",
        "?month=2024-11&fields=bookRate,accountName",
        "?month=2024-11&account=pl01",
        "?month=2024-11&accountName=Name+of+pl02",
        "?month=2024-11&attributionChannel=[%22or%22,%22Radio%22,%22Search%20Ads%22]",
        "?month=2024-12",
    ] {
        let text = body(&platform.get("anna", &format!("/api/acme/benchmarks{query}")));
        for number in 1..=PLUMBERS {
            // An error may repeat what the request names.
            let named = format!("pl{number:02}");
            assert!(query.contains(&named) || !text.contains(&named), "{query}: {text}");
        }
        assert!(!text.contains("Name of") && !text.contains("h01"), "{query}: {text}");
    }
}

#[test]
fn the_typed_call_returns_the_same_figures() {
    let platform = crowded();
    let directory = platform.service.directory();
    let key = SecretKey::new(platform.secret("<anna>"));
    let reach = directory.reach(&directory.authenticate(Some(&key)).unwrap().unwrap()).unwrap();
    let period = BenchmarkPeriod::read(Some("2024-11"), "2025-04-15".parse().unwrap()).unwrap();
    let selection = BenchmarkSelection::new([BenchmarkMetric::BookRate], []);
    let scope = reach.resolve("north").unwrap();
    let rows = platform.service.benchmarks(&reach, &scope, &selection, period).unwrap();
    assert_eq!(rows.iter().map(|row| row.series).collect::<Vec<_>>(), Series::ALL);
    assert_eq!(rows[0].metrics, [Some(0.325)]);
    // Periods that are no calendar month are answered, too.
    for days in 1..=20 {
        let range = trueup::query::DateRange {
            end: trueup::Day::from_number(period.range.start.number() + days),
            ..period.range
        };
        platform.service.benchmarks(&reach, &scope, &selection, BenchmarkPeriod { range, ..period }).unwrap();
    }
    assert_eq!(platform.service.benchmark_jobs(), 21);
}

#[test]
fn accounts_of_others_change_no_events_answer() {
    let path = "/api/acme/events?fields=account,leads,spend&start=2024-11-01&end=2025-04-30&interval=month";
    let alone = Platform::with(&Rival::default(), |builder| builder);
    assert_eq!(crowded().get("anna", path).body, alone.get("anna", path).body);
}

#[test]
fn a_request_sees_one_dataset_throughout() {
    let (platform, other) = (Platform::new(), crowded());
    let datasets = [platform.service.dataset(), other.service.dataset()];
    let asked = [
        NOVEMBER,
        "/api/north/benchmarks?fields=bookRate&month=2024-12",
        "/api/south/events?fields=leads,spend,rivalColumn&start=2025-01-01&end=2025-03-31",
        "/api",
    ];
    let expected = asked.map(|path| {
        [&platform, &other].map(|platform| {
            let answer = get_gathered(platform, "anna", path);
            (answer.status, answer.body)
        })
    });
    thread::scope(|scope| {
        for (path, expected) in asked.iter().zip(&expected) {
            let platform = &platform;
            scope.spawn(move || {
                for _ in 0..40 {
                    let answer = get_gathered(platform, "anna", path);
                    assert!(expected.contains(&(answer.status, answer.body)), "{path}");
                }
            });
        }
        for round in 0..60 {
            platform.service.replace_dataset(Arc::clone(&datasets[round % 2]));
            thread::sleep(Duration::from_millis(2));
        }
    });
}

#[test]
fn events_are_compared_with_the_figures_of_the_endpoint() {
    let platform = crowded();
    let events = "/api/north/events?fields=leads,bookRate&start=2024-11-01&end=2024-11-30&compare=benchmarks";
    let shown = body(&get_gathered(&platform, "anna", events));
    assert!(shown.contains("\"bookRate.benchmark\":0.325,\"bookRate.difference\":"), "{shown}");
    assert!(!shown.contains("leads.benchmark"), "{shown}");
    assert!(body(&platform.get("anna", NOVEMBER)).contains("\"bookRate\":0.325}"));
    assert_eq!(platform.service.benchmark_jobs(), 1);
    let refused = |path: &str, words: &str| {
        let received = platform.get("anna", path);
        let text = body(&received);
        assert!(received.status == 400 && text.contains(words) && text.contains("invalid-query"), "{text}");
    };
    refused(&events.replace("11-30", "11-29"), "found 2024-11-01 to 2024-11-29");
    refused(&events.replace("leads", "campaign"), "`compare`: `benchmarks`: there are no benchmarks by `campaign`");
    refused(&format!("{events}&campaign=x"), "benchmarks cannot have the filter on `campaign`");
    refused(&format!("{events}&interval=week"), "a comparison with benchmarks is of one month");
    refused(&events.replace("bookRate", "spend"), "none of the metrics has benchmarks");
    // A month without rows has no benchmarks, and none are gathered.
    let before = platform.get("anna", &events.replace("2024", "1999"));
    assert!(body(&before).contains("\"bookRate.benchmark\":null,\"bookRate.difference\":null,\"bookRate.ratio\":null"));
    assert_eq!(platform.service.benchmark_jobs(), 1);
    // What the endpoint withholds is withheld here.
    grant_plumbers(&platform, 1..=3);
    assert!(body(&platform.get("anna", events)).contains("\"bookRate.benchmark\":null,\"bookRate.difference\":null"));
}

#[test]
fn several_months_are_answered_in_order_and_not_without_end() {
    let platform = crowded();
    let one = |month: &str| {
        let text = body(&platform.get("anna", &format!("/api/north/benchmarks?fields=bookRate&month={month}")));
        text.trim_start_matches('[').trim_end_matches(']').replace('{', &format!(r#"{{"month":"{month}","#))
    };
    let both = body(&platform.get("anna", "/api/north/benchmarks?fields=bookRate&month=2024-11,2024-10"));
    let parts: Vec<String> = ["2024-11", "2024-10"].map(one).into_iter().filter(|part| !part.is_empty()).collect();
    assert!(parts[0].contains("\"bookRate\":0.325"));
    assert_eq!(both, format!("[{}]", parts.join(",")));

    let many = |count: usize| {
        let months = vec!["1999-01"; count].join(",");
        platform.get("anna", &format!("/api/north/benchmarks?month={months}"))
    };
    assert_eq!((many(36).status, body(&many(36))), (200, "[]".to_owned()));
    let refused = many(37);
    assert_eq!(refused.status, 400);
    assert!(body(&refused).contains("names 37 months, but a request for benchmarks may name at most 36"));
}
