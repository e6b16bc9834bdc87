//! Users, keys and sessions in the tables.

use super::connection::{SqliteFault, all, by_hash, check_changed, check_known, execute};
use super::tables::Tables;
use crate::directory::{Keys, Users, check_id};
use crate::error::{Entity, Error};
use crate::model::{Grant, IssuedKey, KeyEntry, KeyId, User};
use crate::secret::SecretKey;
use crate::time::UnixTime;
use rusqlite::Transaction;

impl<T: Tables> Users for T {
    fn add_user(&self, user: &str) -> Result<(), Error> {
        check_id(Entity::User, user)?;
        self.change(|transaction| {
            let sql = "INSERT INTO users (login, active) VALUES (?1, TRUE) ON CONFLICT DO NOTHING";
            let rows = execute(transaction, sql, [user])?;
            check_changed(rows, || Error::duplicate(Entity::User, user))
        })
    }

    fn set_active(&self, user: &str, active: bool) -> Result<(), Error> {
        self.change(|transaction| {
            let rows = execute(transaction, "UPDATE users SET active = ?2 WHERE login = ?1", (user, active))?;
            check_changed(rows, || Error::unknown(Entity::User, user))
        })
    }

    fn remove_user(&self, user: &str) -> Result<(), Error> {
        self.change(|transaction| {
            let rows = execute(transaction, "DELETE FROM users WHERE login = ?1", [user])?;
            check_changed(rows, || Error::unknown(Entity::User, user))
        })
    }

    fn users(&self) -> Result<Vec<User>, Error> {
        self.read(|transaction| {
            let sql = "SELECT login, active FROM users ORDER BY login";
            all(transaction, sql, [], |row| Ok(User { name: row.get(0)?, active: row.get(1)? }))
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

impl<T: Tables> Keys for T {
    fn create_key(&self, user: &str, now: UnixTime) -> Result<IssuedKey, Error> {
        let secret = SecretKey::issue_key(&self.settings().key_prefix)?;
        self.change(|transaction| {
            check_known(transaction, Entity::User, user)?;
            insert_key(transaction, user, &secret, now)
        })
    }

    fn rotate_key(&self, user: &str, key: KeyId, now: UnixTime) -> Result<IssuedKey, Error> {
        let secret = SecretKey::issue_key(&self.settings().key_prefix)?;
        self.change(|transaction| {
            revoke(transaction, user, key, now)?;
            insert_key(transaction, user, &secret, now)
        })
    }

    fn delete_key(&self, user: &str, key: KeyId, now: UnixTime) -> Result<(), Error> {
        self.change(|transaction| revoke(transaction, user, key, now))
    }

    fn keys(&self, user: &str) -> Result<Vec<KeyEntry>, Error> {
        self.read(|transaction| {
            check_known(transaction, Entity::User, user)?;
            let sql = "SELECT id, created FROM user_keys WHERE user = ?1 AND revoked IS NULL ORDER BY id";
            all(transaction, sql, [user], |row| {
                Ok(KeyEntry { id: KeyId(row.get(0)?), created: UnixTime::from_seconds(row.get(1)?) })
            })
        })
    }

    fn retire_organization_key(&self, organization: &str, key: &SecretKey) -> Result<(), Error> {
        let hash = key.hash();
        self.change(|transaction| {
            check_known(transaction, Entity::Organization, organization)?;
            let sql = "SELECT hash FROM user_keys WHERE locator = ?1
                UNION ALL SELECT hash FROM organization_keys WHERE locator = ?1";
            if key.is_empty() || by_hash(transaction, sql, &hash, |_| Ok(()))?.is_some() {
                return Err(Error::KeyTaken(organization.to_owned()).into());
            }
            let sql = "INSERT INTO organization_keys (organization, locator, hash) VALUES (?1, ?2, ?3)";
            execute(transaction, sql, (organization, hash.locator(), hash.as_bytes())).map(drop)
        })
    }

    fn open_session(&self, user: &str, now: UnixTime, expires: UnixTime) -> Result<SecretKey, Error> {
        let token = SecretKey::issue_token()?;
        let hash = token.hash();
        self.change(|transaction| {
            check_known(transaction, Entity::User, user)?;
            execute(transaction, "DELETE FROM sessions WHERE expires <= ?1", [now.seconds()])?;
            let sql = "INSERT INTO sessions (user, locator, hash, expires) VALUES (?1, ?2, ?3, ?4)";
            execute(transaction, sql, (user, hash.locator(), hash.as_bytes(), expires.seconds()))
        })?;
        Ok(token)
    }

    fn close_session(&self, token: &SecretKey) -> Result<(), Error> {
        let hash = token.hash();
        self.change(|transaction| {
            let sql = "SELECT hash, id FROM sessions WHERE locator = ?1";
            let id: Option<i64> = by_hash(transaction, sql, &hash, |row| row.get(1))?;
            execute(transaction, "DELETE FROM sessions WHERE id = ?1", [id]).map(drop)
        })
    }
}

fn insert_key(
    transaction: &Transaction<'_>,
    user: &str,
    secret: &SecretKey,
    now: UnixTime,
) -> Result<IssuedKey, SqliteFault> {
    let hash = secret.hash();
    let sql = "INSERT INTO user_keys (user, locator, hash, created) VALUES (?1, ?2, ?3, ?4)";
    execute(transaction, sql, (user, hash.locator(), hash.as_bytes(), now.seconds()))?;
    Ok(IssuedKey { id: KeyId(transaction.last_insert_rowid()), secret: secret.clone() })
}

fn revoke(transaction: &Transaction<'_>, user: &str, key: KeyId, now: UnixTime) -> Result<(), SqliteFault> {
    check_known(transaction, Entity::User, user)?;
    let sql = "UPDATE user_keys SET revoked = ?3 WHERE id = ?2 AND user = ?1 AND revoked IS NULL";
    let rows = execute(transaction, sql, (user, key.0, now.seconds()))?;
    check_changed(rows, || Error::UnknownKey { user: user.to_owned(), key })
}
