//! Little memory changes nothing but the time it takes.

use crate::dataset::{Case, read};
use crate::writers;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use std::collections::BTreeMap;

pub(crate) const HEADER: [&str; 8] =
    ["account", "opportunityId", "type", "date", "eventId", "total", "campaign", "zip"];

/// Rows of a dozen accounts, some of whose ids meet across customers.
pub(crate) fn rows(count: usize, seed: u64) -> Vec<Vec<String>> {
    const STAGES: [&str; 6] = ["lead-originated", "booked", "estimated", "sold", "closed", "canceled"];
    let mut state = seed;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    (0..count)
        .map(|_| {
            // Accounts of very different sizes.
            let account = next(4) * next(4);
            vec![
                format!("account-{account:02}"),
                format!("customer-{}", next(200)),
                STAGES[usize::try_from(next(6)).unwrap()].to_owned(),
                format!("2025-{:02}-{:02}", next(12) + 1, next(28) + 1),
                if next(3) == 0 { String::new() } else { format!("event-{}", next(900)) },
                if next(2) == 0 { String::new() } else { format!("{}.{:02}", next(9_000), next(100)) },
                if next(5) == 0 { String::new() } else { format!("campaign {}", next(20)) },
                format!("{:05}", next(40)),
            ]
        })
        .collect()
}

#[test]
fn the_files_are_the_same_to_the_byte() {
    let (first, second) = (rows(2_000, 1), rows(1_500, 2));
    let ingest = |memory: usize, threads: usize| {
        let case = Case::new();
        writers::csv((&HEADER, &first), &case.path("1.csv"));
        writers::parquet((&HEADER, &second), 100, &case.path("2.parquet"));
        // A column that only some of the rows have.
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
    check_layout(&whole, 100);
    for (memory, threads) in [(30_000, 2), (200_000, 1), (600_000, 2)] {
        let (spilled, one, two) = ingest(memory, threads);
        let (_, one_whole, two_whole) = ingest(1 << 30, 2);
        assert_eq!((one, two), (one_whole, two_whole));
        assert_eq!(spilled.stored_events(), whole.stored_events(), "{memory}");
        assert_eq!(spilled.manifest(), whole.manifest(), "{memory}");
    }
}

/// Customers lie whole in a row group, numbered in order.
fn check_layout(case: &Case, group_rows: usize) {
    let mut homes: BTreeMap<(String, String), (String, i32)> = BTreeMap::new();
    for file in case.manifest().events {
        let mut last = -1;
        for batch in read(&case.dataset().join(&file.path)) {
            let (accounts, customers) = (batch.column(1).as_string::<i32>(), batch.column(2).as_string::<i32>());
            for (row, number) in batch.column(0).as_primitive::<Int32Type>().values().iter().enumerate() {
                assert!(*number == last || *number == last + 1);
                last = *number;
                let customer = (accounts.value(row).to_owned(), customers.value(row).to_owned());
                let home = (file.path.clone(), *number);
                assert_eq!(homes.entry(customer).or_insert_with(|| home.clone()), &home);
            }
        }
        let open = std::fs::File::open(case.dataset().join(&file.path)).unwrap();
        let builder = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(open).unwrap();
        for group in builder.metadata().row_groups() {
            assert!(group.num_rows() <= i64::try_from(group_rows).unwrap());
        }
    }
}
