//! The limits and timeouts of a server.

use std::thread;
use std::time::Duration;

/// The limits and timeouts of a server. What a single request may ask for is limited by the service:
/// [`Limits`](trueup::service::Limits). A limit of 0 connections or of 0 requests at once counts as 1.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use trueup_server::Settings;
///
/// let settings = Settings { shutdown_grace: Duration::from_secs(5), ..Settings::default() };
/// assert!(settings.max_connections > settings.max_requests_at_once);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether the server answers `/explore` with the page of the explorer; by default it does. The page shows what the
    /// key of its user reaches, and contains no data by itself.
    pub explorer: bool,
    /// Largest number of open connections; by default 1,024.
    ///
    /// To accept another, the server closes the connection that has waited longest for its client: first one whose
    /// client has not sent a whole request, then one whose client does not receive its answer. If the server is
    /// answering on all of them, the new connection waits.
    pub max_connections: usize,
    /// Largest number of open connections per IPv4 address, or per 64-bit network of IPv6; by default 512.
    ///
    /// To accept another, the server closes the connection of this address that has waited longest for its client. If
    /// the server is answering on all of them, it closes the new connection. All clients behind a proxy share the
    /// address of the proxy.
    pub max_connections_per_address: usize,
    /// Whether `max_connections_per_address` applies to loopback addresses too; by default it does not, because a proxy
    /// on the same machine has such an address.
    pub limit_loopback: bool,
    /// Largest number of requests to work on at the same time, each in its own thread; by default two per core, and at
    /// least 8.
    ///
    /// Requests with the same key use at most three quarters of the threads, so that one user leaves some to others.
    /// Other requests wait, and are answered 504 when their deadline passes. A request whose answer is being sent does
    /// not count. The allocator keeps some memory for each thread.
    pub max_requests_at_once: usize,
    /// Largest size of a request's headers in bytes: names, values, and 4 for each header; by default 16 KiB. Larger
    /// ones are answered 431.
    pub max_header_bytes: usize,
    /// Largest number of headers of a request; by default 64. More are answered 431.
    pub max_headers: usize,
    /// Largest size of a request's path and query in bytes, as sent; by default 32 KiB. Larger ones are answered 414,
    /// and so are all of more than 65,534 bytes, whatever is set here.
    pub max_url_bytes: usize,
    /// Largest size in bytes of a request's body that the server reads and ignores, to keep the connection open for the
    /// next request; by default 64 KiB. After a larger body, the connection is closed when the request has been
    /// answered.
    pub max_ignored_body_bytes: usize,
    /// Time from the first byte of a request, or from a new connection, to the end of the headers; by default 10 s.
    /// Then the connection is closed. A body may take as long again.
    pub header_timeout: Duration,
    /// Time from an answer to the first byte of the next request; by default 75 s. Then the connection is closed.
    pub idle_timeout: Duration,
    /// Time that a client may receive nothing of what the server sends; by default 30 s. Then the connection is closed.
    pub write_timeout: Duration,
    /// Bytes per second that a client must receive on average while the server waits for it, measured over each
    /// `write_timeout` of waiting; by default 16 KiB. Then the connection is closed, because a slow client keeps the
    /// memory of its answer. 0 sets no limit.
    pub min_send_rate: u32,
    /// Time that the service may work for a client that has closed its sending half, because the client may be gone; by
    /// default 5 s. Then the request is canceled. An answer that has begun is sent to its end.
    pub half_closed_timeout: Duration,
    /// Time from the stop signal to the moment from which no connection is accepted; by default 0. Meanwhile requests
    /// are answered, and `/ready` answers 503, so that a load balancer sends the next ones elsewhere.
    pub shutdown_delay: Duration,
    /// Time that running requests have to finish after [`shutdown_delay`](Self::shutdown_delay); by default 30 s.
    /// Then they are canceled.
    pub shutdown_grace: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self {
            explorer: true,
            max_connections: 1_024,
            max_connections_per_address: 512,
            limit_loopback: false,
            max_requests_at_once: (2 * cores).max(8),
            max_header_bytes: 16 * 1024,
            max_headers: 64,
            max_url_bytes: 32 * 1024,
            max_ignored_body_bytes: 64 * 1024,
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(75),
            write_timeout: Duration::from_secs(30),
            min_send_rate: 16 * 1024,
            half_closed_timeout: Duration::from_secs(5),
            shutdown_delay: Duration::ZERO,
            shutdown_grace: Duration::from_secs(30),
        }
    }
}
