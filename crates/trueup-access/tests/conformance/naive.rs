//! Random directories, and a naive definition of what their user reaches: each question is answered on its own, by
//! walking up the tree from every organization.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use std::collections::BTreeSet;
use trueup_access::{Directory, Grant, Organization};

/// A random directory with one user, `u`. Accounts and organizations are given by their indexes in the two lists.
#[derive(Clone, Debug)]
pub(crate) struct RandomDirectory {
    organizations: Vec<RandomOrganization>,
    /// The keys of the accounts.
    accounts: Vec<String>,
    /// Pairs of an account and an organization that it is directly under.
    placements: BTreeSet<(usize, usize)>,
    granted_organizations: BTreeSet<usize>,
    granted_accounts: BTreeSet<usize>,
}

#[derive(Clone, Debug)]
struct RandomOrganization {
    /// For some organizations, the key of an account.
    id: String,
    /// An earlier organization; `None` for a root.
    parent: Option<usize>,
    is_umbrella: bool,
}

impl Arbitrary for RandomDirectory {
    type Parameters = ();
    type Strategy = BoxedStrategy<Self>;

    fn arbitrary_with((): ()) -> Self::Strategy {
        // Whether the organization has the key of an account as its id, its parent, and whether it is an umbrella.
        let organization = (any::<bool>(), any::<Option<Index>>(), prop::bool::weighted(0.25));
        let placement = (any::<Index>(), any::<Index>());
        let grants = vec(any::<Index>(), 0..3);
        (vec(organization, 1..10), 1_usize..8, vec(placement, 0..14), grants.clone(), grants)
            .prop_map(|(drawn, accounts, placements, granted_organizations, granted_accounts)| {
                let organizations = drawn.len();
                let pick = |indexes: Vec<Index>, len: usize| indexes.iter().map(|index| index.index(len)).collect();
                Self {
                    organizations: (drawn.into_iter().enumerate())
                        .map(|(at, (has_account_key, parent, is_umbrella))| RandomOrganization {
                            id: if has_account_key && at < accounts { format!("a{at}") } else { format!("o{at}") },
                            parent: parent.filter(|_| at > 0).map(|parent| parent.index(at)),
                            is_umbrella,
                        })
                        .collect(),
                    accounts: (0..accounts).map(|at| format!("a{at}")).collect(),
                    placements: (placements.iter())
                        .map(|(account, organization)| (account.index(accounts), organization.index(organizations)))
                        .collect(),
                    granted_organizations: pick(granted_organizations, organizations),
                    granted_accounts: pick(granted_accounts, accounts),
                }
            })
            .boxed()
    }
}

impl RandomDirectory {
    /// Adds everything to an empty directory.
    pub(crate) fn add_to(&self, directory: &dyn Directory) {
        let id = |organization: usize| self.organizations[organization].id.clone();
        for RandomOrganization { id: own, parent, is_umbrella } in &self.organizations {
            let added = Organization { id: own.clone(), parent: parent.map(id), umbrella: *is_umbrella };
            directory.add_organization(&added).unwrap();
        }
        for key in &self.accounts {
            directory.add_account(key).unwrap();
        }
        for (account, organization) in &self.placements {
            directory.place_account(&self.accounts[*account], &id(*organization)).unwrap();
        }
        directory.add_user("u").unwrap();
        for organization in &self.granted_organizations {
            directory.grant("u", &Grant::Organization(id(*organization))).unwrap();
        }
        for account in &self.granted_accounts {
            directory.grant("u", &Grant::Account(self.accounts[*account].clone())).unwrap();
        }
    }

    fn is_at_or_below(&self, organization: usize, top: usize) -> bool {
        organization == top
            || self.organizations[organization].parent.is_some_and(|parent| self.is_at_or_below(parent, top))
    }

    /// Returns whether the account is directly under the organization, or under one below it.
    fn is_account_below(&self, account: usize, top: usize) -> bool {
        self.placements.iter().any(|(placed, under)| *placed == account && self.is_at_or_below(*under, top))
    }

    fn is_organization_in_reach(&self, organization: usize) -> bool {
        self.granted_organizations.iter().any(|granted| self.is_at_or_below(organization, *granted))
    }

    fn is_account_in_reach(&self, account: usize) -> bool {
        self.granted_accounts.contains(&account)
            || self.granted_organizations.iter().any(|granted| self.is_account_below(account, *granted))
    }

    /// Returns the organizations that the user can name: those in reach, except umbrellas.
    fn nameable_organizations(&self) -> Vec<usize> {
        (0..self.organizations.len())
            .filter(|organization| self.is_organization_in_reach(*organization))
            .filter(|organization| !self.organizations[*organization].is_umbrella)
            .collect()
    }

    /// Returns the keys of the accounts for which a condition holds.
    fn keys(&self, holds: impl Fn(usize) -> bool) -> Vec<&str> {
        (self.accounts.iter().enumerate()).filter(|(account, _)| holds(*account)).map(|(_, key)| key.as_str()).collect()
    }

    fn keys_below(&self, organization: usize) -> Vec<&str> {
        self.keys(|account| self.is_account_below(account, organization))
    }

    pub(crate) fn accounts_in_reach(&self) -> Vec<&str> {
        self.keys(|account| self.is_account_in_reach(account))
    }

    /// Returns the listed organizations and accounts, each as `id: account account`.
    pub(crate) fn listing(&self) -> Vec<String> {
        if let [only] = self.accounts_in_reach()[..] {
            return vec![format!("{only}: {only}")];
        }
        let listed = self.nameable_organizations();
        let alone = self.keys(|account| {
            self.is_account_in_reach(account) && !listed.iter().any(|top| self.is_account_below(account, *top))
        });
        let organizations = listed.iter().map(|at| (self.organizations[*at].id.as_str(), self.keys_below(*at)));
        let mut entries: Vec<(&str, Vec<&str>)> =
            organizations.chain(alone.into_iter().map(|key| (key, vec![key]))).collect();
        // The sort is stable, so an organization stays before the account of its name.
        entries.sort_by_key(|(id, _)| *id);
        entries.into_iter().map(|(id, keys)| format!("{id}: {}", keys.join(" "))).collect()
    }

    /// Returns the accounts that a segment of a path names; `None` if it names nothing in reach.
    pub(crate) fn resolve(&self, segment: &str) -> Option<Vec<&str>> {
        let accounts = self.accounts_in_reach();
        let account = accounts.iter().find(|key| **key == segment).map(|key| vec![*key]);
        if accounts == [segment] {
            return account;
        }
        let mut organizations = self.nameable_organizations().into_iter();
        let organization = organizations.find(|organization| self.organizations[*organization].id == segment);
        organization.map(|organization| self.keys_below(organization)).or(account)
    }

    /// Returns the name of every organization and account, and one that names nothing.
    pub(crate) fn segments(&self) -> impl Iterator<Item = &str> {
        let organizations = self.organizations.iter().map(|organization| organization.id.as_str());
        organizations.chain(self.accounts.iter().map(String::as_str)).chain(["nowhere"])
    }

    /// Returns each organization out of reach, with the accounts that are not directly under it.
    pub(crate) fn out_of_reach(&self) -> Vec<(&str, Vec<&str>)> {
        (self.organizations.iter().enumerate())
            .filter(|(organization, _)| !self.is_organization_in_reach(*organization))
            .map(|(at, organization)| {
                (organization.id.as_str(), self.keys(|account| !self.placements.contains(&(account, at))))
            })
            .collect()
    }
}
