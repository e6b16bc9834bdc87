//! Rows of several batches: where the rows of each account are, which accounts are sorted together, and how some of the
//! rows become one batch.

use super::budget::Size;
use super::dictionaries::EventDictionaries;
use super::event_batch::{DimensionColumn, DimensionKind, EventBatch, row_bytes, text_bytes, unsound_column};
use arrow_array::builder::{PrimitiveBuilder, StringBuilder};
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{Array, ArrowNativeTypeOp, PrimitiveArray, StringArray};
use arrow_schema::ArrowError;
use std::collections::BTreeMap;
use std::ops::Range;

/// The most rows of a slice of several accounts.
const MAX_SLICE_ROWS: usize = 1 << 17;

/// The most bytes of a slice of several accounts.
const MAX_SLICE_BYTES: usize = 64 << 20;

/// Consecutive rows of one of several batches.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowRange {
    /// The position of the batch among the batches.
    pub(super) batch: u32,
    /// The number of the first row in the batch.
    pub(super) start: u32,
    /// The number of rows.
    pub(super) len: u32,
}

impl RowRange {
    pub(super) fn rows(self) -> Range<usize> {
        let start = self.start as usize;
        start..start + self.len as usize
    }

    /// Halves the range until no part has more than `max_bytes`, except for single rows.
    pub(super) fn split(self, max_bytes: usize, bytes_of: impl Fn(Self) -> usize) -> Vec<Self> {
        let (mut split, mut left) = (Vec::new(), vec![self]);
        while let Some(range) = left.pop() {
            if range.len <= 1 || bytes_of(range) <= max_bytes {
                split.push(range);
            } else {
                let half = range.len / 2;
                left.push(Self { start: range.start + half, len: range.len - half, ..range });
                left.push(Self { len: half, ..range });
            }
        }
        split
    }
}

/// Which of some consecutive rows the inputs have; the dataset already had the others.
#[derive(Debug, Default)]
pub(super) struct NewRows {
    /// Where each run of rows ends, and whether its rows are new.
    ends: Vec<(usize, bool)>,
}

impl NewRows {
    /// Adds the next rows.
    pub(super) fn push(&mut self, rows: usize, is_new: bool) {
        let end = self.ends.last().map_or(0, |(end, _)| *end) + rows;
        match self.ends.last_mut() {
            Some((last, same)) if *same == is_new => *last = end,
            _ => self.ends.push((end, is_new)),
        }
    }

    /// Returns whether a row is new.
    pub(super) fn has(&self, row: usize) -> bool {
        let run = self.ends.partition_point(|(end, _)| *end <= row);
        self.ends.get(run).is_some_and(|(_, is_new)| *is_new)
    }
}

/// Returns the rows of some batches by account: the account's rank, which is its place in the order of the account
/// keys, and a range of its rows, sorted by rank. Ranges of one account keep the order of the batches. `ranks` gives
/// the rank of each account code.
pub(super) fn ranges_by_account(batches: &[EventBatch], ranks: &[u32]) -> Vec<(u32, RowRange)> {
    let mut ranges = Vec::new();
    for (batch, rows) in (0..).zip(batches) {
        let mut start = 0;
        for (account, len) in rows.account_runs() {
            ranges.push((ranks[account as usize], RowRange { batch, start, len }));
            start += len;
        }
    }
    ranges.sort_by_key(|(rank, _)| *rank);
    ranges
}

/// The number of rows of one account, and the bytes of their texts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AccountSize {
    pub(super) rows: usize,
    pub(super) text_bytes: usize,
}

impl AccountSize {
    /// Returns the size in memory if each row takes `row_bytes` without its texts.
    pub(super) fn size(self, row_bytes: usize) -> Size {
        Size { rows: self.rows, bytes: self.rows * row_bytes + self.text_bytes }
    }
}

/// Whole accounts with consecutive ranks. A slice is sorted as a unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct AccountSlice {
    /// The rank of the first account.
    pub(super) first: u32,
    /// The rank of the last account.
    pub(super) last: u32,
    pub(super) size: Size,
}

impl AccountSlice {
    /// Divides all accounts into slices, in the order of their ranks. `accounts` has a size for each account code.
    pub(super) fn divide(accounts: &[AccountSize], row_bytes: usize, dictionaries: &EventDictionaries) -> Vec<Self> {
        let mut accounts: Vec<(u32, AccountSize)> = (0..)
            .zip(accounts)
            .filter(|(_, account)| account.rows > 0)
            .map(|(code, account)| (dictionaries.account_rank(code), *account))
            .collect();
        accounts.sort_unstable_by_key(|(rank, _)| *rank);
        let mut slices: Vec<Self> = Vec::new();
        for (rank, account) in accounts {
            let size = account.size(row_bytes);
            match slices.last_mut() {
                Some(Self { last, size: Size { rows, bytes }, .. })
                    if *rows + size.rows <= MAX_SLICE_ROWS && *bytes + size.bytes <= MAX_SLICE_BYTES =>
                {
                    *last = rank;
                    *rows += size.rows;
                    *bytes += size.bytes;
                }
                _ => slices.push(Self { first: rank, last: rank, size }),
            }
        }
        slices
    }

    /// Returns which of some items, sorted by account, overlap the slice. `first` and `last` give the ranks of an
    /// item's first and last account.
    pub(super) fn find<T>(&self, items: &[T], first: impl Fn(&T) -> u32, last: impl Fn(&T) -> u32) -> Range<usize> {
        let start = items.partition_point(|item| last(item) < self.first);
        let end = items.partition_point(|item| first(item) <= self.last);
        start..end.max(start)
    }
}

/// Batches whose rows can be concatenated. Every result has the same columns with the same types, whichever rows it
/// consists of.
pub(super) struct BatchSet<'a> {
    batches: &'a [EventBatch],
    dimensions: Vec<SetDimension<'a>>,
}

/// A dimension of a batch set.
struct SetDimension<'a> {
    name: &'a str,
    /// The kind that can hold the rows of every batch.
    kind: DimensionKind,
    /// The column of each batch; `None` if the batch does not have the dimension.
    columns: Vec<Option<&'a DimensionColumn>>,
}

impl<'a> BatchSet<'a> {
    pub(super) fn new(batches: &'a [EventBatch]) -> Self {
        let mut dimensions: BTreeMap<&str, Vec<Option<&DimensionColumn>>> = BTreeMap::new();
        for (at, batch) in batches.iter().enumerate() {
            for (name, column) in &batch.dimensions {
                dimensions.entry(name).or_insert_with(|| vec![None; batches.len()])[at] = Some(column);
            }
        }
        let dimension = |(name, columns): (&'a str, Vec<Option<&'a DimensionColumn>>)| {
            let kinds = columns.iter().flatten().map(|column| column.kind());
            SetDimension { name, kind: kinds.reduce(DimensionKind::unify).unwrap_or(DimensionKind::Codes8), columns }
        };
        Self { batches, dimensions: dimensions.into_iter().map(dimension).collect() }
    }

    /// Returns the bytes of a row of the result without its texts.
    pub(super) fn row_bytes(&self) -> usize {
        row_bytes(self.dimensions.iter().map(|dimension| dimension.kind))
    }

    /// Returns the number of dimensions.
    pub(super) fn dimensions(&self) -> usize {
        self.dimensions.len()
    }

    /// Returns the bytes of the texts of a range.
    pub(super) fn text_bytes(&self, range: RowRange) -> usize {
        self.batches[range.batch as usize].text_bytes(range.rows())
    }

    /// Concatenates all rows.
    pub(super) fn all(&self) -> Result<EventBatch, ArrowError> {
        let len = |batch: &EventBatch| u32::try_from(batch.len()).unwrap_or(u32::MAX);
        let range = |(batch, rows)| RowRange { batch, start: 0, len: len(rows) };
        self.rows(&(0..).zip(self.batches).map(range).collect::<Vec<_>>())
    }

    /// Concatenates the rows of some ranges.
    pub(super) fn rows(&self, ranges: &[RowRange]) -> Result<EventBatch, ArrowError> {
        let len = ranges.iter().map(|range| range.len as usize).sum();
        let dimensions = self.dimensions.iter().map(|dimension| {
            let rows = match dimension.kind {
                DimensionKind::Codes8 => DimensionColumn::Codes8(dimension.codes::<u8>(ranges, len)?.into()),
                DimensionKind::Codes16 => DimensionColumn::Codes16(dimension.codes::<u16>(ranges, len)?.into()),
                DimensionKind::Codes32 => DimensionColumn::Codes32(dimension.codes::<u32>(ranges, len)?.into()),
                DimensionKind::Strings => DimensionColumn::Strings(dimension.texts(ranges, len)?),
                DimensionKind::Mixed => {
                    DimensionColumn::Mixed(dimension.codes::<u32>(ranges, len)?.into(), dimension.texts(ranges, len)?)
                }
            };
            Ok((dimension.name.to_owned(), rows))
        });
        Ok(EventBatch {
            dimensions: dimensions.collect::<Result<_, ArrowError>>()?,
            accounts: self.values(ranges, len, |batch| &batch.accounts),
            opportunity_ids: self.strings(ranges, len, |batch| &batch.opportunity_ids)?,
            stages: self.values(ranges, len, |batch| &batch.stages),
            dates: self.values(ranges, len, |batch| &batch.dates),
            date_times: self.values(ranges, len, |batch| &batch.date_times),
            event_ids: self.strings(ranges, len, |batch| &batch.event_ids)?,
            totals: self.values(ranges, len, |batch| &batch.totals),
        })
    }

    fn values<P: ArrowPrimitiveType<Native: ArrowNativeTypeOp>>(
        &self,
        ranges: &[RowRange],
        len: usize,
        column: impl Fn(&EventBatch) -> &PrimitiveArray<P>,
    ) -> PrimitiveArray<P> {
        let data_type = self.batches.first().map_or(P::DATA_TYPE, |batch| column(batch).data_type().clone());
        let mut values = PrimitiveBuilder::<P>::with_capacity(len).with_data_type(data_type);
        for range in ranges {
            let (column, rows) = (column(&self.batches[range.batch as usize]), range.rows());
            if column.null_count() == 0 {
                values.append_slice(&column.values()[rows]);
            } else {
                values.append_array(&column.slice(rows.start, rows.len()));
            }
        }
        values.finish()
    }

    fn strings(
        &self,
        ranges: &[RowRange],
        len: usize,
        column: impl Fn(&EventBatch) -> &StringArray,
    ) -> Result<StringArray, ArrowError> {
        let bytes =
            ranges.iter().map(|range| text_bytes(column(&self.batches[range.batch as usize]), range.rows())).sum();
        let mut texts = StringBuilder::with_capacity(len, bytes);
        for range in ranges {
            let rows = range.rows();
            texts.append_array(&column(&self.batches[range.batch as usize]).slice(rows.start, rows.len()))?;
        }
        Ok(texts.finish())
    }
}

impl SetDimension<'_> {
    /// Concatenates the codes.
    fn codes<C: Code>(&self, ranges: &[RowRange], len: usize) -> Result<Vec<C>, ArrowError> {
        let mut codes = Vec::with_capacity(len);
        for range in ranges {
            match self.columns[range.batch as usize] {
                Some(column) => C::append(column, range.rows(), &mut codes).ok_or_else(|| unsound_column(self.name))?,
                None => codes.resize(codes.len() + range.len as usize, C::default()),
            }
        }
        Ok(codes)
    }

    /// Concatenates the texts of the rows without a code.
    fn texts(&self, ranges: &[RowRange], len: usize) -> Result<StringArray, ArrowError> {
        let texts_of = |range: &RowRange| match self.columns[range.batch as usize] {
            Some(DimensionColumn::Strings(texts) | DimensionColumn::Mixed(_, texts)) => Some(texts),
            _ => None,
        };
        let bytes = ranges.iter().map(|range| texts_of(range).map_or(0, |texts| text_bytes(texts, range.rows()))).sum();
        let mut plain = StringBuilder::with_capacity(len, bytes);
        for range in ranges {
            let rows = range.rows();
            match texts_of(range) {
                Some(texts) => plain.append_array(&texts.slice(rows.start, rows.len()))?,
                None => plain.append_nulls(rows.len()),
            }
        }
        Ok(plain.finish())
    }
}

/// A code of 8, 16 or 32 bits.
trait Code: Copy + Default {
    /// Appends the codes of some rows of a column. Returns `None` if the column's codes are wider, or if the column has
    /// texts and these codes are not of 32 bits.
    fn append(column: &DimensionColumn, rows: Range<usize>, codes: &mut Vec<Self>) -> Option<()>;
}

impl Code for u8 {
    fn append(column: &DimensionColumn, rows: Range<usize>, codes: &mut Vec<Self>) -> Option<()> {
        let DimensionColumn::Codes8(column) = column else { return None };
        codes.extend_from_slice(&column.values()[rows]);
        Some(())
    }
}

impl Code for u16 {
    fn append(column: &DimensionColumn, rows: Range<usize>, codes: &mut Vec<Self>) -> Option<()> {
        match column {
            DimensionColumn::Codes8(column) => codes.extend(column.values()[rows].iter().map(|code| Self::from(*code))),
            DimensionColumn::Codes16(column) => codes.extend_from_slice(&column.values()[rows]),
            DimensionColumn::Codes32(_) | DimensionColumn::Strings(_) | DimensionColumn::Mixed(..) => return None,
        }
        Some(())
    }
}

impl Code for u32 {
    fn append(column: &DimensionColumn, rows: Range<usize>, codes: &mut Vec<Self>) -> Option<()> {
        match column {
            DimensionColumn::Codes8(column) => codes.extend(column.values()[rows].iter().map(|code| Self::from(*code))),
            DimensionColumn::Codes16(column) => {
                codes.extend(column.values()[rows].iter().map(|code| Self::from(*code)))
            }
            DimensionColumn::Codes32(column) | DimensionColumn::Mixed(column, _) => {
                codes.extend_from_slice(&column.values()[rows])
            }
            // A row without a code has its text in the other half of a mixed column.
            DimensionColumn::Strings(_) => codes.resize(codes.len() + rows.len(), 0),
        }
        Some(())
    }
}
