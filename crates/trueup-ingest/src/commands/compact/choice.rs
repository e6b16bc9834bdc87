//! Which stored files a compaction merges: a pure function of the files of a table.
//!
//! The files that one pass has written are a *run*: they divide the accounts among them, so that a query about an
//! account needs few of them. Every ingest adds a run, and leaves superseded rows in older runs. Runs are merged by
//! size, as in size-tiered LSM trees, where superseded rows count like rows of smaller runs: both are out of place.
//!
//! The smallest runs are merged into the next larger one as soon as what is out of place is [`FAN_OUT`] - 1 times as
//! large as that run. A row is therefore written again only when it moves into a run that is [`FAN_OUT`] times as
//! large: at most about log(rows of the dataset / rows of an ingest) times, to the base [`FAN_OUT`]. The largest run is
//! merged as soon as what is out of place is [`MAX_WASTE`] of it, which bounds both the superseded rows and what a
//! query reads in addition.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

/// How many runs of about the same size are merged into one.
pub(super) const FAN_OUT: u64 = 4;

/// The share of the largest run, in percent, that superseded rows and all smaller runs may have together.
const MAX_WASTE: u64 = 50;

/// A stored file, as far as the choice depends on it.
#[derive(Clone, Debug)]
pub(super) struct StoredFile<'a> {
    /// What the names of all files that one pass has written have in common, and no others.
    pub(super) pass: &'a str,
    /// A lower and an upper bound of its accounts; `None` if unknown.
    pub(super) accounts: Option<(&'a str, &'a str)>,
    /// The rows that are not superseded.
    pub(super) left: u64,
    pub(super) superseded: u64,
    /// The bytes of `left`, approximately.
    pub(super) bytes: u64,
}

/// How much may be merged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    /// With fewer runs than this, none are merged.
    pub(super) min_runs: usize,
    /// The most bytes that are merged.
    pub(super) max_bytes: u64,
    /// The rows of a file that is large enough to stay a file by itself.
    pub(super) full_rows: u64,
}

/// Returns the numbers of the files to merge, ascending; none if the files are as they should be. What is merged makes
/// a single run. With no limit of bytes, repeating the choice ends after a few merges.
pub(super) fn choose(files: &[StoredFile<'_>], extent: Extent) -> Vec<usize> {
    let mut runs = runs(files, extent.full_rows);
    if runs.len() < extent.min_runs {
        return Vec::new();
    }
    runs.sort_by_key(|run| run.left);
    let last = runs.len().saturating_sub(1);
    let (mut smaller, mut superseded, mut bytes, mut merged) = (0_u64, 0_u64, 0_u64, 0);
    for (at, run) in runs.iter().enumerate() {
        superseded += run.superseded;
        bytes += run.bytes;
        let wasted = smaller + superseded;
        let limit = if at == last { percent(run.left, MAX_WASTE) } else { run.left.saturating_mul(FAN_OUT - 1) };
        if wasted > 0 && wasted >= limit && bytes <= extent.max_bytes {
            merged = at + 1;
        }
        smaller += run.left;
    }
    let mut chosen: Vec<usize> = runs.into_iter().take(merged).flat_map(|run| run.files).collect();
    chosen.sort_unstable();
    chosen
}

/// Returns a share of some rows, rounded up.
fn percent(rows: u64, share: u64) -> u64 {
    rows.saturating_mul(share).div_ceil(100)
}

/// Files no two of which have rows of the same account, as far as their passes allow.
#[derive(Default)]
struct Run<'a> {
    files: Vec<usize>,
    left: u64,
    superseded: u64,
    bytes: u64,
    /// The accounts of its files, as ranges that do not overlap: the upper bound by the lower one.
    accounts: BTreeMap<&'a str, &'a str>,
    has_unknown: bool,
}

/// Divides files into runs. The files of a pass are in one run. A pass with full files joins the run of another pass if
/// the two have no account in common: it may have replaced some files of that run.
fn runs<'a>(files: &[StoredFile<'a>], full_rows: u64) -> Vec<Run<'a>> {
    let mut passes: BTreeMap<&str, Run<'a>> = BTreeMap::new();
    for (number, file) in files.iter().enumerate() {
        passes.entry(file.pass).or_default().add(number, file);
    }
    let mut passes: Vec<Run<'a>> = passes.into_values().collect();
    passes.sort_by_key(|pass| std::cmp::Reverse(pass.left));
    let mut runs: Vec<Run<'a>> = Vec::new();
    for pass in passes {
        let is_full = pass.left >= full_rows.saturating_mul(pass.files.len() as u64);
        match runs.iter_mut().find(|run| is_full && !run.overlaps(&pass)) {
            Some(run) => run.extend(pass),
            None => runs.push(pass),
        }
    }
    runs
}

impl<'a> Run<'a> {
    /// Adds a file of the same pass.
    fn add(&mut self, number: usize, file: &StoredFile<'a>) {
        self.files.push(number);
        self.left += file.left;
        self.superseded += file.superseded;
        self.bytes += file.bytes;
        match file.accounts {
            Some((first, last)) => self.cover(first, last),
            None => self.has_unknown = true,
        }
    }

    /// Adds a range of accounts, united with the ranges that it overlaps: the files of a distributed ingest overlap.
    fn cover(&mut self, mut first: &'a str, mut last: &'a str) {
        while let Some((&start, &end)) = self.accounts.range(..=last).next_back()
            && end >= first
        {
            self.accounts.remove(start);
            (first, last) = (start.min(first), end.max(last));
        }
        self.accounts.insert(first, last);
    }

    /// Adds files of another pass, which has no account in common with this run.
    fn extend(&mut self, other: Self) {
        self.files.extend(other.files);
        self.left += other.left;
        self.superseded += other.superseded;
        self.bytes += other.bytes;
        self.accounts.extend(other.accounts);
    }

    /// Returns whether files of both may have rows of the same account.
    fn overlaps(&self, other: &Self) -> bool {
        // The ranges of a run do not overlap, so the last one whose lower bound is not above `last` decides.
        let overlaps = |(first, last): (&&'a str, &&'a str)| {
            self.accounts.range(..=*last).next_back().is_some_and(|(_, end)| end >= first)
        };
        self.has_unknown || other.has_unknown || other.accounts.iter().any(overlaps)
    }
}
