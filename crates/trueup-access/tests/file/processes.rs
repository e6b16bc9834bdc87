//! Two processes that use one file: one sees the changes of the other, and waits for its locks.

use super::{NOW, new_directory, open};
use rusqlite::Connection;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use trueup_access::{DirectorySettings, Error, Hourly, Refusal, SecretKey, SqliteDirectory};
use trueup_access::{Keys as _, Requests as _, Users as _};

/// The environment variable with the file that the second process opens. Without it, that process has nothing to do.
const FILE_VARIABLE: &str = "TRUEUP_ACCESS_TEST_FILE";

/// The second process: reads `key KEY`, `count USER REQUESTS` and `rotate USER NUMBER` from its standard input, and
/// answers each in one line of its standard output that begins with `> `.
#[test]
#[ignore = "other tests start it as a second process"]
fn second_process() {
    let Some(path) = std::env::var_os(FILE_VARIABLE) else { return };
    let directory = SqliteDirectory::open_existing(PathBuf::from(path), DirectorySettings::default()).unwrap();
    println!();
    println!("> ready");
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["key", key] => match directory.authenticate(Some(&SecretKey::new(key))).unwrap() {
                Ok(login) => println!("> {}", login.user()),
                Err(refusal) => println!("> {refusal}"),
            },
            ["count", user, requests] => {
                let login = directory.login(user).unwrap().unwrap();
                let allowed = |_: &u32| directory.count(&login, NOW).unwrap() == Hourly::Allowed;
                println!("> {}", (0..requests.parse().unwrap()).filter(allowed).count());
            }
            ["rotate", user, id] => {
                let new = directory.rotate_key(user, id.parse().unwrap(), NOW).unwrap();
                println!("> {} {}", new.id, new.secret.reveal());
            }
            _ => panic!("{line}"),
        }
    }
}

/// The other end of a second process.
pub(crate) struct SecondProcess {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl SecondProcess {
    pub(crate) fn start(path: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "processes::second_process", "--ignored", "--nocapture", "--test-threads=1"])
            .env(FILE_VARIABLE, path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut second = Self { child, stdin, stdout };
        assert_eq!(second.answer(), "ready");
        second
    }

    fn send(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").unwrap();
    }

    fn answer(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert_ne!(self.stdout.read_line(&mut line).unwrap(), 0, "the second process ended");
            if let Some(answer) = line.strip_prefix("> ") {
                return answer.trim_end().to_owned();
            }
        }
    }

    pub(crate) fn ask(&mut self, line: &str) -> String {
        self.send(line);
        self.answer()
    }

    /// Kills the process, which leaves its write-ahead log behind.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn end(mut self) {
        drop(self.stdin);
        assert!(self.child.wait().unwrap().success());
    }
}

#[test]
fn a_key_revoked_by_one_process_is_refused_by_the_other_immediately() {
    let (_folder, path, directory) = new_directory();
    directory.add_user("u").unwrap();
    let mut second = SecondProcess::start(&path);
    let mut key = directory.create_key("u", NOW).unwrap();
    for _ in 0..50 {
        let question = format!("key {}", key.secret.reveal());
        assert_eq!(second.ask(&question), "u");
        let next = directory.rotate_key("u", key.id, NOW).unwrap();
        assert_eq!(second.ask(&question), "a revoked key of user `u`");
        key = next;
    }
    let question = format!("key {}", key.secret.reveal());
    directory.set_active("u", false).unwrap();
    assert_eq!(second.ask(&question), "user `u` is inactive");
    directory.set_active("u", true).unwrap();
    assert_eq!(second.ask(&question), "u");
    directory.delete_key("u", key.id, NOW).unwrap();
    assert_eq!(second.ask(&question), "a revoked key of user `u`");
    second.end();
}

#[test]
fn two_processes_share_one_hourly_limit() {
    let (_folder, path, directory) = new_directory();
    directory.add_user("u").unwrap();
    let login = directory.login("u").unwrap().unwrap();
    let mut second = SecondProcess::start(&path);
    second.send("count u 700");
    let own = (0..700).filter(|_| directory.count(&login, NOW).unwrap() == Hourly::Allowed).count();
    let other: usize = second.answer().parse().unwrap();
    assert_eq!(own + other, 1_000, "{own} + {other}");
    second.end();
}

#[test]
fn two_directories_on_one_file_see_the_changes_of_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("directory.sqlite");
    let (one, two) = (open(&path), open(&path));
    one.add_user("u").unwrap();
    let key = one.create_key("u", NOW).unwrap();
    assert!(two.authenticate(Some(&key.secret)).unwrap().is_ok());
    two.delete_key("u", key.id, NOW).unwrap();
    assert_eq!(one.authenticate(Some(&key.secret)).unwrap(), Err(Refusal::Revoked("u".into())));
}

#[test]
fn no_thread_accepts_a_key_that_another_process_has_rotated() {
    const ROUNDS: usize = 60;
    /// Longest time that a round waits, in milliseconds.
    const MAX_WAIT: usize = 10_000;
    let (_folder, path, directory) = new_directory();
    directory.add_user("u").unwrap();
    let key = directory.create_key("u", NOW).unwrap();
    let mut second = SecondProcess::start(&path);
    let mut id = key.id.to_string();
    let keys = RwLock::new(vec![key.secret]);
    // Keys before this index were replaced before the index was stored, because the other process had answered.
    let revoked = AtomicUsize::new(0);
    let (done, admitted, refused) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for number in 0..8 {
            let (keys, revoked, done, admitted, refused) = (&keys, &revoked, &done, &admitted, &refused);
            let directory = &directory;
            scope.spawn(move || {
                while !done.load(Ordering::SeqCst) {
                    let known_revoked = revoked.load(Ordering::SeqCst);
                    let index = known_revoked.saturating_sub(number % 2);
                    let key = keys.read().unwrap()[index].clone();
                    if directory.authenticate(Some(&key)).unwrap().is_ok() {
                        assert!(
                            index >= known_revoked,
                            "key {index} was accepted, and the first {known_revoked} are revoked"
                        );
                        admitted.fetch_add(1, Ordering::Relaxed);
                    } else if index < known_revoked {
                        refused.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        for round in 1..=ROUNDS {
            let answer = second.ask(&format!("rotate u {id}"));
            let (new, secret) = answer.split_once(' ').unwrap();
            new.clone_into(&mut id);
            keys.write().unwrap().push(SecretKey::new(secret));
            revoked.store(round, Ordering::SeqCst);
            // Waits until threads have used both the new key and a revoked one, so that each round tests something. The
            // wait is limited, because a thread whose assertion failed sends no more requests.
            for _ in 0..MAX_WAIT {
                if admitted.load(Ordering::Relaxed) > round && refused.load(Ordering::Relaxed) > round {
                    break;
                }
                thread::sleep(Duration::from_millis(1));
            }
        }
        done.store(true, Ordering::SeqCst);
    });
    second.end();
    let [admitted, refused] = [admitted, refused].map(AtomicUsize::into_inner);
    assert!(admitted > ROUNDS && refused > ROUNDS, "{admitted} admitted, {refused} refused");
    for (index, key) in keys.into_inner().unwrap().iter().enumerate() {
        assert_eq!(directory.authenticate(Some(key)).unwrap().is_ok(), index == ROUNDS);
    }
}

/// Longer than one wait, and shorter than 100 waits in a row.
const SOON: Duration = Duration::from_secs(10);

#[test]
fn requests_wait_for_a_locked_file_in_parallel() {
    let (_folder, path, directory) = new_directory();
    directory.add_user("u").unwrap();
    let key = directory.create_key("u", NOW).unwrap();
    let login = directory.login("u").unwrap().unwrap();
    let holder = Connection::open(&path).unwrap();
    holder.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let begun = Instant::now();
    thread::scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|| {
                assert!(matches!(directory.count(&login, NOW), Err(Error::Locked(_))));
                // Reading does not wait.
                assert!(directory.authenticate(Some(&key.secret)).unwrap().is_ok());
            });
        }
    });
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    let error = directory.add_user("v").unwrap_err();
    assert!(matches!(error, Error::Locked(_)) && error.is_storage(), "{error}");
    assert!(error.to_string().contains("another process holds the directory `"), "{error}");
    holder.execute_batch("ROLLBACK").unwrap();
    assert_eq!(directory.count(&login, NOW).unwrap(), Hourly::Allowed);
    directory.add_user("v").unwrap();
}

#[test]
fn an_exclusively_locked_file_is_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.sqlite");
    drop(open(&path));
    let holder = Connection::open(&path).unwrap();
    holder.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").unwrap();
    let begun = Instant::now();
    let settings = || DirectorySettings::default().change_wait(Duration::from_millis(50));
    assert!(matches!(SqliteDirectory::open(&path, settings()), Err(Error::Locked(_))));
    assert!(matches!(SqliteDirectory::open_existing(&path, settings()), Err(Error::Locked(_))));
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    drop(holder);
    drop(open(&path));
}

#[test]
fn a_change_waits_until_another_change_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.sqlite");
    let settings = DirectorySettings::default().change_wait(Duration::from_secs(60));
    let directory = SqliteDirectory::open(&path, settings).unwrap();
    let holder = Connection::open(&path).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| directory.add_user("u"));
        thread::sleep(Duration::from_millis(50));
        assert!(!waiting.is_finished());
        holder.execute_batch("COMMIT").unwrap();
        waiting.join().unwrap().unwrap();
    });
}
