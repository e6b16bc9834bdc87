//! The service: requests in, responses out, in this process and without a network.
//!
//! [`Service::handle`] takes a [`Request`] as a caller over HTTP sends it and returns a [`Response`]. A program that
//! links trueup and authenticates its users itself calls [`Service::events`], [`Service::benchmarks`] and
//! [`Service::insights`] instead. Either way, the accounts that may be read are a [`Scope`](crate::access::Scope),
//! which only authorization makes.
//!
//! A request passes through the files of this folder in this order:
//!
//! | file | what it does |
//! |---|---|
//! | `request` | holds a request, and decodes the parameters of its query string |
//! | `handle` | finds the endpoint, authenticates the caller, counts the request, resolves the accounts |
//! | `negotiation` | says which forms of an answer the request accepts |
//! | `endpoint` | one file per endpoint: reads the parameters, checks the limits, asks the engine, writes the answer |
//! | `memory` | runs a query of the caller within the memory budget |
//! | `snapshot` | holds the dataset that the request sees, and which fields have values for which accounts |
//! | `benchmark_cache` | computes the data of each benchmark month once, in the background |
//! | `response` | turns an answer or an error into a status, headers and a body |
//! | `body` | writes the bytes of a response while they are sent, and holds the memory that is reserved for them |
//! | `answer_memory` | holds the memory of an answer that something else than an endpoint makes |
//! | `error`, `error_table` | list what can fail, and the status, code and text of each failure |
//! | `limits` | holds the limits of a service, and its clock |
//!
//! ```
//! use std::sync::Arc;
//! use trueup::access::{Directory, DirectorySettings, Grant, MemoryDirectory, UnixTime};
//! use trueup::service::{Request, Service};
//! # let folder = tempfile::tempdir()?;
//! # let (path, events) = (folder.path().join("dataset"), folder.path().join("events.csv"));
//! # std::fs::write(&events, "account,opportunityId,type,date\nacme,1,lead-originated,2025-01-03\n")?;
//! # trueup_ingest::Ingest::into(&path).events(&events).run()?;
//!
//! let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new(DirectorySettings::default())?);
//! directory.add_account("acme")?;
//! directory.add_user("anna@example.com")?;
//! directory.grant("anna@example.com", &Grant::Account("acme".into()))?;
//! let key = directory.create_key("anna@example.com", UnixTime::from_seconds(0))?;
//!
//! let service = Service::builder(Arc::new(trueup::Dataset::open(&path)?), directory).build();
//! let response = service.handle(&Request {
//!     authorization: Some(key.secret.reveal().to_owned()),
//!     accept_encoding: Some("identity".to_owned()),
//!     ..Request::get("/api/acme/events?fields=leads&start=2025-01-01&end=2025-01-31")
//! });
//! assert_eq!(response.status, 200);
//! assert_eq!(std::io::read_to_string(response.body.reader())?, r#"[{"leads":1}]"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer_memory;
mod benchmark_cache;
mod body;
pub(crate) mod endpoint;
mod error;
mod error_table;
mod error_text;
mod handle;
mod limits;
mod memory;
mod negotiation;
mod request;
mod response;
mod snapshot;

pub use answer_memory::AnswerMemory;
pub use body::{Body, BodyReader, Chunk};
pub use endpoint::insights::InsightDocuments;
pub use error::{BenchmarkJobError, InvalidQuery, MissingRange, ServiceError, Upstream};
pub use handle::SignedIn;
pub use limits::{Clock, Limits, SystemClock};
pub use negotiation::accepts_gzip;
pub use request::Request;
pub use response::Response;

use crate::access::Directory;
use crate::benchmarks::Privacy;
use crate::{Dataset, MemoryBudget};
use benchmark_cache::Worker;
use error::FailureHook;
use memory::QueryMemory;
use snapshot::Snapshot;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

/// A dataset and a directory, ready to answer requests.
///
/// A service is built once with [`Service::builder`] and shared between threads: all methods take `&self`. It has
/// at most one thread of its own at a time, which computes benchmarks in the background. Queries run on the threads of
/// the engine.
pub struct Service {
    snapshot: RwLock<Arc<Snapshot>>,
    directory: Arc<dyn Directory>,
    limits: Limits,
    privacy: Privacy,
    clock: Box<dyn Clock>,
    on_failure: FailureHook,
    worker: Worker,
    memory: QueryMemory,
}

impl Service {
    /// Starts to build a service that answers from `dataset` to the users of `directory`.
    pub fn builder(dataset: Arc<Dataset>, directory: Arc<dyn Directory>) -> ServiceBuilder {
        ServiceBuilder {
            service: Self {
                snapshot: RwLock::new(Snapshot::new(dataset, None)),
                directory,
                limits: Limits::default(),
                privacy: Privacy::default(),
                clock: Box::new(SystemClock),
                on_failure: Arc::new(|_| ()),
                worker: Worker::default(),
                memory: QueryMemory::default(),
            },
        }
    }

    /// Returns the dataset from which requests that begin now are answered.
    #[must_use]
    pub fn dataset(&self) -> Arc<Dataset> {
        Arc::clone(&self.snapshot().dataset)
    }

    /// Replaces the dataset, for example with a later version of it. Does nothing if the service has this `Arc`
    /// already.
    ///
    /// A request that has begun sees the dataset with which it began until its end. With the last such request,
    /// everything that was cached about the old dataset is freed, except for what a
    /// [reopened](crate::Dataset::reopen) dataset shares with it.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use trueup::service::Service;
    ///
    /// fn switch_to_newest(service: &Service) -> Result<(), trueup::Error> {
    ///     if let Some(newest) = service.dataset().reopen()? {
    ///         service.replace_dataset(Arc::new(newest));
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn replace_dataset(&self, dataset: Arc<Dataset>) {
        if !Arc::ptr_eq(&self.dataset(), &dataset) {
            let snapshot = Snapshot::new(dataset, self.memory.budget());
            let replaced = {
                let mut current = self.snapshot.write().unwrap_or_else(PoisonError::into_inner);
                std::mem::replace(&mut *current, snapshot)
            };
            // Dropped after the lock is released, because freeing a large dataset takes a while.
            drop(replaced);
        }
    }

    /// Returns the limits of one request.
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns which benchmarks are anonymous enough to be shown.
    #[must_use]
    pub const fn privacy(&self) -> Privacy {
        self.privacy
    }

    /// Returns the memory budget; `None` if there is none.
    #[must_use]
    pub const fn memory_budget(&self) -> Option<&MemoryBudget> {
        self.memory.budget()
    }

    /// Returns the number of requests that wait for memory now.
    #[must_use]
    pub fn waiting_for_memory(&self) -> usize {
        self.memory.waiting()
    }

    /// Returns what a request that begins now sees.
    fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshot.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the directory. Changes to it take effect with the next request.
    #[must_use]
    pub fn directory(&self) -> &dyn Directory {
        &*self.directory
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// Builds a [`Service`].
///
/// What is not set has a default: [`Limits::default`], [`Privacy::default`], [`SystemClock`], no memory budget, and no
/// failure hook.
///
/// ```
/// use std::sync::Arc;
/// use trueup::MemoryBudget;
/// use trueup::access::{DirectorySettings, MemoryDirectory};
/// use trueup::service::{Limits, Service};
/// # let folder = tempfile::tempdir()?;
/// # let (path, events) = (folder.path().join("dataset"), folder.path().join("events.csv"));
/// # std::fs::write(&events, "account,opportunityId,type,date\nacme,1,lead-originated,2025-01-03\n")?;
/// # trueup_ingest::Ingest::into(&path).events(&events).run()?;
///
/// let directory = Arc::new(MemoryDirectory::new(DirectorySettings::default().hourly_limit(500))?);
/// let service = Service::builder(Arc::new(trueup::Dataset::open(&path)?), directory)
///     .limits(Limits { rows: 50_000, ..Limits::default() })
///     .memory(MemoryBudget::new(1 << 30))
///     .on_failure(|error| eprintln!("{} {error}", error.status()))
///     .build();
/// assert_eq!(service.limits().rows, 50_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ServiceBuilder {
    service: Service,
}

impl ServiceBuilder {
    /// Sets the limits of one request.
    #[must_use]
    pub const fn limits(mut self, limits: Limits) -> Self {
        self.service.limits = limits;
        self
    }

    /// Sets a memory budget, which the dataset's cached columns, running queries, and answers that wait to be sent
    /// share.
    ///
    /// The requests of one user together may take half of what everyone else leaves, and one request half of what all
    /// others leave. A query of events for which there is no room waits, within [`Limits::memory_wait`]. Everything
    /// else for which there is no room fails immediately. Without a budget, queries take as much memory as they need.
    #[must_use]
    pub fn memory(mut self, budget: MemoryBudget) -> Self {
        let dataset = self.service.dataset();
        self.service.snapshot = RwLock::new(Snapshot::new(dataset, Some(&budget)));
        self.service.memory = QueryMemory::new(budget);
        self
    }

    /// Sets which benchmarks are anonymous enough to be shown. [`Privacy`] enforces minimums that no setting can lower.
    #[must_use]
    pub const fn privacy(mut self, privacy: Privacy) -> Self {
        self.service.privacy = privacy;
        self
    }

    /// Sets the clock, which decides the hour in which a request is counted, whether a session has expired, and the
    /// current month of benchmarks.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.service.clock = Box::new(clock);
        self
    }

    /// Sets a function that is called with the error of each request that [`Service::handle`] or [`Service::refuse`]
    /// answers with an error, for example to log it. Typed calls such as [`Service::events`] return their error
    /// instead.
    ///
    /// The error's [source](std::error::Error::source), if it has one, is the cause, with what callers must not see.
    /// Neither the error nor its source holds a key. The function is also called when the data of benchmarks could not
    /// be computed and no request waited for it.
    #[must_use]
    pub fn on_failure(mut self, hook: impl Fn(&ServiceError) + Send + Sync + 'static) -> Self {
        self.service.on_failure = Arc::new(hook);
        self
    }

    /// Returns the service.
    #[must_use]
    pub fn build(self) -> Service {
        self.service
    }
}
