//! Where the tables of a directory are. Each directory with tables implements [`Directory`](crate::Directory), by the
//! same statements.

use super::connection::SqliteFault;
use crate::error::Error;
use crate::settings::DirectorySettings;
use rusqlite::Transaction;

/// The tables of a directory, in a file or in memory.
pub(crate) trait Tables {
    fn settings(&self) -> &DirectorySettings;

    /// Reads in one transaction, which sees the last state that was committed before it began.
    fn read<T>(&self, read: impl Fn(&Transaction<'_>) -> Result<T, SqliteFault>) -> Result<T, Error>;

    /// Changes the tables in one transaction.
    fn change<T>(&self, change: impl Fn(&Transaction<'_>) -> Result<T, SqliteFault>) -> Result<T, Error>;

    /// Changes hourly counts in one transaction. A loss of power may undo the last ones.
    fn change_counts<T>(&self, change: impl Fn(&Transaction<'_>) -> Result<T, SqliteFault>) -> Result<T, Error> {
        self.change(change)
    }
}
