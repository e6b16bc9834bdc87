//! The service: requests in, responses out, in this process and without a network.
//!
//! [`Service::handle`] takes a [`Request`] as a caller over HTTP sends it and gives the [`Response`]. Services that link trueup and
//! know their users ask with [`Service::events`], [`Service::benchmarks`] and [`Service::insights`] instead; which accounts may be read is a
//! [`Scope`](crate::access::Scope), which only authorization makes.
//!
//! ```
//! use std::sync::Arc;
//! use trueup::access::{Directory, Grant, MemoryDirectory, DirectorySettings, UnixTime};
//! use trueup::service::{Request, Service};
//! # let folder = tempfile::tempdir()?;
//! # let (path, events) = (folder.path().join("dataset"), folder.path().join("events.csv"));
//! # std::fs::write(&events, "account,opportunityId,type,date\nacme,1,lead-originated,2025-01-03\n")?;
//! # trueup_ingest::Ingest::into(&path).events(&events).run(&())?;
//!
//! let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new(DirectorySettings::default()));
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
//! assert_eq!(response.body.into_bytes()?, br#"[{"leads":1}]"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod authorize;
mod body;
mod builder;
mod clock;
mod compress;
mod content;
pub(crate) mod endpoint;
mod error;
mod filled;
mod form;
mod gathered;
mod handle;
mod limits;
mod memory;
mod parameters;
mod request;
mod response;
mod route;
mod snapshot;
mod table;

pub use body::Body;
pub use builder::ServiceBuilder;
pub use clock::{Clock, SystemClock};
pub use error::{InvalidQuery, MissingRange, ServiceError, Upstream};
pub use gathered::BenchmarkJobError;
pub use limits::Limits;
pub use request::Request;
pub use response::Response;

use crate::access::Directory;
use crate::benchmarks::Privacy;
use crate::{Dataset, MemoryBudget};
use builder::FailureHook;
use gathered::Worker;
use memory::MemoryQueue;
use snapshot::Snapshot;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

/// A dataset and a directory, ready to answer; shared between threads freely.
pub struct Service {
    snapshot: RwLock<Arc<Snapshot>>,
    directory: Arc<dyn Directory>,
    limits: Limits,
    privacy: Privacy,
    clock: Box<dyn Clock>,
    on_failure: FailureHook,
    worker: Worker,
    /// `None` counts nothing.
    memory: Option<MemoryBudget>,
    queue: MemoryQueue,
}

impl Service {
    /// Puts a service together.
    pub fn builder(dataset: Arc<Dataset>, directory: Arc<dyn Directory>) -> ServiceBuilder {
        ServiceBuilder::new(dataset, directory)
    }

    /// The data that it answers from: that of requests that begin now.
    #[must_use]
    pub fn dataset(&self) -> Arc<Dataset> {
        Arc::clone(&self.snapshot().dataset)
    }

    /// Answers from another dataset, such as a later version of the same. Requests that have begun see the one that they began with
    /// to their end; all that was kept about it goes with the last of them.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use trueup::service::Service;
    ///
    /// fn reopen(service: &Service, folder: &std::path::Path) -> Result<(), trueup::Error> {
    ///     service.replace_dataset(Arc::new(trueup::Dataset::open(folder)?));
    ///     Ok(())
    /// }
    /// ```
    pub fn replace_dataset(&self, dataset: Arc<Dataset>) {
        if !Arc::ptr_eq(&self.dataset(), &dataset) {
            let snapshot = Snapshot::new(dataset, self.memory.as_ref());
            let replaced = {
                let mut held = self.snapshot.write().unwrap_or_else(PoisonError::into_inner);
                std::mem::replace(&mut *held, snapshot)
            };
            // What is let go may be large: nobody waits for that.
            drop(replaced);
        }
    }

    /// How much one request may ask for.
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What a request that begins now sees.
    fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshot.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Who may see what; changes count from the next request on.
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
