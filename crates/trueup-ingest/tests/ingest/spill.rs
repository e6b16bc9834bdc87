//! An ingest with little memory makes the same files.

use crate::dataset::{Case, write_csv, write_parquet};
use crate::layout;
use trueup_core::dataset::manifest::Manifest;

pub(crate) const HEADER: [&str; 8] =
    ["account", "opportunityId", "type", "date", "eventId", "total", "campaign", "zip"];

/// Returns random rows of up to ten accounts. Some event ids recur, even across customers.
pub(crate) fn rows(count: usize, seed: u64) -> Vec<Vec<String>> {
    const STAGES: [&str; 6] = ["lead-originated", "booked", "estimated", "sold", "closed", "canceled"];
    let mut state = seed;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    (0..count)
        .map(|_| {
            // The accounts have very different sizes.
            let account = next(4) * next(4);
            // Most events of a customer are in one month, and some in other months.
            let customer = next(200);
            let month = if next(4) == 0 { next(12) } else { customer % 12 };
            vec![
                format!("account-{account:02}"),
                format!("customer-{customer}"),
                STAGES[usize::try_from(next(6)).unwrap()].to_owned(),
                format!("2025-{:02}-{:02}", month + 1, next(28) + 1),
                if next(3) == 0 { String::new() } else { format!("event-{}", next(900)) },
                if next(2) == 0 { String::new() } else { format!("{}.{:02}", next(9_000), next(100)) },
                if next(5) == 0 { String::new() } else { format!("campaign {}", next(20)) },
                format!("{:05}", next(40)),
            ]
        })
        .collect()
}

/// Removes the random ids from the names of event files.
fn without_ids(mut manifest: Manifest) -> Manifest {
    for file in &mut manifest.events {
        file.path.truncate("events/00000001-0000".len());
    }
    manifest
}

#[test]
fn events_that_are_spilled_make_the_same_files() {
    let (first, second) = (rows(2_000, 1), rows(1_500, 2));
    let ingest = |memory: usize, threads: usize| {
        let case = Case::new();
        write_csv((&HEADER, &first), &case.path("1.csv"));
        write_parquet((&HEADER, &second), 100, &case.path("2.parquet"));
        // Only this row has the column `agent`.
        let later = "{\"account\":\"account-01\",\"opportunityId\":\"customer-7\",\"type\":\"sold\",\"date\":\"2025-03-01\",\"agent\":\"x\"}\n";
        let later = case.file("3.ndjson", later);
        let sized = |ingest: trueup_ingest::Ingest| {
            ingest.memory(memory).threads(threads).batch_rows(64).row_group_rows(100).file_rows(700)
        };
        let one = sized(case.ingest().events(case.path("1.csv"))).run(&()).unwrap();
        let two = sized(case.ingest().events(case.path("2.parquet")).events(later)).run(&()).unwrap();
        (case, one.events, two.events)
    };
    let (whole, ..) = ingest(1 << 30, 1);
    assert!(whole.manifest().events.len() > 2);
    layout::check(&whole, 100);
    for (memory, threads) in [(1, 2), (30_000, 2), (200_000, 1), (600_000, 2)] {
        let (spilled, one, two) = ingest(memory, threads);
        let (_, one_whole, two_whole) = ingest(1 << 30, 2);
        assert_eq!((one, two), (one_whole, two_whole));
        assert_eq!(spilled.stored_events(), whole.stored_events(), "{memory}");
        assert_eq!(without_ids(spilled.manifest()), without_ids(whole.manifest()), "{memory}");
    }
}
