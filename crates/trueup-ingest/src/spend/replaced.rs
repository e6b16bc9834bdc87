//! Which stored rows of spend an ingest replaces: those of the accounts, days and sources of its rows, and those of a
//! source that it removes. They get a deletion vector, and their files stay as they are. A file of which less than half
//! would be left is written again as a whole. The rows that would count twice next to new ones are found, too.
//!
//! The lists of files say which accounts and days a row group may have. Of the row groups that may have such rows, the
//! columns of the keys are read, then the campaigns and the amounts, which follow each other, if one of its rows is
//! replaced, and of all others nothing. Campaigns take most of the bytes.

use super::new_spend::{AccountSpend, Fate, Replacement};
use super::stored_spend::StoredSpend;
use super::{CAMPAIGN, KEY_COLUMNS, SpendKey, campaigns, spend_keys};
use crate::IngestError;
use crate::amounts::{RowAmounts, TotalsBySource};
use crate::error::{ErrorContext, TwiceRows};
use crate::live_rows::{LeftCursor, Superseded, either};
use crate::monitor::Monitor;
use crate::table::Table;
use arrow_array::{Array as _, RecordBatch};
use arrow_schema::ArrowError;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use trueup_core::dataset::manifest::DataFile;
use trueup_core::dataset::{ControlTotals, Days, DeletionVector};
use trueup_core::model::SPEND_AMOUNTS;

/// What an ingest does with the stored files.
#[derive(Default)]
pub(super) struct Replaced {
    /// The files that the next version has, too.
    pub(super) kept: Vec<DataFile>,
    /// The files whose remaining rows are all written again, each with the deletion vector of all its
    /// superseded rows.
    pub(super) rewritten: Vec<(DataFile, DeletionVector)>,
    /// The replaced rows of kept files, by the paths of the files.
    pub(super) vectors: BTreeMap<String, DeletionVector>,
    pub(super) census: RowCensus,
}

/// The stored rows that do not simply stay, by what becomes of them.
#[derive(Default)]
pub(super) struct RowCensus {
    /// The replaced rows, by source and channel.
    pub(super) by_channel: TotalsBySource,
    /// The replaced rows with amounts of campaigns that the new rows of their account and source lack, by source and
    /// campaign. Rows whose channel is lost are not among them.
    pub(super) lost_campaigns: TotalsBySource,
    /// The rows that are removed with their source.
    pub(super) removed: ControlTotals,
    /// The rows that would count twice, by source.
    pub(super) twice: BTreeMap<String, TwiceRows>,
}

/// Finds the replaced rows of the stored files.
pub(super) fn find(
    files: &[DataFile],
    superseded: &Superseded,
    dir: &Path,
    new: &Replacement,
    monitor: &Monitor,
) -> Result<Replaced, IngestError> {
    let of_file =
        |file: &DataFile| replaced_rows(file, superseded.get(&file.path).map(|vector| &**vector), dir, new, monitor);
    let scanned: Vec<(DeletionVector, RowCensus)> = files.par_iter().map(of_file).collect::<Result<_, _>>()?;
    let mut found = Replaced::default();
    for (file, (vector, of_file)) in files.iter().zip(scanned) {
        found.census.merge(of_file);
        let mut all = superseded.get(&file.path).map(|vector| (**vector).clone()).unwrap_or_default();
        all.merge(&vector);
        if vector.rows() == 0 {
            found.kept.push(file.clone());
        } else if all.rows().saturating_mul(2) > file.rows {
            found.rewritten.push((file.clone(), all));
        } else {
            found.kept.push(file.clone());
            found.vectors.insert(file.path.clone(), vector);
        }
    }
    Ok(found)
}

impl RowCensus {
    /// Adds the rows after these.
    fn merge(&mut self, later: Self) {
        self.by_channel.merge(later.by_channel);
        self.lost_campaigns.merge(later.lost_campaigns);
        self.removed += later.removed;
        for (source, rows) in later.twice {
            self.twice.entry(source).or_default().merge(rows);
        }
    }
}

/// Returns the rows of a file that are replaced or removed, and were not superseded before.
fn replaced_rows(
    file: &DataFile,
    superseded: Option<&DeletionVector>,
    dir: &Path,
    new: &Replacement,
    monitor: &Monitor,
) -> Result<(DeletionVector, RowCensus), IngestError> {
    let (mut found, mut census) = (DeletionVector::default(), RowCensus::default());
    let left = superseded.map(|vector| vector.left(file));
    let has_rows = |number: usize| left.as_ref().is_none_or(|left| left.get(number).is_some_and(|rows| *rows > 0));
    let entries = file.row_groups.iter().enumerate();
    let numbers: Vec<usize> = entries
        .filter(|(number, entry)| has_rows(*number) && new.may_concern(entry))
        .map(|(number, _)| number)
        .collect();
    if numbers.is_empty() {
        return Ok((found, census));
    }
    let opened = StoredSpend::open(dir, file, monitor)?;
    let scan = |number: &usize| {
        monitor.check()?;
        let left = superseded.and_then(|vector| vector.left_ranges(&file.row_groups, *number));
        let mut scan = RowGroupScan::new(new, left);
        for batch in opened.read(*number, &KEY_COLUMNS)? {
            scan.add(&batch).doing("read stored spend")?;
        }
        if !scan.replaced.is_empty() {
            scan.count(&opened.read(*number, &[CAMPAIGN, SPEND_AMOUNTS[0], SPEND_AMOUNTS[1]])?);
        }
        Ok((*number, scan))
    };
    let scans: Vec<(usize, RowGroupScan<'_>)> = numbers.par_iter().map(scan).collect::<Result<_, IngestError>>()?;
    for (number, scan) in scans {
        census.merge(scan.census);
        if !scan.replaced.is_empty() {
            found.supersede(file, number, scan.replaced, scan.left_days);
        }
    }
    Ok((found, census))
}

/// Why a stored row goes: new rows replace it, given with its account, source and channel, or `None` if its whole
/// source is removed.
type Reason = Option<[String; 3]>;

/// The rows of a row group, while they are read.
struct RowGroupScan<'a> {
    new: &'a Replacement,
    /// The rows that the file has left.
    left: LeftCursor,
    /// The account of the last row, and its new spend.
    account: Option<(String, Option<&'a AccountSpend>)>,
    /// The number of rows read.
    rows: usize,
    /// The rows that are left and replaced: ascending, and neither empty nor adjacent.
    replaced: Vec<Range<u64>>,
    /// The number of the reason of each of these rows.
    reasons: Vec<usize>,
    known_reasons: BTreeMap<Reason, usize>,
    /// The days of the rows that are left and not replaced.
    left_days: Days,
    census: RowCensus,
}

impl<'a> RowGroupScan<'a> {
    fn new(new: &'a Replacement, left: Option<Vec<Range<usize>>>) -> Self {
        let (left, census) = (LeftCursor::new(left), RowCensus::default());
        let (replaced, reasons, known_reasons) = (Vec::new(), Vec::new(), BTreeMap::new());
        Self { new, left, account: None, rows: 0, replaced, reasons, known_reasons, left_days: None, census }
    }

    /// Adds the keys of the next rows.
    fn add(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        for key in spend_keys(batch)? {
            let row = self.rows;
            self.rows += 1;
            if !self.left.has(row) {
                continue;
            }
            let new = match &self.account {
                Some((last, new)) if last == key.account => *new,
                _ => {
                    let new = self.new.of(key.account);
                    self.account = Some((key.account.to_owned(), new));
                    new
                }
            };
            let SpendKey { account, day, source, channel } = key;
            let reason = match self.new.fate(new, key) {
                Fate::Replaced => Some([account, source, channel].map(str::to_owned)),
                Fate::Removed => None,
                fate => {
                    if fate == Fate::CountsTwice {
                        self.census.twice.entry(source.to_owned()).or_default().add(account, day, channel);
                    }
                    self.left_days = either(self.left_days, Some((day, day)));
                    continue;
                }
            };
            let next = self.known_reasons.len();
            self.reasons.push(*self.known_reasons.entry(reason).or_insert(next));
            let row = row as u64;
            match self.replaced.last_mut() {
                Some(last) if last.end == row => last.end += 1,
                _ => self.replaced.push(row..row + 1),
            }
        }
        Ok(())
    }

    /// Counts the replaced rows with their amounts, once all keys were added. `batches` have the campaigns and the
    /// amounts of all rows.
    fn count(&mut self, batches: &[RecordBatch]) {
        let mut totals = vec![ControlTotals::default(); self.known_reasons.len()];
        // The new spend and the source by which to find out whether a campaign of rows with this reason is lost.
        let mut new_of: Vec<Option<(&AccountSpend, &str)>> = vec![None; self.known_reasons.len()];
        for (reason, number) in &self.known_reasons {
            if let Some([account, source, _]) = reason.as_ref().filter(|key| self.new.channels().contains(&key[2])) {
                new_of[*number] = self.new.of(account).map(|new| (new, source.as_str()));
            }
        }
        let mut replaced = self.replaced.iter().cloned().flatten().zip(&self.reasons).peekable();
        let mut rows = 0..0;
        for batch in batches {
            rows = rows.end..rows.end + batch.num_rows() as u64;
            let amounts = RowAmounts::read(batch, Table::Spend);
            let names = campaigns(batch);
            while let Some((row, reason)) = replaced.next_if(|(row, _)| rows.contains(row)) {
                let Ok(row) = usize::try_from(row - rows.start) else { continue };
                let amount = amounts.of(row);
                totals[*reason] += amount;
                if let (Some((new, source)), Some(names)) = (new_of[*reason], names)
                    && (amount.ad_spend != 0 || amount.management_fee != 0)
                    && names.is_valid(row)
                    && new.lacks_campaign(source, names.value(row))
                {
                    self.census.lost_campaigns.add(source, names.value(row), amount);
                }
            }
        }
        for (reason, number) in std::mem::take(&mut self.known_reasons) {
            match reason {
                Some([_, source, channel]) => self.census.by_channel.add(&source, &channel, totals[number]),
                None => self.census.removed += totals[number],
            }
        }
    }
}
