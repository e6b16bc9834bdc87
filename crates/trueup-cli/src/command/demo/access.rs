//! The directory of the demo: a user, a small tree of organizations, a key, and an account to show benchmarks for.

use super::last_month;
use crate::command::directory::{self, now};
use crate::exit::Failure;
use std::collections::BTreeSet;
use std::path::Path;
use trueup::access::{Directory, DirectorySettings, Grant, Organization, SecretKey, SqliteDirectory};
use trueup::benchmarks::{self, BenchmarkData, BenchmarkQuery, Privacy};
use trueup::service::Clock;
use trueup::{Dataset, Day, Execution};

/// The user of the demo.
pub(super) const USER: &str = "demo@example.com";
/// The organization that the user is granted, with the two below it.
pub(super) const GROUP: &str = "demo-group";
const SUBGROUPS: [&str; 2] = ["demo-group-east", "demo-group-west"];
/// An organization that the user does not see.
const OTHER_GROUP: &str = "other-group";

/// Number of accounts in the group. Most accounts must be outside the user's reach, because a benchmark is shown only
/// if enough accounts outside have a value.
const ACCOUNTS_IN_GROUP: usize = 6;

/// The metrics of the benchmarks example.
pub(super) const BENCHMARK_METRICS: [&str; 4] = ["bookRate", "avgTicket", "avgCostPerLead", "roasClosed"];

/// Creates the directory of a demo: the first accounts in the two subgroups of the user's group, the others in another
/// group.
pub(super) fn create(folder: &Path, dataset: &Dataset) -> Result<(), Failure> {
    let directory = SqliteDirectory::open(folder.join(directory::FILE_NAME), DirectorySettings::default())?;
    let directory: &dyn Directory = &directory;
    directory.add_organization(&Organization::new(GROUP))?;
    for subgroup in SUBGROUPS {
        directory.add_organization(&Organization::new(subgroup).under(GROUP))?;
    }
    directory.add_organization(&Organization::new(OTHER_GROUP))?;
    for (number, account) in dataset.accounts().iter().enumerate() {
        let group = if number < ACCOUNTS_IN_GROUP { SUBGROUPS[number % SUBGROUPS.len()] } else { OTHER_GROUP };
        directory.add_account(&account.key)?;
        directory.place_account(&account.key, group)?;
    }
    directory.add_user(USER)?;
    directory.grant(USER, &Grant::Organization(GROUP.to_owned()))?;
    Ok(())
}

/// Replaces the user's first key, or creates one if there is none, and returns the new key; `None` if the user has been
/// removed. Creates the directory if it is missing.
pub(super) fn new_key(folder: &Path, dataset: &Dataset) -> Result<Option<SecretKey>, Failure> {
    if !folder.join(directory::FILE_NAME).exists() {
        create(folder, dataset)?;
    }
    let directory = open(folder)?;
    let directory: &dyn Directory = &directory;
    if !directory.users()?.iter().any(|user| user.name == USER) {
        return Ok(None);
    }
    let issued = match directory.keys(USER)?.first() {
        Some(old) => directory.rotate_key(USER, old.id, now())?,
        None => directory.create_key(USER, now())?,
    };
    Ok(Some(issued.secret))
}

/// An account and a month (`YYYY-MM`) that have benchmarks.
pub(super) struct BenchmarkExample {
    pub(super) account: String,
    pub(super) month: String,
}

/// Finds an account in the user's reach that has benchmarks for the last month that is over on `end`, the last day of
/// the data, or today if `end` lies in the future; `None` if the demo has too few accounts for benchmarks, or the user
/// has been removed.
pub(super) fn benchmark_example(
    dataset: &Dataset,
    folder: &Path,
    end: Day,
) -> Result<Option<BenchmarkExample>, Failure> {
    let reach = accounts_in_reach(folder)?;
    let today = now.today();
    let month = last_month(end.min(today))?.start.month();
    let (period, selection) = benchmarks::read(&BENCHMARK_METRICS, &[], Some(&month), today).map_err(Failure::fault)?;
    let data = BenchmarkData::gather(dataset, period.range, &Execution::default())?;
    let has_benchmarks = |account: &&String| {
        let scope = BTreeSet::from([account.to_string()]);
        let query = BenchmarkQuery { selection: &selection, scope: &scope, reach: &reach, privacy: Privacy::default() };
        !data.answer(&query).is_empty()
    };
    Ok(reach.iter().find(has_benchmarks).map(|account| BenchmarkExample { account: account.clone(), month }))
}

fn accounts_in_reach(folder: &Path) -> Result<BTreeSet<String>, Failure> {
    let directory = open(folder)?;
    let directory: &dyn Directory = &directory;
    match directory.login(USER)? {
        Ok(login) => Ok(directory.reach(&login)?.accounts().accounts().map(str::to_owned).collect()),
        Err(_) => Ok(BTreeSet::new()),
    }
}

fn open(folder: &Path) -> Result<SqliteDirectory, Failure> {
    Ok(SqliteDirectory::open_existing(folder.join(directory::FILE_NAME), DirectorySettings::default())?)
}
