//! Accepting connections until told to end.

use crate::Settings;
use crate::connection::answer_all;
use crate::front::Front;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use trueup::service::Service;

/// Before a connection is accepted again after the operating system refused.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// Answers requests over HTTP/1.1 until `shutdown` is ready: then no connection is accepted any more, what runs is finished, and after
/// [`Settings::shutdown_grace`] what still runs is cancelled and its connection closed.
///
/// # Errors
/// When the listener is not usable at all.
pub async fn serve(
    listener: TcpListener,
    service: Arc<Service>,
    settings: Settings,
    shutdown: impl Future<Output = ()> + Send,
) -> io::Result<()> {
    let grace = settings.shutdown_grace;
    let places = Arc::new(Semaphore::new(settings.max_connections.clamp(1, Semaphore::MAX_PERMITS)));
    let front = Arc::new(Front::new(service, settings));
    let (stop, stopping) = watch::channel(false);
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            Some(_) = connections.join_next() => {}
            (tcp, place) = accept(&listener, &places) => {
                let (front, stopping) = (Arc::clone(&front), stopping.clone());
                connections.spawn(async move {
                    answer_all(tcp, front, stopping).await;
                    drop(place);
                });
            }
        }
    }
    drop(listener);
    stop.send_replace(true);
    let finished = async { while connections.join_next().await.is_some() {} };
    if timeout(grace, finished).await.is_err() {
        tracing::warn!(connections = connections.len(), "what still ran was cancelled");
        connections.shutdown().await;
    }
    Ok(())
}

/// The next connection, once there is room for it.
async fn accept(listener: &TcpListener, places: &Arc<Semaphore>) -> (TcpStream, Option<OwnedSemaphorePermit>) {
    // Never closed, so that there is always a permit in the end.
    let place = Arc::clone(places).acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((tcp, _)) => return (tcp, place),
            Err(error) => {
                // One connection that broke off, or a machine out of sockets for now: the others go on.
                tracing::warn!(cause = %error, "a connection was not accepted");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}
