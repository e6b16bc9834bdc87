//! Inputs of an ingest at URLs: found by listing, and read from beginning to end. Their bytes have no checksums, so
//! that an object which is replaced while it is read, or an answer that may be cut short, is an error.

use super::fault::{REPLACED, io_error};
use super::fetch::{REQUEST_BYTES, list, read_part};
use super::location::{Client, RemoteStore};
use super::runtime::start;
use super::web::WebReader;
use crate::locations::{check_slashes, is_url, location_of, without_credentials};
use crate::pending::Pending;
use crate::store::ReadFault;
use bytes::{Buf, Bytes};
use object_store::{Error, GetOptions, ObjectMeta, ObjectStore, ObjectStoreScheme};
use std::collections::VecDeque;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use url::Url;

/// The most parts of an object that are on their way at the same time.
const PARTS: usize = 3;

/// A file at a URL: an object of a store, or a file of a web server.
#[derive(Clone, Debug)]
pub struct RemoteFile {
    /// The URL without what may be secret in it.
    shown: PathBuf,
    place: SourcePlace,
    /// The other host that the file comes from, once a redirect has led there.
    redirected: Arc<OnceLock<String>>,
}

#[derive(Clone, Debug)]
enum SourcePlace {
    Object { store: Arc<Client>, object: ObjectMeta },
    Web(Url),
}

/// What a URL means: one file, or all that are below it.
#[derive(Debug)]
pub enum RemoteFiles {
    /// A file.
    One(RemoteFile),
    /// The files below a folder, sorted by name.
    Below(Vec<RemoteFile>),
}

impl RemoteFile {
    /// Returns what a URL means: an object, or the files below the folder of that name, of which there may be none. A
    /// URL of a web server always means a file, and may have a `?` with a signature or a token, which is never shown.
    ///
    /// # Errors
    /// The URL means no store, or has a user (other than a container of Azure) or a password; or the store does not say
    /// what it has.
    pub fn find(url: &Path) -> io::Result<RemoteFiles> {
        if let Some(file) = Self::of_web(url)? {
            return Ok(RemoteFiles::One(file));
        }
        let text = url.to_str().unwrap_or_default();
        let (folder, name) = if text.ends_with('/') { (text, None) } else { split_name(text) };
        let Some(name) = name else { return Self::below(url).map(RemoteFiles::Below) };
        let parent = folder_of(Path::new(folder))?;
        let (store, path) = (parent.store.clone(), parent.object(name));
        let head = async move {
            match store.objects.get_opts(&path, GetOptions::new().with_head(true)).await {
                Ok(found) => Ok(Some(found.meta)),
                Err(Error::NotFound { .. }) => Ok(None),
                Err(error) => Err(io_error(&error)),
            }
        };
        match start::<_, io::Error>(head).wait()? {
            Some(object) => {
                let place = SourcePlace::Object { store: parent.store, object };
                // The name is that of an object, also what follows a `#` in it.
                let shown = location_of(&without_credentials(Path::new(folder)), name);
                Ok(RemoteFiles::One(Self::new(shown, place)))
            }
            None => Self::below(url).map(RemoteFiles::Below),
        }
    }

    /// Lists the files below a folder of a store, and in the folders below it, sorted by name.
    ///
    /// # Errors
    /// The URL means no store, or the store cannot be listed, as web servers cannot.
    pub fn below(url: &Path) -> io::Result<Vec<Self>> {
        if Self::of_web(url)?.is_some() {
            let message = "a web server has no list of its files; name each file";
            return Err(io::Error::new(io::ErrorKind::Unsupported, message));
        }
        let folder = folder_of(url)?;
        let root = without_credentials(url);
        let root = root.to_str().unwrap_or_default().trim_end_matches('/').to_owned();
        let (store, prefix) = (folder.store.clone(), folder.prefix.clone());
        let files = async move {
            let (mut found, mut folders) = (Vec::new(), vec![prefix.clone()]);
            // Folder by folder, because a name such as `events2` also begins with `events`.
            while let Some(next) = folders.pop() {
                let listed = list(&store, &next).await?;
                folders.extend(listed.common_prefixes);
                found.extend(listed.objects.into_iter().filter(|object| object.location != next));
            }
            Ok(found)
        };
        let mut found: Vec<ObjectMeta> = start::<_, io::Error>(files).wait()?;
        found.sort_by(|a, b| a.location.cmp(&b.location));
        let file = |object: ObjectMeta| {
            let below = object.location.as_ref();
            let below = below.strip_prefix(folder.prefix.as_ref()).unwrap_or(below).trim_start_matches('/');
            let shown = PathBuf::from(format!("{root}/{below}"));
            Self::new(shown, SourcePlace::Object { store: folder.store.clone(), object })
        };
        Ok(found.into_iter().map(file).collect())
    }

    /// Returns the file that a URL of a web server means; `None` if it is of a store.
    fn of_web(url: &Path) -> io::Result<Option<Self>> {
        let refused = |fault: &str| io::Error::new(io::ErrorKind::InvalidInput, fault.to_owned());
        let text = url.to_str().ok_or_else(|| refused("a URL is UTF-8"))?;
        if !text.starts_with("https://") && !text.starts_with("http://") {
            return Ok(None);
        }
        let parsed = Url::parse(text).map_err(|error| refused(&error.to_string()))?;
        // The hosts of some stores are known. A URL with a signature is read as one of a web server even there.
        let is_of_store = !matches!(ObjectStoreScheme::parse(&parsed), Ok((ObjectStoreScheme::Http, _)) | Err(_));
        if is_of_store && parsed.query().is_none() {
            return Ok(None);
        }
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return Err(refused("a URL has no user or password here; use one with a signature, or download the file"));
        }
        Ok(Some(Self::new(without_credentials(url), SourcePlace::Web(parsed))))
    }

    fn new(shown: PathBuf, place: SourcePlace) -> Self {
        Self { shown, place, redirected: Arc::default() }
    }

    /// Returns the other host that the bytes of the file came from, if a redirect has led its reader there.
    #[must_use]
    pub fn redirected_to(&self) -> Option<&str> {
        self.redirected.get().map(String::as_str)
    }

    /// Returns the URL for messages, without what may be secret in it.
    #[must_use]
    pub fn shown(&self) -> &Path {
        &self.shown
    }

    /// Returns a reader of the file's bytes, which asks for them when it is first read.
    #[must_use]
    pub fn into_reader(self) -> RemoteReader {
        let reader = match self.place {
            SourcePlace::Object { store, object } => Reader::Object(ObjectReader::new(store, object)),
            SourcePlace::Web(url) => Reader::Web(WebReader::new(url, self.redirected)),
        };
        RemoteReader { reader, fault: None }
    }
}

/// Returns the folder that a URL means.
fn folder_of(url: &Path) -> io::Result<RemoteStore> {
    check_slashes(url)?;
    if is_url(url) {
        RemoteStore::find(url)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "expected a URL"))
    }
}

/// Splits a URL into its folder and its name; there is no name if the URL ends with the bucket.
fn split_name(url: &str) -> (&str, Option<&str>) {
    match url.split_once("://").and_then(|(_, rest)| rest.rsplit_once('/')) {
        Some((_, name)) if !name.is_empty() => (&url[..url.len() - name.len() - 1], Some(name)),
        _ => (url, None),
    }
}

/// The bytes of a [`RemoteFile`], from beginning to end. After an error, every further read returns that error.
#[derive(Debug)]
pub struct RemoteReader {
    reader: Reader,
    fault: Option<(io::ErrorKind, String)>,
}

#[derive(Debug)]
enum Reader {
    Object(ObjectReader),
    Web(WebReader),
}

impl Read for RemoteReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let Some((kind, message)) = &self.fault {
            return Err(io::Error::new(*kind, message.clone()));
        }
        let filled = match &mut self.reader {
            Reader::Object(reader) => reader.fill(),
            Reader::Web(reader) => reader.fill(),
        };
        let held = filled.inspect_err(|error| self.fault = Some((error.kind(), error.to_string())))?;
        let length = held.len().min(into.len());
        held.copy_to_slice(&mut into[..length]);
        Ok(length)
    }
}

/// Reads an object in parts, the next of which are on their way.
#[derive(Debug)]
struct ObjectReader {
    store: Arc<Client>,
    object: ObjectMeta,
    /// The position of the first byte that was not asked for.
    next: u64,
    parts: VecDeque<Pending>,
    held: Bytes,
}

impl ObjectReader {
    fn new(store: Arc<Client>, object: ObjectMeta) -> Self {
        Self { store, object, next: 0, parts: VecDeque::new(), held: Bytes::new() }
    }

    /// Returns the next bytes that are not consumed; none at the end.
    fn fill(&mut self) -> io::Result<&mut Bytes> {
        if self.held.is_empty() {
            while self.parts.len() < PARTS && self.next < self.object.size {
                let bytes = self.next..self.object.size.min(self.next + REQUEST_BYTES);
                self.next = bytes.end;
                let (store, object) = (self.store.clone(), self.object.clone());
                self.parts.push_back(start(async move {
                    let (size, tag) = (Some(object.size), object.e_tag.as_deref());
                    Ok(read_part(&store, &object.location, bytes, size, tag).await?.0)
                }));
            }
            if let Some(part) = self.parts.pop_front() {
                self.held = part.wait().map_err(|fault| match fault {
                    fault @ (ReadFault::Io(_) | ReadFault::NotPlain(_)) => fault.into(),
                    ReadFault::Length(_) => io::Error::new(io::ErrorKind::StaleNetworkFileHandle, REPLACED),
                })?;
            }
        }
        Ok(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::split_name;

    #[test]
    fn a_url_has_a_folder_and_a_name() {
        assert_eq!(split_name("s3://bucket/a/b.csv"), ("s3://bucket/a", Some("b.csv")));
        assert_eq!(split_name("s3://bucket/b.csv"), ("s3://bucket", Some("b.csv")));
        assert_eq!(split_name("s3://bucket"), ("s3://bucket", None));
        assert_eq!(split_name("s3://bucket/"), ("s3://bucket/", None));
    }
}
