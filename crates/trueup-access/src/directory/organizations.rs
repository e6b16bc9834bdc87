//! The tree of organizations, and the accounts under them.

use crate::error::Error;
use crate::model::Organization;

/// Manages the tree of organizations, and the accounts under them. An account may be under several organizations.
///
/// In addition to the errors of each method, every method may return an error for which [`Error::is_storage`] is
/// true.
///
/// ```
/// use trueup_access::{DirectorySettings, MemoryDirectory, Organization, Organizations as _};
///
/// let directory = MemoryDirectory::new(DirectorySettings::default())?;
/// directory.add_organization(&Organization::new("acme"))?;
/// directory.add_organization(&Organization::new("acme-west").under("acme"))?;
/// # Ok::<(), trueup_access::Error>(())
/// ```
pub trait Organizations {
    /// Adds an organization.
    ///
    /// # Errors
    /// [`Error::EmptyId`], [`Error::ForbiddenCharacter`] (`/`), [`Error::Duplicate`], [`Error::Unknown`] for its
    /// parent, [`Error::Cycle`] if it is its own parent.
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, MemoryDirectory, Organization, Organizations as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default())?;
    /// directory.add_organization(&Organization::new("acme"))?;
    /// assert!(directory.add_organization(&Organization::new("acme")).is_err());
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn add_organization(&self, organization: &Organization) -> Result<(), Error>;

    /// Moves an organization, with everything below it, under another one. Without a parent, the organization becomes a
    /// root.
    ///
    /// # Errors
    /// [`Error::Unknown`] for the organization or the parent; [`Error::Cycle`] if the parent is the organization itself
    /// or below it.
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, Error, MemoryDirectory, Organization, Organizations as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default())?;
    /// directory.add_organization(&Organization::new("acme"))?;
    /// directory.add_organization(&Organization::new("acme-west").under("acme"))?;
    /// assert!(matches!(directory.move_organization("acme", Some("acme-west")), Err(Error::Cycle { .. })));
    /// directory.move_organization("acme-west", None)?;
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn move_organization(&self, id: &str, parent: Option<&str>) -> Result<(), Error>;

    /// Sets whether an organization is an umbrella.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, MemoryDirectory, Organization, Organizations as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default())?;
    /// # directory.add_organization(&Organization::new("platform"))?;
    /// directory.set_umbrella("platform", true)?;
    /// assert!(directory.organizations()?[0].umbrella);
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn set_umbrella(&self, id: &str, umbrella: bool) -> Result<(), Error>;

    /// Removes an organization with its grants and retired keys. Its accounts stay in the directory.
    ///
    /// # Errors
    /// [`Error::Unknown`]; [`Error::HasChildren`] while other organizations are under it.
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, MemoryDirectory, Organization, Organizations as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default())?;
    /// # directory.add_organization(&Organization::new("acme"))?;
    /// directory.remove_organization("acme")?;
    /// assert!(directory.organizations()?.is_empty());
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn remove_organization(&self, id: &str) -> Result<(), Error>;

    /// Returns all organizations, sorted by id.
    ///
    /// # Errors
    /// Only those of [`Error::is_storage`].
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, MemoryDirectory, Organization, Organizations as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default())?;
    /// # directory.add_organization(&Organization::new("acme"))?;
    /// assert_eq!(directory.organizations()?, [Organization::new("acme")]);
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn organizations(&self) -> Result<Vec<Organization>, Error>;

    /// Adds an account, which is under no organization yet.
    ///
    /// # Errors
    /// [`Error::EmptyId`], [`Error::ForbiddenCharacter`] (`,` and `/`), [`Error::Duplicate`].
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, MemoryDirectory, Organizations as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default())?;
    /// directory.add_account("a-1")?;
    /// assert!(directory.add_account("a-1,a-2").is_err());
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn add_account(&self, key: &str) -> Result<(), Error>;

    /// Removes an account from the directory, from every organization and from every grant.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, MemoryDirectory, Organizations as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default())?;
    /// # directory.add_account("a-1")?;
    /// directory.remove_account("a-1")?;
    /// assert!(directory.accounts()?.is_empty());
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn remove_account(&self, key: &str) -> Result<(), Error>;

    /// Returns the keys of all accounts, sorted.
    ///
    /// # Errors
    /// Only those of [`Error::is_storage`].
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, MemoryDirectory, Organizations as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default())?;
    /// # directory.add_account("a-1")?;
    /// assert_eq!(directory.accounts()?, ["a-1"]);
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn accounts(&self) -> Result<Vec<String>, Error>;

    /// Puts an account under one more organization.
    ///
    /// # Errors
    /// [`Error::Unknown`] for the account or the organization; [`Error::AlreadyPlaced`].
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, MemoryDirectory, Organization, Organizations as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default())?;
    /// # directory.add_organization(&Organization::new("acme"))?;
    /// # directory.add_account("a-1")?;
    /// directory.place_account("a-1", "acme")?;
    /// assert_eq!(directory.accounts_under("acme")?, ["a-1"]);
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn place_account(&self, account: &str, organization: &str) -> Result<(), Error>;

    /// Removes an account from one organization that it is directly under.
    ///
    /// # Errors
    /// [`Error::Unknown`] for the account or the organization; [`Error::NotPlaced`].
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, MemoryDirectory, Organization, Organizations as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default())?;
    /// # directory.add_organization(&Organization::new("acme"))?;
    /// # directory.add_account("a-1")?;
    /// # directory.place_account("a-1", "acme")?;
    /// directory.unplace_account("a-1", "acme")?;
    /// assert!(directory.accounts_under("acme")?.is_empty());
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn unplace_account(&self, account: &str, organization: &str) -> Result<(), Error>;

    /// Returns the keys of the accounts directly under an organization, sorted.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, MemoryDirectory, Organizations as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default())?;
    /// assert!(directory.accounts_under("nowhere").is_err());
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn accounts_under(&self, organization: &str) -> Result<Vec<String>, Error>;
}
