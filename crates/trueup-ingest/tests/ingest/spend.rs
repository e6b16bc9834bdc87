//! What an ingest of spend writes, and what it leaves where it is.

use crate::dataset::Case;
use std::fmt::Write as _;
use trueup_core::dataset::Verification;
use trueup_core::dataset::manifest::{DataFile, Manifest};
use trueup_ingest::IngestSummary;

const HEADER: &str = "account,date,campaign,adSpend\n";

/// The rows of a row group.
const GROUP_ROWS: usize = 16;

/// Returns the spend of three accounts in 84 days, two rows for each account and day.
fn three_accounts() -> String {
    let mut text = String::new();
    for account in ["a", "b", "c"] {
        for day in 0..84 {
            let date = format!("2025-0{}-{:02}", day / 28 + 1, day % 28 + 1);
            for campaign in ["x", "y"] {
                writeln!(text, "{account},{date},{campaign},{day}").unwrap();
            }
        }
    }
    text
}

fn ingest(case: &Case, name: &str, rows: &str) -> IngestSummary {
    let summary =
        case.ingest().spend(case.file(name, HEADER.to_owned() + rows)).row_group_rows(GROUP_ROWS).run().unwrap();
    assert_eq!(summary.compacted, None);
    assert_eq!(Verification::of(case.dataset(), None).unwrap().faults, Vec::<String>::new());
    summary
}

/// Returns the numbers of the rows of a file that a version leaves out.
fn left_out(manifest: &Manifest, file: &DataFile) -> Vec<usize> {
    let Some(vector) = manifest.superseded.get(&file.path) else { return Vec::new() };
    let (mut found, mut start) = (Vec::new(), 0);
    for (number, entry) in file.row_groups.iter().enumerate() {
        let rows = usize::try_from(entry.rows).unwrap();
        let left = vector.left_ranges(&file.row_groups, number);
        let is_left = |row: &usize| left.as_ref().is_none_or(|left| left.iter().any(|range| range.contains(row)));
        found.extend((0..rows).filter(|row| !is_left(row)).map(|row| start + row));
        start += rows;
    }
    found
}

/// Checks that a case stores the same rows as a dataset that is ingested in one go.
fn assert_stores(case: &Case, rows: &str) {
    let whole = Case::new();
    ingest(&whole, "whole.csv", rows);
    assert_eq!(case.stored_spend(), whole.stored_spend());
}

#[test]
fn a_day_is_restated_in_a_small_file() {
    let (case, first) = (Case::new(), three_accounts());
    ingest(&case, "1.csv", &first);
    let [old] = case.manifest().spend.try_into().unwrap();
    assert!(old.rows == 504 && old.row_groups.len() > 30);
    let bytes = std::fs::read(case.dataset().join(&old.path)).unwrap();
    let is_of = |day: &'static str| move |row: &&str| !row.starts_with(&format!("b,{day},"));
    let without = |day| first.split_inclusive('\n').filter(is_of(day)).collect::<String>();

    // The rows of one account and day, and of a day that is new.
    let restated = "b,2025-02-03,x,1\nb,2025-02-03,z,2\nb,2025-02-03,,3\nb,2025-06-01,,4\n";
    let summary = ingest(&case, "2.csv", restated);
    assert_eq!((summary.spend.taken, summary.spend.replaced), (4, 2));
    let manifest = case.manifest();
    let [kept, new] = manifest.spend.clone().try_into().unwrap();
    assert_eq!((&kept, new.rows), (&old, 4));
    assert_eq!(std::fs::read(case.dataset().join(&old.path)).unwrap(), bytes);
    let rows = case.rows_of(&old);
    let of_day: Vec<usize> = (0..rows.len()).filter(|row| rows[*row].starts_with("b|2025-02-03|")).collect();
    assert_eq!((of_day.len(), left_out(&manifest, &old)), (2, of_day.clone()));
    assert!(left_out(&manifest, &new).is_empty() && manifest.deletion_vectors.len() == 1);
    assert_stores(&case, &(without("2025-02-03") + restated));

    // The same day again: its rows are in the second file now, and one row there is of another day.
    let again = "b,2025-02-03,x,9\n";
    let summary = ingest(&case, "3.csv", again);
    assert_eq!((summary.spend.taken, summary.spend.replaced), (1, 3));
    let manifest = case.manifest();
    let [kept, new] = manifest.spend.clone().try_into().unwrap();
    assert_eq!((&kept, new.rows), (&old, 2), "more than half of the second file is superseded");
    assert_eq!((left_out(&manifest, &old), manifest.deletion_vectors.len()), (of_day, 1));
    assert_stores(&case, &(without("2025-02-03") + again + "b,2025-06-01,,4\n"));

    // A day of which nothing is stored replaces nothing.
    let summary = ingest(&case, "4.csv", "b,2025-04-01,x,9\nd,2025-01-01,x,9\n");
    assert_eq!((summary.spend.taken, summary.spend.replaced), (2, 0));
    assert_eq!((case.manifest().spend.len(), case.manifest().deletion_vectors), (3, manifest.deletion_vectors));
}

#[test]
fn a_day_that_is_restated_again_is_replaced_in_every_file() {
    let case = Case::new();
    ingest(&case, "1.csv", &three_accounts());
    let paths = |case: &Case| case.manifest().spend.into_iter().map(|file| file.path).collect::<Vec<_>>();
    // First the rows of three days of each account are restated, then only the rows of the second of these days.
    let of_days = |days: std::ops::Range<u32>, amount: u32| {
        let rows = days.flat_map(|day| ["a", "b", "c"].map(|account| (account, day)));
        rows.map(|(account, day)| format!("{account},2025-01-0{day},x,{amount}\n")).collect::<String>()
    };
    assert_eq!(ingest(&case, "2.csv", &of_days(1..4, 7)).spend.replaced, 18);
    let before = paths(&case);
    // Of the first file, these rows have been superseded already.
    assert_eq!(ingest(&case, "3.csv", &of_days(2..3, 8)).spend.replaced, 3);
    let manifest = case.manifest();
    assert_eq!((paths(&case)[..2].to_vec(), manifest.spend.len()), (before, 3));
    let left_out: Vec<usize> = manifest.spend.iter().map(|file| left_out(&manifest, file).len()).collect();
    assert_eq!(left_out, [18, 3, 0]);
    let is_old = |row: &&str| ["01", "02", "03"].iter().all(|day| !row.contains(&format!(",2025-01-{day},")));
    let first: String = three_accounts().split_inclusive('\n').filter(is_old).collect();
    assert_stores(&case, &(first + &of_days(1..2, 7) + &of_days(3..4, 7) + &of_days(2..3, 8)));
}

#[test]
fn what_is_restated_as_a_whole_leaves_no_file() {
    let case = Case::new();
    ingest(&case, "1.csv", &three_accounts());
    ingest(&case, "2.csv", "b,2025-02-03,x,1\n");
    let summary = ingest(&case, "3.csv", &three_accounts().replace(",x,", ",z,"));
    assert_eq!((summary.spend.taken, summary.spend.replaced), (504, 503));
    let manifest = case.manifest();
    assert_eq!((manifest.spend.len(), manifest.superseded.len(), manifest.deletion_vectors.len()), (1, 0, 0));
    assert_stores(&case, &three_accounts().replace(",x,", ",z,"));
}

#[test]
fn a_file_of_which_little_is_left_is_written_again() {
    let case = Case::new();
    ingest(&case, "1.csv", &three_accounts());
    let of = |accounts: &[&str]| -> String {
        let rows = three_accounts();
        rows.split_inclusive('\n')
            .filter(|row| accounts.contains(&&row[..1]))
            .map(|row| row.replace('x', "z"))
            .collect()
    };
    assert_eq!(ingest(&case, "2.csv", &of(&["a"])).spend.replaced, 168);
    assert_eq!(case.manifest().spend.len(), 2);
    assert_eq!(ingest(&case, "3.csv", &of(&["b"])).spend.replaced, 168);
    // The rows of the account `c` are in the new file.
    let rows: Vec<u64> = case.manifest().spend.iter().map(|file| file.rows).collect();
    assert_eq!((rows, case.manifest().superseded.len()), (vec![168, 336], 0));
    let is_third = |row: &&str| row.starts_with('c');
    let third: String = three_accounts().split_inclusive('\n').filter(is_third).collect();
    assert_stores(&case, &(of(&["a", "b"]) + &third));
}
