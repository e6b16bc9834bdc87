//! Parquet files.

use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use std::io::Write;
use trueup_core::ResultTable;

/// Writes the columns as [`ResultTable::record_batch`] has them.
pub(super) fn write(answer: &ResultTable, out: impl Write + Send) -> Result<()> {
    let batch = answer.record_batch()?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by(concat!("trueup ", env!("CARGO_PKG_VERSION")).to_owned())
        .build();
    let mut writer = ArrowWriter::try_new(out, batch.schema(), Some(properties))?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(())
}
