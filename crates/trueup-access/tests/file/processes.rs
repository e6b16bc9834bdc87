//! Two processes that use one file.

use super::{NOW, open};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use trueup_access::{DirectorySettings, Hourly, Refusal, SecretKey, SqliteDirectory};
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
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("directory.sqlite");
    let directory = open(&path);
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
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("directory.sqlite");
    let directory = open(&path);
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
    assert_eq!(one.authenticate(Some(&key.secret)).unwrap(), Err(Refusal::Revoked { user: "u".into() }));
}
