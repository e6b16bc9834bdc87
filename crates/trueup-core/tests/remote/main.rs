//! Datasets in an object store: the same answers as from a folder, with as few round trips as the files and columns
//! need, and an error or the right answer when the store has faults.

#![expect(clippy::unwrap_used, reason = "tests")]

mod redirects;
mod stored;

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use stored::{Stored, answers, queries};
use trueup_core::dataset::manifest::Manifest;
use trueup_core::dataset::{RemoteFile, RemoteFiles, Verification, manifest_file, without_credentials};
use trueup_core::query::{AccountFilter, EventsQuery, Filter, Operand, Predicate};
use trueup_core::{Dataset, DatasetError, Error, Execution, Interrupt, Value};
use trueup_ingest::Ingest;
use trueup_testkit::object_server::{Fault, ObjectServer, Requested};
use trueup_testkit::random::Random;

/// Returns the text of the error that opening a location gives.
fn refused(location: &str) -> String {
    Dataset::open(location).unwrap_err().to_string()
}

#[test]
fn answers_are_those_of_the_folder() {
    let stored = Stored::new();
    let (local, remote) = (stored.local(), stored.remote());
    assert_eq!(remote.manifest(), local.manifest());
    assert_eq!(remote.account_keys().unwrap(), local.account_keys().unwrap());
    assert_eq!(answers(&remote), answers(&local));
    let insights = |dataset: &Dataset| {
        dataset
            .insights(&AccountFilter::All, None, 100, &Interrupt::default())
            .unwrap()
            .map(Result::unwrap)
            .collect::<Vec<_>>()
    };
    assert_eq!((insights(&remote).len(), insights(&remote)), (3, insights(&local)));
    let verified = |location: &Path| Verification::of(location, None).unwrap();
    assert_eq!(verified(&stored.url()), verified(&stored.folder()));
    assert_eq!(manifest_file::versions(&stored.url()).unwrap(), [1]);
    assert_eq!(Dataset::open_as_of(stored.url(), 1).unwrap().event_rows(), local.event_rows());
}

#[test]
fn opening_takes_the_same_few_requests_whatever_the_number_of_files() {
    for file_rows in [1_500, 4_000, 100_000] {
        let stored = Stored::of(12_000, file_rows, 10);
        drop(stored.server.take_log());
        let dataset = stored.remote();
        let mut requested: Vec<String> = stored.server.take_log().into_iter().map(|request| request.path).collect();
        requested.sort_unstable();
        let manifest = dataset.manifest().unwrap();
        assert_eq!(manifest.events.len() > 1, file_rows < 100_000);
        let Manifest { lists, named, .. } = manifest;
        assert_eq!((lists.events.len(), lists.spend.len()), (1, 1));
        assert_eq!(named.keys().collect::<Vec<_>>(), ["accounts", "insights"]);
        let lists = lists.events.iter().chain(&lists.spend).map(|list| &list.file);
        let mut expected: Vec<String> = lists.chain(named.values()).map(|file| file.path.clone()).collect();
        expected.extend([String::new(), manifest_file::file_name(1)]);
        let mut expected: Vec<String> = expected.iter().map(|name| format!("bucket/acme/{name}")).collect();
        expected.sort_unstable();
        assert_eq!(requested, expected);
    }
}

#[test]
fn reopening_requests_the_manifest_the_lists_and_new_files_only() {
    let stored = Stored::new();
    let opened = stored.remote();
    let expected = answers(&opened);
    let folder = tempfile::tempdir().unwrap();
    let insights = folder.path().join("insights.ndjson");
    fs::write(&insights, "{\"account\":\"d\",\"date\":\"2025-01-01\",\"insight\":{}}\n").unwrap();
    Ingest::into(stored.folder()).insights(insights).run().unwrap();
    drop(stored.server.take_log());
    let requested = || {
        let requested = stored.server.take_log().into_iter().map(|request| request.path);
        requested.map(|path| path.trim_start_matches("bucket/acme/").to_owned()).collect::<BTreeSet<String>>()
    };
    let reopened = opened.reopen().unwrap().unwrap();
    let (old, new) = (opened.manifest().unwrap(), reopened.manifest().unwrap());
    assert_eq!((&old.events, old.named("accounts"), new.version), (&new.events, new.named("accounts"), 2));
    let lists = new.lists.events.iter().chain(&new.lists.spend).map(|list| &list.file);
    let read: BTreeSet<String> = lists.chain(new.named("insights")).map(|file| file.path.clone()).collect();
    let manifest = BTreeSet::from([String::new(), manifest_file::file_name(2)]);
    assert_eq!(requested(), &read | &manifest);
    reopened.read_footers(&Interrupt::default()).unwrap();
    assert_eq!((answers(&reopened), requested()), (expected, BTreeSet::new()));
    assert!(reopened.reopen().unwrap().is_none());
    assert_eq!(requested(), manifest);
}

#[test]
fn a_query_about_an_account_requests_only_its_files_and_each_footer_once() {
    let stored = Stored::of(12_000, 1_500, 10);
    let dataset = stored.remote();
    let days = dataset.date_range().unwrap();
    let fields = ["leads", "closedRevenue"];
    let query = EventsQuery::new(fields, days.start, days.end).allow_long_total();
    let accounts = dataset.account_keys().unwrap();
    for account in &accounts {
        let query = query.clone().accounts([account]);
        let dataset = stored.remote();
        let manifest = dataset.manifest().unwrap();
        let of_account: HashSet<String> = manifest
            .events
            .iter()
            .filter(|file| {
                let ends = file.row_groups.iter().filter_map(|row_group| row_group.accounts.as_ref());
                ends.into_iter().any(|(first, last)| **first <= **account && **account <= **last)
            })
            .map(|file| format!("bucket/acme/{}", file.path))
            .collect();
        assert!(of_account.len() < manifest.events.len(), "{of_account:?}");
        drop(stored.server.take_log());
        let splits = dataset.plan_splits(&query, NonZeroUsize::MIN).unwrap();
        assert_eq!(stored.server.take_log(), [], "planning");
        let answer = dataset.query(&query).unwrap();
        let log = stored.server.take_log();
        let requested: HashSet<String> = log.iter().map(|request| request.path.clone()).collect();
        assert_eq!(requested, of_account);
        // A split reads as much in another dataset, which has not read the footers yet.
        let worker = stored.remote();
        drop(stored.server.take_log());
        let partial = worker.run_split(&query, &splits[0], &Execution::default()).unwrap();
        assert_eq!(stored.server.take_log().len(), log.len());
        assert_eq!(partial.finish(&worker, &query, &Execution::default()).unwrap(), answer);
    }
}

#[test]
fn footers_are_requested_at_the_same_time() {
    let stored = Stored::of(12_000, 1_500, 10);
    let dataset = stored.remote();
    let files = dataset.manifest().unwrap().events.len() + 1;
    assert!(files > 4, "{files}");
    stored.server.fail(|_| Some(Fault::Slow(Duration::from_millis(200))));
    let _ = stored.server.take_most_open();
    dataset.read_footers(&Interrupt::default()).unwrap();
    assert_eq!(stored.server.take_most_open(), files);
    drop(stored.server.take_log());
    dataset.read_footers(&Interrupt::default()).unwrap();
    assert_eq!(stored.server.take_log(), []);
    let interrupt = Interrupt::after(Duration::from_millis(50));
    let interrupted = stored.remote().read_footers(&interrupt).unwrap_err();
    assert!(matches!(interrupted, Error::Interrupted(_)), "{interrupted}");
}

#[test]
fn a_query_takes_at_most_one_request_for_each_row_group_and_a_second_one_none() {
    let stored = Stored::new();
    let dataset = stored.remote();
    for query in queries(&dataset) {
        // Each query finds the cache empty.
        let dataset = stored.remote();
        drop(stored.server.take_log());
        let explained = dataset.explain(&query).unwrap();
        let footers = stored.server.take_log().len();
        assert!(footers <= dataset.manifest().unwrap().events.len() + 1, "{footers}");
        let first = dataset.query(&query).unwrap();
        let requested = stored.server.take_log();
        let row_groups = explained.event_row_groups.kept + explained.spend_row_groups.kept;
        // The columns of these row groups are near each other.
        assert!(requested.len() <= row_groups, "{} requests, {row_groups} row groups", requested.len());
        assert!(requested.iter().all(|request| request.method == "GET" && request.range.is_some()), "{requested:?}");
        assert_eq!(dataset.query(&query).unwrap(), first);
        assert_eq!(stored.server.take_log(), []);
    }
}

#[test]
fn a_query_reads_row_groups_ahead() {
    let stored = Stored::new();
    let dataset = stored.remote();
    let query = &queries(&dataset)[0];
    assert!(dataset.explain(query).unwrap().event_row_groups.kept > 8);
    let expected = stored.local().query(query).unwrap();
    stored.server.fail(|_| Some(Fault::Slow(Duration::from_millis(200))));
    let _ = stored.server.take_most_open();
    let execution = Execution { threads: NonZeroUsize::new(1), ..Execution::default() };
    assert_eq!(dataset.run(query, execution).unwrap(), expected);
    let most = stored.server.take_most_open();
    assert!((8..=20).contains(&most), "{most} requests at the same time");
    let keys = dataset.with_column_budget(0).account_keys().unwrap();
    assert_eq!(keys, stored.local().account_keys().unwrap());
    let most = stored.server.take_most_open();
    assert!((8..=20).contains(&most), "{most} requests at the same time");
}

#[test]
fn a_search_for_values_reads_row_groups_ahead() {
    let stored = Stored::new();
    let local = stored.local();
    // A customer of the last day is in one of the last row groups.
    let end = local.date_range().unwrap().end;
    let last = local.query(&EventsQuery::new(["opportunityId", "eventCount"], end, end)).unwrap();
    let Some(Value::Text(id)) = last.value(0, "opportunityId") else { panic!("no customer on {end}") };
    let dataset = stored.remote();
    let is_last = Filter::field("opportunityId", Predicate::Equals(Operand::Text(id.to_owned())));
    let query = queries(&dataset)[0].clone().filter(is_last);
    stored.server.fail(|_| Some(Fault::Slow(Duration::from_millis(200))));
    let _ = stored.server.take_most_open();
    let execution = Execution { threads: NonZeroUsize::new(1), ..Execution::default() };
    assert_eq!(dataset.unseen_values(&query, &execution).unwrap(), []);
    let most = stored.server.take_most_open();
    assert!((8..=20).contains(&most), "{most} requests at the same time");
}

#[test]
fn passing_faults_change_no_answer() {
    let stored = Stored::new();
    let expected = answers(&stored.local());
    let faults = [
        Fault::Status(500),
        Fault::Status(503),
        Fault::Cut,
        Fault::Close,
        Fault::Flip,
        Fault::Slow(Duration::from_millis(50)),
    ];
    for fault in faults {
        // A byte of the manifest that changes on its way is an error, which is tested with random faults.
        let dataset = stored.remote();
        // Each range fails the first time. What is read again after a cut has the same end.
        let mut seen = HashSet::new();
        stored.server.fail(move |request| {
            let end = request.range.as_ref().map(|range| range.end);
            seen.insert((request.path.clone(), end)).then_some(fault)
        });
        assert_eq!(answers(&dataset), expected, "{fault:?}");
        stored.server.heal();
    }
}

#[test]
fn a_store_with_random_faults_gives_the_right_answer_or_an_error() {
    let stored = Stored::new();
    let expected = answers(&stored.local());
    let right = Arc::new(AtomicUsize::new(0));
    for seed in 0..12 {
        let mut random = Random::new(seed);
        stored.server.fail(move |_| match random.index(12) {
            0 => Some(Fault::Status(500)),
            1 => Some(Fault::Cut),
            2 => Some(Fault::Flip),
            3 => Some(Fault::Close),
            _ => None,
        });
        if let Ok(dataset) = Dataset::open(stored.url()) {
            for (query, expected) in queries(&dataset).iter().zip(&expected) {
                if let Ok(table) = dataset.query(query) {
                    assert_eq!(table, *expected);
                    right.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        stored.server.heal();
    }
    assert!(right.load(Ordering::Relaxed) > 0);
}

#[test]
fn bytes_that_stay_wrong_are_an_error_that_names_the_object() {
    let stored = Stored::new();
    let dataset = stored.remote();
    stored.server.fail(|_| Some(Fault::Flip));
    let query = &queries(&dataset)[0];
    let error = dataset.query(query).unwrap_err();
    assert!(matches!(error, Error::Dataset(DatasetError::Checksum { .. })), "{error}");
    assert!(error.to_string().starts_with(&format!("`{}/events/", stored.url().display())), "{error}");
    stored.server.heal();
    assert!(dataset.query(query).is_ok());
}

#[test]
fn a_store_that_refuses_is_an_error_without_credentials() {
    let stored = Stored::new();
    let dataset = stored.remote();
    stored.server.fail(|_| Some(Fault::Status(403)));
    let error = dataset.query(&queries(&dataset)[0]).unwrap_err().to_string();
    for part in [
        &format!("`{}/events/", stored.url().display()),
        "access is denied",
        "403 Forbidden",
        "ExpiredToken: A message.",
    ] {
        assert!(error.contains(part), "{error}");
    }
    assert!(!error.contains("SECRET") && !error.contains('\n'), "{error}");
}

#[test]
fn a_store_that_stays_overloaded_is_an_error_that_tells_how_often_it_was_tried() {
    let stored = Stored::new();
    let dataset = stored.remote();
    stored.server.fail(|_| Some(Fault::Status(503)));
    let start = Instant::now();
    let error = dataset.query(&queries(&dataset)[0]).unwrap_err().to_string();
    assert!(error.contains("after 8 retries") && error.contains("SlowDown: A message."), "{error}");
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

#[test]
fn missing_and_changed_objects_are_errors() {
    let stored = Stored::new();
    let dataset = stored.remote();
    let query = &queries(&dataset)[0];
    let name = &dataset.manifest().unwrap().events[0].path;
    let path = stored.folder().join(name);
    let bytes = std::fs::read(&path).unwrap();

    std::fs::write(&path, [&bytes[..], b"more"].concat()).unwrap();
    let longer = bytes.len() + 4;
    let expected =
        format!("`{}/{name}` has {longer} bytes, but the manifest says {}", stored.url().display(), bytes.len());
    assert_eq!(dataset.query(query).unwrap_err().to_string(), expected);
    assert_eq!(stored.remote().query(query).unwrap_err().to_string(), expected);

    // A range of a shorter object may not exist.
    std::fs::write(&path, &bytes[..10]).unwrap();
    let expected = format!("`{}/{name}` has 10 bytes, but the manifest says {}", stored.url().display(), bytes.len());
    assert_eq!(dataset.query(query).unwrap_err().to_string(), expected);

    std::fs::remove_file(&path).unwrap();
    let expected = format!("`{}/{name}` is missing, but the manifest names it", stored.url().display());
    assert_eq!(dataset.query(query).unwrap_err().to_string(), expected);
    assert_eq!(stored.remote().query(query).unwrap_err().to_string(), expected);
}

#[test]
fn the_files_of_a_store_are_checked_by_the_manifest_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (input, folder) = (dir.path().join("insights.ndjson"), dir.path().join("bucket/insights"));
    fs::write(&input, "{\"account\":\"a\",\"date\":\"2025-01-01\",\"insight\":{}}\n").unwrap();
    Ingest::into(&folder).insights(input).run().unwrap();
    let server = ObjectServer::start(dir.path()).unwrap();
    let only_insights = Dataset::open(format!("{}/bucket/insights", server.url())).unwrap();
    let stored = Stored::new();
    let all_tables = stored.remote();
    for (dataset, server, folder) in [(only_insights, &server, folder), (all_tables, &stored.server, stored.folder())] {
        drop(server.take_log());
        dataset.check_files().unwrap();
        let log = server.take_log();
        assert!(log.iter().all(|request| request.path.ends_with(&manifest_file::file_name(1))), "{log:?}");
        fs::remove_file(folder.join(manifest_file::file_name(1))).unwrap();
        let missing = dataset.check_files().unwrap_err().to_string();
        assert!(missing.contains("manifest-00000001.json"), "{missing}");
    }
}

#[test]
fn a_location_without_a_dataset_is_an_error() {
    let stored = Stored::new();
    let url = stored.server.url();
    assert_eq!(refused(&format!("{url}/bucket/")), format!("`{url}/bucket/` holds no dataset"));
    let unlisted = refused(&format!("{url}/bucket/other"));
    assert!(unlisted.contains("404 Not Found") && unlisted.contains("name a version"), "{unlisted}");
    let version = Dataset::open_as_of(stored.url(), 7).unwrap_err().to_string();
    assert_eq!(version, format!("`{}` holds no dataset of version 7, but of version 1", stored.url().display()));
}

#[test]
fn an_input_that_failed_fails_again_when_it_is_read_on() {
    let stored = Stored::new();
    stored.server.fail(|_| Some(Fault::Status(403)));
    let url = format!("{}/e.parquet", stored.server.url());
    let Ok(RemoteFiles::One(file)) = RemoteFile::find(Path::new(&url)) else { panic!("`{url}` means a file") };
    let mut reader = file.into_reader();
    let first = reader.read(&mut [0; 8]).unwrap_err();
    stored.server.heal();
    let second = reader.read(&mut [0; 8]).unwrap_err();
    assert_eq!((first.kind(), first.to_string()), (second.kind(), second.to_string()));
}

/// Returns the URL of a server that gives each connection one answer, and closes it.
fn answering<const N: usize>(answers: [String; N]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for answer in answers {
            let mut stream = listener.accept().unwrap().0;
            let request = BufReader::new(&stream).lines();
            request.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    url
}

#[test]
fn an_input_that_could_be_cut_short_is_an_error() {
    let read = |url: String| {
        let Ok(RemoteFiles::One(file)) = RemoteFile::find(Path::new(&url)) else { panic!("`{url}` means a file") };
        let mut text = String::new();
        file.into_reader().read_to_string(&mut text).map(|_| text).map_err(|error| error.to_string())
    };
    let unclear = "the server does not say where the file ends";
    for encoding in ["", "transfer-encoding: identity\r\n"] {
        let refused = read(answering([format!("HTTP/1.1 200 OK\r\n{encoding}\r\n01234")])).unwrap_err();
        assert!(refused.starts_with(unclear), "{refused}");
    }
    // The first answer is cut off. The server continues with an answer of these headers and bytes.
    let continued = |headers: &str, bytes: &str| {
        let tag = "etag: \"a\"\r\naccept-ranges: bytes\r\n";
        let first = format!("HTTP/1.1 200 OK\r\n{tag}content-length: 10\r\n\r\n01234");
        read(answering([first, format!("HTTP/1.1 206 Partial Content\r\n{tag}{headers}\r\n{bytes}")]))
    };
    let whole = continued("content-range: bytes 5-9/10\r\ncontent-length: 5\r\n", "56789");
    assert_eq!(whole.as_deref(), Ok("0123456789"));
    let cut = continued("content-range: bytes 5-9/10\r\n", "567").unwrap_err();
    assert!(cut.starts_with(unclear), "{cut}");
    for range in ["5-7/10", "4-9/10", "5-9/*"] {
        let headers = format!("content-range: bytes {range}\r\ncontent-length: 3\r\n");
        let part = continued(&headers, "567").unwrap_err();
        assert!(part.contains("the server does not continue the file"), "{range}: {part}");
    }
}

#[test]
fn a_list_of_versions_that_could_be_cut_short_is_an_error() {
    let names = [1, 2].map(manifest_file::file_name);
    let cut = format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{} {}", names[0], &names[1][..8]);
    let refused = refused(&format!("{}/acme", answering([cut])));
    assert!(refused.contains("does not say where the list of the folder ends"), "{refused}");
    assert!(refused.contains("name a version"), "{refused}");
}

#[test]
fn a_version_that_is_named_needs_no_list_of_versions() {
    let stored = Stored::new();
    stored.server.fail(|request| request.path.ends_with('/').then_some(Fault::Status(404)));
    assert!(Dataset::open(stored.url()).unwrap_err().to_string().contains("name a version"));
    assert_eq!(Dataset::open_as_of(stored.url(), 1).unwrap().event_rows(), stored.local().event_rows());
}

#[test]
fn locations_with_credentials_or_unknown_schemes_are_refused_and_not_shown() {
    for location in ["https://me:secret@127.0.0.1:1/x", "https://secret@127.0.0.1:1/x", "s3://bucket/x?token=secret"] {
        let error = refused(location);
        assert!(error.contains("a location has no user, password, `?` or `#`") && !error.contains("secret"), "{error}");
    }
    for location in ["ftp://host/x", "file:///tmp/x", "memory:///x", "s3:///x"] {
        let error = refused(location);
        assert!(error.contains("expected `s3://BUCKET/FOLDER`"), "{location}: {error}");
    }
}

#[test]
fn a_location_is_shown_with_its_container_and_without_credentials() {
    let shown = |location: &str| without_credentials(Path::new(location)).display().to_string();
    for location in ["abfss://data-1@acme.dfs.core.windows.net/x", "az://data/x", "s3://bucket/x", "folder/me@host"] {
        assert_eq!(shown(location), location);
    }
    for location in [
        "abfss://data:secret@acme/x",
        "az://Secret+1==@acme/x",
        "s3://secret@acme/x",
        "https://secret@acme/x",
        "http:/secret@acme/x?secret",
    ] {
        assert!(!shown(location).to_lowercase().contains("secret"), "{location}");
    }
    assert_eq!(shown("http:/acme/x?secret#secret"), "http:/acme/x");
}

#[test]
fn threads_of_any_kind_may_query_at_the_same_time() {
    let stored = Stored::new();
    let expected = answers(&stored.local());
    let dataset = stored.remote().with_column_budget(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(answers(&dataset), expected));
        }
    });
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async { assert_eq!(answers(&dataset), expected) });
}

#[test]
fn a_long_file_is_read_in_parts() {
    let stored = Stored::of(12_000, 4_000, 12 << 20);
    let dataset = stored.remote();
    drop(stored.server.take_log());
    let read = dataset.insights(&AccountFilter::All, None, 100, &Interrupt::default()).unwrap();
    assert_eq!(read.map(|insight| insight.unwrap().document.len()).max(), Some((12 << 20) + 11));
    let length = |request: &Requested| request.range.as_ref().map_or(u64::MAX, |range| range.end - range.start);
    assert!(stored.server.take_log().iter().all(|request| length(request) <= 8 << 20));
}
