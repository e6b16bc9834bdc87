//! Another process rotates keys while threads of this process authenticate with them.

use super::processes::SecondProcess;
use super::{NOW, open};
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use trueup_access::{Keys as _, Requests as _, SecretKey, Users as _};

const ROUNDS: usize = 60;

/// Longest time that a round waits, in milliseconds.
const MAX_WAIT: usize = 10_000;

#[test]
fn no_thread_accepts_a_key_that_another_process_has_rotated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("directory.sqlite");
    let directory = open(&path);
    directory.add_user("u").unwrap();
    let key = directory.create_key("u", NOW).unwrap();
    let mut second = SecondProcess::start(&path);
    let mut id = key.id.to_string();
    let keys = RwLock::new(vec![key.secret]);
    // Keys before this index were replaced before the index was stored, because the other process had answered.
    let revoked = AtomicUsize::new(0);
    let (done, admitted, refused) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for number in 0..8 {
            let (keys, revoked, done, admitted, refused) = (&keys, &revoked, &done, &admitted, &refused);
            let directory = &directory;
            scope.spawn(move || {
                while !done.load(Ordering::SeqCst) {
                    let known_revoked = revoked.load(Ordering::SeqCst);
                    let index = known_revoked.saturating_sub(number % 2);
                    let key = keys.read().unwrap()[index].clone();
                    if directory.authenticate(Some(&key)).unwrap().is_ok() {
                        assert!(
                            index >= known_revoked,
                            "key {index} was accepted, and the first {known_revoked} are revoked"
                        );
                        admitted.fetch_add(1, Ordering::Relaxed);
                    } else if index < known_revoked {
                        refused.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        for round in 1..=ROUNDS {
            let answer = second.ask(&format!("rotate u {id}"));
            let (new, secret) = answer.split_once(' ').unwrap();
            new.clone_into(&mut id);
            keys.write().unwrap().push(SecretKey::new(secret));
            revoked.store(round, Ordering::SeqCst);
            // Waits until threads have used both the new key and a revoked one, so that each round tests something. The
            // wait is limited, because a thread whose assertion failed sends no more requests.
            for _ in 0..MAX_WAIT {
                if admitted.load(Ordering::Relaxed) > round && refused.load(Ordering::Relaxed) > round {
                    break;
                }
                thread::sleep(Duration::from_millis(1));
            }
        }
        done.store(true, Ordering::SeqCst);
    });
    second.end();
    let [admitted, refused] = [admitted, refused].map(AtomicUsize::into_inner);
    assert!(admitted > ROUNDS && refused > ROUNDS, "{admitted} admitted, {refused} refused");
    for (index, key) in keys.into_inner().unwrap().iter().enumerate() {
        assert_eq!(directory.authenticate(Some(key)).unwrap().is_ok(), index == ROUNDS);
    }
}
