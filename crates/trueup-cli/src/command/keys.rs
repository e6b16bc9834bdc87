//! `trueup keys`: what users sign requests with.

use super::directory::{DirectoryPaths, now};
use super::secret;
use crate::exit::Failure;
use crate::notice;
use crate::output::{Format, OutputWriter, TableBuilder};
use clap::{Args, Subcommand};
use std::io::Write;
use std::path::PathBuf;
use trueup::access::{Directory, DirectorySettings, IssuedKey, KeyEntry, KeyId, UnixTime};
use trueup_core::Day;

const EXAMPLES: &str = "\
Examples:
  trueup keys create my-data anna@example.com > anna.key
  trueup keys list my-data anna@example.com
  trueup keys rotate my-data anna@example.com 1 > anna.key
  trueup keys delete my-data anna@example.com 2

A key is shown once, alone on stdout: only a hash of it is kept. Keys have numbers, which are no secrets.";

/// Make and revoke the keys of users
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum KeysCommand {
    /// Make a key for a user, beside those that they have, and print it
    Create {
        #[command(flatten)]
        owner: KeyOwnerArgs,

        #[command(flatten)]
        prefix: KeyPrefixArgs,
    },
    /// Make a key in place of another, which no longer works, and print it
    Rotate {
        #[command(flatten)]
        owner: KeyOwnerArgs,

        /// The number of the key; needed if the user has several
        #[arg(value_name = "NUMBER")]
        key: Option<KeyId>,

        #[command(flatten)]
        prefix: KeyPrefixArgs,
    },
    /// Revoke keys: from now on they do not work
    Delete {
        #[command(flatten)]
        owner: KeyOwnerArgs,

        /// The numbers of the keys
        #[arg(value_name = "NUMBER", required_unless_present = "all")]
        keys: Vec<KeyId>,

        /// All keys of the user
        #[arg(long, conflicts_with = "keys")]
        all: bool,
    },
    /// List the keys of a user: their numbers, and when they were made (UTC)
    List {
        #[command(flatten)]
        owner: KeyOwnerArgs,

        /// How the list is written
        #[arg(long, value_enum, default_value = "table")]
        format: Format,
    },
    /// Make an organization's key of old known, so that its use can be told from a guess; it lets nobody in
    Retire {
        #[command(flatten)]
        place: DirectoryPaths,

        /// The id of the organization
        #[arg(value_name = "ORG")]
        org: String,

        /// The file that holds the key, and nothing else; `-` is stdin
        #[arg(long, value_name = "FILE")]
        key_file: PathBuf,
    },
}

/// A user of a directory.
#[derive(Debug, Args)]
pub(crate) struct KeyOwnerArgs {
    #[command(flatten)]
    place: DirectoryPaths,

    /// The user that the keys are of
    #[arg(value_name = "USER")]
    user: String,
}

/// What a new key begins with.
#[derive(Debug, Args)]
pub(crate) struct KeyPrefixArgs {
    /// Begin the key with this and an underscore; by default `tu`
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
            Self::Create { owner: KeyOwnerArgs { place, user }, prefix } => {
                let directory = place.open(prefix.settings()?)?;
                show(&user, &directory.create_key(&user, now())?)
            }
            Self::Rotate { owner: KeyOwnerArgs { place, user }, key, prefix } => {
                let directory = place.open(prefix.settings()?)?;
                let old = match key {
                    Some(key) => key,
                    None => only_key(&*directory, &user)?,
                };
                let issued = directory.rotate_key(&user, old, now())?;
                notice::note(format_args!("key {old} of user `{user}` no longer works"));
                show(&user, &issued)
            }
            Self::Delete { owner: KeyOwnerArgs { place, user }, mut keys, all } => {
                let directory = place.open(DirectorySettings::default())?;
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
            Self::List { owner: KeyOwnerArgs { place, user }, format } => {
                let keys = place.open(DirectorySettings::default())?.keys(&user)?;
                TableBuilder::default()
                    .texts("key", keys.iter().map(|entry| entry.id.to_string()))
                    .texts("created", keys.iter().map(|KeyEntry { created, .. }| timestamp(*created)))
                    .write(format)
            }
            Self::Retire { place, org, key_file } => {
                let key = secret::read(&key_file)?;
                place.open(DirectorySettings::default())?.retire_organization_key(&org, &key)?;
                notice::note(format_args!("a retired key of organization `{org}` is known"));
                Ok(())
            }
        }
    }
}

/// The key of a user who has one.
fn only_key(directory: &dyn Directory, user: &str) -> Result<KeyId, Failure> {
    match directory.keys(user)?.as_slice() {
        [entry] => Ok(entry.id),
        [] => Err(Failure::request(format!("user `{user}` has no key; make one with `trueup keys create`"))),
        keys => {
            let numbers: Vec<String> = keys.iter().map(|entry| entry.id.to_string()).collect();
            Err(Failure::request(format!("user `{user}` has the keys {}; say which", numbers.join(", "))))
        }
    }
}

/// Prints a key, this one time.
fn show(user: &str, key: &IssuedKey) -> Result<(), Failure> {
    notice::note(format_args!("key {} of user `{user}`; it cannot be shown again:", key.id));
    let mut sink = OutputWriter::stdout();
    let written = writeln!(sink, "{}", key.secret.reveal()).map_err(Failure::fault);
    sink.finish(written)
}

/// An instant as RFC 3339 in UTC.
fn timestamp(time: UnixTime) -> String {
    const DAY: i64 = 86_400;
    let (days, second) = (time.seconds().div_euclid(DAY), time.seconds().rem_euclid(DAY));
    let day = u16::try_from(days).map_or(if days < 0 { Day::MIN } else { Day::MAX }, Day::from_number);
    format!("{day}T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::{UnixTime, timestamp};

    #[test]
    fn instants_read_well() {
        assert_eq!(timestamp(UnixTime::from_seconds(0)), "1970-01-01T00:00:00Z");
        assert_eq!(timestamp(UnixTime::from_seconds(1_740_787_199)), "2025-02-28T23:59:59Z");
    }
}
