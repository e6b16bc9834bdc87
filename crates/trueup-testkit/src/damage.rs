//! Damage to the bytes of files, the same in every run, and copies of the folders whose files are damaged.

use std::path::Path;
use std::{fs, io};

/// A generator of pseudo-random numbers (SplitMix64); equal seeds give equal numbers.
pub struct Numbers(u64);

impl Numbers {
    /// Creates a generator from a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns the next number, below `end`, which must not be 0.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap_or_default()
    }
}

/// Changes one to three sequences of one to four bytes: each byte to an extreme value, by one bit, or to any value.
/// `bytes` must not be empty.
pub fn mutate(bytes: &mut [u8], numbers: &mut Numbers) {
    for _ in 0..1 + numbers.below(3) {
        let (at, count) = (numbers.below(bytes.len()), 1 + numbers.below(4));
        for byte in bytes.iter_mut().skip(at).take(count) {
            *byte = match numbers.below(5) {
                0 => 0xff,
                1 => 0x7f,
                2 => 0,
                3 => *byte ^ (1 << numbers.below(8)),
                _ => numbers.below(256).to_le_bytes()[0],
            };
        }
    }
}

/// Copies a folder and everything in it. The target may exist.
///
/// # Errors
/// If the file system refuses to read `from` or to write `to`.
pub fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let (entry, to) = entry.map(|entry| (entry.path(), to.join(entry.file_name())))?;
        if entry.is_dir() {
            copy_folder(&entry, &to)?;
        } else {
            fs::copy(&entry, &to)?;
        }
    }
    Ok(())
}
