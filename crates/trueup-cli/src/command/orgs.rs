//! `trueup orgs`: the tree of organizations, and the accounts that they hold.

use super::directory::DirectoryPaths;
use crate::exit::Failure;
use crate::notice;
use crate::output::number::counted;
use crate::output::{Format, TableBuilder};
use clap::{Args, Subcommand};
use std::collections::{BTreeMap, BTreeSet};
use trueup::access::{Directory, DirectorySettings, Organization};
use trueup_core::Dataset;

const EXAMPLES: &str = "\
Examples:
  trueup orgs add my-data acme
  trueup orgs add my-data acme-west --under acme
  trueup orgs hold my-data acme-west seattle portland
  trueup orgs release my-data acme-west portland
  trueup orgs move my-data acme-west --root
  trueup orgs list my-data

Whoever is granted an organization (`trueup users grant`) sees the accounts that it and those below it hold.";

/// Put accounts into a tree of organizations
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum OrgsCommand {
    /// Add an organization; makes the directory if it is not there
    Add {
        #[command(flatten)]
        org: OrgArgs,

        /// The organization that it stands under; without one it is a root
        #[arg(long, value_name = "ORG")]
        under: Option<String>,

        /// It spans the platform: who is granted it reaches what is below it, but requests cannot name it
        #[arg(long)]
        umbrella: bool,
    },
    /// Remove an organization that none stands under; its accounts stay
    Remove {
        #[command(flatten)]
        org: OrgArgs,
    },
    /// List the organizations, each with what it stands under and the number of accounts that it holds itself
    List {
        #[command(flatten)]
        place: DirectoryPaths,

        /// How the list is written
        #[arg(long, value_enum, default_value = "table")]
        format: Format,
    },
    /// List the accounts, each with the organizations that hold it
    Accounts {
        #[command(flatten)]
        place: DirectoryPaths,

        /// How the list is written
        #[arg(long, value_enum, default_value = "table")]
        format: Format,
    },
    /// Put an organization, with all below it, somewhere else in the tree
    Move {
        #[command(flatten)]
        org: OrgArgs,

        #[command(flatten)]
        to: MoveTarget,
    },
    /// Make an organization an umbrella, or no longer one
    Umbrella {
        #[command(flatten)]
        org: OrgArgs,

        /// No longer one
        #[arg(long)]
        off: bool,
    },
    /// Put accounts into an organization, beside the others that hold them
    Hold {
        #[command(flatten)]
        org: OrgArgs,

        /// The accounts, by key
        #[arg(value_name = "ACCOUNT", required_unless_present = "all")]
        accounts: Vec<String>,

        /// All accounts of the dataset that it does not hold yet
        #[arg(long, conflicts_with = "accounts")]
        all: bool,
    },
    /// Take accounts out of an organization
    Release {
        #[command(flatten)]
        org: OrgArgs,

        /// The accounts, by key
        #[arg(value_name = "ACCOUNT", required = true)]
        accounts: Vec<String>,
    },
    /// Take accounts out of every organization and every grant; the data stay
    Forget {
        #[command(flatten)]
        place: DirectoryPaths,

        /// The accounts, by key
        #[arg(value_name = "ACCOUNT", required = true)]
        accounts: Vec<String>,
    },
}

/// One organization of a directory.
#[derive(Debug, Args)]
pub(crate) struct OrgArgs {
    #[command(flatten)]
    place: DirectoryPaths,

    /// The id of the organization, as paths of requests name it
    #[arg(value_name = "ORG")]
    id: String,
}

/// A place in the tree.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct MoveTarget {
    /// Under this organization
    #[arg(long, value_name = "ORG")]
    under: Option<String>,

    /// Under none
    #[arg(long)]
    root: bool,
}

impl OrgsCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        match self {
            Self::Add { org: OrgArgs { place, id }, under, umbrella } => {
                place.open_or_make()?.add_organization(&Organization { id: id.clone(), parent: under, umbrella })?;
                notice::note(format_args!("added organization `{id}`"));
            }
            Self::Remove { org: OrgArgs { place, id } } => {
                place.open(DirectorySettings::default())?.remove_organization(&id)?;
                notice::note(format_args!("removed organization `{id}`, with the grants of it"));
            }
            Self::List { place, format } => return list(&*place.open(DirectorySettings::default())?, format),
            Self::Accounts { place, format } => return accounts(&*place.open(DirectorySettings::default())?, format),
            Self::Move { org: OrgArgs { place, id }, to: MoveTarget { under, root: _ } } => {
                place.open(DirectorySettings::default())?.move_organization(&id, under.as_deref())?;
                match under {
                    Some(parent) => notice::note(format_args!("organization `{id}` stands under `{parent}`")),
                    None => notice::note(format_args!("organization `{id}` stands under none")),
                }
            }
            Self::Umbrella { org: OrgArgs { place, id }, off } => {
                place.open(DirectorySettings::default())?.set_umbrella(&id, !off)?;
                notice::note(format_args!("organization `{id}` is {} umbrella", if off { "no" } else { "an" }));
            }
            Self::Hold { org: OrgArgs { place, id }, accounts, all } => {
                let directory = place.open(DirectorySettings::default())?;
                hold(&place, &*directory, &id, (!all).then_some(accounts))?;
            }
            Self::Release { org: OrgArgs { place, id }, accounts } => {
                let directory = place.open(DirectorySettings::default())?;
                let held = directory.accounts_under(&id)?;
                if let Some(key) = accounts.iter().find(|key| !held.contains(key)) {
                    return Err(Failure::request(format!(
                        "account `{key}` is not directly under organization `{id}`; nothing was changed"
                    )));
                }
                for key in accounts.iter().collect::<BTreeSet<_>>() {
                    directory.displace_account(key, &id)?;
                    notice::note(format_args!("organization `{id}` no longer holds account `{key}`"));
                }
            }
            Self::Forget { place, accounts } => {
                let directory = place.open(DirectorySettings::default())?;
                let known = directory.accounts()?;
                if let Some(key) = accounts.iter().find(|key| !known.contains(key)) {
                    return Err(Failure::request(format!("there is no account `{key}`; nothing was changed")));
                }
                for key in accounts.iter().collect::<BTreeSet<_>>() {
                    directory.remove_account(key)?;
                    notice::note(format_args!("account `{key}` is in no organization and no grant"));
                }
            }
        }
        Ok(())
    }
}

/// Puts the accounts named, or all those of the dataset that are not there yet, into an organization.
fn hold(
    place: &DirectoryPaths,
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
            let keys = Dataset::open(&place.dataset)?.account_keys().map_err(trueup_core::Error::from)?;
            keys.into_iter().filter(|key| !held.contains(key)).collect()
        }
    };
    let wanted: Vec<String> = wanted.into_iter().collect();
    place.admit(directory, &wanted)?;
    for key in &wanted {
        directory.place_account(key, id)?;
    }
    notice::note(format_args!("organization `{id}` holds {} more", counted(wanted.len() as u64, "account")));
    Ok(())
}

fn list(directory: &dyn Directory, format: Format) -> Result<(), Failure> {
    let organizations = directory.organizations()?;
    let mut held = Vec::new();
    for organization in &organizations {
        held.push(directory.accounts_under(&organization.id)?.len());
    }
    TableBuilder::default()
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
    TableBuilder::default()
        .texts("account", holders.keys().cloned())
        .texts("organizations", holders.values().map(|ids| ids.join(", ")))
        .write(format)
}
