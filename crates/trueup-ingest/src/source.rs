//! Input files of any format, read as chunks that threads decode in parallel.
//!
//! ```text
//! InputReader            opens a file and splits it into chunks        source.rs
//!   open                 by the format given, of the name, or shown    detect.rs
//!     FileFormat         an entry of FORMATS                           formats.rs, a file for each below formats/
//!   TextInput            a text: unpacked, and as UTF-8                text_input.rs (compression.rs, encoding.rs)
//!     InputBlocks        its blocks of whole records                   text_input.rs (text_blocks.rs)
//!   FormatReader         the chunks of a file, of any format           chunk.rs
//! RawChunk               a block, a row group, or decoded rows         chunk.rs
//! ChunkDecoder           decoded batches                               chunk.rs
//!   RowMapper            maps these rows to canonical rows             input.rs
//! DecodedBatch           rows, their locations, malformed records      decoded.rs
//! ```
//!
//! `header.rs` finds the header of a file of cells, and `left_out.rs` counts the lines that are no rows.
//!
//! `Input` in `input.rs` says which file is read, and how. `columns.rs` decides which columns its rows have.
//! `ReadLimits` in `decoded.rs` says how much is read at the same time.

mod chunk;
mod columns;
mod compression;
mod decoded;
mod detect;
mod encoding;
mod formats;
mod header;
mod input;
mod left_out;
mod text_blocks;
mod text_input;

pub use encoding::{TextEncoding, UnknownEncoding};
pub use formats::{FORMATS, FileFormat, UnknownFormat, listed};

pub(crate) use chunk::{ChunkDecoder, RawChunk};
pub(crate) use columns::{FolderColumn, check_fit, coded_text};
pub(crate) use compression::unpacked_name;
pub(crate) use decoded::{ColumnNames, DecodedBatch, LocatedValue, MappedOutcomes, RawRows, ReadLimits, RowLocations};
pub(crate) use formats::{ParquetBytes, ParquetFile, Setting, member_cells, named_separator, separator};
pub(crate) use header::{FileHead, HeaderRow, MAX_HEADER_ROW};
pub(crate) use input::{Input, ReadOptions, Reshape, RowMapper, file_name};
pub(crate) use left_out::LeftOutLines;
pub(crate) use text_blocks::{TextBlockFault, TextBlocks};
pub(crate) use text_input::{shows_encoding, write_text};

use crate::IngestError;
use crate::error::FileFault;
use arrow_schema::SchemaRef;
use chunk::FormatReader;
use columns::text_schema;
use decoded::check_name;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use trueup_core::files::Files;

/// An input file, read chunk by chunk.
pub(crate) struct InputReader<'a> {
    input: &'a Input,
    format: FileFormat,
    reader: FormatReader,
    /// The columns of the rows before a mapper changes them; `None` if the file declares none.
    columns: Option<SchemaRef>,
}

impl<'a> InputReader<'a> {
    /// Opens an input, detects its format, and reads its header or footer.
    ///
    /// # Errors
    /// The file cannot be read, is not in its format, has no sound header or footer, lacks the wanted sheet, has too
    /// many columns or one with too long a name, or has a column that a folder gives, too.
    pub(crate) fn open(files: &Files, input: &'a Input, limits: ReadLimits) -> Result<Self, IngestError> {
        let (format, reader) = detect::open(files, input, limits)?;
        let of_input = |fault: FileFault| fault.at(&input.shown);
        let columns =
            reader.schema.as_ref().map(|schema| input.options.columns(schema)).transpose().map_err(of_input)?;
        columns.iter().try_for_each(|columns| limits.check_columns(columns)).map_err(of_input)?;
        Ok(Self { input, format, reader, columns })
    }

    /// Returns the columns of the rows; `None` for a file that declares none and that no mapping reads.
    pub(crate) fn schema(&self) -> Option<&SchemaRef> {
        self.input.mapper.as_ref().map_or(self.columns.as_ref(), |mapper| Some(mapper.schema()))
    }

    /// Returns the format, which is known once the file is open.
    pub(crate) const fn format(&self) -> FileFormat {
        self.format
    }

    /// Returns what was found at the beginning of the file.
    pub(crate) const fn head(&self) -> FileHead {
        self.reader.head
    }

    /// Returns the columns of a file as a whole. A file that declares none is read to its end for this.
    ///
    /// # Errors
    /// The file cannot be read, its text is in another encoding, or its objects together have too many members or one
    /// with too long a name.
    pub(crate) fn all_columns(mut self, limits: ReadLimits) -> Result<SchemaRef, IngestError> {
        if let Some(columns) = self.columns {
            return Ok(columns);
        }
        let (options, of_input) = (&self.input.options, |fault: FileFault| fault.at(&self.input.shown));
        let mut names = BTreeSet::new();
        loop {
            let chunks = self.reader.chunks.by_ref().take(ReadLimits::chunks());
            let chunks = chunks.collect::<Result<Vec<_>, _>>().map_err(|fault| fault.at("read", self.input))?;
            if chunks.is_empty() {
                let members = text_schema(&names.into_iter().collect::<Vec<String>>());
                return options.columns(&members).map_err(of_input);
            }
            let found = chunks.into_par_iter().map(|chunk| chunk.rows.names()).collect::<Result<Vec<_>, _>>();
            let found = found.map_err(of_input)?.into_iter().flatten();
            names.extend(found.filter(|name| options.reads(name)));
            if names.len() > limits.max_columns {
                return Err(of_input(FileFault::ManyColumns(limits.max_columns)));
            }
            names.iter().try_for_each(|name| check_name(name)).map_err(of_input)?;
        }
    }

    /// Returns the next chunk in file order, or `None` after the last.
    pub(crate) fn next(&mut self) -> Result<Option<RawChunk>, IngestError> {
        let Input { options, mapper, .. } = self.input;
        let is_checked = self.columns.is_some();
        let chunk = self.reader.chunks.next().transpose().map_err(|fault| fault.at("read", self.input))?;
        let file_bytes = self.reader.read.swap(0, Ordering::Relaxed);
        Ok(chunk.map(|chunk| RawChunk {
            chunk,
            file_bytes,
            is_checked,
            options: options.clone(),
            mapper: mapper.clone(),
        }))
    }
}

#[cfg(test)]
mod tests;
