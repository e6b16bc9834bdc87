use super::super::tests::{table, texts};
use super::*;
use arrow_array::{Float64Array, Int32Array};
use std::collections::BTreeSet;
use std::iter::once;

fn normalize(batch: &RecordBatch) -> Normalized {
    SpendNormalizer::new(&batch.schema()).unwrap().normalize(batch).unwrap()
}

fn row(name: &str, value: ArrayRef) -> RecordBatch {
    let row = [(ACCOUNT, texts(&["a"])), (DATE, texts(&["2025-01-31"])), ("adSpend", texts(&["1"]))];
    table(row.into_iter().filter(|(column, _)| *column != name).chain(once((name, value))).collect())
}

#[test]
fn the_stored_form_has_all_columns() {
    let batch = table(vec![
        ("clicks", Arc::new(Float64Array::from(vec![Some(12.0), None]))),
        ("adSpend", texts(&["10.25", ""])),
        (DATE, texts(&["2025-01-02", "2025-01-01"])),
        ("agency", texts(&["x", "y"])),
        ("campaign", texts(&["", "Brand"])),
        (ACCOUNT, texts(&["a", "a"])),
        ("impressions", texts(&["9000000000000", "0"])),
    ]);
    let normalizer = SpendNormalizer::new(&batch.schema()).unwrap();
    assert_eq!(normalizer.ignored_columns(), ["agency"]);
    let normalized = normalizer.normalize(&batch).unwrap();
    assert_eq!((&normalized.faults[..], &normalized.rows[..]), (&[][..], &[0, 1][..]));
    let stored = normalized.batch;
    assert_eq!(stored.schema(), stored_spend_schema());
    assert_eq!(stored.column(6).as_primitive::<Decimal128Type>().iter().collect::<Vec<_>>(), [Some(10_250_000), None]);
    assert_eq!(stored.column(8).as_primitive::<Int64Type>().iter().collect::<Vec<_>>(), [Some(12), None]);
    assert_eq!(stored.column(9).as_primitive::<Int64Type>().value(0), 9_000_000_000_000);
    assert!(stored.column(5).is_null(0));
    assert_eq!(stored.column(7).null_count(), 2);
    // A stored batch normalizes to itself.
    assert_eq!(normalize(&stored).batch, stored);
}

#[test]
fn each_bad_value_is_rejected() {
    for (column, value, reason) in [
        (ACCOUNT, texts(&[""]), Reason::Empty),
        (ACCOUNT, texts(&["a,b"]), Reason::AccountKey),
        (DATE, texts(&[""]), Reason::Date),
        (DATE, texts(&["31.01.2025"]), Reason::Date),
        ("adSpend", texts(&["$5"]), Reason::Amount),
        ("managementFee", Arc::new(Float64Array::from(vec![f64::INFINITY])), Reason::Amount),
        ("clicks", Arc::new(Int32Array::from(vec![-1])), Reason::Count),
        ("clicks", Arc::new(Float64Array::from(vec![1.5])), Reason::Count),
        ("clicks", Arc::new(Float64Array::from(vec![f64::NAN])), Reason::Count),
        ("impressions", texts(&["1e3"]), Reason::Count),
        ("impressions", texts(&["+1"]), Reason::Count),
        ("impressions", texts(&["1.0"]), Reason::Count),
        ("impressions", texts(&["9223372036854775808"]), Reason::Count),
    ] {
        let normalized = normalize(&row(column, value));
        assert_eq!(normalized.batch.num_rows(), 0, "{column}: {reason}");
        assert_eq!((normalized.faults[0].column.as_str(), &normalized.faults[0].reason), (column, &reason));
    }
}

#[test]
fn account_and_date_are_required() {
    let refused = |batch: &RecordBatch| SpendNormalizer::new(&batch.schema()).unwrap_err().to_string();
    assert_eq!(refused(&table(vec![(DATE, texts(&[]))])), "expected a column `account`, but found `date`");
    assert_eq!(refused(&table(vec![(ACCOUNT, texts(&[]))])), "expected a column `date`, but found `account`");
    let boolean: ArrayRef = Arc::new(arrow_array::BooleanArray::from(vec![true]));
    assert_eq!(refused(&row("clicks", boolean)), "expected whole numbers in column `clicks`, but found Boolean");
}

#[test]
fn a_table_without_amounts_and_counts_is_refused() {
    let schema = |names: &[&str]| {
        Schema::new(names.iter().map(|name| Field::new(*name, DataType::Utf8, true)).collect::<Vec<_>>())
    };
    let bare = schema(&[ACCOUNT, DATE, "campaign", "cost"]);
    assert_eq!(
        SpendNormalizer::new(&bare).unwrap_err().to_string(),
        "expected a column `adSpend`, `managementFee`, `clicks` or `impressions`, but found `account`, `date`, `campaign`, `cost`"
    );
    assert!(SpendNormalizer::of_part(&bare).unwrap().no_spend().is_some(), "another part may have them");
    for measure in ["adSpend", "managementFee", "clicks", "impressions"] {
        assert!(SpendNormalizer::new(&schema(&[ACCOUNT, DATE, measure])).is_ok(), "{measure}");
    }
}

#[test]
fn known_names_in_another_spelling_are_refused() {
    for meant in SPEND_COLUMNS {
        let given = meant.to_uppercase();
        let fault = SpendNormalizer::new(row(&given, texts(&["1"])).schema_ref()).unwrap_err();
        assert_eq!(fault, SchemaFault::OtherSpelling { column: given, meant });
    }
}

#[test]
fn the_known_columns_are_the_stored_ones() {
    assert_eq!(names(&stored_spend_schema()), SPEND_COLUMNS);
}

#[test]
fn the_order_is_by_quarter_account_and_date_whatever_the_input() {
    let given = table(vec![
        (ACCOUNT, texts(&["b", "a", "a", "a", "a", "a", "c"])),
        (
            DATE,
            texts(&["2025-01-01", "2025-01-02", "2025-01-01", "2025-01-01", "2025-01-01", "2025-04-01", "2024-12-31"]),
        ),
        ("campaign", texts(&["", "", "z", "", "z", "", ""])),
        ("clicks", texts(&["1", "2", "4", "3", "5", "6", "7"])),
    ]);
    let stored = normalize(&given).batch;
    let sorted = sort_spend(&stored).unwrap();
    assert_eq!(sorted.column(8).as_primitive::<Int64Type>().values(), &[7, 3, 4, 5, 2, 1, 6]);
    let order = SpendOrder::new(&stored).unwrap();
    assert_eq!(order.equal_rows().count(), 0);
    let twice = concat_spend(&[stored.clone(), stored.slice(2, 2)]).unwrap();
    let equal: Vec<Vec<u32>> = SpendOrder::new(&twice).unwrap().equal_rows().map(<[u32]>::to_vec).collect();
    assert_eq!(equal.into_iter().map(BTreeSet::from_iter).collect::<Vec<_>>(), [[3, 8], [2, 7]].map(BTreeSet::from));
    let halves = [stored.slice(3, 4), stored.slice(0, 3)];
    assert_eq!(sort_spend(&concat_spend(&halves).unwrap()).unwrap(), sorted);
    assert_eq!(sort_spend(&sorted).unwrap(), sorted);
    assert_eq!(sort_spend(&concat_spend(&[]).unwrap()).unwrap().num_rows(), 0);
    assert!(sort_spend(&given).is_err());
    assert!(concat_spend(&[stored.project(&[0, 1]).unwrap()]).is_err());
}
