//! Many connections at the same time.

use crate::client::Client;
use crate::running::RunningServer;
use crate::town::Town;
use crate::{MIB, alone, growth};
use std::thread;
use trueup_server::Settings;

const CONNECTIONS: usize = 64;
const REQUESTS: usize = 50;

#[test]
fn many_connections_get_the_same_answers_as_one() {
    let _alone = alone();
    let town = Town::new();
    let range = "start=2025-01-01&end=2025-01-31";
    let events = format!("/api/waterworks/events?{range}");
    let paths: Vec<String> = vec![
        "/health".to_owned(),
        "/api".to_owned(),
        format!("{events}&fields=leads,customers"),
        format!("{events}&fields=campaign,leads&interval=week"),
        format!("{events}&fields=opportunityId,date,leads"),
        format!("{events}&fields=account,leads&campaign=%5B%22regex%22%2C%22drain%22%2C%22i%22%5D"),
        format!("/api/east/insights?{range}"),
        format!("/api/nobody/events?fields=leads&{range}"),
        format!("{events}&fields=campaign"),
        "/nowhere".to_owned(),
    ];
    let server = RunningServer::new(&town.service, Settings::default());
    let expected: Vec<_> = paths
        .iter()
        .map(|path| {
            let answer = Client::connect(server.address).get(path, &town.headers());
            if path != "/health" {
                let facade = town.handle(path);
                assert_eq!(answer.status, facade.status, "{path}");
                assert!(answer.body == facade.body.into_bytes().unwrap(), "{path}");
            }
            (answer.status, answer.body)
        })
        .collect();
    let statuses: Vec<u16> = expected.iter().map(|(status, _)| *status).collect();
    assert_eq!(statuses, [200, 200, 200, 200, 200, 200, 200, 404, 400, 404]);
    let ((), growth) = growth(|| {
        thread::scope(|scope| {
            for connection in 0..CONNECTIONS {
                let (paths, expected, town, address) = (&paths, &expected, &town, server.address);
                scope.spawn(move || {
                    let mut client = Client::connect(address);
                    for request in 0..REQUESTS {
                        // Each connection sends the requests in another order.
                        let path = (connection + request * 7) % paths.len();
                        let answer = client.get(&paths[path], &town.headers());
                        assert!((answer.status, answer.body) == expected[path], "{}", paths[path]);
                    }
                });
            }
        })
    });
    assert!(growth <= 96 * MIB, "{growth}");
}
