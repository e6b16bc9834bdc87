//! How a service is put together.

use super::filled::Filled;
use super::{Clock, Limits, Service, ServiceError, SystemClock};
use crate::Dataset;
use crate::access::Directory;
use std::sync::Arc;

/// What is told of each request that is not answered.
pub(super) type FailureHook = Box<dyn Fn(&ServiceError) + Send + Sync>;

/// Puts a [`Service`] together: the limits are the usual ones and the clock is this machine's unless they are set.
pub struct ServiceBuilder {
    service: Service,
}

impl ServiceBuilder {
    pub(super) fn new(dataset: Arc<Dataset>, directory: Arc<dyn Directory>) -> Self {
        let (limits, clock) = (Limits::default(), Box::new(SystemClock));
        Self {
            service: Service {
                dataset,
                directory,
                limits,
                clock,
                on_failure: Box::new(|_| ()),
                filled: Filled::default(),
            },
        }
    }

    /// How much one request may ask for.
    #[must_use]
    pub const fn limits(mut self, limits: Limits) -> Self {
        self.service.limits = limits;
        self
    }

    /// What the time is.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.service.clock = Box::new(clock);
        self
    }

    /// Is told of each request that is not answered, and why: of the cause too
    /// ([`Error::source`](std::error::Error::source)), which callers are not told. It holds no key.
    #[must_use]
    pub fn on_failure(mut self, hook: impl Fn(&ServiceError) + Send + Sync + 'static) -> Self {
        self.service.on_failure = Box::new(hook);
        self
    }

    /// The service.
    #[must_use]
    pub fn build(self) -> Service {
        self.service
    }
}
