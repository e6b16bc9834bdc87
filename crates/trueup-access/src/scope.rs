//! The accounts that a query may read.

use std::collections::BTreeSet;
use std::sync::Arc;

/// A set of accounts that a login may read.
///
/// Code that holds a scope needs no other check, because only [`LoginScope::resolve`](crate::LoginScope::resolve),
/// [`LoginScope::accounts`](crate::LoginScope::accounts) and [`Scope::narrow`] create scopes. Scopes with the same
/// accounts are equal, so a scope can be part of a cache key.
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

    /// Returns a scope of the named accounts only; an empty one without names. Order and repetitions do not matter.
    ///
    /// # Errors
    /// [`OutOfReach`] with the first name that is not an account of this scope.
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, Grant, MemoryDirectory, Organizations as _, Requests as _, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default());
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
