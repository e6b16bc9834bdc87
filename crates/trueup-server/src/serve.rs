//! Accepting connections until told to end.

use crate::Settings;
use crate::connection::answer_all;
use crate::pipeline::Pipeline;
use crate::slots::{Admission, ConnectionSlots};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use trueup::service::Service;

/// Before a connection is accepted again after the operating system refused.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// Before a connection that found no place looks again whether another has become idle; one that ends is noticed at once.
const PLACE_PAUSE: Duration = Duration::from_millis(50);

/// How long a cancelled query may take to see that it is, before the threads are left to themselves; and how often to look.
const CANCELLED_QUERIES: Duration = Duration::from_secs(1);
const IDLE_PAUSE: Duration = Duration::from_millis(5);

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
    let places = ConnectionSlots::new(&settings);
    let front = Arc::new(Pipeline::new(service, settings));
    let (stop, stopping) = watch::channel(false);
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    // Accepted, and without a place yet.
    let mut accepted: Option<(TcpStream, SocketAddr)> = None;
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            Some(_) = connections.join_next() => {}
            next = accept(&listener), if accepted.is_none() => accepted = Some(next),
            () = sleep(PLACE_PAUSE), if accepted.is_some() => {}
        }
        let Some((tcp, address)) = accepted.take() else { continue };
        match places.admit(address.ip()) {
            Admission::Admitted(place) => {
                let (front, stopping) = (Arc::clone(&front), stopping.clone());
                connections.spawn(answer_all(tcp, place, front, stopping));
            }
            Admission::Full => accepted = Some((tcp, address)),
            // Not an answer: to write one would take a place.
            Admission::TooManyOfAddress => {
                tracing::warn!(
                    "a connection was closed: its address has as many as it may, and all are being answered"
                );
            }
        }
    }
    drop((listener, accepted));
    stop.send_replace(true);
    let finished = async { while connections.join_next().await.is_some() {} };
    if timeout(grace, finished).await.is_err() {
        tracing::warn!(connections = connections.len(), "what still ran was cancelled");
        connections.shutdown().await;
    }
    let idle = async {
        while !front.threads.are_idle() {
            sleep(IDLE_PAUSE).await;
        }
    };
    if timeout(CANCELLED_QUERIES, idle).await.is_err() {
        tracing::warn!("a cancelled query has not ended yet");
    }
    Ok(())
}

/// The next connection.
async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) => {
                // One connection that broke off, or a machine out of sockets for now: the others go on.
                tracing::warn!(cause = %error, "a connection was not accepted");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}
