//! The given files as the inputs of a mapping: which input each file belongs to, and the columns of each input.

use super::computed::{ComputedColumns, InputRows};
use super::declaration::{HeaderKey, InputDeclaration, MappingFile, ShortRows, UnpivotColumns};
use super::held::{BufferedRows, MemoryCharge};
use super::unpivot::Unpivot;
use super::values::NamedMaps;
use crate::IngestError;
use crate::error::{FileFault, MappingFault, OfMapping};
use crate::source::{
    FORMATS, FileFormat, HeaderRow, Input, InputReader, LeftOutLines, ReadLimits, ReadOptions, Setting, TextEncoding,
    file_name, listed, separator, unpacked_name,
};
use arrow_schema::{DataType, Field, Schema};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use trueup_core::dataset::manifest::Manifest;
use trueup_core::files::Files;

/// The newest version of the dataset before the ingest.
#[derive(Clone, Copy)]
pub(crate) struct StoredDataset<'a> {
    pub(crate) dir: &'a Path,
    /// `None` if there is no version yet.
    pub(crate) manifest: Option<&'a Manifest>,
}

/// What reading the inputs of a mapping needs.
#[derive(Clone, Copy)]
pub(super) struct Reading<'a> {
    /// The path of the mapping.
    pub(super) mapping: &'a Path,
    /// Its name in protocols.
    pub(super) name: &'a str,
    /// Whether a dataset has it, and it was not given.
    pub(super) is_stored: bool,
    /// The names of all columns that its tables mention.
    pub(super) mentioned: &'a BTreeSet<&'a str>,
    /// What the dataset holds; `None` outside of an ingest.
    pub(super) stored: Option<StoredDataset<'a>>,
    pub(super) files: &'a Files,
    pub(super) limits: ReadLimits,
    pub(super) memory: &'a MemoryCharge,
}

/// An input: its files in the order in which they are given, and its columns.
pub(super) struct OpenedInput {
    pub(super) files: Vec<Input>,
    pub(super) columns: Vec<InputColumn>,
    /// Whether no file was given, and none needs to be. The columns are then all that the mapping names.
    pub(super) is_missing: bool,
    /// A line that may be the header, in words, if another one was taken for it.
    pub(super) header_hint: Option<String>,
    /// All rows, once a join has needed them.
    held: OnceLock<Arc<BufferedRows>>,
}

/// A column of an input.
#[derive(Clone, Debug)]
pub(super) struct InputColumn {
    /// The name in the mapping.
    pub(super) name: String,
    /// The name in the files.
    pub(super) in_file: String,
    /// The type of the values. Dictionaries of texts count as text.
    pub(super) data_type: DataType,
}

/// Adds a column that a mapping makes of others.
///
/// # Errors
/// There is already a column of this name.
pub(super) fn add_column(
    columns: &mut Vec<InputColumn>,
    name: &str,
    data_type: DataType,
    key: &str,
) -> Result<(), MappingFault> {
    if columns.iter().any(|column| column.name == name || column.in_file == name) {
        return Err(MappingFault::new(key, "the input already has a column of this name").with_value(name));
    }
    columns.push(InputColumn { name: name.to_owned(), in_file: name.to_owned(), data_type });
    Ok(())
}

impl InputColumn {
    /// Returns a column of an input without files.
    fn missing(name: &str) -> Self {
        Self { name: name.to_owned(), in_file: name.to_owned(), data_type: DataType::Utf8 }
    }
}

impl OpenedInput {
    /// Returns all rows, which are read once and held in memory.
    pub(super) fn held_rows(&self, reading: Reading<'_>) -> Result<Arc<BufferedRows>, IngestError> {
        if let Some(held) = self.held.get() {
            return Ok(held.clone());
        }
        let held = BufferedRows::read(&self.files, reading)?;
        Ok(self.hold(held))
    }

    /// Makes these the rows that joins get. Returns them.
    pub(super) fn hold(&self, rows: BufferedRows) -> Arc<BufferedRows> {
        self.held.get_or_init(|| Arc::new(rows)).clone()
    }
}

/// Opens every input of a mapping, each with the given files that belong to it.
pub(super) fn open(
    declaration: &MappingFile,
    reading: Reading<'_>,
    files: &[Input],
) -> Result<BTreeMap<String, OpenedInput>, IngestError> {
    // The inputs of each file: one, unless each of several reads another sheet.
    let mut owners: Vec<Vec<(&String, Option<&String>)>> = vec![Vec::new(); files.len()];
    for (name, input) in &declaration.input {
        for (file, owners) in files.iter().zip(&mut owners).filter(|(file, _)| is_named(&input.file, &file.shown)) {
            let sheet = input.sheet.as_ref();
            let is_same =
                |(_, other): &&(&String, Option<&String>)| sheet.is_none() || other.is_none_or(|it| Some(it) == sheet);
            if let Some((other, _)) = owners.iter().find(is_same) {
                let reason = format!(
                    "the inputs `{other}` and `{name}` both name this file; only inputs that have the key `sheet`, each another one, \
                     can share a workbook"
                );
                return Err(refused(&file.shown, reason));
            }
            owners.push((name, sheet));
        }
    }
    if let Some((file, _)) = files.iter().zip(&owners).find(|(_, owners)| owners.is_empty()) {
        let reason = if reading.is_stored {
            let inputs: Vec<String> = declaration.input.values().map(|input| format!("`{}`", input.file)).collect();
            format!(
                "no input of the mapping that the dataset has names this file; its inputs are {}. `--mapping FILE` replaces \
                 the mapping, and `--no-mapping` reads files whose columns have the names of fields",
                inputs.join(", ")
            )
        } else {
            format!("no input of the mapping `{}` names this file", reading.mapping.display())
        };
        return Err(refused(&file.shown, reason));
    }
    let mentioned = reading.mentioned;
    let mut opened = BTreeMap::new();
    for (name, input) in &declaration.input {
        let own = files.iter().zip(&owners).filter(|(_, owners)| owners.iter().any(|(owner, _)| *owner == name));
        let own = own.map(|(file, _)| file);
        let found = open_input(name, input, own, (mentioned, &declaration.map), reading)?;
        opened.insert(name.clone(), found);
    }
    Ok(opened)
}

/// Opens an input: checks that its files have the same columns. `mentioned` are the columns that tables name, and
/// `maps` the maps of the mapping.
fn open_input<'f>(
    name: &str,
    input: &InputDeclaration,
    files: impl Iterator<Item = &'f Input>,
    (mentioned, maps): (&BTreeSet<&str>, &NamedMaps),
    reading: Reading<'_>,
) -> Result<OpenedInput, IngestError> {
    let key = format!("input.{name}");
    let mut opened = OpenedInput {
        files: Vec::new(),
        columns: Vec::new(),
        is_missing: false,
        header_hint: None,
        held: OnceLock::new(),
    };
    // The header is looked for by the names that the columns have in the file.
    let unpivoted = input.unpivot.iter().flat_map(|unpivot| match &unpivot.columns {
        UnpivotColumns::Names(names) => names.as_slice(),
        UnpivotColumns::Pattern { .. } => &[],
    });
    let names = input.rename.keys().chain(unpivoted).map(String::as_str).chain(mentioned.iter().copied());
    let names: Arc<BTreeSet<String>> = Arc::new(names.map(str::to_owned).collect());
    for given in files {
        let path = given.shown.as_path();
        let mut options = read_options(given, input, &names, &key).of_mapping(reading.mapping)?;
        let mut file = Input { options: Arc::new(options.clone()), ..given.clone() };
        let reader = InputReader::open(reading.files, &file, reading.limits)?;
        if let Some((line, cells)) = reader.head().wider
            && opened.header_hint.is_none()
        {
            let file = path.display();
            let hint = format!(
                "line {line} of `{file}` has {cells} cells: if it is the header, write `header_row = {line}` as a key of `{key}`"
            );
            opened.header_hint = Some(hint);
        }
        let schema = reader.all_columns(reading.limits)?;
        let columns = named_columns(&schema, input, path, &key).of_mapping(reading.mapping)?;
        // Other columns may hold anything, because nothing reads them.
        let read = columns.iter().filter(|column| mentioned.contains(column.name.as_str()));
        options.columns = Some(read.map(|column| column.in_file.clone()).collect());
        let (mut columns, mut rows) = (columns, InputRows { unpivot: None, computed: None });
        if let Some(declared) = &input.unpivot {
            let unpivot;
            (unpivot, columns) = Unpivot::new(declared, columns, &key).of_mapping(reading.mapping)?;
            options.columns.get_or_insert_default().extend(unpivot.sources().cloned());
            rows.unpivot = Some(unpivot);
        }
        if !input.compute.is_empty() {
            let computed =
                ComputedColumns::new(&input.compute, &mut columns, maps, &key).of_mapping(reading.mapping)?;
            rows.computed = Some(computed);
        }
        if rows.unpivot.is_some() || rows.computed.is_some() {
            options.reshape = Some(Arc::new(rows));
        }
        file.options = Arc::new(options);
        if opened.files.is_empty() {
            opened.columns = columns;
        } else {
            check_same_columns(&opened.columns, &columns).map_err(|reason| refused(path, reason))?;
        }
        opened.files.push(file);
    }
    if opened.files.is_empty() && input.optional {
        opened.is_missing = true;
        opened.columns = mentioned.iter().map(|name| InputColumn::missing(name)).collect();
        return Ok(opened);
    }
    if opened.files.is_empty() {
        let reason = "no file that was given has this name; with `optional = true` it may be missing";
        let fault = MappingFault::new(format!("{key}.file"), reason);
        return Err(fault.with_value(&input.file).at(reading.mapping));
    }
    Ok(opened)
}

/// Returns how a file is read: as the mapping says, or else as the options of the input or its name say. `names` are
/// the ones that its header may have.
fn read_options(
    file: &Input,
    input: &InputDeclaration,
    names: &Arc<BTreeSet<String>>,
    key: &str,
) -> Result<ReadOptions, MappingFault> {
    let (path, given) = (file.shown.as_path(), file.options.as_ref());
    // Record batches have no other format, whatever the mapping says.
    let declared = input.format.filter(|_| given.format != Some(FileFormat::BATCHES));
    let format = match declared.or(given.format).or_else(|| FileFormat::from_name(path)) {
        Some(format) => format,
        None => {
            let formats = listed(FORMATS.iter().map(|format| format.title), "or");
            let reason = format!("the name of `{}` does not say whether it is {formats}; set this key", path.display());
            return Err(MappingFault::new(format!("{key}.format"), reason));
        }
    };
    // An encoding is no fault in another format, as the option `--encoding` is none.
    for (name, is_set, setting) in [
        ("separator", input.separator.is_some(), Setting::Separator),
        ("header", input.header.is_some(), Setting::Header),
        ("header_row", input.header_row.is_some(), Setting::HeaderRow),
        ("merged", input.merged.is_some(), Setting::Merged),
        ("short_rows", input.short_rows == ShortRows::Skip, Setting::ShortRows),
        ("empty", !input.empty.is_empty(), Setting::Empty),
        ("sheet", input.sheet.is_some(), Setting::Sheet),
    ] {
        if is_set && !format.takes(setting) {
            let others = FORMATS.iter().filter(|other| other.takes(setting));
            let whose = listed(others.map(|other| other.title), "and");
            return Err(MappingFault::new(format!("{key}.{name}"), format!("only {whose} files can have this key")));
        }
    }
    let separator = match input.separator.map(separator) {
        Some(None) => {
            let reason = "expected an ASCII character that is neither a quote nor a line end";
            return Err(MappingFault::new(format!("{key}.separator"), reason));
        }
        separator => separator.flatten().or(given.separator),
    };
    let encoding = input.encoding.as_deref().map(str::parse::<TextEncoding>).transpose();
    let encoding = encoding.map_err(|unknown| MappingFault::new(format!("{key}.encoding"), unknown.to_string()))?;
    let encoding = encoding.or(given.encoding);
    let sheet = input.sheet.clone().or_else(|| given.sheet.clone());
    let (header, empty) = (input.header.clone(), input.empty.clone());
    let header_row = Some(match &input.header_row {
        None => HeaderRow::Fitting(names.clone()),
        Some(HeaderKey::Number(number)) => HeaderRow::Number(*number),
        Some(HeaderKey::Names(names)) => HeaderRow::Names(names.clone()),
    });
    let skips_short_rows = input.short_rows == ShortRows::Skip;
    let left_out = format.takes(Setting::HeaderRow).then(Arc::<LeftOutLines>::default);
    Ok(ReadOptions {
        format: Some(format),
        separator,
        encoding,
        header,
        header_row,
        merged: input.merged,
        skips_short_rows,
        left_out,
        empty,
        sheet,
        ..given.clone()
    })
}

/// Returns the columns of a file, each with its name in the file and in the mapping.
fn named_columns(
    schema: &Schema,
    input: &InputDeclaration,
    path: &Path,
    key: &str,
) -> Result<Vec<InputColumn>, MappingFault> {
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    for (from, to) in &input.rename {
        if !names.contains(&from.as_str()) {
            let reason =
                format!("`{}` has no column of this name; the columns are: {}", path.display(), names.join(", "));
            return Err(MappingFault::new(format!("{key}.rename"), reason).with_value(from));
        }
        if names.contains(&to.as_str()) && !input.rename.contains_key(to) {
            let reason = format!("`{}` already has a column of this name", path.display());
            return Err(MappingFault::new(format!("{key}.rename.{from}"), reason).with_value(to));
        }
    }
    let column = |field: &Arc<Field>| {
        let in_file = field.name().clone();
        let data_type = match field.data_type() {
            DataType::Dictionary(_, values) => values.as_ref().clone(),
            plain => plain.clone(),
        };
        InputColumn { name: input.rename.get(&in_file).unwrap_or(&in_file).clone(), in_file, data_type }
    };
    Ok(schema.fields().iter().map(column).collect())
}

/// Checks that two files of an input have the same columns, in any order.
fn check_same_columns(first: &[InputColumn], other: &[InputColumn]) -> Result<(), String> {
    let find = |columns: &'_ [InputColumn], name: &str| columns.iter().find(|column| column.name == name).cloned();
    for InputColumn { name, data_type, .. } in first {
        match find(other, name) {
            None => return Err(format!("it has no column `{name}`, but the first file of its input has one")),
            Some(found) if found.data_type != *data_type => {
                let found = found.data_type;
                return Err(format!(
                    "its column `{name}` is of type {found}, but {data_type} in the first file of its input"
                ));
            }
            Some(_) => {}
        }
    }
    match other.iter().find(|column| find(first, &column.name).is_none()) {
        Some(column) => Err(format!("it has a column `{}`, but the first file of its input has none", column.name)),
        None => Ok(()),
    }
}

fn refused(file: &Path, reason: String) -> IngestError {
    FileFault::Refused(reason).at(file)
}

/// Returns whether a pattern matches the name of a file, with or without the ending that says how it is compressed.
fn is_named(pattern: &str, file: &Path) -> bool {
    is_match(pattern, &file_name(file)) || is_match(pattern, &file_name(&unpacked_name(file)))
}

/// Returns whether a file name matches a pattern: `*` matches any characters, `?` matches one, and any other character
/// itself.
pub(super) fn is_match(pattern: &str, name: &str) -> bool {
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
