//! A server of the files of a folder, as a web server and as an S3 store that does not check signatures.
//!
//! It lists files, reads ranges of them, and writes them: whole or in parts, and on request only if the object does not
//! exist. It has the faults that a test asks for, and a log says what was requested.

mod request;

use chrono::{DateTime, TimeDelta, Utc};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use std::{fs, thread};

use request::{Request, read_request};

/// A request as the log holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requested {
    /// `GET`, `HEAD`, `PUT`, `POST` or `DELETE`.
    pub method: String,
    /// The path, without the `/` at its start, and without the query.
    pub path: String,
    /// The bytes that were requested, up to `u64::MAX` if the request names no last one; `None` for the whole file.
    pub range: Option<Range<u64>>,
}

/// What goes wrong with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The answer has this status, and a body as S3 writes it; the request has no effect. An unknown status becomes
    /// 500.
    Status(u16),
    /// The connection closes in the middle of the body.
    Cut,
    /// A bit of the byte in the middle of the body is flipped.
    Flip,
    /// The connection closes without an answer, and the request has no effect.
    Close,
    /// The connection closes without an answer, after the request has had its effect.
    Lost,
    /// The request has its effect, and the answer has this status nevertheless, as for [`Fault::Status`].
    StatusAfter(u16),
    /// The request has its effect after this time, and then the answer is sent.
    Slow(Duration),
    /// The request has its effect, and is answered, when [`ObjectServer::release`] is called.
    Held,
    /// The answer has this status, as for [`Fault::Status`], and the request has its effect when
    /// [`ObjectServer::release`] is called.
    HeldAfterStatus(u16),
}

/// Decides which requests have a fault.
type Faults = Box<dyn FnMut(&Requested) -> Option<Fault> + Send>;

/// The most names that the server lists at a time. Stores list up to 1,000, more than any test has.
const LISTED: usize = 20;

/// The fewest bytes that a part may have, unless it is the last.
const PART_BYTES: usize = 5 << 20;

/// A server, which stops when it is dropped.
pub struct ObjectServer {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    root: PathBuf,
    log: Mutex<Vec<Requested>>,
    faults: Mutex<Option<Faults>>,
    /// The uploads in parts that are not completed. Whoever writes holds the lock.
    uploads: Mutex<Uploads>,
    /// The requests that were answered and have no effect yet.
    held: Mutex<Vec<Request>>,
    /// How often requests were released.
    releases: Mutex<u64>,
    released: Condvar,
    /// How many seconds the clock of the store is ahead of the one of the machine.
    ahead: AtomicI64,
    /// Whether an object is created only if there is none, when a request asks for it.
    keeps_conditions: AtomicBool,
    stopped: AtomicBool,
    /// The requests that are being answered.
    open: AtomicUsize,
    /// The most requests that were being answered at the same time.
    most_open: AtomicUsize,
}

/// Uploads in parts: the parts of each by their numbers.
#[derive(Default)]
struct Uploads {
    begun: usize,
    parts: BTreeMap<String, BTreeMap<usize, Vec<u8>>>,
    /// The number of files so far that were written under a temporary name.
    staged: usize,
}

impl ObjectServer {
    /// Serves the files below a folder. The names of the folders in it are those of buckets.
    ///
    /// # Errors
    /// If there is no free port.
    pub fn start(root: &Path) -> io::Result<Self> {
        Self::start_at(root, 0)
    }

    /// Serves the files below a folder at a port.
    ///
    /// # Errors
    /// If the port is taken.
    pub fn start_at(root: &Path, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            root: root.to_owned(),
            log: Mutex::default(),
            faults: Mutex::default(),
            uploads: Mutex::default(),
            held: Mutex::default(),
            releases: Mutex::default(),
            released: Condvar::new(),
            ahead: AtomicI64::new(0),
            keeps_conditions: AtomicBool::new(true),
            stopped: AtomicBool::new(false),
            open: AtomicUsize::new(0),
            most_open: AtomicUsize::new(0),
        });
        let of_thread = shared.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if of_thread.stopped.load(Ordering::Relaxed) {
                    return;
                }
                let shared = of_thread.clone();
                // A connection that a client closes ends with an error.
                thread::spawn(move || drop(shared.serve(stream)));
            }
        });
        Ok(Self { address, shared })
    }

    /// Returns the URL of the server, without a slash at its end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Sets which of the next requests have a fault.
    pub fn fail(&self, faults: impl FnMut(&Requested) -> Option<Fault> + Send + 'static) {
        *locked(&self.shared.faults) = Some(Box::new(faults));
    }

    /// Removes all faults.
    pub fn heal(&self) {
        *locked(&self.shared.faults) = None;
    }

    /// Lets all requests that are held have their effect. Returns the statuses of the requests that were answered
    /// before.
    pub fn release(&self) -> Vec<&'static str> {
        let held = std::mem::take(&mut *locked(&self.shared.held));
        let statuses = held.iter().map(|request| self.shared.answer(request).status).collect();
        *locked(&self.shared.releases) += 1;
        self.shared.released.notify_all();
        statuses
    }

    /// Sets how many seconds the clock of the store is ahead of the one of the machine.
    pub fn set_clock(&self, ahead: i64) {
        self.shared.ahead.store(ahead, Ordering::Relaxed);
    }

    /// Returns the largest number of requests that were being answered at the same time since the last call.
    #[must_use]
    pub fn take_most_open(&self) -> usize {
        self.shared.most_open.swap(0, Ordering::Relaxed)
    }

    /// Lets every request replace an object, even if it asks not to.
    pub fn ignore_conditions(&self) {
        self.shared.keeps_conditions.store(false, Ordering::Relaxed);
    }

    /// Returns the number of uploads in parts that were neither completed nor aborted.
    #[must_use]
    pub fn open_uploads(&self) -> usize {
        locked(&self.shared.uploads).parts.len()
    }

    /// Returns the requests since the last call.
    #[must_use]
    pub fn take_log(&self) -> Vec<Requested> {
        std::mem::take(&mut *locked(&self.shared.log))
    }
}

impl Drop for ObjectServer {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for connections.
        drop(TcpStream::connect(self.address));
    }
}

/// Counts a request as long as it is being answered.
struct Open<'a>(&'a AtomicUsize);

impl<'a> Open<'a> {
    fn count(shared: &'a Shared) -> Self {
        let open = shared.open.fetch_add(1, Ordering::Relaxed) + 1;
        shared.most_open.fetch_max(open, Ordering::Relaxed);
        Self(&shared.open)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// An answer before it is sent.
struct Answer {
    status: &'static str,
    headers: String,
    body: Vec<u8>,
}

impl Answer {
    fn new(status: &'static str, headers: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: headers.to_owned(), body: body.into() }
    }
}

impl Shared {
    /// Answers the requests of a connection.
    fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        let mut input = BufReader::new(stream.try_clone()?);
        loop {
            let Some(request) = read_request(&mut input)? else { return Ok(()) };
            if self.stopped.load(Ordering::Relaxed) {
                return Ok(());
            }
            let requested = request.requested.clone();
            let fault = locked(&self.faults).as_mut().and_then(|faults| faults(&requested));
            locked(&self.log).push(requested.clone());
            let open = Open::count(self);
            match fault {
                Some(Fault::Close) => return Ok(()),
                Some(Fault::Slow(time)) => thread::sleep(time),
                Some(Fault::Held) => self.wait_for_release(),
                _ => {}
            }
            let mut answer = match fault {
                Some(Fault::Status(status)) => failed(status),
                Some(Fault::HeldAfterStatus(status)) => {
                    locked(&self.held).push(request);
                    failed(status)
                }
                _ => self.answer(&request),
            };
            let mut sent = None;
            match fault {
                Some(Fault::Lost) => return Ok(()),
                Some(Fault::StatusAfter(status)) => answer = failed(status),
                Some(Fault::Cut) => sent = Some(answer.body.len() / 2),
                Some(Fault::Flip) => {
                    let middle = answer.body.len() / 2;
                    answer.body.iter_mut().skip(middle).take(1).for_each(|byte| *byte ^= 1);
                }
                _ => {}
            }
            drop(open);
            let Answer { status, headers, body } = answer;
            let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}\r\n", body.len());
            let mut bytes = head.into_bytes();
            if requested.method != "HEAD" {
                bytes.extend_from_slice(&body[..sent.unwrap_or(body.len())]);
            }
            // At once, because a second packet would wait until the client has acknowledged the first.
            stream.write_all(&bytes)?;
            if sent.is_some() {
                return Ok(());
            }
        }
    }

    fn wait_for_release(&self) {
        let releases = locked(&self.releases);
        let before = *releases;
        drop(self.released.wait_while(releases, |now| *now == before && !self.stopped.load(Ordering::Relaxed)));
    }

    fn answer(&self, request: &Request) -> Answer {
        let requested = &request.requested;
        let path = self.root.join(&requested.path);
        match requested.method.as_str() {
            "PUT" if request.has("uploadId") => return self.put_part(request),
            "PUT" => return self.put(&path, &request.body, request.is_new, request.tag.as_deref()),
            "POST" if request.has("uploads") => return self.begin_upload(),
            "POST" => return self.complete_upload(request, &path),
            "DELETE" => return self.delete(request, &path),
            _ if request.has("list-type") => return self.list_objects(request),
            _ => {}
        }
        if path.is_dir() && !request.is_signed {
            return list_page(&requested.path, &path);
        }
        let Ok(bytes) = fs::read(&path) else { return failed(404) };
        let length = bytes.len() as u64;
        // The tag is no hash of the content, so a client that takes it for one fails.
        let (modified, tag) = self.written(&path);
        if request.tag.as_ref().is_some_and(|asked| *asked != tag) {
            return failed(412);
        }
        let headers =
            format!("etag: {tag}\r\nlast-modified: {}\r\naccept-ranges: bytes\r\n", modified.format(HTTP_TIME));
        let Some(range) = &requested.range else { return Answer::new("200 OK", &headers, bytes) };
        let end = range.end.min(length);
        let indexes = usize::try_from(range.start).ok().zip(usize::try_from(end).ok());
        let Some(part) = indexes.filter(|(start, end)| start < end).and_then(|(start, end)| bytes.get(start..end))
        else {
            return Answer::new("416 Range Not Satisfiable", &format!("content-range: bytes */{length}\r\n"), "");
        };
        let range = format!("{headers}content-range: bytes {}-{}/{length}\r\n", range.start, end - 1);
        Answer::new("206 Partial Content", &range, part)
    }

    /// Writes an object, which appears as a whole; with `is_new` only if there is none, and with a tag only if the
    /// object has it.
    fn put(&self, path: &Path, bytes: &[u8], is_new: bool, tag: Option<&str>) -> Answer {
        let mut uploads = locked(&self.uploads);
        if is_new && path.exists() && self.keeps_conditions.load(Ordering::Relaxed) {
            return failed(412);
        }
        match tag {
            Some(_) if !path.exists() => return failed(404),
            Some(tag) if tag != self.written(path).1 => return failed(412),
            _ => {}
        }
        uploads.staged += 1;
        let staged = self.root.join(format!(".staged-{}", uploads.staged));
        let folder = path.parent().unwrap_or(&self.root);
        let written = fs::create_dir_all(folder)
            .and_then(|()| fs::write(&staged, bytes))
            .and_then(|()| fs::rename(&staged, path));
        if written.is_err() {
            return failed(500);
        }
        Answer::new("200 OK", &format!("etag: {}\r\n", self.written(path).1), "")
    }

    fn begin_upload(&self) -> Answer {
        let mut uploads = locked(&self.uploads);
        uploads.begun += 1;
        let id = format!("upload-{}", uploads.begun);
        uploads.parts.insert(id.clone(), BTreeMap::new());
        let body = format!("<InitiateMultipartUploadResult><UploadId>{id}</UploadId></InitiateMultipartUploadResult>");
        Answer::new("200 OK", "content-type: application/xml\r\n", body)
    }

    fn put_part(&self, request: &Request) -> Answer {
        let mut uploads = locked(&self.uploads);
        let parts = uploads.parts.get_mut(&request.parameter("uploadId"));
        let (Some(parts), Ok(number)) = (parts, request.parameter("partNumber").parse()) else { return failed(404) };
        parts.insert(number, request.body.clone());
        Answer::new("200 OK", &format!("etag: \"part-{number}\"\r\n"), "")
    }

    fn complete_upload(&self, request: &Request, path: &Path) -> Answer {
        let parts = locked(&self.uploads).parts.remove(&request.parameter("uploadId"));
        let Some(parts) = parts else { return failed(404) };
        let named = String::from_utf8_lossy(&request.body).matches("<PartNumber>").count();
        let is_short = parts.values().rev().skip(1).any(|part| part.len() < PART_BYTES);
        if named != parts.len() || is_short {
            return failed(400);
        }
        let whole: Vec<u8> = parts.into_values().flatten().collect();
        let answer = self.put(path, &whole, false, None);
        let body = "<CompleteMultipartUploadResult><ETag>whole</ETag></CompleteMultipartUploadResult>";
        Answer { body: body.into(), ..answer }
    }

    fn delete(&self, request: &Request, path: &Path) -> Answer {
        let mut uploads = locked(&self.uploads);
        if request.has("uploadId") {
            uploads.parts.remove(&request.parameter("uploadId"));
        } else if path.is_file() {
            // A store has no folders: one without objects is gone.
            let removed = fs::remove_file(path);
            let folders = path.ancestors().skip(1).take_while(|folder| folder.parent() != Some(&self.root));
            folders.take_while(|folder| fs::remove_dir(folder).is_ok()).for_each(drop);
            if removed.is_err() {
                return failed(500);
            }
        }
        Answer::new("204 No Content", "", "")
    }

    /// Lists objects as S3 does, in version 2 of its protocol.
    fn list_objects(&self, request: &Request) -> Answer {
        let bucket = request.requested.path.trim_end_matches('/');
        let (prefix, after) = (request.parameter("prefix"), request.parameter("continuation-token"));
        let mut names = BTreeSet::new();
        keys(&self.root.join(bucket), "", &mut names);
        let listed = names.into_iter().filter_map(|key| {
            let below = key.strip_prefix(&prefix)?;
            // What is in a folder below is listed as that folder.
            let folder = below.split_once('/').filter(|_| request.has("delimiter"));
            Some(folder.map_or(key.clone(), |(folder, _)| format!("{prefix}{folder}/")))
        });
        let listed: BTreeSet<String> = listed.filter(|name| *name > after).collect();
        let page: Vec<&String> = listed.iter().take(LISTED).collect();
        let next = page.last().filter(|_| page.len() < listed.len());
        let next =
            next.map(|next| format!("<NextContinuationToken>{next}</NextContinuationToken>")).unwrap_or_default();
        let entry = |name: &&String| {
            if name.ends_with('/') {
                return format!("<CommonPrefixes><Prefix>{name}</Prefix></CommonPrefixes>");
            }
            let path = self.root.join(bucket).join(name);
            let (size, (modified, tag)) = (path.metadata().map_or(0, |metadata| metadata.len()), self.written(&path));
            let tag = tag.replace('"', "&quot;");
            let modified = modified.format("%Y-%m-%dT%H:%M:%S%.3fZ");
            format!(
                "<Contents><Key>{name}</Key><LastModified>{modified}</LastModified><ETag>{tag}</ETag><Size>{size}</Size></Contents>"
            )
        };
        let body = format!(
            "<?xml version=\"1.0\"?><ListBucketResult><Name>{bucket}</Name><IsTruncated>{}</IsTruncated>{next}{}</ListBucketResult>",
            !next.is_empty(),
            page.iter().map(entry).collect::<String>()
        );
        Answer::new("200 OK", "content-type: application/xml\r\n", body)
    }
}

impl Shared {
    /// Returns when an object was written, by the clock of the store, and its tag, which another object of the same
    /// name does not have.
    fn written(&self, path: &Path) -> (DateTime<Utc>, String) {
        let written = path.metadata().and_then(|metadata| metadata.modified());
        let written = DateTime::<Utc>::from(written.unwrap_or(SystemTime::UNIX_EPOCH));
        let tag = format!("\"{}\"", written.format("%s%f"));
        (written + TimeDelta::seconds(self.ahead.load(Ordering::Relaxed)), tag)
    }
}

/// How times are written in headers.
const HTTP_TIME: &str = "%a, %d %b %Y %H:%M:%S GMT";

/// Collects the names of all files below a folder.
fn keys(folder: &Path, prefix: &str, into: &mut BTreeSet<String>) {
    for (name, is_folder) in names(folder) {
        if is_folder {
            keys(&folder.join(&name), &format!("{prefix}{name}/"), into);
        } else {
            into.insert(format!("{prefix}{name}"));
        }
    }
}

/// Lists a folder as web servers do.
fn list_page(path: &str, folder: &Path) -> Answer {
    if !path.ends_with('/') {
        return Answer::new("301 Moved Permanently", &format!("location: /{path}/\r\n"), "");
    }
    let links = names(folder).into_iter().map(|(name, is_folder)| {
        let slash = if is_folder { "/" } else { "" };
        format!("<li><a href=\"{name}{slash}\">{name}{slash}</a></li>\n")
    });
    Answer::new("200 OK", "content-type: text/html\r\n", format!("<ul>\n{}</ul>\n", links.collect::<String>()))
}

/// Returns the names in a folder, sorted, and whether each is a folder.
fn names(folder: &Path) -> Vec<(String, bool)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.file_type().ok()?.is_dir())))
        .collect();
    names.sort_unstable();
    names
}

fn failed(status: u16) -> Answer {
    let (line, code) = match status {
        400 => ("400 Bad Request", "EntityTooSmall"),
        403 => ("403 Forbidden", "ExpiredToken"),
        404 => ("404 Not Found", "NoSuchKey"),
        408 => ("408 Request Timeout", "RequestTimeout"),
        409 => ("409 Conflict", "ConditionalRequestConflict"),
        412 => ("412 Precondition Failed", "PreconditionFailed"),
        429 => ("429 Too Many Requests", "TooManyRequests"),
        502 => ("502 Bad Gateway", "BadGateway"),
        504 => ("504 Gateway Timeout", "GatewayTimeout"),
        503 => ("503 Service Unavailable", "SlowDown"),
        _ => ("500 Internal Server Error", "InternalError"),
    };
    let body = format!(
        "<?xml version=\"1.0\"?>\n<Error><Code>{code}</Code><Message>A message.</Message><AWSAccessKeyId>SECRET</AWSAccessKeyId></Error>"
    );
    Answer::new(line, "content-type: application/xml\r\n", body)
}

fn locked<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
