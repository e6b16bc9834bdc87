//! Arrow IPC files.

use arrow_ipc::writer::FileWriter;
use arrow_schema::ArrowError;
use std::io::Write;
use trueup_core::ResultTable;

/// Writes the columns as [`ResultTable::record_batch`] has them.
pub(super) fn write(answer: &ResultTable, out: impl Write) -> Result<(), ArrowError> {
    let batch = answer.record_batch()?;
    let mut writer = FileWriter::try_new(out, &batch.schema())?;
    writer.write(&batch)?;
    writer.finish()
}
