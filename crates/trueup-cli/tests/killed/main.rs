//! Kills the program while it ingests, at random moments and at every system call, and makes system calls fail. The
//! dataset must be the old one or the new one, complete, and the next ingest must clean up.

#![expect(clippy::unwrap_used, reason = "tests")]
#![cfg(target_os = "linux")]

mod interrupted;
mod moments;
mod store;
mod threads;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;
use trueup::query::EventsQuery;
use trueup::versions::Verification;
use trueup::{Dataset, ResultTable};
use trueup_testkit::exhaustive::is_exhaustive;

const FIRST_CSV: &str = "account,opportunityId,type,date,eventId,total\n\
    a,1,lead-originated,2025-01-01,e1,\na,1,sold,2025-01-05,e2,100\nb,1,lead-originated,2025-01-02,e1,\n";
const SECOND_CSV: &str = "account,opportunityId,type,date,eventId,total\n\
    a,1,closed,2025-01-05,e2,120.5\nc,1,lead-originated,2025-01-02,e1,\n";

/// A folder with two inputs and the dataset of the first, and the answers before and after the second.
struct IngestCase {
    dir: TempDir,
    old: ResultTable,
    new: ResultTable,
}

impl IngestCase {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("1.csv"), FIRST_CSV).unwrap();
        fs::write(dir.path().join("2.csv"), SECOND_CSV).unwrap();
        let ingest = |input: &str| {
            let run = program().args(["ingest", input, "--into", "ds", "--threads", "1"]).current_dir(&dir).output();
            assert!(run.unwrap().status.success());
            answers(&dir.path().join("ds")).unwrap()
        };
        let old = ingest("1.csv");
        copy(&dir.path().join("ds"), &dir.path().join("old"));
        let new = ingest("2.csv");
        assert_ne!(old, new);
        Self { dir, old, new }
    }

    fn dataset(&self) -> PathBuf {
        self.dir.path().join("ds")
    }

    /// Restores the old dataset.
    fn reset(&self) {
        fs::remove_dir_all(self.dataset()).unwrap();
        copy(&self.dir.path().join("old"), &self.dataset());
    }

    /// Returns a command that runs the second ingest under `runner`.
    fn second(&self, mut runner: Command) -> Command {
        runner.args(["ingest", "2.csv", "--into", "ds", "--threads", "1"]).current_dir(&self.dir);
        runner.env("RAYON_NUM_THREADS", "1").stdin(Stdio::null()).stdout(Stdio::null());
        runner
    }

    /// Checks what an interrupted ingest has left, and repeats the ingest. Returns whether the new version already
    /// existed.
    fn check(&self, what: &str) -> bool {
        assert_eq!(fs::read_to_string(self.dir.path().join("2.csv")).unwrap(), SECOND_CSV, "{what}");
        assert_eq!(faults(&self.dataset()), Ok(Vec::new()), "{what}");
        let found = answers(&self.dataset()).unwrap();
        assert!(found == self.old || found == self.new, "{what}");
        assert!(self.second(program()).stderr(Stdio::null()).status().unwrap().success(), "{what}");
        assert_eq!(answers(&self.dataset()).unwrap(), self.new, "{what}");
        assert_eq!(faults(&self.dataset()), Ok(Vec::new()), "{what}");
        assert_eq!(count(&self.dataset()), versions(found == self.new), "{what}: leftover files");
        found == self.new
    }
}

/// The [counts](count) of a dataset of two versions, which have no file in common.
const TWO_VERSIONS: [usize; 4] = [2, 3, 2, 2];

/// Returns the [counts](count) of a dataset after the second ingest ran again: it has a third version if the second one
/// was published before, because events with ids are applied again.
const fn versions(was_published: bool) -> [usize; 4] {
    if was_published { [3, 3, 3, 3] } else { TWO_VERSIONS }
}

/// Counts the manifests, the other entries, the event files and the lists of files of a dataset.
fn count(dataset: &Path) -> [usize; 4] {
    let names = |dir: &Path| -> Vec<String> {
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    let (manifests, others): (Vec<_>, Vec<_>) =
        names(dataset).into_iter().partition(|name| name.starts_with("manifest-"));
    [manifests.len(), others.len(), names(&dataset.join("events")).len(), names(&dataset.join("lists")).len()]
}

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_trueup"))
}

fn answers(dataset: &Path) -> Result<ResultTable, trueup::Error> {
    let fields = ["account", "opportunityId", "type", "eventCount", "total", "closedRevenue"];
    let query = EventsQuery::new(fields, "2025-01-01".parse().unwrap(), "2025-01-31".parse().unwrap());
    Dataset::open(dataset)?.query(&query)
}

/// Returns what `trueup verify` finds, or why it cannot read the dataset.
fn faults(dataset: &Path) -> Result<Vec<String>, String> {
    Verification::of(dataset, None).map(|verified| verified.faults).map_err(|error| error.to_string())
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() { copy(&entry.path(), &to) } else { assert!(fs::copy(entry.path(), to).is_ok()) }
    }
}

/// System calls that change files, or that a change depends on.
const CHANGING: [&str; 10] =
    ["fsync", "linkat", "mkdir", "unlinkat", "unlink", "rmdir", "rename", "write", "getdents64", "flock"];

/// Returns the errors that a test tries: all if it tries everything, otherwise `sample`.
fn errors(sample: [&'static str; 2]) -> Vec<&'static str> {
    if is_exhaustive() { vec!["EIO", "ENOSPC", "EACCES", "EINTR"] } else { sample.to_vec() }
}

/// Counts the calls of each system call of the second ingest.
fn system_calls(case: &IngestCase) -> BTreeMap<String, usize> {
    let log = case.dir.path().join("log");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-o"]).arg(&log).arg(env!("CARGO_BIN_EXE_trueup"));
    case.reset();
    let run = case.second(strace).stderr(Stdio::null()).status().unwrap();
    assert!(run.success());
    count_by_thread(&fs::read_to_string(log).unwrap())
}

/// Counts the calls of each system call in a log of strace, in the thread that makes the most of them, because strace
/// counts by thread.
fn count_by_thread(log: &str) -> BTreeMap<String, usize> {
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for line in log.lines() {
        let Some((thread, call)) = line.split_once(' ') else { continue };
        let Some((name, _)) = call.trim_start().split_once('(') else { continue };
        if name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_') {
            *counts.entry((name.to_owned(), thread.to_owned())).or_default() += 1;
        }
    }
    let mut most = BTreeMap::new();
    for ((name, _), count) in counts {
        let most = most.entry(name).or_insert(0);
        *most = count.max(*most);
    }
    most
}

/// Runs the second ingest with one fault injected. Returns its exit code and its messages.
fn injected(case: &IngestCase, call: &str, fault: &str, position: usize) -> (Option<i32>, String) {
    case.reset();
    let mut strace = Command::new("strace");
    strace.args(["-f", "-o", "/dev/null", "-e"]).arg(format!("inject={call}:{fault}:when={position}"));
    strace.arg("-e").arg(format!("trace={call}")).arg(env!("CARGO_BIN_EXE_trueup"));
    let run = case.second(strace).output().unwrap();
    (run.status.code(), String::from_utf8_lossy(&run.stderr).into_owned())
}

/// Checks the outcome of an ingest that a system call at a position should have killed. Returns whether it was killed:
/// strace counts by thread, and another thread may have made the call this time.
fn check_kill(case: &IngestCase, code: Option<i32>, what: &str) -> bool {
    if code.is_none() {
        return true;
    }
    assert_eq!(code, Some(0), "{what}");
    assert_eq!(answers(&case.dataset()).unwrap(), case.new, "{what}");
    false
}

/// Checks the outcome of an ingest in which a system call that changes files failed. Returns whether the ingest
/// reported an error.
fn check_failure(case: &IngestCase, call: &str, code: Option<i32>, message: &str, what: &str) -> bool {
    assert!(matches!(code, Some(0 | 1)), "{what}");
    let is_new = answers(&case.dataset()).unwrap() == case.new;
    if code == Some(0) {
        assert!(is_new, "{what}");
        return false;
    }
    if message.is_empty() {
        assert_eq!(call, "write", "the message is what could not be written: {what}");
        return false;
    }
    assert!(message.starts_with("error: ") && message.lines().count() == 1, "{what}");
    if !message.contains("it is unknown whether version 2 is published") {
        assert_eq!(is_new, message.contains("is published, durability unknown"), "{what}");
    }
    true
}

#[test]
#[ignore = "needs strace"]
fn a_kill_at_any_system_call_leaves_the_old_or_the_new_dataset() {
    let case = IngestCase::new();
    let (mut kills, mut killed, mut published) = (0, 0, 0);
    for (call, count) in system_calls(&case) {
        // The only `execve` is strace's own. Hundreds of `madvise` calls return memory at the end, when nothing else
        // happens.
        let last = if call == "madvise" { count.min(5) } else { count };
        for position in 1..=last {
            if call == "execve" {
                continue;
            }
            let (code, message) = injected(&case, &call, "signal=KILL", position);
            let what = format!("kill at {call} {position}: {code:?}: {message}");
            let is_killed = check_kill(&case, code, &what);
            let is_published = case.check(&what);
            kills += 1;
            killed += usize::from(is_killed);
            published += usize::from(is_killed && is_published);
        }
    }
    println!("{killed} of {kills} killed: {published} were published");
    assert!(killed > 200 && killed * 2 > kills, "{killed} of {kills} killed");
    assert!((1..killed).contains(&published), "{published} of {killed} published");
}

#[test]
#[ignore = "needs strace"]
fn a_failed_system_call_leaves_the_old_or_the_new_dataset() {
    let case = IngestCase::new();
    let calls = system_calls(&case);
    let (mut tried, mut failed) = (0, 0);
    for call in CHANGING {
        for position in 1..=calls.get(call).copied().unwrap_or(0) {
            for error in errors(["EIO", "ENOSPC"]) {
                let (code, message) = injected(&case, call, &format!("error={error}"), position);
                let what = format!("{error} of {call} {position}: {code:?}: {message}");
                failed += usize::from(check_failure(&case, call, code, &message, &what));
                case.check(&what);
                tried += 1;
            }
        }
    }
    println!("{tried} faults: {failed} failed");
    assert!(failed > 10, "{failed}");
}

#[test]
#[ignore = "needs strace"]
fn a_failed_reading_system_call_leaves_the_old_or_the_new_dataset() {
    let case = IngestCase::new();
    let calls = system_calls(&case);
    let (mut tried, mut failed) = (0, 0);
    for call in ["openat", "pread64", "read", "fstat", "statx", "lseek", "close"] {
        for position in 1..=calls.get(call).copied().unwrap_or(0) {
            for error in errors(["EIO", "EACCES"]) {
                let (code, message) = injected(&case, call, &format!("error={error}"), position);
                let what = format!("{error} of {call} {position}: {code:?}: {message}");
                // These include the calls that load the program, so it may not even start.
                if code == Some(0) {
                    assert_eq!(answers(&case.dataset()).unwrap(), case.new, "{what}");
                } else {
                    failed += 1;
                }
                case.check(&what);
                tried += 1;
            }
        }
    }
    println!("{tried} faults: {failed} failed");
    assert!(failed > 10, "{failed}");
}
