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

/// Is ready once the process is told to end: by Ctrl-C or, on Unix, `SIGTERM`. Neither ends the process by itself from the call of this
/// function on. To be called, and awaited, in a runtime of tokio's.
///
/// # Errors
/// When signals cannot be heard.
#[cfg(unix)]
pub fn stop_signal() -> io::Result<impl Future<Output = ()> + Send + 'static> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Is ready once the process is told to end: by Ctrl-C or, on Unix, `SIGTERM`. Neither ends the process by itself from the call of this
/// function on. To be called, and awaited, in a runtime of tokio's.
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
