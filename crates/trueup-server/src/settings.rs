//! What a server allows its callers.

use std::thread;
use std::time::Duration;

/// What a server allows its callers; how much one request may ask for is the service's own:
/// [`Limits`](trueup::service::Limits).
///
/// ```
/// use std::time::Duration;
/// use trueup_server::Settings;
///
/// let settings = Settings { shutdown_grace: Duration::from_secs(5), ..Settings::default() };
/// assert!(settings.max_connections > settings.max_requests_at_once);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Connections that are open at once. For another the one that has waited longest for its caller is closed: first one without a
    /// request, then one whose answer is not taken. While all are being answered, others wait.
    pub max_connections: usize,
    /// Connections of one address that are open at once; of IPv6 a network of 64 bits is one address. For another the one of this address
    /// that has waited longest for its caller is closed; while all of them are being answered, the new one is. Callers behind a proxy
    /// share its address.
    pub max_connections_per_address: usize,
    /// Whether the limit per address holds for loopback addresses too, which a proxy on this machine has.
    pub limit_loopback: bool,
    /// Requests that are worked on at once, each in a thread of its own; others wait, as long as a request may take, and are
    /// answered 504 then. Sending an answer is no work. An allocator keeps some memory for each thread.
    pub max_requests_at_once: usize,
    /// Bytes of the names and values of a request's headers, with four for each header; beyond them the answer is 431.
    pub max_header_bytes: usize,
    /// Headers of a request; beyond them the answer is 431.
    pub max_headers: usize,
    /// Bytes of a request's path and query, as they are sent; beyond them the answer is 414.
    pub max_url_bytes: usize,
    /// Bytes of a request's body that are read, to no end but to hear the next request; the connection of a longer one is closed
    /// when it has been answered.
    pub max_ignored_body_bytes: usize,
    /// From the first byte of a request, or from a new connection, to the end of its headers; later the connection is closed. A
    /// body gets as long again.
    pub header_timeout: Duration,
    /// From one answer to the first byte of the next request; later the connection is closed.
    pub idle_timeout: Duration,
    /// How long a caller may take nothing of what is sent; later the connection is closed.
    pub write_timeout: Duration,
    /// How long the service may work for a caller who has ended its half of the connection, and may therefore be gone; later the request
    /// is cancelled. An answer that has begun by then is sent to its end.
    pub half_closed_timeout: Duration,
    /// How long what runs may run on when the server is told to end.
    pub shutdown_grace: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self {
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
            half_closed_timeout: Duration::from_secs(5),
            shutdown_grace: Duration::from_secs(30),
        }
    }
}
