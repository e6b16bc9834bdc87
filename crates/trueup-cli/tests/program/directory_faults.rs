//! A directory is intact after one of the system calls in [`FAILING`] has failed, and after the program has been killed
//! at any system call on the directory's files. `strace` injects the faults.

#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use trueup::access::{DirectorySettings, Keys as _, Requests as _, SecretKey, SqliteDirectory, Users as _};

/// System calls that can fail in the middle of a change.
const FAILING: [&str; 12] = [
    "write",
    "pwrite64",
    "fsync",
    "fdatasync",
    "ftruncate",
    "openat",
    "unlink",
    "rename",
    "link",
    "linkat",
    "flock",
    "mmap",
];
/// The endings of the names of a directory's files.
const ENDINGS: [&str; 8] = ["", "-wal", "-shm", "-lock", "-new", "-new-journal", "-new-wal", "-new-shm"];

/// A fault to inject at the `nth` call of a system call, such as `error=EIO` or `signal=KILL`.
#[derive(Clone, Debug)]
struct Fault {
    call: String,
    what: &'static str,
    nth: usize,
}

/// One run of a command on a directory in a new folder.
struct FaultyRun<'a> {
    folder: tempfile::TempDir,
    arguments: &'a [&'a str],
}

impl<'a> FaultyRun<'a> {
    fn new(before: Option<&Path>, arguments: &'a [&'a str]) -> Self {
        let run = Self { folder: tempfile::tempdir().unwrap(), arguments };
        if let Some(before) = before {
            std::fs::copy(before, run.path()).unwrap();
        }
        run
    }

    fn path(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("directory.sqlite")
    }

    /// Runs the command under strace, which traces only system calls on the files of the directory.
    fn traced(&self, fault: Option<&Fault>) -> Output {
        let mut strace = Command::new("strace");
        strace.args(["-f", "-qqq", "-o"]).arg(self.folder.path().join("trace"));
        for ending in ENDINGS {
            strace.arg("-P").arg(format!("{}{ending}", self.path().display()));
        }
        if let Some(Fault { call, what, nth }) = fault {
            strace.args(["-e", &format!("inject={call}:{what}:when={nth}")]);
        }
        strace.arg(env!("CARGO_BIN_EXE_trueup")).args(self.arguments).arg("--directory").arg(self.path());
        strace.output().map_err(|error| format!("this test needs `strace`; install it: {error}")).unwrap()
    }

    /// Counts the calls of each system call in the trace.
    fn calls(&self) -> BTreeMap<String, usize> {
        let trace = std::fs::read_to_string(self.folder.path().join("trace")).unwrap();
        let mut calls = BTreeMap::new();
        for call in trace.lines().filter_map(|line| line.split_whitespace().nth(1)?.split_once('(')) {
            *calls.entry(call.0.to_owned()).or_insert(0) += 1;
        }
        calls
    }

    fn open(&self) -> SqliteDirectory {
        SqliteDirectory::open_existing(self.path(), DirectorySettings::default()).unwrap()
    }
}

/// Injects a kill at every system call of the command on the directory's files, and errors at the ones in [`FAILING`].
/// Runs `judge` after each fault.
fn at_every_call(before: Option<&Path>, arguments: &[&str], judge: &(dyn Fn(&FaultyRun<'_>, &Output, &Fault) + Sync)) {
    let run = FaultyRun::new(before, arguments);
    let output = run.traced(None);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let calls = run.calls();
    assert!(calls.values().sum::<usize>() > 100, "strace saw {calls:?}");
    let mut faults = Vec::new();
    for (call, times) in &calls {
        let fails = FAILING.contains(&call.as_str());
        let errors: &[&str] = if fails { &["error=EIO", "error=ENOSPC", "signal=KILL"] } else { &["signal=KILL"] };
        let of = |nth| errors.iter().map(move |what| Fault { call: call.clone(), what, nth });
        faults.extend((1..=*times).flat_map(of));
    }
    let remaining = Mutex::new(faults);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let next = remaining.lock().unwrap().pop();
                    let Some(fault) = next else { break };
                    let run = FaultyRun::new(before, arguments);
                    let output = run.traced(Some(&fault));
                    let is_killed = fault.what == "signal=KILL";
                    let message = String::from_utf8_lossy(&output.stderr);
                    // strace exits like the traced program. An error during clean-up may leave the exit code at 0.
                    let ends_well = match output.status.code() {
                        Some(0) => true,
                        Some(1) => message.starts_with("error: ") || message.contains("\nerror: "),
                        Some(_) => false,
                        None => is_killed,
                    };
                    assert!(ends_well, "{fault:?}: {} {message}", output.status);
                    judge(&run, &output, &fault);
                }
            });
        }
    });
}

fn now() -> trueup::access::UnixTime {
    std::time::SystemTime::now().into()
}

fn lets_in(directory: &SqliteDirectory, key: &SecretKey) -> bool {
    directory.authenticate(Some(key)).unwrap().is_ok()
}

/// Creates a directory with the user `anna`, whose key 1 is revoked and whose keys 2 and 3 work.
fn directory_of_anna(path: &Path) -> [SecretKey; 3] {
    let directory = SqliteDirectory::open(path, DirectorySettings::default()).unwrap();
    directory.add_user("anna").unwrap();
    let keys = [(); 3].map(|()| directory.create_key("anna", now()).unwrap());
    directory.delete_key("anna", keys[0].id, now()).unwrap();
    keys.map(|key| key.secret)
}

#[test]
#[ignore = "needs strace"]
fn a_key_is_revoked_or_unchanged_whatever_fails() {
    let folder = tempfile::tempdir().unwrap();
    let before = folder.path().join("before.sqlite");
    let [revoked, key, other] = directory_of_anna(&before);
    at_every_call(Some(&before), &["keys", "delete", "nowhere", "anna", "2"], &|run, output, fault| {
        let directory = run.open();
        assert_eq!(directory.verify().unwrap(), [""; 0], "{fault:?}");
        assert!(!lets_in(&directory, &revoked) && lets_in(&directory, &other), "{fault:?}");
        let is_old = lets_in(&directory, &key);
        // A change that was reported as done is done.
        assert!(!(is_old && output.status.success()), "{fault:?}");
        assert_eq!(directory.keys("anna").unwrap().len(), if is_old { 2 } else { 1 }, "{fault:?}");
        if is_old {
            directory.delete_key("anna", "2".parse().unwrap(), now()).unwrap();
        }
        drop(directory);
        assert!(!lets_in(&run.open(), &key), "{fault:?}");
    });
}

#[test]
#[ignore = "needs strace"]
fn a_key_is_created_or_absent_whatever_fails() {
    let folder = tempfile::tempdir().unwrap();
    let before = folder.path().join("before.sqlite");
    let [revoked, _, other] = directory_of_anna(&before);
    at_every_call(Some(&before), &["keys", "create", "nowhere", "anna"], &|run, output, fault| {
        let directory = run.open();
        assert_eq!(directory.verify().unwrap(), [""; 0], "{fault:?}");
        assert!(!lets_in(&directory, &revoked) && lets_in(&directory, &other), "{fault:?}");
        let shown = String::from_utf8(output.stdout.clone()).unwrap();
        let keys = directory.keys("anna").unwrap().len();
        assert!((2..=3).contains(&keys), "{fault:?}: {keys}");
        assert!(!output.status.success() || !shown.is_empty(), "{fault:?}");
        // A key that was printed works.
        assert!(shown.is_empty() || keys == 3 && lets_in(&directory, &SecretKey::new(shown.trim_end())), "{fault:?}");
    });
}

#[test]
#[ignore = "needs strace"]
fn a_new_directory_is_complete_or_absent_whatever_fails() {
    at_every_call(None, &["users", "add", "nowhere", "anna"], &|run, output, fault| {
        let is_there = run.path().exists();
        assert!(is_there || !output.status.success(), "{fault:?}");
        if is_there {
            let directory = run.open();
            assert_eq!(directory.verify().unwrap(), [""; 0], "{fault:?}");
            let users = directory.users().unwrap().len();
            assert!(users == 1 || users == 0 && !output.status.success(), "{fault:?}: {users}");
        }
        // Leftover files do not prevent the creation of a directory.
        let directory = SqliteDirectory::open(run.path(), DirectorySettings::default()).unwrap();
        directory.add_user("bert").unwrap();
    });
}
