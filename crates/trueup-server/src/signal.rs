//! The stop signals of the operating system.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A [`stop_signal`] that is stored until it is awaited.
pub(crate) struct StopSignal(Pin<Box<dyn Future<Output = ()> + Send>>);

impl StopSignal {
    /// Installs the signal handlers. Must be called in a tokio runtime.
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

/// Returns a future that is ready after Ctrl-C or, on Unix, `SIGTERM` or `SIGHUP`. From the call on, the default
/// handlers no longer terminate the process. `SIGHUP` is ignored in a process that was started to outlive its terminal,
/// as `nohup` does on Linux. Must be called and awaited in a tokio runtime; [`serve`](crate::serve()) has an example.
///
/// # Errors
/// If the signal handlers cannot be installed.
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

/// Returns whether the process was started with `SIGHUP` ignored, as `nohup` does, so that it outlives its terminal;
/// false if the operating system does not report it.
#[cfg(unix)]
#[must_use]
pub fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignores_hangup(&status)
}

/// Returns whether the contents of `/proc/PID/status` list `SIGHUP`, which is signal 1, as ignored.
#[cfg(unix)]
fn ignores_hangup(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

/// Returns a future that is ready after Ctrl-C or, on Unix, `SIGTERM` or `SIGHUP`. From the call on, the default
/// handlers no longer terminate the process. Must be called and awaited in a tokio runtime; [`serve`](crate::serve())
/// has an example.
///
/// # Errors
/// If the signal handlers cannot be installed.
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
    fn an_ignored_hangup_is_recognized() {
        assert!(ignores_hangup("Name:\ttrueup\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\nSigCgt:\t0\n"));
        for other in ["", "SigIgn:\t0000000000001000\n", "SigIgn:\t\n"] {
            assert!(!ignores_hangup(other), "{other}");
        }
    }
}
