//! Opens the given files as the inputs of a mapping.

use super::csv_outline::{self, CsvOutline};
use super::declaration::{FileFormat, InputDeclaration, MappingFile};
use super::error::{KeyFault, MappingError, location};
use super::expressions::{LOCATION, rows_except};
use polars::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An input: the rows of its files in order, each with its location.
pub(super) struct OpenedInput {
    pub(super) frame: LazyFrame,
    pub(super) schema: SchemaRef,
}

/// Opens every input of a mapping.
pub(super) fn open(
    declaration: &MappingFile,
    mapping: &Path,
    files: &[PathBuf],
) -> Result<BTreeMap<String, OpenedInput>, MappingError> {
    let mut owner = vec![None; files.len()];
    for (name, input) in &declaration.input {
        for (at, file) in files.iter().enumerate() {
            if !is_match(&input.file, &file_name(file)) {
                continue;
            }
            if let Some(other) = owner[at].replace(name) {
                let reason = format!("the inputs `{other}` and `{name}` both name this file");
                return Err(MappingError::File { path: file.clone(), reason });
            }
        }
    }
    if let Some(at) = owner.iter().position(Option::is_none) {
        let reason = format!("no input of the mapping `{}` names this file", mapping.display());
        return Err(MappingError::File { path: files[at].clone(), reason });
    }
    let mut opened = BTreeMap::new();
    for (name, input) in &declaration.input {
        let key = format!("input.{name}");
        let mut parts = Vec::new();
        for (at, file) in files.iter().enumerate() {
            if owner[at] == Some(name) {
                let number = u32::try_from(at).map_err(|_| refused(file, "there are too many files"))?;
                parts.push((file, scan(file, input, number, &key, mapping)?));
            }
        }
        let fault = KeyFault::new(format!("{key}.file"), "no file that was given has this name");
        let Some(((_, first), others)) = parts.split_first() else {
            return Err(fault.with_value(&input.file).of(mapping));
        };
        let engine = |source| MappingError::engine(&key, source);
        let schema = first.clone().collect_schema().map_err(engine)?;
        let mut frames = vec![first.clone()];
        for (file, other) in others {
            let found = other.clone().collect_schema().map_err(engine)?;
            check_same_columns(&schema, &found).map_err(|reason| refused(file, &reason))?;
            frames.push(
                other.clone().select(schema.iter_names().map(|name| Expr::Column(name.clone())).collect::<Vec<_>>()),
            );
        }
        let frame =
            if frames.len() == 1 { frames.remove(0) } else { concat(&frames, UnionArgs::default()).map_err(engine)? };
        opened.insert(name.clone(), OpenedInput { frame, schema });
    }
    Ok(opened)
}

/// Opens a file, with its columns under the names of the mapping.
fn scan(
    file: &Path,
    input: &InputDeclaration,
    number: u32,
    key: &str,
    mapping: &Path,
) -> Result<LazyFrame, MappingError> {
    let engine = |source| MappingError::engine(key, source);
    let path = PlRefPath::try_from_path(file).map_err(engine)?;
    let csv = match input.format {
        Some(format) => format == FileFormat::Csv,
        None => format_of(file)? == FileFormat::Csv,
    };
    let (mut frame, names, blank) = if csv {
        let separator = input.separator.map_or(Some(b','), |char| u8::try_from(char).ok());
        let separator = separator
            .ok_or_else(|| KeyFault::new(format!("{key}.separator"), "expected an ASCII character").of(mapping))?;
        let CsvOutline { header: names, blank } = csv_outline::check(file, input, separator)?;
        let empty = (!input.empty.is_empty())
            .then(|| NullValues::AllColumns(input.empty.iter().map(|text| text.as_str().into()).collect()));
        // Every column is text, so that ids keep their zeros and amounts their digits.
        let schema: Schema = names.iter().map(|name| Field::new(name.as_str().into(), DataType::String)).collect();
        let frame = LazyCsvReader::new(path)
            .with_glob(false)
            .with_has_header(input.header.is_none())
            .with_separator(separator)
            .with_null_values(empty)
            .with_schema(Some(Arc::new(schema)))
            .finish()
            .map_err(engine)?;
        (frame, names, blank)
    } else {
        for (name, used) in [
            ("separator", input.separator.is_some()),
            ("header", input.header.is_some()),
            ("empty", !input.empty.is_empty()),
        ] {
            if used {
                return Err(KeyFault::new(format!("{key}.{name}"), "only CSV files can have this key").of(mapping));
            }
        }
        let arguments = ScanArgsParquet { glob: false, ..ScanArgsParquet::default() };
        let mut frame = LazyFrame::scan_parquet(path, arguments).map_err(engine)?;
        let schema = frame.collect_schema().map_err(|source| refused(file, &source.to_string()))?;
        // Decodes dictionaries of texts, because text is the only such type that mappings read.
        let coded = schema.iter().filter(|(_, dtype)| dtype.is_categorical());
        let coded: Vec<Expr> = coded.map(|(name, _)| Expr::Column(name.clone()).cast(DataType::String)).collect();
        if !coded.is_empty() {
            frame = frame.with_columns(coded);
        }
        let names = schema.iter_names().map(ToString::to_string).collect();
        (frame, names, BTreeSet::new())
    };
    for (from, to) in &input.rename {
        if !names.contains(from) {
            let reason =
                format!("`{}` has no column of this name; the columns are: {}", file.display(), names.join(", "));
            return Err(KeyFault::new(format!("{key}.rename"), reason).with_value(from).of(mapping));
        }
        if names.contains(to) && !input.rename.contains_key(to) {
            let reason = format!("`{}` already has a column of this name", file.display());
            return Err(KeyFault::new(format!("{key}.rename.{from}"), reason).with_value(to).of(mapping));
        }
    }
    if !input.rename.is_empty() {
        frame = frame.rename(input.rename.keys(), input.rename.values(), true);
    }
    let row = col(LOCATION).cast(DataType::UInt64) + lit(location(number, 0));
    frame = frame.with_row_index(LOCATION, Some(1)).with_columns([row.alias(LOCATION)]);
    if !blank.is_empty() {
        frame = frame.filter(rows_except(col(LOCATION), blank.into_iter().map(|row| location(number, row)).collect()));
    }
    Ok(frame)
}

fn format_of(file: &Path) -> Result<FileFormat, MappingError> {
    let extension = file.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    match extension.as_deref() {
        Some("csv" | "tsv" | "txt") => Ok(FileFormat::Csv),
        Some("parquet" | "pq") => Ok(FileFormat::Parquet),
        _ => Err(refused(file, "its name does not say whether it is CSV or Parquet; set the input's `format`")),
    }
}

/// Checks that two files of an input have the same columns.
fn check_same_columns(first: &Schema, other: &Schema) -> Result<(), String> {
    for (name, dtype) in first.iter() {
        match other.get(name) {
            None => return Err(format!("it has no column `{name}`, but the first file of its input has one")),
            Some(found) if found != dtype => {
                return Err(format!(
                    "its column `{name}` is of type {found}, but {dtype} in the first file of its input"
                ));
            }
            Some(_) => {}
        }
    }
    match other.iter_names().find(|name| !first.contains(name)) {
        Some(name) => Err(format!("it has a column `{name}`, but the first file of its input has none")),
        None => Ok(()),
    }
}

fn refused(file: &Path, reason: &str) -> MappingError {
    MappingError::File { path: file.to_owned(), reason: reason.to_owned() }
}

fn file_name(file: &Path) -> String {
    file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Returns whether a file name matches a pattern: `*` matches any characters, `?` matches one, and any other character
/// itself.
fn is_match(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // The position of the last `*`, and how many characters of the name lie before what follows it.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(char) if *char == '?' || *char == name[n] => {
                p += 1;
                n += 1;
            }
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    p = at + 1;
                    n = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|char| *char == '*')
}

#[cfg(test)]
mod tests;
