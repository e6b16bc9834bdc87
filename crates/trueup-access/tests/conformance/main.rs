//! What every directory does. Each test runs with a directory in memory and with one in a file; [`naive`] has the
//! definition that random directories are compared with.

#![expect(clippy::unwrap_used, reason = "tests")]

mod changes;
mod ids;
mod keys;
mod load;
mod naive;
mod reach;

use trueup_access::{
    Directory, DirectorySettings, Grant, ListedOrganization, LoginScope, MemoryDirectory, Organization,
    SqliteDirectory, UnixTime,
};

/// An instant in the middle of a clock hour.
const NOW: UnixTime = UnixTime::from_seconds(1_760_001_800);

/// Runs a test against both directories, each new and empty.
fn both(test: impl Fn(&dyn Directory)) {
    test(&MemoryDirectory::new(DirectorySettings::default()).unwrap());
    let folder = tempfile::tempdir().unwrap();
    test(&SqliteDirectory::open(folder.path().join("directory.sqlite"), DirectorySettings::default()).unwrap());
}

/// Adds organizations, given as (id, parent), and places accounts, given as (account, organization). Adds an account
/// before it is first placed.
fn build_tree(directory: &dyn Directory, organizations: &[(&str, Option<&str>)], placements: &[(&str, &str)]) {
    for (id, parent) in organizations {
        let node = Organization { id: (*id).into(), parent: parent.map(Into::into), umbrella: false };
        directory.add_organization(&node).unwrap();
    }
    for (account, organization) in placements {
        if !directory.accounts().unwrap().iter().any(|known| known == account) {
            directory.add_account(account).unwrap();
        }
        directory.place_account(account, organization).unwrap();
    }
}

fn organization(id: &str) -> Grant {
    Grant::Organization(id.into())
}

fn account(key: &str) -> Grant {
    Grant::Account(key.into())
}

fn reach_of(directory: &dyn Directory, user: &str) -> LoginScope {
    directory.reach(&directory.login(user).unwrap().unwrap()).unwrap()
}

/// Returns the listed organizations, each as `id: account account`.
fn listing(reach: &LoginScope) -> Vec<String> {
    let line = |listed: &ListedOrganization| {
        let accounts: Vec<&str> = listed.accounts().accounts().collect();
        format!("{}: {}", listed.id(), accounts.join(" "))
    };
    reach.organizations().iter().map(line).collect()
}

/// Returns the accounts that a segment of a path resolves to.
fn resolved(reach: &LoginScope, segment: &str) -> Option<Vec<String>> {
    reach.resolve(segment).map(|scope| scope.accounts().map(Into::into).collect())
}
