//! Which numbers of versions are taken. A number that was taken once is never free again, so that the creation of a
//! manifest, which succeeds only if nothing has its name, decides alone who gets a number.
//!
//! A number is taken by a manifest, by a tombstone, or because it is not above the *floor*: the highest number in the
//! name of a file `expired-to-00000012`. Nothing with the name of a manifest counts up to there, and may be removed.
//! The floor only rises, and stays below all versions. `docs/design.md` says why there are both, and what they cost.

use super::error::ManifestError;
use super::manifest_file::file_name;
use super::storage::Storage;
use std::io;
use std::time::{Duration, SystemTime};
use trueup_store::Entry;

/// What the name of the file of a floor begins with; the number follows.
pub(super) const FLOOR_PREFIX: &str = "expired-to-";

/// What the file of a floor says to somebody who looks at it.
const FLOOR: &str = "All versions of this trueup dataset up to the number in the name of this file have expired.\n";

/// The age from which a manifest or a tombstone may be removed behind the floor. A writer that has published a version,
/// and learns of it later than this, may not be able to tell its version from one that got the number before.
const SETTLED_AFTER: Duration = Duration::from_secs(60 * 60);

/// The most names that one writer removes behind the floor: removing one takes a request.
const REMOVED_AT_ONCE: usize = 1_000;

/// The most lists of names that are read until one shows all numbers at one time.
pub(super) const LISTS: usize = 16;

/// The numbers that are taken.
#[derive(Clone, Debug)]
pub(super) struct VersionNumbers {
    floor: u64,
    /// The numbers above the floor, ascending, each with the file of its manifest or tombstone.
    above: Vec<(u64, Entry)>,
    /// The names of files that do not count any more: of manifests and tombstones up to the floor, and of earlier
    /// floors.
    below: Vec<String>,
}

/// What has expired and may be removed behind a higher floor.
#[derive(Clone, Debug, Default)]
pub(super) struct Settled {
    /// The new floor; `None` if it stays.
    floor: Option<u64>,
    /// Names that do not count once the floor is there.
    names: Vec<String>,
}

impl VersionNumbers {
    pub(super) fn list(storage: &Storage<'_>) -> Result<Self, ManifestError> {
        Ok(Self::of(storage.list()?))
    }

    /// Finds the numbers in a list of all names.
    pub(super) fn of(entries: Vec<Entry>) -> Self {
        let floors = entries.iter().filter_map(|entry| floor_of(&entry.name));
        let floor = floors.max().unwrap_or(0);
        let (mut above, mut below) = (Vec::new(), Vec::new());
        for entry in entries {
            match version_of(&entry.name) {
                Some(version) if version > floor => above.push((version, entry)),
                Some(_) => below.push(entry.name),
                None if floor_of(&entry.name).is_some_and(|found| found < floor) => below.push(entry.name),
                None => {}
            }
        }
        above.sort_unstable_by_key(|(version, _)| *version);
        Self { floor, above, below }
    }

    /// Returns the highest number that is taken; 0 if none is.
    pub(super) fn highest(&self) -> u64 {
        self.above.last().map_or(self.floor, |(version, _)| *version)
    }

    /// Returns the floor: no version has a number up to this one.
    pub(super) const fn floor(&self) -> u64 {
        self.floor
    }

    /// Returns the versions, ascending.
    pub(super) fn versions(&self, storage: &Storage<'_>) -> Result<Vec<u64>, ManifestError> {
        let mut versions = Vec::new();
        for (version, entry) in &self.above {
            let is_tombstone = storage.is_tombstone(entry);
            if !is_tombstone.map_err(|error| storage.failed("read", &entry.name, error))? {
                versions.push(*version);
            }
        }
        Ok(versions)
    }

    /// Finds what may be removed behind the floor once the versions below `kept` have expired: what was written long
    /// enough before `now`.
    pub(super) fn settled_below(&self, kept: u64, storage: &Storage<'_>, now: SystemTime) -> io::Result<Settled> {
        let mut settled = Settled { floor: None, names: self.below.clone() };
        for (version, entry) in self.above.iter().take_while(|(version, _)| *version < kept) {
            let age = now.duration_since(storage.modified(entry)?).unwrap_or_default();
            if age < SETTLED_AFTER {
                break;
            }
            settled.floor = Some(*version);
            settled.names.push(entry.name.clone());
        }
        if settled.floor.is_some() && self.floor > 0 {
            settled.names.push(floor_name(self.floor));
        }
        Ok(settled)
    }

    /// Finds what may be removed behind the floor now, because all versions up to there have expired.
    pub(super) fn settled(&self, storage: &Storage<'_>, now: SystemTime) -> io::Result<Settled> {
        for (version, entry) in &self.above {
            if !storage.is_tombstone(entry)? {
                return self.settled_below(*version, storage, now);
            }
        }
        // Without a version there is nothing that would have to be small.
        Ok(Settled::default())
    }
}

/// What one list of names shows of the newest version.
enum Newest<T> {
    /// The newest version, if there is one; and whether tombstones have higher numbers.
    Found(Option<T>, bool),
    /// The names changed while they were listed or read.
    Changed,
}

/// Reads the newest version of a dataset by its number; `None` if it has none. Also returns the highest number that was
/// taken when this version was the newest.
pub(super) fn read_newest<T>(
    storage: &Storage<'_>,
    read: impl Fn(u64) -> Result<T, ManifestError>,
) -> Result<(Option<T>, u64), ManifestError> {
    let mut numbers = VersionNumbers::list(storage)?;
    for left in (0..LISTS).rev() {
        match numbers.newest(&read, left == 0)? {
            Newest::Found(newest, false) => return Ok((newest, numbers.highest())),
            // A version expires only if there is a later one. So if no later number is taken by now, the tombstones
            // were there when the version was read.
            Newest::Found(newest, true) => {
                let again = VersionNumbers::list(storage)?;
                if again.highest() == numbers.highest() {
                    return Ok((newest, numbers.highest()));
                }
                numbers = again;
            }
            Newest::Changed => numbers = VersionNumbers::list(storage)?,
        }
    }
    let text = "versions appear and expire faster than they can be listed";
    Err(storage.failed("list", "", io::Error::new(io::ErrorKind::ResourceBusy, text)))
}

impl VersionNumbers {
    /// Reads the newest version.
    fn newest<T>(
        &self,
        read: &impl Fn(u64) -> Result<T, ManifestError>,
        is_last: bool,
    ) -> Result<Newest<T>, ManifestError> {
        let mut above = None;
        for (version, _) in self.above.iter().rev() {
            // A list in several parts may lack a version that was published meanwhile, and have a later number. A gap
            // that stays was made by somebody who removed a manifest.
            if above.is_some_and(|above| version + 1 != above) && !is_last {
                return Ok(Newest::Changed);
            }
            match read(*version) {
                Ok(found) => return Ok(Newest::Found(Some(found), above.is_some())),
                Err(ManifestError::Expired { .. }) => above = Some(*version),
                Err(ManifestError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound && !is_last => {
                    return Ok(Newest::Changed);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Newest::Found(None, above.is_some()))
    }
}

impl Settled {
    /// Returns the new floor; 0 if it stays.
    pub(super) fn floor(&self) -> u64 {
        self.floor.unwrap_or(0)
    }

    /// Raises the floor, and removes the names behind it; at most [`REMOVED_AT_ONCE`] unless `all` are to be removed.
    /// What stays does not count, and is removed the next time.
    pub(super) fn remove(&self, storage: &Storage<'_>, all: bool) -> Result<(), ManifestError> {
        if let Some(floor) = self.floor {
            storage.create(&floor_name(floor), FLOOR.as_bytes())?;
            storage.sync()?;
        }
        let most = if all { usize::MAX } else { REMOVED_AT_ONCE };
        self.names.iter().take(most).try_for_each(|name| storage.remove(name))
    }
}

/// Returns the name of the file of a floor.
fn floor_name(floor: u64) -> String {
    format!("{FLOOR_PREFIX}{floor:08}")
}

/// Returns the floor whose file has a name; `None` if the name is another one.
fn floor_of(name: &str) -> Option<u64> {
    let floor = name.strip_prefix(FLOOR_PREFIX)?.parse().ok()?;
    (name == floor_name(floor)).then_some(floor)
}

/// Returns the version whose manifest has a name; `None` if no version's has, for example because the number in it has
/// fewer digits.
fn version_of(name: &str) -> Option<u64> {
    let version = name.strip_prefix("manifest-")?.strip_suffix(".json")?.parse().ok()?;
    (name == file_name(version)).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::super::tombstone::{fence, tombstone};
    use super::*;
    use std::cell::RefCell;
    use std::fs;
    use tempfile::TempDir;

    /// Makes a folder with files of numbers: `m` is a manifest, `t` a tombstone, `f` a fence, and `-` nothing. The
    /// first one is number 1.
    fn folder(files: &str) -> TempDir {
        let dir = tempfile::tempdir().unwrap();
        put(&dir, files);
        dir
    }

    fn put(dir: &TempDir, files: &str) {
        for (number, kind) in (1..).zip(files.chars()) {
            let bytes = match kind {
                'm' => b"{}".to_vec(),
                't' => tombstone(b"{}"),
                'f' => fence(),
                _ => continue,
            };
            fs::write(dir.path().join(file_name(number)), bytes).unwrap();
        }
    }

    /// Reads as the reader of manifests does. Calls `meanwhile` once, before it reads.
    fn newest(dir: &TempDir, meanwhile: impl FnOnce()) -> Result<(Option<u64>, u64), ManifestError> {
        let (storage, meanwhile) = (Storage::open(dir.path()).unwrap(), RefCell::new(Some(meanwhile)));
        read_newest(&storage, |version| {
            if let Some(meanwhile) = meanwhile.take() {
                meanwhile();
            }
            let (path, name) = (dir.path().join(file_name(version)), file_name(version));
            let bytes = fs::read(&path).map_err(|error| storage.failed("read", &name, error))?;
            if bytes == b"{}" { Ok(version) } else { Err(ManifestError::Expired { path, version }) }
        })
    }

    #[test]
    fn the_newest_version_is_below_fences_and_the_next_number_above_them() {
        for (files, expected) in [
            ("", (None, 0)),
            ("m", (Some(1), 1)),
            ("mm", (Some(2), 2)),
            ("tm", (Some(2), 2)),
            ("mf", (Some(1), 2)),
            ("tmff", (Some(2), 4)),
            ("f", (None, 1)),
            // Somebody has removed manifests.
            ("m-f", (Some(1), 3)),
            ("--m", (Some(3), 3)),
        ] {
            assert_eq!(newest(&folder(files), || ()).unwrap(), expected, "{files}");
        }
    }

    #[test]
    fn a_version_that_expires_while_it_is_looked_for_is_not_taken_for_a_fence() {
        let dir = folder("mm");
        assert_eq!(newest(&dir, || put(&dir, "ttm")).unwrap(), (Some(3), 3));
        // It may even be gone.
        let dir = folder("mm");
        let expire = || {
            put(&dir, "--m");
            [1, 2].into_iter().for_each(|version| fs::remove_file(dir.path().join(file_name(version))).unwrap());
        };
        assert_eq!(newest(&dir, expire).unwrap(), (Some(3), 3));
    }

    #[test]
    fn nothing_counts_up_to_the_highest_floor() {
        let dir = folder("mtmtm");
        let numbers = || VersionNumbers::list(&Storage::open(dir.path()).unwrap()).unwrap();
        let versions = || numbers().versions(&Storage::open(dir.path()).unwrap()).unwrap();
        assert_eq!((versions(), numbers().floor(), numbers().highest()), (vec![1, 3, 5], 0, 5));
        for floor in [1, 3] {
            fs::write(dir.path().join(floor_name(floor)), FLOOR).unwrap();
        }
        fs::write(dir.path().join("expired-to-9"), FLOOR).unwrap();
        assert_eq!((versions(), numbers().floor(), numbers().highest()), (vec![5], 3, 5));
        // The number of a dataset without versions stays taken, too.
        fs::write(dir.path().join(floor_name(8)), FLOOR).unwrap();
        assert_eq!((versions(), numbers().floor(), numbers().highest()), (vec![], 8, 8));
    }

    #[test]
    fn what_expired_an_hour_ago_goes_behind_the_floor_up_to_the_first_version() {
        let (dir, now) = (folder("ttttmtm"), SystemTime::now());
        fs::write(dir.path().join(floor_name(1)), FLOOR).unwrap();
        let storage = Storage::open(dir.path()).unwrap();
        let settle = |now| {
            let settled = VersionNumbers::list(&storage).unwrap().settled(&storage, now).unwrap();
            settled.remove(&storage, false).unwrap();
            let entries = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
            let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
            names.sort();
            names
        };
        // What is behind the floor already goes at once.
        assert_eq!(settle(now)[..2], [floor_name(1), file_name(2)]);
        assert_eq!(settle(now + SETTLED_AFTER)[..2], [floor_name(4), file_name(5)]);
        assert_eq!(
            settle(now + 2 * SETTLED_AFTER),
            [5, 6, 7].map(file_name).into_iter().fold(vec![floor_name(4)], |names, name| [names, vec![name]].concat())
        );
    }
}
