//! Random histories of a dataset in an object store: writers, readers, expiries, purges and compactions whose requests
//! happen in any order. Requests fail, answers are late or lost, requests arrive later or twice, actors are killed, and
//! the clock of the store jumps. What each version holds is compared with what its writers have learned.
//!
//! A seed decides over everything in a history, so that it can be repeated. `docs/reliability.md` has the invariants.
//!
//! | variable | |
//! |---|---|
//! | `TRUEUP_SEED=7` | repeats one history, and prints it |
//! | `TRUEUP_SEEDS=100000` | tries this number of histories; `50000..100000` is a part of them |

#![expect(clippy::unwrap_used, reason = "tests")]

mod actor;
mod check;
mod scheduler;
mod store;
mod watch;

use actor::{Action, Actor, Ledger};
use check::Check;
use scheduler::Scheduler;
use std::env;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime};
use store::Store;
use trueup_testkit::random::Random;

/// The histories that are tried unless a variable says otherwise.
const HISTORIES: u64 = 200;

/// Histories that have shown faults.
const FAULTY: [u64; 3] = [18_258, 36_196, 62_414];

/// The actors of a history, at most.
const ACTORS: usize = 4;

/// The histories that are tried at the same time. The threads of a history mostly wait for each other.
const THREADS: usize = 4;

/// The faults after which no further history is tried.
const FAULTS: usize = 3;

/// Runs a history. Returns what has happened in it, and what is wrong with that.
fn history(seed: u64) -> (String, Result<(), String>) {
    let mut random = Random::new(seed ^ 0x5eed);
    let inputs = tempfile::tempdir().unwrap();
    let scripts = Action::scripts(&mut random, ACTORS);
    // The clock of the machine is not that of the store.
    let days = Duration::from_secs(random.below(10) * 24 * 60 * 60);
    let now = SystemTime::now() + days - Duration::from_secs(5 * 24 * 60 * 60);
    let fault_rate = [0, 2, 5, 15][random.index(4)];
    let scheduler = Scheduler::new(seed, scripts.len(), fault_rate, now);
    let store = Store::new(Arc::new(scheduler));
    let ledger = Mutex::new(Ledger::default());
    thread::scope(|scope| {
        for (number, script) in scripts.into_iter().enumerate() {
            let actor = Actor::new(number, &store, inputs.path(), &ledger);
            scope.spawn(move || {
                // One thread, so that an actor has one operation at a time.
                let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
                pool.install(|| actor.act(&script));
            });
        }
        store.run();
    });
    let check = Check { ledger: &ledger.into_inner().unwrap(), store: &store, inputs: inputs.path() };
    let checked = check.all().map_err(|fault| format!("seed {seed}: {fault}"));
    (format!("{}\n{:#?}", store.log(), check.ledger), checked)
}

/// Returns the number in an environment variable.
fn number(variable: &str) -> Option<u64> {
    env::var(variable).ok().map(|value| value.parse().unwrap())
}

/// Returns the seeds that a variable says, or by default some, and the ones that have shown faults.
fn seeds() -> Vec<u64> {
    let Ok(said) = env::var("TRUEUP_SEEDS") else { return FAULTY.into_iter().chain(0..HISTORIES).collect() };
    let (first, end) = said.split_once("..").unwrap_or(("0", &said));
    (first.parse().unwrap()..end.parse().unwrap()).collect()
}

/// Runs the histories of some seeds.
fn run(seeds: &[u64]) {
    let begun = Instant::now();
    let (next, faults) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while faults.lock().unwrap().len() < FAULTS
                    && let Some(seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    if let (log, Err(fault)) = history(*seed) {
                        faults.lock().unwrap().push(format!("{fault}\n{log}"));
                    }
                }
            });
        }
    });
    println!("{} histories in {} s", next.into_inner().min(seeds.len()), begun.elapsed().as_secs());
    let faults = faults.into_inner().unwrap();
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

#[test]
fn every_history_keeps_the_invariants() {
    if let Some(seed) = number("TRUEUP_SEED") {
        let (log, checked) = history(seed);
        println!("{log}");
        checked.unwrap();
    } else {
        run(&seeds());
    }
}

#[test]
fn a_seed_repeats_its_history() {
    for seed in 0..8 {
        assert_eq!(history(seed), history(seed));
    }
}
