//! What the lists of files say: enough to open a dataset, and to plan the splits of a query, without reading the files
//! that are listed. Lists that say something other than the files are refused.

use crate::test_dataset::{LISTS, TestDataset, events, row};
use std::fs;
use std::num::NonZeroUsize;
use std::sync::Arc;
use trueup_core::dataset::manifest::{FileList, FileLists, Manifest, RowGroupEntry};
use trueup_core::dataset::{Verification, encode_list, manifest_file};
use trueup_core::query::{DateRange, EventsQuery};
use trueup_core::{Dataset, Day, Error, Execution, Interrupt, ResultTable};
use trueup_testkit::exhaustive::{bits, step};

const FIRST: &str = "events/events-0.parquet";
const SECOND: &str = "events/events-1.parquet";

/// Makes a dataset with a file of the account `a`, and one of the account `b` on later days.
fn two_files() -> TestDataset {
    let mut stored = TestDataset::with_events(&[&[row(0, "a", "1", 20_000)], &[row(1, "a", "2", 20_001)]]);
    stored.add_events(&[events(&[row(0, "b", "1", 20_100), row(0, "b", "1", 20_101)])]);
    stored.spend(&[(Some("a"), 20_000)]);
    stored.publish();
    stored
}

fn query(first: u16, last: u16) -> EventsQuery {
    let fields = ["account", "campaign", "customers", "eventCount", "total"];
    EventsQuery::new(fields, Day::from_number(first), Day::from_number(last)).allow_long_total()
}

fn all() -> EventsQuery {
    query(19_000, 21_000)
}

/// Returns the message of a query that fails because of a file.
fn refused(dataset: &Dataset, query: &EventsQuery) -> String {
    let error = dataset.query(query).unwrap_err();
    assert!(matches!(error, Error::Dataset(_)), "{error}");
    error.to_string()
}

#[test]
fn opening_and_planning_read_no_file_of_events_or_spend() {
    let stored = two_files();
    let whole = Dataset::open(stored.folder()).unwrap();
    let splits = whole.plan_splits(&all(), NonZeroUsize::new(3).unwrap()).unwrap();
    for name in [FIRST, SECOND, "spend/spend.parquet"] {
        fs::remove_file(stored.path(name)).unwrap();
    }
    let dataset = Dataset::open(stored.folder()).unwrap();
    assert_eq!((dataset.event_rows(), dataset.spend_rows(), dataset.event_row_groups()), (4, 1, 3));
    let days = DateRange { start: Day::from_number(20_000), end: Day::from_number(20_101) };
    assert_eq!(dataset.date_range(), Some(days));
    assert_eq!(dataset.columns().iter().collect::<Vec<_>>(), ["campaign", "eventId", "opportunityId"]);
    assert_eq!(dataset.plan_splits(&all(), NonZeroUsize::new(3).unwrap()).unwrap(), splits);
    let error = dataset.read_footers(&Interrupt::default()).unwrap_err().to_string();
    assert!(error.contains("is missing, but the manifest names it"), "{error}");
}

#[test]
fn a_query_reads_only_the_files_of_its_accounts_and_days() {
    let stored = two_files();
    let whole = Dataset::open(stored.folder()).unwrap();
    let of_a = all().accounts(["a"]);
    let of_b = all().accounts(["b"]);
    let answers: Vec<ResultTable> = [&of_a, &of_b].iter().map(|query| whole.query(query).unwrap()).collect();
    let splits = whole.plan_splits(&all(), NonZeroUsize::new(2).unwrap()).unwrap();
    for (removed, [kept, other], answer, [first, last], split) in [
        (SECOND, [&of_a, &of_b], &answers[0], [19_000, 20_050], 0),
        (FIRST, [&of_b, &of_a], &answers[1], [20_050, 21_000], 1),
    ] {
        let stored = two_files();
        fs::remove_file(stored.path(removed)).unwrap();
        let expected = format!("`{}` is missing, but the manifest names it", stored.path(removed).display());
        let dataset = Dataset::open(stored.folder()).unwrap();
        let (present, absent) = if removed == SECOND { ("a", "A") } else { ("b", "c") };
        assert_eq!(dataset.missing_accounts(&[present, absent].map(str::to_owned)).unwrap(), [absent]);
        assert_eq!(dataset.query(kept).unwrap(), *answer);
        assert_eq!(dataset.query(&query(first, last)).unwrap(), *answer);
        assert_eq!(refused(&dataset, other), expected);
        assert_eq!(refused(&dataset, &all()), expected);
        assert!(dataset.run_split(&all(), &splits[split], &Execution::default()).is_ok());
        assert!(dataset.run_split(&all(), &splits[1 - split], &Execution::default()).is_err());
    }
}

#[test]
fn threads_that_need_the_same_footers_all_get_them() {
    let stored = two_files();
    let expected = Dataset::open(stored.folder()).unwrap().query(&all()).unwrap();
    for _ in 0..20 {
        let dataset = Dataset::open(stored.folder()).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert_eq!(dataset.query(&all()).unwrap(), expected));
            }
        });
    }
}

/// Changes the columns and the row groups of an entry.
type Change = fn(&mut Vec<String>, &mut Vec<RowGroupEntry>);

#[test]
fn a_list_that_says_something_other_than_a_footer_is_refused() {
    let changes: [(&str, &str, Change); 11] = [
        (", row group 0", "accounts", |_, groups| groups[0].accounts = Some(("a".into(), "c".into()))),
        (", row group 1", "accounts", |_, groups| groups[1].accounts = Some(("A".into(), "a".into()))),
        (", row group 1", "accounts", |_, groups| groups[1].accounts = None),
        (", row group 0", "days", |_, groups| groups[0].days = Some((20_000, 20_001))),
        (", row group 1", "days", |_, groups| groups[1].days = Some((19_999, 20_001))),
        (", row group 0", "days", |_, groups| groups[0].days = None),
        (", row group 0", "days", |_, groups| groups.reverse()),
        (", row group 0", "rows", |_, groups| {
            groups[0].rows = 2;
            groups[1].rows = 0;
        }),
        ("", "row groups", |_, groups| {
            let last = groups.pop().unwrap();
            groups[0] = RowGroupEntry { rows: 2, days: last.days, ..groups[0].clone() };
        }),
        ("", "columns", |columns, _| columns.push("zip".to_owned())),
        ("", "columns", |columns, _| columns.retain(|name| name != "campaign")),
    ];
    for (row_group, what, change) in changes {
        let mut stored = two_files();
        let file = &mut stored.manifest.events[0];
        let (mut columns, mut row_groups) = (file.columns.to_vec(), file.row_groups.to_vec());
        change(&mut columns, &mut row_groups);
        (file.columns, file.row_groups) = (columns.into(), row_groups.into());
        stored.republish();
        let path = stored.path(FIRST);
        let expected = format!("`{}`{row_group}: the {what} in the manifest are not those of the file", path.display());
        let dataset = Dataset::open(stored.folder()).unwrap();
        assert_eq!(refused(&dataset, &query(19_000, 21_000)), expected);
        assert_eq!(refused(&dataset, &query(19_000, 21_000)), expected, "asked again");
        assert_eq!(stored.fault(), expected);
    }
}

#[test]
fn a_list_that_leaves_out_all_rows_of_a_file_is_found_by_verification() {
    let mut stored = two_files();
    stored.manifest.events[1].row_groups = Arc::default();
    stored.manifest.events[1].rows = 0;
    stored.republish();
    let expected = format!("`{}` has 2 rows, but the manifest says 0", stored.path(SECOND).display());
    assert_eq!(stored.fault(), expected);
}

#[test]
fn lists_that_do_not_add_up_are_refused() {
    let stored = two_files();
    let sound = manifest_file::read(&stored.folder(), 1).unwrap();
    let list = sound.lists.events[0].clone();
    let twice = FileLists { events: vec![list.clone(), list.clone()], ..sound.lists.clone() };
    let unremovable = "what is removed from the list `lists/events.parquet` is not in it, or not in ascending order";
    let removing = |removed: &[u64]| FileLists {
        events: vec![FileList { removed: removed.to_vec(), ..list.clone() }],
        ..sound.lists.clone()
    };
    for (lists, fault) in [
        (
            FileLists { events: Vec::new(), ..sound.lists.clone() },
            "the lists name 0 files of events, but the version has 2",
        ),
        (removing(&[1]), "the lists name 1 files of events, but the version has 2"),
        (twice, "the file `lists/events.parquet` is named twice"),
        (removing(&[2]), unremovable),
        (removing(&[1, 0]), unremovable),
    ] {
        let manifest = Manifest { version: 2, lists, ..sound.clone() };
        let staging = tempfile::tempdir_in(stored.folder()).unwrap();
        let files = trueup_core::files::Files::default();
        let refused = manifest_file::publish(&files, &stored.folder(), staging.path(), &manifest).unwrap_err();
        assert!(refused.to_string().ends_with(fault), "{refused}");
    }
    let stored = two_files();
    let mut events = stored.manifest.events.clone();
    events[0].rows = 3;
    fs::write(stored.path(LISTS[0]), encode_list(&events).unwrap()).unwrap();
    let file = stored.described(LISTS[0], 2);
    let lists = FileLists { events: vec![FileList { file, removed: Vec::new() }], ..sound.lists };
    stored.publish_as(2, &lists);
    let refused = Dataset::open(stored.folder()).unwrap_err().to_string();
    assert!(
        refused.ends_with("the row groups of the file `events/events-0.parquet` do not have as many rows as the file"),
        "{refused}"
    );
}

#[test]
fn files_that_are_removed_from_a_list_are_not_of_the_version() {
    let stored = two_files();
    let mut manifest = manifest_file::read(&stored.folder(), 1).unwrap();
    let kept = manifest.events.remove(1);
    manifest.lists.events[0].removed = vec![0];
    manifest.version = 2;
    manifest.events = vec![kept];
    stored.publish_manifest(&manifest);
    assert_eq!(manifest_file::read(&stored.folder(), 2).unwrap(), manifest);
    let dataset = Dataset::open(stored.folder()).unwrap();
    assert_eq!((dataset.event_rows(), dataset.query(&all()).unwrap().len()), (2, 1));
    assert_eq!(Dataset::open_as_of(stored.folder(), 1).unwrap().event_rows(), 4);
}

#[test]
fn a_list_that_is_missing_or_changed_is_named() {
    for name in LISTS {
        let stored = two_files();
        let bytes = fs::read(stored.path(name)).unwrap();
        let path = stored.path(name);
        for (case, (at, bit)) in bits(bytes.len(), 5).into_iter().enumerate() {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            fs::write(&path, changed).unwrap();
            let expected = format!("`{}`: the bytes from 0 on differ from what was written", path.display());
            let refused = Dataset::open(stored.folder()).unwrap_err().to_string();
            assert!(refused.starts_with(&expected), "{refused}");
            if case % step(61) != 0 {
                continue;
            }
            let unverified = Verification::of(stored.folder(), None).unwrap_err().to_string();
            assert!(unverified.starts_with(&expected), "{unverified}");
        }
        fs::write(&path, &bytes[1..]).unwrap();
        let (found, promised) = (bytes.len() - 1, bytes.len());
        let expected = format!("`{}` has {found} bytes, but the manifest says {promised}", path.display());
        assert_eq!(stored.refused(), expected);
        fs::remove_file(&path).unwrap();
        assert_eq!(stored.refused(), format!("`{}` is missing, but the manifest names it", path.display()));
    }
}

#[test]
fn a_list_of_something_else_is_refused() {
    let stored = two_files();
    let sound = manifest_file::read(&stored.folder(), 1).unwrap();
    for (bytes, fault) in [
        (fs::read(stored.path(FIRST)).unwrap(), "column `path`: the column is missing"),
        (b"path,size\n".to_vec(), "Invalid Parquet file"),
        (encode_list(&sound.events[..1]).unwrap(), "has 1 rows, but the manifest says 2"),
    ] {
        let stored = two_files();
        fs::write(stored.path(LISTS[0]), bytes).unwrap();
        let file = stored.described(LISTS[0], 2);
        let lists = FileLists { events: vec![FileList { file, removed: Vec::new() }], ..sound.lists.clone() };
        stored.publish_as(2, &lists);
        let refused = Dataset::open(stored.folder()).unwrap_err().to_string();
        assert!(refused.contains(LISTS[0]) && refused.contains(fault), "{refused}");
    }
}
