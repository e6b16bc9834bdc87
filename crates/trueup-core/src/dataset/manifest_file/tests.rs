use super::super::as_of;
use super::super::block_checksums::BlockSums;
use super::super::commit::CommitOperation;
use super::super::expiry::{Expiry, Orphans, Retention};
use super::super::manifest::{DataFile, ManifestFault};
use super::*;
use crate::Interrupt;
use std::fs;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use trueup_store::files::{FaultInjector, InjectedFault, Operation};

fn manifest(version: u64) -> Manifest {
    Manifest::new(version, "test", committed_at(0))
}

/// Returns the commit of an ingest at a number of seconds since 1970.
fn committed_at(seconds: u64) -> Commit {
    let time = (SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).into();
    Commit { time, operation: CommitOperation::Ingest, duration_ms: 0 }
}

/// Returns as many checksums of blocks.
fn sums(blocks: usize) -> BlockSums {
    BlockSums::from_bytes(&vec![0; blocks * 16]).unwrap()
}

fn file(path: &str) -> DataFile {
    DataFile { path: path.to_owned(), size: 1, blake3: "0".repeat(64), blocks: sums(1), ..DataFile::default() }
}

/// Publishes a manifest with file operations that may fail.
fn publish_with(files: &Files, dir: &Path, manifest: &Manifest) -> Result<(), ManifestError> {
    let staging = tempfile::tempdir_in(dir).unwrap();
    publish(files, dir, staging.path(), manifest)
}

fn publish_in(dir: &Path, manifest: &Manifest) -> Result<(), ManifestError> {
    publish_with(&Files::default(), dir, manifest)
}

#[test]
fn the_newest_manifest_is_read_and_earlier_ones_stay() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(read_latest(dir.path()).unwrap(), None);
    assert_eq!(versions(&dir.path().join("absent")).unwrap(), Vec::<u64>::new());
    for version in [1, 2, 10] {
        publish_in(dir.path(), &manifest(version)).unwrap();
    }
    fs::write(dir.path().join("manifest-11.json"), "{}").unwrap();
    assert_eq!(versions(dir.path()).unwrap(), [1, 2, 10]);
    assert_eq!(read_latest(dir.path()).unwrap(), Some(manifest(10)));
    assert_eq!(read(dir.path(), 2).unwrap(), manifest(2));
}

#[test]
fn a_manifest_is_never_replaced() {
    let dir = tempfile::tempdir().unwrap();
    publish_in(dir.path(), &manifest(1)).unwrap();
    let second = Manifest { created_by: "other".to_owned(), ..manifest(1) };
    assert!(matches!(publish_in(dir.path(), &second), Err(ManifestError::Conflict { version: 1, .. })));
    assert_eq!(read(dir.path(), 1).unwrap(), manifest(1));
}

#[test]
fn a_manifest_of_another_layout_or_number_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let later = Manifest { schema_version: 9, ..manifest(3) };
    fs::write(dir.path().join(file_name(3)), seal(serde_json::to_vec_pretty(&later).unwrap())).unwrap();
    assert!(matches!(read(dir.path(), 3), Err(ManifestError::UnknownLayout { found: 9, .. })));
    publish_in(dir.path(), &manifest(2)).unwrap();
    fs::rename(dir.path().join(file_name(2)), dir.path().join(file_name(4))).unwrap();
    assert!(matches!(read_latest(dir.path()), Err(ManifestError::WrongNumber { found: 2, .. })));
    fs::write(dir.path().join(file_name(5)), "{").unwrap();
    assert!(matches!(read_latest(dir.path()), Err(ManifestError::Damaged { .. })));
    assert!(matches!(read(dir.path(), 6), Err(ManifestError::Io { .. })));
}

#[test]
fn every_changed_byte_of_a_manifest_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let mut sound = manifest(1);
    sound.set_named(file("accounts/a.parquet"));
    sound.set_named(file("insights/b.ndjson"));
    publish_in(dir.path(), &sound).unwrap();
    let path = dir.path().join(file_name(1));
    let bytes = fs::read(&path).unwrap();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            assert_eq!(unseal(&changed), None, "bit {bit} of byte {at}");
        }
        assert_eq!(unseal(&bytes[..at]), None, "{at} bytes");
    }
    let text = String::from_utf8(bytes.clone()).unwrap();
    for changed in [text.replace("insights/b", "insights/a"), text.replace("\"insights\": {", "\"insights\":  {")] {
        fs::write(&path, changed).unwrap();
        assert!(matches!(read(dir.path(), 1), Err(ManifestError::Checksum { .. })));
    }
    fs::write(&path, bytes).unwrap();
    assert_eq!(read(dir.path(), 1).unwrap(), sound);
}

#[test]
fn a_manifest_with_a_fault_is_not_published() {
    let dir = tempfile::tempdir().unwrap();
    let paths = [
        "../events/a",
        "/etc/passwd",
        "events/../a",
        "events/.a",
        "events/",
        "spend/a",
        "events/a/b",
        "events\\a",
        "a",
    ];
    for path in paths {
        let foreign = Manifest { events: vec![file(path)], ..manifest(1) };
        let refused = publish_in(dir.path(), &foreign);
        assert!(
            matches!(refused, Err(ManifestError::Fault { fault: ManifestFault::Path { .. }, .. })),
            "{path}: {refused:?}"
        );
    }
    let repeated = Manifest { events: vec![file("events/a"), file("events/a")], ..manifest(1) };
    assert!(publish_in(dir.path(), &repeated).unwrap_err().to_string().ends_with("the file `events/a` is named twice"));
    let mut unknown = manifest(1);
    unknown.set_named(file("budgets/a"));
    let refused = publish_in(dir.path(), &unknown).unwrap_err().to_string();
    assert!(refused.ends_with("this program does not know the file of `budgets`"), "{refused}");
    let unsound = DataFile { blocks: sums(2), ..file("events/a") };
    let unsound = Manifest { events: vec![unsound], ..manifest(1) };
    assert!(matches!(
        publish_in(dir.path(), &unsound),
        Err(ManifestError::Fault { fault: ManifestFault::Checksum { .. }, .. })
    ));
    for version in [0, u64::MAX] {
        let refused = publish_in(dir.path(), &manifest(version));
        assert!(
            matches!(refused, Err(ManifestError::Fault { fault: ManifestFault::Version { .. }, .. })),
            "{refused:?}"
        );
    }
    publish_in(dir.path(), &manifest(u64::MAX - 1)).unwrap();
}

#[cfg(unix)]
#[test]
fn a_manifest_is_a_plain_file() {
    let dir = tempfile::tempdir().unwrap();
    publish_in(dir.path(), &manifest(1)).unwrap();
    std::os::unix::fs::symlink(dir.path().join(file_name(1)), dir.path().join(file_name(2))).unwrap();
    assert!(
        read(dir.path(), 2).unwrap_err().to_string().ends_with("is a symbolic link, and a manifest is a plain file")
    );
}

/// Fails one operation.
#[derive(Debug)]
struct Failing {
    operation: Operation,
    takes_effect: bool,
}

impl FaultInjector for Failing {
    fn before(&self, operation: Operation, _: &Path) -> Option<InjectedFault> {
        let error = io::Error::from(io::ErrorKind::Other);
        let fault = if self.takes_effect { InjectedFault::FailAfter(error) } else { InjectedFault::Fail(error) };
        (operation == self.operation).then_some(fault)
    }
}

#[test]
fn a_reported_failure_to_publish_is_checked() {
    let failing = |operation, takes_effect| Files::failing(Arc::new(Failing { operation, takes_effect }));
    let dir = tempfile::tempdir().unwrap();
    // If a link fails, a rename follows.
    publish_with(&failing(Operation::Link, false), dir.path(), &manifest(1)).unwrap();
    // If the link took effect in spite of the error, no rename follows.
    publish_with(&failing(Operation::Link, true), dir.path(), &manifest(2)).unwrap();
    assert_eq!(versions(dir.path()).unwrap(), [1, 2]);
    let refused = publish_with(&failing(Operation::Create, false), dir.path(), &manifest(3)).unwrap_err();
    assert!(!refused.may_be_published(), "{refused}");
    assert_eq!(versions(dir.path()).unwrap(), [1, 2]);
}

#[test]
fn as_of_a_time_is_the_last_version_committed_until_then() {
    let dir = tempfile::tempdir().unwrap();
    let at = |seconds: u64| SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
    for (version, seconds) in [(1, 100), (2, 200), (3, 300), (4, 400), (6, 600), (7, 700)] {
        publish_in(dir.path(), &Manifest { commit: committed_at(seconds), ..manifest(version) }).unwrap();
    }
    let found = |seconds| as_of::manifest(dir.path(), Some(at(seconds).into())).map(|manifest| manifest.version);
    for (seconds, version) in
        [(100, 1), (199, 1), (299, 2), (300, 3), (399, 3), (400, 4), (600, 6), (699, 6), (700, 7), (9_999, 7)]
    {
        assert_eq!(found(seconds).unwrap(), version, "{seconds}");
    }
    let path = dir.path().display();
    // Version 5, which is gone, may have been committed between the two.
    assert_eq!(
        found(599).unwrap_err().to_string(),
        format!(
            "`{path}` may not have the version of 1970-01-01T00:09:59Z any more, because those between 4 and 6 were removed; ask for \
             a version by its number"
        )
    );
    assert_eq!(
        found(99).unwrap_err().to_string(),
        format!(
            "`{path}` holds no dataset as of 1970-01-01T00:01:39Z; its first version, 1, was committed at 1970-01-01T00:01:40.000Z"
        )
    );
    let other = as_of::manifest(dir.path(), Some(9.into())).unwrap_err().to_string();
    assert_eq!(other, format!("`{path}` holds no dataset of version 9, but of versions 1 to 4, 6, 7"));
    // Nothing was there between the two if a writer only took the number.
    fs::write(dir.path().join(file_name(5)), fence()).unwrap();
    assert_eq!(found(599).unwrap(), 4);
    let expired = as_of::manifest(dir.path(), Some(5.into())).unwrap_err().to_string();
    assert_eq!(expired, format!("version 5 of `{path}` has expired; the dataset has versions 1 to 4, 6, 7"));
}

#[test]
fn a_version_expires_even_if_the_next_one_seems_to_be_committed_later_than_now() {
    let dir = tempfile::tempdir().unwrap();
    for (version, seconds) in [(1, 100), (2, 200)] {
        publish_in(dir.path(), &Manifest { commit: committed_at(seconds), ..manifest(version) }).unwrap();
    }
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(199);
    let plan = |older_than| {
        let retention = Retention { keep_last: NonZeroUsize::MIN, older_than };
        Expiry::plan(dir.path(), &retention, now).unwrap().expired
    };
    assert_eq!((plan(Duration::ZERO), plan(Duration::from_secs(1))), (vec![1], vec![]));
}

#[test]
fn the_number_of_an_expired_version_is_taken() {
    let dir = tempfile::tempdir().unwrap();
    for version in 1..=3 {
        publish_in(dir.path(), &manifest(version)).unwrap();
    }
    let now = SystemTime::now();
    let plan = Expiry::of(dir.path(), &[1, 2].into()).unwrap();
    plan.commit(&Files::default(), dir.path(), "x", Duration::ZERO, now).unwrap();
    assert_eq!(versions(dir.path()).unwrap(), [3]);
    for version in [1, 2] {
        let expired = read(dir.path(), version).unwrap_err();
        assert!(matches!(expired, ManifestError::Expired { version: found, .. } if found == version), "{expired}");
        // A writer whose lock is not shared, or whose rename replaces no hard link, still finds the name taken.
        let late = publish_in(dir.path(), &Manifest { created_by: "late".to_owned(), ..manifest(version) });
        assert!(matches!(late, Err(ManifestError::Conflict { .. })), "{late:?}");
        // The version itself was published, even if its writer asks again.
        publish_in(dir.path(), &manifest(version)).unwrap();
    }
    // The same behind the floor, where nothing has the name.
    let plan = Expiry::of(dir.path(), &[1, 2].into()).unwrap();
    assert_eq!(plan.expired, Vec::<u64>::new());
    let hour = Duration::from_secs(60 * 60);
    let unnamed = Orphans::find(dir.path(), None, SystemTime::now() + hour).unwrap();
    unnamed.remove(&Files::default(), dir.path(), &Interrupt::default(), |_| {}).unwrap();
    assert!(!dir.path().join(file_name(2)).exists());
    let late = publish_in(dir.path(), &manifest(2)).unwrap_err();
    assert!(matches!(late, ManifestError::Indeterminate { .. }), "{late}");
    assert_eq!(read_latest_and_next(dir.path()).unwrap().1, 4);
}
