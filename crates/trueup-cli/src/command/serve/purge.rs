//! Memory that was freed goes back to the system, also while nobody asks anything.

use std::hint::black_box;
use std::io;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// How often the allocator is called.
const EVERY: Duration = Duration::from_secs(1);

/// As much as the allocator takes from its arenas, rather than from what a thread has.
const BLOCK: usize = 8 << 20;

/// Calls the allocator until it is dropped.
pub(super) struct Purge {
    _stop: Sender<()>,
}

/// Calls the allocator every so often. mimalloc gives freed memory back to the system after a while, but only when it is called for a
/// large block: without this, the memory of large answers would stay until somebody asks again. The block is never written to, so it
/// takes no memory itself.
pub(super) fn begin() -> io::Result<Purge> {
    let (stop, stopped) = mpsc::channel();
    thread::Builder::new().name("trueup-purge".to_owned()).spawn(move || {
        while stopped.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
            drop(black_box(Vec::<u8>::with_capacity(BLOCK)));
        }
    })?;
    Ok(Purge { _stop: stop })
}
