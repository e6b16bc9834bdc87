//! What decides the rows of the events of an ingest: their files, options, a mapping with what it joins, and the time
//! zones of accounts.

use super::BatchSettings;
use crate::error::{ErrorContext, OPEN};
use crate::events::InputEvents;
use crate::mapping::MappedTables;
use crate::monitor::Monitor;
use crate::source::{FileFormat, InputReader, ReadLimits, Setting, file_name, named_separator};
use crate::{IngestError, Input};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use trueup_core::dataset::manifest::hex;
use trueup_core::dataset::{ReadFile, Reading};
use trueup_core::files::Files;
use trueup_core::model::{Accounts, ClockZone};

/// The most accounts whose time zones a record names. If there are more, it has a checksum of the time zones of all
/// accounts of the dataset.
const MAX_ZONES: usize = 256;

/// The part that is a checksum of the time zones of all accounts.
pub(super) const ALL_ZONES: &str = "accountZones";

/// The name of the part of an input that a mapping joins begins with this.
pub(super) const JOINED: &str = "joined ";

/// The name of the part of what the dataset holds for a join of a mapping begins with this.
pub(super) const STORED: &str = "stored ";

/// Where events come from, before any byte is read.
#[derive(Clone)]
pub(super) struct EventOrigins {
    /// The files that have events, each once.
    files: Vec<Input>,
    /// The inputs that a mapping joins to events, by their names in the mapping.
    joined: Vec<(String, Vec<Input>)>,
    parts: BTreeMap<String, String>,
}

impl EventOrigins {
    /// Returns where the events of `inputs` come from, which may be the inputs of a mapping.
    pub(super) fn new(
        inputs: &[&Input],
        mapped: &MappedTables,
        settings: BatchSettings<'_>,
    ) -> Result<Self, IngestError> {
        let mut seen = BTreeSet::new();
        let files = inputs.iter().filter(|input| seen.insert(&input.path)).map(|input| (*input).clone()).collect();
        let mut parts = BTreeMap::new();
        if let Some(zone) = settings.clock_zone {
            let name = match zone {
                ClockZone::Account => "account".to_owned(),
                ClockZone::Zone(zone) => zone.name().to_owned(),
            };
            parts.insert("timeZone".to_owned(), name);
        }
        if !settings.ignore.is_empty() {
            let patterns: BTreeSet<&str> = settings.ignore.iter().map(String::as_str).collect();
            parts.insert("ignore".to_owned(), patterns.into_iter().collect::<Vec<_>>().join(" "));
        }
        if let Some(checksum) = mapped.checksum_for_events() {
            parts.insert("mapping".to_owned(), checksum.to_owned());
        }
        let stored = mapped.stored_rows_for_events.iter();
        parts.extend(stored.map(|(join, checksum)| (format!("{STORED}{join}"), checksum.clone())));
        Ok(Self { files, joined: mapped.joined_to_events.clone(), parts })
    }

    /// Returns the bytes of all files.
    pub(super) fn bytes(&self) -> u64 {
        self.all_files().map(Input::size).sum()
    }

    fn all_files(&self) -> impl Iterator<Item = &Input> {
        self.files.iter().chain(self.joined.iter().flat_map(|(_, files)| files))
    }

    /// Returns the reading of these files. `sums` are the checksums of all files, in their order.
    fn reading(&self, files: &Files, limits: ReadLimits, sums: Vec<String>) -> Result<Reading, IngestError> {
        let mut sums = sums.into_iter();
        let mut read = Vec::with_capacity(self.files.len());
        for (input, blake3) in self.files.iter().zip(&mut sums) {
            let parts = file_parts(files, input, limits)?;
            read.push(ReadFile { name: file_name(&input.shown), blake3, parts, ..ReadFile::default() });
        }
        let mut parts = self.parts.clone();
        for (name, inputs) in &self.joined {
            let mut all = Vec::with_capacity(inputs.len());
            for (input, sum) in inputs.iter().zip(&mut sums) {
                all.push(format!("{sum} {:?}", file_parts(files, input, limits)?));
            }
            parts.insert(format!("{JOINED}{name}"), combine(all));
        }
        Ok(Reading { files: read, parts, zones: BTreeMap::new() })
    }
}

/// The reading of the events of an ingest, in the order of their files, and what is known of their rows.
pub(super) struct EventReading {
    /// The paths of the files.
    paths: Vec<PathBuf>,
    state: ReadingState,
    noted: NotedRows,
}

enum ReadingState {
    Known(Reading),
    /// A thread computes the checksums while the events are ingested. It stops when this is dropped.
    Pending(JoinHandle<Result<Reading, IngestError>>, SetOnDrop),
    /// The thread has failed.
    Failed,
}

/// What an ingest notes of the events once it has read them.
#[derive(Default)]
struct NotedRows {
    /// What is known of the events of each file.
    files: Vec<InputEvents>,
    zones: BTreeMap<String, String>,
    /// The checksum of the time zones of all accounts, if `zones` would have too many.
    all_zones: Option<String>,
}

/// A flag that is set when this is dropped.
struct SetOnDrop(Arc<AtomicBool>);

impl Drop for SetOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl EventReading {
    fn new(origins: &EventOrigins, state: ReadingState) -> Self {
        let paths = origins.files.iter().map(|input| input.path.clone()).collect();
        Self { paths, state, noted: NotedRows::default() }
    }

    /// Finds out how events are read.
    pub(super) fn of(
        files: &Files,
        origins: &EventOrigins,
        limits: ReadLimits,
        monitor: &Monitor,
    ) -> Result<Self, IngestError> {
        let advance = |length| {
            monitor.add(0, length);
            true
        };
        let inputs: Vec<&Input> = origins.all_files().collect();
        let sums = inputs.par_iter().map(|input| file_checksum(files, input, &advance)).collect::<Result<_, _>>()?;
        let reading = origins.reading(files, limits, sums)?;
        Ok(Self::new(origins, ReadingState::Known(reading)))
    }

    /// Begins to find out how events are read.
    pub(super) fn begin(files: Files, origins: EventOrigins, limits: ReadLimits) -> Result<Self, IngestError> {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, of_thread) = (stop.clone(), origins.clone());
        let read = move || {
            let go_on = |_| !stopped.load(Ordering::Relaxed);
            let sums = of_thread.all_files().map(|input| file_checksum(&files, input, &go_on));
            let sums = sums.collect::<Result<_, _>>()?;
            of_thread.reading(&files, limits, sums)
        };
        let thread = thread::Builder::new().name("checksum".to_owned()).spawn(read).doing("start a thread")?;
        Ok(Self::new(&origins, ReadingState::Pending(thread, SetOnDrop(stop))))
    }

    /// Returns the reading as far as it is known before the events are read; `None` if a thread is computing it.
    pub(super) fn known(&self) -> Option<&Reading> {
        if let ReadingState::Known(reading) = &self.state { Some(reading) } else { None }
    }

    /// Notes the events that were read: those of each input, by the path of the input, and, if clock times are in the
    /// time zones of `accounts`, the accounts of the events.
    pub(super) fn note<'a>(
        &mut self,
        inputs: impl Iterator<Item = (PathBuf, &'a InputEvents)>,
        accounts: Option<(&Accounts, &BTreeSet<String>)>,
    ) {
        let mut files = vec![InputEvents::default(); self.paths.len()];
        for (path, events) in inputs {
            // An input of a mapping may be that of several tables.
            if let Some(at) = self.paths.iter().position(|of| *of == path) {
                files[at].merge(events);
            }
        }
        self.noted.files = files;
        let Some((accounts, present)) = accounts else { return };
        if present.len() > MAX_ZONES {
            self.noted.all_zones = Some(all_zones(accounts));
        } else {
            let zone = |key: &String| (key.clone(), zone_of(accounts, key).to_owned());
            self.noted.zones = present.iter().map(zone).collect();
        }
    }

    /// Returns the whole reading, once it is known.
    ///
    /// # Errors
    /// An input cannot be read.
    pub(super) fn finish(&mut self) -> Result<&Reading, IngestError> {
        self.state = match std::mem::replace(&mut self.state, ReadingState::Failed) {
            ReadingState::Pending(thread, _stop) => {
                let failed = |_| io::Error::other("the thread that computes it has failed");
                let reading = thread.join().map_err(failed).doing("compute the checksum of the inputs")?;
                ReadingState::Known(reading?)
            }
            known => known,
        };
        let ReadingState::Known(reading) = &mut self.state else {
            return Err(io::Error::other("it has failed before")).doing("compute the checksum of the inputs");
        };
        for (file, InputEvents { without_id, sources }) in reading.files.iter_mut().zip(&self.noted.files) {
            file.without_id = *without_id;
            file.sources.clone_from(sources);
        }
        reading.zones.clone_from(&self.noted.zones);
        if let Some(checksum) = &self.noted.all_zones {
            reading.parts.insert(ALL_ZONES.to_owned(), checksum.clone());
        }
        Ok(reading)
    }
}

/// Returns the name of the time zone of an account.
pub(super) fn zone_of<'a>(accounts: &'a Accounts, key: &str) -> &'a str {
    accounts.get(key).map_or("UTC", |account| account.time_zone.name())
}

/// Returns a checksum of the time zones of all accounts.
pub(super) fn all_zones(accounts: &Accounts) -> String {
    let away = accounts.iter().filter(|account| account.time_zone.name() != "UTC");
    combine(away.map(|account| format!("{} {}", account.time_zone.name(), account.key)).collect())
}

/// Returns what decides the rows of a file besides its bytes, as far as it is not what a reader expects.
fn file_parts(files: &Files, input: &Input, limits: ReadLimits) -> Result<BTreeMap<String, String>, IngestError> {
    let format = match input.options.format.or_else(|| FileFormat::from_name(&input.shown)) {
        Some(format) => format,
        None => InputReader::open(files, input, limits)?.format(),
    };
    let mut parts = BTreeMap::from([("format".to_owned(), format.name.to_owned())]);
    let separator = input.options.separator.unwrap_or_else(|| named_separator(&input.shown));
    if format.takes(Setting::Separator) && separator != b',' {
        parts.insert("delimiter".to_owned(), char::from(separator).escape_default().to_string());
    }
    if let Some(encoding) =
        input.options.encoding.filter(|encoding| !encoding.is_utf8() && format.takes(Setting::Encoding))
    {
        parts.insert("encoding".to_owned(), encoding.name().to_owned());
    }
    if let Some(sheet) = input.options.sheet.as_ref().filter(|_| format.takes(Setting::Sheet)) {
        parts.insert("sheet".to_owned(), sheet.clone());
    }
    if let Some(source) = input.options.source.as_deref().filter(|source| !source.is_empty()) {
        parts.insert("source".to_owned(), source.to_owned());
    }
    Ok(parts)
}

/// Returns the checksum of some texts, whatever their order.
fn combine(mut texts: Vec<String>) -> String {
    texts.sort_unstable();
    let mut hasher = blake3::Hasher::new();
    for text in texts {
        hasher.update(text.as_bytes());
        hasher.update(b"\n");
    }
    hex(hasher.finalize().as_bytes())
}

/// Computes the checksum of a file, and of the columns that its folders give. `go_on` receives the number of bytes of
/// each read, and returns whether to continue.
fn file_checksum(files: &Files, input: &Input, go_on: &dyn Fn(u64) -> bool) -> Result<String, IngestError> {
    let mut file = files.open(&input.path).at(OPEN, &input.path)?;
    let mut hasher = blake3::Hasher::new();
    for column in &input.options.folders {
        hasher.update(column.shown().as_bytes());
        hasher.update(b"/");
    }
    let mut bytes = vec![0; 1 << 20];
    loop {
        let length = file.read(&mut bytes).at("read", &input.path)?;
        hasher.update(&bytes[..length]);
        if length == 0 || !go_on(u64::try_from(length).unwrap_or(u64::MAX)) {
            return Ok(hex(hasher.finalize().as_bytes()));
        }
    }
}
