//! The names of the objects in a dataset's folder, such as manifests.

use super::fault::{describe, io_error};
use super::location::{RETRIES, RemoteFolder, WebPages};
use super::runtime::Pending;
use super::web::says_where_it_ends;
use object_store::ObjectStore;
use reqwest::header::CACHE_CONTROL;
use std::io;
use std::time::Duration;

/// The most bytes of a page that lists a folder: a name takes about 100.
const PAGE_BYTES: usize = 16 << 20;

/// The time before the first repetition of a request for a page. Each further one waits twice as long, up to a bound.
const PAUSE: Duration = Duration::from_millis(100);

/// What the name of a manifest begins and ends with.
const MANIFEST: (&str, &str) = ("manifest-", ".json");

impl RemoteFolder {
    /// Lists the names of the objects in the folder, but not in folders below it. Of a web server, only manifests are
    /// listed.
    pub(in super::super) fn names(&self) -> io::Result<Vec<String>> {
        let folder = self.clone();
        let list = async move {
            if let Some(pages) = &folder.store.pages {
                return Ok(manifests(&pages.read().await?));
            }
            let listed = folder.store.objects.list_with_delimiter(Some(&folder.prefix)).await;
            let objects = listed.map_err(|error| io_error(&error))?.objects;
            Ok(objects.iter().filter_map(|object| object.location.filename()).map(str::to_owned).collect())
        };
        Pending::start(list).wait()
    }
}

impl WebPages {
    /// Reads the page that lists the folder.
    async fn read(&self) -> io::Result<String> {
        let mut pause = PAUSE;
        for attempt in 0_usize.. {
            let fault = match self.client.get(self.url.clone()).header(CACHE_CONTROL, "no-cache").send().await {
                Ok(answer) if answer.status().is_success() && !says_where_it_ends(&answer) => {
                    let fault = "the server does not say where the list of the folder ends, so that the newest version \
                                 could be missing; name a version, so that no list is needed";
                    return Err(io::Error::new(io::ErrorKind::Unsupported, fault));
                }
                Ok(answer) if answer.status().is_success() => match read_text(answer).await {
                    Ok(text) => return Ok(text),
                    Err(error) => error,
                },
                Ok(answer) => {
                    let status = answer.status();
                    let fault = format!("the server answers {status} instead of a list of the folder `{}`", self.url);
                    if !status.is_server_error() || attempt == RETRIES {
                        return Err(io::Error::other(format!("{fault}; name a version, so that none is needed")));
                    }
                    io::Error::other(fault)
                }
                Err(error) => io::Error::other(describe(&error)),
            };
            if attempt == RETRIES {
                return Err(io::Error::new(fault.kind(), format!("{fault} ({attempt} repetitions)")));
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(5));
        }
        Err(io::Error::other("the folder could not be listed"))
    }
}

/// Reads the body of an answer.
async fn read_text(mut answer: reqwest::Response) -> io::Result<String> {
    let mut bytes = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(io::Error::other)? {
        if bytes.len() + chunk.len() > PAGE_BYTES {
            return Err(io::Error::other(format!("the list of the folder has more than {PAGE_BYTES} bytes")));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the names of manifests in a page, each once. Pages name a file in a link and again in its text.
fn manifests(page: &str) -> Vec<String> {
    let (start, end) = MANIFEST;
    let name = |after: &str| {
        let digits = after.len() - after.trim_start_matches(|char: char| char.is_ascii_digit()).len();
        after[digits..].starts_with(end).then(|| format!("{start}{}{end}", &after[..digits]))
    };
    let mut names: Vec<String> = page.split(start).skip(1).filter_map(name).collect();
    names.sort_unstable();
    names.dedup();
    names
}
