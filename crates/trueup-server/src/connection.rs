//! One connection, from its first byte to its last.

use crate::pipeline::Pipeline;
use crate::slots::ConnectionSlot;
use crate::timed_stream::TimedStream;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;
use tokio::net::TcpStream;
use tokio::sync::watch;

/// The least that hyper takes as the bound of what it buffers.
const MIN_BUFFER: usize = 8_192;

/// Answers the requests of a connection until it ends, its place is given to another, or `stopping` turns true and the present one is
/// answered.
pub(crate) async fn answer_all(
    tcp: TcpStream,
    place: ConnectionSlot,
    front: Arc<Pipeline>,
    mut stopping: watch::Receiver<bool>,
) {
    let activity = &place.activity;
    let settings = &front.settings;
    if let Err(error) = tcp.set_nodelay(true) {
        tracing::debug!(cause = %error, "a connection is gone");
        return;
    }
    let stream = TimedStream::new(tcp, activity.clone(), settings);
    // What passes our limits is answered by us, with words and an id; what passes twice as much is answered by hyper, without.
    let head_bytes = settings.max_header_bytes.saturating_add(settings.max_url_bytes).saturating_mul(2).max(MIN_BUFFER);
    let mut builder = http1::Builder::new();
    builder
        .max_headers(settings.max_headers.saturating_mul(2).max(1))
        .max_header_size(head_bytes)
        .max_buf_size(head_bytes)
        .header_read_timeout(None);
    let service = service_fn(|request| {
        // Not in the future: the end of the caller's half may be read before that is polled.
        let (front, activity, answering) = (Arc::clone(&front), activity.clone(), activity.begin());
        async move { Ok::<_, Infallible>(front.answer(request, &activity, answering).await) }
    });
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    // Also when the sender is gone, which is when nobody is left to say so.
    let stopped = async move { _ = stopping.wait_for(|stopping| *stopping).await };
    let ended = tokio::select! {
        ended = &mut connection => Some(ended),
        () = stopped => None,
        () = activity.evicted() => {
            if activity.waiting(Instant::now()).is_some() {
                tracing::debug!("a connection that waited for its caller was closed to make room for another");
                return;
            }
            // A request has come since.
            None
        }
    };
    let ended = match ended {
        Some(ended) => ended,
        None => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        // Such errors hold nothing that the caller sent.
        if error.is_parse() {
            tracing::info!(cause = %error, "a request was refused that does not read");
        } else {
            tracing::debug!(cause = %error, "a connection ended early");
        }
    }
}
