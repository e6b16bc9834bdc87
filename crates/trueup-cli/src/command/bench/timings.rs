//! What is measured of a question.

use super::suite::BenchQuery;
use super::target::{BenchTarget, Throughput};
use crate::exit::Failure;
use serde::{Serialize, Serializer};
use std::time::Duration;

/// How often, and by how many at once, a question is asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct BenchSettings {
    pub(super) repeat: u32,
    pub(super) callers: usize,
}

/// What was measured of one question.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Timings {
    pub(super) name: &'static str,
    /// Rows of the answer.
    pub(super) rows: usize,
    /// The time that it took of the dataset as freshly opened, opening included.
    #[serde(rename = "coldMilliseconds", serialize_with = "as_milliseconds")]
    pub(super) cold: Duration,
    /// The median of the times that it took after it had been asked once.
    #[serde(rename = "hotMilliseconds", serialize_with = "as_milliseconds")]
    pub(super) hot: Duration,
    /// The least of them.
    #[serde(rename = "leastMilliseconds", serialize_with = "as_milliseconds")]
    pub(super) least: Duration,
    /// Events of the whole dataset by the second, at the median.
    pub(super) events_per_second: f64,
    /// Bytes that the columns take in the files, of the row groups that are read.
    pub(super) bytes_read: u64,
    pub(super) row_groups_kept: usize,
    pub(super) row_groups_skipped: usize,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(super) callers: Option<CallerTimings>,
}

/// What callers at once got answered.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallerTimings {
    pub(super) callers: usize,
    pub(super) answers_per_second_of_one: f64,
    pub(super) answers_per_second: f64,
    /// How many times what one caller gets answered.
    pub(super) gain: f64,
}

impl Timings {
    /// Asks as often as `effort` says.
    pub(super) fn of(case: &BenchQuery, subject: &BenchTarget, effort: BenchSettings) -> Result<Self, Failure> {
        let query = case.query()?;
        let explanation = subject.dataset.explain(&query)?;
        let (cold, _) = subject.cold(&query)?;
        // What this decodes is held; it is not one of the times.
        let (_, answer) = subject.hot(&query)?;
        let mut times = (0..effort.repeat).map(|_| Ok(subject.hot(&query)?.0)).collect::<Result<Vec<_>, Failure>>()?;
        times.sort_unstable();
        let hot = times.get(times.len() / 2).copied().unwrap_or_default();
        let callers = match effort.callers {
            0 | 1 => None,
            callers => Some(CallerTimings::new(callers, subject.throughput(&query, callers, effort.repeat)?)),
        };
        Ok(Self {
            name: case.name,
            rows: answer.len(),
            cold,
            hot,
            least: times.first().copied().unwrap_or_default(),
            events_per_second: as_double(subject.dataset.event_rows()) / hot.as_secs_f64(),
            bytes_read: explanation.stored_bytes,
            row_groups_kept: explanation.event_row_groups_kept + explanation.spend_row_groups_kept,
            row_groups_skipped: explanation.event_row_groups_skipped + explanation.spend_row_groups_skipped,
            callers,
        })
    }
}

impl CallerTimings {
    fn new(callers: usize, throughput: Throughput) -> Self {
        let Throughput { one, all } = throughput;
        Self { callers, answers_per_second_of_one: one, answers_per_second: all, gain: all / one }
    }
}

/// A time in milliseconds.
pub(super) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn as_milliseconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(milliseconds(*time))
}

#[expect(clippy::cast_precision_loss, reason = "a rate is told to a few digits")]
pub(super) const fn as_double(count: u64) -> f64 {
    count as f64
}
