//! A server of the files of a folder, as a web server and as an S3 store that does not check signatures: listed, read
//! by ranges, and with the faults that a test asks for. A log says what was requested.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{fs, thread};

/// A request as the log holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requested {
    /// `GET` or `HEAD`.
    pub method: String,
    /// The path, without the `/` at its start, and without the query.
    pub path: String,
    /// The bytes that were requested; `None` for the whole file.
    pub range: Option<Range<u64>>,
}

/// What goes wrong with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The answer has this status, and a body as S3 writes it.
    Status(u16),
    /// The connection closes in the middle of the body.
    Cut,
    /// A bit of the byte in the middle of the body is flipped.
    Flip,
    /// The connection closes without an answer.
    Close,
    /// The answer comes later.
    Slow(Duration),
}

/// Decides which requests have a fault.
type Faults = Box<dyn FnMut(&Requested) -> Option<Fault> + Send>;

/// A server, which stops when it is dropped.
pub struct ObjectServer {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    root: PathBuf,
    log: Mutex<Vec<Requested>>,
    faults: Mutex<Option<Faults>>,
    stopped: AtomicBool,
    /// The requests that are being answered.
    open: AtomicUsize,
    /// The most of them at the same time.
    most_open: AtomicUsize,
}

impl ObjectServer {
    /// Serves the files below a folder. The names of the folders in it are those of buckets.
    ///
    /// # Errors
    /// If there is no free port.
    pub fn start(root: &Path) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            root: root.to_owned(),
            log: Mutex::default(),
            faults: Mutex::default(),
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

    /// Returns the most requests at the same time since the last call.
    #[must_use]
    pub fn take_most_open(&self) -> usize {
        self.shared.most_open.swap(0, Ordering::Relaxed)
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
            let Some((requested, query)) = read_request(&mut input)? else { return Ok(()) };
            if self.stopped.load(Ordering::Relaxed) {
                return Ok(());
            }
            let fault = locked(&self.faults).as_mut().and_then(|faults| faults(&requested));
            locked(&self.log).push(requested.clone());
            let open = self.open.fetch_add(1, Ordering::Relaxed) + 1;
            self.most_open.fetch_max(open, Ordering::Relaxed);
            let mut answer = self.answer(&requested, &query);
            let mut sent = None;
            match fault {
                Some(Fault::Status(status)) => answer = failed(status),
                Some(Fault::Close) => {
                    self.open.fetch_sub(1, Ordering::Relaxed);
                    return Ok(());
                }
                Some(Fault::Cut) => sent = Some(answer.body.len() / 2),
                Some(Fault::Flip) => {
                    let middle = answer.body.len() / 2;
                    answer.body.iter_mut().skip(middle).take(1).for_each(|byte| *byte ^= 1);
                }
                Some(Fault::Slow(time)) => thread::sleep(time),
                None => {}
            }
            self.open.fetch_sub(1, Ordering::Relaxed);
            let Answer { status, headers, body } = answer;
            let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}\r\n", body.len());
            stream.write_all(head.as_bytes())?;
            if requested.method != "HEAD" {
                stream.write_all(&body[..sent.unwrap_or(body.len())])?;
            }
            if sent.is_some() {
                return Ok(());
            }
        }
    }

    fn answer(&self, requested: &Requested, query: &str) -> Answer {
        if query.contains("list-type=2") {
            return self.list_objects(&requested.path, query);
        }
        let path = self.root.join(&requested.path);
        if path.is_dir() {
            return list_page(&requested.path, &path);
        }
        let Ok(bytes) = fs::read(&path) else { return failed(404) };
        let length = bytes.len() as u64;
        // All files have the same tag, so that the client cannot rely on it.
        let tag = "etag: \"1\"\r\nlast-modified: Mon, 01 Jan 2024 00:00:00 GMT\r\naccept-ranges: bytes\r\n";
        let Some(range) = &requested.range else { return Answer::new("200 OK", tag, bytes) };
        let end = range.end.min(length);
        let indexes = usize::try_from(range.start).ok().zip(usize::try_from(end).ok());
        let Some(part) = indexes.filter(|(start, end)| start < end).and_then(|(start, end)| bytes.get(start..end))
        else {
            return Answer::new("416 Range Not Satisfiable", &format!("content-range: bytes */{length}\r\n"), "");
        };
        let range = format!("{tag}content-range: bytes {}-{}/{length}\r\n", range.start, end - 1);
        Answer::new("206 Partial Content", &range, part)
    }

    /// Lists objects as S3 does, in the version 2 of its protocol.
    fn list_objects(&self, bucket: &str, query: &str) -> Answer {
        let parameter = |name: &str| {
            let mut values = query.split('&').filter_map(|part| part.strip_prefix(name)?.strip_prefix('='));
            values.next_back().unwrap_or_default().replace("%2F", "/")
        };
        let prefix = parameter("prefix");
        let bucket = bucket.trim_end_matches('/');
        let mut body =
            format!("<?xml version=\"1.0\"?><ListBucketResult><Name>{bucket}</Name><IsTruncated>false</IsTruncated>");
        for (name, is_folder) in names(&self.root.join(bucket).join(&prefix)) {
            let written = if is_folder {
                write!(body, "<CommonPrefixes><Prefix>{prefix}{name}/</Prefix></CommonPrefixes>")
            } else {
                write!(
                    body,
                    "<Contents><Key>{prefix}{name}</Key><LastModified>2024-01-01T00:00:00.000Z</LastModified><ETag>\"1\"</ETag>\
                     <Size>1</Size></Contents>"
                )
            };
            if written.is_err() {
                return failed(500);
            }
        }
        Answer::new("200 OK", "content-type: application/xml\r\n", body + "</ListBucketResult>")
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
        403 => ("403 Forbidden", "ExpiredToken"),
        404 => ("404 Not Found", "NoSuchKey"),
        503 => ("503 Service Unavailable", "SlowDown"),
        _ => ("500 Internal Server Error", "InternalError"),
    };
    let body = format!(
        "<?xml version=\"1.0\"?>\n<Error><Code>{code}</Code><Message>A message.</Message><AWSAccessKeyId>SECRET</AWSAccessKeyId></Error>"
    );
    Answer::new(line, "content-type: application/xml\r\n", body)
}

/// Reads a request and its query; `None` at the end of the connection.
fn read_request(input: &mut impl BufRead) -> io::Result<Option<(Requested, String)>> {
    let mut line = String::new();
    if input.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (mut range, mut length) = (None, 0);
    loop {
        line.clear();
        input.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "range" => {
                let ends = value.trim().strip_prefix("bytes=").and_then(|ends| ends.split_once('-'));
                range = ends.and_then(|(start, last)| Some(start.parse().ok()?..last.parse::<u64>().ok()? + 1));
            }
            "content-length" => length = value.trim().parse().unwrap_or_default(),
            _ => {}
        }
    }
    io::copy(&mut input.take(length), &mut io::sink())?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    Ok(Some((Requested { method, path: path.trim_start_matches('/').to_owned(), range }, query.to_owned())))
}

fn locked<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
