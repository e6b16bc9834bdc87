//! Compaction: it changes no answer, and leaves fewer files and no superseded rows where it has merged.

#![expect(clippy::unwrap_used, reason = "tests")]

mod dataset;

use dataset::{Case, answers, answers_of, checksums, faults};
use std::fs;
use std::time::Duration;
use trueup_core::Dataset;
use trueup_core::dataset::{CommitOperation, VersionSummary, manifest_file};
use trueup_ingest::{Compact, ErrorKind, Expire, Ingest};
use trueup_testkit::exhaustive::is_exhaustive;

#[test]
fn a_compaction_changes_no_answer() {
    let (mut merged, mut steps, mut kept) = (0, 0, 0);
    for seed in 0..if is_exhaustive() { 2_000 } else { 27 } {
        let case = Case::new(seed, seed % 9 + 1);
        let (dataset, expected) = (case.dataset(), answers_of(&case.once()));
        assert_eq!((answers_of(&dataset), faults(&dataset)), (expected.clone(), vec![]), "{seed}");
        let before = manifest_file::read_latest(&dataset).unwrap().unwrap();
        let opened = Dataset::open(&dataset).unwrap();
        let summary = case.compact().run().unwrap();
        assert_eq!((answers_of(&dataset), faults(&dataset)), (expected.clone(), vec![]), "{seed}");
        // Readers of the version before go on.
        assert_eq!(answers(&opened), expected, "{seed}");
        assert_eq!(answers(&Dataset::open_as_of(&dataset, 1).unwrap()), expected, "{seed}");
        let after = manifest_file::read_latest(&dataset).unwrap().unwrap();
        assert_eq!(after.version, summary.version, "{seed}");
        steps += summary.version - 1;
        merged += summary.merged.files;
        let files =
            |manifest: &trueup_core::dataset::manifest::Manifest| (manifest.events.len() + manifest.spend.len()) as u64;
        assert_eq!(files(&after), files(&before) + summary.written.files - summary.merged.files, "{seed}");
        let gone = |manifest: &trueup_core::dataset::manifest::Manifest| {
            manifest.superseded.values().map(|vector| vector.rows()).sum::<u64>()
        };
        assert_eq!(gone(&after), gone(&before) - summary.superseded, "{seed}");
        assert_eq!(after.deletion_vectors.is_empty(), after.superseded.is_empty(), "{seed}");
        kept += gone(&after);
        // What is compact stays as it is.
        let again = case.compact().run().unwrap();
        assert_eq!((again.version, again.merged.files, again.written.files), (summary.version, 0, 0), "{seed}");
        // Files that no version needs go, and nothing else.
        Expire::new(&dataset).grace(Duration::ZERO).run().unwrap();
        assert_eq!((answers_of(&dataset), faults(&dataset)), (expected, vec![]), "{seed}");
    }
    assert!(merged > 50 && steps > 10 && kept > 0, "{merged} files in {steps} merges, {kept} superseded rows");
}

#[test]
fn a_whole_compaction_makes_the_files_of_an_ingest_of_everything() {
    for seed in 100..110 {
        let case = Case::new(seed, seed % 7 + 1);
        let summary = case.compact().all().run().unwrap();
        assert_eq!(checksums(&case.dataset()), checksums(&case.once()), "{seed}");
        assert_eq!(answers_of(&case.dataset()), answers_of(&case.once()), "{seed}");
        let manifest = manifest_file::read_latest(&case.dataset()).unwrap().unwrap();
        assert!(manifest.superseded.is_empty() && manifest.deletion_vectors.is_empty(), "{seed}");
        assert_eq!(case.compact().all().run().unwrap().version, summary.version, "{seed}");
    }
    // Little memory changes nothing.
    let case = Case::new(104, 6);
    case.compact().all().memory(20_000).threads(1).run().unwrap();
    assert_eq!(answers_of(&case.dataset()), answers_of(&case.once()));
}

#[test]
fn what_needs_no_compaction_and_what_is_no_dataset_stays_as_it_is() {
    let case = Case::new(1, 1);
    for compact in [case.compact(), case.compact().all()] {
        let summary = compact.run().unwrap();
        assert_eq!((summary.version, summary.merged.files), (1, 0));
    }
    assert_eq!(manifest_file::versions(&case.dataset()).unwrap(), [1]);
    let absent = case.dir.path().join("absent");
    let error = Compact::new(&absent).run().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NoDataset(_)) && !absent.exists(), "{error}");
}

#[test]
fn an_ingest_merges_files_when_it_ends() {
    let dir = tempfile::tempdir().unwrap();
    let (dataset, input) = (dir.path().join("ds"), dir.path().join("events.csv"));
    let ingest = |accounts: [&str; 2]| {
        let row = |account| format!("{account},1,lead-originated,2025-01-31\n");
        fs::write(&input, format!("account,opportunityId,type,date\n{}", accounts.map(row).concat())).unwrap();
        Ingest::into(&dataset).events(&input).run().unwrap()
    };
    // New accounts, between which the stored ones lie.
    for (version, accounts) in (1..).zip([["m", "n"], ["l", "o"], ["k", "p"]]) {
        let summary = ingest(accounts);
        assert_eq!((summary.version, summary.compacted), (version, None));
    }
    let summary = ingest(["j", "q"]);
    let compacted = summary.compacted.unwrap();
    assert_eq!((summary.version, compacted.version), (4, 5));
    assert_eq!((compacted.merged.files, compacted.written.files, compacted.superseded), (4, 1, 0));
    let operations: Vec<_> = VersionSummary::of_all(&dataset).unwrap().iter().map(|it| it.operation).collect();
    assert_eq!(operations[3..], [CommitOperation::Ingest, CommitOperation::Compact]);
    assert_eq!(operations[4].name(), "compact");
    assert_eq!((Dataset::open(&dataset).unwrap().event_rows(), faults(&dataset)), (8, vec![]));
    // The same inputs again change nothing.
    assert!(!Ingest::into(&dataset).events(&input).run().unwrap().changed);
}
