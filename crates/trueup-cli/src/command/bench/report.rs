//! What was measured, for people and for programs.

use super::target::BenchTarget;
use super::timings::{Timings, as_double, milliseconds};
use crate::exit::Failure;
use crate::output::OutputWriter;
use crate::output::number::{bytes, counted, grouped};
use serde::Serialize;
use std::io::{self, Write};
use std::time::Duration;

/// How the figures are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum ReportFormat {
    /// Aligned columns for people.
    Table,
    /// One JSON object: times in milliseconds, rates by the second, sizes in bytes.
    Json,
}

/// What was measured of a dataset.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    events: u64,
    spend_rows: u64,
    threads: usize,
    /// Decoded columns that are held after the last question, texts included.
    held_column_bytes: usize,
    held_bytes_per_event: f64,
    queries: &'a [Timings],
}

/// Writes a line as soon as a question is measured, or all of it at the end.
pub(super) struct ReportWriter<'a> {
    subject: &'a BenchTarget,
    format: ReportFormat,
    sink: OutputWriter,
    figures: Vec<Timings>,
}

impl<'a> ReportWriter<'a> {
    pub(super) fn new(subject: &'a BenchTarget, format: ReportFormat) -> Self {
        Self { subject, format, sink: OutputWriter::stdout(), figures: Vec::new() }
    }

    pub(super) fn add(&mut self, figures: Timings) -> Result<(), Failure> {
        if self.format == ReportFormat::Table {
            let first = self.figures.is_empty();
            write_line(&figures, first, &mut self.sink).map_err(Failure::fault)?;
        }
        self.figures.push(figures);
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<(), Failure> {
        let held = self.subject.dataset.held_column_bytes();
        let events = self.subject.dataset.event_rows();
        let held_bytes_per_event = as_double(held as u64) / as_double(events.max(1));
        let written = match self.format {
            ReportFormat::Table => writeln!(
                self.sink,
                "\n{} and {} asked with {}; {} of decoded columns held, {held_bytes_per_event:.1} bytes an event",
                counted(events, "event"),
                counted(self.subject.dataset.spend_rows(), "row") + " of spend",
                counted(self.subject.threads() as u64, "thread"),
                bytes(held as u64),
            )
            .map_err(Failure::fault),
            ReportFormat::Json => {
                let report = Report {
                    events,
                    spend_rows: self.subject.dataset.spend_rows(),
                    threads: self.subject.threads(),
                    held_column_bytes: held,
                    held_bytes_per_event,
                    queries: &self.figures,
                };
                let written = serde_json::to_writer_pretty(&mut self.sink, &report).map_err(Failure::fault);
                written.and_then(|()| writeln!(self.sink).map_err(Failure::fault))
            }
        };
        self.sink.finish(written)
    }
}

fn write_line(figures: &Timings, first: bool, out: &mut OutputWriter) -> io::Result<()> {
    if first {
        write!(
            out,
            "{:16} {:>9} {:>10} {:>10} {:>10} {:>10} {:>12} {:>11}",
            "query", "rows", "cold ms", "hot ms", "least ms", "M events/s", "read", "row groups"
        )?;
        match &figures.callers {
            Some(callers) => {
                writeln!(out, " {:>12} {:>12} {:>6}", "answers/s: 1", format!("{} at once", callers.callers), "gain")?;
            }
            None => writeln!(out)?,
        }
    }
    let time = |time: Duration| match milliseconds(time) {
        time if time < 100.0 => format!("{time:.3}"),
        time => format!("{time:.1}"),
    };
    let all = figures.row_groups_kept + figures.row_groups_skipped;
    write!(
        out,
        "{:16} {:>9} {:>10} {:>10} {:>10} {:>10.1} {:>12} {:>11}",
        figures.name,
        grouped(&figures.rows.to_string()),
        time(figures.cold),
        time(figures.hot),
        time(figures.least),
        figures.events_per_second / 1e6,
        bytes(figures.bytes_read),
        format!("{} of {all}", figures.row_groups_kept),
    )?;
    if let Some(callers) = &figures.callers {
        write!(
            out,
            " {:>12.1} {:>12.1} {:>6.2}",
            callers.answers_per_second_of_one, callers.answers_per_second, callers.gain
        )?;
    }
    writeln!(out)?;
    out.flush()
}
