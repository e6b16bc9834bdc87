//! Opening and reopening.

use super::{NOW, new_directory, open};
use std::fs;
use std::time::Duration;
use trueup_access::{DirectorySettings, Error, Grant, Hourly, Organization, Refusal, SecretKey, SqliteDirectory};
use trueup_access::{Keys as _, Organizations as _, Requests as _, Users as _};

#[test]
fn reopening_keeps_everything() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("directory.sqlite");
    let directory = SqliteDirectory::open(&path, DirectorySettings::default().hourly_limit(1)).unwrap();
    directory.add_organization(&Organization::new("platform").as_umbrella()).unwrap();
    directory.add_organization(&Organization::new("acme").under("platform")).unwrap();
    for account in ["a", "b"] {
        directory.add_account(account).unwrap();
        directory.place_account(account, "acme").unwrap();
    }
    directory.add_user("u").unwrap();
    directory.add_user("off").unwrap();
    directory.set_active("off", false).unwrap();
    directory.grant("u", &Grant::Organization("platform".into())).unwrap();
    let old = directory.create_key("u", NOW).unwrap();
    let key = directory.rotate_key("u", old.id, NOW).unwrap();
    let retired = SecretKey::new("org_of_old");
    directory.retire_organization_key("acme", &retired).unwrap();
    let token = directory.open_session("u", NOW, NOW.plus_seconds(60)).unwrap();
    let login = directory.login("u").unwrap().unwrap();
    assert_eq!(directory.count(&login, NOW).unwrap(), Hourly::Allowed);
    let before = (directory.organizations().unwrap(), directory.users().unwrap(), directory.keys("u").unwrap());
    let listed = directory.reach(&login).unwrap().organizations();
    drop(directory);

    let directory = SqliteDirectory::open_existing(&path, DirectorySettings::default().hourly_limit(1)).unwrap();
    let after = (directory.organizations().unwrap(), directory.users().unwrap(), directory.keys("u").unwrap());
    assert_eq!(before, after);
    assert_eq!(directory.authenticate(Some(&key.secret)).unwrap(), Ok(login.clone()));
    assert_eq!(directory.authenticate(Some(&old.secret)).unwrap(), Err(Refusal::Revoked("u".into())));
    let organization = Refusal::OrganizationKey("acme".into());
    assert_eq!(directory.authenticate(Some(&retired)).unwrap(), Err(organization));
    assert_eq!(directory.session(Some(&token), NOW).unwrap(), Ok(login.clone()));
    assert_eq!(directory.reach(&login).unwrap().organizations(), listed);
    assert!(matches!(directory.count(&login, NOW).unwrap(), Hourly::Limited(_)));
}

#[test]
fn no_key_or_token_is_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let directory = open(&folder.path().join("directory.sqlite"));
    directory.add_organization(&Organization::new("acme")).unwrap();
    directory.add_user("u").unwrap();
    let key = directory.create_key("u", NOW).unwrap();
    let other = directory.rotate_key("u", key.id, NOW).unwrap();
    let token = directory.open_session("u", NOW, NOW.plus_seconds(60)).unwrap();
    let retired = SecretKey::new("org_of_old_0123456789");
    directory.retire_organization_key("acme", &retired).unwrap();
    let bytes: Vec<u8> =
        fs::read_dir(folder.path()).unwrap().flat_map(|file| fs::read(file.unwrap().path()).unwrap()).collect();
    assert!(bytes.windows(4).any(|window| window == b"acme"));
    for secret in [&key.secret, &other.secret, &token, &retired] {
        let part = &secret.reveal().as_bytes()[4..20];
        assert!(!bytes.windows(part.len()).any(|window| window == part));
    }
}

#[test]
fn a_key_with_an_earlier_prefix_stays_valid() {
    let (_folder, path, directory) = new_directory();
    directory.add_user("u").unwrap();
    let key = directory.create_key("u", NOW).unwrap();
    let directory =
        SqliteDirectory::open(&path, DirectorySettings::default().key_prefix("acme_live").unwrap()).unwrap();
    assert!(directory.create_key("u", NOW).unwrap().secret.reveal().starts_with("acme_live_"));
    assert!(directory.authenticate(Some(&key.secret)).unwrap().is_ok());
    for prefix in ["", "a b", "ü", "a/b", &"x".repeat(33)] {
        assert!(matches!(DirectorySettings::default().key_prefix(prefix), Err(Error::InvalidPrefix(_))), "{prefix}");
    }
}

#[test]
fn a_file_that_is_not_a_directory_is_refused_and_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.txt");
    fs::write(&text, "not a database, but long enough for the header of one: ".repeat(20)).unwrap();
    assert!(matches!(SqliteDirectory::open(&text, DirectorySettings::default()), Err(Error::Storage(_))));

    let foreign = folder.path().join("foreign.sqlite");
    let connection = rusqlite::Connection::open(&foreign).unwrap();
    connection.execute_batch("CREATE TABLE theirs (id INTEGER)").unwrap();
    drop(connection);
    let before = fs::read(&foreign).unwrap();
    assert!(matches!(SqliteDirectory::open(&foreign, DirectorySettings::default()), Err(Error::NotADirectory(_))));
    assert_eq!(fs::read(&foreign).unwrap(), before);

    let later = folder.path().join("later.sqlite");
    drop(open(&later));
    rusqlite::Connection::open(&later).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let Err(Error::TooNew { found, .. }) = SqliteDirectory::open(&later, DirectorySettings::default()) else {
        panic!()
    };
    assert_eq!(found, 99);
}

#[test]
fn open_creates_a_missing_file_and_open_existing_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("directory.sqlite");
    assert!(matches!(SqliteDirectory::open_existing(&path, DirectorySettings::default()), Err(Error::Storage(_))));
    assert!(!path.exists());
    drop(open(&path));
    assert!(SqliteDirectory::open_existing(&path, DirectorySettings::default()).is_ok());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn eight_threads_can_create_the_same_file() {
    for _ in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("directory.sqlite");
        // On a machine that others use, eight changes may take longer than a change waits by default.
        let patient = DirectorySettings::default().change_wait(Duration::from_secs(60));
        std::thread::scope(|scope| {
            for user in 0..8 {
                let (path, patient) = (&path, patient.clone());
                scope.spawn(move || {
                    SqliteDirectory::open(path, patient).unwrap().add_user(&user.to_string()).unwrap();
                });
            }
        });
        assert_eq!(open(&path).users().unwrap().len(), 8);
    }
}
