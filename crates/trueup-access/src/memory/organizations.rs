//! Organizations and accounts in memory.

use super::MemoryDirectory;
use super::state::{DirectoryState, OrganizationNode};
use crate::directory::{Organizations, check_id, check_parent};
use crate::error::{Entity, Error};
use crate::model::{Grant, Organization};

impl Organizations for MemoryDirectory {
    fn add_organization(&self, organization: &Organization) -> Result<(), Error> {
        let Organization { id, parent, umbrella } = organization;
        check_id(Entity::Organization, id)?;
        let mut state = self.write();
        if state.organizations.contains_key(id) {
            return Err(Error::duplicate(Entity::Organization, id));
        }
        if let Some(parent) = parent {
            check_parent(id, parent)?;
            state.organization(parent)?;
        }
        let node = OrganizationNode { parent: parent.clone(), umbrella: *umbrella, ..OrganizationNode::default() };
        state.organizations.insert(id.clone(), node);
        Ok(())
    }

    fn move_organization(&self, id: &str, parent: Option<&str>) -> Result<(), Error> {
        let mut state = self.write();
        state.organization(id)?;
        if let Some(parent) = parent {
            state.organization(parent)?;
            if is_at_or_below(&state, parent, id) {
                return Err(Error::Cycle { organization: id.to_owned(), parent: parent.to_owned() });
            }
        }
        state.organization_mut(id)?.parent = parent.map(str::to_owned);
        Ok(())
    }

    fn set_umbrella(&self, id: &str, umbrella: bool) -> Result<(), Error> {
        self.write().organization_mut(id)?.umbrella = umbrella;
        Ok(())
    }

    fn remove_organization(&self, id: &str) -> Result<(), Error> {
        let mut state = self.write();
        state.organization(id)?;
        if state.organizations.values().any(|node| node.parent.as_deref() == Some(id)) {
            return Err(Error::HasChildren { id: id.to_owned() });
        }
        state.organizations.remove(id);
        state.organization_keys.retain(|organization| organization != id);
        state.withdraw_from_all(&Grant::Organization(id.to_owned()));
        Ok(())
    }

    fn organizations(&self) -> Result<Vec<Organization>, Error> {
        let organization = |(id, node): (&String, &OrganizationNode)| Organization {
            id: id.clone(),
            parent: node.parent.clone(),
            umbrella: node.umbrella,
        };
        Ok(self.read().organizations.iter().map(organization).collect())
    }

    fn add_account(&self, key: &str) -> Result<(), Error> {
        check_id(Entity::Account, key)?;
        let added = self.write().accounts.insert(key.to_owned());
        added.then_some(()).ok_or_else(|| Error::duplicate(Entity::Account, key))
    }

    fn remove_account(&self, key: &str) -> Result<(), Error> {
        let mut state = self.write();
        if !state.accounts.remove(key) {
            return Err(Error::unknown(Entity::Account, key));
        }
        for node in state.organizations.values_mut() {
            node.accounts.remove(key);
        }
        state.withdraw_from_all(&Grant::Account(key.to_owned()));
        Ok(())
    }

    fn accounts(&self) -> Result<Vec<String>, Error> {
        Ok(self.read().accounts.iter().cloned().collect())
    }

    fn place_account(&self, account: &str, organization: &str) -> Result<(), Error> {
        let mut state = self.write();
        state.account(account)?;
        let added = state.organization_mut(organization)?.accounts.insert(account.to_owned());
        added
            .then_some(())
            .ok_or_else(|| Error::AlreadyPlaced { account: account.to_owned(), organization: organization.to_owned() })
    }

    fn displace_account(&self, account: &str, organization: &str) -> Result<(), Error> {
        let mut state = self.write();
        state.account(account)?;
        let removed = state.organization_mut(organization)?.accounts.remove(account);
        removed
            .then_some(())
            .ok_or_else(|| Error::NotPlaced { account: account.to_owned(), organization: organization.to_owned() })
    }

    fn accounts_under(&self, organization: &str) -> Result<Vec<String>, Error> {
        Ok(self.read().organization(organization)?.accounts.iter().cloned().collect())
    }
}

/// Returns whether `id` is `top` or below it. The walk ends, because this check prevents cycles.
fn is_at_or_below(state: &DirectoryState, id: &str, top: &str) -> bool {
    let parent = |id: &&str| state.organizations.get(*id).and_then(|node| node.parent.as_deref());
    std::iter::successors(Some(id), parent).any(|ancestor| ancestor == top)
}
