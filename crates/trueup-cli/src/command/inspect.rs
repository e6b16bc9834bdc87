//! `trueup inspect` and `trueup verify`: what a dataset contains, and whether its files are undamaged.

mod report;

use super::block_cache::BlockCacheArgs;
use super::directory::DirectoryPaths;
use super::open_dataset;
use crate::exit::Failure;
use crate::notice;
use crate::output::{self, ObjectFormat};
use crate::progress::Step;
use crate::terminal::printable;
use report::{CheckedDataset, Contents, TableSize};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use trueup::Dataset;
use trueup::versions::{AsOf, Batch, DataFile, Manifest, Verification};
use trueup_report::number;

/// Show what a dataset contains
///
/// Its version, the sizes of its tables, accounts, dates, the columns to group and filter by, its mapping, and what was
/// ingested.
#[derive(Debug, clap::Args)]
pub(crate) struct InspectCommand {
    /// Folder or URL of the dataset
    dataset: PathBuf,

    /// Show an earlier version of the dataset: by its number, or the newest one at a time such as 2026-01-31T18:00:00Z
    #[arg(long, value_name = "VERSION|TIME")]
    as_of: Option<AsOf>,

    /// Show the mapping of the dataset alone, which later ingests use: as a mapping file (TOML), or as a JSON string
    #[arg(long)]
    mapping: bool,

    /// Format of the output
    #[arg(long, value_enum, default_value = "text")]
    format: ObjectFormat,

    #[command(flatten)]
    cache: BlockCacheArgs,
}

impl InspectCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        self.cache.set()?;
        let dataset = open_dataset(&self.dataset, self.as_of)?;
        if let Some(other) = dataset.manifest().and_then(|manifest| manifest.other_tzdata(dataset.accounts())) {
            notice::warning(other);
        }
        if self.mapping {
            let mapping = dataset.mapping()?;
            return match (self.format, mapping) {
                (ObjectFormat::Json, mapping) => output::print_json(&mapping),
                (ObjectFormat::Text, Some(mapping)) => output::print_lines(&mapping),
                (ObjectFormat::Text, None) => {
                    let path = self.dataset.display();
                    Err(Failure::request(format!("`{path}` has no mapping; `trueup ingest --mapping FILE` stores one")))
                }
            };
        }
        let step = Step::new("finding accounts");
        match self.format {
            ObjectFormat::Json => {
                let batches = dataset.batches()?;
                let contents = Contents::of(&dataset, dataset.mapping()?, &batches)?;
                drop(step);
                output::print_json(&contents)
            }
            ObjectFormat::Text => {
                let lines = describe(&dataset)?;
                drop(step);
                output::print_lines(&lines)
            }
        }
    }
}

fn describe(dataset: &Dataset) -> Result<String, Failure> {
    let mut lines: Vec<(&str, String)> = Vec::new();
    let manifest = dataset.manifest();
    if let Some(manifest) = manifest {
        let Manifest { version, schema_version, created_by, tzdata, .. } = manifest;
        let [events, spend, _, insights, targets] = manifest.tables().map(|(_, files)| size_of(manifest, files));
        lines.push(("version", format!("{version}, layout {schema_version}, written by {created_by}")));
        lines.push(("tzdata", tzdata.clone()));
        let row_groups = number::counted(dataset.event_row_groups() as u64, "row group");
        lines.push(("events", format!("{events}, {row_groups}")));
        lines.push(("spend", spend));
        lines.push(("insights", insights));
        if manifest.named("targets").is_some() {
            lines.push(("targets", format!("{targets}, of {}", list(dataset.targets().metrics().into_iter()))));
        }
    }
    let keys = dataset.account_keys().map_err(trueup::Error::from)?;
    lines.push(("accounts", accounts(&keys, dataset)));
    let dates = dataset.date_range().map(|range| match range.start == range.end {
        true => range.start.to_string(),
        false => format!("{} to {}", range.start, range.end),
    });
    lines.push(("dates", dates.unwrap_or_else(|| "none".to_owned())));
    lines.push(("columns", list(dataset.columns().iter().map(String::as_str))));
    if let Some(mapping) = dataset.mapping()? {
        let count = number::counted(mapping.lines().count() as u64, "line");
        lines.push(("mapping", format!("{count}; `--mapping` shows it")));
    }
    for batch in dataset.batches()? {
        lines.push(("ingested", ingested(&batch)));
    }
    // A name may contain any character, even a line break.
    Ok(lines.into_iter().map(|(name, value)| format!("{name:10} {}\n", printable(&value))).collect())
}

/// Returns the number of accounts and the first of them by key, each with its name if the name is not the key.
fn accounts(keys: &BTreeSet<String>, dataset: &Dataset) -> String {
    const MAX_SHOWN: usize = 20;
    let count = number::grouped(&keys.len().to_string());
    if keys.is_empty() {
        return count;
    }
    let shown = keys.iter().take(MAX_SHOWN).map(|key| match dataset.accounts().get(key) {
        Some(account) if account.name != *key => format!("{key} ({})", account.name),
        _ => key.clone(),
    });
    let more = match keys.len().saturating_sub(MAX_SHOWN) {
        0 => String::new(),
        more => format!(" and {} more", number::grouped(&more.to_string())),
    };
    format!("{count}: {}{more}", shown.collect::<Vec<_>>().join(", "))
}

/// Returns the rows, files and bytes of a table as a text; `none` if the table has no files.
fn size_of(manifest: &Manifest, files: &[DataFile]) -> String {
    if files.is_empty() {
        return "none".to_owned();
    }
    let TableSize { rows, files, bytes } = TableSize::of(manifest, files);
    let (files, bytes) = (number::counted(files as u64, "file"), output::bytes(bytes));
    format!("{}, {files}, {bytes}", number::counted(rows, "row"))
}

/// Returns what one ingest added, by table: rows, inputs, and rejects if there are any.
fn ingested(batch: &Batch) -> String {
    let tables = batch.protocol.iter().map(|(name, table)| {
        let taken = table.taken().rows;
        let rows = match name.as_str() {
            "events" => number::counted(taken, "event"),
            "accounts" => number::counted(taken, "account"),
            "insights" => number::counted(taken, "insight"),
            "targets" => number::counted(taken, "target"),
            _ => format!("{} of {name}", number::counted(taken, "row")),
        };
        let rejected = match table.rejected().rows {
            0 => String::new(),
            rejected => format!(", {} rejected", number::grouped(&rejected.to_string())),
        };
        format!("{rows} from {}{rejected}", list(table.names().into_iter()))
    });
    format!("version {}: {}", batch.version, tables.collect::<Vec<_>>().join("; "))
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Check that every file of a dataset matches its manifest, and that its directory is undamaged
///
/// Reads every file in full, and the directory if there is one: each page, each index, and each reference between rows.
/// Reports what is wrong file by file, and exits with code 1 if anything is.
#[derive(Debug, clap::Args)]
pub(crate) struct VerifyCommand {
    #[command(flatten)]
    paths: DirectoryPaths,

    /// Check an earlier version of the dataset: by its number, or the newest one at a time such as 2026-01-31T18:00:00Z
    #[arg(long, value_name = "VERSION|TIME")]
    as_of: Option<AsOf>,

    /// Format of the output
    #[arg(long, value_enum, default_value = "text")]
    format: ObjectFormat,
}

impl VerifyCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        let step = Step::bytes("checking files", Some(0));
        let found = Verification::watched(&self.paths.dataset, self.as_of, |done, total| step.set_of(done, total))?;
        drop(step);
        let step = Step::new("checking the directory");
        let directory = self.paths.verify_directory();
        drop(step);
        let path = self.paths.dataset.display();
        if self.format == ObjectFormat::Json {
            let faults = match &directory {
                Ok(None) => None,
                Ok(Some((_, faults))) => Some(faults.clone()),
                Err(failure) => Some(vec![failure.to_string()]),
            };
            output::print_json(&CheckedDataset::new(&found, self.paths.directory_path().as_deref(), faults))?;
        } else {
            let of_directory = directory.iter().flatten().flat_map(|(_, faults)| faults);
            found.faults.iter().chain(of_directory).for_each(notice::note);
        }
        if !found.faults.is_empty() {
            if let Err(failure) = directory {
                notice::note(failure);
            }
            return Err(Failure::request(format!("`{path}` does not match its manifest {}", found.version)));
        }
        let directory = directory?;
        if let Some((file, _)) = directory.as_ref().filter(|(_, faults)| !faults.is_empty()) {
            let file = file.display();
            return Err(Failure::request(format!("the directory `{file}` is damaged; restore a backup of it")));
        }
        if self.format == ObjectFormat::Json {
            return Ok(());
        }
        let (files, bytes) = (number::counted(found.files as u64, "file"), output::bytes(found.bytes));
        output::print(|out| {
            writeln!(out, "version {} is whole: {files}, {bytes}", found.version)?;
            match directory {
                Some((file, _)) => writeln!(out, "the directory `{}` is whole", file.display()),
                None => Ok(()),
            }
        })
    }
}
