//! The versions of a dataset, in a folder or at a URL. Each has a manifest, which names its files.
//!
//! ```
//! use trueup::versions::{self, Verification, VersionSummary};
//! # let folder = tempfile::tempdir()?;
//! # let (dataset, events) = (folder.path().join("dataset"), folder.path().join("events.csv"));
//! # std::fs::write(&events, "account,opportunityId,type,date\nacme,1,lead-originated,2025-01-03\n")?;
//! # trueup_ingest::Ingest::into(&dataset).events(&events).run()?;
//!
//! assert_eq!(versions::list(&dataset)?, [1]);
//! let summary = &VersionSummary::of_all(&dataset)?[0];
//! assert_eq!((summary.version, summary.events, summary.operation.name()), (1, 1, "ingest"));
//! let manifest = versions::read_latest(&dataset)?.ok_or("the folder holds no dataset")?;
//! assert_eq!(manifest.events.iter().map(|file| file.rows).sum::<u64>(), 1);
//! assert!(Verification::of(&dataset, None)?.faults.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use trueup_core::dataset::manifest::{DataFile, Manifest, OtherTzdata};
pub use trueup_core::dataset::manifest_file::versions as list;
pub use trueup_core::dataset::manifest_file::{ManifestError, read, read_latest};
pub use trueup_core::dataset::{
    AsOf, Batch, Commit, CommitOperation, CommitTime, ControlTotals, ConvertedAmounts, InputProtocol, InvalidAsOf,
    ProtocolReport, ReadFile, Reading, ReplacedRows, SkippedLines, TableProtocol, Verification, VersionSummary,
    version_ranges,
};
