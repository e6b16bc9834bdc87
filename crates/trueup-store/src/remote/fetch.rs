//! Reading bytes of an object, and the list of a folder. Long ranges are read in parts at the same time, so that each
//! request ends soon. The client repeats requests that fail; a request whose answer is cut off is repeated here.

use super::fault::{io_error, is_broken_list};
use super::location::{Client, RETRIES, RETRY_TIME, RemoteStore};
use super::runtime::start;
use crate::pending::Pending;
use crate::store::ReadFault;
use bytes::{Bytes, BytesMut};
use object_store::path::Path as ObjectPath;
use object_store::{GetOptions, ListResult, ObjectMeta, ObjectStore};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// The most bytes of one request.
pub(super) const REQUEST_BYTES: u64 = 8 << 20;

/// The most requests of this module at the same time, of the whole process. Those of other modules, such as lists, do
/// not count.
static REQUESTS: Semaphore = Semaphore::const_new(32);

/// The time before the first repetition of a request whose answer was cut off; each further one waits twice as long.
const PAUSE: Duration = Duration::from_millis(50);

impl RemoteStore {
    /// Starts to read bytes of an object that must be `promised` bytes long.
    pub(super) fn fetch_bytes(&self, name: &str, bytes: &Range<u64>, promised: u64) -> Pending {
        start(read(self.store.clone(), self.object(name), bytes.clone(), promised))
    }

    /// Reads a whole object of at most `limit` bytes.
    pub(super) fn whole(&self, name: &str, limit: u64) -> Result<Bytes, ReadFault> {
        let (store, path) = (self.store.clone(), self.object(name));
        let read = async move {
            let (first, length) =
                read_part(&store, &path, 0..REQUEST_BYTES.min(limit.saturating_add(1)), None, None).await?;
            if length > limit {
                return Err(ReadFault::Length(length));
            }
            let rest = read(store, path, first.len() as u64..length, length).await?;
            Ok(if rest.is_empty() { first } else { [first, rest].concat().into() })
        };
        start(read).wait()
    }

    /// Returns what the store says of an object.
    pub(super) fn head(&self, name: &str) -> io::Result<ObjectMeta> {
        let (store, path) = (self.store.clone(), self.object(name));
        start(async move { head(&store, &path).await.map_err(|error| io_error(&error)) }).wait()
    }
}

async fn head(store: &Client, path: &ObjectPath) -> object_store::Result<ObjectMeta> {
    let _permit = REQUESTS.acquire().await;
    Ok(store.objects.get_opts(path, GetOptions::new().with_head(true)).await?.meta)
}

/// Reads bytes of an object, in parts.
async fn read(store: Arc<Client>, path: ObjectPath, bytes: Range<u64>, promised: u64) -> Result<Bytes, ReadFault> {
    if bytes.end - bytes.start <= REQUEST_BYTES {
        return Ok(if bytes.is_empty() {
            Bytes::new()
        } else {
            read_part(&store, &path, bytes, Some(promised), None).await?.0
        });
    }
    let mut parts = tokio::task::JoinSet::new();
    for (number, start) in (bytes.start..bytes.end).step_by(REQUEST_STEP).enumerate() {
        let (store, path, part) = (store.clone(), path.clone(), start..bytes.end.min(start + REQUEST_BYTES));
        parts.spawn(async move { (number, read_part(&store, &path, part, Some(promised), None).await) });
    }
    let mut read = Vec::with_capacity(parts.len());
    while let Some(part) = parts.join_next().await {
        let (number, part) = part.map_err(io::Error::other)?;
        read.push((number, part?.0));
    }
    read.sort_unstable_by_key(|(number, _)| *number);
    let mut whole = BytesMut::with_capacity(read.iter().map(|(_, part)| part.len()).sum());
    read.into_iter().for_each(|(_, part)| whole.extend_from_slice(&part));
    Ok(whole.freeze())
}

/// [`REQUEST_BYTES`] as the step of a range.
const REQUEST_STEP: usize = 8 << 20;

const _: () = assert!(REQUEST_STEP as u64 == REQUEST_BYTES);

/// Reads bytes of an object with one request, up to the object's end, and returns the object's length, too. The request
/// is repeated if its answer is cut off. An object of another length than the one `promised` is a fault, and so is one
/// that does not have the `tag`.
pub(super) async fn read_part(
    store: &Client,
    path: &ObjectPath,
    bytes: Range<u64>,
    promised: Option<u64>,
    tag: Option<&str>,
) -> Result<(Bytes, u64), ReadFault> {
    let mut repetitions = Repetitions::begin();
    loop {
        let permit = REQUESTS.acquire().await;
        let options = GetOptions::new().with_range(Some(bytes.clone())).with_if_match(tag);
        let answer = match store.objects.get_opts(path, options).await {
            Ok(answer) => answer,
            Err(error) => {
                drop(permit);
                return Err(length_fault(store, path, promised).await.unwrap_or_else(|| io_error(&error).into()));
            }
        };
        let length = answer.meta.size;
        if promised.is_some_and(|promised| promised != length) {
            return Err(ReadFault::Length(length));
        }
        let expected = bytes.end.min(length) - bytes.start.min(length);
        let fault = match answer.bytes().await {
            Ok(read) if read.len() as u64 == expected => return Ok((read, length)),
            Ok(read) => io::Error::other(format!("the answer has {} bytes instead of {expected}", read.len())),
            Err(error) => io_error(&error),
        };
        drop(permit);
        repetitions.wait_after(fault).await?;
    }
}

/// Lists a folder of a store. The list is requested again if it is cut off, or malformed.
pub(super) async fn list(store: &Client, folder: &ObjectPath) -> io::Result<ListResult> {
    let mut repetitions = Repetitions::begin();
    loop {
        let error = match store.objects.list_with_delimiter(Some(folder)).await {
            Ok(listed) => return Ok(listed),
            Err(error) => error,
        };
        if !is_broken_list(&error) {
            return Err(io_error(&error));
        }
        repetitions.wait_after(io_error(&error)).await?;
    }
}

/// The repetitions of a request whose answer was not received whole.
struct Repetitions {
    start: Instant,
    pause: Duration,
    done: usize,
}

impl Repetitions {
    fn begin() -> Self {
        Self { start: Instant::now(), pause: PAUSE, done: 0 }
    }

    /// Waits until the request may be repeated after a fault; returns the fault if it may not be any more.
    async fn wait_after(&mut self, fault: io::Error) -> io::Result<()> {
        let (done, elapsed) = (self.done, self.start.elapsed());
        if done == RETRIES || elapsed > RETRY_TIME {
            let text = format!("{fault} ({done} repetitions in {} s)", elapsed.as_secs());
            return Err(io::Error::new(fault.kind(), text));
        }
        tokio::time::sleep(self.pause).await;
        self.pause *= 2;
        self.done += 1;
        Ok(())
    }
}

/// Returns the fault of an object whose length is not the one `promised`, which may be why a range of it does not
/// exist.
async fn length_fault(store: &Client, path: &ObjectPath, promised: Option<u64>) -> Option<ReadFault> {
    let (promised, found) = (promised?, head(store, path).await.ok()?.size);
    (found != promised).then_some(ReadFault::Length(found))
}
