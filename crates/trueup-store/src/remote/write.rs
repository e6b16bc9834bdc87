//! Writing objects: one that must not exist yet, uploads of whole files, and what removes them again. An object becomes
//! visible as a whole, and survives any failure of a machine once the store has answered.

use super::fault::{io_error, status, write_error};
use super::fetch::list;
use super::location::{Client, RETRIES, RETRY_TIME, RemoteStore};
use super::runtime::start;
use crate::interrupt::Interrupt;
use crate::pending::Pending;
use crate::store::{Entry, Holder, Listed, Publication, PublishError, Replacement};
use bytes::Bytes;
use object_store::path::Path as ObjectPath;
use object_store::{
    Error, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload,
    Result as StoreResult, UpdateVersion,
};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, Instant};

/// The most bytes of a file that is sent with one request.
const WHOLE_BYTES: u64 = 16 << 20;

/// The bytes of a part of a longer file. Stores want 5 MiB at least, and some want parts of equal length.
const PART_BYTES: u64 = 8 << 20;

/// The most parts of a file that are sent at the same time.
const PARTS: usize = 2;

/// The most attempts to send a file in parts. The client repeats each of their requests, too.
const ATTEMPTS: usize = 3;

/// The longest time before a repetition of a publication.
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// The most repetitions of the request that takes the number of a publication which is given up. The store has failed
/// for [`RETRY_TIME`] by then.
const FENCE_RETRIES: usize = 5;

/// The most attempts to replace an object that changes meanwhile.
const REPLACEMENTS: usize = 8;

/// The most time that the removal of an object, or of the parts of a failed upload, may take. A failure does no harm,
/// and an interrupted ingest should end soon.
const CLEANUP_TIME: Duration = Duration::from_secs(5);

impl RemoteStore {
    /// Creates an object, unless there is one with its name. Returns whether there was none.
    pub(super) fn create(&self, name: &str, bytes: Bytes, interrupt: &Interrupt) -> io::Result<bool> {
        let (store, path, payload) = (self.store.clone(), self.object(name), PutPayload::from(bytes));
        let create = async move {
            match store.objects.put_opts(&path, payload, PutOptions::from(PutMode::Create)).await {
                Ok(_) => Ok(true),
                Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(false),
                Err(error) => Err(write_error(&error)),
            }
        };
        wait(start(create), interrupt)
    }

    /// Sends a file, with one request or in parts.
    pub(super) fn upload_file(&self, name: &str, file: &Path, interrupt: &Interrupt) -> io::Result<()> {
        let path = self.object(name);
        let length = file.metadata()?.len();
        if length <= WHOLE_BYTES {
            let mut bytes = Vec::new();
            File::open(file)?.read_to_end(&mut bytes)?;
            let store = self.store.clone();
            let put = async move { store.objects.put(&path, bytes.into()).await.map_err(|error| write_error(&error)) };
            return wait(start(put), interrupt).map(drop);
        }
        for _ in 1..ATTEMPTS {
            match self.upload_parts(&path, file, length, interrupt) {
                Err(error) if !matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::Interrupted) => {
                }
                sent => return sent,
            }
        }
        self.upload_parts(&path, file, length, interrupt)
    }

    /// Sends a file in parts. Unless all arrive, the store is asked to drop them; parts that stay nevertheless are left
    /// to the bucket's rule for uploads that were never completed.
    fn upload_parts(&self, path: &ObjectPath, file: &Path, length: u64, interrupt: &Interrupt) -> io::Result<()> {
        let mut file = File::open(file)?;
        let (store, path) = (self.store.clone(), path.clone());
        let begin = async move { store.objects.put_multipart(&path).await.map_err(|error| write_error(&error)) };
        let mut upload = wait(start(begin), interrupt)?;
        let sent = send_parts(&mut *upload, &mut file, length, interrupt);
        let end = async move {
            let ended = match sent {
                Ok(()) => upload.complete().await.map(drop).map_err(|error| write_error(&error)),
                Err(error) => Err(error),
            };
            if ended.is_err() {
                let _ = tokio::time::timeout(CLEANUP_TIME, upload.abort()).await;
            }
            ended
        };
        start(end).wait()
    }

    /// Removes an object, if it exists.
    pub(super) fn remove_object(&self, name: &str) -> io::Result<()> {
        let (store, path) = (self.store.clone(), self.object(name));
        let remove = async move {
            match tokio::time::timeout(CLEANUP_TIME, store.objects.delete(&path)).await {
                Ok(Ok(()) | Err(Error::NotFound { .. })) => Ok(()),
                Ok(Err(error)) => Err(write_error(&error)),
                Err(late) => Err(late.into()),
            }
        };
        start::<(), io::Error>(remove).wait()
    }

    /// Lists the objects in a folder below this one, but not in folders below that.
    pub(super) fn objects(&self, below: &str) -> io::Result<Vec<Entry>> {
        let store = self.store.clone();
        let folder = if below.is_empty() { self.prefix.clone() } else { self.object(below) };
        let listed = async move { Ok(list(&store, &folder).await?.objects.iter().filter_map(entry).collect()) };
        start::<_, io::Error>(listed).wait()
    }

    /// Replaces an object, if it is still the one that was read. If `replacement` fails, the answer may be damaged, so
    /// the object is read again.
    pub(super) fn replace(&self, name: &str, replacement: Replacement<'_>) -> io::Result<()> {
        let path = self.object(name);
        for left in (0..REPLACEMENTS).rev() {
            let (store, read) = (self.store.clone(), path.clone());
            let found = start::<_, io::Error>(async move { Ok(store.read(&read).await) }).wait()?;
            let Some((bytes, version)) = found.map_err(|error| io_error(&error))? else { return Ok(()) };
            let bytes = match replacement(&bytes) {
                Ok(Some(bytes)) => bytes,
                Ok(None) => return Ok(()),
                Err(_) if left > 0 => continue,
                Err(error) => return Err(error),
            };
            let (store, path) = (self.store.clone(), path.clone());
            let put = async move {
                Ok(store.objects.put_opts(&path, bytes.into(), PutOptions::from(PutMode::Update(version))).await)
            };
            match start::<_, io::Error>(put).wait()? {
                Ok(_) => return Ok(()),
                // It was replaced meanwhile, perhaps by a repetition of this request.
                Err(Error::Precondition { .. } | Error::AlreadyExists { .. } | Error::NotFound { .. }) if left > 0 => {}
                Err(error) => return Err(write_error(&error)),
            }
        }
        Ok(())
    }

    /// Creates an object, and finds out whether it was created.
    pub(super) fn publish_object(&self, name: &str, publication: Publication) -> (Result<(), PublishError>, bool) {
        let (folder, path) = (self.clone(), self.object(name));
        let publish = async move { Ok(folder.store.publish(&path, &publication).await) };
        start(publish).wait().unwrap_or_else(|error: io::Error| (Err(PublishError::Indeterminate(error)), false))
    }
}

/// Returns an object as an entry of the list of its folder; `None` if it is the folder itself.
fn entry(object: &ObjectMeta) -> Option<Entry> {
    let name = object.location.filename()?.to_owned();
    Some(Entry { name, listed: Some(Listed { modified: object.last_modified.into(), size: object.size }) })
}

/// What became of a request to create an object.
enum Created {
    /// There is the object.
    Yes,
    /// Something else has the name.
    No(Holder),
    /// The request was refused.
    Refused(io::Error),
    /// The store may create the object yet, or may have created it.
    Unknown(io::Error),
}

impl Client {
    /// Creates an object. If it cannot find out whether it has, it takes the name with a fence, so that no request that
    /// is still under way can create the object later, and what the object names can be removed.
    async fn publish(&self, path: &ObjectPath, publication: &Publication) -> (Result<(), PublishError>, bool) {
        // The client must not repeat the request by itself, because its last answer says nothing of the ones before.
        let once = match self.without_retries() {
            Ok(once) => once,
            Err(error) => return (Err(PublishError::Failed(error)), true),
        };
        let failed = match self.create(&*once, path, &publication.bytes, publication).await {
            Created::Yes => return (Ok(()), true),
            Created::No(Holder::Own) => return (Ok(()), false),
            Created::No(Holder::Fence | Holder::Other) => return (Err(PublishError::Conflict), true),
            Created::Refused(error) => return (Err(PublishError::Failed(error)), true),
            Created::Unknown(error) => error,
        };
        (self.publish_again(&*once, path, publication, failed).await, false)
    }

    /// Repeats a publication whose outcome is unknown because of the error `failed`.
    async fn publish_again(
        &self,
        once: &dyn ObjectStore,
        path: &ObjectPath,
        publication: &Publication,
        mut failed: io::Error,
    ) -> Result<(), PublishError> {
        let (start, mut pause) = (Instant::now(), self.pause);
        for _ in 0..RETRIES {
            if start.elapsed() > RETRY_TIME {
                break;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(MAX_PAUSE);
            match self.create(once, path, &publication.bytes, publication).await {
                Created::Yes | Created::No(Holder::Own) => return Ok(()),
                Created::No(Holder::Fence | Holder::Other) => return Err(PublishError::Conflict),
                Created::Refused(error) => {
                    failed = error;
                    break;
                }
                Created::Unknown(error) => failed = error,
            }
        }
        let mut pause = self.pause;
        for attempt in 0..=FENCE_RETRIES {
            if attempt > 0 {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(MAX_PAUSE);
            }
            match self.create(once, path, &publication.fence, publication).await {
                Created::Yes | Created::No(Holder::Fence) => return Err(PublishError::Failed(failed)),
                Created::No(Holder::Own) => return Ok(()),
                Created::No(Holder::Other) => return Err(PublishError::Conflict),
                Created::Refused(_) => break,
                Created::Unknown(_) => {}
            }
        }
        Err(PublishError::Indeterminate(failed))
    }

    /// Creates an object with one request, and reads what has its name if the answer is no success. `publication` is
    /// what is to have this name.
    async fn create(
        &self,
        once: &dyn ObjectStore,
        path: &ObjectPath,
        bytes: &Bytes,
        publication: &Publication,
    ) -> Created {
        let put = once.put_opts(path, bytes.clone().into(), PutOptions::from(PutMode::Create)).await;
        let Err(error) = put else { return Created::Yes };
        if is_refusal(&error) {
            return Created::Refused(write_error(&error));
        }
        let holder = match self.read(path).await {
            Ok(Some((found, _))) => (publication.holder)(&found, &publication.bytes).ok(),
            Ok(None) | Err(_) => None,
        };
        holder.map_or_else(|| Created::Unknown(write_error(&error)), Created::No)
    }

    /// Reads a whole object, and what says that it is this one; `None` if there is none.
    async fn read(&self, path: &ObjectPath) -> StoreResult<Option<(Bytes, UpdateVersion)>> {
        match self.objects.get(path).await {
            Ok(found) => {
                let version = UpdateVersion { e_tag: found.meta.e_tag.clone(), version: found.meta.version.clone() };
                Ok(Some((found.bytes().await?, version)))
            }
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Returns whether an answer says that the request has no effect and will have none, for a reason other than the name:
/// only one about the request (4xx) does. An answer about the server (5xx), a timeout (408), a conflict with another
/// request (409), too many requests (429) and no answer say nothing of it: what answered may be a gateway that has
/// given up, while the store goes on.
fn is_refusal(error: &Error) -> bool {
    match (error, status(error)) {
        (Error::AlreadyExists { .. } | Error::Precondition { .. }, _) | (_, Some(408 | 409 | 412 | 429)) => false,
        (_, Some(status)) => (400..500).contains(&status),
        // The client cannot send such a request.
        (Error::NotImplemented { .. } | Error::NotSupported { .. }, None) => true,
        (_, None) => false,
    }
}

/// Sends the parts of a file, a few at the same time.
fn send_parts(upload: &mut dyn MultipartUpload, file: &mut File, length: u64, interrupt: &Interrupt) -> io::Result<()> {
    let mut sent = VecDeque::new();
    let mut left = length;
    while left > 0 {
        let mut bytes = Vec::new();
        let read = file.take(PART_BYTES.min(left)).read_to_end(&mut bytes)? as u64;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        left -= read;
        let part = upload.put_part(bytes.into());
        sent.push_back(start(async move { part.await.map_err(|error| write_error(&error)) }));
        if sent.len() == PARTS {
            sent.pop_front().map_or(Ok(()), |part| wait(part, interrupt))?;
        }
    }
    sent.into_iter().try_for_each(|part| wait(part, interrupt))
}

/// Waits for the result of a request, unless it is interrupted. The error of an interrupt holds the [`Interruption`].
///
/// [`Interruption`]: crate::Interruption
fn wait<T: Send + 'static>(pending: Pending<T, io::Error>, interrupt: &Interrupt) -> io::Result<T> {
    pending
        .wait_while(|| interrupt.check())
        .unwrap_or_else(|interruption| Err(io::Error::new(io::ErrorKind::Interrupted, interruption)))
}
