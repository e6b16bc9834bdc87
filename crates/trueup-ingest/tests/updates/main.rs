//! Random sequences of ingests. Whatever was added, restated, moved to another customer, forgotten or given another
//! time zone, the dataset answers as one that was built in one go from what is valid then, byte for byte.

#![expect(clippy::unwrap_used, reason = "tests")]

mod sequence;

use sequence::{Seen, Sequence};
use std::thread;
use trueup_testkit::exhaustive::is_exhaustive;

/// Runs the sequences of some seeds on several threads. Returns what they went through.
fn run(seeds: std::ops::Range<u64>) -> Seen {
    const THREADS: u64 = 4;
    let run_some = |thread: u64| {
        let mut seen = Seen::default();
        for seed in seeds.clone().filter(|seed| seed % THREADS == thread) {
            seen.add(&Sequence::new(seed).run());
        }
        seen
    };
    let run_some = &run_some;
    let mut seen = Seen::default();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || run_some(thread))).collect();
        threads.into_iter().for_each(|thread| seen.add(&thread.join().unwrap()));
    });
    seen
}

#[test]
fn any_sequence_answers_as_a_dataset_built_in_one_go() {
    let seen = run(0..if is_exhaustive() { 2_000 } else { 60 });
    println!("{seen:?}");
    let Seen {
        ingests,
        replaced,
        moved,
        shared,
        zones,
        with_vectors,
        rewritten,
        merged_vectors,
        spilled,
        forgotten,
        left_out,
        purged,
        ..
    } = seen;
    let Seen { spend_replaced, spend_in_files, spend_with_vectors, spend_rewritten, .. } = seen;
    for (what, count) in [
        ("ingests", ingests),
        ("replaced events", replaced),
        ("events that moved to another customer", moved),
        ("rows that share an event id", shared),
        ("time zones", zones),
        ("versions with deletion vectors", with_vectors),
        ("files that were written again", rewritten),
        ("files of vectors that became one", merged_vectors),
        ("ingests with little memory", spilled),
        ("forgotten customers", forgotten),
        ("events of forgotten customers that were left out", left_out),
        ("purged versions", purged),
        ("replaced spend", spend_replaced),
        ("versions with three files of spend", spend_in_files),
        ("versions with deletion vectors of two files of spend", spend_with_vectors),
        ("files of spend that were written again", spend_rewritten),
    ] {
        assert!(count > 0, "{what}: {count}");
    }
}
