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

/// Smallest buffer limit that hyper accepts.
const MIN_BUFFER: usize = 8_192;

/// Answers the requests of a connection until it ends, its slot is given to another connection, or `stopping` becomes
/// true and the current request is answered.
pub(crate) async fn serve_connection(
    tcp: TcpStream,
    slot: ConnectionSlot,
    pipeline: Arc<Pipeline>,
    mut stopping: watch::Receiver<bool>,
) {
    let state = &slot.state;
    let settings = &pipeline.settings;
    if let Err(error) = tcp.set_nodelay(true) {
        tracing::debug!(cause = %error, "a connection is gone");
        return;
    }
    let stream = TimedStream::new(tcp, state.clone(), settings);
    // Requests beyond the limits are answered by the pipeline, with a message and an id. Requests beyond twice the
    // limits are answered by hyper, without either.
    let head_bytes = settings.max_header_bytes.saturating_add(settings.max_url_bytes).saturating_mul(2).max(MIN_BUFFER);
    let mut builder = http1::Builder::new();
    builder
        .max_headers(settings.max_headers.saturating_mul(2).max(1))
        .max_header_size(head_bytes)
        .max_buf_size(head_bytes)
        .header_read_timeout(None);
    let service = service_fn(|request| {
        // The request begins here and not in the future, because the stream may read the end of the client's sending
        // half before the future is polled.
        let (pipeline, state, in_flight) = (Arc::clone(&pipeline), state.clone(), state.begin());
        async move { Ok::<_, Infallible>(pipeline.answer(request, &state, in_flight).await) }
    });
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    // Also ready if the sender is dropped, which ends the server too.
    let stopped = async move { _ = stopping.wait_for(|stopping| *stopping).await };
    let ended = tokio::select! {
        ended = &mut connection => Some(ended),
        () = stopped => None,
        () = state.evicted() => {
            if state.eviction_rank(Instant::now()).is_some() {
                tracing::debug!("a connection that waited for its client was closed to make room for another");
                return;
            }
            // A request has arrived in the meantime, so it is answered first.
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
        // These errors contain nothing that the client sent.
        if error.is_parse() {
            tracing::info!(cause = %error, "a request that could not be parsed was refused");
        } else {
            tracing::debug!(cause = %error, "a connection ended early");
        }
    }
}
