//! Files that break the layout, although their checksums are right. Queries and verification reject a file that does
//! not decode, or in which the days of a customer's events decrease; verification alone checks the order of customers
//! and of spend, and that each customer occurs once.

use crate::test_dataset::{INSIGHTS, Row, SOUND, TestDataset, events, row};
use arrow_array::RecordBatch;
use trueup_core::query::{EventsQuery, Filter};
use trueup_core::{Dataset, Day, Execution};

/// Checks that a query and a verification of a row group both fail with a message that ends with `ends`.
fn rejects(rows: &[Row], ends: &str) {
    rejects_batch(events(rows), ends);
}

fn rejects_batch(rows: RecordBatch, ends: &str) {
    let mut stored = TestDataset::with_events(&[&SOUND]);
    stored.manifest.events.clear();
    stored.add_events(&[rows]);
    stored.publish();
    let expected = format!("`{}`, row group 0, {ends}", stored.path("events/events-0.parquet").display());
    assert_eq!(stored.refused(), expected);
    assert_eq!(stored.fault(), expected);
}

/// Returns the valid rows with a change in one of them.
fn changed(at: usize, change: impl FnOnce(&mut Row)) -> [Row; 4] {
    let mut rows = SOUND;
    change(&mut rows[at]);
    rows
}

#[test]
fn customers_are_numbered_one_by_one() {
    let fault = "column `trueup.customer`: customers are not numbered one by one";
    rejects(&changed(2, |row| row.number = Some(3)), fault);
    rejects(&changed(1, |row| row.number = Some(-1)), fault);
    rejects(&changed(3, |row| row.number = Some(1)), fault);
    rejects(&changed(1, |row| row.number = Some(i32::MIN)), fault);
    for at in 0..4 {
        rejects(&changed(at, |row| row.number = None), "column `trueup.customer`: a number is missing");
    }
}

#[test]
fn a_customer_belongs_to_one_account() {
    let fault = "column `account`: a customer has two accounts";
    rejects(&changed(3, |row| row.account = Some("c")), fault);
    rejects(&SOUND.map(|row| Row { number: Some(0), ..row }), fault);
}

#[test]
fn every_row_has_an_account() {
    for at in 0..4 {
        rejects(&changed(at, |row| row.account = None), "column `account`: an account is missing");
        rejects(&changed(at, |row| row.account = Some("")), "column `account`: an account is missing");
    }
    for account in [None, Some("")] {
        let mut stored = TestDataset::sound();
        stored.spend(&[(Some("a"), 20_000), (account, 20_001)]);
        stored.republish();
        let expected = "spend.parquet`, row group 0, column `account`: an account is missing";
        assert!(stored.refused().ends_with(expected), "{}", stored.refused());
        assert!(stored.fault().ends_with(expected), "{}", stored.fault());
    }
}

#[test]
fn every_event_has_a_day_and_a_customers_days_never_decrease() {
    rejects(&changed(3, |row| row.day = Some(19_999)), "column `date`: a customer's events are not in order");
    rejects(&changed(1, |row| row.day = None), "column `date`: a date is missing");
    rejects(&changed(0, |row| row.day = Some(-1)), "column `date`: a date is out of range");
    rejects(&changed(3, |row| row.day = Some(65_536)), "column `date`: a date is out of range");
}

#[test]
fn every_event_has_a_known_stage() {
    for stage in [None, Some(""), Some("Sold")] {
        rejects(&changed(1, |row| row.stage = stage), "column `type`: a stage is unknown");
    }
}

#[test]
fn every_column_exists_and_has_its_type() {
    let sound = events(&SOUND);
    for name in ["trueup.customer", "account", "type", "date", "dateTime", "total"] {
        let at = sound.schema().index_of(name).unwrap();
        let others: Vec<usize> = (0..sound.num_columns()).filter(|column| *column != at).collect();
        rejects_batch(sound.project(&others).unwrap(), &format!("column `{name}`: the column is missing"));
    }
    for name in ["trueup.customer", "date", "dateTime", "total"] {
        let wrong = replaced(&sound, name, "campaign");
        rejects_batch(wrong, &format!("column `{name}`: the type is not that of the layout"));
    }
    for name in ["account", "type", "campaign"] {
        let wrong = replaced(&sound, name, "trueup.customer");
        rejects_batch(wrong, &format!("column `{name}`: expected texts"));
    }
}

/// Returns the batch with the column `name` replaced by a copy of the column `by`.
fn replaced(batch: &RecordBatch, name: &str, by: &str) -> RecordBatch {
    let schema = batch.schema();
    let column = |of: &str| batch.column_by_name(if of == name { by } else { of }).unwrap().clone();
    let columns = schema.fields().iter().map(|field| (field.name(), column(field.name()), true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

#[test]
fn a_fault_names_its_row_group() {
    let stored = TestDataset::with_events(&[&SOUND, &[row(3, "c", "1", 20_000), row(3, "d", "1", 20_000)]]);
    stored.publish();
    let expected = "events-0.parquet`, row group 1, column `account`: a customer has two accounts";
    assert!(stored.refused().ends_with(expected), "{}", stored.refused());
}

/// The values of a filter are first looked for in the row groups of the query's days.
#[test]
fn a_value_that_is_found_early_leaves_other_row_groups_unread() {
    let stored = TestDataset::with_events(&[&SOUND, &[row(3, "c", "9", 20_500), row(3, "d", "9", 20_500)]]);
    stored.publish();
    let dataset = Dataset::open(stored.folder()).unwrap();
    let unseen = |campaign: &str| {
        let query = EventsQuery::new(["leads"], Day::from_number(20_000), Day::from_number(20_002));
        dataset.unseen_values(&query.filter(Filter::equals("campaign", campaign)), &Execution::default())
    };
    assert_eq!(unseen("1").unwrap(), []);
    let error = unseen("9").unwrap_err().to_string();
    assert!(error.ends_with("row group 1, column `account`: a customer has two accounts"), "{error}");
}

/// Checks that verification finds exactly one fault in the first event file, at this row group and row.
fn finds(row_groups: &[&[Row]], row_group: usize, row: usize, fault: &str) {
    let stored = TestDataset::with_events(row_groups);
    stored.publish();
    let path = stored.path("events/events-0.parquet");
    assert_eq!(stored.fault(), format!("`{}`, row group {row_group}, row {row}: {fault}", path.display()));
}

#[test]
fn a_customer_occurs_once_in_all_files() {
    let twice = "the customer `2` of `a` occurs twice in the dataset";
    finds(&[&[row(0, "a", "2", 20_000), row(1, "a", "2", 20_001)]], 0, 1, twice);
    finds(&[&SOUND[..2], &[row(2, "a", "2", 20_001)]], 1, 0, twice);

    let mut stored = TestDataset::with_events(&[&SOUND]);
    stored.add_events(&[events(&[row(0, "a", "3", 20_000), row(1, "b", "0", 20_000), row(2, "b", "1", 20_005)])]);
    stored.publish();
    let path = stored.path("events/events-1.parquet");
    let twice = "the customer `1` of `b` occurs twice in the dataset";
    assert_eq!(stored.fault(), format!("`{}`, row group 0, row 2: {twice}", path.display()));
}

#[test]
fn the_same_account_and_other_customers_may_be_in_several_files() {
    let mut stored = TestDataset::with_events(&[&SOUND[..2], &[row(2, "b", "1", 20_000)]]);
    stored.add_events(&[events(&[row(0, "a", "3", 19_990), row(1, "ab", "1", 19_995), row(2, "b", "2", 19_990)])]);
    stored.publish();
    assert_eq!(stored.faults(), Vec::<String>::new());
}

#[test]
fn customers_are_in_the_order_of_the_layout() {
    finds(&[&[row(0, "b", "1", 20_000), row(1, "a", "1", 20_000)]], 0, 1, "the customer `1` of `a` is out of order");
    finds(&[&[row(0, "a", "1", 20_001), row(1, "a", "2", 20_000)]], 0, 1, "the customer `2` of `a` is out of order");
    finds(&[&[row(0, "a", "2", 20_000), row(1, "a", "1", 20_000)]], 0, 1, "the customer `1` of `a` is out of order");
}

#[test]
fn row_groups_may_be_in_any_order() {
    let stored = TestDataset::with_events(&[&SOUND, &[row(3, "a", "3", 20_009)], &[row(4, "a", "0", 19_000)]]);
    stored.publish();
    assert_eq!(stored.faults(), Vec::<String>::new());
}

#[test]
fn the_customers_of_a_row_group_share_one_period() {
    let other =
        "the customer `2` of `a` is of other quarters than the one before it, and so belongs in another row group";
    let (second, third) = (20_090, 20_180);
    let first = row(0, "a", "1", 20_000);
    finds(&[&[first, row(1, "a", "2", second)]], 0, 1, other);
    // The quarter of the last event counts too, whether it is the next one or a later one.
    finds(&[&[first, row(1, "a", "2", 20_001), row(1, "a", "2", second)]], 0, 1, other);
    finds(&[&[first, row(1, "a", "2", 20_001), row(1, "a", "2", third)]], 0, 1, other);
    finds(&[&[first, row(0, "a", "1", second), row(1, "a", "2", 20_001)]], 0, 2, other);
    // A customer whose events span more than two quarters may begin in any quarter.
    let far = [first, row(0, "a", "1", third), row(1, "a", "2", second), row(1, "a", "2", 20_400)];
    let stored = TestDataset::with_events(&[&far]);
    stored.publish();
    assert_eq!(stored.faults(), Vec::<String>::new());
}

#[test]
fn a_customer_is_in_one_row_group_and_numbers_are_consecutive() {
    let begins = |expected, found| {
        format!("expected the row group to begin with the customer {expected} of the file, but found {found}")
    };
    finds(&[&SOUND[..3], &SOUND[3..]], 1, 0, &begins(3, 2));
    finds(&[&SOUND, &[row(4, "c", "1", 20_000)]], 1, 0, &begins(3, 4));
    finds(&[&[row(1, "a", "1", 20_000)]], 0, 0, &begins(0, 1));
}

#[test]
fn the_rows_of_one_number_belong_to_one_customer() {
    let other = [row(0, "a", "1", 20_000), row(0, "a", "2", 20_000)];
    finds(&[&other], 0, 1, "the rows of the customer `1` of `a` also have the `opportunityId` `2`");
    for absent in [None, Some("")] {
        let none = [Row { opportunity_id: absent, ..row(0, "a", "1", 20_000) }];
        finds(&[&none], 0, 0, "a customer of `a` has no `opportunityId`");
    }
}

#[test]
fn spend_is_in_order() {
    let unordered = [
        [(Some("b"), 20_000), (Some("a"), 20_000)],
        [(Some("a"), 20_001), (Some("a"), 20_000)],
        // A row of a later quarter before one of an earlier quarter.
        [(Some("a"), 20_100), (Some("b"), 20_000)],
    ];
    for rows in unordered {
        let mut stored = TestDataset::sound();
        stored.spend(&rows);
        stored.republish();
        let fault = "spend.parquet`, row group 0, row 1: the rows are not in the order of quarters, accounts and dates";
        assert!(stored.fault().ends_with(fault), "{}", stored.fault());
    }
}

#[test]
fn accounts_occur_once() {
    let mut stored = TestDataset::sound();
    stored.accounts(&["a", "a"]);
    stored.republish();
    assert!(stored.fault().contains("accounts.parquet`: row 1, column `account`"), "{}", stored.fault());
    assert_eq!(stored.refused(), stored.fault());
}

#[test]
fn insights_are_documents_in_order() {
    let (first, second) = INSIGHTS.split_once('\n').unwrap();
    let turned = format!("{second}{first}\n");
    let cases = [
        (turned.as_str(), "line 2: the document of `a` and 2025-01-01 is out of order"),
        ("{\"account\":\"a\",\"date\":\"2025-01-01\",\"insight\":{}}\n\n", "line 2: no document: "),
        ("{\"account\":\"a\",\"date\":\"2025-02-30\",\"insight\":{}}\n", "line 1: expected a date"),
        ("{\"account\":\"a\",\"date\":\"2025-01-01\",\"insight\":[]}\n", "line 1: the insight is no object"),
        ("[\"a\",\"2025-01-01\",{}]\n", "line 1: no document: this is no object"),
        ("{\"account\":\"a\",\"date\":\"2025-01-01\"}\n", "line 1: no document: missing field `insight`"),
    ];
    for (text, fault) in cases {
        let mut stored = TestDataset::sound();
        stored.insights(text);
        stored.republish();
        assert!(stored.fault().contains(&format!("insights.ndjson`, {fault}")), "{}", stored.fault());
    }
}

#[test]
fn every_damaged_file_is_reported() {
    let mut stored = TestDataset::sound();
    stored.add_events(&[events(&[row(0, "a", "1", 20_000)])]);
    stored.spend(&[(Some("b"), 20_000), (Some("a"), 20_000)]);
    stored.insights("{}\n");
    stored.republish();
    let faults = stored.faults();
    assert_eq!(faults.len(), 3, "{faults:?}");
}
