//! What operators get: `/metrics`, which Prometheus reads, `/ready`, `/health`, and a listener of their own.

use crate::client::{Answer, Client};
use crate::town::{ORGANIZATION, RunningServer, Town, patient};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use trueup::{Dataset, MemoryBudget};
use trueup_server::Settings;
use trueup_testkit::exhaustive::needed;

const EVENTS: &str = "/api/waterworks/events?fields=leads&start=2025-01-01&end=2025-01-31";

fn ask(address: SocketAddr, path: &str) -> Answer {
    Client::connect(address).get(path, "")
}

/// Returns status and body of `/ready`.
fn readiness(address: SocketAddr) -> (u16, String) {
    let answer = ask(address, "/ready");
    (answer.status, answer.text())
}

/// Waits until `/ready` answers with the status. Returns the body.
#[track_caller]
fn wait_for_readiness(address: SocketAddr, expected: u16) -> String {
    let begun = Instant::now();
    loop {
        let (status, body) = readiness(address);
        if status == expected {
            return body;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{body}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// Returns the figures of `/metrics`, by series.
fn figures(address: SocketAddr) -> BTreeMap<String, f64> {
    let answer = ask(address, "/metrics");
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/plain; version=0.0.4")));
    let text = answer.text();
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    samples
        .map(|line| line.rsplit_once(' ').map(|(series, value)| (series.to_owned(), value.parse().unwrap())).unwrap())
        .collect()
}

/// Creates a dataset of one version in a folder.
fn dataset_in(folder: &Path) -> Dataset {
    let (path, events) = (folder.join("dataset"), folder.join("events.csv"));
    fs::write(&events, "account,opportunityId,type,date\neast,1,lead-originated,2025-01-03\n").unwrap();
    trueup_ingest::Ingest::into(&path).events(&events).run().unwrap();
    Dataset::open(&path).unwrap()
}

#[test]
fn requests_memory_cache_and_version_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let town = Town::with(Arc::new(dataset_in(folder.path())), |builder| builder.memory(MemoryBudget::new(64 << 20)));
    let server = RunningServer::with_operators(&town.service, patient());
    let operators = server.operators.unwrap();
    let before = figures(operators);
    assert_eq!(before[r#"trueup_requests_total{endpoint="events",status="200"}"#], 0.0);

    let mut client = Client::connect(server.address);
    let mut bytes = 0;
    for _ in 0..3 {
        bytes += client.get(EVENTS, &town.headers()).body.len();
    }
    assert_eq!(client.get(EVENTS, "").status, 401);
    assert_eq!(client.get("/nothing", &town.headers()).status, 404);
    client.send("nonsense\r\n\r\n");
    let refused = client.answer().unwrap();
    assert_eq!(refused.status, 400);

    // A request is counted when its last byte was handed over, which the client may notice first.
    let begun = Instant::now();
    let mut after = figures(operators);
    while after[r#"trueup_requests_total{endpoint="events",status="200"}"#] < 3.0
        || !after.contains_key(r#"trueup_requests_total{endpoint="none",status="404"}"#)
    {
        assert!(begun.elapsed() < Duration::from_secs(20), "{after:?}");
        after = figures(operators);
    }
    let labeled =
        |endpoint, status| after[&format!(r#"trueup_requests_total{{endpoint="{endpoint}",status="{status}"}}"#)];
    assert_eq!(
        [labeled("events", 200), labeled("events", 401), labeled("none", 404), labeled("none", 400)],
        [3.0, 1.0, 1.0, 1.0]
    );
    assert_eq!(after[r#"trueup_request_duration_seconds_count{endpoint="events"}"#], 4.0);
    assert_eq!(after[r#"trueup_request_duration_seconds_bucket{endpoint="events",le="+Inf"}"#], 4.0);
    assert!(after[r#"trueup_request_duration_seconds_sum{endpoint="events"}"#] > 0.0);
    assert!(after[r#"trueup_response_bytes_total{endpoint="events"}"#] >= f64::from(u32::try_from(bytes).unwrap()));
    let refused = f64::from(u32::try_from(refused.body.len()).unwrap());
    assert!(refused > 0.0 && after[r#"trueup_response_bytes_total{endpoint="none"}"#] >= refused, "{after:?}");
    // The first query decodes the columns of the only row group, and the others find them.
    assert_eq!([after["trueup_column_cache_misses_total"], after["trueup_column_cache_hits_total"]], [1.0, 2.0]);
    assert!(after["trueup_column_cache_bytes"] > 0.0);
    assert!(after["trueup_memory_held_bytes"] >= after["trueup_column_cache_bytes"]);
    assert!(after["trueup_memory_peak_bytes"] >= after["trueup_memory_held_bytes"]);
    assert_eq!(after["trueup_memory_limit_bytes"], f64::from(64 << 20));
    assert_eq!([after["trueup_dataset_version"], after["trueup_dataset_events"], after["trueup_ready"]], [1.0; 3]);
    let (published, opened) =
        (after["trueup_dataset_published_timestamp_seconds"], after["trueup_dataset_opened_timestamp_seconds"]);
    assert!(1.6e9 < published && published <= opened + 1.0, "{published} {opened}");
    let took = after[r#"trueup_dataset_commit_duration_seconds{operation="ingest"}"#];
    assert!((0.0..60.0).contains(&took), "{took}");
    assert_eq!(
        after["trueup_requests_running_max"],
        f64::from(u32::try_from(Settings::default().max_requests_at_once).unwrap())
    );
}

#[test]
fn running_and_waiting_requests_are_shown_while_all_threads_are_busy() {
    let town = Town::new();
    let settings = Settings { max_requests_at_once: 1, ..patient() };
    let server = RunningServer::with_operators(&town.service, settings);
    let operators = server.operators.unwrap();
    town.gate.close();
    thread::scope(|scope| {
        let ask = || Client::connect(server.address).get(EVENTS, &town.headers()).status;
        let first = scope.spawn(ask);
        town.gate.wait_for(1);
        let second = scope.spawn(ask);
        let begun = Instant::now();
        let busy = loop {
            let figures = figures(operators);
            if figures["trueup_requests_waiting"] > 0.0 {
                break figures;
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "{figures:?}");
        };
        assert_eq!([busy["trueup_requests_running"], busy["trueup_requests_waiting"]], [1.0, 1.0]);
        assert!(busy["trueup_connections"] >= 2.0);
        town.gate.open();
        assert_eq!([first.join().unwrap(), second.join().unwrap()], [200, 200]);
    });
    let idle = figures(operators);
    assert_eq!([idle["trueup_requests_running"], idle["trueup_requests_waiting"]], [0.0, 0.0]);
}

/// Callers of the service cannot read the metrics, and operators get nothing of the service.
#[test]
fn each_listener_has_its_own_paths() {
    let town = Town::new();
    let server = RunningServer::with_operators(&town.service, patient());
    let operators = server.operators.unwrap();
    for path in ["/health", "/ready"] {
        let (here, there) = (ask(server.address, path), ask(operators, path));
        assert_eq!((here.status, here.text()), (200, there.text()), "{path}");
        assert_eq!(there.header("cache-control"), Some("no-store"));
    }
    let refused = Client::connect(server.address).get("/metrics", &town.headers());
    let unknown = Client::connect(server.address).get("/nothing", &town.headers());
    assert_eq!(refused.text(), unknown.text().replace("`/nothing`", "`/metrics`"));
    assert_eq!((refused.status, ask(server.address, "/metrics").status), (404, 404));
    for path in ["/api", EVENTS, "/openapi.json", "/explore", "/", "/metrics/x"] {
        let answer = Client::connect(operators).get(path, &town.headers());
        assert!(answer.status == 404 && answer.text().contains(r#""code":"not-found""#), "{path}: {}", answer.text());
    }
    let mut client = Client::connect(operators);
    client.send("POST /metrics HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(client.answer().unwrap().status, 405);
    // Without a listener of operators there is nothing to read.
    let without = RunningServer::new(&town.service, patient());
    assert_eq!((without.operators, ask(without.address, "/metrics").status), (None, 404));
}

#[test]
fn a_server_that_stops_is_not_ready_and_still_answers() {
    let town = Town::new();
    let settings = Settings { shutdown_delay: Duration::from_secs(2), ..patient() };
    let mut server = RunningServer::with_operators(&town.service, settings);
    let operators = server.operators.unwrap();
    assert_eq!(readiness(server.address), (200, r#"{"status":"ready"}"#.to_owned()));
    town.gate.close();
    let mut client = Client::connect(server.address);
    client.send(town.request(EVENTS));
    town.gate.wait_for(1);
    server.stop();
    // Both listeners say so, while new connections are accepted.
    assert_eq!(wait_for_readiness(server.address, 503), r#"{"status":"draining"}"#);
    assert_eq!(readiness(operators).0, 503);
    assert_eq!(ask(server.address, "/health").status, 200);
    assert_eq!(figures(operators)["trueup_ready"], 0.0);
    // Then the listener of operators alone, until the last request is answered.
    let begun = Instant::now();
    while std::net::TcpStream::connect(server.address).is_ok() {
        assert!(begun.elapsed() < Duration::from_secs(20));
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(readiness(operators).0, 503);
    town.gate.open();
    assert_eq!(client.answer().unwrap().status, 200);
    server.join();
    assert!(std::net::TcpStream::connect(operators).is_err());
}

#[test]
fn a_damaged_dataset_is_not_ready_until_it_is_repaired() {
    let folder = tempfile::tempdir().unwrap();
    let town = Town::with(Arc::new(dataset_in(folder.path())), |builder| builder);
    let server = RunningServer::new(&town.service, patient());
    let file = fs::read_dir(folder.path().join("dataset/events")).unwrap().next().unwrap().unwrap().path();
    let sound = fs::read(&file).unwrap();
    assert_eq!(readiness(server.address).0, 200);
    let mut footer = sound.clone();
    let at = footer.len() - 20;
    footer[at] ^= 1;
    for damage in [Some(&sound[..sound.len() - 1]), Some(&footer), None] {
        match damage {
            Some(bytes) => fs::write(&file, bytes).unwrap(),
            None => fs::remove_file(&file).unwrap(),
        }
        assert_eq!(wait_for_readiness(server.address, 503), r#"{"status":"not-ready","cause":"dataset"}"#);
        fs::write(&file, &sound).unwrap();
        assert_eq!(wait_for_readiness(server.address, 200), r#"{"status":"ready"}"#);
    }
    // A version that is sound takes the place of a damaged one at once.
    fs::write(&file, b"").unwrap();
    wait_for_readiness(server.address, 503);
    let other = tempfile::tempdir().unwrap();
    town.service.replace_dataset(Arc::new(dataset_in(other.path())));
    assert_eq!(readiness(server.address).0, 200);
}

/// Parses the text with the Python package of Prometheus, if `TRUEUP_PROMETHEUS_PYTHON` names a Python that has it.
#[test]
fn prometheus_accepts_the_metrics() {
    let Some(python) = needed("TRUEUP_PROMETHEUS_PYTHON") else { return };
    let town = Town::new();
    let server = RunningServer::with_operators(&town.service, patient());
    assert_eq!(ask(server.address, "/nothing").status, 404);
    let text = ask(server.operators.unwrap(), "/metrics").text();
    let program = "import sys\n\
        from prometheus_client.parser import text_string_to_metric_families as parse\n\
        for family in parse(sys.stdin.read()):\n    print(family.name, family.type, len(family.samples), bool(family.documentation))\n";
    let mut command = Command::new(python);
    command.args(["-c", program]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut parser = command.spawn().unwrap();
    parser.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = parser.wait_with_output().unwrap();
    assert!(output.status.success());
    let parsed = String::from_utf8(output.stdout).unwrap();
    let families: BTreeMap<&str, Vec<&str>> = parsed
        .lines()
        .map(|line| line.split_once(' ').map(|(name, rest)| (name, rest.split(' ').collect())).unwrap())
        .collect();
    // A name without its type would be a family of its own, of the type `unknown`.
    assert!(families.values().all(|family| family[0] != "unknown" && family[2] == "True"), "{parsed}");
    assert_eq!(families["trueup_request_duration_seconds"][0], "histogram");
    assert_eq!(families["trueup_requests"][0], "counter");
    assert_eq!(families["trueup_dataset_version"][..2], ["gauge", "1"]);
    assert_eq!(families.len(), text.lines().filter(|line| line.starts_with("# TYPE ")).count(), "{parsed}");
}

/// Returns the words of a query that name metrics of trueup.
fn metrics_of(query: &str) -> impl Iterator<Item = &str> {
    let words = query.split(|char: char| !char.is_ascii_alphanumeric() && char != '_');
    words.filter(|word| word.starts_with("trueup_"))
}

#[test]
fn every_metric_of_the_dashboard_and_of_the_alerts_exists_and_is_described() {
    // A dataset in memory does not record how long its ingest took.
    let folder = tempfile::tempdir().unwrap();
    let town = Town::with(Arc::new(dataset_in(folder.path())), |builder| builder);
    let server = RunningServer::with_operators(&town.service, patient());
    let figures = figures(server.operators.unwrap());
    let existing: BTreeSet<&str> = figures.keys().map(|series| series.split('{').next().unwrap()).collect();
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let dashboard: Value = serde_json::from_str(&fs::read_to_string(docs.join("grafana.json")).unwrap()).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let mut queries: Vec<String> = targets.map(|target| target["expr"].as_str().unwrap().to_owned()).collect();
    assert!(queries.len() >= 15, "{queries:?}");
    let page = fs::read_to_string(docs.join("operate.md")).unwrap();
    let alerts = page.lines().filter_map(|line| line.trim().strip_prefix("expr: ")).map(str::to_owned);
    queries.extend(alerts);
    assert!(queries.iter().all(|query| metrics_of(query).next().is_some()), "{queries:?}");
    let queried: BTreeSet<&str> = queries.iter().flat_map(|query| metrics_of(query)).collect();
    let unknown: Vec<_> = queried.difference(&existing).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    // The page describes each metric, under the name that a query uses.
    let families = existing.iter().filter(|name| !name.ends_with("_sum") && !name.ends_with("_count"));
    let undescribed: Vec<_> =
        families.filter(|name| !page.contains(&format!("`{}`", name.trim_end_matches("_bucket")))).collect();
    assert!(undescribed.is_empty(), "{undescribed:?}");
    assert!(!figures.keys().any(|series| series.contains(ORGANIZATION)));
}
