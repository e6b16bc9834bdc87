//! Deletion vectors: the superseded rows of files of events and spend. The files stay as they are, and every reader
//! leaves these rows out.
//!
//! A version names files of deletion vectors. Each holds vectors of several files of the tables, and a file of a table
//! may have vectors in several of them: all their rows are superseded. An ingest thus writes only what it supersedes.

use super::checked_file::CheckedFile;
use super::error::DatasetError;
use super::file_list::{list, lists, numbers, range, texts};
use super::manifest::{DataFile, Manifest, RowGroupEntry};
use crate::scan::ColumnFault;
use arrow_array::cast::AsArray;
use arrow_array::types::Date32Type;
use arrow_array::{Array, ArrayRef, BinaryArray, Date32Array, RecordBatch, StringArray, StructArray, UInt64Array};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::errors::Result as ParquetResult;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use roaring::RoaringBitmap;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use trueup_parquet::{LiveRows, read_all_rows};

/// The first and the last day of some rows, counted from 1970-01-01; `None` if there are no rows.
pub type Days = Option<(i32, i32)>;

/// The superseded rows of a file of events or spend.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeletionVector {
    /// The rows by their position in the file, from 0.
    rows: RoaringBitmap,
    /// The row groups with superseded rows, by their numbers in the file, and the days of the rows that each has left.
    left_days: BTreeMap<u64, Days>,
}

impl DeletionVector {
    /// Adds the superseded `rows` of a row group of a file, counted within the row group. `left_days` are the days of
    /// all rows that the row group has left.
    ///
    /// # Panics
    /// The file has no such row group.
    ///
    /// ```
    /// use trueup_core::dataset::DeletionVector;
    /// use trueup_core::dataset::manifest::{DataFile, RowGroupEntry};
    ///
    /// let row_group = RowGroupEntry { rows: 10, days: Some((5, 9)), ..RowGroupEntry::default() };
    /// let file = DataFile { rows: 20, row_groups: vec![row_group.clone(), row_group].into(), ..DataFile::default() };
    /// let mut vector = DeletionVector::default();
    /// vector.supersede(&file, 1, Some(2..4), Some((5, 8)));
    /// assert_eq!((vector.rows(), vector.left(&file)), (2, vec![10, 8]));
    /// ```
    pub fn supersede(
        &mut self,
        file: &DataFile,
        row_group: usize,
        rows: impl IntoIterator<Item = Range<u64>>,
        left_days: Days,
    ) {
        assert!(row_group < file.row_groups.len(), "the file has no such row group");
        let start = file.row_groups[..row_group].iter().map(|entry| entry.rows).sum::<u64>();
        for rows in rows {
            self.rows.insert_range(positions(start + rows.start..start + rows.end));
        }
        self.left_days.insert(row_group as u64, left_days);
    }

    /// Adds the superseded rows of a later vector of the same file.
    pub fn merge(&mut self, later: &Self) {
        self.rows |= &later.rows;
        self.left_days.extend(&later.left_days);
    }

    /// Returns the number of superseded rows.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows.len()
    }

    /// Returns how many rows each row group of the file has left.
    #[must_use]
    pub fn left(&self, file: &DataFile) -> Vec<u64> {
        row_ranges(&file.row_groups).map(|rows| rows.end - rows.start - self.superseded(&rows)).collect()
    }

    /// Returns the number of superseded rows among these positions.
    fn superseded(&self, rows: &Range<u64>) -> u64 {
        self.rows.range_cardinality(positions(rows.clone()))
    }

    /// Returns the ranges of the rows that a row group has left, counted within the row group; `None` if all are left.
    #[must_use]
    pub fn left_ranges(&self, row_groups: &[RowGroupEntry], row_group: usize) -> Option<Vec<Range<usize>>> {
        self.left_days.get(&(row_group as u64))?;
        let rows = row_ranges(row_groups).nth(row_group)?;
        let (mut left, mut next) = (Vec::new(), rows.start);
        let mut superseded = self.rows.range(positions(rows.clone()));
        let place = |at: u64| usize::try_from(at - rows.start).unwrap_or(usize::MAX);
        while let Some(gone) = superseded.next_range() {
            let (first, last) = (u64::from(*gone.start()), u64::from(*gone.end()));
            if next < first {
                left.push(place(next)..place(first));
            }
            next = last + 1;
        }
        if next < rows.end {
            left.push(place(next)..place(rows.end));
        }
        Some(left)
    }

    /// Returns whether rows of a row group are superseded.
    pub(super) fn concerns(&self, row_group: usize) -> bool {
        self.left_days.contains_key(&(row_group as u64))
    }

    /// Returns the rows that a row group has left; `None` if all are.
    pub(super) fn live_rows(&self, row_groups: &[RowGroupEntry], row_group: usize) -> Option<LiveRows> {
        self.left_ranges(row_groups, row_group).map(LiveRows::new)
    }

    /// Returns what a query needs to know of the rows that a row group has left.
    ///
    /// # Panics
    /// There is no such row group.
    #[must_use]
    pub fn left_entry(&self, row_groups: &[RowGroupEntry], row_group: usize) -> RowGroupEntry {
        let mut entry = row_groups[row_group].clone();
        if let Some(days) = self.left_days.get(&(row_group as u64))
            && let Some(rows) = row_ranges(row_groups).nth(row_group)
        {
            entry.rows -= self.superseded(&rows);
            entry.days = *days;
        }
        entry
    }

    /// Returns whether the vector can be one of a file: its rows are those of the row groups that it names, and their
    /// days are possible.
    pub(super) fn fits(&self, file: &DataFile) -> bool {
        if row_ranges(&file.row_groups).last().is_some_and(|rows| rows.end > u64::from(u32::MAX)) {
            return false;
        }
        let mut total = 0;
        let mut named = 0;
        for (number, (entry, rows)) in (0..).zip(file.row_groups.iter().zip(row_ranges(&file.row_groups))) {
            let superseded = self.superseded(&rows);
            total += superseded;
            let is_sound = match self.left_days.get(&number) {
                None => superseded == 0,
                Some(days) => {
                    named += 1;
                    let within = |(first, last): (i32, i32)| {
                        first <= last && entry.days.is_none_or(|all| all.0 <= first && last <= all.1)
                    };
                    superseded > 0 && days.is_some() == (superseded < entry.rows) && days.is_none_or(within)
                }
            };
            if !is_sound {
                return false;
            }
        }
        total == self.rows.len() && named == self.left_days.len()
    }
}

/// Returns the positions of the rows of each row group in its file.
fn row_ranges(row_groups: &[RowGroupEntry]) -> impl Iterator<Item = Range<u64>> {
    let mut end = 0_u64;
    row_groups.iter().map(move |entry| {
        let start = end;
        end = end.saturating_add(entry.rows);
        start..end
    })
}

/// Returns positions as a bitmap holds them. A file with more rows than a bitmap has positions has no deletion vector.
fn positions(rows: Range<u64>) -> Range<u32> {
    let position = |at: u64| u32::try_from(at).unwrap_or(u32::MAX);
    position(rows.start)..position(rows.end)
}

/// Returns the bytes of a file of deletion vectors, by the paths of the files whose rows are superseded.
///
/// # Errors
/// The vectors cannot be encoded.
pub fn encode_vectors<'a>(vectors: impl IntoIterator<Item = (&'a str, &'a DeletionVector)>) -> ParquetResult<Vec<u8>> {
    let vectors: Vec<(&str, &DeletionVector)> = vectors.into_iter().collect();
    let bitmap = |(_, vector): &(_, &DeletionVector)| {
        // Superseded rows are mostly consecutive, and runs of them take few bytes.
        let mut rows = vector.rows.clone();
        rows.optimize();
        let mut bytes = Vec::with_capacity(rows.serialized_size());
        rows.serialize_into(&mut bytes).map(|()| bytes)
    };
    let bitmaps = vectors.iter().map(bitmap).collect::<Result<Vec<_>, _>>()?;
    let left = || vectors.iter().flat_map(|(_, vector)| &vector.left_days);
    let day = |end: fn((i32, i32)) -> i32| Arc::new(left().map(|(_, days)| days.map(end)).collect::<Date32Array>());
    let fields: Vec<ArrayRef> = vec![
        Arc::new(UInt64Array::from_iter_values(left().map(|(number, _)| *number))),
        day(|days| days.0),
        day(|days| days.1),
    ];
    let row_groups: ArrayRef = Arc::new(StructArray::try_new(row_group_fields(), fields, None)?);
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(vectors.iter().map(|(path, _)| path))),
        Arc::new(UInt64Array::from_iter_values(vectors.iter().map(|(_, vector)| vector.rows()))),
        Arc::new(BinaryArray::from_iter_values(bitmaps)),
        list(row_group(), vectors.iter().map(|(_, vector)| vector.left_days.len()), row_groups)?,
    ];
    let batch = RecordBatch::try_new(Arc::new(schema()), arrays)?;
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .build();
    let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
    let mut writer = ArrowWriter::try_new_with_options(Vec::new(), batch.schema(), options)?;
    writer.write(&batch)?;
    writer.into_inner()
}

/// Returns the columns of a file of deletion vectors.
fn schema() -> Schema {
    Schema::new(vec![
        Field::new("path", DataType::Utf8, false),
        Field::new("rows", DataType::UInt64, false),
        Field::new("bitmap", DataType::Binary, false),
        Field::new_list("rowGroups", row_group(), false),
    ])
}

fn row_group() -> FieldRef {
    Arc::new(Field::new("element", DataType::Struct(row_group_fields()), false))
}

fn row_group_fields() -> Fields {
    Fields::from(vec![
        Field::new("number", DataType::UInt64, false),
        Field::new("firstDay", DataType::Date32, true),
        Field::new("lastDay", DataType::Date32, true),
    ])
}

/// Reads the files of deletion vectors that a manifest names, and puts the superseded rows of its files into the
/// manifest. Vectors of files that the version no longer has do not count.
pub(super) fn read_vectors(folder: &Path, manifest: &mut Manifest) -> Result<(), DatasetError> {
    let mut superseded: BTreeMap<String, DeletionVector> = BTreeMap::new();
    for file in &manifest.deletion_vectors {
        for (path, vector) in read_vector_file(folder, file)? {
            superseded.entry(path).or_default().merge(&vector);
        }
    }
    let files = manifest.events.iter().chain(&manifest.spend);
    let of_file = |file: &DataFile| Some((file.path.clone(), Arc::new(superseded.remove(&file.path)?)));
    manifest.superseded = files.filter_map(of_file).collect();
    Ok(())
}

/// Reads a file of deletion vectors: the path of each file with superseded rows, and these rows.
///
/// # Errors
/// The file is missing, unreadable or damaged.
pub fn read_vector_file(folder: &Path, promised: &DataFile) -> Result<Vec<(String, DeletionVector)>, DatasetError> {
    let file = CheckedFile::open(folder, promised)?;
    let path = file.path().to_owned();
    let mut vectors = Vec::new();
    for batch in read_all_rows(file.whole()?).map_err(DatasetError::parquet(&path, None))? {
        let decoded = decode_batch(&batch).map_err(|ColumnFault { column, fault }| DatasetError::Damaged {
            path: path.clone(),
            row_group: None,
            column,
            fault,
        })?;
        vectors.extend(decoded);
    }
    let found = vectors.len() as u64;
    if found != promised.rows {
        return Err(DatasetError::Length { path, unit: "rows", found, promised: promised.rows });
    }
    Ok(vectors)
}

fn decode_batch(batch: &RecordBatch) -> Result<Vec<(String, DeletionVector)>, ColumnFault> {
    const NAME: &str = "rowGroups";
    let column = |name| batch.column_by_name(name);
    let (paths, rows) = (texts("path", column("path"))?, numbers("rows", column("rows"))?);
    let bitmaps = column("bitmap").and_then(|bitmaps| bitmaps.as_binary_opt::<i32>());
    let bitmaps = bitmaps.ok_or_else(|| ColumnFault::new("bitmap", "the type is wrong"))?;
    let row_groups = lists(NAME, column(NAME))?;
    let wrong_type = || ColumnFault::new(NAME, "the type is wrong");
    let fields = row_groups.values().as_struct_opt().ok_or_else(wrong_type)?;
    let place = numbers(NAME, fields.column_by_name("number"))?;
    let day = |name| fields.column_by_name(name).and_then(|array| array.as_primitive_opt::<Date32Type>());
    let (first, last) = day("firstDay").zip(day("lastDay")).ok_or_else(wrong_type)?;
    let number = |days: &Date32Array, at| days.is_valid(at).then(|| days.value(at));
    let vectors = (0..batch.num_rows()).map(|row| {
        let damaged = || ColumnFault::new("bitmap", "a bitmap does not decode, or has another number of rows");
        let bitmap = RoaringBitmap::deserialize_from(bitmaps.value(row)).map_err(|_| damaged())?;
        if bitmap.len() != rows.value(row) {
            return Err(damaged());
        }
        let left_days = range(row_groups, row).map(|at| (place.value(at), number(first, at).zip(number(last, at))));
        Ok((paths.value(row).to_owned(), DeletionVector { rows: bitmap, left_days: left_days.collect() }))
    });
    vectors.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(rows: &[u64]) -> DataFile {
        let entry = |rows: &u64| RowGroupEntry { rows: *rows, accounts: None, days: Some((5, 9)) };
        DataFile { rows: rows.iter().sum(), row_groups: rows.iter().map(entry).collect(), ..DataFile::default() }
    }

    #[test]
    fn vectors_are_read_as_they_were_written() {
        let file = file(&[100_000, 7, 3]);
        let (mut one, mut other) = (DeletionVector::default(), DeletionVector::default());
        one.supersede(&file, 0, [0..5, 70_000..70_001], Some((5, 7)));
        one.supersede(&file, 2, Some(0..3), None);
        other.supersede(&file, 1, (0..6).map(|row| row..row + 1), Some((9, 9)));
        assert!(one.fits(&file) && other.fits(&file));
        let bytes = encode_vectors([("events/a.parquet", &one), ("events/b.parquet", &other)]).unwrap();
        let batches = read_all_rows(bytes::Bytes::from(bytes)).unwrap();
        let read: Vec<_> = batches.iter().flat_map(|batch| decode_batch(batch).unwrap()).collect();
        assert_eq!(read, [("events/a.parquet".to_owned(), one), ("events/b.parquet".to_owned(), other)]);
    }

    #[test]
    fn superseded_rows_are_counted_and_the_other_ranges_are_left() {
        let file = file(&[10, 4]);
        let mut vector = DeletionVector::default();
        vector.supersede(&file, 0, [2..4, 9..10], Some((5, 8)));
        let mut later = DeletionVector::default();
        later.supersede(&file, 0, Some(4..5), Some((6, 8)));
        later.supersede(&file, 1, Some(0..4), None);
        assert_eq!(vector.left_ranges(&file.row_groups, 1), None);
        vector.merge(&later);
        assert_eq!((vector.rows(), vector.left(&file)), (8, vec![6, 0]));
        assert_eq!(vector.left_ranges(&file.row_groups, 0), Some(vec![0..2, 5..9]));
        assert_eq!(vector.left_ranges(&file.row_groups, 1), Some(vec![]));
        assert_eq!(vector.left_entry(&file.row_groups, 0).days, Some((6, 8)));
        assert_eq!(vector.left_entry(&file.row_groups, 1), RowGroupEntry::default());
    }

    #[test]
    fn a_vector_that_cannot_be_one_of_a_file_does_not_fit() {
        let made = file(&[10, 4]);
        let mut vector = DeletionVector::default();
        vector.supersede(&made, 1, Some(0..2), Some((5, 8)));
        assert!(vector.fits(&made));
        // A row beyond the end, a row group without a superseded row, days of a row group that has no row left, and
        // more rows than a vector can number.
        for rows in [&[10][..], &[12, 4], &[10, 2], &[10, 4, u32::MAX.into()]] {
            assert!(!vector.fits(&file(rows)), "{rows:?}");
        }
        // Other days, and days of no row.
        for days in [Some((4, 8)), Some((8, 10)), Some((8, 7)), None] {
            vector.supersede(&made, 1, None, days);
            assert!(!vector.fits(&made), "{days:?}");
        }
        vector.supersede(&made, 1, None, Some((5, 8)));
        vector.supersede(&made, 0, None, Some((5, 9)));
        assert!(!vector.fits(&made));
    }
}
