//! Rows of several batches with the same columns of the same types.

use super::coded::{Coded, Dimension};
use super::sorted::Place;
use super::texts::{Dictionaries, lock};
use arrow_array::builder::StringBuilder;
use arrow_array::{PrimitiveArray, RecordBatch, StringArray, UInt16Array, UInt32Array};
use arrow_schema::ArrowError;
use arrow_select::interleave::interleave_record_batch;
use std::collections::BTreeMap;

/// Batches with the same columns of the same types, so that rows of them can be put together.
pub(super) struct Alike(Vec<RecordBatch>);

/// Types of a column of texts, each of which can hold what those before it hold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Width {
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

impl Alike {
    pub(super) fn new(batches: &[Coded], texts: &impl TextOf) -> Result<Self, ArrowError> {
        let mut widths: BTreeMap<&str, Width> = BTreeMap::new();
        for (name, column) in batches.iter().flat_map(|batch| &batch.extra) {
            let width = widths.entry(name).or_insert(Width::Short);
            *width = (*width).max(Width::of(column));
        }
        let alike = |batch: &Coded| {
            let column = |(name, width): (&&str, &Width)| {
                let column = batch.place_of(name).map(|at| &batch.extra[at].1);
                ((*name).to_owned(), width.widen(column, batch.len(), name, texts))
            };
            Coded { extra: widths.iter().map(column).collect(), ..batch.clone() }.to_batch()
        };
        batches.iter().map(alike).collect::<Result<_, _>>().map(Self)
    }

    /// Rows as one batch, in that order.
    pub(super) fn rows(&self, places: &[Place]) -> Result<RecordBatch, ArrowError> {
        let batches: Vec<&RecordBatch> = self.0.iter().collect();
        let places: Vec<(usize, usize)> = places.iter().map(|(batch, row)| (*batch as usize, *row as usize)).collect();
        interleave_record_batch(&batches, &places)
    }
}

impl Width {
    fn of(column: &Dimension) -> Self {
        match column {
            Dimension::Short(_) => Self::Short,
            Dimension::Word(_) => Self::Word,
            Dimension::Plain(_) => Self::Plain,
        }
    }

    fn widen(self, column: Option<&Dimension>, rows: usize, name: &str, texts: &impl TextOf) -> Dimension {
        match (self, column) {
            (width, Some(column)) if Self::of(column) == width => column.clone(),
            (Self::Short, _) => Dimension::Short(UInt16Array::from_value(0, rows)),
            (Self::Word, Some(Dimension::Short(codes))) => Dimension::Word(PrimitiveArray::unary(codes, u32::from)),
            (Self::Word, _) => Dimension::Word(UInt32Array::from_value(0, rows)),
            (Self::Plain, Some(column)) => Dimension::Plain(spelled_out(column, rows, name, texts)),
            (Self::Plain, None) => Dimension::Plain(StringArray::new_null(rows)),
        }
    }
}

fn spelled_out(column: &Dimension, rows: usize, name: &str, texts: &impl TextOf) -> StringArray {
    let mut spelled = StringBuilder::with_capacity(rows, rows * 16);
    texts.with_texts(name, |text_of| {
        for row in 0..rows {
            match column.code(row) {
                Some(0) => spelled.append_null(),
                Some(code) => text_of(code, &mut |text| spelled.append_value(text)),
                None => spelled.append_value(column.plain(row)),
            }
        }
    });
    spelled.finish()
}
