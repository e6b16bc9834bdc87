//! What actors do, and what they learn.

use super::store::Store;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;
use trueup_core::Dataset;
use trueup_core::dataset::expiry::GRACE;
use trueup_core::dataset::manifest_file;
use trueup_core::query::EventsQuery;
use trueup_core::{Error, Value};
use trueup_ingest::{Compact, Expire, Forget, Ingest, IngestError, Restore, part_of};
use trueup_testkit::random::Random;

/// The customer whose only event each batch replaces.
pub(crate) const SHARED: &str = "shared";

/// The columns of a batch.
const HEADER: &str = "account,opportunityId,type,date,eventId,total";

/// One step of a script.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    /// Ingests the batch of a number. If it waits, it begins again if another writer was first.
    Ingest {
        batch: u64,
        waits: bool,
    },
    /// Ingests the batch of a number in two parts.
    Staged(u64),
    /// Forgets the customer of the last batch that this actor has ingested.
    Forget,
    /// Forgets it with all versions that have it. `ends_grace` says whether their files go at once.
    Purge {
        ends_grace: bool,
    },
    Compact,
    Expire {
        keep: usize,
        grace: Duration,
    },
    Vacuum,
    /// Restores the version at this distance from the newest one.
    Restore {
        back: usize,
    },
    /// Reads the newest version.
    Read,
}

/// What became of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The dataset has it, from this version on.
    Done(u64),
    /// The dataset does not have it, and never will.
    Failed,
    /// Nobody knows.
    Unknown,
}

/// What a version holds: the events of each customer, and their total in millionths.
pub(crate) type Contents = BTreeMap<String, (u64, i128)>;

/// What writers have learned, and what readers have read.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// By batch.
    pub(crate) ingests: BTreeMap<u64, Outcome>,
    /// By batch; whether it is a purge.
    pub(crate) forgotten: BTreeMap<u64, (bool, Outcome)>,
    /// Which version each of these has restored.
    pub(crate) restored: BTreeMap<u64, u64>,
    /// Whether nobody knows if there is another version that has restored one.
    pub(crate) is_restored_unknown: bool,
    pub(crate) reads: Vec<(u64, Contents)>,
    /// Whether an action took about a day or more.
    pub(crate) takes_long: bool,
    pub(crate) faults: Vec<String>,
}

/// One who acts.
pub(crate) struct Actor<'a> {
    number: usize,
    /// The location of the dataset for this actor, whose requests are steps.
    location: PathBuf,
    store: &'a Store,
    inputs: &'a Path,
    ledger: &'a Mutex<Ledger>,
}

impl Ledger {
    /// Returns the newest version that a writer knows of.
    fn newest(&self) -> Option<u64> {
        let outcomes = self.ingests.values().chain(self.forgotten.values().map(|(_, outcome)| outcome));
        let acknowledged = outcomes.filter_map(|outcome| match outcome {
            Outcome::Done(version) => Some(*version),
            Outcome::Failed | Outcome::Unknown => None,
        });
        acknowledged.chain(self.restored.keys().copied()).max()
    }

    /// Returns whether a version has what another one brought, unless it was forgotten since.
    pub(crate) fn has(&self, version: u64, brought: u64) -> bool {
        let mut ancestor = version;
        while ancestor > brought {
            ancestor = self.restored.get(&ancestor).copied().unwrap_or(ancestor - 1);
        }
        ancestor == brought
    }
}

impl Action {
    /// Makes the scripts of some actors.
    pub(crate) fn scripts(random: &mut Random, most: usize) -> Vec<Vec<Self>> {
        let actors = random.index(most - 1) + 2;
        let mut batch = 0;
        let mut script = |_| {
            let length = random.index(3) + 1;
            let mut script = Vec::new();
            for _ in 0..length {
                batch += 1;
                script.push(match random.below(13) {
                    0..4 => Self::Ingest { batch, waits: random.below(3) == 0 },
                    4 => Self::Staged(batch),
                    5 => Self::Forget,
                    6 => Self::Purge { ends_grace: random.below(2) == 1 },
                    7 => Self::Compact,
                    8 | 9 => {
                        let grace = Duration::from_secs([0, 0, 3600, 24 * 3600][random.index(4)]);
                        Self::Expire { keep: random.index(2) + 1, grace }
                    }
                    10 => Self::Vacuum,
                    11 => Self::Restore { back: random.index(3) + 1 },
                    _ => Self::Read,
                });
                if matches!(script.last(), Some(Self::Forget | Self::Purge { .. })) {
                    script.insert(script.len() - 1, Self::Ingest { batch, waits: true });
                }
            }
            script
        };
        (0..actors).map(&mut script).collect()
    }
}

/// Reads what a version holds, and its number.
pub(crate) fn contents(dataset: &Dataset) -> Result<Contents, Error> {
    let fields = ["opportunityId", "eventCount", "total"];
    let table =
        dataset.query(&EventsQuery::new(fields, "2025-01-01".parse().unwrap(), "2025-03-31".parse().unwrap()))?;
    Ok(table
        .rows()
        .map(|row| match (row.get("opportunityId"), row.get("eventCount"), row.get("total")) {
            (Some(Value::Text(customer)), Some(Value::Count(events)), Some(Value::Money(total))) => {
                (customer.to_owned(), (events, total))
            }
            found => unreachable!("{found:?}"),
        })
        .collect())
}

/// Writes the events of a batch: two of a customer of its own, and one that replaces that of the batch before.
fn rows(batch: u64, inputs: &Path) -> PathBuf {
    let path = inputs.join(format!("{batch}.csv"));
    let rows = format!(
        "{HEADER}\na,{batch},lead-originated,2025-02-01,{batch}-1,\n\
         a,{batch},sold,2025-02-02,{batch}-2,{batch}\na,{SHARED},closed,2025-02-03,s,{batch}\n"
    );
    fs::write(&path, rows).unwrap();
    path
}

/// Prepares the ingest of a batch.
pub(crate) fn ingest(batch: u64, location: &Path, inputs: &Path) -> Ingest {
    Ingest::into(location).events(rows(batch, inputs))
}

impl<'a> Actor<'a> {
    pub(crate) fn new(number: usize, store: &'a Store, inputs: &'a Path, ledger: &'a Mutex<Ledger>) -> Self {
        Self { number, location: store.location(Some(number)), store, inputs, ledger }
    }

    /// Waits until this step is chosen.
    fn step(&self, what: String) {
        self.store.scheduler.step(self.number, what);
    }

    fn is_killed(&self) -> bool {
        self.store.scheduler.is_killed(self.number)
    }

    pub(crate) fn act(&self, script: &[Action]) {
        let mut last = None;
        for action in script {
            self.step(format!("begins {action:?}"));
            let begun = self.store.scheduler.now();
            match *action {
                Action::Ingest { batch, waits } => {
                    let wait = Duration::from_secs(if waits { 60 } else { 0 });
                    let ingest = ingest(batch, &self.location, self.inputs).wait(wait);
                    let outcome = self.ingested(batch, ingest.run().map(|summary| summary.version));
                    last = matches!(outcome, Outcome::Done(_)).then_some(batch);
                }
                Action::Staged(batch) => {
                    let outcome = self.ingested(batch, self.ingest_in_parts(batch));
                    last = matches!(outcome, Outcome::Done(_)).then_some(batch);
                }
                Action::Forget => self.forget(last, false, false),
                Action::Purge { ends_grace } => self.forget(last, true, ends_grace),
                Action::Compact => drop(Compact::new(&self.location).all().run()),
                Action::Expire { keep, grace } => {
                    drop(Expire::new(&self.location).keep_last(keep).grace(grace).run());
                }
                Action::Restore { back } => self.restore(back),
                Action::Vacuum => drop(Expire::new(&self.location).vacuum().run()),
                Action::Read => self.read(),
            }
            let time = self.store.scheduler.now().duration_since(begun).unwrap_or_default();
            // The clock may have been set back meanwhile.
            self.ledger.lock().unwrap().takes_long |= time > GRACE - Duration::from_secs(6 * 60 * 60);
            if self.is_killed() {
                return;
            }
        }
    }

    fn ingested(&self, batch: u64, run: Result<u64, IngestError>) -> Outcome {
        let outcome = self.outcome(run);
        self.ledger.lock().unwrap().ingests.insert(batch, outcome);
        outcome
    }

    /// Ingests a batch in two parts, of which one is empty. One part is staged twice, as a cluster may do.
    fn ingest_in_parts(&self, batch: u64) -> Result<u64, IngestError> {
        const PARTS: u32 = 2;
        let into = || Ingest::into(&self.location);
        let begun = into().begin_staged(PARTS, Some(["a".to_owned()].into()))?;
        let empty = self.inputs.join("empty.csv");
        fs::write(&empty, HEADER).unwrap();
        let stage = |part| {
            self.step(format!("stages part {part}"));
            let path = if part_of("a", PARTS) == part { rows(batch, self.inputs) } else { empty.clone() };
            into().events(path).stage(begun.plan(), part)
        };
        stage(part_of("a", PARTS))?;
        let staged = (0..PARTS).map(stage).collect::<Result<Vec<_>, _>>()?;
        self.step("commits".to_owned());
        begun.commit(staged).map(|summary| summary.version)
    }

    /// Forgets the customer of a batch, if there is one.
    fn forget(&self, batch: Option<u64>, purges: bool, ends_grace: bool) {
        let Some(batch) = batch else { return };
        let mut forget = Forget::new(&self.location).customer("a", batch.to_string());
        if purges {
            forget = forget.purge();
        }
        if ends_grace {
            forget = forget.grace(Duration::ZERO);
        }
        self.store.watch().ends_grace(self.number, ends_grace);
        let outcome = self.outcome(forget.run().map(|summary| summary.version));
        self.store.watch().ends_grace(self.number, false);
        // A purge that fails may have published its version: only earlier versions may be there or not.
        let outcome = if purges && outcome == Outcome::Failed { Outcome::Unknown } else { outcome };
        self.ledger.lock().unwrap().forgotten.insert(batch, (purges, outcome));
    }

    /// Restores the version that is `back` before the newest one, if there is one.
    fn restore(&self, back: usize) {
        let versions = manifest_file::versions(&self.location).unwrap_or_default();
        let Some(to) = versions.iter().rev().nth(back).copied() else { return };
        let run = Restore::new(&self.location, to).wait(Duration::from_secs(60)).run();
        let outcome = self.outcome(run.map(|summary| summary.version));
        let mut ledger = self.ledger.lock().unwrap();
        match outcome {
            Outcome::Done(version) => drop(ledger.restored.insert(version, to)),
            Outcome::Failed => {}
            Outcome::Unknown => ledger.is_restored_unknown = true,
        }
    }

    fn outcome(&self, run: Result<u64, IngestError>) -> Outcome {
        match run {
            Ok(version) => Outcome::Done(version),
            Err(error) if error.may_be_published() || self.is_killed() => Outcome::Unknown,
            Err(_) => Outcome::Failed,
        }
    }

    fn read(&self) {
        let acknowledged = self.ledger.lock().unwrap().newest();
        let Ok(versions) = manifest_file::versions(&self.location) else { return };
        let Some(version) = versions.last().copied() else { return };
        let Ok(dataset) = Dataset::open_as_of(&self.location, version) else { return };
        self.step("queries".to_owned());
        let read = contents(&dataset);
        let is_kept =
            manifest_file::versions(&self.store.location(None)).is_ok_and(|versions| versions.contains(&version));
        let mut ledger = self.ledger.lock().unwrap();
        if acknowledged > Some(version) {
            ledger.faults.push(format!("version {version} is the newest after {acknowledged:?}"));
        }
        match read {
            Ok(read) => ledger.reads.push((version, read)),
            // The files of an expired version may be gone, but not those of another one.
            Err(error) if is_kept && !self.is_killed() => {
                ledger.faults.push(format!("version {version} cannot be read: {error}"));
            }
            Err(_) => {}
        }
    }
}

/// Also if the actor panics, so that its history ends.
impl Drop for Actor<'_> {
    fn drop(&mut self) {
        self.store.scheduler.end(self.number);
    }
}
