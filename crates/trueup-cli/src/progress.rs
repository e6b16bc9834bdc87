//! What a command is doing, how far it is, and how long it will still take: one line at the bottom of a terminal. There
//! is none if stderr is not a terminal, and none while a command has run for less than [`DELAY`].

use crate::terminal::printable;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt;
use std::io::{self, IsTerminal as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use trueup::{Execution, QueryProgress};
use trueup_ingest::{Phase, Progress};

/// The time from the first step of a command to the moment from which its steps are shown. Most commands end before.
const DELAY: Duration = Duration::from_millis(500);

/// The time between two redraws, which keep the elapsed and the remaining time current.
const TICK: Duration = Duration::from_millis(200);

/// When the first step of the command began.
static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The line on the terminal, with the number of its step; `None` while there is none. Locked while a line appears or
/// disappears.
static LINE: Mutex<Option<(u64, ProgressBar)>> = Mutex::new(None);

/// The number of steps so far.
static STEPS: AtomicU64 = AtomicU64::new(0);

// The templates of a line: for a known number of bytes, a number of things, an unknown number of bytes, and nothing
// that can be counted. None has a color.
const KNOWN_BYTES: &str = "{msg:26!} {bar:32} {binary_bytes:>11} of {binary_total_bytes}  {left}";
const COUNT: &str = "{msg:26!} {bar:32} {human_pos:>11} of {human_len}  {left}";
const UNKNOWN_BYTES: &str = "{msg:26!} {spinner} {binary_bytes:>11}  {elapsed}";
const UNCOUNTED: &str = "{msg:26!} {spinner}  {elapsed}";

/// A step of a command, shown until it is dropped, or until a later step is shown.
#[derive(Debug)]
pub(crate) struct Step {
    number: u64,
    bar: ProgressBar,
    /// Ends the thread that shows the line after [`DELAY`], if it still waits.
    _waiting: Option<Sender<()>>,
}

impl Step {
    /// Begins a step of which nothing can be counted.
    pub(crate) fn new(name: &str) -> Self {
        Self::with_template(name, UNCOUNTED, None)
    }

    /// Begins a step that counts up to `total`.
    pub(crate) fn counted(name: &str, total: u64) -> Self {
        Self::with_template(name, COUNT, Some(total))
    }

    /// Begins a step that counts bytes, up to `total` if it is known.
    pub(crate) fn bytes(name: &str, total: Option<u64>) -> Self {
        Self::with_template(name, if total.is_some() { KNOWN_BYTES } else { UNKNOWN_BYTES }, total)
    }

    fn with_template(name: &str, template: &str, total: Option<u64>) -> Self {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        // A test checks that the templates above are well formed.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━╸ ").with_key("left", write_left));
        }
        bar.set_message(printable(name));
        let number = STEPS.fetch_add(1, Ordering::Relaxed);
        let waiting = is_shown().then(|| show_later(number, &bar));
        Self { number, bar, _waiting: waiting }
    }

    /// Records how much is done.
    pub(crate) fn set(&self, done: u64) {
        self.bar.set_position(done);
    }

    /// Records how much is done, of a total that may have changed.
    pub(crate) fn set_of(&self, done: u64, total: u64) {
        self.bar.set_length(total);
        self.bar.set_position(done);
    }

    /// Adds to how much is done.
    pub(crate) fn add(&self, more: u64) {
        self.bar.inc(more);
    }

    /// Changes the name.
    pub(crate) fn rename(&self, name: &str) {
        self.bar.set_message(printable(name));
    }
}

/// Returns whether steps are shown: on a terminal that can remove a line again.
fn is_shown() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

impl Drop for Step {
    /// Removes the line.
    fn drop(&mut self) {
        let mut line = line();
        self.bar.finish_and_clear();
        line.take_if(|(number, _)| *number == self.number);
    }
}

/// Prints something above the line. `print` must print nothing through this function again.
pub(crate) fn above<T>(print: impl FnOnce() -> T) -> T {
    let line = line().clone();
    match line {
        Some((_, bar)) => bar.suspend(print),
        None => print(),
    }
}

/// Starts a thread that shows the line once the command has run for [`DELAY`]. Dropping the sender ends the wait.
fn show_later(number: u64, bar: &ProgressBar) -> Sender<()> {
    let delay = DELAY.saturating_sub(BEGUN.elapsed());
    let (sender, ended) = channel();
    let bar = bar.clone();
    let wait = move || {
        if ended.recv_timeout(delay) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        let mut line = line();
        // The step may have ended a moment ago.
        if !bar.is_finished() {
            if let Some((_, before)) = line.take() {
                before.finish_and_clear();
            }
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(8));
            bar.enable_steady_tick(TICK);
            *line = Some((number, bar));
        }
    };
    // Without the thread there is no line, and the command works all the same.
    drop(thread::Builder::new().name("trueup-progress".to_owned()).spawn(wait));
    sender
}

fn line() -> MutexGuard<'static, Option<(u64, ProgressBar)>> {
    LINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes how long the step will still take; nothing while that is unknown.
fn write_left(state: &ProgressState, out: &mut dyn fmt::Write) {
    if state.pos() > 0 {
        // A line that cannot be written is not shown.
        let _ = write!(out, "about {:#} left", HumanDuration(state.eta()));
    }
}

/// Returns the options of a query with a step that shows how far the query is, until the options are dropped.
pub(crate) fn watched(execution: Execution) -> Execution {
    let step = Step::counted("reading events", 0);
    let progress = QueryProgress::new(move |rows, total| step.set_of(rows, total));
    Execution { progress: Some(progress), ..execution }
}

/// The progress of an ingest, or of another change of a dataset: a step for each phase, one after another.
#[derive(Debug, Default)]
pub(crate) struct IngestProgress {
    /// The phase that is running, and its step; `None` before the first phase.
    current: Option<(Phase, Step)>,
}

impl IngestProgress {
    /// Shows how far the ingest is.
    pub(crate) fn show(&mut self, progress: &Progress) {
        let Progress { phase, rows, bytes, total_rows, total_bytes, .. } = *progress;
        if self.current.as_ref().is_none_or(|(current, _)| *current != phase) {
            let name = phase.to_string();
            let step = match (phase, total_rows) {
                (Phase::Waiting | Phase::ReadingManifests, _) => Step::new(&name),
                (_, Some(total)) => Step::counted(&name, total),
                (_, None) => Step::bytes(&name, total_bytes),
            };
            self.current = Some((phase, step));
        }
        if let Some((_, step)) = &self.current {
            step.set(if total_rows.is_some() { rows } else { bytes });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_well_formed() {
        for template in [KNOWN_BYTES, COUNT, UNKNOWN_BYTES, UNCOUNTED] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }
}
