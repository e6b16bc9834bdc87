//! HTTP/1.1 for the facade: a thin adapter that passes requests to
//! [`Service::handle`](trueup::service::Service::handle) and sends its responses. It changes no status, body or header,
//! and adds only `X-Request-Id`, `Date` and the framing of the body.
//!
//! A program with an asynchronous runtime calls [`serve`]; any other program creates a [`Server`].
//!
//! # Behavior
//! - `GET /health`, `GET /ready` and `GET /openapi.json` are answered by the server itself. With
//!   [`Settings::explorer`], so are the page at `GET /explore` and its files and, if there are [`SignInLinks`],
//!   `POST /explore/key`. Every other path is answered by the facade.
//! - A [`Door`] ([`Server::door`]) answers a path of its own, such as `/mcp` for agents, to users who sign in with a
//!   key.
//! - Operators get `/metrics` in the text format of Prometheus at an address of their own
//!   ([`Server::listen_for_operators`]), without a key; also `/health` and `/ready`.
//! - A request runs on one of at most [`Settings::max_requests_at_once`] threads, of which the requests with one key
//!   get three quarters, and is canceled when its client
//!   disconnects; if the connection ends without an error, after [`Settings::half_closed_timeout`]. A large answer is
//!   produced in chunks while it is sent, by at most one thread per core, so a slow client does not block a thread.
//! - A request that exceeds a limit is answered 414 or 431. A request with a wrong header `Host`, and bytes that are
//!   not a request, are answered 400, except the first bytes of HTTP/2, which are not answered. All these answers have
//!   the form of the facade's errors. The connection is closed after bytes that are not a request, after a head that is
//!   longer than twice the limits of the URL and of the headers together, after more than twice the permitted number of
//!   headers, and after a URL of more than 65,534 bytes.
//! - A client that sends or receives nothing for too long, or receives too slowly, is disconnected. If there are too
//!   many connections, the one that has waited longest for its client is closed. Each address has its own limit.
//! - A client that closes only its sending half still receives its answer, unless the service works on it for longer
//!   than [`Settings::half_closed_timeout`].
//! - A panic while answering becomes a 500 `internal-error`; other requests are not affected.
//! - Each request is logged as one [`tracing`] event, without keys, paths or queries. Give [`log_failure`] to the
//!   service to log the causes of failures too, next to the id of the request.

// In call order: `serve` accepts a connection, which `slots` admits, and runs it over `timed_stream`, with `timer`,
// `send_pace`, `head_reader`, `request_line` and `connection_state`. `pipeline` answers each request with `log`,
// `http_error`, `openapi`, `explorer` (both a `static_file`), `sign_in_links`, a `door`, `request_queue`, `workers`
// and `response`, and makes a `refusal` where hyper passes no request on. `operations` answers operators, with
// `metrics` and `readiness`. `endpoint` names endpoints for the log and the metrics. `signal` stops the server.
mod body;
mod connection_state;
mod door;
mod endpoint;
mod explorer;
mod head_reader;
mod http_error;
mod log;
mod metrics;
mod openapi;
mod operations;
mod pipeline;
mod readiness;
mod refusal;
mod request_line;
mod request_queue;
mod response;
mod send_pace;
mod serve;
mod settings;
mod sign_in_links;
mod signal;
mod slots;
mod static_file;
mod timed_stream;
mod timer;
mod workers;

pub use door::{Door, DoorAnswer, DoorBody};
pub use log::log_failure;
pub use operations::RefreshReport;
pub use pipeline::CancelOnDrop;
pub use serve::{Listeners, Server, serve};
pub use settings::Settings;
pub use sign_in_links::SignInLinks;
#[cfg(unix)]
pub use signal::is_hangup_ignored;
pub use signal::stop_signal;
