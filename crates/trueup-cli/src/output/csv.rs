//! Comma-separated values: texts as they are, numbers in full and without separators.

use std::io::Write;
use trueup_core::{ResultTable, Value, money};

/// Writes a header and the rows; money as an exact decimal, ratios as their shortest round-trip decimal.
pub(super) fn write(answer: &ResultTable, out: impl Write) -> csv::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(answer.columns().iter().map(|column| column.name.as_str()))?;
    for row in answer.rows() {
        for (_, value) in row.values() {
            match value {
                Value::Text(text) => writer.write_field(text)?,
                Value::Day(day) => writer.write_field(day.to_string())?,
                Value::Count(count) => writer.write_field(count.to_string())?,
                Value::Money(micros) => writer.write_field(money::format_micros(micros))?,
                Value::Ratio(ratio) => writer.write_field(ratio.to_string())?,
            }
        }
        writer.write_record(None::<&[u8]>)?;
    }
    writer.flush()?;
    Ok(())
}
