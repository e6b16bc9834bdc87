//! `kill -9` at random moments of `trueup expire`.

use crate::{IngestCase, answers, copy, count, program};
use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Instant;
use trueup::versions::{self, Verification};
use trueup_testkit::exhaustive::is_exhaustive;

#[test]
fn a_kill_at_a_random_moment_of_an_expiry_leaves_each_version_whole_or_not_there() {
    let kills: u32 = if is_exhaustive() { 500 } else { 60 };
    let case = IngestCase::new();
    let kept = case.dir.path().join("both");
    copy(&case.dataset(), &kept);
    let expire = || -> Command {
        let mut command = program();
        command.args(["expire", "ds", "--keep-last", "1", "--grace", "0s"]).current_dir(&case.dir);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let begun = Instant::now();
    assert!(expire().status().unwrap().success());
    let whole = begun.elapsed();
    assert_eq!(count(&case.dataset())[0], 1);
    let (mut state, mut expired) = (7_u32, 0);
    for kill in 0..kills {
        fs::remove_dir_all(case.dataset()).unwrap();
        copy(&kept, &case.dataset());
        let mut child = expire().spawn().unwrap();
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        sleep(whole.mul_f64(f64::from(state >> 8) / f64::from(1_u32 << 24) * 1.2));
        child.kill().unwrap();
        child.wait().unwrap();
        let left = versions::list(&case.dataset()).unwrap();
        assert!(left == [1, 2] || left == [2], "kill {kill}: {left:?}");
        expired += u32::from(left == [2]);
        assert_eq!(answers(&case.dataset()).unwrap(), case.new, "kill {kill}");
        for version in left {
            let found = Verification::of(case.dataset(), Some(version.into())).unwrap();
            assert_eq!(found.faults, Vec::<String>::new(), "kill {kill}, version {version}");
        }
        // The next command cleans up.
        assert!(expire().status().unwrap().success(), "kill {kill}");
        assert_eq!(count(&case.dataset()), [1, 2, 1, 1], "kill {kill}: leftover files");
        assert_eq!(answers(&case.dataset()).unwrap(), case.new, "kill {kill}");
    }
    assert!((1..kills).contains(&expired), "{expired}");
}
