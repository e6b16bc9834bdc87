//! Bodies of requests, which mean nothing.

use axum::body::{Body, HttpBody};
use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;
use tokio::time::timeout;

/// Reads a body to its end, so that the connection can go on and is seen to close while the request is answered; but no more than
/// `limit` bytes and no longer than `time`.
pub(crate) async fn read(mut body: Body, limit: usize, time: Duration) {
    if body.is_end_stream() {
        return;
    }
    let reading = async {
        let mut read = 0;
        while read <= limit {
            match poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
                Some(Ok(frame)) => read += frame.data_ref().map_or(0, |data| data.len()),
                Some(Err(_)) | None => break,
            }
        }
    };
    // What is left unread makes hyper close the connection after the answer.
    if timeout(time, reading).await.is_err() {
        tracing::debug!("the body of a request did not come in time");
    }
}
