//! Keys that another process rotates while the threads of this one ask.

use super::processes::Second;
use super::{NOW, open};
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use trueup_access::{Keys as _, Requests as _, SecretKey, Users as _};

const ROUNDS: usize = 60;

/// Milliseconds that a round waits at most.
const LONGEST_WAIT: usize = 10_000;

#[test]
fn no_thread_accepts_a_key_that_another_process_has_rotated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("directory.sqlite");
    let directory = open(&path);
    directory.add_user("u").unwrap();
    let key = directory.create_key("u", NOW).unwrap();
    let mut second = Second::start(&path);
    let mut id = key.id.to_string();
    let keys = RwLock::new(vec![key.secret]);
    // Keys before this index had been rotated out when it was stored: the other process had said so.
    let dead = AtomicUsize::new(0);
    let (done, admitted, refused) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for number in 0..8 {
            let (keys, dead, done, admitted, refused) = (&keys, &dead, &done, &admitted, &refused);
            let directory = &directory;
            scope.spawn(move || {
                while !done.load(Ordering::SeqCst) {
                    let known_dead = dead.load(Ordering::SeqCst);
                    let index = known_dead.saturating_sub(number % 2);
                    let key = keys.read().unwrap()[index].clone();
                    if directory.authenticate(Some(&key)).unwrap().is_ok() {
                        assert!(index >= known_dead, "key {index} of {known_dead} dead ones");
                        admitted.fetch_add(1, Ordering::Relaxed);
                    } else if index < known_dead {
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
            dead.store(round, Ordering::SeqCst);
            // However the threads are scheduled, each round is seen by some that hold the new key and some that hold a
            // dead one. They do not wait for ever: a thread that has found a fault asks no more.
            for _ in 0..LONGEST_WAIT {
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
