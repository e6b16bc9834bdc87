//! Purges whose file operations fail, or that are interrupted, at every position.

use super::interrupts::Canceling;
use super::{Case, EINTR, EIO, Failing, WAYS, Way, answers, faults, leftovers};
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;
use trueup_core::dataset::manifest_file;
use trueup_core::files::Files;
use trueup_ingest::{Expire, Forget, Ingest, Interruption};
use trueup_testkit::search::files_with;

/// The customer to forget; no other text has its id.
const ANN: &str = "ann-7c1f";

/// Makes a dataset of three versions, of which the first does not have the customer.
fn case() -> Case {
    let case = Case::new();
    fs::remove_dir_all(case.dataset()).unwrap();
    for rows in [
        "b,1,lead-originated,2025-01-31,b1\n".to_owned(),
        format!("a,{ANN},sold,2025-01-31,a1\na,2,lead-originated,2025-01-02,a2\na,3,sold,2025-01-02,a3\n"),
        format!("a,{ANN},booked,2025-01-30,a4\n"),
    ] {
        case.write("events.csv", &format!("account,opportunityId,type,date,eventId\n{rows}"));
        case.ingest(&[("events.csv", Ingest::events)]).run().unwrap();
    }
    case.keep();
    case
}

fn purge(case: &Case, files: Files) -> Forget {
    Forget::new(case.dataset()).customer("a", ANN).purge().grace(Duration::ZERO).threads(1).files(files)
}

/// Checks what a purge that did not end has left. The next command that writes completes it if the new version is
/// there, and otherwise the same purge. Returns whether the new version was there.
fn check(case: &Case, (old, new): (&Answers, &Answers), what: &str) -> bool {
    let dataset = case.dataset();
    let versions = manifest_file::versions(&dataset).unwrap();
    let is_new = versions.last() == Some(&4);
    assert!(versions[0] == 1 && (is_new || versions == [1, 2, 3]), "{versions:?} {what}");
    assert_eq!(&answers(&dataset), if is_new { new } else { old }, "{what}");
    assert_eq!(faults(&dataset), Vec::<String>::new(), "{what}");
    if is_new {
        Expire::new(&dataset).vacuum().run().unwrap();
    } else {
        assert_eq!(purge(case, Files::default()).run().unwrap().version, 4, "{what}");
    }
    assert_eq!((&answers(&dataset), faults(&dataset)), (new, vec![]), "{what}");
    assert_eq!(manifest_file::versions(&dataset).unwrap(), [1, 4], "{what}");
    assert_eq!(files_with(&dataset, &[ANN]).unwrap(), Vec::<PathBuf>::new(), "{what}");
    assert_eq!(leftovers(&dataset), Vec::<PathBuf>::new(), "{what}");
    is_new
}

type Answers = (trueup_core::ResultTable, usize);

/// Returns the answers before and after.
fn both(case: &Case) -> (Answers, Answers) {
    let old = answers(&case.dataset());
    purge(case, Files::default()).run().unwrap();
    let new = answers(&case.dataset());
    assert_ne!(old, new);
    (old, new)
}

#[test]
fn a_failed_operation_of_a_purge_leaves_the_old_version_or_the_new_one() {
    let case = case();
    let (old, new) = both(&case);
    for (ever_after, ways) in [(false, &WAYS[..]), (true, &[Way::Error(EIO), Way::ErrorAfter(EIO)])] {
        for way in ways.iter().copied() {
            let (mut failed, mut published) = (0, 0);
            for first in 0.. {
                case.reset();
                let failing = Failing::new(way, first, ever_after);
                let run = purge(&case, Files::failing(failing.clone())).run();
                let Some((operation, path)) = failing.hit.lock().unwrap().clone() else {
                    assert_eq!(run.unwrap().expired, [2, 3]);
                    break;
                };
                let what = format!("{way:?} of {operation:?} {first} at {}: {run:?}", path.display());
                let is_new = check(&case, (&old, &new), &what);
                assert!(is_new || run.is_err(), "{what}");
                failed += usize::from(run.is_err());
                published += usize::from(run.is_err() && is_new);
            }
            let is_harmless = matches!(way, Way::Error(EINTR) | Way::Short);
            // A purge tries twice to let versions expire, so that few single faults after the publication are errors.
            assert!(is_harmless || failed > 10 && published > 2, "{way:?}: {failed}, {published}");
        }
    }
}

#[test]
fn an_interrupt_at_any_operation_of_a_purge_leaves_the_old_version_or_the_new_one() {
    let case = case();
    let (old, new) = both(&case);
    let (mut stopped, mut published) = (0, 0);
    for at in 0.. {
        case.reset();
        let canceling = Canceling::new(at);
        let forget = purge(&case, Files::failing(canceling.clone())).interrupt(canceling.interrupt.clone());
        let run = forget.run();
        if canceling.count.load(Ordering::Relaxed) <= at {
            assert_eq!(run.unwrap().version, 4);
            break;
        }
        let what = format!("canceled before operation {at}: {run:?}");
        if let Err(error) = &run {
            assert_eq!(error.interruption(), Some(Interruption::Canceled), "{what}");
            assert_eq!(leftovers(&case.dataset()).iter().filter(|path| path.is_dir()).count(), 0, "{what}");
        }
        match check(&case, (&old, &new), &what) {
            true => published += 1,
            false => stopped += 1,
        }
    }
    assert!(stopped > 10 && published > 5, "{stopped} stopped, {published} published");
}
