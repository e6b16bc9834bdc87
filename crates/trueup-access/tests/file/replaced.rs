//! Another file replaces the file of a directory: a backup is restored while a service runs, or after it was killed.

use super::processes::SecondProcess;
use super::{NOW, open};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use trueup_access::{
    DirectorySettings, Error, Hourly, Keys as _, Refusal, Requests as _, SecretKey, SqliteDirectory, Users as _,
};

/// Creates a directory at `path` with these users. Returns one key of each.
fn create(path: &Path, users: &[&str]) -> Vec<SecretKey> {
    let directory = open(path);
    let key = |user: &&str| {
        directory.add_user(user).unwrap();
        directory.create_key(user, NOW).unwrap().secret
    };
    users.iter().map(key).collect()
}

/// Returns the path of a file next to the directory.
fn companion(path: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", path.display()))
}

#[test]
fn the_next_call_reads_the_new_file() {
    let folder = tempfile::tempdir().unwrap();
    let [path, backup, aside] = ["d.sqlite", "backup.sqlite", "aside.sqlite"].map(|name| folder.path().join(name));
    let new = create(&backup, &["kept", "new"]);
    let old = create(&path, &["kept", "old"]);
    let directory = open(&path);
    // Connections of all kinds are open, and the log contains changes.
    let login = directory.authenticate(Some(&old[0])).unwrap().unwrap();
    assert_eq!(directory.count(&login, NOW).unwrap(), Hourly::Allowed);
    directory.add_user("later").unwrap();
    fs::rename(&path, &aside).unwrap();
    fs::rename(&backup, &path).unwrap();

    for key in &old {
        assert_eq!(directory.authenticate(Some(key)).unwrap(), Err(Refusal::Unknown));
    }
    for (key, user) in new.iter().zip(["kept", "new"]) {
        assert_eq!(directory.authenticate(Some(key)).unwrap().unwrap().user(), user);
    }
    let users: Vec<String> = directory.users().unwrap().into_iter().map(|user| user.name).collect();
    assert_eq!(users, ["kept", "new"]);
    assert_eq!(directory.count(&login, NOW).unwrap(), Hourly::Allowed);
    directory.add_user("after").unwrap();
    assert!(directory.verify().unwrap().is_empty());
    drop(directory);
    assert_eq!(open(&path).users().unwrap().len(), 3);
}

#[test]
fn the_first_write_goes_to_the_new_file() {
    let folder = tempfile::tempdir().unwrap();
    let [path, backup] = ["d.sqlite", "backup.sqlite"].map(|name| folder.path().join(name));
    create(&backup, &["u"]);
    create(&path, &["u"]);
    let directory = open(&path);
    let key = directory.create_key("u", NOW).unwrap();
    fs::rename(&backup, &path).unwrap();
    assert!(matches!(directory.delete_key("u", key.id, NOW), Err(Error::UnknownKey { .. })));
    let key = directory.create_key("u", NOW).unwrap();
    drop(directory);
    assert!(open(&path).authenticate(Some(&key.secret)).unwrap().is_ok());
}

/// The last changes of the old file are only in its log. SQLite alone would apply them to the new file.
#[test]
fn the_log_of_the_old_file_is_not_applied_to_the_new_one() {
    for is_opened_later in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let [path, backup] = ["d.sqlite", "backup.sqlite"].map(|name| folder.path().join(name));
        create(&path, &["u", "v"]);
        let directory = open(&path);
        let key = directory.create_key("u", NOW).unwrap();
        // The backup contains the key and has the same layout, so pages of the old file would fit into it.
        rusqlite::Connection::open(&path).unwrap().execute("VACUUM INTO ?1", [backup.to_str().unwrap()]).unwrap();
        directory.delete_key("u", key.id, NOW).unwrap();
        directory.remove_user("v").unwrap();
        assert!(fs::metadata(companion(&path, "-wal")).unwrap().len() > 0);
        fs::rename(&backup, &path).unwrap();
        let other = open(&path);
        let directory = if is_opened_later { &other } else { &directory };
        assert!(directory.authenticate(Some(&key.secret)).unwrap().is_ok());
        assert_eq!(directory.users().unwrap().len(), 2);
        assert!(directory.verify().unwrap().is_empty());
        assert!(fs::metadata(companion(&path, "-wal-replaced")).unwrap().len() > 0);
    }
}

#[test]
fn the_log_of_a_killed_process_is_not_applied_to_another_file() {
    let folder = tempfile::tempdir().unwrap();
    let [path, backup] = ["d.sqlite", "backup.sqlite"].map(|name| folder.path().join(name));
    create(&path, &["u"]);
    fs::copy(&path, &backup).unwrap();
    let second = SecondProcess::start(&path);
    let directory = open(&path);
    let key = directory.create_key("u", NOW).unwrap();
    drop(directory);
    second.kill();
    assert!(fs::metadata(companion(&path, "-wal")).unwrap().len() > 0);
    fs::remove_file(&path).unwrap();
    fs::rename(&backup, &path).unwrap();
    assert_eq!(open(&path).authenticate(Some(&key.secret)).unwrap(), Err(Refusal::Unknown));
}

#[test]
fn the_log_of_a_killed_process_is_applied_to_its_own_file() {
    for is_copied in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let (path, copy) = (folder.path().join("d.sqlite"), folder.path().join("copy.sqlite"));
        create(&path, &["u"]);
        let second = SecondProcess::start(&path);
        let directory = open(&path);
        let key = directory.create_key("u", NOW).unwrap();
        drop(directory);
        second.kill();
        if is_copied {
            for ending in ["", "-wal", "-shm", "-lock"] {
                fs::copy(companion(&path, ending), companion(&copy, ending)).unwrap();
            }
        }
        let directory = open(if is_copied { &copy } else { &path });
        assert!(directory.authenticate(Some(&key.secret)).unwrap().is_ok(), "{is_copied}");
    }
}

#[test]
fn another_process_switches_to_the_new_file_and_keeps_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let [path, backup] = ["d.sqlite", "backup.sqlite"].map(|name| folder.path().join(name));
    let old = create(&path, &["u"]);
    let new = create(&backup, &["u"]);
    let mut second = SecondProcess::start(&path);
    let directory = open(&path);
    directory.add_user("in-the-log").unwrap();
    assert_eq!(second.ask(&format!("key {}", old[0].reveal())), "u");
    fs::rename(&backup, &path).unwrap();
    directory.add_user("x").unwrap();
    // The second process closes its connections to the old file here, while the log of the new one contains changes.
    assert_eq!(second.ask(&format!("key {}", old[0].reveal())), "unknown credentials");
    assert_eq!(second.ask(&format!("key {}", new[0].reveal())), "u");
    let key = directory.create_key("x", NOW).unwrap();
    assert_eq!(second.ask(&format!("key {}", key.secret.reveal())), "x");
    directory.delete_key("x", key.id, NOW).unwrap();
    assert_eq!(second.ask(&format!("key {}", key.secret.reveal())), "a revoked key of user `x`");
    second.end();
    drop(directory);
    assert_eq!(open(&path).users().unwrap().len(), 2);
}

#[test]
fn a_missing_file_is_an_error_until_it_is_back() {
    let folder = tempfile::tempdir().unwrap();
    let [path, aside] = ["d.sqlite", "aside.sqlite"].map(|name| folder.path().join(name));
    let keys = create(&path, &["u"]);
    let directory = open(&path);
    fs::rename(&path, &aside).unwrap();
    assert!(matches!(directory.authenticate(Some(&keys[0])), Err(Error::Storage(_))));
    assert!(matches!(directory.add_user("v"), Err(Error::Storage(_))));
    assert!(!path.exists());
    fs::rename(&aside, &path).unwrap();
    assert!(directory.authenticate(Some(&keys[0])).unwrap().is_ok());
}

#[test]
fn a_replaced_file_must_pass_the_checks_of_opening() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.sqlite");
    let keys = create(&path, &["u"]);
    let directory = open(&path);
    let replace = |make: &dyn Fn(&Path)| {
        let other = folder.path().join("other.sqlite");
        make(&other);
        fs::rename(&other, &path).unwrap();
        directory.authenticate(Some(&keys[0]))
    };
    assert!(matches!(replace(&|other| fs::write(other, "").unwrap()), Err(Error::EmptyFile(_))));
    assert!(matches!(replace(&|other| fs::write(other, "no database").unwrap()), Err(Error::Storage(_))));
    let foreign = |other: &Path| {
        rusqlite::Connection::open(other).unwrap().execute_batch("CREATE TABLE theirs (id INTEGER)").unwrap();
    };
    assert!(matches!(replace(&foreign), Err(Error::NotADirectory(_))));
    let orphaned = |other: &Path| {
        create(other, &["u"]);
        let connection = rusqlite::Connection::open(other).unwrap();
        connection.execute_batch("PRAGMA foreign_keys = OFF; DELETE FROM users").unwrap();
    };
    let Err(Error::Damaged { finding, .. }) = replace(&orphaned) else { panic!() };
    assert!(finding.contains("a row of `user_keys` refers to a row of `users`"), "{finding}");
    // The same file is refused immediately, and not checked again for each request.
    assert!(matches!(directory.authenticate(Some(&keys[0])), Err(Error::Damaged { .. })));
    let restored = replace(&|other| drop(create(other, &["u"])));
    assert_eq!(restored.unwrap(), Err(Refusal::Unknown));
}

#[cfg(unix)]
#[test]
fn a_replaced_symbolic_link_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let [path, one, two, next] = ["d.sqlite", "one.sqlite", "two.sqlite", "next"].map(|name| folder.path().join(name));
    let (of_one, of_two) = (create(&one, &["u"]), create(&two, &["u"]));
    std::os::unix::fs::symlink("one.sqlite", &path).unwrap();
    let directory = open(&path);
    assert!(directory.authenticate(Some(&of_one[0])).unwrap().is_ok());
    std::os::unix::fs::symlink("two.sqlite", &next).unwrap();
    fs::rename(&next, &path).unwrap();
    assert!(directory.authenticate(Some(&of_one[0])).unwrap().is_err());
    assert!(directory.authenticate(Some(&of_two[0])).unwrap().is_ok());
}

/// No call accepts a key of a file that was replaced before the call began.
#[test]
fn no_thread_reads_a_file_that_was_replaced_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.sqlite");
    let files: Vec<PathBuf> = (0..12).map(|number| folder.path().join(format!("{number}.sqlite"))).collect();
    let keys: Vec<SecretKey> = files.iter().map(|file| create(file, &["u"]).remove(0)).collect();
    fs::rename(&files[0], &path).unwrap();
    let directory = SqliteDirectory::open(&path, DirectorySettings::default().wait(Duration::from_secs(10))).unwrap();
    let (placed, done, asked) = (AtomicUsize::new(0), AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        let ask = || {
            scope.spawn(|| {
                while !done.load(Ordering::SeqCst) {
                    let before = placed.load(Ordering::SeqCst);
                    let found = keys.iter().position(|key| directory.authenticate(Some(key)).unwrap().is_ok());
                    assert!(found.is_none_or(|found| found >= before), "{found:?} of {before}");
                    let login = directory.login("u").unwrap().unwrap();
                    directory.count(&login, NOW).unwrap();
                    asked.fetch_add(1, Ordering::SeqCst);
                }
            })
        };
        let threads = [ask(), ask(), ask(), ask()];
        for (number, file) in files.iter().enumerate().skip(1) {
            let seen = asked.load(Ordering::SeqCst);
            // A thread whose assertion failed has finished.
            while asked.load(Ordering::SeqCst) < seen + 8 && !threads.iter().any(|thread| thread.is_finished()) {
                thread::sleep(Duration::from_millis(1));
            }
            fs::rename(file, &path).unwrap();
            placed.store(number, Ordering::SeqCst);
        }
        done.store(true, Ordering::SeqCst);
    });
    assert!(directory.authenticate(keys.last()).unwrap().is_ok());
    assert!(directory.verify().unwrap().is_empty());
}
