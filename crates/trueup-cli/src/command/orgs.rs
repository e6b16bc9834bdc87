//! `trueup orgs`: the tree of organizations, and the accounts in it.

use super::directory::DirectoryPaths;
use crate::exit::Failure;
use crate::notice;
use crate::output::{Format, ResultTableBuilder};
use clap::{Args, Subcommand};
use std::collections::{BTreeMap, BTreeSet};
use trueup::Dataset;
use trueup::access::{Directory, Organization};
use trueup_report::number::counted;

const EXAMPLES: &str = "\
Examples:
  trueup orgs add my-data acme
  trueup orgs add my-data acme-west --under acme
  trueup orgs hold my-data acme-west seattle portland
  trueup orgs release my-data acme-west portland
  trueup orgs move my-data acme-west --root
  trueup orgs list my-data

A user who is granted an organization (`trueup users grant`) sees its accounts and those of all organizations below it.";

/// Manage the tree of organizations and the accounts in it
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum OrgsCommand {
    /// Add an organization; creates the directory if there is none
    Add {
        #[command(flatten)]
        org: OrgArgs,

        /// Parent organization; without it, the new one is a root
        #[arg(long, value_name = "ORG")]
        under: Option<String>,

        /// Make the organization an umbrella: a grant of it reaches everything below it, but requests cannot name it
        #[arg(long)]
        umbrella: bool,
    },
    /// Remove an organization that has none below it, with all grants of it; keeps its accounts
    Remove {
        #[command(flatten)]
        org: OrgArgs,
    },
    /// List the organizations: the parent of each, whether it is an umbrella, and the number of accounts directly in it
    List {
        #[command(flatten)]
        paths: DirectoryPaths,

        /// Format of the list
        #[arg(long, value_enum, default_value = "table")]
        format: Format,
    },
    /// List the accounts, each with the organizations that it is in
    Accounts {
        #[command(flatten)]
        paths: DirectoryPaths,

        /// Format of the list
        #[arg(long, value_enum, default_value = "table")]
        format: Format,
    },
    /// Move an organization, with all below it, to another parent
    Move {
        #[command(flatten)]
        org: OrgArgs,

        #[command(flatten)]
        to: MoveTarget,
    },
    /// Make an organization an umbrella, or an ordinary one
    Umbrella {
        #[command(flatten)]
        org: OrgArgs,

        /// Make the umbrella an ordinary organization
        #[arg(long)]
        off: bool,
    },
    /// Put accounts into an organization; they also stay in their other organizations
    Hold {
        #[command(flatten)]
        org: OrgArgs,

        /// Keys of the accounts
        #[arg(value_name = "ACCOUNT", required_unless_present = "all")]
        accounts: Vec<String>,

        /// Put in all accounts of the dataset that are not directly in the organization yet
        #[arg(long, conflicts_with = "accounts")]
        all: bool,
    },
    /// Take accounts out of an organization
    Release {
        #[command(flatten)]
        org: OrgArgs,

        /// Keys of the accounts
        #[arg(value_name = "ACCOUNT", required = true)]
        accounts: Vec<String>,
    },
    /// Remove accounts from all organizations and grants; keeps their data
    Forget {
        #[command(flatten)]
        paths: DirectoryPaths,

        /// Keys of the accounts
        #[arg(value_name = "ACCOUNT", required = true)]
        accounts: Vec<String>,
    },
}

/// An organization of a directory.
#[derive(Debug, Args)]
pub(crate) struct OrgArgs {
    #[command(flatten)]
    paths: DirectoryPaths,

    /// Id of the organization, as in the path of a request
    #[arg(value_name = "ORG")]
    id: String,
}

/// The new position of an organization in the tree.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct MoveTarget {
    /// New parent organization
    #[arg(long, value_name = "ORG")]
    under: Option<String>,

    /// Make the organization a root
    #[arg(long)]
    root: bool,
}

impl OrgsCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        match self {
            Self::Add { org: OrgArgs { paths, id }, under, umbrella } => {
                paths.open_or_create_directory()?.add_organization(&Organization {
                    id: id.clone(),
                    parent: under,
                    umbrella,
                })?;
                notice::note(format_args!("added organization `{id}`"));
            }
            Self::Remove { org: OrgArgs { paths, id } } => {
                paths.open_directory()?.remove_organization(&id)?;
                notice::note(format_args!("removed organization `{id}`, with all grants of it"));
            }
            Self::List { paths, format } => return list(&*paths.open_directory()?, format),
            Self::Accounts { paths, format } => return accounts(&*paths.open_directory()?, format),
            Self::Move { org: OrgArgs { paths, id }, to: MoveTarget { under, root: _ } } => {
                paths.open_directory()?.move_organization(&id, under.as_deref())?;
                match under {
                    Some(parent) => notice::note(format_args!("organization `{id}` is now under `{parent}`")),
                    None => notice::note(format_args!("organization `{id}` is now a root")),
                }
            }
            Self::Umbrella { org: OrgArgs { paths, id }, off } => {
                paths.open_directory()?.set_umbrella(&id, !off)?;
                notice::note(format_args!("organization `{id}` is {} umbrella", if off { "no" } else { "an" }));
            }
            Self::Hold { org: OrgArgs { paths, id }, accounts, all } => {
                let directory = paths.open_directory()?;
                hold(&paths, &*directory, &id, (!all).then_some(accounts))?;
            }
            Self::Release { org: OrgArgs { paths, id }, accounts } => {
                let directory = paths.open_directory()?;
                let held = directory.accounts_under(&id)?;
                if let Some(key) = accounts.iter().find(|key| !held.contains(key)) {
                    return Err(Failure::request(format!(
                        "account `{key}` is not directly under organization `{id}`; nothing was changed"
                    )));
                }
                for key in accounts.iter().collect::<BTreeSet<_>>() {
                    directory.unplace_account(key, &id)?;
                    notice::note(format_args!("organization `{id}` no longer holds account `{key}`"));
                }
            }
            Self::Forget { paths, accounts } => {
                let directory = paths.open_directory()?;
                let known = directory.accounts()?;
                if let Some(key) = accounts.iter().find(|key| !known.contains(key)) {
                    return Err(Failure::request(format!("there is no account `{key}`; nothing was changed")));
                }
                for key in accounts.iter().collect::<BTreeSet<_>>() {
                    directory.remove_account(key)?;
                    notice::note(format_args!("account `{key}` is no longer in any organization or grant"));
                }
            }
        }
        Ok(())
    }
}

/// Puts accounts into an organization: the named ones, or else all accounts of the dataset that are not directly in the
/// organization yet. If a named account is in it already, changes nothing and fails.
fn hold(
    paths: &DirectoryPaths,
    directory: &dyn Directory,
    id: &str,
    named: Option<Vec<String>>,
) -> Result<(), Failure> {
    let held = directory.accounts_under(id)?;
    let wanted: BTreeSet<String> = match named {
        Some(named) => {
            if let Some(key) = named.iter().find(|key| held.contains(key)) {
                return Err(Failure::request(format!(
                    "account `{key}` is already under organization `{id}`; nothing was changed"
                )));
            }
            named.into_iter().collect()
        }
        None => {
            let keys = Dataset::open(&paths.dataset)?.account_keys().map_err(trueup::Error::from)?;
            keys.into_iter().filter(|key| !held.contains(key)).collect()
        }
    };
    let wanted: Vec<String> = wanted.into_iter().collect();
    paths.add_accounts(directory, &wanted)?;
    for key in &wanted {
        directory.place_account(key, id)?;
    }
    notice::note(format_args!("organization `{id}` holds {}", counted(wanted.len() as u64, "more account")));
    Ok(())
}

fn list(directory: &dyn Directory, format: Format) -> Result<(), Failure> {
    let organizations = directory.organizations()?;
    let mut held = Vec::new();
    for organization in &organizations {
        held.push(directory.accounts_under(&organization.id)?.len() as u64);
    }
    ResultTableBuilder::default()
        .texts("organization", organizations.iter().map(|organization| organization.id.clone()))
        .texts("under", organizations.iter().map(|organization| organization.parent.clone().unwrap_or_default()))
        .texts("umbrella", organizations.iter().map(|organization| organization.umbrella.to_string()))
        .counts("accounts", held)
        .write(format)
}

fn accounts(directory: &dyn Directory, format: Format) -> Result<(), Failure> {
    let mut holders: BTreeMap<String, Vec<String>> =
        directory.accounts()?.into_iter().map(|key| (key, Vec::new())).collect();
    for organization in directory.organizations()? {
        for key in directory.accounts_under(&organization.id)? {
            holders.entry(key).or_default().push(organization.id.clone());
        }
    }
    ResultTableBuilder::default()
        .texts("account", holders.keys().cloned())
        .texts("organizations", holders.values().map(|ids| ids.join(", ")))
        .write(format)
}
