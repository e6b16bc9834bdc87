//! The commands that change a dataset. Each is an [`Action`] in a file of its own, and a [`Command`] runs it: what they
//! have in common is here once, from their settings to the versions that they make.

mod compact;
mod define;
mod expire;
mod forget;
mod ingest;
mod restore;

pub use compact::Compact;
pub use define::Define;
pub use expire::{Expire, ExpireSummary};
pub use forget::{Forget, ForgetSummary};
pub use ingest::{Ingest, StagedIngest};
pub use restore::{Restore, RestoreSummary};

use crate::error::ErrorKind;
use crate::monitor::{Monitor, ReportProgress};
use crate::settings::CommonSettings;
use crate::version::BegunVersion;
use crate::{IngestError, Interrupt, Progress};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use trueup_core::dataset::manifest::Manifest;
use trueup_core::dataset::{manifest_file, without_credentials};
use trueup_core::files::Files;

/// A command that changes a dataset, in a folder or below the URL of an object store: [`Ingest`], [`Compact`],
/// [`Forget`], [`Define`], [`Restore`] or [`Expire`].
///
/// While a command writes to a folder, it has the lock of the folder. Nobody can lock an object store: there, a version
/// is published only if no other one was published meanwhile. A process that is killed leaves the dataset as it was, or
/// the new version.
///
/// ```
/// use std::time::Duration;
/// use trueup_ingest::{Action, Command, IngestError};
///
/// /// Runs any command, and waits for others for at most a minute.
/// fn run<A: Action>(command: Command<A>) -> Result<A::Summary, IngestError> {
///     command.wait(Duration::from_secs(60)).run()
/// }
/// ```
#[derive(Debug)]
#[must_use = "nothing happens until the command is run"]
pub struct Command<A> {
    settings: CommonSettings,
    report: Option<ReportProgress>,
    interrupt: Interrupt,
    wait: Duration,
    action: A,
}

/// What a [`Command`] does with a dataset. Only the commands of this crate are actions.
pub trait Action: Send + Sized {
    /// What the command returns.
    type Summary: Send;

    /// Whether the command makes a dataset where there is none.
    #[doc(hidden)]
    const MAKES_DATASET: bool = false;

    /// Does it, and makes versions of the dataset on the way.
    #[doc(hidden)]
    fn perform(self, run: &Run) -> Result<Self::Summary, IngestError>;
}

/// An [`Action`] that writes rows, for which memory, threads and the layout of files can be set.
pub trait WritesRows: Action {}

impl<A: Action> Command<A> {
    /// Prepares a command with the settings that all have.
    fn prepare(dataset: impl AsRef<Path>, action: A) -> Self {
        Self {
            settings: CommonSettings::new(dataset.as_ref()),
            report: None,
            interrupt: Interrupt::default(),
            wait: Duration::ZERO,
            action,
        }
    }

    /// Changes what the command does.
    fn with(mut self, change: impl FnOnce(&mut A)) -> Self {
        change(&mut self.action);
        self
    }

    /// Calls `report` when a phase begins, and each time some of its rows or bytes are done. The command waits for it,
    /// and several threads call it, one at a time.
    pub fn progress(self, report: impl FnMut(&Progress) + Send + 'static) -> Self {
        Self { report: Some(ReportProgress::new(report)), ..self }
    }

    /// Stops the command when this interrupt or a clone of it is canceled, or at its deadline. Until a new version is
    /// published, the command then fails with [`ErrorKind::Interrupted`](crate::ErrorKind::Interrupted), and leaves no
    /// file and the dataset as it was; what is complete stays. Only in an object store may objects stay, which a later
    /// command removes.
    pub fn interrupt(self, interrupt: Interrupt) -> Self {
        Self { interrupt, ..self }
    }

    /// Sets how long the command may wait, from its start, for others that write to the dataset. If not set, it fails
    /// at once with [`ErrorKind::Busy`](crate::ErrorKind::Busy) if another one is writing. Of several that wait for a
    /// folder, any may be next.
    ///
    /// In an object store, a command that finds its version taken when it publishes begins again from the new version,
    /// and an ingest reads its inputs again, unless this time is over. If an input can be read only once, such as a
    /// reader, record batches, or the standard input, or if the rejects go to a pipe or a descriptor, the ingest fails
    /// instead. So does a [distributed one](Ingest::begin_staged), because its parts depend on the version. An
    /// [`Expire`] makes no version, and has nothing to wait for there.
    ///
    /// ```no_run
    /// use std::time::Duration;
    /// use trueup_ingest::Ingest;
    ///
    /// Ingest::into("acme").events("batch-0001.csv").wait(Duration::from_secs(30)).run()?;
    /// # Ok::<(), trueup_ingest::IngestError>(())
    /// ```
    pub fn wait(self, time: Duration) -> Self {
        Self { wait: time, ..self }
    }

    /// Sets the file operations that read the inputs and write the dataset. Tests use it to make an operation fail.
    pub fn files(mut self, files: Files) -> Self {
        self.settings.files = files;
        self
    }

    /// Runs the command.
    ///
    /// # Errors
    /// The call is at fault, an input cannot be read, breaks a rule or exceeds a limit, there is no such dataset, it is
    /// damaged or does not allow the change, another command is writing to it or has published a version meanwhile and
    /// this one may not [wait](Self::wait) any longer, the command is interrupted, or the file system or the object
    /// store refuses. [`ErrorKind`](crate::ErrorKind) lists all causes. The dataset is then unchanged, unless the new
    /// version [may be published](IngestError::may_be_published); of a command that makes several, the complete ones
    /// stay.
    ///
    /// # Panics
    /// A reader, an iterator or a stream of a [`Source`](crate::Source) panics. The dataset is then unchanged.
    pub fn run(self) -> Result<A::Summary, IngestError> {
        let (run, action) = self.start();
        let performed = run.check::<A>().and_then(|()| action.perform(&run));
        performed.map_err(|error| run.monitor.explain(error))
    }

    /// Starts to watch for the interrupt, which also ends file operations from now on.
    fn start(self) -> (Run, A) {
        let Self { mut settings, report, interrupt, wait, action } = self;
        let monitor = Arc::new(Monitor::new(report, interrupt, wait));
        settings.files = monitor.stoppable(settings.files);
        (Run { settings, monitor }, action)
    }
}

impl<A: WritesRows> Command<A> {
    /// Sets the bytes of memory that the command may take; 1 GiB if not set. It may take a fifth more, and a fixed 200
    /// MiB.
    ///
    /// Events and spend that do not fit are spilled to disk. What is held as a whole is refused if it does not fit: a
    /// customer's history that takes more than an eighth of the memory; the list of the accounts that have events, if
    /// it takes more than half of the memory; and the spend of one calendar quarter, the days of the new spend, the
    /// accounts, the keys of insights, the texts and styles of an XLSX file, or the inputs that a mapping joins
    /// together with its first conversions, if they take more than a fourth of the memory. Each of them may always take
    /// 16 MiB, and a history never 2 GiB or more.
    ///
    /// A record of CSV or NDJSON may take a sixteenth of the memory: always 4 MiB, and never more than 64 MiB. The
    /// pages of a row group of Parquet and one of its rows may together take a fourth of the memory, and always 96 MiB.
    pub fn memory(mut self, bytes: usize) -> Self {
        self.settings.memory = bytes.max(1);
        self
    }

    /// Sets the most rows of a row group of events and spend; 65,536 if not set. The history of a customer is never
    /// split, so a customer with more events makes a larger row group.
    pub fn row_group_rows(mut self, rows: usize) -> Self {
        self.settings.group_rows = rows.max(1);
        self
    }

    /// Sets the rows after which an event file ends; 1,048,576 if not set. The file ends with the account that reaches
    /// this number, or within that account at four times as many rows. It ends earlier if its row groups take too much
    /// memory, or if it has too many column chunks.
    pub fn file_rows(mut self, rows: usize) -> Self {
        self.settings.file_rows = rows.max(1);
        self
    }

    /// Sets the number of threads. If not set, the command runs on the caller's rayon pool, which has one thread per
    /// processor unless the caller has made another.
    pub fn threads(mut self, threads: usize) -> Self {
        self.settings.threads = Some(threads.max(1));
        self
    }
}

/// A command that runs: its settings, and what watches it.
#[derive(Debug)]
pub struct Run {
    pub(crate) settings: CommonSettings,
    pub(crate) monitor: Arc<Monitor>,
}

impl Run {
    /// Returns the folder or the URL of the dataset.
    pub(crate) fn dataset(&self) -> &Path {
        &self.settings.dir
    }

    /// Checks that the command may go on, and that it has a dataset unless it makes one.
    fn check<A: Action>(&self) -> Result<(), IngestError> {
        self.monitor.check()?;
        // Before the version is begun: a folder without a dataset must not become one.
        if !A::MAKES_DATASET && manifest_file::versions(self.dataset())?.is_empty() {
            return Err(self.no_dataset());
        }
        Ok(())
    }

    fn no_dataset(&self) -> IngestError {
        ErrorKind::NoDataset(without_credentials(self.dataset())).into()
    }

    /// Attempts what makes versions until it is complete. If another version was published meanwhile, attempts again
    /// from that one, as long as the command may wait.
    pub(crate) fn attempts<T>(
        &self,
        mut attempt: impl FnMut() -> Result<Option<T>, IngestError>,
    ) -> Result<T, IngestError> {
        loop {
            self.monitor.check()?;
            match attempt() {
                Ok(Some(complete)) => return Ok(complete),
                Ok(None) => {}
                // Only in a store: the lock of a folder keeps others away.
                Err(error) if error.is_overtaken() && self.monitor.may_wait() => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Begins the version after the newest one, whose manifest it returns, too; `None` if there is none.
    pub(crate) fn begin(&self) -> Result<(BegunVersion, Option<Manifest>), IngestError> {
        BegunVersion::begin(&self.settings.files, self.dataset(), &self.monitor)
    }

    /// Begins the version after the newest one of a dataset that exists.
    pub(crate) fn begin_after_newest(&self) -> Result<(BegunVersion, Manifest), IngestError> {
        let (version, newest) = self.begin()?;
        Ok((version, newest.ok_or_else(|| self.no_dataset())?))
    }
}
