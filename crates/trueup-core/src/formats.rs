//! The formats of files, and the one table of the endings that name them.
//!
//! Every part of trueup that derives a format or a compression from the name of a file asks this module, whether it
//! reads the file or writes it. Which formats a part reads or writes is that part's own matter: it matches on
//! [`Format`], so that a new format does not compile until each part has an answer.

use std::path::{Path, PathBuf};

/// A format that the ending of a file's name can mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Values that are separated by commas or by another character.
    Csv,
    /// Values that are separated by tabs.
    Tsv,
    /// A JSON array.
    Json,
    /// A JSON object on each line.
    Ndjson,
    /// Parquet.
    Parquet,
    /// An Arrow IPC file.
    Arrow,
    /// A workbook of Excel.
    Xlsx,
    /// Plain text: read as CSV, and written as a table for people.
    Text,
    /// A web page.
    Html,
    /// Markdown.
    Markdown,
}

/// A program that compresses files as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// gzip.
    Gzip,
    /// Zstandard.
    Zstd,
    /// bzip2.
    Bzip2,
}

/// Each format with the endings that mean it, the usual one first. An ending means one format.
pub const FORMATS: [(Format, &[&str]); 10] = [
    (Format::Csv, &["csv"]),
    (Format::Tsv, &["tsv"]),
    (Format::Json, &["json"]),
    (Format::Ndjson, &["ndjson", "jsonl"]),
    (Format::Parquet, &["parquet", "pq"]),
    (Format::Arrow, &["arrow"]),
    (Format::Xlsx, &["xlsx", "xlsm"]),
    (Format::Text, &["txt"]),
    (Format::Html, &["html", "htm"]),
    (Format::Markdown, &["md"]),
];

/// Each compression with the endings that mean it, which follow the ending of the format: `events.csv.gz`.
const COMPRESSIONS: [(Compression, &[&str]); 3] =
    [(Compression::Gzip, &["gz"]), (Compression::Zstd, &["zst", "zstd"]), (Compression::Bzip2, &["bz2"])];

impl Format {
    /// Returns the format that the ending of a file's name means, in any letter case; `None` if the name has no ending
    /// or an unknown one. An ending that says how the file is compressed is unknown: see [`unpacked_name`].
    pub fn from_name(name: &Path) -> Option<Self> {
        find(name, &FORMATS)
    }

    /// Returns the usual ending of a file in this format, without the dot.
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Json => "json",
            Self::Ndjson => "ndjson",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
            Self::Xlsx => "xlsx",
            Self::Text => "txt",
            Self::Html => "html",
            Self::Markdown => "md",
        }
    }
}

impl Compression {
    /// Returns the compression that the ending of a file's name means, in any letter case.
    pub fn from_name(name: &Path) -> Option<Self> {
        find(name, &COMPRESSIONS)
    }
}

/// Returns a file's name without the ending that says how it is compressed.
pub fn unpacked_name(name: &Path) -> PathBuf {
    if Compression::from_name(name).is_some() { name.with_extension("") } else { name.to_owned() }
}

/// Returns the endings of the formats that `is_wanted` accepts, for messages: `.html, .htm or .md`.
pub fn listed_endings(is_wanted: impl Fn(Format) -> bool) -> String {
    let wanted = FORMATS.into_iter().filter(|(format, _)| is_wanted(*format));
    let endings: Vec<String> = wanted.flat_map(|(_, endings)| endings).map(|ending| format!(".{ending}")).collect();
    match endings.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

/// Returns the entry of a table whose endings have that of a name.
fn find<T: Copy>(name: &Path, table: &[(T, &[&str])]) -> Option<T> {
    let ending = name.extension()?;
    let has = |endings: &[&str]| endings.iter().any(|known| ending.eq_ignore_ascii_case(known));
    table.iter().find(|(_, endings)| has(endings)).map(|(named, _)| *named)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn an_ending_means_one_thing() {
        let mut seen = HashSet::new();
        for (format, endings) in FORMATS {
            assert_eq!(endings[0], format.ending());
            for ending in endings {
                assert!(seen.insert(*ending), "{ending}");
                let name = format!("a.b/c.{}", ending.to_uppercase());
                assert_eq!(Format::from_name(Path::new(&name)), Some(format));
                assert_eq!(unpacked_name(Path::new(&name)), Path::new(&name));
            }
        }
        for (compression, endings) in COMPRESSIONS {
            for ending in endings {
                assert!(seen.insert(*ending), "{ending}");
                let name = format!("c.csv.{ending}");
                assert_eq!(Compression::from_name(Path::new(&name)), Some(compression));
                assert_eq!(unpacked_name(Path::new(&name)), Path::new("c.csv"));
                assert_eq!(Format::from_name(Path::new(&name)), None);
            }
        }
        assert_eq!(Format::from_name(Path::new("csv")), None);
        assert_eq!(Format::from_name(Path::new("a.csv/b")), None);
    }

    #[test]
    fn messages_list_endings() {
        assert_eq!(listed_endings(|format| format == Format::Html), ".html or .htm");
        assert_eq!(listed_endings(|format| format == Format::Csv), ".csv");
        assert_eq!(listed_endings(|_| false), "");
    }
}
