//! Another process holds a lock on the file.

use super::{NOW, open};
use rusqlite::Connection;
use std::thread;
use std::time::{Duration, Instant};
use trueup_access::{DirectorySettings, Error, Hourly, Keys as _, Requests as _, SqliteDirectory, Users as _};

/// Longer than one wait, and shorter than 100 waits in a row.
const SOON: Duration = Duration::from_secs(10);

#[test]
fn requests_wait_for_a_locked_file_in_parallel() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.sqlite");
    let directory = open(&path);
    directory.add_user("u").unwrap();
    let key = directory.create_key("u", NOW).unwrap();
    let login = directory.login("u").unwrap().unwrap();
    let holder = Connection::open(&path).unwrap();
    holder.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let begun = Instant::now();
    thread::scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|| {
                assert!(matches!(directory.count(&login, NOW), Err(Error::Locked { .. })));
                // Reading does not wait.
                assert!(directory.authenticate(Some(&key.secret)).unwrap().is_ok());
            });
        }
    });
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    let error = directory.add_user("v").unwrap_err();
    assert!(matches!(error, Error::Locked { .. }) && error.is_storage(), "{error}");
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
    assert!(matches!(SqliteDirectory::open(&path, settings()), Err(Error::Locked { .. })));
    assert!(matches!(SqliteDirectory::open_existing(&path, settings()), Err(Error::Locked { .. })));
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
