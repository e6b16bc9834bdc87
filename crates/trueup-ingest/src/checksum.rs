//! Checksums of files and of batches of files.

use crate::error::{AtPath, OPEN};
use crate::{IngestError, Progress};
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use trueup_core::dataset::BlockSums;

/// A SHA-256 in lower-case hex.
fn hex(hasher: Sha256) -> String {
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The checksum of a batch: of its inputs' checksums in ascending order, so that the order of the inputs does not matter.
pub(crate) fn of_batch<'a>(
    paths: impl IntoIterator<Item = &'a Path>,
    progress: &dyn Progress,
) -> Result<String, IngestError> {
    let paths: Vec<&Path> = paths.into_iter().collect();
    let mut sums: Vec<String> = paths.into_par_iter().map(|path| of_file(path, progress)).collect::<Result<_, _>>()?;
    sums.sort_unstable();
    let mut hasher = Sha256::new();
    for sum in sums {
        hasher.update(sum.as_bytes());
        hasher.update(b"\n");
    }
    Ok(hex(hasher))
}

fn of_file(path: &Path, progress: &dyn Progress) -> Result<String, IngestError> {
    let mut file = File::open(path).at(OPEN, path)?;
    let mut hasher = Sha256::new();
    let mut bytes = vec![0; 1 << 20];
    loop {
        let length = file.read(&mut bytes).at("read", path)?;
        if length == 0 {
            return Ok(hex(hasher));
        }
        hasher.update(&bytes[..length]);
        progress.advance(u64::try_from(length).unwrap_or(u64::MAX));
    }
}

/// Writes on, and keeps count and checksum of what was written.
pub(crate) struct Summing<W> {
    writer: W,
    hasher: Sha256,
    blocks: BlockSums,
    size: u64,
}

impl<W: Write> Summing<W> {
    pub(crate) fn new(writer: W) -> Self {
        Self { writer, hasher: Sha256::new(), blocks: BlockSums::default(), size: 0 }
    }

    /// What was written to, the bytes written, their checksum, and those of their blocks.
    pub(crate) fn finish(self) -> (W, u64, String, String) {
        (self.writer, self.size, hex(self.hasher), self.blocks.finish())
    }
}

impl<W: Write> Write for Summing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = self.writer.write(bytes)?;
        self.hasher.update(&bytes[..length]);
        self.blocks.add(&bytes[..length]);
        self.size += u64::try_from(length).unwrap_or(0);
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
