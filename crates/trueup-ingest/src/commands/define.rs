//! Stores the definitions of metrics and dimensions with a dataset.

use super::{Action, Command, Run};
use crate::error::IngestError;
use std::path::Path;
use trueup_core::dataset::manifest::DEFINITIONS_FOLDER;
use trueup_core::dataset::{CommitOperation, read_definitions};
use trueup_core::definitions::Definitions;

/// The replacement of the metrics and dimensions that a dataset defines, in a new version. Later ingests keep them.
/// Definitions that define nothing remove those of the dataset.
///
/// [`run`](Command::run) returns the number of the new version, or that of the newest one if its definitions are the
/// same already. It fails if a definition does not suit its columns.
///
/// ```no_run
/// use trueup_core::definitions::Definitions;
/// use trueup_ingest::Define;
///
/// let definitions = Definitions::parse(&std::fs::read_to_string("definitions.toml")?)?;
/// let version = Define::new("acme", &definitions).run()?;
/// println!("version {version}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type Define<'a> = Command<Definition<'a>>;

/// What [`Define`] does.
#[derive(Debug)]
pub struct Definition<'a> {
    definitions: &'a Definitions,
}

impl<'a> Define<'a> {
    /// Prepares the replacement of the definitions of a dataset, in a folder or below a URL.
    pub fn new(dataset: impl AsRef<Path>, definitions: &'a Definitions) -> Self {
        Self::prepare(dataset, Definition { definitions })
    }
}

impl Action for Definition<'_> {
    type Summary = u64;

    fn perform(self, run: &Run) -> Result<u64, IngestError> {
        run.attempts(|| self.replace(run).map(Some))
    }
}

impl Definition<'_> {
    fn replace(&self, run: &Run) -> Result<u64, IngestError> {
        let (mut version, mut manifest) = run.begin_after_newest()?;
        let stored = match manifest.named(DEFINITIONS_FOLDER) {
            None => Some(Definitions::default()),
            // Definitions that cannot be read are replaced.
            Some(file) => read_definitions(run.dataset(), file).ok(),
        };
        let new = self.definitions;
        let is_same = |stored: &Definitions| stored == new || stored.is_empty() && new.is_empty();
        if stored.as_ref().is_some_and(is_same) {
            return Ok(manifest.version);
        }
        version.write_definitions(new, &mut manifest)?;
        let manifest = version.publish(manifest, CommitOperation::Define, &run.monitor)?;
        Ok(manifest.version)
    }
}
