//! An object store in memory, whose requests are steps of a [`Scheduler`], and whose clock is the scheduler's.

use super::scheduler::{Kind, Scheduler, Verdict};
use super::watch::Watch;
use async_trait::async_trait;
use futures_core::stream::BoxStream;
use futures_util::stream::once;
use futures_util::{FutureExt as _, StreamExt as _};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt as _, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;
use trueup_core::dataset::RemoteStore;

/// The most attempts of a client that repeats its requests.
const ATTEMPTS: usize = 3;

/// The hexadecimal digits of a random id in a name.
const ID_DIGITS: usize = 32;

/// A store, which is registered under a URL for each of its clients.
pub(crate) struct Store {
    pub(crate) scheduler: Arc<Scheduler>,
    objects: Arc<Objects>,
    /// Tells the URLs from those of other stores in this process.
    number: u64,
    urls: Mutex<Vec<String>>,
}

/// The objects, and the requests that may still arrive.
struct Objects {
    stored: InMemory,
    /// When each object was written.
    times: Mutex<BTreeMap<Path, SystemTime>>,
    late: Mutex<Vec<(String, Change)>>,
    /// The random ids in names, in the order of their first use.
    ids: Mutex<Vec<String>>,
    /// The number of times that each data file was sent.
    sent: Mutex<HashMap<Path, usize>>,
    watch: Watch,
    scheduler: Arc<Scheduler>,
}

/// A request that changes an object.
#[derive(Clone)]
enum Change {
    Put(Path, PutPayload, PutMode),
    Delete(Path),
}

/// A client of the store.
#[derive(Clone)]
struct Client {
    objects: Arc<Objects>,
    /// Whose requests these are; `None` for a client whose requests are no steps.
    actor: Option<usize>,
    attempts: usize,
}

impl Store {
    pub(crate) fn new(scheduler: Arc<Scheduler>) -> Self {
        static STORES: AtomicU64 = AtomicU64::new(0);

        let objects = Objects {
            stored: InMemory::new(),
            times: Mutex::default(),
            late: Mutex::default(),
            ids: Mutex::default(),
            sent: Mutex::default(),
            watch: Watch::default(),
            scheduler: scheduler.clone(),
        };
        let (objects, urls) = (Arc::new(objects), Mutex::default());
        Self { scheduler, objects, number: STORES.fetch_add(1, Ordering::Relaxed), urls }
    }

    /// Returns the location of the dataset for an actor; `None` is for checks, whose requests are no steps.
    pub(crate) fn location(&self, actor: Option<usize>) -> PathBuf {
        let client = actor.map_or_else(|| "checks".to_owned(), |actor| actor.to_string());
        let url = format!("simulation://{}-{client}/ds", self.number);
        let mut urls = self.urls.lock().unwrap();
        if !urls.contains(&url) {
            let client = |attempts| Arc::new(Client { objects: self.objects.clone(), actor, attempts });
            RemoteStore::register(&url, "ds", client(ATTEMPTS), client(1));
            urls.push(url.clone());
        }
        PathBuf::from(url)
    }

    pub(crate) fn watch(&self) -> &Watch {
        &self.objects.watch
    }

    /// Returns what has happened, in order.
    pub(crate) fn log(&self) -> String {
        self.scheduler.log()
    }

    /// Returns the paths of all objects below the folder of the dataset.
    pub(crate) fn files(&self) -> Vec<String> {
        let times = self.objects.times.lock().unwrap();
        times.keys().filter_map(|path| path.as_ref().strip_prefix("ds/").map(str::to_owned)).collect()
    }

    /// Lets one operation after the other happen, until all actors have done everything.
    pub(crate) fn run(&self) {
        let dataset = self.location(None);
        while self.scheduler.settle() {
            self.watch().observe(&dataset);
            if let Some(late) = self.scheduler.choose(self.late()) {
                self.objects.arrive(late);
            }
        }
        self.watch().observe(&dataset);
    }

    /// Returns the number of requests that may still arrive.
    pub(crate) fn late(&self) -> usize {
        self.objects.late.lock().unwrap().len()
    }

    /// Lets every request arrive that still may.
    pub(crate) fn let_all_arrive(&self) {
        let dataset = self.location(None);
        while self.late() > 0 {
            self.objects.arrive(0);
            self.watch().observe(&dataset);
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.urls.lock().unwrap().iter().for_each(|url| RemoteStore::unregister(url));
    }
}

impl Objects {
    /// Returns a path with numbers in place of random ids, so that it is the same each time.
    fn label(&self, path: &Path) -> String {
        let (mut label, mut rest) = (String::new(), path.as_ref());
        let mut ids = self.ids.lock().unwrap();
        let is_id = |window: &[u8]| window.iter().all(u8::is_ascii_hexdigit);
        while let Some(at) = rest.as_bytes().windows(ID_DIGITS).position(is_id) {
            let (id, after) = rest[at..].split_at(ID_DIGITS);
            let number = ids.iter().position(|known| known == id).unwrap_or_else(|| {
                ids.push(id.to_owned());
                ids.len() - 1
            });
            label.push_str(&format!("{}#{number:02}", &rest[..at]));
            rest = after;
        }
        label + rest
    }

    /// Applies a request. Returns what a put does.
    fn apply(&self, change: Change) -> Result<Option<PutResult>> {
        let now = self.scheduler.now();
        match change {
            Change::Put(path, payload, mode) => {
                let put = self.stored.put_opts(&path, payload.clone(), mode.into()).now_or_never().unwrap()?;
                self.times.lock().unwrap().insert(path.clone(), now);
                self.watch.written(path.as_ref(), &payload, now);
                Ok(Some(put))
            }
            Change::Delete(path) => {
                self.watch.removed(path.as_ref(), now);
                self.times.lock().unwrap().remove(&path);
                self.stored.delete(&path).now_or_never().unwrap().map(|()| None)
            }
        }
    }

    /// Lets a request arrive later.
    fn delay(&self, change: Change) {
        let mut late = self.late.lock().unwrap();
        late.push((self.label(change.path()), change));
        // Those of the threads that upload come in any order.
        late.sort_by(|(one, _), (other, _)| one.cmp(other));
    }

    /// Lets a request arrive.
    fn arrive(&self, index: usize) {
        let (label, change) = self.late.lock().unwrap().remove(index);
        let what = change.name();
        let done = self.apply(change).is_ok();
        self.scheduler.note(format!("late {what} {label}: {done}"));
    }

    fn with_time(&self, mut meta: ObjectMeta) -> ObjectMeta {
        if let Some(time) = self.times.lock().unwrap().get(&meta.location) {
            meta.last_modified = (*time).into();
        }
        meta
    }

    /// Lists a folder, in an order that is the same each time.
    async fn list(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let mut listed = self.stored.list_with_delimiter(prefix).await?;
        listed.objects = listed.objects.into_iter().map(|meta| self.with_time(meta)).collect();
        listed.objects.sort_by_key(|meta| self.label(&meta.location));
        Ok(listed)
    }
}

impl Change {
    const fn path(&self) -> &Path {
        match self {
            Self::Put(path, ..) | Self::Delete(path) => path,
        }
    }

    const fn name(&self) -> &'static str {
        match self {
            Self::Put(..) => "put",
            Self::Delete(_) => "delete",
        }
    }
}

impl Client {
    /// Waits until a request is chosen.
    async fn step(&self, what: &str, path: &Path, kind: Kind) -> Verdict {
        let Some(actor) = self.actor else { return Verdict::Go };
        self.objects.scheduler.request(actor, format!("{what} {}", self.objects.label(path)), kind).await
    }

    /// Waits until a slow answer arrives. Its actor may be killed meanwhile.
    async fn receive<T>(&self, verdict: Verdict, path: &Path, answer: Result<T>) -> Result<T> {
        let is_killed = verdict == Verdict::Slow && self.step("answer", path, Kind::Safe).await == Verdict::Killed;
        if is_killed { Err(lost()) } else { answer }
    }

    /// Decides what becomes of the upload of a data file, of which an actor has several at the same time. Nobody else
    /// knows their names yet, so that their order among those of other actors does not matter.
    fn upload(&self, path: &Path) -> Verdict {
        let Some(actor) = self.actor else { return Verdict::Go };
        let mut sent = self.objects.sent.lock().unwrap();
        let attempt = sent.entry(path.clone()).or_default();
        *attempt += 1;
        self.objects.scheduler.verdict_of(actor, &format!("{} {attempt}", self.objects.label(path)))
    }

    async fn try_change(&self, change: Change) -> Result<Option<PutResult>> {
        let (path, objects) = (change.path().clone(), &self.objects);
        let verdict = match (&change, self.actor) {
            (Change::Put(..), _) if is_data(&path) => self.upload(&path),
            _ => self.step(change.name(), &path, Kind::Change).await,
        };
        match verdict {
            Verdict::Go | Verdict::Slow => self.receive(verdict, &path, objects.apply(change)).await,
            Verdict::Fail | Verdict::Damage | Verdict::Killed => Err(lost()),
            Verdict::LoseAnswer => {
                drop(objects.apply(change));
                Err(lost())
            }
            Verdict::Delay => {
                objects.delay(change);
                Err(lost())
            }
            Verdict::Repeat => {
                objects.delay(change.clone());
                objects.apply(change)
            }
        }
    }

    async fn try_get(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        // An actor reads several data files at the same time. It does so between two steps, and a step before it, such
        // as the answer with the manifest, may be a slow one.
        let verdict = match (is_data(path), self.actor) {
            (true, Some(actor)) if self.objects.scheduler.is_killed(actor) => Verdict::Killed,
            (true, _) => Verdict::Go,
            (false, _) => self.step("get", path, Kind::Read).await,
        };
        if !matches!(verdict, Verdict::Go | Verdict::Slow | Verdict::Damage) {
            return Err(lost());
        }
        let found = self.objects.stored.get_opts(path, options).await.map(|mut found| {
            found.meta = self.objects.with_time(found.meta);
            found
        });
        if verdict == Verdict::Damage {
            return damaged(found?).await;
        }
        self.receive(verdict, path, found).await
    }

    async fn try_list(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let folder = prefix.cloned().unwrap_or_default();
        let verdict = self.step("list", &folder, Kind::Read).await;
        if !matches!(verdict, Verdict::Go | Verdict::Slow) {
            return Err(lost());
        }
        let listed = self.objects.list(prefix).await;
        let mut listed = self.receive(verdict, &folder, listed).await?;
        let middle = listed.objects.get(listed.objects.len() / 2).map(|meta| meta.location.clone());
        if let Some(middle) = middle.filter(|_| verdict == Verdict::Slow) {
            // A list in two parts.
            listed.objects.retain(|meta| meta.location < middle);
            let again = self.objects.list(prefix).await?;
            listed.objects.extend(again.objects.into_iter().filter(|meta| meta.location >= middle));
        }
        Ok(listed)
    }
}

/// Flips a bit in the middle of an answer.
async fn damaged(found: GetResult) -> Result<GetResult> {
    let (meta, range) = (found.meta.clone(), found.range.clone());
    let (attributes, extensions) = (found.attributes.clone(), found.extensions.clone());
    let mut bytes = found.bytes().await?.to_vec();
    let middle = bytes.len() / 2;
    if let Some(byte) = bytes.get_mut(middle) {
        *byte ^= 1;
    }
    let payload = GetResultPayload::Stream(once(async { Ok(bytes.into()) }).boxed());
    Ok(GetResult { payload, meta, range, attributes, extensions })
}

/// Returns whether a path is one of a data file, and no name in the folder of the dataset itself.
fn is_data(path: &Path) -> bool {
    path.parts().count() > 2
}

/// The error of a request whose outcome the client does not learn.
fn lost() -> Error {
    Error::Generic { store: "simulation", source: "503 Service Unavailable".into() }
}

/// Repeats a request as often as the client does.
macro_rules! repeat {
    ($client:expr, $request:expr) => {{
        let mut left = $client.attempts;
        loop {
            left -= 1;
            match $request {
                Err(Error::Generic { .. }) if left > 0 => {}
                answer => break answer,
            }
        }
    }};
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "client {:?}", self.actor)
    }
}

#[async_trait]
impl ObjectStore for Client {
    async fn put_opts(&self, path: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        let put = Change::Put(path.clone(), payload, options.mode);
        repeat!(self, self.try_change(put.clone()).await).map(Option::unwrap)
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        repeat!(self, self.try_get(path, options.clone()).await)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        repeat!(self, self.try_list(prefix).await)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        ObjectStore::list(&self.objects.stored, prefix)
    }

    fn delete_stream(&self, paths: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let client = self.clone();
        Box::pin(paths.then(move |path| {
            let client = client.clone();
            async move {
                let path = path?;
                if let Some(actor) = client.actor {
                    client.objects.watch.removes(actor, path.as_ref());
                }
                repeat!(client, client.try_change(Change::Delete(path.clone())).await).map(|_| path)
            }
        }))
    }

    async fn put_multipart_opts(&self, _: &Path, _: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        Err(Error::NotImplemented { operation: "uploads in parts".to_owned(), implementer: "simulation".to_owned() })
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(Error::NotImplemented { operation: "copies".to_owned(), implementer: "simulation".to_owned() })
    }
}
