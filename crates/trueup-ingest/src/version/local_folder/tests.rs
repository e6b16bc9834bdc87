use super::*;
use crate::ErrorKind;
use std::fs;
use std::sync::Arc;
use trueup_core::files::{FaultInjector, InjectedFault, Operation};

const FOLDERS: u32 = 300;

#[test]
fn ingests_that_begin_at_the_same_time_keep_their_folders() {
    thread::scope(|scope| {
        for ingest in 0..4 {
            scope.spawn(move || {
                for folder in 0..FOLDERS {
                    let (path, _lock) = make(&Files::default(), &format!("{ingest:016}{folder:016}")).unwrap();
                    thread::yield_now();
                    fs::create_dir(path.join("events")).unwrap();
                    fs::remove_dir_all(path).unwrap();
                }
            });
        }
    });
}

/// A file system without locks.
#[derive(Debug)]
struct NoLocks;

impl FaultInjector for NoLocks {
    fn before(&self, operation: Operation, _: &Path) -> Option<InjectedFault> {
        (operation == Operation::Lock).then(|| InjectedFault::Fail(io::ErrorKind::Unsupported.into()))
    }
}

#[test]
fn an_error_says_why_the_folder_cannot_be_locked() {
    let id = "f".repeat(32);
    let error = make(&Files::failing(Arc::new(NoLocks)), &id).unwrap_err();
    drop(fs::remove_dir(env::temp_dir().join(format!("{PREFIX}{id}"))));
    let ErrorKind::Io { action: "lock", source, .. } = error.kind() else { unreachable!("{error}") };
    assert_eq!(source.kind(), io::ErrorKind::Unsupported);
}
