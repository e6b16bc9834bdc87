use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

/// Cuts rows into record batches of `size` rows, the last one shorter. Holds the rows of one batch.
#[derive(Debug)]
pub(super) struct Batches<I, F> {
    rows: I,
    size: usize,
    build: F,
}

impl<I, F> Batches<I, F>
where
    I: Iterator,
    F: Fn(&[I::Item]) -> Result<RecordBatch, ArrowError>,
{
    pub(super) fn new(rows: I, size: usize, build: F) -> Self {
        Self { rows, size, build }
    }
}

impl<I, F> Iterator for Batches<I, F>
where
    I: Iterator,
    F: Fn(&[I::Item]) -> Result<RecordBatch, ArrowError>,
{
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rows: Vec<I::Item> = self.rows.by_ref().take(self.size).collect();
        (!rows.is_empty()).then(|| (self.build)(&rows))
    }
}
