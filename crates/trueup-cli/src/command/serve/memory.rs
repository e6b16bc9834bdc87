//! How a service divides its memory, and what it does without if it has little: retained memory, and threads.

#[cfg(target_os = "linux")]
use std::env;
use std::num::NonZeroUsize;
#[cfg(target_os = "linux")]
use std::os::unix::process::CommandExt as _;
#[cfg(target_os = "linux")]
use std::process::Command;
use std::thread;
use trueup::MemoryBudget;
use trueup_server::Settings;

const MIB: usize = 1 << 20;

/// With less memory, the allocator neither keeps freed memory nor has huge pages.
#[cfg(target_os = "linux")]
const MIN_WITH_RETAINED: usize = 512 * MIB;

/// Options of the allocator of the program and of that of the C library, which is the one of C code, and of the program
/// that the Python package installs.
///
/// By default the first one keeps freed memory for a second, and of each huge page that one small allocation uses, 2
/// MiB are resident. Of the 173 MiB that a service with 64 MiB may take, 12 callers took 148 to 183 while freed memory
/// was kept, the more the faster the machine, and 52 to 58 since.
///
/// The C library has arenas per thread, and returns only what is free at their ends. Each large allocation that is
/// freed makes it keep larger ones in the arenas, unless the size from which an allocation has pages of its own is set;
/// it is the default, 128 KiB.
#[cfg(target_os = "linux")]
const ALLOCATOR_OPTIONS: [(&str, &str); 4] = [
    ("MIMALLOC_PURGE_DELAY", "0"),
    ("MIMALLOC_ALLOW_THP", "0"),
    ("MALLOC_ARENA_MAX", "2"),
    ("MALLOC_MMAP_THRESHOLD_", "131072"),
];

/// The memory per thread that decodes columns and aggregates them.
const PER_QUERY_THREAD: usize = 16 * MIB;

/// The memory per request that is worked on, for which the allocator keeps some.
const PER_REQUEST: usize = 8 * MIB;

/// The memory per open connection: what a head of a request that is not complete may take, in two copies.
const PER_CONNECTION: usize = 192 << 10;

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

/// Returns the largest number of open connections of a service with `memory` bytes, unless an option says otherwise.
pub(super) fn max_connections(memory: usize) -> usize {
    Settings::default().max_connections.min(memory / PER_CONNECTION)
}

/// Prepares the process for a service with `memory` bytes. Must come first, because the program may begin again.
pub(super) fn prepare_process(memory: usize) {
    #[cfg(target_os = "linux")]
    if memory < MIN_WITH_RETAINED {
        begin_again_without_retained_memory();
    }
    let threads = (memory / PER_QUERY_THREAD).max(1);
    if thread::available_parallelism().map_or(1, NonZeroUsize::get) > threads {
        // Without a pool of its own, the process has the default one.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    }
}

/// Executes the program again, in the same process, with an allocator that has no huge pages and returns freed memory
/// at once. The allocator reads its options only from the environment, when the process begins. What the environment
/// already says stays, so this happens once.
#[cfg(target_os = "linux")]
fn begin_again_without_retained_memory() {
    let missing = ALLOCATOR_OPTIONS.into_iter().filter(|(name, _)| env::var_os(name).is_none());
    let missing: Vec<_> = missing.collect();
    if missing.is_empty() {
        return;
    }
    let Ok(program) = env::current_exe() else { return };
    // Those of the process: in Python, the first ones are for Python. Where only a `main` of Rust gets them, there are
    // none.
    let mut arguments = env::args_os();
    let Some(name) = arguments.next() else { return };
    let error = Command::new(program).arg0(name).args(arguments).envs(missing).exec();
    tracing::warn!(%error, "the program cannot begin again: the service may use more than its memory");
}
