//! Links, folders, pipes and sockets in the place of a dataset's file.

use crate::test_dataset::{FILES, TestDataset};
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

/// Checks that each file of a dataset is rejected after `replace` has put something in its place. `replace` takes the
/// path of the file, and the path to which the file was moved.
fn rejects(found: &str, replace: impl Fn(&Path, &Path)) {
    for name in FILES {
        let stored = TestDataset::sound();
        let (path, elsewhere) = (stored.path(name), stored.path("elsewhere"));
        fs::rename(&path, &elsewhere).unwrap();
        replace(&path, &elsewhere);
        let expected = format!(
            "`{}` is {found}, but a dataset's file is a plain file in its folder, and no symbolic link leads to it",
            path.display()
        );
        assert_eq!(stored.refused(), expected);
        assert_eq!(stored.fault(), expected);
    }
}

#[test]
fn a_symbolic_link_is_rejected_wherever_it_leads() {
    rejects("a symbolic link", |path, elsewhere| symlink(elsewhere, path).unwrap());
    rejects("a symbolic link", |path, _| symlink("nowhere", path).unwrap());
    rejects("a symbolic link", |path, _| symlink("/dev/zero", path).unwrap());
}

#[test]
fn a_folder_is_rejected() {
    rejects("a folder", |path, _| fs::create_dir(path).unwrap());
}

#[test]
fn a_pipe_without_a_writer_is_rejected_immediately() {
    rejects("a pipe, socket or device", |path, _| {
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    });
}

#[test]
fn a_socket_is_rejected() {
    rejects("a pipe, socket or device", |path, _| {
        // The path of a socket must be short.
        let here = tempfile::tempdir().unwrap();
        drop(UnixListener::bind(here.path().join("s")).unwrap());
        fs::rename(here.path().join("s"), path).unwrap();
    });
}

#[test]
fn a_symbolic_link_to_the_folder_of_a_table_is_rejected() {
    let stored = TestDataset::sound();
    assert!(stored.ask().is_ok());
    fs::rename(stored.path("spend"), stored.path("other")).unwrap();
    symlink("other", stored.path("spend")).unwrap();
    assert!(
        stored.refused().contains("spend/spend.parquet` is behind something that is not a folder"),
        "{}",
        stored.refused()
    );
}

#[test]
fn a_dataset_opens_through_a_symbolic_link_to_its_folder() {
    let stored = TestDataset::sound();
    let outside = tempfile::tempdir().unwrap();
    let link = outside.path().join("dataset");
    symlink(stored.folder(), &link).unwrap();
    assert!(trueup_core::Dataset::open(&link).is_ok());
}
