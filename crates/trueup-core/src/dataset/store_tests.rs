#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;

fn manifest(version: u64) -> Manifest {
    Manifest {
        schema_version: SCHEMA_VERSION,
        version,
        created_by: "test".to_owned(),
        events: Vec::new(),
        spend: Vec::new(),
        accounts: Vec::new(),
        insights: Vec::new(),
        batches: Vec::new(),
    }
}

#[test]
fn the_newest_manifest_is_read_and_earlier_ones_stay() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(read_latest(dir.path()).unwrap(), None);
    assert_eq!(versions(&dir.path().join("absent")).unwrap(), Vec::<u64>::new());
    for version in [1, 2, 10] {
        commit(dir.path(), &manifest(version)).unwrap();
    }
    fs::write(dir.path().join("manifest-11.json"), "{}").unwrap();
    assert_eq!(versions(dir.path()).unwrap(), [1, 2, 10]);
    assert_eq!(read_latest(dir.path()).unwrap(), Some(manifest(10)));
    assert_eq!(read(dir.path(), 2).unwrap(), manifest(2));
}

#[test]
fn a_manifest_is_never_replaced() {
    let dir = tempfile::tempdir().unwrap();
    commit(dir.path(), &manifest(1)).unwrap();
    let second = Manifest { created_by: "other".to_owned(), ..manifest(1) };
    assert!(matches!(commit(dir.path(), &second), Err(StoreError::Taken { version: 1, .. })));
    assert_eq!(read(dir.path(), 1).unwrap(), manifest(1));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no draft is left behind");
}

#[test]
fn a_manifest_of_another_layout_or_number_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    commit(dir.path(), &Manifest { schema_version: 2, ..manifest(1) }).unwrap();
    assert!(matches!(read(dir.path(), 1), Err(StoreError::UnknownLayout { found: 2, .. })));
    fs::rename(dir.path().join(file_name(1)), dir.path().join(file_name(3))).unwrap();
    commit(dir.path(), &manifest(2)).unwrap();
    fs::rename(dir.path().join(file_name(2)), dir.path().join(file_name(4))).unwrap();
    assert!(matches!(read_latest(dir.path()), Err(StoreError::WrongNumber { found: 2, .. })));
    fs::write(dir.path().join(file_name(5)), "{").unwrap();
    assert!(matches!(read_latest(dir.path()), Err(StoreError::Damaged { .. })));
    assert!(matches!(read(dir.path(), 6), Err(StoreError::Io { .. })));
}
