//! Progress on long work, on stderr and only if that is a terminal.

use crate::output::terminal::printable;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::Mutex;
use std::time::Duration;

const BYTES: &str = "{msg:24} {bar:32} {binary_bytes:>11} of {binary_total_bytes}  {eta}";
const COUNT: &str = "{msg:24} {bar:32} {human_pos:>11} of {human_len}  {eta}";
const UNKNOWN: &str = "{msg:24} {spinner} {binary_bytes:>11}  {elapsed}";

/// A bar for one piece of work that counts up to `total`.
pub(crate) fn counting(name: &'static str, total: u64) -> ProgressBar {
    bar(name, COUNT, Some(total))
}

/// A bar for each stage of an ingest, one after the other.
#[derive(Debug, Default)]
pub(crate) struct IngestProgress {
    current: Mutex<Option<ProgressBar>>,
}

impl IngestProgress {
    /// Takes the last bar away.
    pub(crate) fn finish(&self) {
        self.replace(None);
    }

    fn replace(&self, next: Option<ProgressBar>) {
        // A bar is as good after a panic elsewhere as before it.
        let mut current = self.current.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(bar) = std::mem::replace(&mut *current, next) {
            bar.finish_and_clear();
        }
    }
}

impl trueup_ingest::Progress for IngestProgress {
    fn stage(&self, name: &str, total_bytes: Option<u64>) {
        let template = if total_bytes.is_some() { BYTES } else { UNKNOWN };
        self.replace(Some(bar(name, template, total_bytes)));
    }

    fn advance(&self, bytes: u64) {
        if let Some(bar) = &*self.current.lock().unwrap_or_else(std::sync::PoisonError::into_inner) {
            bar.inc(bytes);
        }
    }
}

fn bar(name: &str, template: &str, total: Option<u64>) -> ProgressBar {
    // Where stderr is no terminal, this target draws nothing.
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr_with_hz(8));
    // The templates above are well formed; a test says so.
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
        for template in [BYTES, COUNT, UNKNOWN] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }
}
