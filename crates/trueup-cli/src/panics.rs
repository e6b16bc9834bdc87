//! Prints a panic's location only if the panic ends the program. Caught panics, such as those of the Parquet reader on
//! a damaged file, are silent.

use std::any::Any;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::collections::VecDeque;
use std::panic::{self, PanicHookInfo};
use std::sync::{Mutex, PoisonError};

/// Number of panics to remember. The panic that ends the program is among the latest.
const MAX_RECORDS: usize = 64;

/// What the panic hook knows about a panic, and the code that catches it no longer does.
#[derive(Debug)]
struct PanicRecord {
    message: String,
    /// File, line and column; the backtrace too if `RUST_BACKTRACE` requests it.
    location: String,
}

static LATEST: Mutex<VecDeque<PanicRecord>> = Mutex::new(VecDeque::new());

/// Installs a panic hook that records panics for [`describe`] and prints nothing.
pub(crate) fn install_hook() {
    panic::set_hook(Box::new(record));
}

/// Returns the message of a caught panic, and the location of the latest panic with that message, if it is among the
/// last [`MAX_RECORDS`] panics.
pub(crate) fn describe(payload: &(dyn Any + Send)) -> String {
    let message = message(payload);
    let latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    match latest.iter().rev().find(|record| record.message == message) {
        Some(PanicRecord { location, .. }) => format!("{message}, at {location}"),
        None => message,
    }
}

fn record(info: &PanicHookInfo<'_>) {
    let mut location = info.location().map_or_else(|| "an unknown location".to_owned(), ToString::to_string);
    // Only the location is logged, because the message may contain data. Only `serve` and `explore` have a log.
    tracing::debug!(location, "a panic");
    let backtrace = Backtrace::capture();
    if backtrace.status() == BacktraceStatus::Captured {
        location.push_str(&format!("\n{backtrace}"));
    }
    let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    if latest.len() >= MAX_RECORDS {
        latest.pop_front();
    }
    latest.push_back(PanicRecord { message: message(info.payload()), location });
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caught_panic_is_described_with_its_location() {
        let usual = panic::take_hook();
        install_hook();
        let caught = panic::catch_unwind(|| panic!("group {} is lost", 7)).unwrap_err();
        let later = panic::catch_unwind(|| panic!("another")).unwrap_err();
        // A panic that reaches this thread from the thread where it happened.
        let moved = std::thread::spawn(|| panic!("elsewhere")).join().unwrap_err();
        panic::set_hook(usual);
        assert!(describe(&*caught).starts_with("group 7 is lost, at "), "{}", describe(&*caught));
        assert!(describe(&*caught).contains("panics.rs:"), "{}", describe(&*caught));
        assert!(describe(&*later).starts_with("another, at "), "{}", describe(&*later));
        assert!(describe(&*moved).starts_with("elsewhere, at "), "{}", describe(&*moved));
        assert_eq!(describe(&7), "a panic without a message");
    }
}
