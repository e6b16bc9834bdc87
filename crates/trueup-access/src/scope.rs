//! What a login may read: all of it, a [`LoginScope`], and the part of it that a query reads, a [`Scope`].

use crate::model::Organization;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The organizations and accounts within reach of a login, at the time of the call that returned it.
///
/// A request reads a part of these accounts: a [`Scope`].
///
/// ```
/// use trueup_access::{DirectorySettings, Grant, MemoryDirectory, Organization};
/// use trueup_access::{Organizations as _, Requests as _, Users as _};
///
/// let directory = MemoryDirectory::new(DirectorySettings::default())?;
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
    /// Granted organizations and all below them, including umbrellas, sorted by id.
    nodes: Vec<ScopeNode>,
    /// Every account in reach.
    accounts: Scope,
}

#[derive(Clone, Debug)]
struct ScopeNode {
    id: Arc<str>,
    umbrella: bool,
    /// Indexes into `LoginScope::nodes`.
    children: Vec<usize>,
    /// Indexes into `LoginScope::accounts` of the accounts directly under the organization.
    accounts: Vec<usize>,
}

/// An organization that a login can name, or an account that is listed as an organization of its own.
///
/// ```
/// # use trueup_access::{DirectorySettings, Grant, MemoryDirectory, Organizations as _, Requests as _, Users as _};
/// # let directory = MemoryDirectory::new(DirectorySettings::default())?;
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
    /// Returns the organization's id, or the account's key.
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

    /// Returns the accounts at and below the organization, or the one account. An organization may have none.
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
    /// Returns what is listed for a login, sorted by id; an organization is before an account of the same name:
    ///
    /// - each granted organization and each below it, except umbrellas, with the accounts at and below it;
    /// - each account in reach that is in none of them, as an organization with the account's key as its id.
    ///
    /// For a login that reaches only one account, that account alone is listed.
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, Grant, MemoryDirectory, Organization};
    /// # use trueup_access::{Organizations as _, Requests as _, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default())?;
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
        let mut is_held = vec![false; self.accounts.len()];
        let mut listed = Vec::new();
        for (index, node) in self.nodes.iter().enumerate().filter(|(_, node)| !node.umbrella) {
            let accounts = self.accounts_at_and_below(index);
            for &account in &accounts {
                is_held[account] = true;
            }
            listed.push(ListedOrganization { id: node.id.clone(), accounts: self.accounts.pick(accounts) });
        }
        let alone = self.accounts.keys().iter().zip(is_held).filter(|(_, is_held)| !is_held);
        listed.extend(alone.map(|(key, _)| ListedOrganization { id: key.clone(), accounts: Scope::of(key.clone()) }));
        // The sort is stable, so an organization stays before the account of its name.
        listed.sort_by(|a, b| a.id.cmp(&b.id));
        listed
    }

    /// Returns every account in reach.
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

    /// Returns the accounts that the path of a request names: those at and below an organization, or the account with
    /// that key.
    ///
    /// A name of both an organization and an account means the organization, unless the organization is an umbrella or
    /// out of reach, or the login reaches only that account. Returns `None` if the name is unknown or out of reach, or
    /// is only that of an umbrella.
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, Grant, MemoryDirectory, Organizations as _, Requests as _, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default())?;
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
            Ok(index) if !self.nodes[index].umbrella => Some(self.accounts.pick(self.accounts_at_and_below(index))),
            _ => self.accounts.key(segment).map(|key| Scope::of(key.clone())),
        }
    }

    fn only_account(&self) -> Option<&Arc<str>> {
        match self.accounts.keys() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Returns the indexes of the accounts at and below a node, sorted.
    ///
    /// The walk does not recurse and visits each node once, because a file that was edited by hand may contain a deep
    /// chain or a cycle.
    fn accounts_at_and_below(&self, node: usize) -> BTreeSet<usize> {
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

/// The rows of a directory at and below the grants of a login, from which [`LoginScope::assemble`] makes the scope.
#[derive(Debug, Default)]
pub(crate) struct GrantedRows {
    /// Each granted organization and each below it, once. The parent of a granted organization may be missing.
    pub(crate) organizations: Vec<Organization>,
    /// Pairs of organization and account, for each account directly under one of `organizations`.
    pub(crate) placements: Vec<(String, String)>,
    /// The accounts that are granted directly.
    pub(crate) accounts: Vec<String>,
}

impl LoginScope {
    /// Links the rows to a tree, whose nodes refer to each other and to the accounts by index.
    pub(crate) fn assemble(rows: &GrantedRows) -> Self {
        let placed = rows.placements.iter().map(|(_, account)| account);
        let keys: BTreeSet<&str> = placed.chain(&rows.accounts).map(String::as_str).collect();
        let ordinals: BTreeMap<&str, usize> = keys.iter().enumerate().map(|(ordinal, key)| (*key, ordinal)).collect();

        let organizations: BTreeMap<&str, &Organization> =
            rows.organizations.iter().map(|row| (row.id.as_str(), row)).collect();
        let index: BTreeMap<&str, usize> = organizations.keys().enumerate().map(|(index, id)| (*id, index)).collect();
        let node = |row: &&Organization| ScopeNode {
            id: row.id.as_str().into(),
            umbrella: row.umbrella,
            children: Vec::new(),
            accounts: Vec::new(),
        };
        let mut nodes: Vec<ScopeNode> = organizations.values().map(node).collect();
        for (child, row) in organizations.values().enumerate() {
            if let Some(parent) = row.parent.as_deref().and_then(|parent| index.get(parent)) {
                nodes[*parent].children.push(child);
            }
        }
        for (organization, account) in &rows.placements {
            if let (Some(node), Some(ordinal)) = (index.get(organization.as_str()), ordinals.get(account.as_str())) {
                nodes[*node].accounts.push(*ordinal);
            }
        }
        Self { nodes, accounts: Scope::sorted(keys.into_iter().map(Arc::from)) }
    }
}

/// A set of accounts that a login may read.
///
/// Code that holds a scope needs no other check, because every scope comes from a [`LoginScope`]: from
/// [`LoginScope::resolve`], [`LoginScope::accounts`] or [`LoginScope::organizations`], or from another scope by
/// [`Scope::narrow`]. Scopes with the same accounts are equal, so a scope can be part of a cache key.
///
/// Other code cannot create a scope:
///
/// ```compile_fail
/// let scope = trueup_access::Scope { keys: ["someone-else".into()].into() };
/// ```
///
/// ```
/// use std::collections::HashMap;
/// use trueup_access::Scope;
///
/// /// Answers, cached by scope and query.
/// struct Answers(HashMap<(Scope, String), String>);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scope {
    /// Sorted by bytes, without duplicates.
    keys: Arc<[Arc<str>]>,
}

impl Scope {
    /// Returns a scope of these keys, which must be sorted and distinct.
    pub(crate) fn sorted(keys: impl Iterator<Item = Arc<str>>) -> Self {
        Self { keys: keys.collect() }
    }

    /// Returns a scope of one account.
    pub(crate) fn of(key: Arc<str>) -> Self {
        Self { keys: [key].into() }
    }

    pub(crate) fn keys(&self) -> &[Arc<str>] {
        &self.keys
    }

    /// Returns the stored key of the account, which can be shared; `None` if it is not in the scope.
    pub(crate) fn key(&self, key: &str) -> Option<&Arc<str>> {
        self.keys.binary_search_by(|known| (**known).cmp(key)).ok().map(|index| &self.keys[index])
    }

    /// Returns a scope of the accounts at these indexes of [`Scope::keys`].
    pub(crate) fn pick(&self, indexes: BTreeSet<usize>) -> Self {
        Self::sorted(indexes.into_iter().map(|index| self.keys[index].clone()))
    }

    /// Returns the account keys, sorted by bytes, each once.
    ///
    /// ```
    /// fn first(scope: &trueup_access::Scope) -> Option<&str> {
    ///     scope.accounts().next()
    /// }
    /// ```
    pub fn accounts(&self) -> impl ExactSizeIterator<Item = &str> {
        self.keys.iter().map(|key| &**key)
    }

    /// Returns whether the account `key` may be read.
    ///
    /// ```
    /// fn may_read(scope: &trueup_access::Scope) -> bool {
    ///     scope.contains("a-1")
    /// }
    /// ```
    #[must_use]
    pub fn contains(&self, key: &str) -> bool {
        self.key(key).is_some()
    }

    /// Returns the number of accounts.
    ///
    /// ```
    /// fn account_intervals(scope: &trueup_access::Scope, sub_ranges: usize) -> usize {
    ///     scope.len() * sub_ranges
    /// }
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns whether the scope has no accounts, for example because the organization has none.
    ///
    /// ```
    /// fn answers_nothing(scope: &trueup_access::Scope) -> bool {
    ///     scope.is_empty()
    /// }
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns a scope of the named accounts only; an empty scope if none is named. Order and repetitions do not
    /// matter.
    ///
    /// # Errors
    /// [`OutOfReach`] with the first name that is not an account of this scope.
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, Grant, MemoryDirectory, Organizations as _, Requests as _, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default())?;
    /// # directory.add_user("anna")?;
    /// # for account in ["a-1", "a-2"] {
    /// #     directory.add_account(account)?;
    /// #     directory.grant("anna", &Grant::Account(account.into()))?;
    /// # }
    /// let all = directory.reach(&directory.login("anna")?.unwrap())?.accounts().clone();
    /// assert_eq!(all.narrow(["a-2", "a-2"]).unwrap().accounts().collect::<Vec<_>>(), ["a-2"]);
    /// assert_eq!(all.narrow(["a-2", "b-1"]).unwrap_err().account, "b-1");
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    pub fn narrow<'a>(&self, accounts: impl IntoIterator<Item = &'a str>) -> Result<Self, OutOfReach> {
        let find = |name: &str| self.key(name).cloned().ok_or_else(|| OutOfReach { account: name.to_owned() });
        let keys: BTreeSet<Arc<str>> = accounts.into_iter().map(find).collect::<Result<_, _>>()?;
        Ok(Self::sorted(keys.into_iter()))
    }
}

/// An account that was named is not in the scope. It may exist or not.
///
/// ```
/// # let error = trueup_access::OutOfReach { account: "b-1".into() };
/// assert_eq!(error.to_string(), "account `b-1` is not within reach");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("account `{account}` is not within reach")]
pub struct OutOfReach {
    /// The name as given.
    pub account: String,
}

#[cfg(test)]
mod tests;
