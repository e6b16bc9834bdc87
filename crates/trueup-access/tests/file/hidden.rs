//! No printed form of a result, an error or a directory contains a secret, whatever fails.

use super::{NOW, open};
use proptest::prelude::*;
use std::error::Error as _;
use std::fmt::Write as _;
use std::fs;
use trueup_access::{Directory, DirectorySettings, Error, MemoryDirectory, Organization, SecretKey, SqliteDirectory};
use trueup_access::{Keys as _, Requests as _};

/// Appends all printed forms of an error and of its sources.
fn print_error(error: &Error, text: &mut String) {
    write!(text, "{error} {error:?} {error:#?}").unwrap();
    let mut source = error.source();
    while let Some(error) = source {
        write!(text, " {error} {error:?} {error:#?}").unwrap();
        source = error.source();
    }
}

/// Returns whether the text contains eight random characters of the secret in a row.
fn reveals(text: &str, secret: &SecretKey) -> bool {
    let secret = secret.reveal();
    let random = secret.strip_prefix("tu_").unwrap_or(secret);
    (0..=random.len() - 8).any(|at| text.contains(&random[at..at + 8]))
}

/// Uses an empty directory in every way. Returns the printed forms of all results, and all secrets.
fn use_everything(directory: &dyn Directory, given: &str) -> (String, Vec<SecretKey>) {
    let mut text = String::new();
    let given = SecretKey::new(given);
    directory.add_organization(&Organization::new("o")).unwrap();
    directory.add_user("u").unwrap();
    let first = directory.create_key("u", NOW).unwrap();
    let second = directory.rotate_key("u", first.id, NOW).unwrap();
    let third = directory.create_key("u", NOW).unwrap();
    directory.delete_key("u", third.id, NOW).unwrap();
    let token = directory.open_session("u", NOW, NOW.plus_seconds(60)).unwrap();
    write!(text, "{first:?} {second:#?} {third:?} {token:?} {given:#?} {:?}", directory.keys("u")).unwrap();
    let unknown = directory.authenticate(Some(&given)).unwrap();
    let session = directory.session(Some(&given), NOW).unwrap();
    write!(text, "{unknown:?} {session:?}").unwrap();
    directory.retire_organization_key("o", &given).unwrap();
    for key in [&given, &first.secret, &second.secret, &third.secret] {
        print_error(&directory.retire_organization_key("o", key).unwrap_err(), &mut text);
        let login = directory.authenticate(Some(key)).unwrap();
        write!(text, "{login:?} {login:#?}").unwrap();
        if let Err(refusal) = login {
            write!(text, "{refusal}").unwrap();
        }
    }
    for now in [NOW, NOW.plus_seconds(60)] {
        write!(text, "{:?}", directory.session(Some(&token), now).unwrap()).unwrap();
    }
    for error in [
        directory.rotate_key("u", first.id, NOW).unwrap_err(),
        directory.delete_key("u", first.id, NOW).unwrap_err(),
        directory.create_key("nobody", NOW).unwrap_err(),
        directory.open_session("nobody", NOW, NOW).unwrap_err(),
        directory.retire_organization_key("nowhere", &given).unwrap_err(),
    ] {
        print_error(&error, &mut text);
    }
    (text, vec![given, first.secret, second.secret, third.secret, token])
}

/// Appends the errors of a file that lacks tables, and of one that is overwritten while it is open.
fn use_damaged(folder: &std::path::Path, secrets: &[SecretKey], text: &mut String) {
    let path = folder.join("directory.sqlite");
    let drop_tables = |path: &std::path::Path| {
        let connection = rusqlite::Connection::open(path).unwrap();
        connection.execute_batch("PRAGMA foreign_keys = OFF; DROP TABLE user_keys; DROP TABLE sessions").unwrap();
    };
    let overwrite = |path: &std::path::Path| fs::write(path, vec![0xA5; 8192]).unwrap();
    for damage in [&drop_tables as &dyn Fn(&std::path::Path), &overwrite] {
        let directory = SqliteDirectory::open_existing(&path, DirectorySettings::default()).unwrap();
        damage(&path);
        let mut failed = 0;
        for key in secrets {
            let results = [
                directory.authenticate(Some(key)).err(),
                directory.session(Some(key), NOW).err(),
                directory.close_session(key).err(),
                directory.retire_organization_key("o", key).err(),
            ];
            for error in results.iter().flatten() {
                print_error(error, text);
                failed += usize::from(error.is_storage());
            }
        }
        assert!(failed >= secrets.len(), "{failed}");
        write!(text, "{directory:?}").unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_secret_is_printed(given in "[A-Za-z0-9]{24,60}|[ -~]{24,40}") {
        let memory = MemoryDirectory::new(DirectorySettings::default());
        let (mut text, mut secrets) = use_everything(&memory, &given);
        write!(text, "{memory:?}").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let directory = open(&folder.path().join("directory.sqlite"));
        let (other, others) = use_everything(&directory, &given);
        write!(text, "{other} {directory:#?}").unwrap();
        drop(directory);
        use_damaged(folder.path(), &others, &mut text);
        secrets.extend(others);
        for secret in &secrets {
            prop_assert!(!reveals(&text, secret), "{}", secret.reveal());
        }
        // The text contains what it should.
        prop_assert!(text.contains("SecretKey(redacted)") && text.contains("cannot be used") && text.len() > 5_000);
    }
}
