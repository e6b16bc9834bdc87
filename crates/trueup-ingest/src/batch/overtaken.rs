//! Files that are ingested again although later ingests have replaced rows of theirs: what they say is older than what
//! they now replace.

use super::repetition::files;
use crate::table::Table;
use std::collections::{BTreeMap, BTreeSet};
use trueup_core::Shown;
use trueup_core::dataset::{Batch, ControlTotals};

/// The sources of files, by their names.
pub(super) type FileSources = BTreeMap<String, BTreeSet<String>>;

/// A file of an ingest, as far as a later ingest can recognize it.
struct IngestedFile<'a> {
    name: &'a str,
    /// The checksum of a file of events.
    blake3: Option<&'a str>,
    /// The rows of a file of spend, of which no checksum is kept.
    totals: ControlTotals,
    sources: Option<&'a BTreeSet<String>>,
}

impl IngestedFile<'_> {
    fn is(&self, other: &IngestedFile<'_>) -> bool {
        (self.blake3, self.totals) == (other.blake3, other.totals) && (self.blake3.is_some() || self.name == other.name)
    }
}

/// Returns the files of a table, in the order in which they were given.
fn files_of(batch: &Batch, table: Table) -> Vec<IngestedFile<'_>> {
    if table == Table::Events {
        let of_events = files(batch).map(|file| IngestedFile {
            name: &file.name,
            blake3: Some(&file.blake3),
            totals: ControlTotals::default(),
            sources: file.sources.as_ref(),
        });
        return of_events.collect();
    }
    let Some(protocol) = batch.protocol.get(table.name()) else { return Vec::new() };
    let of_name = |name| {
        let inputs = protocol.inputs.iter().filter(|input| input.input == name);
        IngestedFile { name, blake3: None, totals: inputs.map(|input| input.read()).sum(), sources: None }
    };
    protocol.names().into_iter().map(of_name).collect()
}

/// Returns the sources of which an ingest has replaced rows; `None` if there are too many to list.
fn replaced_sources(batch: &Batch, table: Table) -> Option<BTreeSet<&str>> {
    let Some(protocol) = batch.protocol.get(table.name()) else { return Some(BTreeSet::new()) };
    let replaced = protocol.replaced.iter().filter(|replaced| replaced.totals.rows > 0);
    (protocol.replaced_others.rows == 0).then(|| replaced.map(|replaced| replaced.source.as_str()).collect())
}

/// Returns the warning about files of an ingest, `now`, that may have replaced newer rows, because `earlier` ingests
/// had them already, and ingests after that have replaced rows of the same sources. A file is not among them if the
/// ingest has the files of the later ingests, too, and after it. `sources` are those of files of spend, as far as they
/// are known.
pub(super) fn warning(table: Table, earlier: &[Batch], now: &Batch, sources: &FileSources) -> Option<String> {
    const NAMED: usize = 10;
    let replaced = replaced_sources(now, table);
    let given = files_of(now, table);
    let mut found: Vec<String> = Vec::new();
    for (at, file) in given.iter().enumerate() {
        let has_file = |batch: &Batch| files_of(batch, table).iter().any(|other| other.is(file));
        let Some(before) = earlier.iter().rposition(has_file) else { continue };
        let is_own = |source: &str| {
            let own = file.sources.or_else(|| sources.get(file.name));
            let is_replaced = replaced.as_ref().is_none_or(|replaced| replaced.contains(source));
            is_replaced && own.is_none_or(|own| own.contains(source))
        };
        let follows = |other: &IngestedFile<'_>| given[at + 1..].iter().any(|later| later.is(other));
        let has_newer = |batch: &&Batch| {
            let restated = replaced_sources(batch, table).is_none_or(|sources| sources.into_iter().any(is_own));
            let files = files_of(batch, table);
            restated && (files.is_empty() || !files.iter().all(follows))
        };
        if let Some(later) = earlier[before + 1..].iter().rfind(has_newer) {
            found.push(format!(
                "`{}`, of version {}, before version {}",
                Shown(file.name),
                earlier[before].version,
                later.version
            ));
        }
    }
    if found.is_empty() {
        return None;
    }
    let others = found.len().saturating_sub(NAMED);
    found.truncate(NAMED);
    let others = if others > 0 { format!("; and {others} other files") } else { String::new() };
    Some(format!(
        "{} of files that were ingested before may have replaced newer ones, which a later version had from other files: {}{others}; \
         `trueup restore DATASET --to {}` undoes this ingest",
        table.name(),
        found.join("; "),
        now.version - 1
    ))
}
