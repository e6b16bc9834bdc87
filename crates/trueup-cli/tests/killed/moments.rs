//! `kill -9` at random moments of `ingest`, `compact`, `expire`, `vacuum` and `forget --purge`. What it leaves must be
//! the old version or the new one, whole, and the next command must clean up.

use crate::interrupted::paths;
use crate::{copy, program};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use trueup::query::EventsQuery;
use trueup::versions::{self, Verification};
use trueup::{Dataset, json};
use trueup_testkit::exhaustive::is_exhaustive;
use trueup_testkit::random::Random;
use trueup_testkit::search::files_with;

/// The customer to forget; no other text has its id.
const ANN: &str = "ann-7c1f";

/// Each command that is killed, after one that prepares the dataset for it.
const COMMANDS: [(Option<&str>, &str); 5] = [
    (None, "ingest 4.csv --into ds"),
    (None, "compact ds --all"),
    (None, "expire ds --keep-last 1 --grace 0s"),
    (Some("expire ds --keep-last 1"), "vacuum ds --grace 0s"),
    (None, "forget ds --account a --customer ann-7c1f --purge --grace 0s"),
];

/// The command that runs after every other kill; after the others, the killed command runs again.
const NEXT: &str = "ingest 5.csv --into ds";

/// Random parts of a duration, from none of it to a little more than the whole.
pub(super) struct Moments(Random);

impl Moments {
    pub(super) const fn new() -> Self {
        Self(Random::new(7))
    }

    pub(super) fn of(&mut self, whole: Duration) -> Duration {
        let part = u32::try_from(self.0.below(1 << 24)).unwrap();
        whole.mul_f64(f64::from(part) / f64::from(1_u32 << 24) * 1.2)
    }
}

/// A folder with inputs and the dataset `ds`.
struct Folder(tempfile::TempDir);

/// What a dataset has.
#[derive(Debug, PartialEq, Eq)]
struct State {
    /// The answer of each version, byte for byte.
    answers: BTreeMap<u64, String>,
    /// The number of records of expired versions.
    records: usize,
}

/// What became of the kills of a command.
#[derive(Default)]
struct Kills {
    /// The kills before a manifest appeared or any file was gone, and after that.
    before: u32,
    after: u32,
    /// The runs that ended before they were killed.
    ended: u32,
}

impl Folder {
    /// Makes a dataset of three versions, with deletion vectors. The second version has the customer to forget; the
    /// third restates one of its events, and moves one to another customer.
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        let mut first = String::new();
        for customer in 1..=40 {
            writeln!(first, "b,{customer},lead-originated,2025-01-02,o{customer},").unwrap();
            writeln!(first, "b,{customer},sold,2025-01-05,s{customer},{customer}.25").unwrap();
        }
        let second = format!(
            "a,{ANN},lead-originated,2025-01-02,a1,\na,{ANN},sold,2025-01-05,a2,100\na,2,sold,2025-01-02,a3,7\n"
        );
        let third = format!("a,{ANN},booked,2025-01-03,a1,\na,3,sold,2025-01-05,a2,90\nb,1,closed,2025-01-06,s1,80\n");
        let fourth = "b,2,closed,2025-01-07,s2,50.5\nb,41,sold,2025-01-07,s41,9\n".to_owned();
        let fifth = "b,3,closed,2025-01-08,s3,70\nc,1,sold,2025-01-08,c1,1\n".to_owned();
        for (number, rows) in (1..).zip([first, second, third, fourth, fifth]) {
            let text = format!("account,opportunityId,type,date,eventId,total\n{rows}");
            fs::write(folder.0.path().join(format!("{number}.csv")), text).unwrap();
        }
        for number in 1..=3 {
            folder.run(&format!("ingest {number}.csv --into ds"));
        }
        assert_eq!(versions::list(&folder.dataset()).unwrap(), [1, 2, 3]);
        assert!(folder.dataset().join("vectors").is_dir());
        folder
    }

    fn dataset(&self) -> PathBuf {
        self.0.path().join("ds")
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = program();
        command.args(arguments.split(' ')).current_dir(&self.0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Runs a command, which succeeds. Returns how long it takes.
    fn run(&self, arguments: &str) -> Duration {
        let begun = Instant::now();
        assert!(self.command(arguments).status().unwrap().success(), "{arguments}");
        begun.elapsed()
    }

    /// Makes the dataset a copy of another one.
    fn reset(&self, from: &Path) {
        fs::remove_dir_all(self.dataset()).unwrap();
        copy(from, &self.dataset());
    }

    /// Returns what the dataset has, whose versions are all whole.
    fn state(&self, what: &str) -> State {
        let dataset = self.dataset();
        let answer = |version: u64| {
            let found = Verification::of(&dataset, Some(version.into())).unwrap();
            assert_eq!(found.faults, Vec::<String>::new(), "{what}, version {version}");
            let fields = ["account", "opportunityId", "type", "eventCount", "total", "closedRevenue"];
            let query = EventsQuery::new(fields, "2025-01-01".parse().unwrap(), "2025-01-31".parse().unwrap());
            let mut bytes = Vec::new();
            let table = Dataset::open_as_of(&dataset, version).unwrap().query(&query).unwrap();
            json::write_ndjson(&table, &mut bytes).unwrap();
            (version, String::from_utf8(bytes).unwrap())
        };
        let answers = versions::list(&dataset).unwrap().into_iter().map(answer).collect();
        State { answers, records: records(&dataset).len() }
    }

    /// Returns whether a reader may notice a command: one of the files in `before` is gone, or there is a new manifest.
    fn is_changed(&self, before: &BTreeSet<PathBuf>) -> bool {
        let (dataset, now) = (self.dataset(), counting(&self.dataset()));
        let is_manifest =
            |path: &PathBuf| path.parent() == Some(&dataset) && path.extension().is_some_and(|end| end == "json");
        !before.is_subset(&now) || now.iter().any(|path| is_manifest(path) && !before.contains(path))
    }

    /// Checks what a command may leave: manifests, the files that they name, and expired files that wait.
    fn check_files(&self, what: &str) {
        let dataset = self.dataset();
        let mut known = BTreeSet::new();
        for version in versions::list(&dataset).unwrap() {
            known.insert(dataset.join(format!("manifest-{version:08}.json")));
            let manifest = versions::read(&dataset, version).unwrap();
            known.extend(manifest.files().map(|file| dataset.join(&file.path)));
        }
        for record in records(&dataset) {
            let text = fs::read_to_string(&record).unwrap();
            known.extend(text.lines().filter_map(|line| Some(dataset.join(line.split_once(' ')?.1))));
            known.insert(record);
        }
        known.extend(["batches", "events", "forgotten", "lists", "vectors"].map(|folder| dataset.join(folder)));
        let strays: Vec<PathBuf> = counting(&dataset).into_iter().filter(|path| !known.contains(path)).collect();
        assert_eq!(strays, Vec::<PathBuf>::new(), "{what}");
    }
}

/// Returns the paths of everything in a dataset that is no tombstone.
fn counting(dataset: &Path) -> BTreeSet<PathBuf> {
    const TOMBSTONE_BYTES: u64 = 232;
    let is_tombstone = |path: &PathBuf| {
        let is_manifest = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"manifest-"));
        is_manifest && path.metadata().is_ok_and(|found| found.len() == TOMBSTONE_BYTES)
    };
    paths(dataset).into_iter().filter(|path| !is_tombstone(path)).collect()
}

/// Returns the records of expired versions.
fn records(dataset: &Path) -> Vec<PathBuf> {
    paths(dataset).into_iter().filter(|path| path.to_string_lossy().contains("/.trueup-expired-")).collect()
}

impl State {
    /// Returns the newest version and its answer.
    fn newest(&self) -> (u64, &str) {
        self.answers.last_key_value().map(|(version, answer)| (*version, &**answer)).unwrap()
    }

    /// Checks the state that a kill left, of a command that makes `new` of `old`. Returns whether there is a new
    /// version.
    fn check(&self, old: &Self, new: &Self, what: &str) -> bool {
        for (version, answer) in &self.answers {
            let expected = new.answers.get(version).or_else(|| old.answers.get(version));
            assert_eq!(expected, Some(answer), "{what}, version {version}");
        }
        for version in old.answers.keys().filter(|version| new.answers.contains_key(version)) {
            assert!(self.answers.contains_key(version), "{what}: version {version} is gone");
        }
        assert!(self.newest().0 >= old.newest().0, "{what}: the newest version is gone");
        self.newest().0 > old.newest().0
    }
}

/// Kills a command at random moments: half of the kills come at any time of its whole duration, the others shortly
/// after a reader may notice the command.
fn kill(folder: &Folder, prepare: Option<&str>, command: &str, kills: u32) -> Kills {
    let kept = tempfile::tempdir().unwrap();
    let kept = kept.path().join("ds");
    prepare.map(|prepare| folder.run(prepare));
    copy(&folder.dataset(), &kept);
    let (old, before) = (folder.state(command), counting(&folder.dataset()));
    folder.run(NEXT);
    let next_of_old = folder.state(command);
    folder.reset(&kept);
    let mut whole = folder.run(command);
    let new = folder.state(command);
    folder.check_files(command);
    folder.run(NEXT);
    let next_of_new = folder.state(command);
    assert_ne!(old, new, "{command}");
    let (mut moments, mut done) = (Moments::new(), Kills::default());
    for kill in 0.. {
        if done.before + done.after >= kills && done.before > 0 && done.after > 0 {
            break;
        }
        assert!(kill < 50 * kills, "{command}: {} before, {} after, {} ended", done.before, done.after, done.ended);
        folder.reset(&kept);
        let mut child = folder.command(command).spawn().unwrap();
        if kill % 4 < 2 {
            sleep(moments.of(whole));
        } else {
            while !folder.is_changed(&before) && child.try_wait().unwrap().is_none() {}
            sleep(moments.of(whole / 40));
        }
        child.kill().unwrap();
        let is_killed = child.wait().unwrap().signal().is_some();
        let what = format!("kill {kill} of {command}");
        let is_changed = folder.is_changed(&before);
        let is_new = folder.state(&what).check(&old, &new, &what);
        match (is_killed, is_changed) {
            (true, false) => done.before += 1,
            (true, true) => done.after += 1,
            (false, is_changed) => {
                assert!(is_changed, "{what}");
                done.ended += 1;
            }
        }
        if kill % 2 == 0 {
            let time = folder.run(command);
            // How long the command takes depends on what else runs on the machine.
            if !is_changed {
                whole = time;
            }
            let found = folder.state(&what);
            if is_new && command.starts_with("ingest") {
                // Events with ids are applied again, so that there is one more version.
                assert_eq!(found.newest().1, new.newest().1, "{what}, again");
            } else {
                assert_eq!(found, new, "{what}, again");
            }
        } else {
            folder.run(NEXT);
            let next = if is_new { &next_of_new } else { &next_of_old };
            let found = folder.state(&what);
            assert_eq!(found.newest().1, next.newest().1, "{what}, then {NEXT}");
            assert!(found.records <= next_of_old.records, "{what}, then {NEXT}");
        }
        folder.check_files(&what);
        // Once its version is published, a purge is completed by the next command, whichever that is.
        if command.contains("--purge") && (is_new || kill % 2 == 0) {
            assert_eq!(files_with(&folder.dataset(), &[ANN]).unwrap(), Vec::<PathBuf>::new(), "{what}");
        }
    }
    done
}

#[test]
fn a_kill_at_a_random_moment_leaves_the_old_or_the_new_version() {
    let kills = if is_exhaustive() { 300 } else { 20 };
    for (prepare, command) in COMMANDS {
        let Kills { before, after, ended } = kill(&Folder::new(), prepare, command, kills);
        println!("{command}: {before} kills before readers may notice it, {after} after that, {ended} too late");
    }
}
