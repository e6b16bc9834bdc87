//! `kill -9` at random moments of `trueup compact`.

use crate::{answers, copy, count, program};
use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Instant;
use trueup::versions::{self, Verification};
use trueup_testkit::exhaustive::is_exhaustive;

#[test]
fn a_kill_at_a_random_moment_of_a_compaction_changes_no_answer() {
    let kills: u32 = if is_exhaustive() { 500 } else { 60 };
    let dir = tempfile::tempdir().unwrap();
    let (dataset, kept) = (dir.path().join("ds"), dir.path().join("kept"));
    let run = |arguments: &[&str]| -> Command {
        let mut command = program();
        command.args(arguments).current_dir(&dir).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    // New accounts, between which the stored ones lie.
    for accounts in [["m", "n"], ["l", "o"], ["k", "p"]] {
        let row = |account| format!("{account},1,lead-originated,2025-01-02\n{account},1,sold,2025-01-05\n");
        let text = format!("account,opportunityId,type,date\n{}", accounts.map(row).concat());
        fs::write(dir.path().join("events.csv"), text).unwrap();
        assert!(run(&["ingest", "events.csv", "--into", "ds"]).status().unwrap().success());
    }
    let expected = answers(&dataset).unwrap();
    copy(&dataset, &kept);
    let begun = Instant::now();
    assert!(run(&["compact", "ds"]).status().unwrap().success());
    let whole = begun.elapsed();
    assert_eq!(versions::list(&dataset).unwrap(), [1, 2, 3, 4]);
    let entries = count(&dataset);
    let (mut state, mut compacted) = (7_u32, 0);
    for kill in 0..kills {
        fs::remove_dir_all(&dataset).unwrap();
        copy(&kept, &dataset);
        let mut child = run(&["compact", "ds"]).spawn().unwrap();
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        sleep(whole.mul_f64(f64::from(state >> 8) / f64::from(1_u32 << 24) * 1.2));
        child.kill().unwrap();
        child.wait().unwrap();
        let left = versions::list(&dataset).unwrap();
        assert!(left == [1, 2, 3] || left == [1, 2, 3, 4], "kill {kill}: {left:?}");
        compacted += u32::from(left.len() == 4);
        assert_eq!(answers(&dataset).unwrap(), expected, "kill {kill}");
        assert_eq!(Verification::of(&dataset, None).unwrap().faults, Vec::<String>::new(), "kill {kill}");
        // The next command ends the work and cleans up.
        assert!(run(&["compact", "ds"]).status().unwrap().success(), "kill {kill}");
        assert_eq!(count(&dataset), entries, "kill {kill}: leftover files");
        assert_eq!(answers(&dataset).unwrap(), expected, "kill {kill}");
    }
    assert!((1..kills).contains(&compacted), "{compacted}");
}
