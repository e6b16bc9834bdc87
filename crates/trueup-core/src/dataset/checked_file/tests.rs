//! Reading ranges of a file, and finding changed bytes.

use super::super::block_checksums::{BlockHasher, BlockSums};
use super::*;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// Writes a file of more than three checksum blocks. Returns its path, its bytes, and its entry in a manifest.
fn written() -> (TempDir, PathBuf, Vec<u8>, DataFile) {
    let dir = TempDir::new().unwrap();
    let bytes: Vec<u8> = (0..200_000_u32).map(|at| (at % 251) as u8).collect();
    let mut sums = BlockHasher::default();
    bytes.chunks(777).for_each(|chunk| sums.add(chunk));
    let blocks = sums.finish();
    assert_eq!(blocks.as_bytes().len(), 4 * 16);
    let path = dir.path().join("f");
    fs::write(&path, &bytes).unwrap();
    let size = bytes.len() as u64;
    (dir, path, bytes, DataFile { path: "f".to_owned(), size, blocks, ..DataFile::default() })
}

#[test]
fn any_range_of_a_file_can_be_read() {
    let (dir, _, bytes, promised) = written();
    let file = CheckedFile::open(dir.path(), &promised).unwrap();
    for (start, end) in [(0, 1), (65_535, 65_537), (65_536, 131_072), (70_000, 199_999), (199_999, 300_000), (5, 5)] {
        let expected = &bytes[usize::try_from(start).unwrap()..usize::try_from(end).unwrap().min(bytes.len())];
        assert_eq!(file.bytes(&(start..end)).unwrap(), expected, "{start}..{end}");
    }
    assert_eq!(file.whole().unwrap(), bytes);
    let mut read = Vec::new();
    file.get_read(77).unwrap().read_to_end(&mut read).unwrap();
    assert_eq!(read, &bytes[77..]);
    assert!(file.get_bytes(199_999, 2).is_err());
    assert!(file.get_bytes(u64::MAX, 2).is_err());
}

#[test]
fn a_byte_that_changes_while_the_file_is_open_is_found_each_time() {
    let (dir, path, bytes, promised) = written();
    let file = CheckedFile::open(dir.path(), &promised).unwrap();
    assert_eq!(file.whole().unwrap(), bytes);
    for at in [0, 65_535, 65_536, 131_072, 199_999] {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        fs::write(&path, &changed).unwrap();
        let at = at as u64;
        let from = at / 65_536 * 65_536;
        let found = |error: DatasetError| matches!(error, DatasetError::Checksum { from: found, .. } if found == from);
        for _ in 0..2 {
            assert!(found(file.bytes(&(at..at + 1)).unwrap_err()), "{at}");
            assert!(found(file.whole().unwrap_err()), "{at}");
            assert!(found(io::copy(&mut file.reader(), &mut io::sink()).unwrap_err().downcast().unwrap()), "{at}");
        }
        fs::write(&path, &bytes).unwrap();
        assert_eq!(file.whole().unwrap(), bytes);
    }
    fs::write(&path, &bytes[..150_000]).unwrap();
    let cut = file.whole().unwrap_err().to_string();
    assert_eq!(cut, format!("`{}` has 150000 bytes, but the manifest says 200000", path.display()));
}

#[cfg(feature = "object-store")]
#[test]
fn ranges_of_an_object_that_are_near_each_other_are_read_together() {
    let blocks = 100;
    let sums = BlockSums::from_bytes(&[0; 100 * 16]).unwrap();
    let promised = DataFile { path: "f".to_owned(), size: blocks * BLOCK_BYTES, blocks: sums, ..DataFile::default() };
    let file = CheckedFile::open(Path::new("http://127.0.0.1:1/x"), &promised).unwrap();
    let block = |number: u64| number * BLOCK_BYTES;
    // One block is between the first two ranges, two are between the second and the third, and three between the last
    // two.
    let ranges = [5..10, block(2)..block(3), block(5)..block(5) + 1, block(9)..block(99)];
    let groups = file.groups(&ranges);
    assert_eq!(groups, [(5..block(5) + 1, 3), (block(9)..block(99), 1)]);
    assert_eq!(file.groups(&[]), []);
}

#[test]
fn a_promise_without_a_checksum_for_each_block_is_refused() {
    let (dir, _, _, promised) = written();
    let sums = promised.blocks.as_bytes();
    for sums in [&[], &sums[..16], &sums[16..], &[sums, &[0; 16]].concat()] {
        let promised = DataFile { blocks: BlockSums::from_bytes(sums).unwrap(), ..promised.clone() };
        assert!(CheckedFile::open(dir.path(), &promised).is_err(), "{sums:?}");
    }
    assert_eq!(BlockSums::from_bytes(&sums[1..]), None);
}
