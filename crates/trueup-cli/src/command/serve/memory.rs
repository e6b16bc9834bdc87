//! How a service divides its memory, and what it does without if it has little: huge pages, and threads.

use std::num::NonZeroUsize;
use std::thread;
use trueup::MemoryBudget;
use trueup_server::Settings;

const MIB: usize = 1 << 20;

/// With less memory, the process has no huge pages. Of each huge page that one small allocation uses, 2 MiB are
/// resident: 12 callers of a service with 64 MiB took 209 MiB with huge pages, and 92 MiB without.
const MIN_WITH_HUGE_PAGES: usize = 512 * MIB;

/// The memory per thread that decodes columns and aggregates them.
const PER_QUERY_THREAD: usize = 16 * MIB;

/// The memory per request that is worked on, for which the allocator keeps some.
const PER_REQUEST: usize = 8 * MIB;

/// Returns the budget of a service that has `memory` bytes. The rest is left for what is being decoded, and for freed
/// memory that the allocator has not returned to the system yet: an eighth or, of less than 320 MiB, a larger part,
/// because the threads that decode are as many. At 64 MiB and below it is three eighths.
pub(in crate::command) fn memory_budget(memory: usize) -> MemoryBudget {
    let small = (memory / 16).saturating_add(20 * MIB).min(memory / 8 * 3);
    MemoryBudget::new(memory - small.max(memory / 8))
}

/// Returns the largest number of requests that a service with `memory` bytes works on at the same time, unless an
/// option says otherwise.
pub(super) fn max_requests_at_once(memory: usize) -> usize {
    let default = Settings::default().max_requests_at_once;
    default.min((memory / PER_REQUEST).max(8))
}

/// Prepares the process for a service with `memory` bytes. Must come before the first query.
pub(super) fn prepare_process(memory: usize) {
    let threads = (memory / PER_QUERY_THREAD).max(1);
    if thread::available_parallelism().map_or(1, NonZeroUsize::get) > threads {
        // Without a pool of its own, the process has the default one.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    }
    #[cfg(target_os = "linux")]
    if memory < MIN_WITH_HUGE_PAGES {
        // A system that refuses this has its own setting of huge pages.
        let _ = rustix::thread::disable_transparent_huge_pages(true);
    }
}
