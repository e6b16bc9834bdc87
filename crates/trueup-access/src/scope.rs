//! The accounts that a query may read.

use std::collections::BTreeSet;
use std::sync::Arc;

/// A set of accounts that a login may read.
///
/// Whoever holds a scope is authorized, because only [`LoginScope::resolve`](crate::LoginScope::resolve),
/// [`LoginScope::accounts`](crate::LoginScope::accounts) and [`Scope::narrow`] make one. Scopes with the same accounts
/// are equal, so a scope can be part of a cache key.
///
/// It cannot be made by hand:
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

    pub(crate) fn of(key: Arc<str>) -> Self {
        Self { keys: [key].into() }
    }

    pub(crate) fn keys(&self) -> &[Arc<str>] {
        &self.keys
    }

    pub(crate) fn key(&self, key: &str) -> Option<&Arc<str>> {
        self.keys.binary_search_by(|own| (**own).cmp(key)).ok().map(|index| &self.keys[index])
    }

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

    /// Returns whether there are no accounts, as in an organization without any.
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

    /// Returns a scope of the named accounts only. Order and repetitions do not matter. Without names, the scope is
    /// empty.
    ///
    /// # Errors
    /// [`OutOfReach`] with the first name that is not an account of this scope.
    ///
    /// ```
    /// # use trueup_access::{Grant, MemoryDirectory, Organizations as _, Requests as _, DirectorySettings, Users as _};
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

/// A named account is not in the scope, whether or not it exists.
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
