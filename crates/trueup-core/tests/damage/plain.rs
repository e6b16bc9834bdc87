//! Something other than a plain file in the place of a dataset's file.

use crate::place::{FILES, Place};
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

/// Every file of a dataset is refused once `replace` has put something in its place; it is given the path, and a copy elsewhere.
fn refuses(found: &str, replace: impl Fn(&Path, &Path)) {
    for name in FILES {
        let place = Place::sound();
        let (path, elsewhere) = (place.path(name), place.path("elsewhere"));
        fs::rename(&path, &elsewhere).unwrap();
        replace(&path, &elsewhere);
        let expected = format!(
            "`{}` is {found}, but a dataset's file is a plain file in its folder, and no symbolic link leads to it",
            path.display()
        );
        assert_eq!(place.refused(), expected);
        assert_eq!(place.fault(), expected);
    }
}

#[test]
fn a_symbolic_link_is_refused_wherever_it_leads() {
    refuses("a symbolic link", |path, elsewhere| symlink(elsewhere, path).unwrap());
    refuses("a symbolic link", |path, _| symlink("nowhere", path).unwrap());
    refuses("a symbolic link", |path, _| symlink("/dev/zero", path).unwrap());
}

#[test]
fn a_folder_is_refused() {
    refuses("a folder", |path, _| fs::create_dir(path).unwrap());
}

#[test]
fn a_pipe_that_nobody_writes_to_is_refused_at_once() {
    refuses("a pipe, socket or device", |path, _| {
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    });
}

#[test]
fn a_socket_is_refused() {
    refuses("a pipe, socket or device", |path, _| {
        // The path of a socket is short.
        let here = tempfile::tempdir().unwrap();
        drop(UnixListener::bind(here.path().join("s")).unwrap());
        fs::rename(here.path().join("s"), path).unwrap();
    });
}

#[test]
fn a_table_folder_behind_a_symbolic_link_is_refused() {
    let place = Place::sound();
    assert!(place.ask().is_ok());
    fs::rename(place.path("spend"), place.path("other")).unwrap();
    symlink("other", place.path("spend")).unwrap();
    assert!(
        place.refused().contains("spend/spend.parquet` is behind something that is not a folder"),
        "{}",
        place.refused()
    );
}

#[test]
fn the_folder_itself_may_be_behind_a_symbolic_link() {
    let place = Place::sound();
    let outside = tempfile::tempdir().unwrap();
    let link = outside.path().join("dataset");
    symlink(place.folder(), &link).unwrap();
    assert!(trueup_core::Dataset::open(&link).is_ok());
}
