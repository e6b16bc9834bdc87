//! Users in the file.

use super::SqliteDirectory;
use super::statements::{all, check_changed, check_known, execute};
use crate::directory::Users;
use crate::error::{Entity, Error};
use crate::model::{Grant, User};
use crate::rules::check_id;

impl Users for SqliteDirectory {
    fn add_user(&self, login: &str) -> Result<(), Error> {
        check_id(Entity::User, login)?;
        self.change(|transaction| {
            let sql = "INSERT INTO users (login, active) VALUES (?1, TRUE) ON CONFLICT DO NOTHING";
            let rows = execute(transaction, sql, [login])?;
            check_changed(rows, || Error::duplicate(Entity::User, login))
        })
    }

    fn set_active(&self, login: &str, active: bool) -> Result<(), Error> {
        self.change(|transaction| {
            let rows = execute(transaction, "UPDATE users SET active = ?2 WHERE login = ?1", (login, active))?;
            check_changed(rows, || Error::unknown(Entity::User, login))
        })
    }

    fn remove_user(&self, login: &str) -> Result<(), Error> {
        self.change(|transaction| {
            let rows = execute(transaction, "DELETE FROM users WHERE login = ?1", [login])?;
            check_changed(rows, || Error::unknown(Entity::User, login))
        })
    }

    fn users(&self) -> Result<Vec<User>, Error> {
        self.read(|transaction| {
            let sql = "SELECT login, active FROM users ORDER BY login";
            all(transaction, sql, [], |row| Ok(User { login: row.get(0)?, active: row.get(1)? }))
        })
    }

    fn grant(&self, user: &str, grant: &Grant) -> Result<(), Error> {
        self.change(|transaction| {
            check_known(transaction, Entity::User, user)?;
            let (entity, sql, id) = match grant {
                Grant::Organization(id) => (
                    Entity::Organization,
                    "INSERT INTO organization_grants (user, organization) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                    id,
                ),
                Grant::Account(key) => (
                    Entity::Account,
                    "INSERT INTO account_grants (user, account) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                    key,
                ),
            };
            check_known(transaction, entity, id)?;
            let rows = execute(transaction, sql, (user, id))?;
            check_changed(rows, || Error::AlreadyGranted { user: user.to_owned(), grant: grant.clone() })
        })
    }

    fn withdraw(&self, user: &str, grant: &Grant) -> Result<(), Error> {
        self.change(|transaction| {
            check_known(transaction, Entity::User, user)?;
            let (sql, id) = match grant {
                Grant::Organization(id) => {
                    ("DELETE FROM organization_grants WHERE user = ?1 AND organization = ?2", id)
                }
                Grant::Account(key) => ("DELETE FROM account_grants WHERE user = ?1 AND account = ?2", key),
            };
            let rows = execute(transaction, sql, (user, id))?;
            check_changed(rows, || Error::NotGranted { user: user.to_owned(), grant: grant.clone() })
        })
    }

    fn grants(&self, user: &str) -> Result<Vec<Grant>, Error> {
        self.read(|transaction| {
            check_known(transaction, Entity::User, user)?;
            let sql = "SELECT organization FROM organization_grants WHERE user = ?1 ORDER BY organization";
            let mut grants = all(transaction, sql, [user], |row| row.get(0).map(Grant::Organization))?;
            let sql = "SELECT account FROM account_grants WHERE user = ?1 ORDER BY account";
            grants.extend(all(transaction, sql, [user], |row| row.get(0).map(Grant::Account))?);
            Ok(grants)
        })
    }
}
