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

/// Returns the CRC-32 of some bytes (the polynomial of zlib), with which blocks were compared once.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

/// Changes the four bytes at `at` so that the block has this CRC-32. A CRC is linear: each bit that is changed changes
/// the checksum by the same bits, whatever the others are.
fn forge(block: &mut [u8], at: usize, wanted: u32) {
    let base = crc32(block);
    let mut effects: Vec<(u32, u32)> = (0..32)
        .map(|bit| {
            block[at + bit / 8] ^= 1 << (bit % 8);
            let effect = crc32(block) ^ base;
            block[at + bit / 8] ^= 1 << (bit % 8);
            (effect, 1 << bit)
        })
        .collect();
    let (mut missing, mut flipped) = (base ^ wanted, 0);
    for bit in 0..32 {
        let Some(pivot) = effects.iter().position(|(effect, _)| effect >> bit & 1 == 1) else { continue };
        let (effect, bits) = effects.swap_remove(pivot);
        for (other, others) in effects.iter_mut().filter(|(other, _)| other >> bit & 1 == 1) {
            (*other, *others) = (*other ^ effect, *others ^ bits);
        }
        if missing >> bit & 1 == 1 {
            (missing, flipped) = (missing ^ effect, flipped ^ bits);
        }
    }
    block[at..].iter_mut().zip(u32::to_le_bytes(flipped)).for_each(|(byte, flipped)| *byte ^= flipped);
    assert_eq!((missing, crc32(block)), (0, wanted));
}

/// Another dataset with the manifest of the first and forged blocks cannot change the answers of the first through a
/// folder that both use.
#[test]
fn a_forged_copy_does_not_reach_a_dataset_through_the_cache() {
    let cached = Cached::small(1 << 30);
    let expected = answers(&cached.stored.local());
    let url = |name: &str| PathBuf::from(cached.stored.url().to_str().unwrap().replace("/acme", &format!("/{name}")));
    let copy = |name: &str| {
        let to = cached.stored.folder().with_file_name(name);
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            fs::create_dir_all(to.join(&folder)).unwrap();
            for entry in fs::read_dir(cached.stored.folder().join(&folder)).unwrap() {
                let entry = entry.unwrap();
                let below = folder.join(entry.file_name());
                if entry.file_type().unwrap().is_dir() {
                    folders.push(below);
                } else {
                    fs::copy(entry.path(), to.join(below)).unwrap();
                }
            }
        }
        to
    };
    let forged = copy("forged");
    for file in &cached.stored.local().manifest().unwrap().events {
        let path = forged.join(&file.path);
        let mut bytes = fs::read(&path).unwrap();
        for block in bytes.chunks_mut(65_536) {
            let wanted = crc32(block);
            block[10] ^= 0xff;
            forge(block, 20, wanted);
        }
        assert_ne!(bytes, fs::read(cached.stored.folder().join(&file.path)).unwrap());
        fs::write(path, bytes).unwrap();
    }
    let dataset = trueup_core::Dataset::open(url("forged")).unwrap();
    for query in queries(&dataset) {
        let refused = dataset.query(&query).unwrap_err().to_string();
        assert!(refused.contains("/forged/events/"), "{refused}");
    }
    assert_eq!(cached.answers().0, expected);
    // A sound copy has entries of its own: what the first dataset has read is requested for it, too.
    drop((copy("sound"), cached.stored.server.take_log()));
    let sound = trueup_core::Dataset::open(url("sound")).unwrap();
    assert_eq!(answers(&sound), expected);
    let requested = cached.stored.server.take_log();
    assert!(requested.iter().any(|request| request.path.contains("/sound/events/")), "{requested:?}");
    assert_eq!(cached.answers().2, []);
}
