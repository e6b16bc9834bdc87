//! An answer of much more than 50 MB.

use crate::client::Client;
use crate::running::Running;
use crate::town::{self, CUSTOMERS, Town};
use crate::{MIB, alone, growth};
use std::hash::{DefaultHasher, Hasher as _};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use trueup_server::Settings;

const LEAST: usize = 64_000_000;

/// Chunks and buffers, and what the allocator keeps for each thread.
const FOR_SENDING: usize = 24 * MIB;

#[test]
fn a_large_answer_is_not_held() {
    let _alone = alone();
    let town = Town::with(Arc::new(town::dataset(70_000)), |builder| builder);
    // What is not known is "" on each row: it makes the body longer, not the table.
    let path = &format!("{CUSTOMERS},{},{}", "nobodyKnows".repeat(8), "norWhatThisIs".repeat(7));
    // In this process each chunk is dropped: what grows is the table, and what making it takes.
    let ((expected, length), table) = growth(|| {
        let (mut hash, mut length) = (DefaultHasher::new(), 0);
        for chunk in town.handle(path).body {
            let chunk = chunk.unwrap();
            hash.write(&chunk);
            length += chunk.len();
        }
        (hash.finish(), length)
    });
    assert!(length >= LEAST, "{length}");

    let server = Running::new(&town.service, Settings::default());
    let mut client = Client::connect(server.address);
    for pause in [Duration::ZERO, Duration::from_millis(300)] {
        let (found, sent) = growth(|| {
            client.send(format!("GET {path} HTTP/1.1\r\nHost: h\r\n{}\r\n", town.headers()));
            let head = client.head().unwrap();
            assert_eq!((head.status, head.header("content-length")), (200, None));
            // The server does not go on without a client that has stopped for a while.
            thread::sleep(pause);
            let (mut hash, mut length) = (DefaultHasher::new(), 0);
            assert!(client.body(&head, |bytes| {
                hash.write(bytes);
                length += bytes.len();
            }));
            (hash.finish(), length)
        });
        assert_eq!(found, (expected, length));
        assert!(sent <= table + FOR_SENDING, "{sent} bytes, and the table {table}");
    }
}
