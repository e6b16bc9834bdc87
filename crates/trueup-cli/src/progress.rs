//! Progress bars for long operations, on stderr and only if it is a terminal.

use crate::terminal::printable;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::Mutex;
use std::time::Duration;

const KNOWN_BYTES: &str = "{msg:24} {bar:32} {binary_bytes:>11} of {binary_total_bytes}  {eta}";
const COUNT: &str = "{msg:24} {bar:32} {human_pos:>11} of {human_len}  {eta}";
const UNKNOWN_BYTES: &str = "{msg:24} {spinner} {binary_bytes:>11}  {elapsed}";

/// Creates a bar that counts up to `total`.
pub(crate) fn counter(name: &'static str, total: u64) -> ProgressBar {
    bar(name, COUNT, Some(total))
}

/// The progress of an ingest: a bar for each of its steps, one after another.
#[derive(Debug, Default)]
pub(crate) struct IngestProgress {
    current: Mutex<Option<ProgressBar>>,
}

impl IngestProgress {
    /// Removes the last bar.
    pub(crate) fn finish(&self) {
        self.replace(None);
    }

    fn replace(&self, next: Option<ProgressBar>) {
        // A panic elsewhere does not invalidate the bar.
        let mut current = self.current.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(bar) = std::mem::replace(&mut *current, next) {
            bar.finish_and_clear();
        }
    }
}

impl trueup_ingest::Progress for IngestProgress {
    fn stage(&self, name: &str, total_bytes: Option<u64>) {
        let template = if total_bytes.is_some() { KNOWN_BYTES } else { UNKNOWN_BYTES };
        self.replace(Some(bar(name, template, total_bytes)));
    }

    fn advance(&self, bytes: u64) {
        if let Some(bar) = &*self.current.lock().unwrap_or_else(std::sync::PoisonError::into_inner) {
            bar.inc(bytes);
        }
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
