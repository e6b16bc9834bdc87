//! The bytes of a Parquet file: an input, or a checked file of the dataset.

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::sync::Arc;
use trueup_core::dataset::{CheckedFile, PositionedReader};

/// An open Parquet file that many threads read at the same time.
#[derive(Clone)]
pub(crate) enum ParquetBytes {
    /// A file that is being ingested.
    Input { file: Arc<File>, length: u64 },
    /// A file of the dataset, whose checksums are verified as it is read.
    Stored(CheckedFile),
}

impl ParquetBytes {
    pub(crate) fn input(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self::Input { file: Arc::new(file), length })
    }
}

impl Length for ParquetBytes {
    fn len(&self) -> u64 {
        match self {
            Self::Input { length, .. } => *length,
            Self::Stored(file) => file.len(),
        }
    }
}

impl ChunkReader for ParquetBytes {
    type T = Box<dyn Read>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(match self {
            Self::Input { file, .. } => Box::new(BufReader::new(PositionedReader { file: file.clone(), at: start })),
            Self::Stored(file) => Box::new(file.get_read(start)?),
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        match self {
            Self::Input { file, length: all } => {
                if start.checked_add(length as u64).is_none_or(|end| end > *all) {
                    return Err(ParquetError::EOF(format!(
                        "{length} bytes from {start} on are more than the file has"
                    )));
                }
                let mut bytes = vec![0; length];
                PositionedReader { file: file.clone(), at: start }.read_exact(&mut bytes)?;
                Ok(bytes.into())
            }
            Self::Stored(file) => file.get_bytes(start, length),
        }
    }
}
