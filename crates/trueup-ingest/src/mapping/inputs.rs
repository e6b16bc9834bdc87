//! The files that a mapping is given, as its inputs.

use super::MappingError;
use super::declaration::{FileFormat, InputDeclaration, MappingFile};
use super::error::KeyFault;
use super::fault::place;
use super::records::CsvOutline;
use super::rows::rows_but;
use super::scope::PLACE;
use super::{pattern, records};
use polars::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An input: its files one below the other, with each row's place.
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
            if !pattern::matches(&input.file, &file_name(file)) {
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
        let engine = |source| MappingError::Engine { key: key.clone(), source: Box::new(source) };
        let schema = first.clone().collect_schema().map_err(engine)?;
        let mut frames = vec![first.clone()];
        for (file, other) in others {
            let found = other.clone().collect_schema().map_err(engine)?;
            alike(&schema, &found).map_err(|reason| refused(file, &reason))?;
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

/// One file, its columns under the mapping's names.
fn scan(
    file: &Path,
    input: &InputDeclaration,
    number: u32,
    key: &str,
    mapping: &Path,
) -> Result<LazyFrame, MappingError> {
    let engine = |source| MappingError::Engine { key: key.to_owned(), source: Box::new(source) };
    let path = PlRefPath::try_from_path(file).map_err(engine)?;
    let csv = match input.format {
        Some(format) => format == FileFormat::Csv,
        None => format_of(file)? == FileFormat::Csv,
    };
    let (mut frame, names, blank) = if csv {
        let separator = input.separator.map_or(Some(b','), |char| u8::try_from(char).ok());
        let separator = separator
            .ok_or_else(|| KeyFault::new(format!("{key}.separator"), "expected an ASCII character").of(mapping))?;
        let CsvOutline { header: names, blank } = records::check(file, input, separator)?;
        let empty = (!input.empty.is_empty())
            .then(|| NullValues::AllColumns(input.empty.iter().map(|text| text.as_str().into()).collect()));
        // Every column is text: an id keeps its zeros, an amount its digits.
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
        // A dictionary of texts is text.
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
            let reason = format!("`{}` has no column of this name; it has: {}", file.display(), names.join(", "));
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
    let row = col(PLACE).cast(DataType::UInt64) + lit(place(number, 0));
    frame = frame.with_row_index(PLACE, Some(1)).with_columns([row.alias(PLACE)]);
    if !blank.is_empty() {
        frame = frame.filter(rows_but(col(PLACE), blank.into_iter().map(|row| place(number, row)).collect()));
    }
    Ok(frame)
}

fn format_of(file: &Path) -> Result<FileFormat, MappingError> {
    let extension = file.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    match extension.as_deref() {
        Some("csv" | "tsv" | "txt") => Ok(FileFormat::Csv),
        Some("parquet" | "pq") => Ok(FileFormat::Parquet),
        _ => Err(refused(file, "its name does not say whether it is CSV or Parquet; the input's `format` can")),
    }
}

fn alike(first: &Schema, other: &Schema) -> Result<(), String> {
    for (name, dtype) in first.iter() {
        match other.get(name) {
            None => return Err(format!("it has no column `{name}`, but the first file of its input has")),
            Some(found) if found != dtype => {
                return Err(format!(
                    "its column `{name}` is of type {found}, but {dtype} in the first file of its input"
                ));
            }
            Some(_) => {}
        }
    }
    match other.iter_names().find(|name| !first.contains(name)) {
        Some(name) => Err(format!("it has a column `{name}`, but the first file of its input has not")),
        None => Ok(()),
    }
}

fn refused(file: &Path, reason: &str) -> MappingError {
    MappingError::File { path: file.to_owned(), reason: reason.to_owned() }
}

fn file_name(file: &Path) -> String {
    file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
