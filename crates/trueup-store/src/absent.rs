//! Stand-ins for inputs at URLs, without the feature `object-store`. A URL is an error, so that nothing else of this
//! file is ever called.

#![expect(missing_docs, reason = "the types for which these stand say what their methods do")]

use std::convert::Infallible;
use std::io::{self, Read};
use std::path::Path;

/// Refuses a URL.
pub(crate) fn unsupported<T>() -> io::Result<T> {
    let message = "this program is built without the feature `object-store`, which reads URLs; give a file or a folder";
    Err(io::Error::new(io::ErrorKind::Unsupported, message))
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
