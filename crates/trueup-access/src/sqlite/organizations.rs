//! Organizations and accounts in the tables.

use super::connection::{all, check_changed, check_known, execute, exists};
use super::tables::Tables;
use crate::directory::{Organizations, check_id};
use crate::error::{Entity, Error};
use crate::model::Organization;

impl<T: Tables> Organizations for T {
    fn add_organization(&self, organization: &Organization) -> Result<(), Error> {
        let Organization { id, parent, umbrella } = organization;
        check_id(Entity::Organization, id)?;
        self.change(|transaction| {
            if exists(transaction, "SELECT 1 FROM organizations WHERE id = ?1", [id])? {
                return Err(Error::duplicate(Entity::Organization, id).into());
            }
            if let Some(parent) = parent {
                if id == parent {
                    return Err(Error::Cycle { organization: id.clone(), parent: parent.clone() }.into());
                }
                check_known(transaction, Entity::Organization, parent)?;
            }
            let sql = "INSERT INTO organizations (id, parent, umbrella) VALUES (?1, ?2, ?3)";
            execute(transaction, sql, (id, parent, umbrella)).map(drop)
        })
    }

    fn move_organization(&self, id: &str, parent: Option<&str>) -> Result<(), Error> {
        self.change(|transaction| {
            check_known(transaction, Entity::Organization, id)?;
            if let Some(parent) = parent {
                check_known(transaction, Entity::Organization, parent)?;
                let ancestors = "WITH RECURSIVE ancestors (id) AS (
                        SELECT ?2
                        UNION
                        SELECT parent FROM organizations JOIN ancestors USING (id) WHERE parent IS NOT NULL
                    )
                    SELECT 1 FROM ancestors WHERE id = ?1";
                if exists(transaction, ancestors, (id, parent))? {
                    return Err(Error::Cycle { organization: id.to_owned(), parent: parent.to_owned() }.into());
                }
            }
            execute(transaction, "UPDATE organizations SET parent = ?2 WHERE id = ?1", (id, parent)).map(drop)
        })
    }

    fn set_umbrella(&self, id: &str, umbrella: bool) -> Result<(), Error> {
        self.change(|transaction| {
            let sql = "UPDATE organizations SET umbrella = ?2 WHERE id = ?1";
            let rows = execute(transaction, sql, (id, umbrella))?;
            check_changed(rows, || Error::unknown(Entity::Organization, id))
        })
    }

    fn remove_organization(&self, id: &str) -> Result<(), Error> {
        self.change(|transaction| {
            if exists(transaction, "SELECT 1 FROM organizations WHERE parent = ?1", [id])? {
                return Err(Error::HasChildren(id.to_owned()).into());
            }
            let rows = execute(transaction, "DELETE FROM organizations WHERE id = ?1", [id])?;
            check_changed(rows, || Error::unknown(Entity::Organization, id))
        })
    }

    fn organizations(&self) -> Result<Vec<Organization>, Error> {
        self.read(|transaction| {
            let sql = "SELECT id, parent, umbrella FROM organizations ORDER BY id";
            all(transaction, sql, [], |row| {
                Ok(Organization { id: row.get(0)?, parent: row.get(1)?, umbrella: row.get(2)? })
            })
        })
    }

    fn add_account(&self, key: &str) -> Result<(), Error> {
        check_id(Entity::Account, key)?;
        self.change(|transaction| {
            let rows = execute(transaction, "INSERT INTO accounts (key) VALUES (?1) ON CONFLICT DO NOTHING", [key])?;
            check_changed(rows, || Error::duplicate(Entity::Account, key))
        })
    }

    fn remove_account(&self, key: &str) -> Result<(), Error> {
        self.change(|transaction| {
            let rows = execute(transaction, "DELETE FROM accounts WHERE key = ?1", [key])?;
            check_changed(rows, || Error::unknown(Entity::Account, key))
        })
    }

    fn accounts(&self) -> Result<Vec<String>, Error> {
        self.read(|transaction| all(transaction, "SELECT key FROM accounts ORDER BY key", [], |row| row.get(0)))
    }

    fn place_account(&self, account: &str, organization: &str) -> Result<(), Error> {
        self.change(|transaction| {
            check_known(transaction, Entity::Account, account)?;
            check_known(transaction, Entity::Organization, organization)?;
            let sql = "INSERT INTO placements (organization, account) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
            let rows = execute(transaction, sql, (organization, account))?;
            check_changed(rows, || Error::AlreadyPlaced {
                account: account.to_owned(),
                organization: organization.to_owned(),
            })
        })
    }

    fn unplace_account(&self, account: &str, organization: &str) -> Result<(), Error> {
        self.change(|transaction| {
            check_known(transaction, Entity::Account, account)?;
            check_known(transaction, Entity::Organization, organization)?;
            let sql = "DELETE FROM placements WHERE organization = ?1 AND account = ?2";
            let rows = execute(transaction, sql, (organization, account))?;
            check_changed(rows, || Error::NotPlaced {
                account: account.to_owned(),
                organization: organization.to_owned(),
            })
        })
    }

    fn accounts_under(&self, organization: &str) -> Result<Vec<String>, Error> {
        self.read(|transaction| {
            check_known(transaction, Entity::Organization, organization)?;
            let sql = "SELECT account FROM placements WHERE organization = ?1 ORDER BY account";
            all(transaction, sql, [organization], |row| row.get(0))
        })
    }
}
