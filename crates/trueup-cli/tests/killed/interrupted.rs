//! Signals that stop an ingest while its rows are on disk, or a demo while it is built. Both remove what they have
//! written.

use super::{FIRST_CSV, answers, program};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Returns the paths of everything below a folder.
pub(super) fn paths(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for path in fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()) {
        found.extend(paths(&path));
        found.insert(path);
    }
    found
}

/// Returns whether the folder of a dataset holds rows that an ingest has spilled.
fn has_spilled(dataset: &Path) -> bool {
    paths(dataset)
        .iter()
        .any(|path| path.is_file() && path.iter().any(|name| name.as_encoded_bytes().starts_with(b"scratch-")))
}

/// Begins an ingest of many rows in little memory, and sends it a signal once it has spilled some.
fn stopped(folder: &Path, signal: &str) -> Output {
    let arguments = ["ingest", "many.csv", "--into", "ds", "--memory", "4MiB", "--rejects", "rejects.ndjson"];
    signaled(folder, &arguments, signal, || has_spilled(&folder.join("ds")))
}

/// Runs a command, and sends it a signal as soon as `is_time` returns true.
fn signaled(folder: &Path, arguments: &[&str], signal: &str, is_time: impl Fn() -> bool) -> Output {
    let child = trueup_testkit::signals::program(env!("CARGO_BIN_EXE_trueup"))
        .args(arguments)
        .current_dir(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let child = child.unwrap();
    let begun = Instant::now();
    while !is_time() {
        assert!(begun.elapsed() < Duration::from_secs(120), "it is never time for the signal");
        sleep(Duration::from_millis(1));
    }
    let killed = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
    assert!(killed.unwrap().success());
    child.wait_with_output().unwrap()
}

#[test]
fn a_signal_stops_an_ingest_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = folder.path().join("ds");
    let mut many = "account,opportunityId,type,date,note\n".to_owned();
    for row in 0..400_000 {
        writeln!(many, "a{},{row},lead-originated,2025-01-01,a note of the row {row}", row % 50).unwrap();
    }
    fs::write(folder.path().join("many.csv"), many).unwrap();
    fs::write(folder.path().join("first.csv"), FIRST_CSV).unwrap();
    let stop = |signal: &str, code: i32| {
        let before = paths(folder.path());
        let output = stopped(folder.path(), signal);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(message, "error: the ingest was canceled, and nothing was ingested\n");
        assert_eq!((output.status.code(), output.stdout), (Some(code), Vec::new()));
        assert_eq!(paths(folder.path()), before, "{signal}");
    };
    stop("INT", 130);
    stop("TERM", 143);
    stop("HUP", 129);
    let first = program().args(["ingest", "first.csv", "--into", "ds"]).current_dir(&folder).output().unwrap();
    assert!(first.status.success());
    let old = answers(&dataset).unwrap();
    stop("INT", 130);
    assert_eq!(answers(&dataset).unwrap(), old);
}

#[test]
fn a_signal_stops_a_demo_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let begins = |path: &PathBuf, name: &str| {
        path.file_name().is_some_and(|file| file.as_encoded_bytes().starts_with(name.as_bytes()))
    };
    let has = |name: &str| paths(folder.path()).iter().any(|path| begins(path, name));
    // While the events are generated, and while they are ingested.
    for (signal, code, file) in [("INT", 130, "demo-events.parquet"), ("TERM", 143, "part-0000-")] {
        let arguments = ["demo", "new/folder/demo", "--events", "300000", "--seed", "7"];
        let output = signaled(folder.path(), &arguments, signal, || has(file));
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(message, "error: the demo was canceled, and nothing was created\n");
        assert_eq!((output.status.code(), output.stdout), (Some(code), Vec::new()));
        assert_eq!(paths(folder.path()), BTreeSet::new(), "{signal}");
    }
}
