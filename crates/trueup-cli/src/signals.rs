//! Signals that stop a command which would otherwise leave files behind.

use crate::exit::{Exit, Failure};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use trueup::Interrupt;

/// The signals that stop the program: Ctrl-C, a request to end, and the end of its terminal. The first one interrupts
/// the command, which then removes what it has made. The second one ends the program at once, and so does any after
/// this value is dropped.
#[derive(Debug, Default)]
pub(crate) struct StopSignals {
    is_stopped: Arc<AtomicBool>,
    /// The signal, once there is one.
    signal: Arc<AtomicUsize>,
    /// Whether the command no longer has anything to remove.
    is_over: Arc<AtomicBool>,
}

/// What a shell adds to the number of the signal that ended a program.
const SIGNAL_EXIT: u8 = 128;

impl StopSignals {
    /// Installs the handlers. A hangup stays ignored if the program was started with it ignored, as by `nohup`.
    #[cfg(unix)]
    pub(crate) fn hear() -> Result<Self, Failure> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        use signal_hook::flag;

        let signals = Self::default();
        let hangup = (!trueup_server::is_hangup_ignored()).then_some((SIGHUP, 1));
        for (signal, number) in [(SIGINT, 2), (SIGTERM, 15)].into_iter().chain(hangup) {
            let exit = i32::from(SIGNAL_EXIT + number);
            // This handler is the first, so it sees whether an earlier signal has set the flag.
            flag::register_conditional_shutdown(signal, exit, Arc::clone(&signals.is_stopped))
                .and_then(|_| flag::register_usize(signal, Arc::clone(&signals.signal), usize::from(number)))
                .and_then(|_| flag::register(signal, Arc::clone(&signals.is_stopped)))
                .and_then(|_| flag::register_conditional_default(signal, Arc::clone(&signals.is_over)))
                .map_err(Failure::fault)?;
        }
        Ok(signals)
    }

    /// Hears no signals on platforms where they end the program at once.
    #[cfg(not(unix))]
    pub(crate) fn hear() -> Result<Self, Failure> {
        Ok(Self::default())
    }

    /// Returns an interrupt that a signal cancels.
    pub(crate) fn interrupt(&self) -> Interrupt {
        Interrupt::on(Arc::clone(&self.is_stopped))
    }

    /// Returns whether a signal has interrupted the command.
    pub(crate) fn has_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Returns the exit of a command that was interrupted, as shells expect it.
    pub(crate) fn exit(&self) -> Exit {
        let signal = u8::try_from(self.signal.load(Ordering::Relaxed)).unwrap_or_default();
        Exit::Stopped(SIGNAL_EXIT.saturating_add(signal))
    }
}

impl Drop for StopSignals {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}
