//! Damage to the bytes of files, the same in every run, and copies of the folders whose files are damaged.

use crate::random::Random;
use std::path::Path;
use std::{fs, io};

/// Changes one to three sequences of one to four bytes: each byte to an extreme value, by one bit, or to any value.
/// `bytes` must not be empty.
pub fn mutate(bytes: &mut [u8], random: &mut Random) {
    for _ in 0..1 + random.index(3) {
        let (at, count) = (random.index(bytes.len()), 1 + random.index(4));
        for byte in bytes.iter_mut().skip(at).take(count) {
            *byte = match random.below(5) {
                0 => 0xff,
                1 => 0x7f,
                2 => 0,
                3 => *byte ^ (1 << random.index(8)),
                _ => random.below(256).to_le_bytes()[0],
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
