//! The same table in every format.

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Columns of text, a header first; the empty text is null.
pub(crate) type Table<'a> = (&'a [&'a str], &'a [Vec<String>]);

pub(crate) fn csv((header, rows): Table<'_>, path: &Path) {
    let mut writer = csv::Writer::from_path(path).unwrap();
    writer.write_record(header).unwrap();
    for row in rows {
        writer.write_record(row).unwrap();
    }
    writer.flush().unwrap();
}

pub(crate) fn ndjson((header, rows): Table<'_>, path: &Path) {
    let mut text = String::new();
    for row in rows {
        let cells = header.iter().zip(row).filter(|(_, cell)| !cell.is_empty());
        let object: serde_json::Map<String, serde_json::Value> =
            cells.map(|(name, cell)| ((*name).to_owned(), cell.as_str().into())).collect();
        text += &serde_json::Value::Object(object).to_string();
        text.push('\n');
    }
    std::fs::write(path, text).unwrap();
}

pub(crate) fn parquet((header, rows): Table<'_>, group_rows: usize, path: &Path) {
    let columns = header.iter().enumerate().map(|(at, name)| {
        let cells = rows.iter().map(|row| Some(row[at].as_str()).filter(|cell| !cell.is_empty()));
        (*name, Arc::new(cells.collect::<StringArray>()) as ArrayRef, true)
    });
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(group_rows)).build();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}
