//! HTTP in front of the facade: a thin adapter that hands requests to [`Service::handle`](trueup::service::Service::handle) and sends
//! what it answers. It adds nothing to status, body and headers but `X-Request-Id`, `Date` and how the body is framed.
//!
//! - A service with an asynchronous runtime calls [`serve`]; any other program makes a [`Server`].
//! - `GET /health` and `GET /openapi.json` are answered by the server itself, every other path by the facade.
//! - A query works in one of [`Settings::max_requests_at_once`] threads; it is cancelled when its caller goes away. Large answers are
//!   made as they are sent, a chunk at a time, by as many threads as there are cores, so a slow caller holds no thread.
//! - Requests that are too large are answered 414 or 431; whoever does not send or does not take anything is disconnected. Bytes that are
//!   no request at all are answered 400, and requests of more than twice what is allowed 431, with neither words nor an id.
//! - When places for connections run out, the connection that has waited longest for its caller makes room; one address has a limit of
//!   its own. A caller that ends its half of the connection gets its answer.
//! - A panic while a request is answered is a 500 with the code `internal-error`, and nobody else's business.
//! - Each request is one line of [`tracing`]'s log, without keys, paths or queries; give [`log_failure`] to the service and the causes
//!   of failures are logged too, next to the id of the request.

mod connection;
mod connection_state;
mod facade_request;
mod http_error;
mod ignored_body;
mod log;
mod pipeline;
mod request_id;
mod request_line;
mod response;
mod routes;
mod serve;
mod server;
mod settings;
mod signal;
mod slots;
mod timed_stream;
mod workers;

pub use log::log_failure;
pub use serve::serve;
pub use server::Server;
pub use settings::Settings;
pub use signal::stop_signal;
