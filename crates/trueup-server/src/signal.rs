//! Being told to end by the operating system.

use std::io;

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
