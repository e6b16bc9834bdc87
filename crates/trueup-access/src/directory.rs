//! The interface of every directory, wherever it is stored.

mod keys;
mod organizations;
mod requests;
mod users;

pub use keys::Keys;
pub use organizations::Organizations;
pub use requests::Requests;
pub use users::Users;

/// Who may see what. Its four parts are [`Organizations`], [`Users`], [`Keys`] and [`Requests`]; on a `dyn Directory`
/// their methods need no import.
///
/// A change is atomic, and visible to every call that begins after it returned, in all threads and processes.
///
/// ```
/// use std::sync::Arc;
/// use trueup_access::{Directory, MemoryDirectory, DirectorySettings};
///
/// let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new(DirectorySettings::default()));
/// directory.add_user("anna@example.com")?;
/// assert_eq!(directory.users()?.len(), 1);
/// # Ok::<(), trueup_access::Error>(())
/// ```
pub trait Directory: Organizations + Users + Keys + Requests + Send + Sync {}

impl<D: Organizations + Users + Keys + Requests + Send + Sync> Directory for D {}
