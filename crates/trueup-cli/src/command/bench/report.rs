//! The report of `trueup bench`, as a table or as JSON.

use super::measure::{BenchTarget, SplitTimings, Timings, as_double, milliseconds};
use crate::exit::Failure;
use crate::output::OutputWriter;
use crate::output::bytes;
use serde::Serialize;
use std::io::{self, Write};
use std::time::Duration;
use trueup_report::number::{counted, grouped};

/// The format of the measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum BenchFormat {
    /// Aligned columns for people.
    Table,
    /// One JSON object; times in milliseconds, rates per second, sizes in bytes.
    Json,
}

/// The whole report, as JSON shows it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct BenchReport<'a> {
    events: u64,
    spend_rows: u64,
    threads: usize,
    /// Size in memory of the decoded columns after the last query, texts included.
    held_column_bytes: usize,
    held_bytes_per_event: f64,
    queries: &'a [Timings],
}

/// Writes a table line by line as queries are measured, or JSON at the end.
pub(super) struct ReportWriter<'a> {
    target: &'a BenchTarget,
    format: BenchFormat,
    out: OutputWriter,
    timings: Vec<Timings>,
}

impl<'a> ReportWriter<'a> {
    pub(super) fn new(target: &'a BenchTarget, format: BenchFormat) -> Self {
        Self { target, format, out: OutputWriter::stdout(), timings: Vec::new() }
    }

    pub(super) fn add(&mut self, timings: Timings) -> Result<(), Failure> {
        if self.format == BenchFormat::Table {
            let first = self.timings.is_empty();
            write_row(&timings, first, &mut self.out).map_err(Failure::fault)?;
        }
        self.timings.push(timings);
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<(), Failure> {
        let held = self.target.dataset.held_column_bytes();
        let events = self.target.dataset.event_rows();
        let held_bytes_per_event = as_double(held as u64) / as_double(events.max(1));
        let written = match self.format {
            BenchFormat::Table => writeln!(
                self.out,
                "\n{} and {} queried with {}; {} of decoded columns in memory, {held_bytes_per_event:.1} bytes per event",
                counted(events, "event"),
                counted(self.target.dataset.spend_rows(), "row") + " of spend",
                counted(self.target.threads() as u64, "thread"),
                bytes(held as u64),
            )
            .map_err(Failure::fault),
            BenchFormat::Json => {
                let report = BenchReport {
                    events,
                    spend_rows: self.target.dataset.spend_rows(),
                    threads: self.target.threads(),
                    held_column_bytes: held,
                    held_bytes_per_event,
                    queries: &self.timings,
                };
                let written = serde_json::to_writer_pretty(&mut self.out, &report).map_err(Failure::fault);
                written.and_then(|()| writeln!(self.out).map_err(Failure::fault))
            }
        };
        self.out.finish(written)
    }
}

fn write_row(timings: &Timings, first: bool, out: &mut OutputWriter) -> io::Result<()> {
    if first {
        write!(
            out,
            "{:16} {:>9} {:>10} {:>10} {:>10} {:>10} {:>12} {:>11}",
            "query", "rows", "cold ms", "hot ms", "least ms", "M events/s", "read", "row groups"
        )?;
        if timings.again.is_some() {
            write!(out, " {:>10} {:>6}", "again ms", "factor")?;
        }
        if let Some(callers) = &timings.callers {
            write!(out, " {:>12} {:>12} {:>6}", "answers/s: 1", format!("{} callers", callers.callers), "gain")?;
        }
        if let Some(splits) = &timings.splits {
            write!(
                out,
                " {:>10} {:>6} {:>6} {:>9}",
                format!("{} splits", splits.splits),
                "factor",
                "sent",
                "partials"
            )?;
        }
        writeln!(out)?;
    }
    let time = |time: Duration| match milliseconds(time) {
        time if time < 100.0 => format!("{time:.3}"),
        time => format!("{time:.1}"),
    };
    let all = timings.row_groups_kept + timings.row_groups_skipped;
    write!(
        out,
        "{:16} {:>9} {:>10} {:>10} {:>10} {:>10.1} {:>12} {:>11}",
        timings.name,
        grouped(&timings.rows.to_string()),
        time(timings.cold),
        time(timings.hot),
        time(timings.least),
        timings.events_per_second / 1e6,
        bytes(timings.bytes_read),
        format!("{} of {all}", timings.row_groups_kept),
    )?;
    if let Some(again) = &timings.again {
        write!(out, " {:>10} {:>6.3}", time(again.time), again.factor)?;
    }
    if let Some(callers) = &timings.callers {
        write!(
            out,
            " {:>12.1} {:>12.1} {:>6.2}",
            callers.answers_per_second_of_one, callers.answers_per_second, callers.gain
        )?;
    }
    if let Some(splits) = &timings.splits {
        let partials = bytes(splits.partial_bytes as u64);
        let SplitTimings { factor, sent_factor, .. } = splits;
        write!(out, " {:>10} {factor:>6.2} {sent_factor:>6.2} {partials:>9}", time(splits.time))?;
    }
    writeln!(out)?;
    out.flush()
}
