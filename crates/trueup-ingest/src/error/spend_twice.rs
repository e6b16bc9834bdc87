//! Spend that would count twice.

use std::fmt;
use trueup_core::{Day, Shown};

/// Spend with a source and spend without one that would both count, because they have the same account, day and
/// channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpendTwice {
    /// The source of the stored rows that new spend would count next to, empty for none; `None` if the ingest itself
    /// has both.
    pub stored: Option<String>,
    /// The rows.
    pub rows: TwiceRows,
}

/// Rows of spend that would count twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TwiceRows {
    /// The number of stored rows of the source, or that of accounts, days and channels of the ingest.
    pub count: u64,
    /// The account, the day and the channel of the first few.
    pub first: Vec<(String, Day, String)>,
}

/// The most rows that would count twice which are named.
const NAMED_TWICE: usize = 3;

impl TwiceRows {
    /// Adds a row. Days are counted from 1970-01-01.
    pub(crate) fn add(&mut self, account: &str, day: i32, channel: &str) {
        // A checked date is always a `Day`.
        let day = Day::from_number(u16::try_from(day).unwrap_or(u16::MAX));
        self.merge(Self { count: 1, first: vec![(account.to_owned(), day, channel.to_owned())] });
    }

    /// Adds the rows of `other`.
    pub(crate) fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.first.extend(other.first);
        self.first.sort();
        self.first.dedup();
        self.first.truncate(NAMED_TWICE);
    }
}

impl fmt::Display for SpendTwice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stored, rows: TwiceRows { count, first } } = self;
        let (rows, they) = if *count == 1 { ("row of spend", "it") } else { ("rows of spend", "they") };
        let have = if *count == 1 { "has" } else { "have" };
        match stored.as_deref() {
            Some("") => write!(
                f,
                "{count} stored {rows} without a source {have} the account, the day and the channel of spend that now comes \
                 with a source, so that {they} would count in addition: "
            )?,
            Some(source) => write!(
                f,
                "{count} stored {rows} with the source `{}` {have} the account, the day and the channel of spend that now \
                 comes without a source, so that {they} would count in addition: ",
                Shown(source)
            )?,
            None => f.write_str(
                "this ingest has spend of the same account, day and channel both with a source and without one, so that it \
                 would count twice: ",
            )?,
        }
        for (at, (account, day, channel)) in first.iter().enumerate() {
            let before = if at == 0 { "" } else { "; " };
            write!(f, "{before}account `{}`, {day}, ", Shown(account))?;
            match channel.as_str() {
                "" => f.write_str("no channel")?,
                channel => write!(f, "channel `{}`", Shown(channel))?,
            }
        }
        if *count > first.len() as u64 {
            f.write_str("; ...")?;
        }
        f.write_str(match stored.as_deref() {
            Some("") => {
                ". Give the new spend without a source, or pass `--replace-source \"\"`, which first removes all stored \
                 spend and all stored events without a source"
            }
            Some(_) => {
                ". Give the new spend this source (`--source`), or pass `--replace-source` with it, which first removes all \
                 stored spend and all stored events of this source"
            }
            None => ". Give all of this spend a source, or none of it",
        })
    }
}
