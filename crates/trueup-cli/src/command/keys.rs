//! `trueup keys`: the keys that users send requests with.

use super::directory::{DirectoryPaths, now, timestamp};
use super::option_values;
use crate::exit::Failure;
use crate::notice;
use crate::output::{self, Format, ResultTableBuilder};
use clap::{Args, Subcommand};
use std::io::Write;
use std::path::PathBuf;
use trueup::access::{Directory, DirectorySettings, IssuedKey, KeyEntry, KeyId};

const EXAMPLES: &str = "\
Examples:
  trueup keys create my-data anna@example.com > anna.key
  trueup keys list my-data anna@example.com
  trueup keys rotate my-data anna@example.com 1 > anna.key
  trueup keys delete my-data anna@example.com 2

A key is printed once, alone on stdout, because only a hash of it is stored. Afterwards a key is named by its number, \
which is not secret.";

/// Create and revoke the keys of users
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum KeysCommand {
    /// Create a key for a user and print it; the user's other keys keep working
    Create {
        #[command(flatten)]
        owner: KeyOwnerArgs,

        #[command(flatten)]
        prefix: KeyPrefixArgs,
    },
    /// Replace a key of a user: create and print a new one, and revoke the old one
    Rotate {
        #[command(flatten)]
        owner: KeyOwnerArgs,

        /// Number of the key to replace; required if the user has several
        #[arg(value_name = "NUMBER")]
        key: Option<KeyId>,

        #[command(flatten)]
        prefix: KeyPrefixArgs,
    },
    /// Revoke keys of a user; they stop working immediately
    Delete {
        #[command(flatten)]
        owner: KeyOwnerArgs,

        /// Numbers of the keys
        #[arg(value_name = "NUMBER", required_unless_present = "all")]
        keys: Vec<KeyId>,

        /// Revoke all keys of the user
        #[arg(long, conflicts_with = "keys")]
        all: bool,
    },
    /// List the keys of a user: numbers and creation times (UTC)
    List {
        #[command(flatten)]
        owner: KeyOwnerArgs,

        /// Format of the list
        #[arg(long, value_enum, default_value = "table")]
        format: Format,
    },
    /// Register a retired key of an organization, so that the service can distinguish its use from a guess; the key
    /// gives no access, because only keys of users are accepted now
    Retire {
        #[command(flatten)]
        paths: DirectoryPaths,

        /// Id of the organization
        #[arg(value_name = "ORG")]
        org: String,

        /// File that contains only the key; `-` is stdin
        #[arg(long, value_name = "FILE")]
        key_file: PathBuf,
    },
}

/// The user whose keys are managed.
#[derive(Debug, Args)]
pub(crate) struct KeyOwnerArgs {
    #[command(flatten)]
    paths: DirectoryPaths,

    /// Name of the user
    #[arg(value_name = "USER")]
    user: String,
}

/// The prefix of a new key.
#[derive(Debug, Args)]
pub(crate) struct KeyPrefixArgs {
    /// Start of the new key, before an underscore; by default `tu`
    #[arg(long, value_name = "PREFIX")]
    prefix: Option<String>,
}

impl KeyPrefixArgs {
    fn settings(&self) -> Result<DirectorySettings, Failure> {
        let Some(prefix) = &self.prefix else { return Ok(DirectorySettings::default()) };
        DirectorySettings::default().key_prefix(prefix).map_err(Failure::usage)
    }
}

impl KeysCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        match self {
            Self::Create { owner: KeyOwnerArgs { paths, user }, prefix } => {
                let directory = paths.open_directory_with(prefix.settings()?)?;
                show(&user, &directory.create_key(&user, now())?)
            }
            Self::Rotate { owner: KeyOwnerArgs { paths, user }, key, prefix } => {
                let directory = paths.open_directory_with(prefix.settings()?)?;
                let old = match key {
                    Some(key) => key,
                    None => only_key(&*directory, &user)?,
                };
                let issued = directory.rotate_key(&user, old, now())?;
                notice::note(format_args!("key {old} of user `{user}` no longer works"));
                show(&user, &issued)
            }
            Self::Delete { owner: KeyOwnerArgs { paths, user }, mut keys, all } => {
                let directory = paths.open_directory()?;
                let live: Vec<KeyId> = directory.keys(&user)?.iter().map(|entry| entry.id).collect();
                if all {
                    keys.clone_from(&live);
                }
                keys.sort_unstable();
                keys.dedup();
                if let Some(key) = keys.iter().find(|key| !live.contains(key)) {
                    return Err(Failure::request(format!("user `{user}` has no key {key}; nothing was changed")));
                }
                for key in keys {
                    directory.delete_key(&user, key, now())?;
                    notice::note(format_args!("key {key} of user `{user}` no longer works"));
                }
                Ok(())
            }
            Self::List { owner: KeyOwnerArgs { paths, user }, format } => {
                let keys = paths.open_directory()?.keys(&user)?;
                ResultTableBuilder::default()
                    .texts("key", keys.iter().map(|entry| entry.id.to_string()))
                    .texts("created", keys.iter().map(|KeyEntry { created, .. }| timestamp(*created)))
                    .write(format)
            }
            Self::Retire { paths, org, key_file } => {
                let key = option_values::read_key(&key_file)?;
                paths.open_directory()?.retire_organization_key(&org, &key)?;
                notice::note(format_args!("registered a retired key of organization `{org}`"));
                Ok(())
            }
        }
    }
}

/// Returns the key of a user who has exactly one.
fn only_key(directory: &dyn Directory, user: &str) -> Result<KeyId, Failure> {
    match directory.keys(user)?.as_slice() {
        [entry] => Ok(entry.id),
        [] => Err(Failure::request(format!("user `{user}` has no key; create one with `trueup keys create`"))),
        keys => {
            let numbers: Vec<String> = keys.iter().map(|entry| entry.id.to_string()).collect();
            Err(Failure::request(format!("user `{user}` has the keys {}; name one of them", numbers.join(", "))))
        }
    }
}

/// Prints a new key.
fn show(user: &str, key: &IssuedKey) -> Result<(), Failure> {
    notice::note(format_args!("new key {} of user `{user}`; the key cannot be shown again", key.id));
    output::print(|out| writeln!(out, "{}", key.secret.reveal()))
}
