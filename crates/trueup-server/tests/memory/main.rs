//! How much memory answers take: a process of its own, and one test after the other, because what is measured is the whole process.

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

/// Held while a test measures.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// By how much the peak of this process's memory rises above what is held before, in bytes; 0 where the operating system does not say.
fn growth<T>(work: impl FnOnce() -> T) -> (T, usize) {
    // Where the peak cannot be set back it is that of the whole process, and rises less.
    let is_set_back = fs::write("/proc/self/clear_refs", "5").is_ok();
    let before = peak();
    let done = work();
    let growth = peak().zip(before).map_or(0, |(after, before)| after.saturating_sub(before));
    eprintln!("memory grew by {} KiB (peak set back: {is_set_back})", growth / 1_024);
    (done, growth)
}

fn peak() -> Option<usize> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: usize = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes * 1_024)
}
