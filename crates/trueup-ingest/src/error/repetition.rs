//! Events that would count twice, because their files were ingested before.

use std::fmt;
use trueup_core::Shown;

/// The most files that a message names.
const MAX_NAMED: usize = 3;

/// Events that cannot be ingested, because their files, or some of them, were ingested before in another way, or some
/// of their events were removed since, and events without an `eventId` would count twice.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repetition {
    /// The version that the earlier ingest made.
    pub version: u64,
    /// The name of a file that was ingested before.
    pub file: String,
    /// The number of other files that were ingested before, too.
    pub others: usize,
    /// The number of rows that the earlier ingest rejected.
    pub rejected: u64,
    /// What differs between the two ingests. Empty if nothing does, and rows were rejected.
    pub differences: Vec<Difference>,
}

/// What was different when files were ingested before.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Difference {
    /// An option, with its values; `None` if it was not given.
    Option {
        /// The option, such as `--time-zone`.
        name: &'static str,
        /// Its value before.
        before: Option<String>,
        /// Its value now.
        now: Option<String>,
    },
    /// The time zone of an account, in which clock times are read.
    Zone {
        /// The account.
        account: String,
        /// Its time zone before.
        before: String,
        /// Its time zone now.
        now: String,
    },
    /// Something whose content is only known by its checksum.
    Content {
        /// What it is, such as `the mapping`.
        what: String,
        /// Whether it was there before.
        before: bool,
        /// Whether it is there now.
        now: bool,
    },
    /// Events that were removed with their source, while others of the same batch stay.
    Removed {
        /// The files that had them.
        files: Vec<String>,
        /// The source; empty for none.
        source: String,
        /// The version that removed them; `None` if the refused ingest would.
        version: Option<u64>,
        /// Whether the files had such events. Of files with many sources it is not known.
        is_known: bool,
    },
    /// Files that were ingested together with the others before, and are not there now.
    Missing(Vec<String>),
    /// Files that were not among the others before.
    Added(Vec<String>),
}

impl fmt::Display for Repetition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { version, file, others, rejected, differences } = self;
        write!(f, "`{}`", Shown(file))?;
        match others {
            0 => write!(f, " was")?,
            1 => write!(f, " and another file were")?,
            others => write!(f, " and {others} other files were")?,
        }
        write!(f, " ingested before, as version {version}")?;
        let mut separator = ": ";
        match rejected {
            0 => {}
            1 => write!(f, "{separator}a row was rejected then")?,
            rows => write!(f, "{separator}{rows} rows were rejected then")?,
        }
        for (at, difference) in differences.iter().enumerate() {
            separator = if at == 0 && *rejected == 0 { ": " } else { "; " };
            write!(f, "{separator}{difference}")?;
        }
        f.write_str(
            "; events without an `eventId` would count twice: remove what came in then, by its source with \
             `--replace-source` or by going back with `trueup restore`, or add all of these files once more with \
             `--again`",
        )
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Option { name, before, now } => match (before, now) {
                (Some(before), Some(now)) => {
                    write!(f, "`{name}` was `{}` and is now `{}`", Shown(before), Shown(now))
                }
                (Some(before), None) => write!(f, "`{name}` was `{}` and is not given now", Shown(before)),
                (None, now) => {
                    write!(f, "`{name}` was not given and is now `{}`", Shown(now.as_deref().unwrap_or_default()))
                }
            },
            Self::Zone { account, before, now } => {
                write!(f, "the time zone of account `{}` was `{before}` and is now `{now}`", Shown(account))
            }
            Self::Content { what, before: true, now: true } => write!(f, "{what} changed"),
            Self::Content { what, before: true, .. } => write!(f, "{what} is not given now"),
            Self::Content { what, .. } => write!(f, "{what} was not given then"),
            Self::Removed { files, source, version, is_known } => {
                match version {
                    Some(version) => write!(f, "version {version} removed")?,
                    None => f.write_str("this ingest would remove")?,
                }
                match source.as_str() {
                    "" => f.write_str(" only the events without a source")?,
                    source => write!(f, " only the events of the source `{}`", Shown(source))?,
                }
                let perhaps = if *is_known { "" } else { "perhaps " };
                write!(f, ", and with them {perhaps}events of {}", Names(files))
            }
            Self::Missing(names) => write!(f, "it was ingested together with {}", Names(names)),
            Self::Added(names) => write!(f, "it was ingested without {}", Names(names)),
        }
    }
}

/// The names of files, in words.
struct Names<'a>(&'a [String]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, name) in self.0.iter().take(MAX_NAMED).enumerate() {
            write!(f, "{}`{}`", if at == 0 { "" } else { ", " }, Shown(name))?;
        }
        match self.0.len().saturating_sub(MAX_NAMED) {
            0 => Ok(()),
            1 => write!(f, " and another file"),
            more => write!(f, " and {more} other files"),
        }
    }
}
