//! Who may see what: organizations, accounts, users, grants, keys, sessions and hourly counts.
//!
//! A [`Directory`] holds them: a [`MemoryDirectory`] in memory, or a [`SqliteDirectory`] in one SQLite file. A request
//! passes through the directory in four steps. Code outside this crate cannot create a [`Login`], a [`LoginScope`] or a
//! [`Scope`] without a directory:
//!
//! | step | takes | returns |
//! |---|---|---|
//! | [`Requests::authenticate`], [`Requests::session`] | a [`SecretKey`] | a [`Login`], or a [`Refusal`] |
//! | [`Requests::count`] | the login | whether the hourly limit allows the request |
//! | [`Requests::reach`] | the login | its [`LoginScope`]: organizations and accounts |
//! | [`LoginScope::resolve`], [`Scope::narrow`] | a name | a [`Scope`]: the accounts that a query may read |
//!
//! This crate does not know HTTP, JSON, or the data of accounts.
//!
//! ```
//! use trueup_access::{DirectorySettings, Grant, Hourly, MemoryDirectory, Organization, UnixTime};
//! use trueup_access::{Keys as _, Organizations as _, Requests as _, Users as _};
//!
//! let directory = MemoryDirectory::new(DirectorySettings::default())?;
//! directory.add_organization(&Organization::new("acme"))?;
//! directory.add_account("acme-north")?;
//! directory.add_account("acme-south")?;
//! directory.place_account("acme-north", "acme")?;
//! directory.place_account("acme-south", "acme")?;
//! directory.add_user("anna@example.com")?;
//! directory.grant("anna@example.com", &Grant::Organization("acme".into()))?;
//! let now = UnixTime::from_seconds(1_760_000_000);
//! let key = directory.create_key("anna@example.com", now)?;
//!
//! let login = directory.authenticate(Some(&key.secret))?.unwrap();
//! assert_eq!(directory.count(&login, now)?, Hourly::Allowed);
//! let scope = directory.reach(&login)?.resolve("acme").unwrap();
//! assert_eq!(scope.accounts().collect::<Vec<_>>(), ["acme-north", "acme-south"]);
//! # Ok::<(), trueup_access::Error>(())
//! ```

mod directory;
mod error;
mod login;
mod memory;
mod model;
mod one_time;
mod scope;
mod secret;
mod settings;
mod sqlite;
mod time;

pub use directory::{Directory, Keys, Organizations, Requests, Users};
pub use error::{Entity, Error, StorageError};
pub use login::{Hourly, Login, Refusal};
pub use memory::MemoryDirectory;
pub use model::{Grant, IssuedKey, KeyEntry, KeyId, Organization, User};
pub use one_time::{OneTimeToken, OneTimeTokens};
pub use scope::{ListedOrganization, LoginScope, OutOfReach, Scope};
pub use secret::SecretKey;
pub use settings::DirectorySettings;
pub use sqlite::SqliteDirectory;
pub use time::UnixTime;
