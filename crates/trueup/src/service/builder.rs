//! How a service is put together.

use super::gathered::Worker;
use super::memory::MemoryQueue;
use super::snapshot::Snapshot;
use super::{Clock, Limits, Service, ServiceError, SystemClock};
use crate::access::Directory;
use crate::benchmarks::Privacy;
use crate::{Dataset, MemoryBudget};
use std::sync::{Arc, RwLock};

/// What is told of each request that is not answered.
pub(super) type FailureHook = Arc<dyn Fn(&ServiceError) + Send + Sync>;

/// Puts a [`Service`] together: the limits are the usual ones and the clock is this machine's unless they are set.
pub struct ServiceBuilder {
    service: Service,
}

impl ServiceBuilder {
    pub(super) fn new(dataset: Arc<Dataset>, directory: Arc<dyn Directory>) -> Self {
        Self {
            service: Service {
                snapshot: RwLock::new(Snapshot::new(dataset, None)),
                directory,
                limits: Limits::default(),
                privacy: Privacy::default(),
                clock: Box::new(SystemClock),
                on_failure: Arc::new(|_| ()),
                worker: Worker::default(),
                memory: None,
                queue: MemoryQueue::default(),
            },
        }
    }

    /// How much one request may ask for.
    #[must_use]
    pub const fn limits(mut self, limits: Limits) -> Self {
        self.service.limits = limits;
        self
    }

    /// Counts the columns of the dataset, the queries that run, and the answers that are held to be sent against a budget. Without
    /// one they take as much as they need.
    #[must_use]
    pub fn memory(mut self, budget: MemoryBudget) -> Self {
        let dataset = self.service.dataset();
        self.service.snapshot = RwLock::new(Snapshot::new(dataset, Some(&budget)));
        self.service.memory = Some(budget);
        self
    }

    /// What has to hold of a benchmark before it is shown; [`Privacy`] has bounds of its own that no setting passes.
    #[must_use]
    pub const fn privacy(mut self, privacy: Privacy) -> Self {
        self.service.privacy = privacy;
        self
    }

    /// What the time is.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.service.clock = Box::new(clock);
        self
    }

    /// Is told of each request that is not answered, and why: of the cause too
    /// ([`Error::source`](std::error::Error::source)), which callers are not told. It holds no key. Also of a gathering of
    /// benchmarks that failed when no request waited for it.
    #[must_use]
    pub fn on_failure(mut self, hook: impl Fn(&ServiceError) + Send + Sync + 'static) -> Self {
        self.service.on_failure = Arc::new(hook);
        self
    }

    /// The service.
    #[must_use]
    pub fn build(self) -> Service {
        self.service
    }
}
