//! A search of all files of a folder for texts, in their raw bytes and in the decoded columns of Parquet files.

use parquet::file::reader::{FileReader, SerializedFileReader};
use std::error::Error;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Returns the files below a folder that contain at least one of the texts, sorted. The texts must not be empty.
///
/// # Errors
/// A file cannot be read, or has the name of a Parquet file but is not one.
pub fn files_with(folder: &Path, texts: &[&str]) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if has_bytes(&fs::read(&path)?, texts) || is_parquet(&path) && has_values(&path, texts)? {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn has_bytes(bytes: &[u8], texts: &[&str]) -> bool {
    texts.iter().any(|text| bytes.windows(text.len()).any(|window| window == text.as_bytes()))
}

fn is_parquet(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "parquet")
}

fn has_values(path: &Path, texts: &[&str]) -> Result<bool, Box<dyn Error>> {
    for row in SerializedFileReader::new(File::open(path)?)?.get_row_iter(None)? {
        let row = row?.to_string();
        if texts.iter().any(|text| row.contains(text)) {
            return Ok(true);
        }
    }
    Ok(false)
}
