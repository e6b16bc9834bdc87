//! The result table as a Parquet file.

use super::{ResultTable, Values};
use crate::StringList;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::io::{self, Write};

/// Rows that are written between two reports.
const REPORTED_ROWS: usize = 1 << 16;

/// How far the writing of a Parquet file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParquetProgress {
    /// The number of rows that are written.
    pub rows: usize,
    /// The bytes of the file so far, whether written or in memory until their row group is complete.
    pub bytes: usize,
}

impl ResultTable {
    /// Writes a Parquet file with the columns of [`record_batch`](Self::record_batch). Columns of texts are strings,
    /// and columns of money decimals.
    ///
    /// The file contains no Arrow schema, because some readers would turn columns of texts into dictionaries; Parquet's
    /// own types describe everything else. `report` is called again and again, and its error ends the writing.
    ///
    /// # Errors
    /// The table has no record batch, `out` fails, or `report` returns an error.
    ///
    /// ```
    /// use trueup_core::{Column, ResultTable, Values};
    ///
    /// let leads = Column { name: "leads".to_owned(), values: Values::Counts(vec![12]) };
    /// let table = ResultTable::from_columns(vec![leads]);
    /// let mut file = Vec::new();
    /// table.write_parquet(&mut file, |_| Ok::<(), std::io::Error>(()))?;
    /// assert!(file.starts_with(b"PAR1") && file.ends_with(b"PAR1"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn write_parquet<E: From<io::Error>>(
        &self,
        out: impl Write + Send,
        mut report: impl FnMut(ParquetProgress) -> Result<(), E>,
    ) -> Result<(), E> {
        let batch = self.record_batch().map_err(io::Error::other)?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by(concat!("trueup ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_write_batch_size(self.rows_per_size_check())
            .build();
        let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
        let writer = ArrowWriter::try_new_with_options(out, batch.schema(), options);
        let mut writer = writer.map_err(io::Error::other)?;
        for first in (0..batch.num_rows()).step_by(REPORTED_ROWS) {
            let rows = REPORTED_ROWS.min(batch.num_rows() - first);
            writer.write(&batch.slice(first, rows)).map_err(io::Error::other)?;
            report(ParquetProgress { rows: first + rows, bytes: writer.bytes_written() + writer.memory_size() })?;
        }
        writer.close().map_err(io::Error::other)?;
        Ok(())
    }

    /// Returns how many rows the writer may add to a page before it checks the page's size. The longer the texts, the
    /// fewer rows, because readers refuse very large pages.
    fn rows_per_size_check(&self) -> usize {
        const MAX_ROWS: usize = 1_024;
        const MAX_BYTES: usize = 1 << 20;
        let texts = self.columns.iter().filter_map(|column| match &column.values {
            Values::Strings(texts) => Some(texts.dictionary()),
            _ => None,
        });
        let longest = texts.flat_map(StringList::iter).map(str::len).max().unwrap_or(0);
        (MAX_BYTES / longest.max(1)).clamp(1, MAX_ROWS)
    }
}
