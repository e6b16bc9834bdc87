use super::*;

fn table<const N: usize>(columns: [(&str, Vec<Option<&str>>); N]) -> RecordBatch {
    let columns = columns.map(|(name, values)| (name, Arc::new(StringArray::from(values)) as ArrayRef, true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// Returns the column, value and reason of the fault of a row with this value.
fn refused(column: &str, value: Option<&str>) -> (String, String, Reason) {
    let batch = match column {
        ACCOUNT => table([(ACCOUNT, vec![value])]),
        _ => table([(ACCOUNT, vec![Some("a")]), (column, vec![value])]),
    };
    let fault = Accounts::default().read(&batch, &|_| true).unwrap().faults.remove(0);
    (fault.column, fault.value, fault.reason)
}

#[test]
fn missing_values_have_their_defaults() {
    let accounts = Accounts::from_batches(&[
        table([(ACCOUNT, vec![Some("a")])]),
        table([
            (ACCOUNT, vec![Some("b"), Some("c")]),
            (ACCOUNT_NAME, vec![Some(""), Some("Cee")]),
            (INDUSTRY, vec![None, Some("Roofing")]),
            (TIME_ZONE, vec![Some(""), Some("America/New_York")]),
            (LEAD_GRADING, vec![None, Some("true")]),
            ("other", vec![None, None]),
        ]),
    ])
    .unwrap();
    assert_eq!(accounts.get("a"), Some(&Account::new("a")));
    assert_eq!(accounts.get("b"), Some(&Account::new("b")));
    let c = accounts.get("c").unwrap();
    assert_eq!((c.name.as_str(), c.industry.as_deref(), c.lead_grading), ("Cee", Some("Roofing"), true));
    assert_eq!(accounts.time_zone("c"), "America/New_York".parse().unwrap());
    assert_eq!((accounts.name("d"), accounts.time_zone("d"), accounts.lead_grading("d")), ("d", Zone::UTC, false));
    assert_eq!(accounts.len(), 3);
}

#[test]
fn accounts_written_as_a_table_read_back_equal() {
    let mut accounts = Accounts::default();
    accounts.insert(Account { time_zone: "Europe/Berlin".parse().unwrap(), lead_grading: true, ..Account::new("b") });
    let currency = Some("CAD".parse().unwrap());
    accounts.insert(Account { name: "A".to_owned(), industry: Some("HVAC".to_owned()), currency, ..Account::new("a") });
    assert_eq!(Accounts::from_batches(&[accounts.to_batch().unwrap()]).unwrap(), accounts);
    let none = Accounts::default();
    assert_eq!(Accounts::from_batches(&[none.to_batch().unwrap()]).unwrap(), none);
}

#[test]
fn each_bad_value_is_rejected() {
    assert_eq!(refused(ACCOUNT, None), (ACCOUNT.to_owned(), String::new(), Reason::Empty));
    assert_eq!(refused(ACCOUNT, Some("")).2, Reason::Empty);
    assert_eq!(refused(ACCOUNT, Some("a,b")), (ACCOUNT.to_owned(), "a,b".to_owned(), Reason::AccountKey));
    assert_eq!(refused(ACCOUNT, Some("a/b")).2, Reason::AccountKey);
    assert_eq!(refused(TIME_ZONE, Some("Mars")), (TIME_ZONE.to_owned(), "Mars".to_owned(), Reason::TimeZone));
    assert_eq!(refused(LEAD_GRADING, Some("yes")), (LEAD_GRADING.to_owned(), "yes".to_owned(), Reason::Boolean));
    for code in ["usd", "US", "USDT", "U.S", "€"] {
        assert_eq!(refused(CURRENCY, Some(code)), (CURRENCY.to_owned(), code.to_owned(), Reason::Currency));
    }
}

#[test]
fn an_account_occurs_at_most_once_in_all_batches() {
    let batch = table([(ACCOUNT, vec![Some("a"), Some("b"), Some("a")])]);
    let mut accounts = Accounts::default();
    let read = accounts.read(&batch, &|_| true).unwrap();
    assert_eq!(read.rows, 2);
    assert_eq!((read.faults[0].row, &read.faults[0].reason), (2, &Reason::DuplicateAccount));
    let read = accounts.read(&batch.slice(1, 1), &|_| true).unwrap();
    assert_eq!((read.rows, read.faults.len()), (0, 1));
    assert_eq!(read.faults[0].to_string(), "column `account`: expected each account once, but found `b`");
}

#[test]
fn lead_grading_may_be_a_boolean() {
    let keys: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "c"]));
    let gradings: ArrayRef = Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]));
    let batch =
        RecordBatch::try_from_iter_with_nullable([(ACCOUNT, keys, true), (LEAD_GRADING, gradings, true)]).unwrap();
    let accounts = Accounts::from_batches(&[batch]).unwrap();
    assert_eq!(["a", "b", "c"].map(|key| accounts.lead_grading(key)), [true, false, false]);
}

#[test]
fn later_accounts_replace_earlier_ones() {
    let mut accounts = Accounts::from_batches(&[table([(ACCOUNT, vec![Some("a"), Some("b")])])]).unwrap();
    accounts.merge(
        Accounts::from_batches(&[table([(ACCOUNT, vec![Some("b")]), (ACCOUNT_NAME, vec![Some("Bee")])])]).unwrap(),
    );
    assert_eq!((accounts.name("a"), accounts.name("b")), ("a", "Bee"));
}

#[test]
fn the_fault_of_a_table_without_accounts_lists_its_columns() {
    let fault = Accounts::from_batches(&[table([("name", vec![]), ("zip", vec![])])]).unwrap_err();
    assert_eq!(fault.to_string(), "expected a column `account`, but found `name`, `zip`");
}

#[test]
fn known_names_in_another_letter_case_are_refused() {
    for (given, meant) in [("Account", ACCOUNT), ("timezone", TIME_ZONE), ("LEADGRADING", LEAD_GRADING)] {
        let fault = Accounts::from_batches(&[table([(ACCOUNT, vec![]), (given, vec![])])]).unwrap_err();
        assert_eq!(
            fault.to_string(),
            format!("expected the column `{meant}` in this very spelling, but found `{given}`")
        );
    }
}
