//! Compactions whose file operations fail, or that are interrupted, at every position.

use super::interrupts::{Canceling, content};
use super::{Case, EINTR, EIO, Failing, WAYS, Way, answers, faults, leftovers};
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use trueup_core::dataset::manifest_file;
use trueup_core::files::Files;
use trueup_ingest::{Compact, Ingest, Interruption};

/// Makes a dataset of three versions, whose files hold accounts between each other's.
fn case() -> Case {
    let case = Case::new();
    fs::remove_dir_all(case.dataset()).unwrap();
    for accounts in [["m", "n"], ["l", "o"], ["k", "p"]] {
        let row = |account| format!("{account},1,lead-originated,2025-01-31\n{account},2,sold,2025-02-01\n");
        let text = format!("account,opportunityId,type,date\n{}", accounts.map(row).concat());
        case.write("events.csv", &text);
        case.ingest(&[("events.csv", Ingest::events)]).run().unwrap();
    }
    case.keep();
    case
}

#[test]
fn a_failed_operation_of_a_compaction_leaves_the_old_version_or_the_new_one() {
    let case = case();
    let (dataset, expected) = (case.dataset(), answers(&case.dataset()));
    let compact = |files| Compact::new(&dataset).threads(1).files(files);
    for (ever_after, ways) in [(false, &WAYS[..]), (true, &[Way::Error(EIO), Way::ErrorAfter(EIO)])] {
        for way in ways.iter().copied() {
            let mut failed = 0;
            for first in 0.. {
                case.reset();
                let failing = Failing::new(way, first, ever_after);
                let run = compact(Files::failing(failing.clone())).run();
                let Some((operation, path)) = failing.hit.lock().unwrap().clone() else {
                    assert_eq!(run.unwrap().version, 4);
                    break;
                };
                let what = format!("{way:?} of {operation:?} {first} at {}: {run:?}", path.display());
                assert_eq!(answers(&dataset), expected, "{what}");
                match &run {
                    Ok(summary) => assert_eq!((summary.version, summary.merged.files), (4, 3), "{what}"),
                    Err(error) if error.may_be_published() => {}
                    Err(_) => assert_eq!(manifest_file::versions(&dataset).unwrap(), [1, 2, 3], "{what}"),
                }
                failed += usize::from(run.is_err());
                // When the disk works again, a compaction completes the work, and nothing is left over.
                assert_eq!(compact(Files::default()).run().unwrap().version, 4, "{what}");
                assert_eq!((answers(&dataset), faults(&dataset)), (expected.clone(), vec![]), "{what}");
                assert_eq!(leftovers(&dataset), Vec::<PathBuf>::new(), "{what}");
            }
            assert!(failed > 5 || matches!(way, Way::Error(EINTR) | Way::Short), "{way:?}: {failed}");
        }
    }
}

#[test]
fn an_interrupt_at_any_operation_of_a_compaction_leaves_nothing_behind() {
    let case = case();
    let (dataset, expected) = (case.dataset(), answers(&case.dataset()));
    let old = content(&dataset);
    let (mut stopped, mut published) = (0, 0);
    for at in 0.. {
        case.reset();
        let canceling = Canceling::new(at);
        let compact = Compact::new(&dataset).threads(1).files(Files::failing(canceling.clone()));
        let run = compact.interrupt(canceling.interrupt.clone()).run();
        if canceling.count.load(Ordering::Relaxed) <= at {
            assert_eq!(run.unwrap().version, 4);
            break;
        }
        match run {
            Err(error) if manifest_file::versions(&dataset).unwrap() == [1, 2, 3] => {
                assert_eq!(error.interruption(), Some(Interruption::Canceled), "{at}: {error}");
                assert_eq!(content(&dataset), old, "{at}");
                stopped += 1;
            }
            _ => published += 1,
        }
        assert_eq!((answers(&dataset), faults(&dataset)), (expected.clone(), vec![]), "{at}");
        assert_eq!(leftovers(&dataset), Vec::<PathBuf>::new(), "{at}");
    }
    assert!(stopped > 10 && published > 0, "{stopped} stopped, {published} published");
}
