//! Messages and progress bars on stderr. Messages are in color on a terminal, unless `NO_COLOR` is set; progress bars
//! are drawn only on a terminal.

use crate::exit::Exit;
use crate::terminal::{printable, printable_lines};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::time::Duration;
use trueup_ingest::{Phase, Progress};

/// Reports the error that ends the program.
pub(crate) fn error(message: &str) {
    print(format_args!("\u{1b}[1;31merror:\u{1b}[0m {}", printable_lines(message)));
}

/// Reports something that the user should know although the command continues.
pub(crate) fn warning(message: impl Display) {
    print(format_args!("\u{1b}[1;33mwarning:\u{1b}[0m {}", printable(&message.to_string())));
}

/// Reports what the command has done.
pub(crate) fn note(message: impl Display) {
    print(format_args!("{}", printable(&message.to_string())));
}

/// Prints what the argument parser returned instead of arguments: help and version on stdout, wrong usage on stderr.
pub(crate) fn usage(refused: &clap::Error) -> Exit {
    let plain = refused.to_string();
    let shown = printable_lines(&plain);
    if shown == plain {
        // A reader that has closed the pipe, as in `trueup --help | head -1`, is not an error.
        drop(refused.print());
    } else {
        // The message repeats an argument with control characters: print it without these, and without colors.
        print(format_args!("{}", shown.trim_end()));
    }
    if refused.use_stderr() { Exit::Usage } else { Exit::Done }
}

/// Tells a person at a terminal something that a script need not know.
pub(crate) fn aside(message: impl Display) {
    if std::io::stderr().is_terminal() {
        note(message);
    }
}

fn print(message: std::fmt::Arguments<'_>) {
    // If stderr cannot be written, there is nowhere else to report it, and a good result must not turn into a failure.
    drop(writeln!(anstream::stderr(), "{message}"));
}

// The templates of progress bars: for a known number of bytes, a number of things, and an unknown number of bytes.
const KNOWN_BYTES: &str = "{msg:24} {bar:32} {binary_bytes:>11} of {binary_total_bytes}  {eta}";
const COUNT: &str = "{msg:24} {bar:32} {human_pos:>11} of {human_len}  {eta}";
const UNKNOWN_BYTES: &str = "{msg:24} {spinner} {binary_bytes:>11}  {elapsed}";

/// Creates a progress bar that counts up to `total`.
pub(crate) fn progress_bar(name: &'static str, total: u64) -> ProgressBar {
    bar(name, COUNT, Some(total))
}

/// The progress of an ingest: a bar for each phase, one after another.
#[derive(Debug, Default)]
pub(crate) struct IngestProgress {
    /// The phase that is running, and its bar; `None` before the first phase.
    current: Option<(Phase, ProgressBar)>,
}

impl IngestProgress {
    /// Shows how far the ingest is.
    pub(crate) fn show(&mut self, progress: &Progress) {
        let Progress { phase, bytes, total_bytes, .. } = *progress;
        match &self.current {
            Some((current, bar)) if *current == phase => bar.set_position(bytes),
            _ => {
                self.clear();
                let template = if total_bytes.is_some() { KNOWN_BYTES } else { UNKNOWN_BYTES };
                self.current = Some((phase, bar(&phase.to_string(), template, total_bytes)));
            }
        }
    }

    fn clear(&mut self) {
        if let Some((_, bar)) = self.current.take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for IngestProgress {
    /// Removes the last bar.
    fn drop(&mut self) {
        self.clear();
    }
}

fn bar(name: &str, template: &str, total: Option<u64>) -> ProgressBar {
    // If stderr is not a terminal, this target draws nothing.
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr_with_hz(8));
    // A test checks that the templates above are well formed.
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("━╸ "));
    }
    bar.set_message(printable(name));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_well_formed() {
        for template in [KNOWN_BYTES, COUNT, UNKNOWN_BYTES] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }
}
