//! `kill -9` at random moments of `trueup forget --purge`.

use crate::{answers, copy, count, program};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Instant;
use trueup::versions::{self, Verification};
use trueup_testkit::exhaustive::is_exhaustive;
use trueup_testkit::search::files_with;

/// The customer to forget; no other text has its id.
const ANN: &str = "ann-7c1f";

#[test]
fn a_kill_at_a_random_moment_of_a_purge_leaves_the_old_or_the_new_version() {
    let kills: u32 = if is_exhaustive() { 500 } else { 60 };
    let dir = tempfile::tempdir().unwrap();
    let (dataset, kept) = (dir.path().join("ds"), dir.path().join("kept"));
    let run = |arguments: &[&str]| -> Command {
        let mut command = program();
        command.args(arguments).current_dir(&dir).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    // The second version has the customer; the third restates one of its events, and moves one to another customer.
    for rows in [
        "b,1,lead-originated,2025-01-02,b1\n".to_owned(),
        format!(
            "a,{ANN},lead-originated,2025-01-02,a1\na,{ANN},sold,2025-01-05,a2\na,2,lead-originated,2025-01-02,a3\n"
        ),
        format!("a,{ANN},booked,2025-01-03,a1\na,3,sold,2025-01-05,a2\n"),
    ] {
        fs::write(dir.path().join("events.csv"), format!("account,opportunityId,type,date,eventId\n{rows}")).unwrap();
        assert!(run(&["ingest", "events.csv", "--into", "ds"]).status().unwrap().success());
    }
    let old = answers(&dataset).unwrap();
    copy(&dataset, &kept);
    let forget = || run(&["forget", "ds", "--account", "a", "--customer", ANN, "--purge", "--grace", "0s"]);
    let begun = Instant::now();
    assert!(forget().status().unwrap().success());
    let whole = begun.elapsed();
    let (new, entries) = (answers(&dataset).unwrap(), count(&dataset));
    assert!(old != new && versions::list(&dataset).unwrap() == [1, 4]);
    let (mut state, mut forgotten, mut between) = (7_u32, 0, 0);
    for kill in 0..kills {
        fs::remove_dir_all(&dataset).unwrap();
        copy(&kept, &dataset);
        let mut child = forget().spawn().unwrap();
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        sleep(whole.mul_f64(f64::from(state >> 8) / f64::from(1_u32 << 24) * 1.2));
        child.kill().unwrap();
        child.wait().unwrap();
        let left = versions::list(&dataset).unwrap();
        let is_new = left.last() == Some(&4);
        assert!(left.first() == Some(&1) && (is_new || left == [1, 2, 3]), "kill {kill}: {left:?}");
        assert_eq!(answers(&dataset).unwrap(), if is_new { new.clone() } else { old.clone() }, "kill {kill}");
        for version in &left {
            let found = Verification::of(&dataset, Some((*version).into())).unwrap();
            assert_eq!(found.faults, Vec::<String>::new(), "kill {kill}, version {version}");
        }
        forgotten += u32::from(is_new);
        between += u32::from(is_new && left.len() > 2);
        // The same command completes the work and cleans up.
        assert!(forget().status().unwrap().success(), "kill {kill}");
        assert_eq!(answers(&dataset).unwrap(), new, "kill {kill}");
        assert_eq!(files_with(&dataset, &[ANN]).unwrap(), Vec::<PathBuf>::new(), "kill {kill}");
        assert_eq!((versions::list(&dataset).unwrap(), count(&dataset)), (vec![1, 4], entries), "kill {kill}");
    }
    assert!((1..kills).contains(&forgotten), "{forgotten}, {between} before the other versions expired");
}
