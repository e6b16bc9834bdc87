use super::*;
use std::fs;

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
