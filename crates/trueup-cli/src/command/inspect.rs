//! `trueup inspect`: what a dataset holds.

use crate::exit::Failure;
use crate::output::terminal::printable;
use crate::output::{OutputWriter, number};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use trueup_core::Dataset;
use trueup_core::dataset::manifest::{Batch, DataFile, Manifest};

/// Show what a dataset holds
///
/// Its version, tables and their sizes, accounts, dates, the columns that can be grouped and filtered by, and what was ingested.
#[derive(Debug, clap::Args)]
pub(crate) struct InspectCommand {
    /// The folder of the dataset
    dataset: PathBuf,

    /// Show an earlier version of the dataset
    #[arg(long, value_name = "VERSION")]
    as_of: Option<u64>,
}

impl InspectCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        let dataset = match self.as_of {
            Some(version) => Dataset::open_version(&self.dataset, version)?,
            None => Dataset::open(&self.dataset)?,
        };
        let text = describe(&dataset)?;
        let mut sink = OutputWriter::stdout();
        let written = sink.write_all(text.as_bytes()).map_err(Failure::fault);
        sink.finish(written)
    }
}

fn describe(dataset: &Dataset) -> Result<String, Failure> {
    let mut lines: Vec<(&str, String)> = Vec::new();
    let manifest = dataset.manifest();
    if let Some(manifest) = manifest {
        let Manifest { version, schema_version, created_by, events, spend, insights, .. } = manifest;
        lines.push(("version", format!("{version}, layout {schema_version}, written by {created_by}")));
        let parts = number::counted(dataset.event_parts() as u64, "row group");
        lines.push(("events", format!("{}, {parts}", stored(events))));
        lines.push(("spend", stored(spend)));
        lines.push(("insights", stored(insights)));
    }
    let keys = dataset.account_keys().map_err(trueup_core::Error::from)?;
    lines.push(("accounts", accounts(&keys, dataset)));
    let dates = dataset.date_range().map(|range| format!("{} to {}", range.start, range.end));
    lines.push(("dates", dates.unwrap_or_else(|| "none".to_owned())));
    lines.push(("columns", listed(dataset.columns().iter().map(String::as_str))));
    for batch in manifest.into_iter().flat_map(|manifest| &manifest.batches) {
        lines.push(("ingested", ingested(batch)));
    }
    // A name may hold anything; it must not break the line.
    Ok(lines.into_iter().map(|(name, value)| format!("{name:10} {}\n", printable(&value))).collect())
}

/// How many accounts there are, and the first of them by key, each with its name if that is another.
fn accounts(keys: &BTreeSet<String>, dataset: &Dataset) -> String {
    const SHOWN: usize = 20;
    let count = number::grouped(&keys.len().to_string());
    if keys.is_empty() {
        return count;
    }
    let shown = keys.iter().take(SHOWN).map(|key| match dataset.accounts().get(key) {
        Some(account) if account.name != *key => format!("{key} ({})", account.name),
        _ => key.clone(),
    });
    let more = match keys.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {} more", number::grouped(&more.to_string())),
    };
    format!("{count}: {}{more}", shown.collect::<Vec<_>>().join(", "))
}

fn stored(files: &[DataFile]) -> String {
    if files.is_empty() {
        return "none".to_owned();
    }
    let rows: u64 = files.iter().map(|file| file.rows).sum();
    let size: u64 = files.iter().map(|file| file.size).sum();
    let (files, size) = (number::counted(files.len() as u64, "file"), number::bytes(size));
    format!("{}, {files}, {size}", number::counted(rows, "row"))
}

fn ingested(batch: &Batch) -> String {
    let tables = batch.tables.iter().map(|(name, table)| {
        let rows = number::grouped(&table.rows.to_string());
        let rejected = match table.rejected {
            0 => String::new(),
            rejected => format!(", {} rejected", number::grouped(&rejected.to_string())),
        };
        format!("{rows} of {name} from {}{rejected}", listed(table.inputs.iter().map(String::as_str)))
    });
    format!("version {}: {}", batch.version, tables.collect::<Vec<_>>().join("; "))
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
