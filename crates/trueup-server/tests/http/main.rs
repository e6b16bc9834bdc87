//! The server as clients see it, over sockets.
//!
//! | file | tests |
//! |---|---|
//! | `town`, `client`, `platform` | none: a service with a server, a client, and the service of the facade's goldens |
//! | `goldens` | answers over HTTP equal those of the facade |
//! | `clients` | requests as common clients send them |
//! | `errors` | errors that the server answers without the facade |
//! | `hostile` | malformed, oversized, slow and aborted requests |
//! | `connections` | limits on connections, half-closed connections, the header `Host` |
//! | `explorer` | the page of the explorer, its files and its headers |
//! | `endings` | how a server stops, an address in use, and the deadline of a request in the queue |
//! | `operators` | metrics, readiness, and the listener of operators |
//! | `logs` | what is logged, and what is never logged |

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod client;
mod clients;
mod connections;
mod endings;
mod errors;
mod explorer;
mod goldens;
mod hostile;
mod logs;
mod operators;
#[expect(dead_code, reason = "the tests of the facade use more of it")]
#[path = "../../../trueup/tests/service/platform.rs"]
mod platform;
mod town;
