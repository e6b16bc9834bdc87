//! Values of a column that differ only in case or blanks, such as `Google Ads` and `google ads`. A query counts them as
//! different values, and a table shows them as if they were the same.
//!
//! The files that an ingest has written are compared with each other and, in a folder, with the other files of the
//! version, unless these have far more rows. Of each row group, the dictionaries are decoded and a page of each column.
//! Stored files in an object store are not compared, because reading them would take longer than most ingests.

use crate::version::VersionFiles;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;
use std::path::Path;
use trueup_core::dataset::manifest::{DataFile, Manifest};
use trueup_core::dataset::{DatasetError, DeletionVector, EventFile, is_url};
use trueup_core::model::{ACCOUNT, SPEND_COLUMNS, is_leading_column, is_own_column};
use trueup_core::{Interrupt, Shown};

/// The most values of a column that is compared. A column with more has ids, numbers or names of people.
const MAX_VALUES: usize = 2_000;

/// The rows of a row group whose values are decoded even without a dictionary. A column without one has at least half
/// as many values as rows, so that in a larger row group it has too many values anyway.
const FIRST_ROWS: usize = 2 * MAX_VALUES;

/// The most bytes of a column of a row group that is read, apart from those per row: the dictionary of many values.
/// What a column of long texts takes would be missing from the memory of the ingest.
const BYTES_OF_VALUES: u64 = 1 << 20;

/// The most bytes per row: a code of two bytes.
const BYTES_PER_ROW: u64 = 2;

/// The columns of a row group that a thread reads at the same time.
const COLUMNS_AT_ONCE: usize = 8;

/// The most rows of stored files per new row, and those of any ingest, that are compared: the comparison with a large
/// dataset must not take longer than the ingest.
const STORED_ROWS_PER_NEW: u64 = 32;
const STORED_ROWS: u64 = 200_000;

/// The number of columns of spend that are texts or days, which come first. The others are summed.
const SPEND_KEYS: usize = 6;

/// The most values that differ that a warning names, and the most spellings of each.
const NAMED: usize = 5;

/// The values of the columns of some files.
#[derive(Default)]
struct Columns(
    /// By the name of the column; `None` for a column with too many values.
    BTreeMap<String, Option<HashSet<String>>>,
);

/// The spellings of values by what they have in common, by column.
type Spellings<'a> = BTreeMap<&'a str, BTreeMap<String, BTreeSet<String>>>;

/// The values of the files of events and spend that an ingest has written.
pub(crate) struct NewValues {
    columns: Columns,
    /// The paths of the files.
    files: BTreeSet<String>,
    rows: u64,
}

impl Columns {
    /// Reads the values of a file. A file that cannot be read has none, because nothing but a warning depends on them.
    fn of_file(dir: &Path, file: &DataFile, interrupt: &Interrupt) -> Self {
        let names = file.columns.iter().filter(|name| is_compared(name));
        let mut columns = Self(names.map(|name| (name.clone(), Some(HashSet::new()))).collect());
        drop(columns.add_file(dir, file, interrupt));
        columns
    }

    fn add_file(&mut self, dir: &Path, file: &DataFile, interrupt: &Interrupt) -> Result<(), DatasetError> {
        let opened = OpenedFile::open(dir, file, interrupt)?;
        for row_group in 0..file.row_groups.len() {
            let names = self.names_in(file);
            opened.each_value(row_group, &names, &mut |name, value| self.add(name, value))?;
        }
        Ok(())
    }

    /// Returns the columns of a file that have values here.
    fn names_in<'f>(&self, file: &'f DataFile) -> BTreeSet<&'f str> {
        file.columns.iter().map(String::as_str).filter(|name| self.of(name).is_some()).collect()
    }

    /// Adds a value of a column, unless the column has too many.
    fn add(&mut self, name: &str, value: &str) {
        let Some(known) = self.0.get_mut(name) else { return };
        let is_full = known.as_mut().is_some_and(|values| {
            if !values.contains(value) {
                values.insert(value.to_owned());
            }
            values.len() > MAX_VALUES
        });
        if is_full {
            *known = None;
        }
    }

    /// Adds the values of other files.
    fn merge(&mut self, other: Self) {
        for (name, values) in other.0 {
            let known = self.0.entry(name).or_insert_with(|| Some(HashSet::new()));
            let both = known.take().zip(values).map(|(mut known, values)| {
                known.extend(values);
                known
            });
            *known = both.filter(|values| values.len() <= MAX_VALUES);
        }
    }

    /// Returns the values of a column; `None` if it has too many, or if no file has it.
    fn of(&self, name: &str) -> Option<&HashSet<String>> {
        self.0.get(name)?.as_ref()
    }
}

impl NewValues {
    /// Reads the values of the files that a version has written, before it is published. The files that other processes
    /// have written to an object store are left out.
    pub(crate) fn read(version: &VersionFiles, manifest: &Manifest, interrupt: &Interrupt) -> Self {
        let own: Vec<&DataFile> = data_files(manifest).filter(|file| version.has_written(file)).collect();
        let folder = version.folder();
        let read: Vec<Columns> = own.par_iter().map(|file| Columns::of_file(folder, file, interrupt)).collect();
        let mut columns = Columns::default();
        read.into_iter().for_each(|of_file| columns.merge(of_file));
        let rows = own.iter().map(|file| file.rows).sum();
        Self { columns, files: own.into_iter().map(|file| file.path.clone()).collect(), rows }
    }

    /// Returns a warning for each column with values that differ only in case or blanks, at least one of which is new.
    /// `manifest` is that of the published version.
    pub(crate) fn warnings(&self, dir: &Path, manifest: &Manifest, interrupt: &Interrupt) -> Vec<String> {
        let mut spellings = Spellings::new();
        for (name, values) in &self.columns.0 {
            let of_column = spellings.entry(name.as_str()).or_default();
            for value in values.iter().flatten() {
                of_column.entry(folded(value)).or_default().insert(value.clone());
            }
        }
        let others: Vec<&DataFile> = data_files(manifest).filter(|file| !self.files.contains(&file.path)).collect();
        let stored_rows: u64 = others.iter().map(|file| file.rows).sum();
        if !is_url(dir) && stored_rows <= STORED_ROWS.max(self.rows.saturating_mul(STORED_ROWS_PER_NEW)) {
            let others_in = |file: &&DataFile| {
                let superseded = manifest.superseded.get(&file.path).map(|vector| &**vector);
                // As in a new file: nothing but a warning depends on it.
                self.others_in(dir, (*file, superseded), &spellings, interrupt).unwrap_or_default()
            };
            let others: Vec<BTreeSet<(String, String)>> = others.par_iter().map(others_in).collect();
            for (name, value) in others.into_iter().flatten() {
                if let Some(of_column) = spellings.get_mut(name.as_str()) {
                    of_column.entry(folded(&value)).or_default().insert(value);
                }
            }
        }
        spellings.iter().filter_map(|(name, of_column)| warning(name, of_column)).collect()
    }

    /// Returns the values of a stored file, each with its column, that are other spellings of new values.
    fn others_in(
        &self,
        dir: &Path,
        (file, superseded): (&DataFile, Option<&DeletionVector>),
        spellings: &Spellings<'_>,
        interrupt: &Interrupt,
    ) -> Result<BTreeSet<(String, String)>, DatasetError> {
        let mut found = BTreeSet::new();
        let names = self.columns.names_in(file);
        if names.is_empty() {
            return Ok(found);
        }
        let is_other = |name: &str, value: &str| {
            self.columns.of(name).is_some_and(|values| !values.contains(value))
                && spellings.get(name).is_some_and(|of_column| of_column.contains_key(&folded(value)))
        };
        let opened = OpenedFile::open(dir, file, interrupt)?;
        for row_group in 0..file.row_groups.len() {
            let left = superseded.and_then(|vector| vector.left_ranges(&file.row_groups, row_group));
            let mut others: Vec<(String, String)> = Vec::new();
            opened.each_value(row_group, &names, &mut |name, value| {
                if is_other(name, value) {
                    others.push((name.to_owned(), value.to_owned()));
                }
            })?;
            for (name, value) in others {
                // A dictionary also has the values of superseded rows, such as the ones that this ingest corrects.
                let is_left = match &left {
                    None => true,
                    Some(left) => opened.has_value(row_group, (name.as_str(), value.as_str()), left)?,
                };
                if is_left {
                    found.insert((name, value));
                }
            }
        }
        Ok(found)
    }
}

/// A file of events or spend, whose footer was read.
struct OpenedFile<'a> {
    stored: &'a DataFile,
    file: EventFile,
}

impl<'a> OpenedFile<'a> {
    fn open(dir: &Path, stored: &'a DataFile, interrupt: &Interrupt) -> Result<Self, DatasetError> {
        let file = EventFile::open(dir, stored, (0..stored.row_groups.len()).collect(), interrupt)?;
        Ok(Self { stored, file })
    }

    /// Passes on the values that columns of a row group have, superseded rows included, with the names of the columns.
    /// Of a column with too many values, it passes on some or none.
    fn each_value(
        &self,
        row_group: usize,
        names: &BTreeSet<&str>,
        take: &mut dyn FnMut(&str, &str),
    ) -> Result<(), DatasetError> {
        let limit = BYTES_OF_VALUES + BYTES_PER_ROW * self.stored.row_groups[row_group].rows;
        let columns = self.file.column_bytes(row_group)?.into_iter();
        let small = columns.filter(|(name, bytes)| names.contains(name) && *bytes <= limit);
        let small: Vec<&str> = small.map(|(name, _)| name).collect();
        for names in small.chunks(COLUMNS_AT_ONCE) {
            let read = self.file.row_group(row_group, Some(names), std::iter::once(0..FIRST_ROWS).collect())?;
            for name in names {
                let texts = read.texts(name)?;
                let values = texts.texts().take(MAX_VALUES + 1).filter_map(|value| str::from_utf8(value).ok());
                values.for_each(|value| take(name, value));
            }
        }
        Ok(())
    }

    /// Returns whether one of some rows of a row group has a value, given with the name of its column.
    fn has_value(
        &self,
        row_group: usize,
        (name, value): (&str, &str),
        among: &[Range<usize>],
    ) -> Result<bool, DatasetError> {
        let read = self.file.row_group(row_group, Some(&[name]), among.to_vec())?;
        let texts = read.texts(name)?;
        let with_value = texts.rows_with(|other| other == value.as_bytes());
        Ok(among.iter().any(|rows| with_value.first(rows.clone()).is_some()))
    }
}

/// Returns the files of events and spend of a version.
fn data_files(manifest: &Manifest) -> impl Iterator<Item = &DataFile> {
    manifest.events.iter().chain(&manifest.spend)
}

/// Returns whether the values of a column are compared: those of dimensions, sources and accounts, and no ids of
/// customers and events.
fn is_compared(name: &str) -> bool {
    let is_other = is_leading_column(name) || is_own_column(name) || SPEND_COLUMNS[SPEND_KEYS..].contains(&name);
    name == ACCOUNT || !is_other
}

/// Returns what the spellings of a value have in common.
fn folded(value: &str) -> String {
    value.chars().filter(|char| !char.is_whitespace()).flat_map(char::to_lowercase).collect()
}

/// Returns the warning about the values of a column; `None` if each has one spelling.
fn warning(column: &str, spellings: &BTreeMap<String, BTreeSet<String>>) -> Option<String> {
    let several: Vec<&BTreeSet<String>> = spellings.values().filter(|spelled| spelled.len() > 1).collect();
    let mut values: Vec<String> = several.iter().take(NAMED).map(|spelled| listed(spelled)).collect();
    if several.len() > NAMED {
        values.push(format!("and so do {} more values", several.len() - NAMED));
    }
    (!values.is_empty()).then(|| {
        format!(
            "values of `{}` differ only in case or blanks, and count as different values: {}. If they mean the same, give them one \
             spelling, such as by `map` in a mapping, and ingest them again",
            Shown(column),
            values.join("; ")
        )
    })
}

/// Returns the spellings of a value.
fn listed(spelled: &BTreeSet<String>) -> String {
    let mut names: Vec<String> = spelled.iter().take(NAMED).map(|value| shown(value)).collect();
    if spelled.len() > NAMED {
        names.push(format!("{} others", spelled.len() - NAMED));
    }
    let last = names.pop().unwrap_or_default();
    format!("{} and {last}", names.join(", "))
}

/// Returns a value in backticks. Blanks that look like others, such as one that does not break, are escaped.
fn shown(value: &str) -> String {
    let mut visible = String::with_capacity(value.len());
    for char in value.chars() {
        if char.is_whitespace() && char != ' ' {
            visible.extend(char.escape_default());
        } else {
            visible.push(char);
        }
    }
    format!("`{}`", Shown(&visible))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warned(values: &[&str]) -> Option<String> {
        let mut spellings: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for value in values {
            spellings.entry(folded(value)).or_default().insert((*value).to_owned());
        }
        warning("campaign", &spellings)
    }

    #[test]
    fn a_warning_names_some_spellings_and_counts_the_others() {
        assert_eq!(warned(&["Brand", "Brands", "Bränd", "brand-2"]), None);
        let named = |values: &[&str]| {
            let text = warned(values)?;
            let (_, named) = text.split_once("different values: ")?;
            named.split_once(". If").map(|(named, _)| named.to_owned())
        };
        let few = ["ÄRZTE", "Ärzte", "Big Brand", "Big  Brand", "Big\u{a0}Brand"];
        assert_eq!(named(&few).unwrap(), "`Big  Brand`, `Big Brand` and `Big\\u{a0}Brand`; `ÄRZTE` and `Ärzte`");
        let many = ["aaa", "aaA", "aAa", "aAA", "Aaa", "AaA", "AAa"];
        assert_eq!(named(&many).unwrap(), "`AAa`, `AaA`, `Aaa`, `aAA`, `aAa` and 2 others");
        let values: Vec<String> = ('a'..'i').flat_map(|char| [char.to_string(), format!("{char} ")]).collect();
        let values = named(&values.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
        assert!(values.ends_with("`e` and `e `; and so do 3 more values"), "{values}");
    }
}
