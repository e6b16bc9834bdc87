//! Many threads ask one service.

use crate::platform::{Platform, Rival};
use std::thread;
use trueup::access::DirectorySettings;

#[test]
fn eight_threads_get_equal_answers_up_to_the_limit() {
    let settings = DirectorySettings::default().hourly_limit(1_100);
    let platform = Platform::with(&Rival::default(), settings, |builder| builder);
    let statuses = thread::scope(|scope| {
        let ask = |_| {
            scope.spawn(|| {
                let path = "/api/acme/events?fields=leads&start=2025-01-01&end=2025-03-31";
                let answers = (0..20).map(|_| platform.get("busy", path));
                answers.map(|answer| (answer.status, answer.body)).collect::<Vec<_>>()
            })
        };
        let threads: Vec<_> = (0..8).map(ask).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    // 1,000 of the 1,100 requests were sent before.
    assert_eq!(statuses.iter().filter(|(status, _)| *status == 200).count(), 100);
    assert_eq!(statuses.iter().filter(|(status, _)| *status == 429).count(), 60);
    assert!(statuses.iter().filter(|(status, _)| *status == 200).all(|(_, body)| body == br#"[{"leads":11}]"#));
}
