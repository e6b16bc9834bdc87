//! An earlier version becomes the newest one again.

use crate::batches::batches;
use crate::dataset::Case;
use std::time::Duration;
use trueup_core::Dataset;
use trueup_core::dataset::{CommitOperation, Verification};
use trueup_core::definitions::Definitions;
use trueup_core::query::EventsQuery;
use trueup_ingest::{Define, Expire, Forget, Restore};

const HEADER: &str = "account,opportunityId,type,date,eventId,total\n";

/// Returns what a version answers.
fn answer(dataset: &Dataset) -> Vec<String> {
    let fields = ["account", "opportunityId", "type", "eventId", "total", "spend"];
    let query = EventsQuery::new(fields, "2025-01-01".parse().unwrap(), "2025-12-31".parse().unwrap());
    let table = dataset.query(&query.allow_long_total()).unwrap();
    table.rows().map(|row| format!("{:?}", row.values().collect::<Vec<_>>())).collect()
}

/// Restores a version. Returns the number of the new one, and how many events are left out.
fn restored(case: &Case, to: u64) -> (u64, u64) {
    let summary = Restore::new(case.dataset(), to).run().unwrap();
    (summary.version, summary.forgotten)
}

#[test]
fn a_wrong_upload_is_undone_and_what_followed_it_can_be_ingested_again() {
    let case = Case::new();
    let spend = |name: &str, amount: u64| case.file(name, format!("account,date,adSpend\na,2025-01-01,{amount}\n"));
    let first = case.file("1.csv", format!("{HEADER}a,1,sold,2025-01-01,e1,5\na,2,sold,2025-01-02,,6\n"));
    case.ingest().events(&first).spend(spend("s1.csv", 10)).run().unwrap();
    let later = case.file("2.csv", format!("{HEADER}a,1,closed,2025-02-01,e1,7\na,3,sold,2025-02-02,,8\n"));
    case.ingest().events(&later).spend(spend("s2.csv", 11)).run().unwrap();
    let definitions =
        "[[dimension]]\nname = \"region\"\nfrom = \"account\"\ncases = [{ equals = [\"a\"], value = \"x\" }]\n";
    Define::new(case.dataset(), &Definitions::parse(definitions).unwrap()).run().unwrap();
    let before = Dataset::open_as_of(case.dataset(), 1).unwrap();
    assert_ne!(answer(&before), answer(&Dataset::open(case.dataset()).unwrap()));

    assert_eq!(restored(&case, 1), (4, 0));
    let manifest = case.manifest();
    assert_eq!(manifest.commit.operation, CommitOperation::Restore);
    assert!(manifest.named("definitions").is_none() && batches(&case).len() == 1);
    assert_eq!(answer(&Dataset::open(case.dataset()).unwrap()), answer(&before));
    assert_eq!(Verification::of(case.dataset(), None).unwrap().faults, Vec::<String>::new());
    // The newest version needs no restoration.
    assert_eq!(restored(&case, 4), (4, 0));
    // The files of version 2 are new again, and those of version 1 are not.
    assert!(!case.ingest().events(&first).run().unwrap().changed);
    assert!(case.ingest().events(&later).run().unwrap().changed);
    let again = Dataset::open(case.dataset()).unwrap();
    assert_eq!((again.event_rows(), case.manifest().version), (3, 5));
    // A version with deletion vectors and rewritten files comes back, too.
    assert_eq!(restored(&case, 2), (6, 0));
    assert_eq!(
        answer(&Dataset::open(case.dataset()).unwrap()),
        answer(&Dataset::open_as_of(case.dataset(), 2).unwrap())
    );
    assert_eq!(Verification::of(case.dataset(), None).unwrap().faults, Vec::<String>::new());
}

#[test]
fn forgotten_customers_stay_forgotten() {
    let case = Case::new();
    // Each file has two customers, and a row group for each.
    let rows = |number: u32| {
        let row = |customer: u32, day: u32| format!("a,{customer},sold,2025-01-0{day},{number}-{day}-{customer},5\n");
        format!("{HEADER}{}{}{}", row(number, 1), row(number, 9), row(number + 10, 1))
    };
    for number in 1..=3 {
        case.ingest().row_group_rows(1).events(case.file(&format!("{number}.csv"), rows(number))).run().unwrap();
    }
    let forget = |day: u32, customers: &[&str]| {
        let now = chrono::DateTime::parse_from_rfc3339(&format!("2025-01-0{day}T12:00:00Z")).unwrap();
        let forget = Forget::new(case.dataset()).now(now.into());
        customers.iter().fold(forget, |forget, customer| forget.customer("a", *customer)).run().unwrap();
    };
    let sold = |customers: &[u32]| {
        let left = answer(&Dataset::open(case.dataset()).unwrap());
        assert_eq!(left.len(), customers.len(), "{left:?}");
        for (row, customer) in left.iter().zip(customers) {
            assert!(row.contains(&format!("Text(\"{customer}\")")), "{left:?}");
        }
        assert_eq!(Verification::of(case.dataset(), None).unwrap().faults, Vec::<String>::new());
    };
    forget(2, &["1", "12"]);
    // Events after the day are taken.
    let later = case.file("4.csv", format!("{HEADER}a,1,sold,2025-01-03,later,5\n"));
    let with_later = case.ingest().events(later).run().unwrap().version;
    sold(&[1, 11, 13, 2, 2, 3, 3]);
    // What was there is left out, whatever its day, as it was removed then.
    assert_eq!(restored(&case, 3).1, 3);
    sold(&[11, 13, 2, 2, 3, 3]);
    // A version after that has events of the customer that were not removed, until the customer is forgotten once more.
    forget(2, &["3"]);
    assert_eq!(restored(&case, with_later).1, 2);
    sold(&[1, 11, 13, 2, 2]);
    let without_third = case.manifest().version;
    forget(4, &["1"]);
    assert_eq!(restored(&case, with_later).1, 3);
    sold(&[11, 13, 2, 2]);
    assert_eq!(restored(&case, without_third).1, 1);
    sold(&[11, 13, 2, 2]);
    // Later ingests leave them out, too.
    let summary = case.ingest().events(case.file("1-again.csv", rows(1))).run().unwrap();
    assert_eq!((summary.events.forgotten, summary.events.taken), (1, 2));
    assert_eq!(restored(&case, 1).1, 2);
    sold(&[11]);
}

/// The second command of a day removes an event of a later day, and raises no day.
#[test]
fn a_customer_who_was_forgotten_twice_on_a_day_stays_forgotten() {
    let case = Case::new();
    let ingest = |name: &str, rows: &str| {
        case.ingest().events(case.file(name, format!("{HEADER}{rows}"))).run().unwrap().version
    };
    let forget = || {
        let noon = chrono::DateTime::parse_from_rfc3339("2025-01-02T12:00:00Z").unwrap();
        let summary = Forget::new(case.dataset()).now(noon.into()).customer("a", "1").run().unwrap();
        (summary.version, summary.events, summary.recorded)
    };
    ingest("1.csv", "a,1,sold,2025-01-01,e1,5\na,2,sold,2025-01-01,e2,5\n");
    assert_eq!([forget(), forget()], [(2, 1, 1), (2, 0, 0)]);
    assert_eq!(ingest("2.csv", "a,1,sold,2025-01-09,e3,5\n"), 3);
    assert_eq!([forget(), forget()], [(4, 1, 0), (4, 0, 0)]);
    assert_eq!(restored(&case, 3), (5, 1));
    let left = answer(&Dataset::open(case.dataset()).unwrap());
    assert!(left.len() == 1 && left[0].contains("Text(\"2\")"), "{left:?}");
    // What came after that is not left out.
    assert_eq!(ingest("3.csv", "a,1,sold,2025-01-10,e4,5\n"), 6);
    assert_eq!((restored(&case, 5), restored(&case, 6)), ((7, 0), (8, 0)));
    assert_eq!(answer(&Dataset::open(case.dataset()).unwrap()).len(), 2);
    assert_eq!(Verification::of(case.dataset(), None).unwrap().faults, Vec::<String>::new());
}

#[test]
fn a_version_that_is_not_there_is_not_restored() {
    let case = Case::new();
    for number in 1..=3 {
        case.events(&format!("{number}.csv"), &format!("{HEADER}a,{number},sold,2025-01-01,e{number},5\n"));
    }
    Expire::new(case.dataset()).keep_last(1).older_than(Duration::ZERO).run().unwrap();
    for (to, why) in [(2, "it has expired"), (0, "there is no such version"), (9, "there is no such version")] {
        let error = Restore::new(case.dataset(), to).run().unwrap_err();
        assert!(error.is_data(), "{error}");
        let newest = "the newest one is 3, and `trueup versions` lists all";
        assert_eq!(error.to_string(), format!("version {to} cannot be restored: {why}; {newest}"));
    }
}
