//! The memory that answers use. These tests are a separate program and run one at a time, because they measure the
//! whole process.

#![expect(clippy::unwrap_used, reason = "tests")]

#[expect(dead_code, reason = "the other tests use more of it")]
#[path = "../http/client.rs"]
mod client;
mod large;
mod load;
#[path = "../http/running.rs"]
mod running;
mod stalled;
#[expect(dead_code, reason = "the other tests use more of it")]
#[path = "../http/town.rs"]
mod town;

use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};

const MIB: usize = 1 << 20;

/// Waits until no other test measures, and prevents others from measuring.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work` and returns by how many bytes the peak memory of this process rises above the previous one; 0 if the
/// operating system does not report it.
fn growth<T>(work: impl FnOnce() -> T) -> (T, usize) {
    // If the peak cannot be reset, it covers the whole life of the process and grows less.
    let is_reset = fs::write("/proc/self/clear_refs", "5").is_ok();
    let before = peak();
    let done = work();
    let growth = peak().zip(before).map_or(0, |(after, before)| after.saturating_sub(before));
    eprintln!("memory grew by {} KiB (peak reset: {is_reset})", growth / 1_024);
    (done, growth)
}

fn peak() -> Option<usize> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: usize = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes * 1_024)
}
