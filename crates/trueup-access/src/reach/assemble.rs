//! From the rows of a directory to a reach.

use super::{LoginScope, Scope, ScopeNode};
use crate::model::Organization;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a directory found at and below a login's grants.
#[derive(Debug, Default)]
pub(crate) struct GrantedRows {
    /// Each granted organization and each below it, once. The parent of a granted one may be missing here.
    pub(crate) organizations: Vec<Organization>,
    /// (organization, account) for each of them that holds accounts directly.
    pub(crate) placements: Vec<(String, String)>,
    /// Accounts that are granted themselves.
    pub(crate) accounts: Vec<String>,
}

impl LoginScope {
    pub(crate) fn assemble(below: &GrantedRows) -> Self {
        let placed = below.placements.iter().map(|(_, account)| account);
        let keys: BTreeSet<&str> = placed.chain(&below.accounts).map(String::as_str).collect();
        let ordinals: BTreeMap<&str, usize> = keys.iter().enumerate().map(|(ordinal, key)| (*key, ordinal)).collect();

        let rows: BTreeMap<&str, &Organization> =
            below.organizations.iter().map(|row| (row.id.as_str(), row)).collect();
        let index: BTreeMap<&str, usize> = rows.keys().enumerate().map(|(index, id)| (*id, index)).collect();
        let node = |row: &&Organization| ScopeNode {
            id: row.id.as_str().into(),
            umbrella: row.umbrella,
            children: Vec::new(),
            accounts: Vec::new(),
        };
        let mut nodes: Vec<ScopeNode> = rows.values().map(node).collect();
        for (child, row) in rows.values().enumerate() {
            if let Some(parent) = row.parent.as_deref().and_then(|parent| index.get(parent)) {
                nodes[*parent].children.push(child);
            }
        }
        for (organization, account) in &below.placements {
            if let (Some(node), Some(ordinal)) = (index.get(organization.as_str()), ordinals.get(account.as_str())) {
                nodes[*node].accounts.push(*ordinal);
            }
        }
        Self { nodes, accounts: Scope::sorted(keys.into_iter().map(Arc::from)) }
    }
}
