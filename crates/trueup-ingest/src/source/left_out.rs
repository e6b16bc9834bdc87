//! Counts the lines of a file of cells that do not become rows: title lines, blank lines, and short rows that a mapping
//! leaves out.

use super::input::ReadOptions;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The lines of one file that were left out. Each reading of the file finds the same ones, so that the counts of the
/// reading that came furthest hold.
#[derive(Debug, Default)]
pub(crate) struct LeftOutLines {
    title_lines: AtomicU64,
    blank_lines: AtomicU64,
    short_rows: AtomicU64,
}

impl LeftOutLines {
    /// Returns the numbers of title lines, blank lines and short rows.
    pub(crate) fn counts(&self) -> [u64; 3] {
        [&self.title_lines, &self.blank_lines, &self.short_rows].map(|count| count.load(Ordering::Relaxed))
    }
}

/// The lines that one reading of a file has left out so far. Several threads add to it.
pub(super) struct LeftOutCount {
    found: LeftOutLines,
    /// The counts of the file; `None` if nobody asks for them.
    file: Option<Arc<LeftOutLines>>,
}

impl LeftOutCount {
    pub(super) fn new(options: &ReadOptions, title_lines: u64) -> Self {
        let found = LeftOutLines { title_lines: title_lines.into(), ..LeftOutLines::default() };
        Self { found, file: options.left_out.clone() }
    }

    pub(super) fn add(&self, blank_lines: u64, short_rows: u64) {
        self.found.blank_lines.fetch_add(blank_lines, Ordering::Relaxed);
        self.found.short_rows.fetch_add(short_rows, Ordering::Relaxed);
    }
}

impl Drop for LeftOutCount {
    fn drop(&mut self) {
        let Some(file) = &self.file else { return };
        let [title_lines, blank_lines, short_rows] = self.found.counts();
        file.title_lines.fetch_max(title_lines, Ordering::Relaxed);
        file.blank_lines.fetch_max(blank_lines, Ordering::Relaxed);
        file.short_rows.fetch_max(short_rows, Ordering::Relaxed);
    }
}
