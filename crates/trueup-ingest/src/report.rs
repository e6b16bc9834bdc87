//! What an ingest and a compaction report: their summaries, and columns that an ingest ignores.

use crate::error::InputLocation;
use crate::source::file_name;
use crate::table::Table;
use crate::{FileCount, Input, RejectedRows};
use std::collections::BTreeMap;
use std::path::PathBuf;
use trueup_core::dataset::{InputProtocol, TableProtocol};
use trueup_core::model::is_own_column;
use trueup_core::{Shown, dictionary};

/// The result of an ingest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IngestSummary {
    /// The version of the dataset that holds the result: a new one, or the newest if nothing changed.
    pub version: u64,
    /// Whether the ingest made that version. False if it had nothing but events that were ingested before in the same
    /// way, of which some have no `eventId`. Events that were corrected since are not brought back.
    pub changed: bool,
    /// Rows of events.
    pub events: RowCounts,
    /// Rows of spend.
    pub spend: RowCounts,
    /// What was removed with its source; `None` unless the ingest [replaces](crate::Ingest::replace_source) one.
    pub removed: Option<RemovedSource>,
    /// Accounts.
    pub accounts: RowCounts,
    /// Insight documents.
    pub insights: RowCounts,
    /// Targets.
    pub targets: RowCounts,
    /// The lines of the files of a mapping that are no rows, of each file that has such lines.
    pub left_out: Vec<LeftOutRows>,
    /// The first [`NotNormalValue::MAX`] values that `normalize` of a mapping left as they are, in the order of files
    /// and rows. The counts of each table say how many there are.
    pub not_normal: Vec<NotNormalValue>,
    /// The rows that broke a rule, by rule. They are in the rejects file.
    pub rejected: RejectedRows,
    /// What was merged after the new version was complete, in a version after it; `None` if nothing was.
    pub compacted: Option<CompactSummary>,
    /// What became of each row of the inputs, by table (`events`, `spend`, `accounts`, `insights`, `targets`), with
    /// control totals. It is kept with the version: [`Batch::protocol`](trueup_core::dataset::Batch::protocol).
    pub protocol: BTreeMap<String, TableProtocol>,
    /// Messages about what did not stop the ingest, such as ignored columns or inputs that were ingested before.
    pub warnings: Vec<String>,
}

impl IngestSummary {
    /// Sets what became of the rows of a table.
    pub(crate) fn set(&mut self, table: Table, protocol: TableProtocol) {
        let counts = match table {
            Table::Events => &mut self.events,
            Table::Spend => &mut self.spend,
            Table::Accounts => &mut self.accounts,
            Table::Insights => &mut self.insights,
            Table::Targets => &mut self.targets,
        };
        *counts = RowCounts::from(&protocol);
        if let Some(removed) = &mut self.removed {
            match table {
                Table::Events => removed.events = protocol.removed.rows,
                Table::Spend => removed.spend = protocol.removed.rows,
                Table::Accounts | Table::Insights | Table::Targets => {}
            }
        }
        self.protocol.insert(table.name().to_owned(), protocol);
    }

    /// Returns the counts of a table.
    pub(crate) fn counts(&self, table: Table) -> RowCounts {
        self.protocol.get(table.name()).map(RowCounts::from).unwrap_or_default()
    }

    /// Adds warnings.
    pub(crate) fn with_warnings(mut self, warnings: Vec<String>) -> Self {
        self.warnings.extend(warnings);
        self
    }
}

/// The lines of a file that a mapping left out, because they are no rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOutRows {
    /// The file as it was given.
    pub file: PathBuf,
    /// The lines before the header, without blank ones.
    pub title_lines: u64,
    /// The lines without a value; of a sheet, those between its rows.
    pub blank_lines: u64,
    /// The rows with fewer cells than the header, if the mapping has `short_rows = "skip"`.
    pub short_rows: u64,
}

/// A value that `normalize` of a mapping left as it is, because it is no phone number or no address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotNormalValue {
    /// The file as it was given.
    pub file: PathBuf,
    /// The location of its row.
    pub location: InputLocation,
    /// The column of the file.
    pub column: String,
    /// The value as the file has it.
    pub value: String,
}

impl NotNormalValue {
    /// The most values that the summary of an ingest has.
    pub const MAX: usize = 3;
}

/// What an ingest removed of the source that it [replaces](crate::Ingest::replace_source).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemovedSource {
    /// The source; empty for none.
    pub source: String,
    /// The number of stored events that were removed.
    pub events: u64,
    /// The number of stored rows of spend that were removed.
    pub spend: u64,
}

impl RemovedSource {
    /// Returns the note on a source of which nothing was stored.
    pub(crate) fn note(&self) -> Option<String> {
        let is_none = self.events == 0 && self.spend == 0;
        is_none.then(|| match self.source.as_str() {
            "" => "no stored event and no stored spend is without a source; nothing was removed".to_owned(),
            source => {
                format!("no stored event and no stored spend has the source `{}`; nothing was removed", Shown(source))
            }
        })
    }
}

/// What a compaction has merged. `docs/command-line.md` documents it as JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct CompactSummary {
    /// The newest version, which holds the result.
    pub version: u64,
    /// The files that were merged, which the version does not have any more; none if nothing was to be done.
    pub merged: FileCount,
    /// The files that took their place.
    pub written: FileCount,
    /// The superseded rows that were left out.
    #[serde(rename = "supersededRows")]
    pub superseded: u64,
}

impl CompactSummary {
    /// Adds a later merge.
    pub(crate) fn add(&mut self, later: Self) {
        self.version = later.version;
        self.merged.add(later.merged);
        self.written.add(later.written);
        self.superseded += later.superseded;
    }
}

/// Rows of one table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowCounts {
    /// Rows of the inputs that keep the rules. A later row of the inputs may replace some of them.
    pub taken: u64,
    /// Rows that were replaced: rows of the previous version and, for events, insights and targets, also earlier rows
    /// of the inputs.
    pub replaced: u64,
    /// Rows that broke a rule and are in the rejects file.
    pub rejected: u64,
    /// Events that were left out because their customers are [forgotten](crate::Forget).
    pub forgotten: u64,
    /// Values that the key `normalize` of a mapping leaves as they are, because they are no phone numbers or no
    /// addresses of mail.
    pub not_normal: u64,
}

impl From<&TableProtocol> for RowCounts {
    fn from(protocol: &TableProtocol) -> Self {
        let forgotten = protocol.inputs.iter().filter_map(|input| input.left_out.get(OF_FORGOTTEN));
        Self {
            taken: protocol.taken().rows,
            replaced: protocol.all_replaced().rows,
            rejected: protocol.rejected().rows,
            forgotten: forgotten.map(|totals| totals.rows).sum(),
            not_normal: protocol.inputs.iter().map(|input| input.not_normal).sum(),
        }
    }
}

/// What leaves out events of forgotten customers, in protocols.
pub(crate) const OF_FORGOTTEN: &str = "forgotten customer";

/// Returns the protocols of inputs, of which nothing was read yet.
pub(crate) fn protocols_of(inputs: &[&Input]) -> Vec<InputProtocol> {
    let protocol = |input: &&Input| InputProtocol {
        input: file_name(&input.shown),
        mapped_by: input.mapper.as_ref().map(|mapper| mapper.table()),
        ..InputProtocol::default()
    };
    inputs.iter().map(protocol).collect()
}

/// A column of an input that is not stored, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IgnoredColumn {
    column: String,
    why: String,
}

impl IgnoredColumn {
    /// Explains why a column of events is ignored: it has the name of a metric, or of a dimension that is computed.
    /// Returns `None` for a column that trueup itself writes to event files.
    pub(crate) fn of_events(column: &str) -> Option<Self> {
        if is_own_column(column) {
            return None;
        }
        let why = match dictionary::metric(column) {
            Some(_) => "it has the name of a metric",
            None => "trueup computes its values",
        };
        Some(Self { column: column.to_owned(), why: why.to_owned() })
    }

    /// Returns the given columns that the table does not have.
    pub(crate) fn unknown<'c>(columns: impl Iterator<Item = &'c str>, table: Table) -> Vec<Self> {
        let Some(known) = table.columns() else { return Vec::new() };
        let names: Vec<String> = known.iter().map(|column| format!("`{column}`")).collect();
        let names = names.join(", ");
        let unknown = columns.filter(|column| !known.contains(column)).map(|column| {
            let why = format!("the {} table has no column `{}`; it has {names}", table.name(), Shown(column));
            Self { column: column.to_owned(), why }
        });
        unknown.collect()
    }

    /// Returns the warning for the user.
    pub(crate) fn warning(&self, input: &Input) -> String {
        format!("`{}`: column `{}` is ignored: {}", input.declared_by().display(), Shown(&self.column), self.why)
    }
}
