use super::{BlockCache, CachedFile, allocated};
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

const BLOCK: u64 = 65_536;

/// A length that is no multiple of a block.
const SIZE: u64 = 5 * BLOCK + 100;

fn cache(bytes: u64) -> (TempDir, BlockCache) {
    let dir = tempfile::tempdir().unwrap();
    let cache = BlockCache::open(dir.path().join("new/cache"), bytes).unwrap();
    (dir, cache)
}

/// Opens what a cache has of the object with a number.
fn file(cache: &BlockCache, number: u64) -> CachedFile {
    cache.file(&format!("{number:064x}"), SIZE)
}

fn object() -> Vec<u8> {
    (0..SIZE).map(|at| (at % 251) as u8 + 1).collect()
}

/// Writes blocks of an object as if they were fetched together.
fn write(cache: &BlockCache, number: u64, start: u64, end: u64) {
    let (from, to) = (usize::try_from(start).unwrap(), usize::try_from(end).unwrap());
    file(cache, number).write(&(start..end), start, &object()[from..to]);
}

/// Returns the bytes that all files take on the disk.
fn taken(folder: &Path) -> u64 {
    fs::read_dir(folder).unwrap().map(|entry| allocated(&entry.unwrap().metadata().unwrap())).sum()
}

#[test]
fn blocks_that_were_written_are_read_and_others_are_missing() {
    let (_dir, cache) = cache(1 << 30);
    let whole = 0..SIZE;
    assert_eq!(file(&cache, 1).missing(&whole), whole);
    write(&cache, 1, BLOCK, 3 * BLOCK);
    let cached = file(&cache, 1);
    assert_eq!(cached.missing(&(BLOCK..3 * BLOCK)), 3 * BLOCK..3 * BLOCK);
    assert_eq!(cached.missing(&(BLOCK..4 * BLOCK)), 3 * BLOCK..4 * BLOCK);
    assert_eq!(cached.missing(&(0..2 * BLOCK)), 0..BLOCK);
    assert_eq!(cached.missing(&whole), whole);
    let (bytes, at) = (object(), |block: u64| usize::try_from(block * BLOCK).unwrap());
    let read = cached.read_around(&(BLOCK..4 * BLOCK), &(3 * BLOCK..4 * BLOCK), &bytes[at(3)..at(4)]).unwrap();
    assert_eq!(read, bytes[at(1)..at(4)]);

    // The last block is shorter than others.
    write(&cache, 1, 3 * BLOCK, SIZE);
    let cached = file(&cache, 1);
    assert_eq!(cached.missing(&whole), 0..BLOCK);
    assert_eq!(cached.read_around(&whole, &(0..BLOCK), &bytes[..at(1)]).unwrap(), bytes);
    // Another object with other bytes has a file of its own.
    assert_eq!(file(&cache, 2).missing(&whole), whole);
}

#[test]
fn a_file_of_another_length_is_brought_to_that_of_the_object() {
    let (_dir, cache) = cache(1 << 30);
    let path = cache.0.path.join(&file(&cache, 1).name);
    for length in [0, 1, BLOCK + 1, SIZE + BLOCK] {
        File::create(&path).unwrap().set_len(length).unwrap();
        write(&cache, 1, 2 * BLOCK, SIZE);
        assert_eq!(fs::metadata(&path).unwrap().len(), SIZE);
        assert_eq!(file(&cache, 1).missing(&(0..SIZE)), 0..2 * BLOCK);
    }
    // What is no longer there is zeros.
    let cached = file(&cache, 1);
    File::options().write(true).open(&path).unwrap().set_len(3 * BLOCK).unwrap();
    let read = cached.read_around(&(2 * BLOCK..SIZE), &(SIZE..SIZE), &[]).unwrap();
    let kept = usize::try_from(BLOCK).unwrap();
    assert_eq!(read.len() as u64, SIZE - 2 * BLOCK);
    assert!(read[..kept].iter().all(|byte| *byte != 0) && read[kept..].iter().all(|byte| *byte == 0));
}

#[test]
fn files_that_were_not_used_for_long_are_removed_and_others_stay() {
    let bytes = 24 * BLOCK;
    let (_dir, cache) = cache(bytes);
    let folder = &cache.0.path;
    let others = ["a.blocks", "notes.txt", &"0".repeat(64), &format!("{}.blocks", "G".repeat(64))];
    for other in others {
        fs::write(folder.join(other), [1; 100]).unwrap();
    }
    let foreign = taken(folder);
    for number in 0..4 {
        write(&cache, number, 0, SIZE);
        let age = Duration::from_secs(100 - number);
        let file = File::open(folder.join(file(&cache, number).name)).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }
    // Opening a file is a use of it.
    drop(file(&cache, 0));
    for number in 4..20 {
        write(&cache, number, 0, SIZE);
        assert!(taken(folder) - foreign <= bytes, "{number}");
        let whole = file(&cache, number).missing(&(0..SIZE));
        assert!(whole.is_empty(), "{number}");
        // First, the other three are removed.
        assert!(number > 6 || file(&cache, 0).file.is_some(), "{number}");
    }
    assert!(file(&cache, 1).file.is_none());
    assert!(others.iter().all(|other| folder.join(other).exists()));

    // Another process that allows fewer bytes removes the rest.
    drop(BlockCache::open(folder, 7 * BLOCK).unwrap());
    assert!((1..=7 * BLOCK).contains(&(taken(folder) - foreign)));
    let none = BlockCache::open(folder, 0).unwrap();
    write(&none, 1, 0, SIZE);
    assert_eq!(taken(folder), foreign);
}

#[cfg(unix)]
#[test]
fn files_are_private_and_links_are_not_followed() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let (dir, cache) = cache(1 << 30);
    write(&cache, 1, 0, BLOCK);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&cache.0.path), mode(&cache.0.path.join(&file(&cache, 1).name))), (0o700, 0o600));

    let other = dir.path().join("other");
    fs::write(&other, "other").unwrap();
    symlink(&other, cache.0.path.join(&file(&cache, 2).name)).unwrap();
    write(&cache, 2, 0, BLOCK);
    assert_eq!(file(&cache, 2).missing(&(0..BLOCK)), 0..BLOCK);
    assert_eq!(fs::read(&other).unwrap(), b"other");
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    fs::write(&path, "").unwrap();
    for folder in [path.clone(), path.join("below")] {
        let error = BlockCache::open(&folder, 1 << 30).unwrap_err().to_string();
        let expected = format!("the block cache cannot use the folder `{}`: ", folder.display());
        assert!(error.starts_with(&expected) && error.ends_with("; name a folder that can be written"), "{error}");
    }
}
