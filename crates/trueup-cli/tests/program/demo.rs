//! `trueup demo`

use crate::place::{Place, Run};
use std::process::Command;

fn demo(place: &Place, more: &[&str]) -> Run {
    place.run(&[&["demo", "my demo", "--events", "4000", "--accounts", "3"], more].concat())
}

#[test]
fn it_reports_and_what_it_says_to_try_works() {
    let place = Place::new();
    let first = demo(&place, &[]);
    assert_eq!(first.code, 0, "{first:?}");
    assert!(first.stderr.contains("made the demo dataset `my demo`"), "{first:?}");
    for part in ["The last 90 days", "Book Rate", "by channel", "Direct", "Month by month", "2026-06", "Try next"] {
        assert!(first.stdout.contains(part), "`{part}` is missing:\n{}", first.stdout);
    }
    assert!(first.stdout.ends_with('\n') && !first.stdout.ends_with("\n\n"), "{}", first.stdout);
    // Nothing is left beside the dataset.
    let names: Vec<_> = place.path("").read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["my demo"]);

    let again = demo(&place, &[]);
    assert_eq!((again.code, &again.stdout), (0, &first.stdout));
    assert!(again.stderr.contains("already"), "{again:?}");

    let program = env!("CARGO_BIN_EXE_trueup");
    let commands: Vec<&str> = first
        .stdout
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with(program) && line.contains("'my demo'"))
        .collect();
    assert_eq!(commands.len(), 6, "{}", first.stdout);
    for command in commands {
        let run = Command::new("sh").args(["-c", command]).current_dir(place.path("")).output().unwrap();
        assert!(run.status.success() && run.stderr.is_empty() && !run.stdout.is_empty(), "{command}: {run:?}");
    }
}

#[test]
fn the_seed_decides() {
    let place = Place::new();
    let report = |dir: &str, seed: &str| {
        let run = place.run(&["demo", dir, "--events", "2000", "--accounts", "2", "--seed", seed]);
        assert_eq!(run.code, 0, "{run:?}");
        run.stdout.split("Try next").next().unwrap().to_owned()
    };
    assert_eq!(report("a", "1"), report("b", "1"));
    assert_ne!(report("a", "1"), report("c", "2"));
}

#[test]
fn it_keeps_its_hands_off_other_folders() {
    let place = Place::with_dataset();
    let message = place.run(&["demo", "ds", "--events", "2000"]).failed(1);
    assert!(message.contains("`ds`"), "{message}");
    std::fs::create_dir(place.path("full")).unwrap();
    place.write("full/notes.txt", "mine");
    place.run(&["demo", "full", "--events", "2000"]).failed(1);
    place.run(&["demo", "x", "--events", "0"]).failed(2);
    place.run(&["demo", "x", "--accounts", "1000000"]).failed(2);
    assert!(!place.path("x").exists());
}
