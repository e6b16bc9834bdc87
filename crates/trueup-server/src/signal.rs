//! Being told to end by the operating system.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A [`stop_signal`] that is kept until somebody waits for it.
pub(crate) struct StopSignal(Pin<Box<dyn Future<Output = ()> + Send>>);

impl StopSignal {
    /// To be made in a runtime of tokio's.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(Box::pin(stop_signal()?)))
    }
}

impl Future for StopSignal {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(cx)
    }
}

impl fmt::Debug for StopSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StopSignal").finish_non_exhaustive()
    }
}

/// Is ready once the process is told to end: by Ctrl-C or, on Unix, `SIGTERM` or `SIGHUP`. From the call on, none of them
/// ends the process by itself. `SIGHUP` counts for nothing in a process that was started to outlive its terminal, as `nohup` does on Linux.
/// To be called, and awaited, in a runtime of tokio's.
///
/// # Errors
/// When signals cannot be heard.
#[cfg(unix)]
pub fn stop_signal() -> io::Result<impl Future<Output = ()> + Send + 'static> {
    use std::future::pending;
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = if is_hangup_ignored() { None } else { Some(signal(SignalKind::hangup())?) };
    let hangup = async move {
        match &mut hangup {
            Some(hangup) => _ = hangup.recv().await,
            None => pending().await,
        }
    };
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            () = hangup => {}
        }
    })
}

/// Whether the process was started with `SIGHUP` ignored; false where the operating system does not say.
#[cfg(unix)]
fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignores_hangup(&status)
}

/// Whether a status as Linux writes it names `SIGHUP`, which is signal 1, among the ignored ones.
#[cfg(unix)]
fn ignores_hangup(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

/// Is ready once the process is told to end: by Ctrl-C or, on Unix, `SIGTERM` or `SIGHUP`. From the call on, none of them
/// ends the process by itself. To be called, and awaited, in a runtime of tokio's.
///
/// # Errors
/// When signals cannot be heard.
#[cfg(not(unix))]
pub fn stop_signal() -> io::Result<impl Future<Output = ()> + Send + 'static> {
    let mut interrupt = tokio::signal::windows::ctrl_c()?;
    Ok(async move {
        interrupt.recv().await;
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::ignores_hangup;

    #[test]
    fn a_process_that_outlives_its_terminal_is_known() {
        assert!(ignores_hangup("Name:\ttrueup\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\nSigCgt:\t0\n"));
        for other in ["", "SigIgn:\t0000000000001000\n", "SigIgn:\t\n"] {
            assert!(!ignores_hangup(other), "{other}");
        }
    }
}
