//! What every directory does, wherever it is kept.

mod keys;
mod organizations;
mod requests;
mod users;

pub use keys::Keys;
pub use organizations::Organizations;
pub use requests::Requests;
pub use users::Users;

/// Who may see what. Its four parts are [`Organizations`], [`Users`], [`Keys`] and [`Requests`]; on a `dyn Directory` their methods
/// need no import.
///
/// Every change is whole or not at all, and seen by whatever begins after it returned, in every thread and process.
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
