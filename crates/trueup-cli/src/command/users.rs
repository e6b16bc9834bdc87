//! `trueup users`: who may ask, and what they may see.

use super::directory::DirectoryPaths;
use crate::exit::Failure;
use crate::notice;
use crate::output::{Format, TableBuilder};
use clap::{Args, Subcommand};
use trueup::access::{Directory, DirectorySettings, Grant};

const EXAMPLES: &str = "\
Examples:
  trueup users add my-data anna@example.com
  trueup users grant my-data anna@example.com --org acme --account beta
  trueup users revoke my-data anna@example.com --account beta
  trueup users disable my-data anna@example.com
  trueup users list my-data --format json

A user signs requests with a key, which `trueup keys create` makes.";

/// Add and remove users of the service, and say what they may see
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum UsersCommand {
    /// Add a user, who may see nothing yet; makes the directory if it is not there
    Add {
        #[command(flatten)]
        user: UserArgs,
    },
    /// Remove a user with their grants and keys
    Remove {
        #[command(flatten)]
        user: UserArgs,
    },
    /// List the users, what they may see, and how many keys they have
    List {
        #[command(flatten)]
        place: DirectoryPaths,

        /// How the list is written
        #[arg(long, value_enum, default_value = "table")]
        format: Format,
    },
    /// Let a user see organizations, each with all below it, and accounts
    Grant {
        #[command(flatten)]
        user: UserArgs,

        #[command(flatten)]
        grants: GrantArgs,
    },
    /// Take grants back from a user
    Revoke {
        #[command(flatten)]
        user: UserArgs,

        #[command(flatten)]
        grants: GrantArgs,
    },
    /// Let a user's keys work again
    Enable {
        #[command(flatten)]
        user: UserArgs,
    },
    /// Let none of a user's keys work until the user is enabled; grants and keys are kept
    Disable {
        #[command(flatten)]
        user: UserArgs,
    },
}

/// One user of a directory.
#[derive(Debug, Args)]
pub(crate) struct UserArgs {
    #[command(flatten)]
    place: DirectoryPaths,

    /// The name that the user signs in with, such as anna@example.com
    #[arg(value_name = "USER")]
    name: String,
}

/// What is granted.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub(crate) struct GrantArgs {
    /// An organization, with all below it; repeat it for several
    #[arg(long = "org", value_name = "ORG")]
    organizations: Vec<String>,

    /// An account; repeat it for several
    #[arg(long = "account", value_name = "KEY")]
    accounts: Vec<String>,
}

impl GrantArgs {
    /// Each once, in the order of the directory's own lists.
    fn distinct(&self) -> Vec<Grant> {
        let organizations = self.organizations.iter().cloned().map(Grant::Organization);
        let mut grants: Vec<Grant> = organizations.chain(self.accounts.iter().cloned().map(Grant::Account)).collect();
        grants.sort_unstable();
        grants.dedup();
        grants
    }
}

impl UsersCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        match self {
            Self::Add { user: UserArgs { place, name } } => {
                place.open_or_make()?.add_user(&name)?;
                notice::note(format_args!("added user `{name}`"));
            }
            Self::Remove { user: UserArgs { place, name } } => {
                place.open(DirectorySettings::default())?.remove_user(&name)?;
                notice::note(format_args!("removed user `{name}`, with all grants and keys"));
            }
            Self::List { place, format } => return list(&*place.open(DirectorySettings::default())?, format),
            Self::Grant { user: UserArgs { place, name }, grants } => {
                let directory = place.open(DirectorySettings::default())?;
                grant(&place, &*directory, &name, &grants)?;
            }
            Self::Revoke { user: UserArgs { place, name }, grants } => {
                let directory = place.open(DirectorySettings::default())?;
                let held = directory.grants(&name)?;
                let grants = grants.distinct();
                if let Some(grant) = grants.iter().find(|grant| !held.contains(grant)) {
                    return Err(Failure::request(format!(
                        "user `{name}` does not have the {grant}; nothing was changed"
                    )));
                }
                for grant in grants {
                    directory.withdraw(&name, &grant)?;
                    notice::note(format_args!("user `{name}` no longer has the {grant}"));
                }
            }
            Self::Enable { user: UserArgs { place, name } } => {
                place.open(DirectorySettings::default())?.set_active(&name, true)?;
                notice::note(format_args!("the keys of user `{name}` work"));
            }
            Self::Disable { user: UserArgs { place, name } } => {
                place.open(DirectorySettings::default())?.set_active(&name, false)?;
                notice::note(format_args!("the keys of user `{name}` no longer work"));
            }
        }
        Ok(())
    }
}

/// GrantArgs all or, as far as can be seen before, nothing.
fn grant(place: &DirectoryPaths, directory: &dyn Directory, user: &str, grants: &GrantArgs) -> Result<(), Failure> {
    let held = directory.grants(user)?;
    for id in &grants.organizations {
        directory.accounts_under(id)?;
    }
    let wanted = grants.distinct();
    if let Some(grant) = wanted.iter().find(|grant| held.contains(grant)) {
        return Err(Failure::request(format!("user `{user}` already has the {grant}; nothing was changed")));
    }
    place.admit(directory, &grants.accounts)?;
    for grant in wanted {
        directory.grant(user, &grant)?;
        notice::note(format_args!("user `{user}` has the {grant}"));
    }
    Ok(())
}

fn list(directory: &dyn Directory, format: Format) -> Result<(), Failure> {
    let users = directory.users()?;
    let (mut organizations, mut accounts, mut keys) = (Vec::new(), Vec::new(), Vec::new());
    for user in &users {
        let (mut granted, mut keyed) = (Vec::new(), Vec::new());
        for grant in directory.grants(&user.login)? {
            match grant {
                Grant::Organization(id) => granted.push(id),
                Grant::Account(key) => keyed.push(key),
            }
        }
        organizations.push(granted.join(", "));
        accounts.push(keyed.join(", "));
        keys.push(directory.keys(&user.login)?.len());
    }
    TableBuilder::default()
        .texts("user", users.iter().map(|user| user.login.clone()))
        .texts("active", users.iter().map(|user| user.active.to_string()))
        .counts("keys", keys)
        .texts("organizations", organizations)
        .texts("accounts", accounts)
        .write(format)
}
