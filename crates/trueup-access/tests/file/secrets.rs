//! Keys and tokens stay secret: no printed form of a result, an error or a directory contains one, whatever fails. The
//! first bytes of a hash select candidates, and the whole hash decides, compared in constant time.

use super::{NOW, new_directory, open};
use proptest::prelude::*;
use rusqlite::Connection;
use std::error::Error as _;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use trueup_access::{Directory, DirectorySettings, Error, MemoryDirectory, Organization, Refusal, SecretKey};
use trueup_access::{Keys as _, Organizations as _, Requests as _, SqliteDirectory, Users as _};

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
fn use_damaged(folder: &Path, secrets: &[SecretKey], text: &mut String) {
    let path = folder.join("directory.sqlite");
    let drop_tables = |path: &Path| {
        let connection = Connection::open(path).unwrap();
        connection.execute_batch("PRAGMA foreign_keys = OFF; DROP TABLE user_keys; DROP TABLE sessions").unwrap();
    };
    let overwrite = |path: &Path| fs::write(path, vec![0xA5; 8192]).unwrap();
    for damage in [&drop_tables as &dyn Fn(&Path), &overwrite] {
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
        let memory = MemoryDirectory::new(DirectorySettings::default()).unwrap();
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

/// Flips one bit of every stored hash. The locators stay as they are.
fn flip(path: &Path, byte: usize, bit: u8) {
    let connection = Connection::open(path).unwrap();
    for table in ["user_keys", "organization_keys", "sessions"] {
        let select = format!("SELECT id, hash FROM {table}");
        let mut statement = connection.prepare(&select).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?))).unwrap();
        for (id, mut hash) in rows.map(Result::unwrap).collect::<Vec<_>>() {
            hash[byte] ^= 1 << bit;
            let update = format!("UPDATE {table} SET hash = ?2 WHERE id = ?1");
            assert_eq!(connection.execute(&update, (id, hash)).unwrap(), 1);
        }
    }
}

#[test]
fn a_stored_hash_with_one_wrong_bit_is_not_accepted() {
    let (_folder, path, directory) = new_directory();
    directory.add_user("u").unwrap();
    directory.add_organization(&Organization::new("o")).unwrap();
    let key = directory.create_key("u", NOW).unwrap().secret;
    let token = directory.open_session("u", NOW, NOW.plus_seconds(60)).unwrap();
    let retired = SecretKey::new("org_of_old");
    directory.retire_organization_key("o", &retired).unwrap();
    let are_recognized = || {
        let organization = Refusal::OrganizationKey("o".into());
        [
            directory.authenticate(Some(&key)).unwrap().is_ok(),
            directory.session(Some(&token), NOW).unwrap().is_ok(),
            directory.authenticate(Some(&retired)).unwrap() == Err(organization),
        ]
    };
    assert_eq!(are_recognized(), [true; 3]);
    // This includes the bytes of the locator, which are compared again with the rest.
    for byte in 0..32 {
        let bit = u8::try_from(byte % 8).unwrap();
        flip(&path, byte, bit);
        assert_eq!(are_recognized(), [false; 3], "byte {byte}");
        assert_eq!(directory.authenticate(Some(&key)).unwrap(), Err(Refusal::Unknown));
        flip(&path, byte, bit);
        assert_eq!(are_recognized(), [true; 3], "byte {byte}");
    }
}

#[test]
fn the_right_key_is_found_among_candidates_with_its_locator() {
    let (_folder, path, directory) = new_directory();
    let secrets: Vec<SecretKey> = ["u", "v", "w"]
        .map(|user| {
            directory.add_user(user).unwrap();
            directory.create_key(user, NOW).unwrap().secret
        })
        .into();
    for (user, secret) in ["u", "v", "w"].iter().zip(&secrets) {
        // Gives all keys the locator of this one.
        let all = "UPDATE user_keys SET locator = (SELECT locator FROM user_keys WHERE user = ?1)";
        let connection = Connection::open(&path).unwrap();
        let before: Vec<(i64, i64)> = {
            let mut statement = connection.prepare("SELECT id, locator FROM user_keys").unwrap();
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
            rows.map(Result::unwrap).collect()
        };
        assert_eq!(connection.execute(all, [user]).unwrap(), 3);
        assert_eq!(directory.authenticate(Some(secret)).unwrap().unwrap().user(), *user);
        for (id, locator) in before {
            connection.execute("UPDATE user_keys SET locator = ?2 WHERE id = ?1", (id, locator)).unwrap();
        }
    }
}

/// Collects the source files below a folder, except for tests.
fn sources(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.file_name().is_some_and(|name| name != "tests.rs") {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
}

/// Reads the source of this crate: `subtle` makes the only comparison of two hashes.
#[test]
fn hashes_are_compared_in_one_place_and_keys_nowhere() {
    let mut files = Vec::new();
    sources(&[env!("CARGO_MANIFEST_DIR"), "src"].iter().collect::<PathBuf>(), &mut files);
    let of = |name: &str| {
        let found = files.iter().find(|(path, _)| path.ends_with(name));
        found.map(|(_, text)| text.as_str()).unwrap()
    };
    let secret = of("secret.rs");
    assert_eq!(secret.matches("ct_eq").count(), 1);
    // No operator can compare them, because neither type implements equality or order.
    for name in ["KeyHash", "SecretKey"] {
        let at = secret.find(&format!("pub(crate) struct {name}("));
        let at = at.or_else(|| secret.find(&format!("pub struct {name}(")));
        let before = secret[..at.unwrap()].trim_end().lines().next_back().unwrap();
        assert!(before == "#[derive(Clone, Copy)]" || before == "#[derive(Clone)]", "{name}: {before}");
    }
    for (path, text) in &files {
        // SQL never compares a hash, and no code compares the text of a key.
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with("//")) {
            let line = line.to_lowercase();
            assert!(!line.contains("where hash") && !line.contains("and hash"), "{}: {line}", path.display());
            assert!(!line.contains("reveal() =="), "{}: {line}", path.display());
            let compares = line.contains("for keyhash") || line.contains("for secretkey");
            assert!(!(compares && (line.contains("partialeq") || line.contains("ord for"))), "{}", path.display());
        }
    }
}
