//! What a dataset consists of, as written beside it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the layout that this crate writes and reads.
pub const SCHEMA_VERSION: u32 = 1;

/// The column of an event file that numbers its customers, from 0, in file order; no field.
pub const CUSTOMER_COLUMN: &str = "trueup.customer";

/// One committed state of a dataset. Files are immutable; a later state is a later manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Manifest {
    /// The layout; see [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The number of this state, from 1.
    pub version: u64,
    /// The program that wrote it.
    pub created_by: String,
    /// Event files. A row group holds whole customers, all of one [`Period`](crate::model::Period), sorted by account, start date of the
    /// customer, customer, and the customer's own order; a customer lies in one row group of one file.
    pub events: Vec<DataFile>,
    /// Spend files, sorted by calendar quarter, account and date.
    pub spend: Vec<DataFile>,
    /// Files of accounts; at most one.
    pub accounts: Vec<DataFile>,
    /// Insight documents, one JSON object per line, sorted by account and date; at most one.
    pub insights: Vec<DataFile>,
    /// What the state was made from, oldest first.
    pub batches: Vec<Batch>,
}

/// One immutable file of a dataset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DataFile {
    /// The path below the dataset's folder, with `/`.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// Rows, or lines.
    pub rows: u64,
    /// SHA-256 of the bytes, in lower-case hex.
    pub sha256: String,
    /// The checksums of the file's blocks; see [`BlockSums`](super::BlockSums).
    pub blocks: String,
}

/// One ingest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Batch {
    /// The manifest version that it made.
    pub version: u64,
    /// For each table that it touched (`events`, `spend`, `accounts`, `insights`), where its rows came from.
    pub tables: BTreeMap<String, BatchTable>,
}

/// What one ingest brought to one table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BatchTable {
    /// A checksum of all its inputs, whatever their order.
    pub checksum: String,
    /// The names of the inputs, without folders.
    pub inputs: Vec<String>,
    /// Rows taken.
    pub rows: u64,
    /// Rows refused and set aside.
    pub rejected: u64,
}
