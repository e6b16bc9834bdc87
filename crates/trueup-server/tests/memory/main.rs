//! How much memory answers take: a process of its own, and one test after the other, because what is measured is the whole process.

#![expect(clippy::unwrap_used, reason = "tests")]

#[expect(dead_code, reason = "the other tests use more of it")]
#[path = "../http/client.rs"]
mod client;
mod large;
mod load;
#[path = "../http/running.rs"]
mod running;
#[expect(dead_code, reason = "the other tests use more of it")]
#[path = "../http/town.rs"]
mod town;

use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};

const MIB: usize = 1 << 20;

/// Held while a test measures.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The most memory that this process has ever held, in bytes; `None` where the operating system does not say.
fn peak() -> Option<usize> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: usize = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes * 1_024)
}

/// Asserts that the peak grew by no more than so much since it was `before`.
fn assert_growth(before: Option<usize>, limit: usize) {
    let (Some(before), Some(after)) = (before, peak()) else { return };
    let growth = after.saturating_sub(before);
    assert!(growth <= limit, "the peak grew by {} KiB from {} KiB", growth / 1_024, before / 1_024);
}
