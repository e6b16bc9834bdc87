//! Files that are damaged or empty, and paths that are not regular files.

use super::{NOW, open};
use std::fs;
use std::path::Path;
use trueup_access::{DirectorySettings, Error, Keys as _, SqliteDirectory, Users as _};

const PAGE: usize = 4096;

/// Creates a directory with many users and keys.
fn create_filled(path: &Path) {
    let directory = open(path);
    for number in 0..200 {
        let user = format!("user-{number:03}");
        directory.add_user(&user).unwrap();
        directory.create_key(&user, NOW).unwrap();
    }
}

#[test]
fn opening_finds_an_overwritten_page_and_a_truncated_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.sqlite");
    create_filled(&path);
    let whole = fs::read(&path).unwrap();
    let pages = whole.len() / PAGE;
    assert!(pages > 20, "{pages}");
    for page in 0..pages {
        let mut bytes = whole.clone();
        // Overwrites the header of the page, which is at its start; in the first page, it follows the file's header.
        let at = if page == 0 { 100 } else { page * PAGE };
        bytes[at..at + 64].fill(0x5a);
        fs::write(&path, bytes).unwrap();
        let error = SqliteDirectory::open_existing(&path, DirectorySettings::default()).unwrap_err();
        assert!(matches!(error, Error::Damaged { .. }), "page {page}: {error}");
        let text = error.to_string();
        assert!(text.contains("d.sqlite` is damaged: ") && !text.contains('\n'), "page {page}: {text}");
    }
    let lengths = (1..pages).flat_map(|page| [page * PAGE - 1, page * PAGE, page * PAGE + 1]);
    for length in lengths.chain([1, 99, 100, 512, whole.len() - 1]) {
        fs::write(&path, &whole[..length]).unwrap();
        assert!(
            SqliteDirectory::open_existing(&path, DirectorySettings::default()).unwrap_err().is_storage(),
            "{length}"
        );
    }
    fs::write(&path, &whole).unwrap();
    assert!(SqliteDirectory::open_existing(&path, DirectorySettings::default()).unwrap().verify().unwrap().is_empty());
}

#[test]
fn verify_finds_damage_that_occurs_while_the_file_is_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.sqlite");
    create_filled(&path);
    let directory = open(&path);
    assert!(directory.verify().unwrap().is_empty());
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("PRAGMA foreign_keys = OFF; DELETE FROM users WHERE login > 'user-002'").unwrap();
    let findings = directory.verify().unwrap();
    assert_eq!(findings.len(), 5);
    assert!(findings[0].contains("a row of `user_keys` refers to a row of `users`"), "{findings:?}");
}

#[test]
fn an_empty_file_is_refused_and_stays_empty() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.sqlite");
    fs::write(&path, "").unwrap();
    for opened in [
        SqliteDirectory::open(&path, DirectorySettings::default()),
        SqliteDirectory::open_existing(&path, DirectorySettings::default()),
    ] {
        assert!(matches!(opened, Err(Error::EmptyFile(_))));
    }
    assert_eq!(fs::metadata(&path).unwrap().len(), 0);
}

#[cfg(unix)]
#[test]
fn only_regular_files_are_opened_and_others_are_refused_immediately() {
    let folder = tempfile::tempdir().unwrap();
    let [pipe, link, device] = ["pipe", "link", "device"].map(|name| folder.path().join(name));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::os::unix::fs::symlink(&pipe, &link).unwrap();
    std::os::unix::fs::symlink("/dev/null", &device).unwrap();
    for path in [&pipe, &link, &device, folder.path()] {
        let opened = [
            SqliteDirectory::open(path, DirectorySettings::default()),
            SqliteDirectory::open_existing(path, DirectorySettings::default()),
        ];
        assert!(opened.iter().all(|opened| matches!(opened, Err(Error::NotAFile(_)))), "{}", path.display());
    }
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let directory = open(&folder.path().join("d.sqlite"));
    directory.add_user("u").unwrap();
    let mut names = Vec::new();
    for entry in fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{entry:?}");
        names.push(entry.file_name().into_string().unwrap());
    }
    names.sort();
    assert_eq!(names, ["d.sqlite", "d.sqlite-lock", "d.sqlite-shm", "d.sqlite-wal"]);
}
