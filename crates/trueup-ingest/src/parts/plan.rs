//! The plan of a distributed ingest: what every part needs to know.

use super::{PartOfAccounts, part_of};
use crate::IngestError;
use crate::error::{ErrorContext, StageFault};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use trueup_core::dataset::manifest::{DataFile, FORGOTTEN_FOLDER, Manifest, checksum, hex};
use trueup_core::model::{Account, Accounts, ClockZone, Zone, tzdata_release};

/// What every part of a distributed ingest needs to know. It goes from process to process [as text](Self::to_json).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StagePlan {
    /// The id of the ingest, in hex.
    pub(crate) ingest: String,
    /// The version that the ingest makes.
    pub(crate) version: u64,
    /// The identity of the version before, as [`base_of`] returns it.
    pub(crate) base: String,
    pub(crate) parts: u32,
    /// The release of the time zone database by which all parts compute days.
    tzdata: String,
    /// The accounts that may have new rows; `None` if any may.
    pub(crate) accounts: Option<BTreeSet<String>>,
    /// The paths of the stored event files whose rows the parts take over.
    pub(crate) rewritten: Vec<String>,
    /// The time zones of accounts, except for UTC.
    time_zones: BTreeMap<String, String>,
    /// The accounts with stored events that get another time zone: the old one and the new one.
    zone_changes: BTreeMap<String, (String, String)>,
    pub(crate) settings: PartSettings,
}

/// The settings that decide what the files of a part look like, and which rows are allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PartSettings {
    /// The time zone of times without an offset: `account`, or the name of a zone; `None` if they are refused.
    pub(crate) clock_zone: Option<String>,
    pub(crate) ignore: Vec<String>,
    pub(crate) group_rows: usize,
    pub(crate) file_rows: usize,
    pub(crate) max_columns: usize,
    pub(crate) max_text_bytes: usize,
    pub(crate) max_customer_events: usize,
    /// The source of events that do not name theirs.
    pub(crate) source: Option<String>,
}

impl StagePlan {
    /// Returns the plan of an ingest that follows `base`.
    pub(crate) fn new(
        ingest: &str,
        base: Option<&Manifest>,
        parts: u32,
        accounts: Option<BTreeSet<String>>,
        rewritten: &[DataFile],
        (all_accounts, zone_changes): (&Accounts, BTreeMap<String, (Zone, Zone)>),
        settings: PartSettings,
    ) -> Self {
        let zoned = all_accounts.iter().filter(|account| account.time_zone != Zone::UTC);
        let changes = zone_changes
            .into_iter()
            .map(|(account, (from, to))| (account, (from.name().to_owned(), to.name().to_owned())));
        Self {
            ingest: ingest.to_owned(),
            version: base.map_or(0, |manifest| manifest.version) + 1,
            base: base_of(base),
            parts,
            tzdata: tzdata_release().to_owned(),
            accounts,
            rewritten: rewritten.iter().map(|file| file.path.clone()).collect(),
            time_zones: zoned.map(|account| (account.key.clone(), account.time_zone.name().to_owned())).collect(),
            zone_changes: changes.collect(),
            settings,
        }
    }

    /// Returns the number of parts. They are numbered from 0.
    #[must_use]
    pub const fn parts(&self) -> u32 {
        self.parts
    }

    /// Returns the version that the ingest makes.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// Returns the part of an account.
    #[must_use]
    pub fn part_of(&self, account: &str) -> u32 {
        part_of(account, self.parts)
    }

    /// Returns the plan as text, for another process.
    ///
    /// # Errors
    /// The plan cannot be written as JSON, which does not happen to any plan.
    pub fn to_json(&self) -> Result<String, IngestError> {
        serde_json::to_string(self).doing("write the plan of the ingest")
    }

    /// Reads what [`to_json`](Self::to_json) has returned.
    ///
    /// # Errors
    /// The text is not a plan.
    pub fn from_json(text: &str) -> Result<Self, IngestError> {
        serde_json::from_str(text).map_err(|error| StageFault::NotPlan(error.to_string()).into())
    }

    /// Returns a checksum of the plan, which tells plans of the same ingest apart.
    pub(crate) fn fingerprint(&self) -> Result<String, IngestError> {
        Ok(checksum(self.to_json()?))
    }

    /// Returns the accounts of a part.
    ///
    /// # Errors
    /// The plan has no part with this number.
    pub(crate) fn part(&self, part: u32) -> Result<PartOfAccounts<'_>, StageFault> {
        if part >= self.parts {
            return Err(StageFault::NoPart { part, last: self.parts.saturating_sub(1) });
        }
        Ok(PartOfAccounts { part, parts: self.parts, planned: self.accounts.as_ref() })
    }

    /// Returns the accounts with their time zones, and nothing else of them. Fails if this program has another release
    /// of the time zone database than the one that made the plan.
    pub(crate) fn zoned_accounts(&self) -> Result<Accounts, StageFault> {
        if self.tzdata != tzdata_release() {
            return Err(StageFault::OtherTzdata(self.tzdata.clone()));
        }
        let mut accounts = Accounts::default();
        for (key, zone) in &self.time_zones {
            accounts.insert(Account { time_zone: time_zone(zone)?, ..Account::new(key) });
        }
        Ok(accounts)
    }

    /// Returns the old and the new time zone of each account with stored events that gets another one.
    pub(crate) fn zone_changes(&self) -> Result<BTreeMap<String, (Zone, Zone)>, StageFault> {
        let change = |(account, (from, to)): (&String, &(String, String))| {
            Ok((account.clone(), (time_zone(from)?, time_zone(to)?)))
        };
        self.zone_changes.iter().map(change).collect()
    }

    /// Returns the ones of `files` whose rows the parts write again.
    pub(crate) fn rewritten_of(&self, files: &[DataFile]) -> Vec<DataFile> {
        let paths: BTreeSet<&str> = self.rewritten.iter().map(String::as_str).collect();
        files.iter().filter(|file| paths.contains(file.path.as_str())).cloned().collect()
    }
}

impl PartSettings {
    pub(crate) fn clock_zone(&self) -> Result<Option<ClockZone>, StageFault> {
        let zone = self.clock_zone.as_ref().map(|zone| zone.parse().map_err(|_| unknown_zone(zone)));
        zone.transpose()
    }
}

fn time_zone(name: &str) -> Result<Zone, StageFault> {
    name.parse().map_err(|_| unknown_zone(name))
}

fn unknown_zone(name: &str) -> StageFault {
    StageFault::NotPlan(format!("`{}` is no time zone", name.escape_default()))
}

/// Returns the identity of a version: a checksum of the checksums of its files; empty without a version.
pub(crate) fn base_of(manifest: Option<&Manifest>) -> String {
    let Some(manifest) = manifest else { return String::new() };
    let mut digest = blake3::Hasher::new();
    for (table, files) in manifest.tables() {
        for file in files {
            digest.update(format!("{table} {} {}\n", file.path, file.blake3).as_bytes());
        }
    }
    if let Some(file) = manifest.named(FORGOTTEN_FOLDER) {
        digest.update(format!("forgotten {} {}\n", file.path, file.blake3).as_bytes());
    }
    for file in &manifest.deletion_vectors {
        digest.update(format!("vectors {} {}\n", file.path, file.blake3).as_bytes());
    }
    hex(digest.finalize().as_bytes())
}
