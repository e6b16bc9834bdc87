//! Authentication, reach and counts in the tables.

use super::connection::{SqliteFault, all, by_hash, check_known, execute};
use super::tables::Tables;
use crate::directory::Requests;
use crate::error::{Entity, Error};
use crate::login::{Hourly, Login, Refusal};
use crate::model::Organization;
use crate::scope::{GrantedRows, LoginScope};
use crate::secret::{KeyHash, SecretKey};
use crate::time::UnixTime;
use rusqlite::{OptionalExtension as _, Transaction};

/// Selects from the organizations at and below a user's grants, each once.
///
/// `CROSS JOIN` makes SQLite join in the order written, so the time depends on what the user reaches, and not on the
/// size of the directory.
macro_rules! below {
    ($select:literal) => {
        concat!(
            "WITH RECURSIVE below (id) AS (
                SELECT organization FROM organization_grants WHERE user = ?1
                UNION
                SELECT organizations.id FROM below CROSS JOIN organizations ON organizations.parent = below.id
            ) ",
            $select
        )
    };
}

impl<T: Tables> Requests for T {
    fn authenticate(&self, key: Option<&SecretKey>) -> Result<Result<Login, Refusal>, Error> {
        let Some(hash) = hash(key) else { return Ok(Err(Refusal::Missing)) };
        self.read(|transaction| {
            let sql = "SELECT hash, login, active, revoked IS NOT NULL
                FROM user_keys JOIN users ON users.login = user_keys.user WHERE locator = ?1";
            let found = by_hash(transaction, sql, &hash, |row| Ok((row.get(1)?, row.get(2)?, row.get(3)?)))?;
            if let Some((user, active, revoked)) = found {
                return Ok(if revoked { Err(Refusal::Revoked(user)) } else { login(user, active) });
            }
            let sql = "SELECT hash, organization FROM organization_keys WHERE locator = ?1";
            let organization = by_hash(transaction, sql, &hash, |row| row.get(1))?;
            Ok(Err(organization.map_or(Refusal::Unknown, Refusal::OrganizationKey)))
        })
    }

    fn session(&self, token: Option<&SecretKey>, now: UnixTime) -> Result<Result<Login, Refusal>, Error> {
        let Some(hash) = hash(token) else { return Ok(Err(Refusal::Missing)) };
        self.read(|transaction| {
            let sql = "SELECT hash, login, active, expires
                FROM sessions JOIN users ON users.login = sessions.user WHERE locator = ?1";
            let found = by_hash(transaction, sql, &hash, |row| Ok((row.get(1)?, row.get(2)?, row.get(3)?)))?;
            Ok(match found {
                None => Err(Refusal::Unknown),
                Some((user, _, expires)) if UnixTime::from_seconds(expires) <= now => Err(Refusal::Expired(user)),
                Some((user, active, _)) => login(user, active),
            })
        })
    }

    fn login(&self, user: &str) -> Result<Result<Login, Refusal>, Error> {
        self.read(|transaction| {
            let mut statement = transaction.prepare_cached("SELECT active FROM users WHERE login = ?1")?;
            let active = statement.query_row([user], |row| row.get(0)).optional()?;
            Ok(active.map_or(Err(Refusal::Unknown), |active| login(user.to_owned(), active)))
        })
    }

    fn reach(&self, login: &Login) -> Result<LoginScope, Error> {
        let rows = self.read(|transaction| granted_rows(transaction, login.user()))?;
        Ok(LoginScope::assemble(&rows))
    }

    fn count(&self, login: &Login, now: UnixTime) -> Result<Hourly, Error> {
        let (user, hour, limit) = (login.user(), now.hour(), self.settings().hourly_limit);
        // The hour before stays, because another thread or process may have read the clock a moment earlier.
        let oldest = hour - 1;
        self.change_counts(|transaction| {
            check_known(transaction, Entity::User, user)?;
            execute(transaction, "DELETE FROM hourly_counts WHERE user = ?1 AND hour < ?2", (user, oldest))?;
            let sql = "INSERT INTO hourly_counts (user, hour, requests) SELECT ?1, ?2, 1 WHERE ?3 > 0
                ON CONFLICT (user, hour) DO UPDATE SET requests = requests + 1 WHERE requests < ?3";
            Ok(match execute(transaction, sql, (user, hour, limit))? {
                0 => Hourly::Limited(now.until_next_hour()),
                _ => Hourly::Allowed,
            })
        })
    }

    fn remaining(&self, login: &Login, now: UnixTime) -> Result<u32, Error> {
        let counted: Option<u32> = self.read(|transaction| {
            let sql = "SELECT requests FROM hourly_counts WHERE user = ?1 AND hour = ?2";
            let mut statement = transaction.prepare_cached(sql)?;
            Ok(statement.query_row((login.user(), now.hour()), |row| row.get(0)).optional()?)
        })?;
        Ok(self.settings().hourly_limit.saturating_sub(counted.unwrap_or_default()))
    }
}

/// Returns the hash by which a key or token is looked up; `None` if there is no key or token, or an empty one.
fn hash(secret: Option<&SecretKey>) -> Option<KeyHash> {
    secret.filter(|secret| !secret.is_empty()).map(SecretKey::hash)
}

/// Returns the login of a known user.
fn login(user: String, active: bool) -> Result<Login, Refusal> {
    if active { Ok(Login::new(&user)) } else { Err(Refusal::Inactive(user)) }
}

/// Collects what is at and below the grants of a user.
fn granted_rows(transaction: &Transaction<'_>, user: &str) -> Result<GrantedRows, SqliteFault> {
    let organizations = below!("SELECT id, parent, umbrella FROM below CROSS JOIN organizations USING (id)");
    let placements = below!("SELECT organization, account FROM below CROSS JOIN placements ON organization = id");
    Ok(GrantedRows {
        organizations: all(transaction, organizations, [user], |row| {
            Ok(Organization { id: row.get(0)?, parent: row.get(1)?, umbrella: row.get(2)? })
        })?,
        placements: all(transaction, placements, [user], |row| Ok((row.get(0)?, row.get(1)?)))?,
        accounts: all(transaction, "SELECT account FROM account_grants WHERE user = ?1", [user], |row| row.get(0))?,
    })
}
