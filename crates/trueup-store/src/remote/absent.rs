//! Stand-ins for folders and files in object stores, and for the block cache, without the feature `object-store`. A URL
//! is an error, so that nothing else of this file is ever called.

#![expect(missing_docs, reason = "the types for which these stand say what their methods do")]

use super::{Publication, PublishError, ReadFault, RemoteObject, check_slashes, is_url};
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
    pub fn of(location: &Path) -> io::Result<Option<Self>> {
        check_slashes(location)?;
        if is_url(location) { unsupported() } else { Ok(None) }
    }

    pub fn is_writable(&self) -> bool {
        match self.0 {}
    }

    pub fn create(&self, _: &str, _: impl Into<Bytes>, _: &Interrupt) -> io::Result<bool> {
        match self.0 {}
    }

    pub fn upload(&self, _: &str, _: &Path, _: &Interrupt) -> io::Result<()> {
        match self.0 {}
    }

    pub fn remove(&self, _: &str) -> io::Result<()> {
        match self.0 {}
    }

    pub fn objects(&self, _: &str) -> io::Result<Vec<RemoteObject>> {
        match self.0 {}
    }

    pub fn replace(&self, _: &str, _: impl Fn(&[u8]) -> io::Result<Option<Vec<u8>>>) -> io::Result<()> {
        match self.0 {}
    }

    pub fn publish(&self, _: &str, _: Publication) -> (Result<(), PublishError>, bool) {
        match self.0 {}
    }

    pub fn names(&self, _: &[(&str, &str)]) -> io::Result<Vec<String>> {
        match self.0 {}
    }

    pub fn length(&self, _: &str) -> io::Result<u64> {
        match self.0 {}
    }

    pub fn modified(&self, _: &str) -> io::Result<SystemTime> {
        match self.0 {}
    }

    pub fn fetch(&self, _: &str, _: &Range<u64>, _: u64) -> Pending {
        match self.0 {}
    }

    pub fn whole(&self, _: &str, _: u64) -> Result<Bytes, ReadFault> {
        match self.0 {}
    }
}

/// A file at a URL. Without the feature `object-store`, there is no value of this type.
#[derive(Clone, Debug)]
pub struct RemoteFile(Infallible);

/// What a URL means: one file, or all that are below it.
#[derive(Debug)]
pub enum RemoteFiles {
    One(RemoteFile),
    Below(Vec<RemoteFile>),
}

impl RemoteFile {
    pub fn find(_: &Path) -> io::Result<RemoteFiles> {
        unsupported()
    }

    pub fn below(_: &Path) -> io::Result<Vec<Self>> {
        unsupported()
    }

    pub fn shown(&self) -> &Path {
        match self.0 {}
    }

    pub fn redirected_to(&self) -> Option<&str> {
        match self.0 {}
    }

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

/// A result that is being waited for; there is none.
#[derive(Debug)]
pub struct Pending(Infallible);

impl Pending {
    pub fn wait_while<S>(self, _: impl Fn() -> Result<(), S>) -> Result<Result<Bytes, ReadFault>, S> {
        match self.0 {}
    }
}

/// The local copy of a file's blocks; there is none.
#[derive(Debug)]
pub struct CachedFile(Infallible);

impl CachedFile {
    pub fn open(_: impl FnOnce() -> String, _: u64) -> Option<Self> {
        None
    }

    pub fn missing(&self, _: &Range<u64>) -> Range<u64> {
        match self.0 {}
    }

    pub fn read_around(&self, _: &Range<u64>, _: &Range<u64>, _: &[u8]) -> io::Result<Vec<u8>> {
        match self.0 {}
    }

    pub fn write(&self, _: &Range<u64>, _: u64, _: &[u8]) {
        match self.0 {}
    }
}
