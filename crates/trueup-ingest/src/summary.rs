//! What an ingest did.

/// What an ingest did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IngestSummary {
    /// The version of the dataset that holds the result.
    pub version: u64,
    /// Whether the ingest made that version; false if all its inputs were ingested before. The dataset then holds what they would
    /// bring, unless a warning says otherwise: events that were corrected since are not brought back.
    pub changed: bool,
    /// Events.
    pub events: RowCounts,
    /// Spend rows.
    pub spend: RowCounts,
    /// Accounts.
    pub accounts: RowCounts,
    /// Insight documents.
    pub insights: RowCounts,
    /// What the caller should know although it stopped nothing, such as columns that are ignored, or inputs that were
    /// ingested before.
    pub warnings: Vec<String>,
}

/// Rows of one table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowCounts {
    /// Rows read from the inputs and taken.
    pub taken: u64,
    /// Rows, stored before or met earlier in the inputs, that rows taken have replaced.
    pub replaced: u64,
    /// Rows refused and written to the rejects file.
    pub rejected: u64,
}
