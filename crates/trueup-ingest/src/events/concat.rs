//! Rows of several batches put together.

use super::coded::{Coded, Dimension, wrong};
use super::runs::{self, Run};
use super::texts::{Dictionaries, lock};
use arrow_array::builder::{PrimitiveBuilder, StringBuilder};
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{Array, ArrowNativeTypeOp, PrimitiveArray, StringArray};
use arrow_schema::ArrowError;
use std::collections::BTreeMap;
use std::ops::Range;

/// Batches whose rows are put together. What is put together always has the same columns of the same types.
pub(super) struct Concat<'a, T> {
    batches: &'a [Coded],
    texts: &'a T,
    dimensions: Vec<Column<'a>>,
}

/// A dimension in all of the batches.
struct Column<'a> {
    name: &'a str,
    /// The width that holds it in every batch.
    width: Width,
    of_batch: Vec<Option<&'a Dimension>>,
}

/// Types of a column of texts, each of which can hold what those before it hold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Width {
    Byte,
    Short,
    Word,
    Plain,
}

/// What a code stands for.
pub(super) trait TextOf {
    /// Hands the texts of a column to `with`, by code.
    fn with_texts<R>(&self, column: &str, with: impl FnOnce(&dyn Fn(u32, &mut dyn FnMut(&str))) -> R) -> R;
}

impl TextOf for Dictionaries {
    fn with_texts<R>(&self, column: &str, with: impl FnOnce(&dyn Fn(u32, &mut dyn FnMut(&str))) -> R) -> R {
        let texts = self.of(column);
        let texts = lock(&texts);
        with(&|code, take| take(texts.text(code)))
    }
}

impl TextOf for super::sorted::Known {
    fn with_texts<R>(&self, column: &str, with: impl FnOnce(&dyn Fn(u32, &mut dyn FnMut(&str))) -> R) -> R {
        let texts = self.texts(column);
        with(&|code, take| take(texts.get(code as usize).map_or("", AsRef::as_ref)))
    }
}

impl<'a, T: TextOf> Concat<'a, T> {
    pub(super) fn new(batches: &'a [Coded], texts: &'a T) -> Self {
        let mut columns: BTreeMap<&str, Vec<Option<&Dimension>>> = BTreeMap::new();
        for (at, batch) in batches.iter().enumerate() {
            for (name, column) in &batch.extra {
                columns.entry(name).or_insert_with(|| vec![None; batches.len()])[at] = Some(column);
            }
        }
        let column = |(name, of_batch): (&'a str, Vec<Option<&'a Dimension>>)| {
            let width = of_batch.iter().flatten().map(|column| Width::of(column)).max().unwrap_or(Width::Byte);
            Column { name, width, of_batch }
        };
        Self { batches, texts, dimensions: columns.into_iter().map(column).collect() }
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
                Width::Plain => Dimension::Plain(column.spelled_out(runs, len, self.texts)?),
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

    fn spelled_out(&self, runs: &[Run], len: usize, texts: &impl TextOf) -> Result<StringArray, ArrowError> {
        let mut spelled = StringBuilder::with_capacity(len, len * 16);
        texts.with_texts(self.name, |text_of| {
            for run in runs {
                let rows = run.rows();
                match self.of_batch[run.batch as usize] {
                    Some(Dimension::Plain(texts)) => spelled.append_array(&texts.slice(rows.start, rows.len()))?,
                    Some(column) => rows.for_each(|row| match column.code(row) {
                        Some(0) | None => spelled.append_null(),
                        Some(code) => text_of(code, &mut |text| spelled.append_value(text)),
                    }),
                    None => spelled.append_nulls(rows.len()),
                }
            }
            Ok(spelled.finish())
        })
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
            Dimension::Word(_) | Dimension::Plain(_) => return None,
        }
        Some(())
    }
}

impl Code for u32 {
    fn append(column: &Dimension, rows: Range<usize>, codes: &mut Vec<Self>) -> Option<()> {
        match column {
            Dimension::Byte(column) => codes.extend(column.values()[rows].iter().map(|code| Self::from(*code))),
            Dimension::Short(column) => codes.extend(column.values()[rows].iter().map(|code| Self::from(*code))),
            Dimension::Word(column) => codes.extend_from_slice(&column.values()[rows]),
            Dimension::Plain(_) => return None,
        }
        Some(())
    }
}

impl Width {
    fn of(column: &Dimension) -> Self {
        match column {
            Dimension::Byte(_) => Self::Byte,
            Dimension::Short(_) => Self::Short,
            Dimension::Word(_) => Self::Word,
            Dimension::Plain(_) => Self::Plain,
        }
    }
}
