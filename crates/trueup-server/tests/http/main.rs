//! The server as clients see it, over sockets.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod client;
mod clients;
mod connections;
#[path = "../../../trueup/tests/service/crowd.rs"]
mod crowd;
mod endings;
mod goldens;
mod hostile;
mod logs;
#[expect(dead_code, reason = "the tests of the facade use more of it")]
#[path = "../../../trueup/tests/service/platform.rs"]
mod platform;
mod running;
mod town;
