//! What a login reaches: the organizations it is answered for, and the accounts.

mod assemble;
mod scope;

pub use scope::{OutOfReach, Scope};
use std::collections::BTreeSet;
use std::sync::Arc;

pub(crate) use assemble::GrantedRows;

/// The organizations and accounts that a login may ask for, as they were when the directory was asked.
///
/// ```
/// use trueup_access::{Grant, MemoryDirectory, Organization, DirectorySettings};
/// use trueup_access::{Organizations as _, Requests as _, Users as _};
///
/// let directory = MemoryDirectory::new(DirectorySettings::default());
/// directory.add_organization(&Organization::new("platform").as_umbrella())?;
/// directory.add_organization(&Organization::new("acme").under("platform"))?;
/// for (account, organization) in [("a-1", "acme"), ("a-2", "acme"), ("solo", "platform")] {
///     directory.add_account(account)?;
///     directory.place_account(account, organization)?;
/// }
/// directory.add_user("root")?;
/// directory.grant("root", &Grant::Organization("platform".into()))?;
///
/// let reach = directory.reach(&directory.login("root")?.unwrap())?;
/// let listed = reach.organizations();
/// assert_eq!(listed.iter().map(|listed| listed.id()).collect::<Vec<_>>(), ["acme", "solo"]);
/// assert!(reach.resolve("platform").is_none());
/// assert!(reach.resolve("a-1").is_some());
/// # Ok::<(), trueup_access::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LoginScope {
    /// Granted nodes and those below them, umbrellas too, by id.
    nodes: Vec<ScopeNode>,
    /// Every account in reach; nodes hold indexes into it.
    accounts: Scope,
}

#[derive(Clone, Debug)]
struct ScopeNode {
    id: Arc<str>,
    umbrella: bool,
    /// Indexes into `LoginScope::nodes`.
    children: Vec<usize>,
    /// Indexes into `LoginScope::accounts` of those directly under the node.
    accounts: Vec<usize>,
}

/// An organization as it is listed, or an account that is listed as an organization of its own.
///
/// ```
/// # use trueup_access::{Grant, MemoryDirectory, Organizations as _, Requests as _, DirectorySettings, Users as _};
/// # let directory = MemoryDirectory::new(DirectorySettings::default());
/// # directory.add_account("solo")?;
/// # directory.add_user("anna")?;
/// # directory.grant("anna", &Grant::Account("solo".into()))?;
/// # let reach = directory.reach(&directory.login("anna")?.unwrap())?;
/// let listed = &reach.organizations()[0];
/// assert_eq!(listed.id(), "solo");
/// assert_eq!(listed.accounts().accounts().collect::<Vec<_>>(), ["solo"]);
/// # Ok::<(), trueup_access::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedOrganization {
    id: Arc<str>,
    accounts: Scope,
}

impl ListedOrganization {
    /// The organization's id, or the account's key.
    ///
    /// ```
    /// fn ids(reach: &trueup_access::LoginScope) -> Vec<String> {
    ///     reach.organizations().iter().map(|listed| listed.id().to_owned()).collect()
    /// }
    /// ```
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The accounts at and below it; there may be none.
    ///
    /// ```
    /// fn size(listed: &trueup_access::ListedOrganization) -> usize {
    ///     listed.accounts().len()
    /// }
    /// ```
    #[must_use]
    pub const fn accounts(&self) -> &Scope {
        &self.accounts
    }
}

impl LoginScope {
    /// What an account discovery lists, by id (an organization before an account of the same name):
    ///
    /// - each granted organization and each below it that is no umbrella, with the accounts at and below it;
    /// - each account in reach that none of these holds, as an organization of its own id.
    ///
    /// For a login that reaches one account, just that account as an organization of its own id.
    ///
    /// ```
    /// # use trueup_access::{Grant, MemoryDirectory, Organization, Organizations as _, Requests as _, DirectorySettings, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default());
    /// directory.add_organization(&Organization::new("acme"))?;
    /// directory.add_account("a-1")?;
    /// directory.place_account("a-1", "acme")?;
    /// # directory.add_user("anna")?;
    /// directory.grant("anna", &Grant::Organization("acme".into()))?;
    /// let reach = directory.reach(&directory.login("anna")?.unwrap())?;
    /// assert_eq!(reach.organizations()[0].id(), "a-1");
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    #[must_use]
    pub fn organizations(&self) -> Vec<ListedOrganization> {
        if let Some(only) = self.only_account() {
            return vec![ListedOrganization { id: only.clone(), accounts: self.accounts.clone() }];
        }
        let mut held = vec![false; self.accounts.len()];
        let mut listed = Vec::new();
        for (index, node) in self.nodes.iter().enumerate().filter(|(_, node)| !node.umbrella) {
            let accounts = self.at_and_below(index);
            for &account in &accounts {
                held[account] = true;
            }
            listed.push(ListedOrganization { id: node.id.clone(), accounts: self.accounts.pick(accounts) });
        }
        let alone = self.accounts.keys().iter().zip(held).filter(|(_, held)| !held);
        listed.extend(alone.map(|(key, _)| ListedOrganization { id: key.clone(), accounts: Scope::of(key.clone()) }));
        // Stable: an organization stays before the account of its name.
        listed.sort_by(|a, b| a.id.cmp(&b.id));
        listed
    }

    /// Every account in reach.
    ///
    /// ```
    /// fn reaches_nothing(reach: &trueup_access::LoginScope) -> bool {
    ///     reach.accounts().is_empty()
    /// }
    /// ```
    #[must_use]
    pub const fn accounts(&self) -> &Scope {
        &self.accounts
    }

    /// The accounts that the path segment of a request asks for: those of an organization in reach, or the account in reach of that
    /// key. A name of both means the organization, save where [`LoginScope::organizations`] lists the one account alone. Nothing for an
    /// umbrella, for what is out of reach, and for what is unknown.
    ///
    /// ```
    /// # use trueup_access::{Grant, MemoryDirectory, Organizations as _, Requests as _, DirectorySettings, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default());
    /// # directory.add_account("solo")?;
    /// # directory.add_account("other")?;
    /// # directory.add_user("anna")?;
    /// directory.grant("anna", &Grant::Account("solo".into()))?;
    /// let reach = directory.reach(&directory.login("anna")?.unwrap())?;
    /// assert_eq!(reach.resolve("solo").unwrap().accounts().collect::<Vec<_>>(), ["solo"]);
    /// assert!(reach.resolve("other").is_none());
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    #[must_use]
    pub fn resolve(&self, segment: &str) -> Option<Scope> {
        if self.only_account().is_some_and(|only| **only == *segment) {
            return Some(self.accounts.clone());
        }
        match self.nodes.binary_search_by(|node| (*node.id).cmp(segment)) {
            Ok(index) if !self.nodes[index].umbrella => Some(self.accounts.pick(self.at_and_below(index))),
            _ => self.accounts.key(segment).map(|key| Scope::of(key.clone())),
        }
    }

    fn only_account(&self) -> Option<&Arc<str>> {
        match self.accounts.keys() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Indexes of the accounts at and below a node, sorted. Without recursion, and each node once: a file may have been edited into a
    /// deep chain or a cycle.
    fn at_and_below(&self, node: usize) -> BTreeSet<usize> {
        let mut accounts = BTreeSet::new();
        let mut seen = BTreeSet::from([node]);
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            accounts.extend(&self.nodes[node].accounts);
            open.extend(self.nodes[node].children.iter().filter(|child| seen.insert(**child)));
        }
        accounts
    }
}

#[cfg(test)]
mod tests;
