use super::*;
use arrow_array::{Date32Array, Float64Array};

fn texts(columns: &[(&str, Vec<Option<&str>>)]) -> RecordBatch {
    let column = |(name, values): &(&str, Vec<Option<&str>>)| {
        (name.to_string(), Arc::new(StringArray::from(values.clone())) as ArrayRef, true)
    };
    RecordBatch::try_from_iter_with_nullable(columns.iter().map(column)).unwrap()
}

/// Returns a table of one row, in which one column has another value.
fn one(column: &str, value: Option<&str>) -> RecordBatch {
    let columns = [(ACCOUNT, "a"), (MONTH, "2026-05"), (METRIC, "spend"), (VALUE, "1")];
    texts(&columns.map(|(name, usual)| (name, vec![if name == column { value } else { Some(usual) }])))
}

/// Returns the column, value and reason of the fault of a row with this value.
fn refused(column: &str, value: Option<&str>) -> (String, String, Reason) {
    let fault = Targets::default().read(&one(column, value), &|name| name == "spend").unwrap().faults.remove(0);
    (fault.column, fault.value, fault.reason)
}

fn key(account: &str, month: &str, metric: &str, channel: &str) -> TargetKey {
    TargetKey {
        account: account.to_owned(),
        month: month.parse().unwrap(),
        metric: metric.to_owned(),
        dimensions: [String::new(), channel.to_owned(), String::new()],
    }
}

#[test]
fn a_later_row_replaces_one_with_the_same_key() {
    let batch = texts(&[
        (ACCOUNT, vec![Some("a"), Some("a"), Some("a"), Some("a")]),
        (MONTH, vec![Some("2026-05"), Some("2026-05-01"), Some("2026-05"), Some("2026-06")]),
        (METRIC, vec![Some("spend"); 4]),
        (VALUE, vec![Some("1"), Some("2.5"), Some("3"), Some("0.0000005")]),
        (CHANNEL, vec![None, Some(""), Some("Radio"), None]),
        ("note", vec![None; 4]),
    ]);
    let mut targets = Targets::default();
    let read = targets.read(&batch, &|_| true).unwrap();
    assert_eq!((read.rows, read.faults.len(), read.replaced), (4, 0, 1));
    let all: Vec<_> = targets.iter().map(|(key, value)| (key.clone(), value)).collect();
    let expected = [
        (key("a", "2026-05-01", "spend", ""), 2_500_000),
        (key("a", "2026-05-01", "spend", "Radio"), 3_000_000),
        (key("a", "2026-06-01", "spend", ""), 1),
    ];
    assert_eq!(all, expected);
    assert_eq!(targets.metrics().into_iter().collect::<Vec<_>>(), ["spend"]);
}

#[test]
fn dates_and_numbers_of_other_types_are_read() {
    let columns: [(&str, ArrayRef); 4] = [
        (ACCOUNT, Arc::new(StringArray::from(vec!["a"]))),
        (MONTH, Arc::new(Date32Array::from(vec![20_574]))),
        (METRIC, Arc::new(StringArray::from(vec!["bookRate"]))),
        (VALUE, Arc::new(Float64Array::from(vec![0.35]))),
    ];
    let targets = Targets::from_batches(&[RecordBatch::try_from_iter(columns).unwrap()]).unwrap();
    assert_eq!(targets.get(&key("a", "2026-05-01", "bookRate", "")), Some(350_000));
}

#[test]
fn targets_written_as_a_table_read_back_equal() {
    let mut targets = Targets::default();
    targets.insert(key("b", "2149-06-01", "leads", ""), 9_000_000_000_000_000_000);
    targets.insert(key("a", "1970-01-01", "spend", "Radio"), -1);
    assert_eq!(Targets::from_batches(&[targets.to_batch().unwrap()]).unwrap(), targets);
    let none = Targets::default();
    assert_eq!(Targets::from_batches(&[none.to_batch().unwrap()]).unwrap(), none);
}

#[test]
fn each_bad_value_is_rejected() {
    for column in [ACCOUNT, MONTH, METRIC, VALUE] {
        assert_eq!(refused(column, None), (column.to_owned(), String::new(), Reason::Empty));
    }
    assert_eq!(refused(ACCOUNT, Some("a,b")).2, Reason::AccountKey);
    for month in ["2026-5", "2026", "2026-13", "May 2026", "2026-05-02", "2149-07", "1969-12", "2026-05-01T00:00:00Z"] {
        assert_eq!(refused(MONTH, Some(month)), (MONTH.to_owned(), month.to_owned(), Reason::Month));
    }
    assert_eq!(refused(METRIC, Some("Spend")), (METRIC.to_owned(), "Spend".to_owned(), Reason::Metric));
    assert_eq!(refused(VALUE, Some("$5")).2, Reason::Amount);
    assert_eq!(refused(VALUE, Some("9000000000001")).2, Reason::AmountRange);
}

#[test]
fn a_missing_or_misspelled_column_is_refused() {
    let refused = |batch: &RecordBatch| Targets::default().read(batch, &|_| true).unwrap_err().to_string();
    let account = texts(&[(ACCOUNT, vec![Some("a")])]);
    assert_eq!(refused(&account), "expected the columns `month`, `metric` and `value`, but found `account`");
    let mut columns = vec![(ACCOUNT, vec![Some("a")]), (MONTH, vec![Some("2026-05")])];
    columns.extend([(METRIC, vec![Some("spend")]), (VALUE, vec![Some("1")]), ("Campaign", vec![None])]);
    let message = refused(&texts(&columns));
    assert_eq!(message, "expected the column `campaign` in this very spelling, but found `Campaign`");
}
