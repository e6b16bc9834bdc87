//! What every [`Store`] does, whatever it keeps its files in.

#![expect(clippy::unwrap_used, reason = "tests")]

use object_store::memory::InMemory;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use trueup_store::files::Files;
use trueup_store::{
    Holder, Interrupt, Publication, PublishError, ReadFault, RemoteStore, Store, location_of, open_store,
};

static SUITES: AtomicU32 = AtomicU32::new(0);

/// Passes a store of each kind, which has no file yet, to a test.
fn for_each_store(test: impl Fn(&dyn Store)) {
    let dir = tempfile::tempdir().unwrap();
    test(&*open_store(dir.path(), &Files::default()).unwrap());

    // Tests run at the same time, so that each needs a URL of its own.
    let url = format!("simulation://suite-{}/ds", SUITES.fetch_add(1, Ordering::Relaxed));
    let objects = Arc::new(InMemory::new());
    RemoteStore::register(&url, "ds", objects.clone(), objects);
    test(&*open_store(Path::new(&url), &Files::default()).unwrap());
    RemoteStore::unregister(&url);
}

fn put(store: &dyn Store, name: &str, bytes: &'static str) -> bool {
    store.put_new(name, bytes.into(), &Interrupt::default()).unwrap()
}

fn read(store: &dyn Store, name: &str) -> Vec<u8> {
    store.read(name, 100).unwrap().into()
}

/// A publication whose bytes have other holders by their first letter: `f` is a fence, and `?` is damaged.
fn publication(bytes: &'static str) -> Publication {
    fn holder(found: &[u8], own: &[u8]) -> io::Result<Holder> {
        match found {
            found if found == own => Ok(Holder::Own),
            [b'f', ..] => Ok(Holder::Fence),
            [b'?', ..] => Err(io::ErrorKind::InvalidData.into()),
            _ => Ok(Holder::Other),
        }
    }
    Publication { bytes: bytes.into(), fence: "fence".into(), holder }
}

#[test]
fn a_name_is_taken_once() {
    for_each_store(|store| {
        assert!(put(store, "a", "first") && !put(store, "a", "second"), "{store:?}");
        assert_eq!(read(store, "a"), b"first", "{store:?}");
        store.remove("a").unwrap();
        store.remove("a").unwrap();
        assert!(put(store, "a", "third"), "{store:?}");
    });
}

#[test]
fn a_folder_lists_its_own_files() {
    for_each_store(|store| {
        let names = |below: &str| {
            let mut names: Vec<_> = store.list(below, &[]).unwrap().into_iter().map(|entry| entry.name).collect();
            names.sort();
            names
        };
        assert_eq!(names("missing"), [""; 0], "{store:?}");
        put(store, "b", "1");
        put(store, "a", "22");
        assert_eq!(names(""), ["a", "b"], "{store:?}");
        let entries = store.list("", &[]).unwrap();
        for entry in entries {
            let listed = entry.listed.map_or_else(
                || (store.length(&entry.name).unwrap(), store.modified(&entry.name).unwrap()),
                |listed| (listed.size, listed.modified),
            );
            assert_eq!(listed.0, if entry.name == "a" { 2 } else { 1 }, "{store:?}");
            assert_eq!(listed.1, store.modified(&entry.name).unwrap(), "{store:?}");
        }
        store.sync("").unwrap();
        store.sync("missing").unwrap();
    });
}

#[test]
fn bytes_are_read_only_if_there_are_as_many_as_promised() {
    for_each_store(|store| {
        put(store, "a", "0123456789");
        let fetch = |name: &str, range, promised| {
            let Ok(read) = store.fetch(name, &range, promised).wait_while(|| Ok::<_, ()>(())) else { unreachable!() };
            read
        };
        assert_eq!(fetch("a", 2..5, 10).unwrap(), "234", "{store:?}");
        assert!(matches!(fetch("a", 2..5, 11), Err(ReadFault::Length(10))), "{store:?}");
        assert!(matches!(store.read("a", 9), Err(ReadFault::Length(10))), "{store:?}");
        assert_eq!(store.read("a", 10).unwrap(), "0123456789", "{store:?}");
        assert_eq!(store.length("a").unwrap(), 10, "{store:?}");
        assert_eq!(store.open("a").unwrap().is_some(), store.is_folder());
        for missing in [store.length("b").map(drop), store.read("b", 9).map(drop).map_err(io::Error::from)] {
            assert_eq!(missing.unwrap_err().kind(), io::ErrorKind::NotFound, "{store:?}");
        }
        assert!(
            matches!(fetch("b", 0..1, 1), Err(ReadFault::Io(error)) if error.kind() == io::ErrorKind::NotFound),
            "{store:?}"
        );
    });
}

#[test]
fn one_writer_publishes() {
    for_each_store(|store| {
        let scratch = tempfile::tempdir().unwrap();
        let publish = |name: &str, bytes| {
            let staged = scratch.path().join(format!("{name}-{bytes}"));
            store.publish(name, &staged, publication(bytes)).0
        };
        publish("m", "own").unwrap();
        assert_eq!(read(store, "m"), b"own", "{store:?}");
        for taken in ["other", "more"] {
            assert!(matches!(publish("m", taken), Err(PublishError::Conflict)), "{store:?}");
        }
        put(store, "n", "fence");
        assert!(matches!(publish("n", "own"), Err(PublishError::Conflict)), "{store:?}");
        assert_eq!(read(store, "n"), b"fence", "{store:?}");
    });
}

#[test]
fn a_file_is_replaced_by_what_is_made_of_it() {
    for_each_store(|store| {
        let twice = |found: &[u8]| Ok((found.len() < 4).then(|| [found, found].concat()));
        put(store, "a", "xy");
        store.replace_if("a", "staged", &twice).unwrap();
        assert_eq!(read(store, "a"), b"xyxy", "{store:?}");
        // What a writer that was killed has staged does not matter.
        if store.is_folder() {
            put(store, "staged", "left");
        }
        store.replace_if("a", "staged", &|_| Ok(Some(b"z".to_vec()))).unwrap();
        assert_eq!(read(store, "a"), b"z", "{store:?}");
        store.replace_if("a", "staged", &|_| Ok(None)).unwrap();
        store.replace_if("missing", "staged", &twice).unwrap();
        assert_eq!((read(store, "a"), store.list("", &[]).unwrap().len()), (b"z".to_vec(), 1), "{store:?}");
        let refused = store.replace_if("a", "staged", &|_| Err(io::ErrorKind::InvalidData.into()));
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::InvalidData, "{store:?}");
    });
}

#[test]
fn a_file_is_sent_whole() {
    for_each_store(|store| {
        let scratch = tempfile::tempdir().unwrap();
        // One that is sent with one request, and one that is sent in parts.
        for (name, length) in [("short", 3), ("long", (16 << 20) + 1)] {
            let (file, bytes) = (scratch.path().join(name), vec![7; length]);
            fs::write(&file, &bytes).unwrap();
            store.upload(name, &file, &Interrupt::default()).unwrap();
            assert!(store.read(name, length as u64).unwrap() == bytes, "{store:?}");
        }
    });
}

#[test]
fn a_location_is_below_its_folder() {
    assert_eq!(location_of(Path::new("s3://bucket/acme/"), "a/b"), Path::new("s3://bucket/acme/a/b"));
    assert_eq!(location_of(Path::new("acme"), "a"), Path::new("acme/a"));
    let error = open_store(Path::new("s3:/bucket"), &Files::default()).unwrap_err().to_string();
    assert!(error.contains("begins with `s3://`"), "{error}");
}
