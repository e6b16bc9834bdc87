//! Panics: one that is caught on its way, as those of the Parquet reader on a damaged file are, says nothing; one that ends the program
//! is told with its place.

use std::any::Any;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::collections::VecDeque;
use std::panic::{self, PanicHookInfo};
use std::sync::{Mutex, PoisonError};

/// As many as are kept; the one that ends the program is among the last.
const KEPT: usize = 64;

/// What is known of a panic where it happens, and no longer where it is caught.
#[derive(Debug)]
struct PanicRecord {
    message: String,
    /// File, line and column, and the calls if `RUST_BACKTRACE` asks for them.
    place: String,
}

static LATEST: Mutex<VecDeque<PanicRecord>> = Mutex::new(VecDeque::new());

/// From here on a panic is kept for [`describe`] and not written.
pub(crate) fn keep() {
    panic::set_hook(Box::new(record));
}

/// What a panic that has been caught said, and where it happened.
pub(crate) fn describe(payload: &(dyn Any + Send)) -> String {
    let message = message(payload);
    let latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    match latest.iter().rev().find(|trace| trace.message == message) {
        Some(PanicRecord { place, .. }) => format!("{message}, at {place}"),
        None => message,
    }
}

fn record(info: &PanicHookInfo<'_>) {
    let mut place = info.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
    // What it said may hold data, which is not for logs. Without a log, as in all commands but `serve`, this says nothing.
    tracing::debug!(place, "a panic");
    let calls = Backtrace::capture();
    if calls.status() == BacktraceStatus::Captured {
        place.push_str(&format!("\n{calls}"));
    }
    let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    if latest.len() >= KEPT {
        latest.pop_front();
    }
    latest.push_back(PanicRecord { message: message(info.payload()), place });
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without words").to_owned()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::panic, reason = "tests")]

    use super::*;

    #[test]
    fn a_panic_is_told_with_its_place() {
        let usual = panic::take_hook();
        keep();
        let caught = panic::catch_unwind(|| panic!("group {} is lost", 7)).unwrap_err();
        let later = panic::catch_unwind(|| panic!("another")).unwrap_err();
        // As it goes on from the thread that it happened on.
        let moved = std::thread::spawn(|| panic!("elsewhere")).join().unwrap_err();
        panic::set_hook(usual);
        assert!(describe(&*caught).starts_with("group 7 is lost, at "), "{}", describe(&*caught));
        assert!(describe(&*caught).contains("panics.rs:"), "{}", describe(&*caught));
        assert!(describe(&*later).starts_with("another, at "), "{}", describe(&*later));
        assert!(describe(&*moved).starts_with("elsewhere, at "), "{}", describe(&*moved));
        assert_eq!(describe(&7), "a panic without words");
    }
}
