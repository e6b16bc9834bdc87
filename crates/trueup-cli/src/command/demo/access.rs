//! Who may see what of the demo: a user, a small tree of organizations, a key.

use crate::command::directory::{self, now};
use crate::exit::Failure;
use std::collections::BTreeSet;
use std::path::Path;
use trueup::access::{Directory, DirectorySettings, Grant, Organization, SecretKey, SqliteDirectory};
use trueup_core::Dataset;

/// Who asks.
pub(super) const USER: &str = "demo@example.com";
/// What the user is granted, with the two below it.
pub(super) const GROUP: &str = "demo-group";
const PARTS: [&str; 2] = ["demo-group-east", "demo-group-west"];
/// What the user does not see.
const OTHERS: &str = "other-group";

/// Accounts of the group; few, so that most accounts of the demo are those of others, as benchmarks need.
const SEEN: usize = 6;

/// Makes the directory of a demo: the first accounts under one organization in two parts, which the user is granted; the others under
/// another.
pub(super) fn make(folder: &Path, dataset: &Dataset) -> Result<(), Failure> {
    let directory = SqliteDirectory::open(folder.join(directory::FILE), DirectorySettings::default())?;
    let directory: &dyn Directory = &directory;
    directory.add_organization(&Organization::new(GROUP))?;
    for part in PARTS {
        directory.add_organization(&Organization::new(part).under(GROUP))?;
    }
    directory.add_organization(&Organization::new(OTHERS))?;
    for (number, account) in dataset.accounts().iter().enumerate() {
        let holder = if number < SEEN { PARTS[number % PARTS.len()] } else { OTHERS };
        directory.add_account(&account.key)?;
        directory.place_account(&account.key, holder)?;
    }
    directory.add_user(USER)?;
    directory.grant(USER, &Grant::Organization(GROUP.to_owned()))?;
    Ok(())
}

/// A new key for the user, in place of the one before; `None` if the user has been removed.
pub(super) fn key(folder: &Path, dataset: &Dataset) -> Result<Option<SecretKey>, Failure> {
    if !folder.join(directory::FILE).exists() {
        make(folder, dataset)?;
    }
    let directory = SqliteDirectory::open_existing(folder.join(directory::FILE), DirectorySettings::default())?;
    let directory: &dyn Directory = &directory;
    if !directory.users()?.iter().any(|user| user.login == USER) {
        return Ok(None);
    }
    let issued = match directory.keys(USER)?.first() {
        Some(old) => directory.rotate_key(USER, old.id, now())?,
        None => directory.create_key(USER, now())?,
    };
    Ok(Some(issued.secret))
}

/// The accounts that the user sees.
pub(super) fn seen(folder: &Path) -> Result<BTreeSet<String>, Failure> {
    let directory = SqliteDirectory::open_existing(folder.join(directory::FILE), DirectorySettings::default())?;
    let directory: &dyn Directory = &directory;
    match directory.login(USER)? {
        Ok(login) => Ok(directory.reach(&login)?.accounts().accounts().map(str::to_owned).collect()),
        Err(_) => Ok(BTreeSet::new()),
    }
}
