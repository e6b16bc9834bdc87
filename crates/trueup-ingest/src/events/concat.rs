//! Rows of several batches put together.

use super::coded::{Coded, Dimension, Width, row_bytes, wrong};
use super::runs::{self, Run};
use arrow_array::builder::{PrimitiveBuilder, StringBuilder};
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{Array, ArrowNativeTypeOp, PrimitiveArray, StringArray};
use arrow_schema::ArrowError;
use std::collections::BTreeMap;
use std::ops::Range;

/// Batches whose rows are put together. What is put together always has the same columns of the same types.
pub(super) struct Concat<'a> {
    batches: &'a [Coded],
    dimensions: Vec<Column<'a>>,
}

/// A dimension in all of the batches.
struct Column<'a> {
    name: &'a str,
    /// What holds it in every batch.
    width: Width,
    of_batch: Vec<Option<&'a Dimension>>,
}

impl<'a> Concat<'a> {
    pub(super) fn new(batches: &'a [Coded]) -> Self {
        let mut columns: BTreeMap<&str, Vec<Option<&Dimension>>> = BTreeMap::new();
        for (at, batch) in batches.iter().enumerate() {
            for (name, column) in &batch.extra {
                columns.entry(name).or_insert_with(|| vec![None; batches.len()])[at] = Some(column);
            }
        }
        let column = |(name, of_batch): (&'a str, Vec<Option<&'a Dimension>>)| {
            let widths = of_batch.iter().flatten().map(|column| column.width());
            Column { name, width: widths.reduce(Width::with).unwrap_or(Width::Byte), of_batch }
        };
        Self { batches, dimensions: columns.into_iter().map(column).collect() }
    }

    /// Bytes that each row takes apart from its texts.
    pub(super) fn row_bytes(&self) -> usize {
        row_bytes(self.dimensions.iter().map(|column| column.width))
    }

    /// The number of dimensions.
    pub(super) fn dimensions(&self) -> usize {
        self.dimensions.len()
    }

    /// Bytes that the texts of a run take.
    pub(super) fn text_bytes(&self, run: Run) -> usize {
        self.batches[run.batch as usize].text_bytes(run.rows())
    }

    /// All rows.
    pub(super) fn all(&self) -> Result<Coded, ArrowError> {
        let len = |batch: &Coded| u32::try_from(batch.len()).unwrap_or(u32::MAX);
        let run = |(batch, rows)| Run { batch, start: 0, len: len(rows) };
        self.rows(&(0..).zip(self.batches).map(run).collect::<Vec<_>>())
    }

    /// The rows of some runs, one after the other.
    pub(super) fn rows(&self, runs: &[Run]) -> Result<Coded, ArrowError> {
        let len = runs::rows(runs);
        let extra = self.dimensions.iter().map(|column| {
            let rows = match column.width {
                Width::Byte => Dimension::Byte(column.codes::<u8>(runs, len)?.into()),
                Width::Short => Dimension::Short(column.codes::<u16>(runs, len)?.into()),
                Width::Word => Dimension::Word(column.codes::<u32>(runs, len)?.into()),
                Width::Plain => Dimension::Plain(column.plain(runs, len)?),
                Width::Mixed => Dimension::Mixed(column.codes::<u32>(runs, len)?.into(), column.plain(runs, len)?),
            };
            Ok((column.name.to_owned(), rows))
        });
        Ok(Coded {
            extra: extra.collect::<Result<_, ArrowError>>()?,
            accounts: self.values(runs, len, |batch| &batch.accounts),
            opportunity_ids: self.strings(runs, len, |batch| &batch.opportunity_ids)?,
            stages: self.values(runs, len, |batch| &batch.stages),
            dates: self.values(runs, len, |batch| &batch.dates),
            date_times: self.values(runs, len, |batch| &batch.date_times),
            event_ids: self.strings(runs, len, |batch| &batch.event_ids)?,
            totals: self.values(runs, len, |batch| &batch.totals),
        })
    }

    fn values<P: ArrowPrimitiveType<Native: ArrowNativeTypeOp>>(
        &self,
        runs: &[Run],
        len: usize,
        column: impl Fn(&Coded) -> &PrimitiveArray<P>,
    ) -> PrimitiveArray<P> {
        let data_type = self.batches.first().map_or(P::DATA_TYPE, |batch| column(batch).data_type().clone());
        let mut values = PrimitiveBuilder::<P>::with_capacity(len).with_data_type(data_type);
        for run in runs {
            let (column, rows) = (column(&self.batches[run.batch as usize]), run.rows());
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
        runs: &[Run],
        len: usize,
        column: impl Fn(&Coded) -> &StringArray,
    ) -> Result<StringArray, ArrowError> {
        let bytes = runs.iter().map(|run| text_bytes(column(&self.batches[run.batch as usize]), run.rows())).sum();
        let mut texts = StringBuilder::with_capacity(len, bytes);
        for run in runs {
            let rows = run.rows();
            texts.append_array(&column(&self.batches[run.batch as usize]).slice(rows.start, rows.len()))?;
        }
        Ok(texts.finish())
    }
}

/// The bytes of the texts of some rows.
pub(super) fn text_bytes(texts: &StringArray, rows: Range<usize>) -> usize {
    let offsets = texts.value_offsets();
    usize::try_from(offsets[rows.end] - offsets[rows.start]).unwrap_or(0)
}

impl Column<'_> {
    fn codes<C: Code>(&self, runs: &[Run], len: usize) -> Result<Vec<C>, ArrowError> {
        let mut codes = Vec::with_capacity(len);
        for run in runs {
            match self.of_batch[run.batch as usize] {
                Some(column) => C::append(column, run.rows(), &mut codes).ok_or_else(|| wrong(self.name))?,
                None => codes.resize(codes.len() + run.len as usize, C::default()),
            }
        }
        Ok(codes)
    }

    /// The texts of the rows that have no code.
    fn plain(&self, runs: &[Run], len: usize) -> Result<StringArray, ArrowError> {
        let texts = |run: &Run| match self.of_batch[run.batch as usize] {
            Some(Dimension::Plain(texts) | Dimension::Mixed(_, texts)) => Some(texts),
            _ => None,
        };
        let bytes = runs.iter().map(|run| texts(run).map_or(0, |texts| text_bytes(texts, run.rows()))).sum();
        let mut plain = StringBuilder::with_capacity(len, bytes);
        for run in runs {
            let rows = run.rows();
            match texts(run) {
                Some(texts) => plain.append_array(&texts.slice(rows.start, rows.len()))?,
                None => plain.append_nulls(rows.len()),
            }
        }
        Ok(plain.finish())
    }
}

/// A code of some width.
trait Code: Copy + Default {
    /// Adds the codes of some rows of a column; `None` if it has wider ones.
    fn append(column: &Dimension, rows: Range<usize>, codes: &mut Vec<Self>) -> Option<()>;
}

impl Code for u8 {
    fn append(column: &Dimension, rows: Range<usize>, codes: &mut Vec<Self>) -> Option<()> {
        let Dimension::Byte(column) = column else { return None };
        codes.extend_from_slice(&column.values()[rows]);
        Some(())
    }
}

impl Code for u16 {
    fn append(column: &Dimension, rows: Range<usize>, codes: &mut Vec<Self>) -> Option<()> {
        match column {
            Dimension::Byte(column) => codes.extend(column.values()[rows].iter().map(|code| Self::from(*code))),
            Dimension::Short(column) => codes.extend_from_slice(&column.values()[rows]),
            Dimension::Word(_) | Dimension::Plain(_) | Dimension::Mixed(..) => return None,
        }
        Some(())
    }
}

impl Code for u32 {
    fn append(column: &Dimension, rows: Range<usize>, codes: &mut Vec<Self>) -> Option<()> {
        match column {
            Dimension::Byte(column) => codes.extend(column.values()[rows].iter().map(|code| Self::from(*code))),
            Dimension::Short(column) => codes.extend(column.values()[rows].iter().map(|code| Self::from(*code))),
            Dimension::Word(column) | Dimension::Mixed(column, _) => codes.extend_from_slice(&column.values()[rows]),
            // A row with a text has no code.
            Dimension::Plain(_) => codes.resize(codes.len() + rows.len(), 0),
        }
        Some(())
    }
}
