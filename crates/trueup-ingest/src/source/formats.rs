//! The formats of input files. [`FORMATS`] lists them. The file of a format holds all that trueup knows of it: what
//! names it, what its files begin with, what a user may say of them, and how they are read.

mod csv;
mod ndjson;
mod parquet;
mod produced;
mod xlsx;

pub(crate) use csv::{named_separator, separator};
pub(crate) use ndjson::member_cells;
pub(crate) use parquet::{ParquetBytes, ParquetFile};

use super::chunk::{FormatReader, ReadFault};
use super::compression::unpacked_name;
use super::decoded::ReadLimits;
use super::input::Input;
use super::text_input::TextInput;
use crate::IngestError;
use crate::error::FileFault;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use std::path::Path;
use std::str::FromStr;
use trueup_core::files::{Files, OpenFile};

/// Every format of files, in the order in which messages and help list them.
pub static FORMATS: &[FileFormat] = &[FileFormat::CSV, FileFormat::NDJSON, FileFormat::PARQUET, FileFormat::XLSX];

/// The format of a file, an entry of [`FORMATS`].
#[derive(Clone, Copy, Debug)]
pub struct FileFormat {
    /// The name in options, mappings and records of what was ingested, such as `csv`.
    pub name: &'static str,
    /// The endings of the names of files in this format, the usual one first. No other format has one of them.
    pub endings: &'static [&'static str],
    /// Other names that options may have for it.
    other_names: &'static [&'static str],
    /// The name in messages, such as `CSV`.
    pub(crate) title: &'static str,
    /// What a user may say of a file in this format.
    settings: &'static [Setting],
    pub(super) content: Content,
}

/// What a user may say of how a file is read, in options or in a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    Separator,
    Header,
    Empty,
    Sheet,
    Encoding,
    HeaderRow,
    ShortRows,
    Merged,
}

/// How files in a format are recognized and opened.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content {
    /// Text, which may be compressed and in any encoding.
    Text {
        /// Returns whether a text of which neither a name nor the user says the format is in this one.
        begins: fn(&[u8]) -> bool,
        open: fn(TextInput, &Input, ReadLimits) -> Result<FormatReader, ReadFault>,
    },
    Binary(Binary),
    /// Rows that no user gives as a file. Nothing is recognized.
    Produced(OpenProduced),
}

type OpenProduced = fn(&Files, &Input, ReadLimits) -> Result<FormatReader, IngestError>;

/// A format of files that are no texts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Binary {
    /// Returns whether the first bytes of a file are those of this format, or why no such file can be read.
    pub(super) begins: fn(&[u8]) -> Result<bool, FileFault>,
    /// The message for a file that should be in this format and is not.
    pub(super) is_not: &'static str,
    /// The message for a file that is in this format and should not be.
    pub(super) is: &'static str,
    pub(super) open: fn(OpenFile, &Input, ReadLimits) -> Result<FormatReader, ReadFault>,
}

impl FileFormat {
    /// Returns the format that the name of a file says, in any letter case; `None` if it says none. An ending that says
    /// how the file is compressed is passed over.
    pub(crate) fn from_name(name: &Path) -> Option<Self> {
        let name = unpacked_name(name);
        let ending = name.extension()?;
        let is_named = |format: &&Self| format.endings.iter().any(|known| ending.eq_ignore_ascii_case(known));
        FORMATS.iter().find(is_named).copied()
    }

    /// Returns whether a user may say this of a file in this format.
    pub(crate) fn takes(self, setting: Setting) -> bool {
        self.settings.contains(&setting)
    }
}

/// Lists names, such as `csv, ndjson or xlsx`, with `last` before the last one.
pub fn listed(names: impl Iterator<Item = impl ToString>, last: &str) -> String {
    let names = names.map(|name| name.to_string()).collect::<Vec<_>>().join(", ");
    names.rsplit_once(", ").map_or_else(|| names.clone(), |(others, one)| format!("{others} {last} {one}"))
}

impl PartialEq for FileFormat {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl FromStr for FileFormat {
    type Err = UnknownFormat;

    /// Reads the name of a format in small letters. `jsonl` and `json` are `ndjson`.
    ///
    /// # Errors
    /// No format has this name.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let is_named = |format: &&Self| format.name == name || format.other_names.contains(&name);
        FORMATS.iter().find(is_named).copied().ok_or_else(|| UnknownFormat(name.to_owned()))
    }
}

impl<'de> Deserialize<'de> for FileFormat {
    /// Reads the one name that a mapping may have for a format.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let format = FORMATS.iter().find(|format| format.name == name);
        format.copied().ok_or_else(|| {
            let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
            D::Error::custom(format_args!("unknown variant `{name}`, expected one of `{}`", names.join("`, `")))
        })
    }
}

/// The name of a format that is not read.
#[derive(Debug, thiserror::Error)]
#[error("there is no format `{}`; use {}", trueup_core::Shown(.0), listed(FORMATS.iter().map(|format| format!("`{}`", format.name)), "or"))]
pub struct UnknownFormat(String);
