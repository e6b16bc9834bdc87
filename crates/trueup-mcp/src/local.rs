//! A dataset that is open in this process, and follows its newest version.

use crate::{Caller, Fault, Settings, Toolbox, Visit};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use trueup::{Dataset, Execution, message_with_causes};

/// The time between two checks for a new version.
const REFRESH: Duration = Duration::from_secs(1);

/// A dataset that is open in this process, and who asks about it. Calls are about the newest version.
#[derive(Debug)]
pub struct LocalDataset {
    caller: Caller,
    settings: Settings,
    open: Mutex<Open>,
}

#[derive(Debug)]
struct Open {
    toolbox: Arc<Toolbox>,
    checked: Instant,
}

impl LocalDataset {
    /// Returns the tools of a caller over a dataset.
    #[must_use]
    pub fn new(dataset: Dataset, caller: Caller, settings: Settings) -> Self {
        let toolbox = Arc::new(Toolbox::new(Arc::new(dataset), caller.clone(), settings.clone()));
        Self { caller, settings, open: Mutex::new(Open { toolbox, checked: Instant::now() }) }
    }
}

impl Visit for LocalDataset {
    /// Returns the tools over the newest version. If it cannot be opened, they are over the one that is open.
    fn begin(&self) -> Result<(Arc<Toolbox>, Execution), Fault> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.checked.elapsed() >= REFRESH {
            open.checked = Instant::now();
            match open.toolbox.whole().reopen() {
                Ok(None) => {}
                Ok(Some(newest)) => {
                    let (caller, settings) = (self.caller.clone(), self.settings.clone());
                    open.toolbox = Arc::new(Toolbox::new(Arc::new(newest), caller, settings));
                }
                Err(error) => tracing::warn!("{}", message_with_causes(&error)),
            }
        }
        Ok((Arc::clone(&open.toolbox), Execution::default()))
    }
}
