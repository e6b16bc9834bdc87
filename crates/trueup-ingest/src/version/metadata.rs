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
        manifest.definitions = None;
        self.definitions = Some(definitions.clone());
        if definitions.is_empty() {
            return Ok(());
        }
        let (name, text) = (format!("0000-{}.toml", self.files.id), definitions.text());
        let file =
            self.files.write_metadata(DEFINITIONS_FOLDER, &name, text.as_bytes(), definitions.names().count())?;
        self.files.read_back(&file, read_definitions, |read| read.text() == text)?;
        manifest.definitions = Some(file);
        Ok(())
    }

    /// Writes the mapping that later ingests use, in place of that of the version before, and names it in the manifest.
    pub(crate) fn write_mapping(&mut self, text: &str, manifest: &mut Manifest) -> Result<(), IngestError> {
        let name = format!("0000-{}.toml", self.files.id);
        let file = self.files.write_metadata(MAPPING_FOLDER, &name, text.as_bytes(), text.lines().count())?;
        self.files.read_back(&file, read_mapping, |read| read == text)?;
        manifest.mapping = Some(file);
        Ok(())
    }

    /// Writes the list of forgotten customers, in place of that of the version before, and names it in the manifest.
    pub(crate) fn write_forgotten(
        &mut self,
        forgotten: &ForgottenCustomers,
        manifest: &mut Manifest,
    ) -> Result<(), IngestError> {
        let (name, bytes) = (format!("0000-{}.bin", self.files.id), forgotten.to_bytes());
        let file = self.files.write_metadata(FORGOTTEN_FOLDER, &name, &bytes, forgotten.len())?;
        self.files.read_back(&file, read_forgotten, |read| read.to_bytes() == bytes)?;
        manifest.forgotten = Some(file);
        Ok(())
    }
}

impl VersionFiles {
    /// Writes a list of files. Lists are numbered from 0.
    pub(super) fn write_list(&mut self, files: &[DataFile], number: usize) -> Result<FileList, IngestError> {
        let bytes = encode_list(files).doing("put a list of files together")?;
        let name = format!("{number:04}-{}.parquet", self.id);
        let file = self.write_metadata(LISTS_FOLDER, &name, &bytes, files.len())?;
        self.read_back(&file, read_list, |read| read == files)?;
        Ok(FileList { file, removed: Vec::new() })
    }

    /// Writes a file of deletion vectors, by the paths of the files whose rows are superseded.
    pub(crate) fn write_vectors(&mut self, vectors: &[(&str, &DeletionVector)]) -> Result<DataFile, IngestError> {
        let bytes = encode_vectors(vectors.iter().copied()).doing("put deletion vectors together")?;
        let file = self.write_metadata(VECTORS_FOLDER, &format!("0000-{}.parquet", self.id), &bytes, vectors.len())?;
        self.read_back(&file, read_vector_file, |read| {
            read.iter().map(|(path, vector)| (path.as_str(), vector)).eq(vectors.iter().copied())
        })?;
        Ok(file)
    }

    /// Writes a list of batches.
    pub(super) fn write_batches(&mut self, batches: &[Batch]) -> Result<DataFile, IngestError> {
        let bytes = encode_batches(batches).doing("put a list of batches together")?;
        let file =
            self.write_metadata(BATCHES_FOLDER, &format!("0000-{}.ndjson.zst", self.id), &bytes, batches.len())?;
        self.read_back(&file, read_batch_list, |read| read == batches)?;
        Ok(file)
    }

    /// Writes a file that holds `rows` entries. Its name gets the number of the version before it.
    fn write_metadata(&mut self, folder: &str, name: &str, bytes: &[u8], rows: usize) -> Result<DataFile, IngestError> {
        let mut file = self.create_named(folder, format!("{folder}/{:08}-{name}", self.number))?;
        let path = file.path().to_owned();
        file.write_all(bytes).at("write", &path)?;
        file.finish(rows as u64)
    }

    /// Reads a file as a reader does, and passes what it says to `is_same`.
    fn read_back<T>(
        &self,
        file: &DataFile,
        read: impl FnOnce(&Path, &DataFile) -> Result<T, DatasetError>,
        is_same: impl FnOnce(&T) -> bool,
    ) -> Result<(), IngestError> {
        let source = match read(&self.dir, file) {
            Ok(read) if is_same(&read) => return Ok(()),
            Ok(_) => None,
            Err(error) => Some(error),
        };
        Err(ErrorKind::NotReadBack { path: self.dir.join(&file.path), source }.into())
    }
}
