//! The memory for an answer of more than 64 MB.

use crate::client::Client;
use crate::running::RunningServer;
use crate::town::{self, CUSTOMERS, Town};
use crate::{MIB, alone, growth};
use std::hash::{DefaultHasher, Hasher as _};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use trueup_server::Settings;

const MIN_BODY_BYTES: usize = 64_000_000;

/// Memory for chunks and buffers, and what the allocator keeps for each thread.
const SENDING_BYTES: usize = 24 * MIB;

#[test]
fn a_large_answer_is_not_held_in_memory() {
    let _alone = alone();
    let town = Town::with(Arc::new(town::dataset(70_000)), |builder| builder);
    // An unknown field is "" on each row, which makes the body longer but not the table.
    let path = &format!("{CUSTOMERS},{},{}", "nobodyKnows".repeat(8), "norWhatThisIs".repeat(7));
    // Here each chunk is dropped, so the growth is the table and the work on it.
    let ((expected, length), table) = growth(|| {
        let (mut hash, mut length) = (DefaultHasher::new(), 0);
        for chunk in town.handle(path).body {
            let chunk = chunk.unwrap();
            hash.write(&chunk);
            length += chunk.len();
        }
        (hash.finish(), length)
    });
    assert!(length >= MIN_BODY_BYTES, "{length}");

    let server = RunningServer::new(&town.service, Settings::default());
    let mut client = Client::connect(server.address);
    for pause in [Duration::ZERO, Duration::from_millis(300)] {
        let (found, sent) = growth(|| {
            client.send(format!("GET {path} HTTP/1.1\r\nHost: h\r\n{}\r\n", town.headers()));
            let head = client.head().unwrap();
            assert_eq!((head.status, head.header("content-length")), (200, None));
            // While the client pauses, the server must not continue.
            thread::sleep(pause);
            let (mut hash, mut length) = (DefaultHasher::new(), 0);
            assert!(client.body(&head, |bytes| {
                hash.write(bytes);
                length += bytes.len();
            }));
            (hash.finish(), length)
        });
        assert_eq!(found, (expected, length));
        assert!(sent <= table + SENDING_BYTES, "{sent} bytes to send, {table} bytes for the table");
    }
}
