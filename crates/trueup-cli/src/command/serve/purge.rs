//! Memory that was freed goes back to the system, also while nobody asks anything.

use std::hint::black_box;
use std::io;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// How often a thread ends.
const EVERY: Duration = Duration::from_secs(1);

/// Lets threads end until it is dropped.
pub(super) struct PurgeThread {
    _stop: Sender<()>,
}

/// Lets a thread end every so often. mimalloc gives memory that was freed a second ago back to the system when a thread ends, or
/// after ten thousand allocations of one thread: without this, the memory of large answers would stay until enough is asked again.
pub(super) fn begin() -> io::Result<PurgeThread> {
    let (stop, stopped) = mpsc::channel();
    thread::Builder::new().name("trueup-purge".to_owned()).spawn(move || {
        while stopped.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
            // Only a thread that has allocated is one to the allocator.
            let ended = thread::Builder::new().spawn(|| drop(black_box(Box::new(0_u64))));
            // Where there is no thread for it now there is one later; nothing in it panics.
            let _ = ended.map(thread::JoinHandle::join);
        }
    })?;
    Ok(PurgeThread { _stop: stop })
}
