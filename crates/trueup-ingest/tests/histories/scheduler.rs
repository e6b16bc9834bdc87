//! A scheduler of actors, of which one runs at a time: each operation of an actor waits until the scheduler chooses it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};
use tokio::sync::oneshot::{Receiver, Sender, channel};
use trueup_testkit::random::Random;

/// What becomes of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It happens.
    Go,
    /// It happens, and its answer comes later.
    Slow,
    /// It fails, and has no effect.
    Fail,
    /// It happens, and a bit of its answer is another.
    Damage,
    /// It happens, and its answer is lost.
    LoseAnswer,
    /// It fails, and happens later.
    Delay,
    /// It happens, and happens again later.
    Repeat,
    /// The actor is killed before it.
    Killed,
}

/// What faults an operation can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A step of the test itself, which does not fail.
    Safe,
    /// A request that reads.
    Read,
    /// A request that changes something, and may also arrive later, or twice.
    Change,
}

/// An operation that waits.
struct Waiting {
    label: String,
    kind: Kind,
    verdict: Sender<Verdict>,
}

struct State {
    random: Random,
    /// The percentage of requests that have a fault.
    fault_rate: u64,
    /// The number of operations after which, on average, another actor is chosen.
    burst: u64,
    /// The actor that was chosen last.
    last: usize,
    waiting: BTreeMap<usize, Waiting>,
    running: BTreeSet<usize>,
    killed: BTreeSet<usize>,
    now: SystemTime,
    log: Vec<String>,
}

/// The scheduler.
pub(crate) struct Scheduler {
    seed: u64,
    state: Mutex<State>,
    changed: Condvar,
}

impl Scheduler {
    pub(crate) fn new(seed: u64, actors: usize, fault_rate: u64, now: SystemTime) -> Self {
        let mut random = Random::new(seed);
        // With a long burst, others do a lot while an actor is between two requests.
        let burst = [1, 4, 16, 64][random.index(4)];
        let state = State {
            random,
            fault_rate,
            burst,
            last: 0,
            waiting: BTreeMap::new(),
            running: (0..actors).collect(),
            killed: BTreeSet::new(),
            now,
            log: Vec::new(),
        };
        Self { seed, state: Mutex::new(state), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Returns the time by the clock of the store.
    pub(crate) fn now(&self) -> SystemTime {
        self.state().now
    }

    /// Lets time pass.
    pub(crate) fn advance(&self, time: Duration) {
        self.state().now += time;
    }

    /// Returns whether an actor was killed.
    pub(crate) fn is_killed(&self, actor: usize) -> bool {
        self.state().killed.contains(&actor)
    }

    /// Notes what has happened.
    pub(crate) fn note(&self, what: String) {
        self.state().log.push(what);
    }

    /// Returns what has happened, in order.
    pub(crate) fn log(&self) -> String {
        self.state().log.join("\n")
    }

    /// Returns the verdict over a request of an actor that sends several at the same time, each with a label of its
    /// own. It depends on the label alone, because nothing orders the requests.
    pub(crate) fn verdict_of(&self, actor: usize, label: &str) -> Verdict {
        let state = self.state();
        if state.killed.contains(&actor) {
            return Verdict::Killed;
        }
        let mixed = label.bytes().fold(self.seed, |mixed, byte| Random::new(mixed ^ u64::from(byte)).below(u64::MAX));
        match verdict(&mut Random::new(mixed), state.fault_rate, Kind::Change) {
            Verdict::Killed | Verdict::Slow => Verdict::Go,
            verdict => verdict,
        }
    }

    /// Lets an operation of an actor wait. Returns what receives the verdict.
    fn wait(&self, actor: usize, label: String, kind: Kind) -> Receiver<Verdict> {
        let (sender, receiver) = channel();
        let mut state = self.state();
        if state.killed.contains(&actor) {
            sender.send(Verdict::Killed).unwrap();
        } else {
            let before = state.waiting.insert(actor, Waiting { label, kind, verdict: sender });
            state.running.remove(&actor);
            self.changed.notify_all();
            drop(state);
            // On a busy machine, a request may be given up before it is chosen.
            let is_given_up = before.is_none_or(|before| before.verdict.is_closed());
            assert!(is_given_up, "an actor has two operations at the same time");
        }
        receiver
    }

    /// Waits until a step of an actor itself is chosen.
    pub(crate) fn step(&self, actor: usize, label: String) {
        self.wait(actor, label, Kind::Safe).blocking_recv().unwrap();
    }

    /// Waits until a request of an actor is chosen.
    pub(crate) async fn request(&self, actor: usize, label: String, kind: Kind) -> Verdict {
        self.wait(actor, label, kind).await.unwrap()
    }

    /// Says that an actor has done everything.
    pub(crate) fn end(&self, actor: usize) {
        let mut state = self.state();
        state.running.remove(&actor);
        // The last request, if it has been given up. Chosen later, it would count as running forever.
        state.waiting.remove(&actor);
        self.changed.notify_all();
    }

    /// Waits until no actor does anything. Returns whether an operation waits.
    pub(crate) fn settle(&self) -> bool {
        let state = self.changed.wait_while(self.state(), |state| !state.running.is_empty()).unwrap();
        !state.waiting.is_empty()
    }

    /// Chooses what happens next: one of the operations that wait, or one of `late` requests, whose index is returned.
    pub(crate) fn choose(&self, late: usize) -> Option<usize> {
        let mut state = self.state();
        state.advance_clock();
        let burst = state.burst;
        if state.random.below(burst) == 0 || !state.waiting.contains_key(&state.last) {
            let choices = state.waiting.len() + late;
            let choice = state.random.index(choices);
            if choice < late {
                return Some(choice);
            }
            state.last = *state.waiting.keys().nth(choice - late).unwrap();
        }
        let actor = state.last;
        let waiting = state.waiting.remove(&actor).unwrap();
        let fault_rate = state.fault_rate;
        let verdict = verdict(&mut state.random, fault_rate, waiting.kind);
        state.log.push(format!("{actor} {}: {verdict:?}", waiting.label));
        if verdict == Verdict::Killed {
            state.killed.insert(actor);
        }
        state.running.insert(actor);
        drop(state);
        // If the request has been given up, its actor goes on by itself.
        let _ = waiting.verdict.send(verdict);
        None
    }
}

impl State {
    /// Lets some time pass: mostly a moment, sometimes an hour or a day. Rarely the clock is set back.
    fn advance_clock(&mut self) {
        let minutes = match self.random.below(200) {
            0 => 26 * 60,
            1..4 => 61,
            4 => {
                self.log.push("the clock is set back".to_owned());
                self.now -= Duration::from_secs(90 * 60);
                0
            }
            _ => 0,
        };
        if minutes > 0 {
            self.log.push(format!("the clock jumps by {minutes} min"));
        }
        self.now += Duration::from_secs(minutes * 60) + Duration::from_millis(self.random.below(3_000) + 1);
    }
}

/// Decides what becomes of an operation.
fn verdict(random: &mut Random, fault_rate: u64, kind: Kind) -> Verdict {
    use Verdict::{Damage, Delay, Fail, Go, Killed, LoseAnswer, Repeat, Slow};

    let faults: &[Verdict] = match kind {
        Kind::Safe => return Go,
        Kind::Read => &[Fail, Damage, Killed],
        Kind::Change => &[Fail, LoseAnswer, Delay, Delay, Repeat, Killed],
    };
    if random.below(100) < fault_rate {
        faults[random.index(faults.len())]
    } else if random.below(8) == 0 {
        Slow
    } else {
        Go
    }
}

#[test]
fn a_request_that_was_given_up_does_not_outlive_its_actor() {
    let scheduler = Scheduler::new(0, 1, 0, SystemTime::UNIX_EPOCH);
    drop(scheduler.wait(0, "delete".to_owned(), Kind::Change));
    scheduler.end(0);
    assert!(!scheduler.settle());
}
