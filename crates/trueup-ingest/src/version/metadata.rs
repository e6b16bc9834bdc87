//! The files of a version that say something about others: lists of files and of batches, deletion vectors,
//! definitions and mappings. What is written is read back, by the function that readers use, before a manifest names
//! it: a version that nobody can read is never published.

use super::{BegunVersion, VersionFiles};
use crate::IngestError;
use crate::error::{ErrorContext, ErrorKind};
use std::io::Write;
use std::path::Path;
use trueup_core::dataset::manifest::{
    BATCHES_FOLDER, DEFINITIONS_FOLDER, DataFile, FORGOTTEN_FOLDER, FileList, LISTS_FOLDER, MAPPING_FOLDER, Manifest,
    VECTORS_FOLDER,
};
use trueup_core::dataset::{
    Batch, DatasetError, DeletionVector, ForgottenCustomers, encode_batches, encode_list, encode_vectors,
    read_batch_list, read_definitions, read_forgotten, read_list, read_mapping, read_vector_file,
};
use trueup_core::definitions::Definitions;

impl BegunVersion {
    /// Writes the definitions of metrics and dimensions, in place of those of the version before, and names them in the
    /// manifest.
    pub(crate) fn write_definitions(
        &mut self,
        definitions: &Definitions,
        manifest: &mut Manifest,
    ) -> Result<(), IngestError> {
        manifest.named.remove(DEFINITIONS_FOLDER);
        self.definitions = Some(definitions.clone());
        if definitions.is_empty() {
            return Ok(());
        }
        let (name, text, rows) = ((DEFINITIONS_FOLDER, 0, "toml"), definitions.text(), definitions.names().count());
        let is_same = |read: &Definitions| read.text() == text;
        manifest.set_named(self.files.write_metadata(name, text.as_bytes(), rows, read_definitions, is_same)?);
        Ok(())
    }

    /// Writes the mapping that later ingests use, in place of that of the version before, and names it in the manifest.
    pub(crate) fn write_mapping(&mut self, text: &str, manifest: &mut Manifest) -> Result<(), IngestError> {
        let (name, rows) = ((MAPPING_FOLDER, 0, "toml"), text.lines().count());
        let file = self.files.write_metadata(name, text.as_bytes(), rows, read_mapping, |read| read == text)?;
        manifest.set_named(file);
        Ok(())
    }

    /// Writes the list of forgotten customers, in place of that of the version before, and names it in the manifest.
    pub(crate) fn write_forgotten(
        &mut self,
        forgotten: &ForgottenCustomers,
        manifest: &mut Manifest,
    ) -> Result<(), IngestError> {
        let (name, bytes) = ((FORGOTTEN_FOLDER, 0, "bin"), forgotten.to_bytes());
        let is_same = |read: &ForgottenCustomers| read.to_bytes() == bytes;
        let file = self.files.write_metadata(name, &bytes, forgotten.len(), read_forgotten, is_same)?;
        manifest.set_named(file);
        Ok(())
    }
}

impl VersionFiles {
    /// Writes a list of files. Lists are numbered from 0.
    pub(super) fn write_list(&mut self, files: &[DataFile], number: usize) -> Result<FileList, IngestError> {
        let bytes = encode_list(files).doing("put a list of files together")?;
        let name = (LISTS_FOLDER, number, "parquet");
        let file = self.write_metadata(name, &bytes, files.len(), read_list, |read| read == files)?;
        Ok(FileList { file, removed: Vec::new() })
    }

    /// Writes a file of deletion vectors, by the paths of the files whose rows are superseded.
    pub(crate) fn write_vectors(&mut self, vectors: &[(&str, &DeletionVector)]) -> Result<DataFile, IngestError> {
        let bytes = encode_vectors(vectors.iter().copied()).doing("put deletion vectors together")?;
        self.write_metadata((VECTORS_FOLDER, 0, "parquet"), &bytes, vectors.len(), read_vector_file, |read| {
            read.iter().map(|(path, vector)| (path.as_str(), vector)).eq(vectors.iter().copied())
        })
    }

    /// Writes a list of batches.
    pub(super) fn write_batches(&mut self, batches: &[Batch]) -> Result<DataFile, IngestError> {
        let bytes = encode_batches(batches).doing("put a list of batches together")?;
        let name = (BATCHES_FOLDER, 0, "ndjson.zst");
        self.write_metadata(name, &bytes, batches.len(), read_batch_list, |read| read == batches)
    }

    /// Writes a file that holds `rows` entries, reads it as a reader does, and passes what it says to `is_same`. The
    /// number in its name follows that of the version.
    fn write_metadata<T>(
        &mut self,
        (folder, number, ending): (&str, usize, &str),
        bytes: &[u8],
        rows: usize,
        read: impl FnOnce(&Path, &DataFile) -> Result<T, DatasetError>,
        is_same: impl FnOnce(&T) -> bool,
    ) -> Result<DataFile, IngestError> {
        let path = format!("{folder}/{:08}-{number:04}-{}.{ending}", self.number, self.id);
        let mut file = self.create_named(folder, path)?;
        let path = file.path().to_owned();
        file.write_all(bytes).at("write", &path)?;
        let file = file.finish(rows as u64)?;
        let source = match read(&self.dir, &file) {
            Ok(read) if is_same(&read) => return Ok(file),
            Ok(_) => None,
            Err(error) => Some(error),
        };
        Err(ErrorKind::NotReadBack { path: self.dir.join(&file.path), source }.into())
    }
}
