//! A dataset that was ingested in parts answers as one that was ingested at once.

use crate::case::{
    ACCOUNTS, Case, Row, SPEND, answers, ingest_in_parts, into, leftovers, random_rows, rows_of, source, stage,
};
use trueup_core::Dataset;
use trueup_core::dataset::Verification;
use trueup_ingest::{FileFormat, Source};

fn csv(text: &'static str) -> Source {
    Source::reader(FileFormat::CSV, text.as_bytes())
}

#[test]
fn random_rows_in_any_number_of_parts_answer_as_one_ingest() {
    for seed in 0..6 {
        let case = Case::new();
        let (local, staged) = (case.path("local"), case.path("staged"));
        let parts = [1, 2, 3, 8, 20, 5][usize::try_from(seed).unwrap()];
        let mut warned = 0;
        // Each ingest replaces events of the ones before. The second changes time zones, too.
        for (number, count) in [300, 150, 40, 0].into_iter().enumerate() {
            let rows = random_rows(count, seed * 10 + u64::try_from(number).unwrap());
            let with_tables = |ingest: trueup_ingest::Ingest| match number {
                0 => ingest.spend(csv(SPEND)),
                1 => ingest.accounts(csv(ACCOUNTS)),
                _ => ingest,
            };
            let expected = with_tables(into(&local)).events(source(&rows)).run().unwrap();
            let found = ingest_in_parts(with_tables(into(&staged)), &staged, &rows, parts, seed % 2 == 0);
            assert_eq!((expected.events, expected.spend), (found.events, found.spend), "seed {seed}");
            assert_eq!((expected.accounts, expected.version), (found.accounts, found.version), "seed {seed}");
            assert_eq!(expected.warnings, found.warnings, "seed {seed}");
            assert_eq!(answers(&local), answers(&staged), "seed {seed}, ingest {number}");
            assert_eq!(Verification::of(&staged, None).unwrap().faults, Vec::<String>::new());
            assert_eq!(leftovers(&staged), Vec::<String>::new());
            warned += found.warnings.len();
        }
        assert!(warned > 0, "seed {seed}: no ingest repeated an event or changed a time zone");
        // An ingest of one process continues where the parts have ended, and the reverse.
        let rows = random_rows(100, seed + 1_000);
        into(&staged).events(source(&rows)).run().unwrap();
        ingest_in_parts(into(&local), &local, &rows, 3, true);
        assert_eq!(answers(&local), answers(&staged), "seed {seed}");
    }
}

#[test]
fn spend_that_was_ingested_before_is_applied_again() {
    let case = Case::new();
    let dataset = case.path("dataset");
    let rows = random_rows(50, 1);
    let with_spend = || into(&dataset).spend(csv(SPEND));
    with_spend().events(source(&rows)).run().unwrap();
    let found = ingest_in_parts(with_spend(), &dataset, &rows[..0], 2, false);
    assert_eq!((found.version, found.spend.replaced), (2, found.spend.taken));
    assert_eq!(found.warnings, Vec::<String>::new());
}

#[test]
fn little_memory_changes_nothing() {
    let case = Case::new();
    let rows = random_rows(4_000, 5);
    let (local, staged) = (case.path("local"), case.path("staged"));
    into(&local).events(source(&rows)).run().unwrap();
    let begun = into(&staged).begin_staged(2, None).unwrap();
    let stage = |part| {
        let ingest = trueup_ingest::Ingest::into(&staged).memory(1).events(source(&rows_of(&rows, part, 2)));
        ingest.stage(begun.plan(), part).unwrap()
    };
    let parts = [stage(0), stage(1)];
    begun.commit(parts).unwrap();
    assert_eq!(answers(&local), answers(&staged));
}

#[test]
fn files_without_an_account_of_the_rows_stay() {
    let case = Case::new();
    let dataset = case.path("dataset");
    let of =
        |account: &str, id: &str| -> Row { [account, "1", "booked", "2025-01-05", "", id, "", "c"].map(str::to_owned) };
    let first = [of("a", "1"), of("b", "1"), of("c", "1")];
    into(&dataset).file_rows(1).events(source(&first)).run().unwrap();
    let before = Dataset::open(&dataset).unwrap().manifest().unwrap().events.clone();
    assert_eq!(before.len(), 3);
    let rows = [of("b", "2")];
    ingest_in_parts(into(&dataset), &dataset, &rows, 4, true);
    let after = Dataset::open(&dataset).unwrap().manifest().unwrap().events.clone();
    assert_eq!((&after[0], &after[1], after.len()), (&before[0], &before[2], 3));
    assert_eq!(after[2].rows, 2);
    // If the accounts of the rows are not known, all files are written again, each account by its part.
    ingest_in_parts(into(&dataset), &dataset, &rows, 4, false);
    let last = Dataset::open(&dataset).unwrap().manifest().unwrap().events.clone();
    assert!(last.iter().all(|file| !after.contains(file)), "{last:?}");
    assert_eq!(answers(&dataset).1, 4);
}

#[test]
fn a_part_without_rows_takes_over_what_is_stored() {
    let case = Case::new();
    let dataset = case.path("dataset");
    let rows = random_rows(200, 3);
    into(&dataset).events(source(&rows)).run().unwrap();
    let before = answers(&dataset);
    let begun = into(&dataset).begin_staged(3, None).unwrap();
    let staged = (0..3).map(|part| stage(&dataset, begun.plan(), part, &[]).unwrap()).collect::<Vec<_>>();
    assert_eq!(staged.iter().map(trueup_ingest::Staged::rows).sum::<u64>(), 0);
    assert_eq!(begun.commit(staged).unwrap().version, 2);
    assert_eq!(answers(&dataset), before);
}
