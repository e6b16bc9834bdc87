//! Names in a folder of a web server, which lists them in a page.

use super::fault::describe;
use super::location::{RETRIES, RemoteStore, WebPages};
use super::runtime::start;
use super::web::says_where_it_ends;
use super::web_client::RedirectFault;
use reqwest::header::CACHE_CONTROL;
use std::io;
use std::time::Duration;

/// The most bytes of a page that lists a folder: a name takes about 100.
const PAGE_BYTES: usize = 16 << 20;

/// The time before the first repetition of a request for a page. Each further one waits twice as long, up to a bound.
const PAUSE: Duration = Duration::from_millis(100);

impl RemoteStore {
    /// Lists names in a folder of a web server, given what they begin and end with around a number; none of another
    /// store, which lists its objects itself.
    pub(super) fn names(&self, around: &'static [(&str, &str)]) -> io::Result<Vec<String>> {
        let folder = self.clone();
        let list = async move {
            let Some(pages) = &folder.store.pages else { return Ok(Vec::new()) };
            let page = pages.read().await?;
            Ok(around.iter().flat_map(|around| names(&page, *around)).collect())
        };
        start(list).wait()
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
                    let other = answer.url().host_str().filter(|host| Some(*host) != self.url.host_str());
                    let other = other.map_or_else(String::new, |host| format!(" `{host}`, to which a redirect leads,"));
                    let fault =
                        format!("the server{other} answers {status} instead of a list of the folder `{}`", self.url);
                    if !status.is_server_error() || attempt == RETRIES {
                        return Err(io::Error::other(format!("{fault}; name a version, so that none is needed")));
                    }
                    io::Error::other(fault)
                }
                Err(error) => match RedirectFault::of(&error) {
                    Some(fault) => return Err(io::Error::new(io::ErrorKind::PermissionDenied, fault.to_string())),
                    None => io::Error::other(describe(&error)),
                },
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

/// Returns the names in a page that begin and end with texts, each once. Pages name a file in a link and again in its
/// text.
fn names(page: &str, (start, end): (&str, &str)) -> Vec<String> {
    let name = |after: &str| {
        let digits = after.len() - after.trim_start_matches(|char: char| char.is_ascii_digit()).len();
        after[digits..].starts_with(end).then(|| format!("{start}{}{end}", &after[..digits]))
    };
    let mut names: Vec<String> = page.split(start).skip(1).filter_map(name).collect();
    names.sort_unstable();
    names.dedup();
    names
}
