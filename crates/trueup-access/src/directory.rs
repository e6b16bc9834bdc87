//! The interface of every directory, in memory or in a file: one trait each in [`organizations`], [`users`], [`keys`]
//! and [`requests`].

mod keys;
mod organizations;
mod requests;
mod users;

pub use keys::Keys;
pub use organizations::Organizations;
pub use requests::Requests;
pub use users::Users;

/// The organizations, accounts, users, grants and keys of a service. The methods are in four traits: [`Organizations`],
/// [`Users`], [`Keys`] and [`Requests`]. On a `dyn Directory` they need no import.
///
/// A change is atomic, and visible to every call that begins after the change has returned, in all threads and
/// processes that share the directory.
///
/// ```
/// use std::sync::Arc;
/// use trueup_access::{Directory, DirectorySettings, MemoryDirectory};
///
/// let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new(DirectorySettings::default()));
/// directory.add_user("anna@example.com")?;
/// assert_eq!(directory.users()?.len(), 1);
/// # Ok::<(), trueup_access::Error>(())
/// ```
pub trait Directory: Organizations + Users + Keys + Requests + Send + Sync {}

impl<D: Organizations + Users + Keys + Requests + Send + Sync> Directory for D {}
