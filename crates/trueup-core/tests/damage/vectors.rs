//! Deletion vectors: rows that they leave out are in no answer, and vectors that do not fit their files are refused.

use crate::test_dataset::{Row, TestDataset, row};
use std::fs;
use std::ops::Range;
use std::sync::Arc;
use trueup_core::dataset::manifest::{DataFile, Manifest, VECTORS_FOLDER};
use trueup_core::dataset::{Days, DeletionVector, Verification, encode_vectors, manifest_file};
use trueup_core::query::{DateRange, EventsQuery, Filter};
use trueup_core::{Dataset, Day, Error, Execution, ResultTable};
use trueup_testkit::exhaustive::{bits, step};

const FILE: &str = "events/events-0.parquet";
const SPEND: &str = "spend/spend.parquet";
const VECTORS: [&str; 2] = ["vectors/0.parquet", "vectors/1.parquet"];

const FIRST: [Row; 4] =
    [row(0, "a", "1", 20_000), row(1, "a", "2", 20_001), row(2, "b", "1", 20_000), row(2, "b", "1", 20_002)];
const SECOND: [Row; 2] = [row(3, "a", "3", 20_100), row(3, "a", "3", 20_101)];

/// Makes a dataset of two row groups of events, and spend of three days.
fn stored() -> TestDataset {
    let mut stored = TestDataset::with_events(&[&FIRST, &SECOND]);
    stored.spend(&[(Some("a"), 20_000), (Some("a"), 20_001), (Some("b"), 20_000)]);
    stored.publish();
    fs::create_dir(stored.path(VECTORS_FOLDER)).unwrap();
    stored
}

/// Rows of a row group that are superseded, maybe none, and the days of the others.
type Superseded = (usize, Range<u64>, Days);

fn vector(file: &DataFile, superseded: &[Superseded]) -> DeletionVector {
    let mut vector = DeletionVector::default();
    for (row_group, rows, days) in superseded {
        vector.supersede(file, *row_group, Some(rows.clone()).filter(|rows| !rows.is_empty()), *days);
    }
    vector
}

/// Publishes the next version, with files of deletion vectors that each have the vectors of some files.
fn supersede(stored: &TestDataset, files: &[&[(&str, &[Superseded])]]) -> Manifest {
    let latest = manifest_file::read_latest(&stored.folder()).unwrap().unwrap();
    let mut manifest = Manifest { version: latest.version + 1, deletion_vectors: Vec::new(), ..latest };
    for (name, vectors) in VECTORS.iter().zip(files) {
        let file = |path: &str| manifest.events.iter().chain(&manifest.spend).find(|file| file.path == path).unwrap();
        let vectors: Vec<_> = vectors.iter().map(|(path, rows)| (*path, vector(file(path), rows))).collect();
        let bytes = encode_vectors(vectors.iter().map(|(path, vector)| (*path, vector))).unwrap();
        fs::write(stored.path(name), bytes).unwrap();
        manifest.deletion_vectors.push(stored.described(name, vectors.len() as u64));
        for (path, vector) in vectors {
            let superseded = manifest.superseded.entry(path.to_owned()).or_default();
            Arc::make_mut(superseded).merge(&vector);
        }
    }
    stored.publish_manifest(&manifest);
    manifest
}

fn answer(dataset: &Dataset) -> ResultTable {
    try_answer(dataset).unwrap()
}

fn try_answer(dataset: &Dataset) -> Result<ResultTable, Error> {
    let fields = ["account", "opportunityId", "campaign", "date", "customers", "eventCount", "total", "spend"];
    let query = EventsQuery::new(fields, Day::from_number(19_000), Day::from_number(21_000)).allow_long_total();
    dataset.query(&query)
}

fn range(first: u16, last: u16) -> DateRange {
    DateRange { start: Day::from_number(first), end: Day::from_number(last) }
}

#[test]
fn superseded_rows_are_in_no_answer() {
    let stored = stored();
    let written = supersede(
        &stored,
        &[
            &[(FILE, &[(0, 1..2, Some((20_000, 20_002)))])],
            &[(FILE, &[(0, 2..4, Some((20_000, 20_000)))]), (SPEND, &[(0, 1..2, Some((20_000, 20_000)))])],
        ],
    );
    assert_eq!(manifest_file::read(&stored.folder(), 2).unwrap(), written);
    let dataset = Dataset::open(stored.folder()).unwrap();
    let mut left = TestDataset::with_events(&[&FIRST[..1], &SECOND.map(|row| Row { number: Some(1), ..row })]);
    left.spend(&[(Some("a"), 20_000), (Some("b"), 20_000)]);
    left.publish();
    let expected = Dataset::open(left.folder()).unwrap();
    assert_eq!(answer(&dataset), answer(&expected));
    assert_eq!((dataset.event_rows(), dataset.spend_rows()), (3, 2));
    assert_eq!(dataset.date_range(), Some(range(20_000, 20_101)));
    assert_eq!(dataset.account_keys().unwrap(), expected.account_keys().unwrap());
    let of_a = EventsQuery::new(["customers"], Day::from_number(19_000), Day::from_number(21_000)).allow_long_total();
    let unseen = |dataset: &Dataset| {
        let unseen = |campaign| {
            let query = of_a.clone().filter(Filter::equals("campaign", campaign));
            dataset.unseen_values(&query, &Execution::default()).unwrap().len()
        };
        ["1", "2", "3"].map(unseen)
    };
    assert_eq!((unseen(&dataset), unseen(&expected)), ([0, 1, 0], [0, 1, 0]));
    assert_eq!(stored.faults(), Vec::<String>::new());
    assert_eq!(Dataset::open_as_of(stored.folder(), 1).unwrap().event_rows(), 6);
}

#[test]
fn a_row_group_may_have_no_row_left() {
    let stored = stored();
    supersede(&stored, &[&[(FILE, &[(1, 0..2, None)]), (SPEND, &[(0, 0..3, None)])]]);
    let dataset = Dataset::open(stored.folder()).unwrap();
    let mut left = TestDataset::with_events(&[&FIRST]);
    left.spend(&[]);
    left.publish();
    assert_eq!(answer(&dataset), answer(&Dataset::open(left.folder()).unwrap()));
    assert_eq!((dataset.event_rows(), dataset.spend_rows(), dataset.event_row_groups()), (4, 0, 2));
    assert_eq!(dataset.date_range(), Some(range(20_000, 20_002)));
    let unpruned = Execution { pruning: false, ..Execution::default() };
    let query = EventsQuery::new(["customers"], Day::from_number(19_000), Day::from_number(21_000)).allow_long_total();
    assert_eq!(dataset.run(&query, unpruned).unwrap(), dataset.query(&query).unwrap());
    assert_eq!(stored.faults(), Vec::<String>::new());
}

#[test]
fn vectors_of_files_that_a_version_does_not_have_do_not_count() {
    let stored = stored();
    let mut manifest = supersede(&stored, &[&[(SPEND, &[(0, 0..3, None)])]]);
    manifest.version = 3;
    manifest.spend.clear();
    manifest.lists.spend.clear();
    manifest.superseded.clear();
    stored.publish_manifest(&manifest);
    assert_eq!(manifest_file::read(&stored.folder(), 3).unwrap(), manifest);
    assert_eq!(Dataset::open(stored.folder()).unwrap().spend_rows(), 0);
}

#[test]
fn a_vector_that_does_not_fit_is_refused() {
    for superseded in [(0, 3..5, Some((20_000, 20_002))), (1, 0..1, None), (0, 0..0, Some((20_000, 20_002)))] {
        let stored = stored();
        let manifest = manifest_file::read(&stored.folder(), 1).unwrap();
        let vector = vector(&manifest.events[0], &[superseded]);
        fs::write(stored.path(VECTORS[0]), encode_vectors([(FILE, &vector)]).unwrap()).unwrap();
        let deletion_vectors = vec![stored.described(VECTORS[0], 1)];
        // What is published is not read again, so that the fault is found when the dataset is opened.
        stored.publish_manifest(&Manifest { version: 2, deletion_vectors, ..manifest });
        let refused = stored.refused();
        assert!(
            refused.ends_with("the deletion vector of the file `events/events-0.parquet` does not fit the file"),
            "{refused}"
        );
    }
}

#[test]
fn a_vector_that_says_something_other_than_the_rows_is_refused() {
    let path = |stored: &TestDataset| stored.path(FILE).display().to_string();
    let of_a_part = stored();
    supersede(&of_a_part, &[&[(FILE, &[(0, 2..3, Some((20_000, 20_002)))])]]);
    let expected =
        format!("`{}`, row group 0, column `trueup.customer`: a part of a customer is superseded", path(&of_a_part));
    assert_eq!((of_a_part.refused(), of_a_part.fault()), (expected.clone(), expected));
    for days in [(20_000, 20_001), (20_001, 20_002), (20_000, 20_000)] {
        let of_other_days = stored();
        supersede(&of_other_days, &[&[(FILE, &[(0, 1..2, Some(days))])]]);
        let expected = format!(
            "`{}`, row group 0: the days that are left in the manifest are not those of the file",
            path(&of_other_days)
        );
        assert_eq!(of_other_days.refused(), expected);
        assert_eq!(of_other_days.faults().len(), 1);
    }
}

#[test]
fn a_vector_that_says_something_other_than_decoded_rows_is_refused() {
    for (superseded, fault) in [
        ((0, 2..3, Some((20_000, 20_008))), "column `trueup.customer`: a part of a customer is superseded"),
        ((0, 0..1, Some((20_000, 20_008))), "the days that are left in the manifest are not those of the file"),
        ((0, 0..1, Some((20_001, 20_008))), ""),
    ] {
        // One row of nine is superseded, so that the decoded columns are used. Customer 2 has two rows.
        let rows: Vec<Row> =
            [0, 1, 2, 2, 3, 4, 5, 6, 7].into_iter().zip(20_000..).map(|(n, day)| row(n, "a", "1", day)).collect();
        let stored = TestDataset::with_events(&[&rows]);
        stored.publish();
        fs::create_dir(stored.path(VECTORS_FOLDER)).unwrap();
        let opened = Dataset::open(stored.folder()).unwrap();
        let before = answer(&opened);
        supersede(&stored, &[&[(FILE, &[superseded])]]);
        let reopened = opened.reopen().unwrap().unwrap();
        let misses = opened.column_cache_counts().misses;
        match try_answer(&reopened) {
            Err(error) => assert!(!fault.is_empty() && error.to_string().ends_with(fault), "{error}"),
            Ok(found) => assert_eq!((found, fault), (answer(&Dataset::open(stored.folder()).unwrap()), "")),
        }
        assert_eq!((answer(&opened), opened.column_cache_counts().misses), (before, misses));
    }
}

#[test]
fn a_file_of_vectors_that_is_missing_changed_or_another_is_refused() {
    let stored = stored();
    supersede(&stored, &[&[(FILE, &[(0, 1..2, Some((20_000, 20_002)))])]]);
    let path = stored.path(VECTORS[0]);
    let bytes = fs::read(&path).unwrap();
    for (case, (at, bit)) in bits(bytes.len(), 5).into_iter().enumerate() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << bit;
        fs::write(&path, changed).unwrap();
        let expected = format!("`{}`: the bytes from 0 on differ from what was written", path.display());
        assert!(stored.refused().starts_with(&expected));
        if case % step(61) == 0 {
            assert!(Verification::of(stored.folder(), None).unwrap_err().to_string().starts_with(&expected));
        }
    }
    fs::write(&path, &bytes[1..]).unwrap();
    assert!(stored.refused().ends_with(&format!("but the manifest says {}", bytes.len())));
    fs::remove_file(&path).unwrap();
    assert_eq!(stored.refused(), format!("`{}` is missing, but the manifest names it", path.display()));
    for (other, fault) in [
        (fs::read(stored.path(FILE)).unwrap(), "column `path`: the column is missing"),
        (b"path,rows\n".to_vec(), "Invalid Parquet file"),
        (encode_vectors([]).unwrap(), "has 0 rows, but the manifest says 1"),
    ] {
        let latest = manifest_file::read(&stored.folder(), 1).unwrap();
        fs::write(&path, other).unwrap();
        let deletion_vectors = vec![stored.described(VECTORS[0], 1)];
        fs::remove_file(stored.path(&manifest_file::file_name(2))).unwrap();
        stored.publish_manifest(&Manifest { version: 2, deletion_vectors, ..latest });
        let refused = stored.refused();
        assert!(refused.contains(VECTORS[0]) && refused.contains(fault), "{refused}");
    }
}
