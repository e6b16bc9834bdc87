//! The block cache: it answers without requests what was read before, never with other bytes than those of the store,
//! and stays within its bound.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "../remote/stored.rs"]
mod stored;

use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use stored::{Stored, answers, queries};
use tempfile::TempDir;
use trueup_core::ResultTable;
use trueup_core::dataset::{BlockCache, Verification, set_block_cache};
use trueup_testkit::object_server::Requested;

/// A stored dataset, and the block cache of the process, which one test uses at a time.
struct Cached {
    stored: Stored,
    dir: TempDir,
    _process: MutexGuard<'static, ()>,
}

impl Cached {
    /// Sets a cache of at most `bytes` bytes for a small dataset with several files of events.
    fn small(bytes: u64) -> Self {
        Self::of(Stored::new, bytes)
    }

    /// Sets a cache of at most `bytes` bytes for a larger dataset, with longer files of events.
    fn large(bytes: u64) -> Self {
        Self::of(|| Stored::of(60_000, 60_000, 10), bytes)
    }

    fn of(stored: impl FnOnce() -> Stored, bytes: u64) -> Self {
        static PROCESS: Mutex<()> = Mutex::new(());
        let process = PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
        let cached = Self { stored: stored(), dir: tempfile::tempdir().unwrap(), _process: process };
        set_block_cache(Some(BlockCache::open(cached.dir.path(), bytes).unwrap()));
        cached
    }

    /// Answers all queries with a dataset that is opened now. Returns what opening it and answering them requested.
    fn answers(&self) -> (Vec<ResultTable>, Vec<Requested>, Vec<Requested>) {
        drop(self.stored.server.take_log());
        let dataset = self.stored.remote();
        let opening = self.stored.server.take_log();
        (answers(&dataset), opening, self.stored.server.take_log())
    }

    /// Returns the files of the cache, the largest first.
    fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<_> = fs::read_dir(self.dir.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort_by_key(|path| std::cmp::Reverse(fs::symlink_metadata(path).unwrap().len()));
        files
    }

    /// Returns the bytes that the cache takes on the disk.
    #[cfg(unix)]
    fn taken(&self) -> u64 {
        let taken = |path: &PathBuf| std::os::unix::fs::MetadataExt::blocks(&fs::metadata(path).unwrap()) * 512;
        self.files().iter().map(taken).sum()
    }
}

impl Drop for Cached {
    fn drop(&mut self) {
        set_block_cache(None);
    }
}

#[test]
fn what_was_read_before_is_not_requested_again() {
    let cached = Cached::large(1 << 30);
    let expected = answers(&cached.stored.local());
    let (first, _, requested) = cached.answers();
    assert_eq!(first, expected);
    assert!(!requested.is_empty());

    let (second, opening, requested) = cached.answers();
    assert_eq!((second, requested), (expected, Vec::new()));
    // One request lists the versions, one reads the manifest, one finds the length of the insights.
    let mut names: Vec<&str> = opening.iter().map(|request| request.path.trim_start_matches("bucket/acme/")).collect();
    names.sort_unstable();
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(names[0].is_empty() && names[1].starts_with("insights/") && names[2].starts_with("manifest-"), "{names:?}");
}

#[test]
fn only_what_is_not_kept_is_requested() {
    let cached = Cached::large(1 << 30);
    let local = cached.stored.local();
    let requested = |number: usize| {
        let dataset = cached.stored.remote();
        drop(cached.stored.server.take_log());
        let query = &queries(&dataset)[number];
        assert_eq!(dataset.query(query).unwrap(), local.query(query).unwrap());
        let requested = cached.stored.server.take_log();
        requested.into_iter().map(|request| request.range.unwrap()).map(|range| range.end - range.start).sum::<u64>()
    };
    // The second query reads row groups of the last 90 days, and the first one those of all days.
    let (part, rest, again) = (requested(1), requested(0), requested(0));
    let other = tempfile::tempdir().unwrap();
    set_block_cache(Some(BlockCache::open(other.path(), 1 << 30).unwrap()));
    let all = requested(0);
    assert!(part > 0 && rest > 0 && rest < all, "{part} {rest} {all}");
    assert_eq!(again, 0);
}

#[test]
fn bytes_that_are_not_those_of_the_store_are_fetched_again() {
    let cached = Cached::small(1 << 30);
    let expected = answers(&cached.stored.local());
    assert_eq!(cached.answers().0, expected);
    let whole: Vec<(PathBuf, Vec<u8>)> =
        cached.files().into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    let others: Vec<u8> = whole[0].1.iter().rev().copied().collect();

    type Damage<'a> = (&'a str, Box<dyn Fn(Vec<u8>) -> Vec<u8> + 'a>);
    let each_block = |bytes: &mut Vec<u8>, damage: fn(&mut [u8])| bytes.chunks_mut(65_536).for_each(damage);
    let damages: [Damage<'_>; 8] = [
        (
            "first byte of each block",
            Box::new(move |mut bytes| {
                each_block(&mut bytes, |block| block[0] ^= 1);
                bytes
            }),
        ),
        (
            "last byte of each block",
            Box::new(move |mut bytes| {
                each_block(&mut bytes, |block| *block.last_mut().unwrap() ^= 0x80);
                bytes
            }),
        ),
        (
            "half of each block",
            Box::new(move |mut bytes| {
                each_block(&mut bytes, |block| {
                    let half = block.len() / 2;
                    block[half..].fill(0);
                });
                bytes
            }),
        ),
        ("truncated", Box::new(|bytes| bytes[..bytes.len() / 2].to_vec())),
        ("empty", Box::new(|_| Vec::new())),
        ("longer", Box::new(|bytes| [&bytes[..], b"more"].concat())),
        ("moved", Box::new(|bytes| [b"x", &bytes[..bytes.len() - 1]].concat())),
        ("another file", Box::new(|bytes| others.iter().copied().cycle().take(bytes.len()).collect())),
    ];
    for (name, damage) in damages {
        for (path, bytes) in &whole {
            fs::write(path, damage(bytes.clone())).unwrap();
        }
        let (found, opening, requested) = cached.answers();
        assert_eq!(found, expected, "{name}");
        // Only bytes that follow the end of the object do not matter.
        assert_eq!(opening.len() + requested.len() > 3, name != "longer", "{name}");
        // The cache has been mended.
        assert_eq!(cached.answers().2, [], "{name}");
    }
}

#[test]
fn anything_in_place_of_a_file_changes_no_answer() {
    let cached = Cached::small(1 << 30);
    let expected = answers(&cached.stored.local());
    assert_eq!(cached.answers().0, expected);
    let files = cached.files();
    for (number, path) in files.iter().enumerate() {
        let other = cached.dir.path().join("other");
        fs::rename(path, &other).unwrap();
        match number % 3 {
            0 => fs::create_dir(path).unwrap(),
            1 => {}
            #[cfg(unix)]
            _ => std::os::unix::fs::symlink(&files[0], path).unwrap(),
            #[cfg(not(unix))]
            _ => {}
        }
    }
    assert_eq!(cached.answers().0, expected);
}

#[test]
fn a_cache_that_cannot_be_written_any_more_changes_no_answer() {
    let cached = Cached::small(1 << 30);
    let expected = answers(&cached.stored.local());
    fs::remove_dir(cached.dir.path()).unwrap();
    assert_eq!(cached.answers().0, expected);
    // Neither does a file in place of the folder.
    File::create(cached.dir.path()).unwrap();
    assert_eq!(cached.answers().0, expected);
    fs::remove_file(cached.dir.path()).unwrap();
}

#[cfg(unix)]
#[test]
fn the_files_of_the_cache_take_at_most_its_bytes() {
    let cached = Cached::large(1 << 30);
    let expected = answers(&cached.stored.local());
    assert_eq!(cached.answers().0, expected);
    let all = cached.taken();
    for bytes in [all / 2, all / 3, 100_000, 0] {
        set_block_cache(Some(BlockCache::open(cached.dir.path(), bytes).unwrap()));
        assert!(cached.taken() <= bytes, "{bytes}");
        for _ in 0..2 {
            let dataset = cached.stored.remote();
            for (query, expected) in queries(&dataset).iter().zip(&expected) {
                assert_eq!(dataset.query(query).unwrap(), *expected);
                assert!(cached.taken() <= bytes, "{bytes}");
            }
        }
    }
}

#[test]
fn threads_share_the_cache() {
    let cached = Cached::small(1 << 30);
    let expected = answers(&cached.stored.local());
    for _ in 0..3 {
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| assert_eq!(answers(&cached.stored.remote()), expected));
            }
        });
    }
    assert_eq!(cached.answers().2, []);
}

#[test]
fn verification_reads_the_store_and_not_the_cache() {
    let cached = Cached::small(1 << 30);
    assert_eq!(cached.answers().0, answers(&cached.stored.local()));
    let name = &cached.stored.local().manifest().unwrap().events[0].path.clone();
    let path = cached.stored.folder().join(name);
    let mut bytes = fs::read(&path).unwrap();
    bytes[100] ^= 1;
    fs::write(&path, bytes).unwrap();
    let faults = Verification::of(cached.stored.url(), None).unwrap().faults;
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(faults[0].contains(name.as_str()), "{faults:?}");
}
