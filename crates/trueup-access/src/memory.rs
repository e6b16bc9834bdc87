//! A directory in memory: the tables of a directory in a file, in a SQLite database without one.

use crate::error::Error;
use crate::settings::DirectorySettings;
use crate::sqlite::connection::{SqliteFault, configure};
use crate::sqlite::create::create_tables;
use crate::sqlite::tables::Tables;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// A [`Directory`](crate::Directory) in memory: for tests, and for services that keep users and keys elsewhere.
///
/// It begins empty and ends with the process, so such a service adds its users and grants when it starts. It is shared
/// between threads, not between processes.
///
/// ```
/// use trueup_access::{DirectorySettings, MemoryDirectory, Users as _};
///
/// let directory = MemoryDirectory::new(DirectorySettings::default())?;
/// directory.add_user("anna")?;
/// # Ok::<(), trueup_access::Error>(())
/// ```
pub struct MemoryDirectory {
    settings: DirectorySettings,
    connection: Mutex<Connection>,
}

/// What errors name in place of a file.
const PLACE: &str = "a directory in memory";

impl MemoryDirectory {
    /// Returns an empty directory.
    ///
    /// # Errors
    /// [`Error::Storage`] if there is no memory for it.
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, MemoryDirectory};
    /// let directory = MemoryDirectory::new(DirectorySettings::default())?;
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    pub fn new(settings: DirectorySettings) -> Result<Self, Error> {
        let open = || {
            let mut connection = Connection::open_in_memory()?;
            configure(&connection)?;
            create_tables(&mut connection, Path::new(PLACE))?;
            Ok(connection)
        };
        let connection = open().map_err(|fault: SqliteFault| fault.at(Path::new(PLACE)))?;
        Ok(Self { settings, connection: Mutex::new(connection) })
    }
}

impl Tables for MemoryDirectory {
    fn settings(&self) -> &DirectorySettings {
        &self.settings
    }

    fn read<T>(&self, read: impl Fn(&Transaction<'_>) -> Result<T, SqliteFault>) -> Result<T, Error> {
        // A poisoned lock is ignored: a panic rolls back the transaction, and the connection stays usable.
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let act = || {
            let transaction = Transaction::new_unchecked(&connection, TransactionBehavior::Immediate)?;
            let result = read(&transaction)?;
            transaction.commit()?;
            Ok(result)
        };
        act().map_err(|fault: SqliteFault| fault.at(Path::new(PLACE)))
    }

    fn change<T>(&self, change: impl Fn(&Transaction<'_>) -> Result<T, SqliteFault>) -> Result<T, Error> {
        self.read(change)
    }
}

impl std::fmt::Debug for MemoryDirectory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryDirectory").field("settings", &self.settings).finish_non_exhaustive()
    }
}
