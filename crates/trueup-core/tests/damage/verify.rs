//! What queries take on trust, and verification does not.

use crate::place::{INSIGHTS, Place, Row, SOUND, events, row};

/// Verification finds exactly one fault in the first event file, at a row group and row.
fn finds(row_groups: &[&[Row]], row_group: usize, row: usize, fault: &str) {
    let place = Place::with_events(row_groups);
    place.commit();
    let path = place.path("events/events-0.parquet");
    assert_eq!(place.fault(), format!("`{}`, row group {row_group}, row {row}: {fault}", path.display()));
}

#[test]
fn a_customer_occurs_once_in_all_files() {
    let twice = "the customer `2` of `a` occurs twice in the dataset";
    finds(&[&[row(0, "a", "2", 20_000), row(1, "a", "2", 20_001)]], 0, 1, twice);
    finds(&[&SOUND[..2], &[row(2, "a", "2", 20_001)]], 1, 0, twice);

    let mut place = Place::with_events(&[&SOUND]);
    place.add_events(&[events(&[row(0, "a", "3", 20_000), row(1, "b", "0", 20_000), row(2, "b", "1", 20_005)])]);
    place.commit();
    let path = place.path("events/events-1.parquet");
    let twice = "the customer `1` of `b` occurs twice in the dataset";
    assert_eq!(place.fault(), format!("`{}`, row group 0, row 2: {twice}", path.display()));
}

#[test]
fn the_same_account_and_other_customers_may_be_in_several_files() {
    let mut place = Place::with_events(&[&SOUND[..2], &[row(2, "b", "1", 20_000)]]);
    place.add_events(&[events(&[row(0, "a", "3", 19_990), row(1, "ab", "1", 19_995), row(2, "b", "2", 19_990)])]);
    place.commit();
    assert_eq!(place.faults(), Vec::<String>::new());
}

#[test]
fn customers_stand_in_the_order_of_the_layout() {
    finds(&[&[row(0, "b", "1", 20_000), row(1, "a", "1", 20_000)]], 0, 1, "the customer `1` of `a` is out of order");
    finds(&[&[row(0, "a", "1", 20_001), row(1, "a", "2", 20_000)]], 0, 1, "the customer `2` of `a` is out of order");
    finds(&[&[row(0, "a", "2", 20_000), row(1, "a", "1", 20_000)]], 0, 1, "the customer `1` of `a` is out of order");
}

#[test]
fn row_groups_may_stand_in_any_order() {
    let place = Place::with_events(&[&SOUND, &[row(3, "a", "3", 20_009)], &[row(4, "a", "0", 19_000)]]);
    place.commit();
    assert_eq!(place.faults(), Vec::<String>::new());
}

#[test]
fn the_customers_of_a_row_group_are_of_the_same_quarters() {
    let other =
        "the customer `2` of `a` is of other quarters than the one before it, and so belongs in another row group";
    let (second, third) = (20_090, 20_180);
    let first = row(0, "a", "1", 20_000);
    finds(&[&[first, row(1, "a", "2", second)]], 0, 1, other);
    // The quarter of its last event counts too, be it the next or a later one.
    finds(&[&[first, row(1, "a", "2", 20_001), row(1, "a", "2", second)]], 0, 1, other);
    finds(&[&[first, row(1, "a", "2", 20_001), row(1, "a", "2", third)]], 0, 1, other);
    finds(&[&[first, row(0, "a", "1", second), row(1, "a", "2", 20_001)]], 0, 2, other);
    // Whoever goes on for more than two quarters may have begun in any.
    let far = [first, row(0, "a", "1", third), row(1, "a", "2", second), row(1, "a", "2", 20_400)];
    let place = Place::with_events(&[&far]);
    place.commit();
    assert_eq!(place.faults(), Vec::<String>::new());
}

#[test]
fn a_customer_lies_in_one_row_group_and_numbers_go_on() {
    let begins = |number| format!("the row group begins with the customer {number} of the file, out of order");
    finds(&[&SOUND[..3], &SOUND[3..]], 1, 0, &begins(2));
    finds(&[&SOUND, &[row(4, "c", "1", 20_000)]], 1, 0, &begins(4));
    finds(&[&[row(1, "a", "1", 20_000)]], 0, 0, &begins(1));
}

#[test]
fn a_run_is_of_one_customer() {
    let other = [row(0, "a", "1", 20_000), row(0, "a", "2", 20_000)];
    finds(&[&other], 0, 1, "the customer `1` of `a` has another `opportunityId`");
    for absent in [None, Some("")] {
        let none = [Row { opportunity_id: absent, ..row(0, "a", "1", 20_000) }];
        finds(&[&none], 0, 0, "a customer of `a` has no `opportunityId`");
    }
}

#[test]
fn spend_stands_in_order() {
    let unordered = [
        [(Some("b"), 20_000), (Some("a"), 20_000)],
        [(Some("a"), 20_001), (Some("a"), 20_000)],
        // Of a later quarter and an earlier one.
        [(Some("a"), 20_100), (Some("b"), 20_000)],
    ];
    for rows in unordered {
        let mut place = Place::sound();
        place.spend(&rows);
        place.recommit();
        let fault = "spend.parquet`, row group 0, row 1: the rows are not in the order of quarters, accounts and dates";
        assert!(place.fault().ends_with(fault), "{}", place.fault());
    }
}

#[test]
fn accounts_occur_once() {
    let mut place = Place::sound();
    place.accounts(&["a", "a"]);
    place.recommit();
    assert!(place.fault().contains("accounts.parquet`: row 1, column `account`"), "{}", place.fault());
    assert_eq!(place.refused(), place.fault());
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
        ("{\"account\":\"a\",\"date\":\"2025-01-01\"}\n", "line 1: no document: missing field `insight`"),
    ];
    for (text, fault) in cases {
        let mut place = Place::sound();
        place.insights(text);
        place.recommit();
        assert!(place.fault().contains(&format!("insights.ndjson`, {fault}")), "{}", place.fault());
    }
}

#[test]
fn every_file_at_fault_is_told() {
    let mut place = Place::sound();
    place.add_events(&[events(&[row(0, "a", "1", 20_000)])]);
    place.spend(&[(Some("b"), 20_000), (Some("a"), 20_000)]);
    place.insights("{}\n");
    place.recommit();
    let faults = place.faults();
    assert_eq!(faults.len(), 3, "{faults:?}");
}
