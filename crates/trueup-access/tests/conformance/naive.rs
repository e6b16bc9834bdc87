//! A naive model of what a login reaches. It walks up from each node, and answers each question independently.

use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeSet;
use trueup_access::{Directory, Grant, Organization};

/// A random directory with one user `u`. Some organizations have the name of an account.
#[derive(Clone, Debug)]
pub(crate) struct World {
    /// (id, index of the parent, whether it is an umbrella). The parent is an earlier organization.
    organizations: Vec<(String, Option<usize>, bool)>,
    accounts: Vec<String>,
    /// (index of the account, index of the organization).
    placements: BTreeSet<(usize, usize)>,
    granted_organizations: BTreeSet<usize>,
    granted_accounts: BTreeSet<usize>,
}

impl Arbitrary for World {
    type Parameters = ();
    type Strategy = BoxedStrategy<Self>;

    fn arbitrary_with((): ()) -> Self::Strategy {
        let organization = (any::<bool>(), any::<Option<prop::sample::Index>>(), prop::bool::weighted(0.25));
        let pair = (any::<prop::sample::Index>(), any::<prop::sample::Index>());
        let some = vec(any::<prop::sample::Index>(), 0..3);
        (vec(organization, 1..10), 1_usize..8, vec(pair, 0..14), some.clone(), some)
            .prop_map(|(organizations, accounts, placements, granted_organizations, granted_accounts)| {
                let organization =
                    |(index, (alias, parent, umbrella)): (usize, (bool, Option<prop::sample::Index>, bool))| {
                        let id = if alias && index < accounts { format!("a{index}") } else { format!("o{index}") };
                        (id, parent.filter(|_| index > 0).map(|parent| parent.index(index)), umbrella)
                    };
                let organizations: Vec<_> = organizations.into_iter().enumerate().map(organization).collect();
                let count = organizations.len();
                Self {
                    placements: placements.iter().map(|(a, o)| (a.index(accounts), o.index(count))).collect(),
                    granted_organizations: granted_organizations.iter().map(|index| index.index(count)).collect(),
                    granted_accounts: granted_accounts.iter().map(|index| index.index(accounts)).collect(),
                    accounts: (0..accounts).map(|index| format!("a{index}")).collect(),
                    organizations,
                }
            })
            .boxed()
    }
}

impl World {
    /// Adds everything to an empty directory.
    pub(crate) fn plant(&self, directory: &dyn Directory) {
        let id = |index: usize| self.organizations[index].0.clone();
        for (own, parent, umbrella) in &self.organizations {
            let node = Organization { id: own.clone(), parent: parent.map(id), umbrella: *umbrella };
            directory.add_organization(&node).unwrap();
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

    fn is_at_or_below(&self, node: usize, top: usize) -> bool {
        node == top || self.organizations[node].1.is_some_and(|parent| self.is_at_or_below(parent, top))
    }

    fn is_node_in_reach(&self, node: usize) -> bool {
        self.granted_organizations.iter().any(|granted| self.is_at_or_below(node, *granted))
    }

    /// Returns whether the account is under the node, or under a node below it.
    fn holds(&self, node: usize, account: usize) -> bool {
        self.placements
            .iter()
            .any(|(placed, organization)| *placed == account && self.is_at_or_below(*organization, node))
    }

    fn is_account_in_reach(&self, account: usize) -> bool {
        self.granted_accounts.contains(&account)
            || self.granted_organizations.iter().any(|node| self.holds(*node, account))
    }

    fn listed_nodes(&self) -> Vec<usize> {
        let nodes = 0..self.organizations.len();
        nodes.filter(|node| self.is_node_in_reach(*node) && !self.organizations[*node].2).collect()
    }

    fn accounts_below(&self, node: usize) -> Vec<String> {
        (0..self.accounts.len())
            .filter(|account| self.holds(node, *account))
            .map(|a| self.accounts[a].clone())
            .collect()
    }

    pub(crate) fn accounts_in_reach(&self) -> Vec<&str> {
        (0..self.accounts.len()).filter(|a| self.is_account_in_reach(*a)).map(|a| self.accounts[a].as_str()).collect()
    }

    /// Returns the listed organizations, each as `id: account account`.
    pub(crate) fn listing(&self) -> Vec<String> {
        if let [only] = self.accounts_in_reach()[..] {
            return vec![format!("{only}: {only}")];
        }
        // (id, 0 for an organization and 1 for an account, line)
        let mut lines = BTreeSet::new();
        for node in self.listed_nodes() {
            let id = &self.organizations[node].0;
            lines.insert((id.clone(), 0, format!("{id}: {}", self.accounts_below(node).join(" "))));
        }
        for account in (0..self.accounts.len()).filter(|account| self.is_account_in_reach(*account)) {
            if !self.listed_nodes().iter().any(|node| self.holds(*node, account)) {
                let key = &self.accounts[account];
                lines.insert((key.clone(), 1, format!("{key}: {key}")));
            }
        }
        lines.into_iter().map(|(_, _, line)| line).collect()
    }

    /// Returns the accounts that a segment of a path resolves to.
    pub(crate) fn resolve(&self, segment: &str) -> Option<Vec<String>> {
        let accounts = self.accounts_in_reach();
        if accounts == [segment] {
            return Some(vec![segment.to_owned()]);
        }
        match self.listed_nodes().into_iter().find(|node| self.organizations[*node].0 == segment) {
            Some(node) => Some(self.accounts_below(node)),
            None => accounts.contains(&segment).then(|| vec![segment.to_owned()]),
        }
    }

    /// Returns the name of every organization and account, and one that names nothing.
    pub(crate) fn segments(&self) -> impl Iterator<Item = String> {
        let organizations = self.organizations.iter().map(|(id, _, _)| id.clone());
        organizations.chain(self.accounts.iter().cloned()).chain(["nowhere".into()])
    }

    pub(crate) fn organizations_out_of_reach(&self) -> Vec<String> {
        let nodes = 0..self.organizations.len();
        nodes.filter(|node| !self.is_node_in_reach(*node)).map(|node| self.organizations[node].0.clone()).collect()
    }

    /// Returns the accounts that are not directly under an organization.
    pub(crate) fn accounts_not_under(&self, id: &str) -> impl Iterator<Item = &str> {
        let node = self.organizations.iter().position(|(own, _, _)| own == id).unwrap();
        let accounts = self.accounts.iter().enumerate();
        accounts.filter(move |(account, _)| !self.placements.contains(&(*account, node))).map(|(_, key)| key.as_str())
    }
}
