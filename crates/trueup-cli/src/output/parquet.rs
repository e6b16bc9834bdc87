//! Parquet files.

use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use std::io::Write;
use trueup_core::{ResultTable, TextList, Values};

/// Writes the columns as [`ResultTable::record_batch`] has them, dimensions as plain strings: the file keeps no arrow schema, which
/// would turn them to dictionaries in some readers, and says everything else in Parquet's own types.
pub(super) fn write(answer: &ResultTable, out: impl Write + Send) -> Result<()> {
    let batch = answer.record_batch()?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by(concat!("trueup ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_write_batch_size(page_rows(answer))
        .build();
    let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
    let mut writer = ArrowWriter::try_new_with_options(out, batch.schema(), options)?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(())
}

/// The rows that may be added to a page before its size is looked at: many, but not so many that long texts make a page larger
/// than a reader takes.
fn page_rows(answer: &ResultTable) -> usize {
    const ROWS: usize = 1_024;
    const BYTES: usize = 1 << 20;
    let texts = answer.columns().iter().filter_map(|column| match &column.values {
        Values::Texts(texts) => Some(texts.dictionary()),
        _ => None,
    });
    let longest = texts.flat_map(TextList::iter).map(str::len).max().unwrap_or(0);
    (BYTES / longest.max(1)).clamp(1, ROWS)
}
