//! Folders and files in object stores: a location with a scheme, such as `s3://bucket/acme`, in place of a path.
//!
//! | file | what it does |
//! |---|---|
//! | `location` | finds the store and the prefix that a URL means, and where its credentials are |
//! | `aws_profile` | reads the files in which the tools of AWS keep credentials |
//! | `listing` | lists the names of the objects in a folder of a web server |
//! | `fetch` | reads bytes of an object in parts at the same time, and lists: repeated if an answer is cut off |
//! | `write` | creates, uploads, lists, publishes and removes objects |
//! | `web_client` | makes the clients of stores and web servers: their TLS, and where redirects may lead |
//! | `source`, `web` | read the inputs of an ingest from beginning to end: objects, and files of web servers |
//! | `runtime` | runs requests on threads of its own, for callers that wait or do something else meanwhile |
//! | `fault` | says what a store answered, in one line and without credentials |

mod aws_profile;
mod fault;
mod fetch;
mod listing;
mod location;
mod runtime;
mod source;
mod web;
mod web_client;
mod write;

pub use location::RemoteStore;
pub use source::{RemoteFile, RemoteFiles, RemoteReader};
pub use web_client::http_client;

use crate::interrupt::Interrupt;
use crate::pending::Pending;
use crate::store::{Entry, Publication, PublishError, ReadFault, Replacement, Store};
use bytes::Bytes;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::time::SystemTime;

impl Store for RemoteStore {
    fn is_writable(&self) -> bool {
        !self.is_web()
    }

    fn is_folder(&self) -> bool {
        false
    }

    fn server(&self) -> &str {
        &self.store.server
    }

    fn list(&self, below: &str, numbered: &'static [(&'static str, &'static str)]) -> io::Result<Vec<Entry>> {
        if !self.is_web() {
            return self.objects(below);
        }
        Ok(self.names(numbered)?.into_iter().map(|name| Entry { name, listed: None }).collect())
    }

    fn modified(&self, name: &str) -> io::Result<SystemTime> {
        Ok(self.head(name)?.last_modified.into())
    }

    fn length(&self, name: &str) -> io::Result<u64> {
        Ok(self.head(name)?.size)
    }

    fn open(&self, _: &str) -> Result<Option<File>, ReadFault> {
        Ok(None)
    }

    fn fetch(&self, name: &str, bytes: &Range<u64>, promised: u64) -> Pending {
        self.fetch_bytes(name, bytes, promised)
    }

    fn read(&self, name: &str, limit: u64) -> Result<Bytes, ReadFault> {
        self.whole(name, limit)
    }

    fn put_new(&self, name: &str, bytes: Bytes, interrupt: &Interrupt) -> io::Result<bool> {
        self.create(name, bytes, interrupt)
    }

    fn upload(&self, name: &str, file: &Path, interrupt: &Interrupt) -> io::Result<()> {
        self.upload_file(name, file, interrupt)
    }

    fn replace_if(&self, name: &str, _: &str, replacement: Replacement<'_>) -> io::Result<()> {
        self.replace(name, replacement)
    }

    fn publish(&self, name: &str, _: &Path, publication: Publication) -> (Result<(), PublishError>, bool) {
        self.publish_object(name, publication)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.remove_object(name)
    }

    /// The store has answered, so that all names are durable.
    fn sync(&self, _: &str) -> io::Result<()> {
        Ok(())
    }
}
