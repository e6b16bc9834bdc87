//! `trueup users`: the users of the service, and what they may see.

use super::directory::{DirectoryPaths, now, timestamp};
use super::option_values;
use crate::exit::Failure;
use crate::notice;
use crate::output::{self, Format, ResultTableBuilder};
use clap::{Args, Subcommand};
use std::io::Write;
use std::path::PathBuf;
use trueup::access::{Directory, Grant, Refusal};

const EXAMPLES: &str = "\
Examples:
  trueup users add my-data anna@example.com
  trueup users grant my-data anna@example.com --org acme --account beta
  trueup users revoke my-data anna@example.com --account beta
  trueup users disable my-data anna@example.com
  trueup users list my-data --format json
  trueup users login my-data anna@example.com > anna.session
  curl --compressed -b \"session=$(cat anna.session)\" http://127.0.0.1:8080/api

A user needs a key to send requests; `trueup keys create` creates one. `GET /api` also accepts a session.";

/// Manage the users of the service, and what they may see
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum UsersCommand {
    /// Add a user, who may see nothing yet; creates the directory if there is none
    Add {
        #[command(flatten)]
        user: UserArgs,
    },
    /// Remove a user, with all grants, keys and sessions
    Remove {
        #[command(flatten)]
        user: UserArgs,
    },
    /// List the users: whether each is active, the number of keys, and what the user may see
    List {
        #[command(flatten)]
        paths: DirectoryPaths,

        /// Format of the list
        #[arg(long, value_enum, default_value = "table")]
        format: Format,
    },
    /// Let a user see organizations (each with all below it) and accounts
    Grant {
        #[command(flatten)]
        user: UserArgs,

        #[command(flatten)]
        grants: GrantArgs,
    },
    /// Take grants from a user
    Revoke {
        #[command(flatten)]
        user: UserArgs,

        #[command(flatten)]
        grants: GrantArgs,
    },
    /// Sign a user in: create a session and print its token, which `GET /api` accepts in the cookie `session`
    Login {
        #[command(flatten)]
        user: UserArgs,

        /// Hours until the session ends
        #[arg(long, value_name = "HOURS", default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=MAX_SESSION_HOURS))]
        hours: u32,
    },
    /// End a session; it stops working immediately. A token that is unknown or has expired is not an error
    Logout {
        #[command(flatten)]
        paths: DirectoryPaths,

        /// File that contains only the token of the session; `-` is stdin
        #[arg(long, value_name = "FILE")]
        session_file: PathBuf,
    },
    /// Make the keys and sessions of an inactive user work again
    Enable {
        #[command(flatten)]
        user: UserArgs,
    },
    /// Make the keys and sessions of a user stop working until the user is enabled; removes none of them, and no grant
    Disable {
        #[command(flatten)]
        user: UserArgs,
    },
}

/// The longest session, in hours: a year.
const MAX_SESSION_HOURS: i64 = 8_760;

/// A user of a directory.
#[derive(Debug, Args)]
pub(crate) struct UserArgs {
    #[command(flatten)]
    paths: DirectoryPaths,

    /// Name of the user, such as anna@example.com
    #[arg(value_name = "USER")]
    name: String,
}

/// The organizations and accounts of a grant.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub(crate) struct GrantArgs {
    /// An organization, with all below it; repeat the option for several
    #[arg(long = "org", value_name = "ORG")]
    organizations: Vec<String>,

    /// An account; repeat the option for several
    #[arg(long = "account", value_name = "KEY")]
    accounts: Vec<String>,
}

impl GrantArgs {
    /// Returns each grant once, in the order of the directory's own lists.
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
            Self::Add { user: UserArgs { paths, name } } => {
                paths.open_or_create_directory()?.add_user(&name)?;
                notice::note(format_args!("added user `{name}`"));
            }
            Self::Remove { user: UserArgs { paths, name } } => {
                paths.open_directory()?.remove_user(&name)?;
                notice::note(format_args!("removed user `{name}`, with all grants, keys and sessions"));
            }
            Self::List { paths, format } => return list(&*paths.open_directory()?, format),
            Self::Grant { user: UserArgs { paths, name }, grants } => {
                let directory = paths.open_directory()?;
                grant(&paths, &*directory, &name, &grants)?;
            }
            Self::Revoke { user: UserArgs { paths, name }, grants } => {
                let directory = paths.open_directory()?;
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
            Self::Login { user: UserArgs { paths, name }, hours } => {
                return login(&*paths.open_directory()?, &name, hours);
            }
            Self::Logout { paths, session_file } => {
                let token = option_values::read_secret(&session_file, "the token of a session")?;
                paths.open_directory()?.close_session(&token)?;
                notice::note("the session has ended");
            }
            Self::Enable { user: UserArgs { paths, name } } => {
                paths.open_directory()?.set_active(&name, true)?;
                notice::note(format_args!("the keys and sessions of user `{name}` work again"));
            }
            Self::Disable { user: UserArgs { paths, name } } => {
                paths.open_directory()?.set_active(&name, false)?;
                notice::note(format_args!("the keys and sessions of user `{name}` no longer work"));
            }
        }
        Ok(())
    }
}

/// Grants everything in `grants`. Checks all of it first, so that a mistake in one grant changes nothing.
fn grant(paths: &DirectoryPaths, directory: &dyn Directory, user: &str, grants: &GrantArgs) -> Result<(), Failure> {
    let held = directory.grants(user)?;
    for id in &grants.organizations {
        directory.accounts_under(id)?;
    }
    let wanted = grants.distinct();
    if let Some(grant) = wanted.iter().find(|grant| held.contains(grant)) {
        return Err(Failure::request(format!("user `{user}` already has the {grant}; nothing was changed")));
    }
    paths.add_accounts(directory, &grants.accounts)?;
    for grant in wanted {
        directory.grant(user, &grant)?;
        notice::note(format_args!("user `{user}` has the {grant}"));
    }
    Ok(())
}

/// Creates a session and prints its token.
fn login(directory: &dyn Directory, user: &str, hours: u32) -> Result<(), Failure> {
    // A session of an inactive user would be created, and refused by the service.
    if let Err(Refusal::Inactive(_)) = directory.login(user)? {
        return Err(Failure::request(format!(
            "user `{user}` is inactive; `trueup users enable` makes the user active again"
        )));
    }
    let now = now();
    let expires = now.plus_seconds(i64::from(hours) * 3_600);
    let token = directory.open_session(user, now, expires)?;
    notice::note(format_args!(
        "new session of user `{user}` until {}; its token cannot be shown again",
        timestamp(expires)
    ));
    output::print(|out| writeln!(out, "{}", token.reveal()))
}

fn list(directory: &dyn Directory, format: Format) -> Result<(), Failure> {
    let users = directory.users()?;
    let (mut organizations, mut accounts, mut keys) = (Vec::new(), Vec::new(), Vec::new());
    for user in &users {
        let (mut organization_ids, mut account_keys) = (Vec::new(), Vec::new());
        for grant in directory.grants(&user.name)? {
            match grant {
                Grant::Organization(id) => organization_ids.push(id),
                Grant::Account(key) => account_keys.push(key),
            }
        }
        organizations.push(organization_ids.join(", "));
        accounts.push(account_keys.join(", "));
        keys.push(directory.keys(&user.name)?.len() as u64);
    }
    ResultTableBuilder::default()
        .texts("user", users.iter().map(|user| user.name.clone()))
        .texts("active", users.iter().map(|user| user.active.to_string()))
        .counts("keys", keys)
        .texts("organizations", organizations)
        .texts("accounts", accounts)
        .write(format)
}
