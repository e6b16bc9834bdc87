//! Stand-ins for folders and files in object stores, and for the block cache, without the feature `object-store`. A URL
//! is an error, so that nothing else of this file is ever called.

use super::super::error::PublishError;
use super::{ReadFault, RemoteObject, check_slashes, is_url};
use crate::interrupt::Interrupt;
use bytes::Bytes;
use std::convert::Infallible;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;
use std::time::SystemTime;

/// A folder in an object store. Without the feature `object-store`, there is no value of this type.
#[derive(Clone, Debug)]
pub struct RemoteFolder(Infallible);

/// Refuses a URL.
fn unsupported<T>() -> io::Result<T> {
    let message = "this program is built without the feature `object-store`, which reads URLs; give a file or a folder";
    Err(io::Error::new(io::ErrorKind::Unsupported, message))
}

impl RemoteFolder {
    /// Returns `None` for a path of the file system.
    ///
    /// # Errors
    /// The location is a URL, or a URL that has lost a slash, such as `s3:/bucket`.
    pub fn of(location: &Path) -> io::Result<Option<Self>> {
        check_slashes(location)?;
        if is_url(location) { unsupported() } else { Ok(None) }
    }

    /// Returns whether versions can be published here.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        match self.0 {}
    }

    /// Creates an object.
    ///
    /// # Errors
    /// Never, because there is no folder.
    pub fn create(&self, _: &str, _: impl Into<Bytes>, _: &Interrupt) -> io::Result<bool> {
        match self.0 {}
    }

    /// Sends a file.
    ///
    /// # Errors
    /// Never, because there is no folder.
    pub fn upload(&self, _: &str, _: &Path, _: &Interrupt) -> io::Result<()> {
        match self.0 {}
    }

    /// Removes an object.
    ///
    /// # Errors
    /// Never, because there is no folder.
    pub fn remove(&self, _: &str) -> io::Result<()> {
        match self.0 {}
    }

    /// Lists the objects in a folder.
    ///
    /// # Errors
    /// Never, because there is no folder.
    pub fn objects(&self, _: &str) -> io::Result<Vec<RemoteObject>> {
        match self.0 {}
    }

    pub(in super::super) fn replace(
        &self,
        _: &str,
        _: impl Fn(&[u8]) -> io::Result<Option<Vec<u8>>>,
    ) -> io::Result<()> {
        match self.0 {}
    }

    pub(in super::super) fn publish(&self, _: &str, _: Vec<u8>) -> (Result<(), PublishError>, bool) {
        match self.0 {}
    }

    pub(in super::super) fn names(&self) -> io::Result<Vec<String>> {
        match self.0 {}
    }

    pub(in super::super) fn length(&self, _: &str) -> io::Result<u64> {
        match self.0 {}
    }

    pub(in super::super) fn modified(&self, _: &str) -> io::Result<SystemTime> {
        match self.0 {}
    }

    pub(in super::super) fn fetch(&self, _: &str, _: &Range<u64>, _: u64) -> Pending {
        match self.0 {}
    }

    pub(in super::super) fn whole(&self, _: &str, _: u64) -> Result<Bytes, ReadFault> {
        match self.0 {}
    }
}

/// A file at a URL. Without the feature `object-store`, there is no value of this type.
#[derive(Clone, Debug)]
pub struct RemoteFile(Infallible);

/// What a URL means: one file, or all that are below it.
#[derive(Debug)]
pub enum RemoteFiles {
    /// A file.
    One(RemoteFile),
    /// The files below a folder, sorted by name.
    Below(Vec<RemoteFile>),
}

impl RemoteFile {
    /// Refuses a URL.
    ///
    /// # Errors
    /// Always.
    pub fn find(_: &Path) -> io::Result<RemoteFiles> {
        unsupported()
    }

    /// Refuses a URL.
    ///
    /// # Errors
    /// Always.
    pub fn below(_: &Path) -> io::Result<Vec<Self>> {
        unsupported()
    }

    /// Returns the URL for messages.
    #[must_use]
    pub fn shown(&self) -> &Path {
        match self.0 {}
    }

    /// Returns `None`.
    #[must_use]
    pub fn redirected_to(&self) -> Option<&str> {
        match self.0 {}
    }

    /// Returns a reader of the file's bytes.
    #[must_use]
    pub fn into_reader(self) -> RemoteReader {
        match self.0 {}
    }
}

/// The bytes of a file at a URL.
#[derive(Debug)]
pub struct RemoteReader(Infallible);

impl Read for RemoteReader {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match self.0 {}
    }
}

#[derive(Debug)]
pub(in super::super) struct Pending(Infallible);

impl Pending {
    pub(in super::super) fn wait_while<S>(self, _: impl Fn() -> Result<(), S>) -> Result<Result<Bytes, ReadFault>, S> {
        match self.0 {}
    }
}

/// The local copy of a file's blocks; there is none.
#[derive(Debug)]
pub(in super::super) struct CachedFile(Infallible);

impl CachedFile {
    pub(in super::super) fn open(_: impl FnOnce() -> String, _: u64) -> Option<Self> {
        None
    }

    pub(in super::super) fn missing(&self, _: &Range<u64>) -> Range<u64> {
        match self.0 {}
    }

    pub(in super::super) fn read_around(&self, _: &Range<u64>, _: &Range<u64>, _: &[u8]) -> io::Result<Vec<u8>> {
        match self.0 {}
    }

    pub(in super::super) fn write(&self, _: &Range<u64>, _: u64, _: &[u8]) {
        match self.0 {}
    }
}
