//! An answer of more than 50 MB.

use crate::client::Client;
use crate::running::Running;
use crate::town::{self, CUSTOMERS, Town};
use crate::{MIB, alone, assert_growth, peak};
use std::hash::{DefaultHasher, Hasher as _};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use trueup_server::Settings;

const LEAST: usize = 50_000_000;

#[test]
fn a_large_answer_is_not_held() {
    let _alone = alone();
    let town = Town::with(Arc::new(town::dataset(40_000, 1_400)), |builder| builder);
    // In this process, dropping each chunk: the table itself and what making it takes are part of the peak from here on.
    let (mut expected, mut length) = (DefaultHasher::new(), 0);
    for chunk in town.handle(CUSTOMERS).body {
        let chunk = chunk.unwrap();
        expected.write(&chunk);
        length += chunk.len();
    }
    assert!(length >= LEAST, "{length}");
    let before = peak();

    let server = Running::new(&town.service, Settings::default());
    let mut client = Client::connect(server.address);
    for pause in [Duration::ZERO, Duration::from_millis(300)] {
        client.send(format!("GET {CUSTOMERS} HTTP/1.1\r\nHost: h\r\n{}\r\n", town.headers()));
        let head = client.head().unwrap();
        assert_eq!((head.status, head.header("content-length")), (200, None));
        // The server does not go on without a client that has stopped for a while.
        thread::sleep(pause);
        let (mut found, mut read) = (DefaultHasher::new(), 0);
        assert!(client.body(&head, |bytes| {
            found.write(bytes);
            read += bytes.len();
        }));
        assert_eq!((read, found.finish()), (length, expected.finish()));
    }
    assert_growth(before, 16 * MIB);
}
