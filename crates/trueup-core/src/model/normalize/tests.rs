use super::super::Account;
use super::super::tests::{table, texts};
use super::*;
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, TimestampMicrosecondType};
use arrow_array::{
    Array, BinaryArray, Date32Array, Float64Array, Int64Array, TimestampMicrosecondArray, TimestampSecondArray,
};

/// Returns a valid row, in which the columns of `values` have these values instead.
fn row(values: &[(&str, &str)]) -> RecordBatch {
    let mut columns = vec![(ACCOUNT, "a"), (OPPORTUNITY_ID, "1"), (TYPE, "booked"), (DATE, "2025-01-31")];
    for (name, value) in values {
        columns.retain(|(column, _)| column != name);
        columns.push((name, value));
    }
    table(columns.into_iter().map(|(name, value)| (name, texts(&[value]))).collect())
}

fn accounts() -> Accounts {
    let mut accounts = Accounts::default();
    accounts.insert(Account { time_zone: "America/New_York".parse().unwrap(), ..Account::new("ny") });
    accounts.insert(Account { time_zone: "Pacific/Kiritimati".parse().unwrap(), ..Account::new("ki") });
    accounts.insert(Account { time_zone: "Asia/Tokyo".parse().unwrap(), ..Account::new("jp") });
    accounts
}

fn normalize(batch: &RecordBatch) -> Normalized {
    EventNormalizer::new(&batch.schema(), &accounts()).unwrap().normalize(batch).unwrap()
}

/// Returns the column, value and reason of the fault of a row with these values.
fn fault(values: &[(&str, &str)]) -> (String, String, Reason) {
    let normalized = normalize(&row(values));
    assert_eq!(normalized.batch.num_rows(), 0);
    let fault = normalized.faults.into_iter().next().unwrap();
    (fault.column, fault.value, fault.reason)
}

fn date_of(values: &[(&str, &str)]) -> String {
    let normalized = normalize(&row(values));
    assert_eq!(normalized.faults, []);
    let days = normalized.batch.column(3).as_primitive::<Date32Type>();
    days.value_as_date(0).unwrap().to_string()
}

#[test]
fn the_stored_form_has_the_leading_columns_then_the_extra_ones() {
    let batch = table(vec![
        ("zip", Arc::new(Int64Array::from(vec![Some(10115), None]))),
        (TOTAL, Arc::new(Float64Array::from(vec![Some(99.5), None]))),
        ("bookRate", texts(&["1", "1"])),
        (TYPE, texts(&["sold", "lead-originated"])),
        (OPPORTUNITY_ID, Arc::new(Int64Array::from(vec![7, 8]))),
        (DATE_TIME, Arc::new(TimestampSecondArray::from(vec![Some(0), None]).with_timezone("UTC"))),
        ("week", texts(&["", ""])),
        (ACCOUNT, texts(&["a", "b"])),
        (EVENT_ID, texts(&["e1", ""])),
        (DATE, Arc::new(Date32Array::from(vec![None, Some(3)]))),
        ("campaign", texts(&["", "[Va] Drain"])),
    ]);
    let normalizer = EventNormalizer::new(&batch.schema(), &Accounts::default()).unwrap();
    assert_eq!(normalizer.ignored_columns(), ["bookRate", "week"]);
    let normalized = normalizer.normalize(&batch).unwrap();
    assert_eq!((&normalized.faults[..], &normalized.rows[..]), (&[][..], &[0, 1][..]));
    let stored = normalized.batch;
    assert_eq!(stored.schema(), stored_event_schema(["zip", "campaign"]));
    let text = |column: usize, row: usize| {
        let column = stored.column(column).as_string::<i32>();
        if column.is_valid(row) { column.value(row).to_owned() } else { String::new() }
    };
    assert_eq!([0, 1, 2, 5, 7, 8].map(|column| text(column, 0)), ["a", "7", "sold", "e1", "", "10115"]);
    assert_eq!([0, 1, 2, 5, 7, 8].map(|column| text(column, 1)), ["b", "8", "lead-originated", "", "[Va] Drain", ""]);
    assert_eq!(stored.column(3).as_primitive::<Date32Type>().values(), &[0, 3]);
    assert!(stored.column(4).is_null(1) && stored.column(5).is_null(1) && stored.column(6).is_null(1));
    assert_eq!(stored.column(4).as_primitive::<TimestampMicrosecondType>().value(0), 0);
    assert_eq!(stored.column(6).as_primitive::<Decimal128Type>().value(0), 99_500_000);
    // A stored batch normalizes to itself.
    assert_eq!(normalize(&stored).batch, stored);
}

#[test]
fn each_bad_value_is_rejected() {
    for (column, value, reason) in [
        (ACCOUNT, "", Reason::Empty),
        (ACCOUNT, "a,b", Reason::AccountKey),
        (ACCOUNT, "a/b", Reason::AccountKey),
        (OPPORTUNITY_ID, "", Reason::Empty),
        (TYPE, "", Reason::Stage),
        (TYPE, "Booked", Reason::Stage),
        (TYPE, "lost", Reason::Stage),
        (DATE, "2025-02-30", Reason::Date),
        (DATE, "1969-12-31", Reason::Date),
        (DATE, "2149-06-07", Reason::Date),
        (DATE_TIME, "yesterday", Reason::DateTime),
        (TOTAL, "$1,200.00", Reason::Amount),
        (TOTAL, "NaN", Reason::Amount),
        (TOTAL, "inf", Reason::Amount),
        (TOTAL, "9000000000000.01", Reason::AmountRange),
    ] {
        assert_eq!(fault(&[(column, value)]), (column.to_owned(), value.to_owned(), reason));
    }
    assert_eq!(fault(&[(DATE, "")]), (DATE.to_owned(), String::new(), Reason::NoDate));
    assert_eq!(fault(&[(DATE, ""), (DATE_TIME, "")]).2, Reason::NoDate);
}

#[test]
fn a_missing_date_is_that_of_the_point_in_time_in_the_accounts_time_zone() {
    let at = |account, date_time| date_of(&[(ACCOUNT, account), (DATE, ""), (DATE_TIME, date_time)]);
    assert_eq!(at("utc", "2025-03-01T02:00:00Z"), "2025-03-01");
    assert_eq!(at("ny", "2025-03-01T02:00:00Z"), "2025-02-28");
    assert_eq!(at("ny", "2025-07-01T03:59:59Z"), "2025-06-30");
    assert_eq!(at("ny", "2025-07-01T04:00:00Z"), "2025-07-01");
    assert_eq!(at("ki", "2025-03-01T10:00:00Z"), "2025-03-02");
}

#[test]
fn date_and_point_in_time_are_at_most_a_day_apart() {
    let near = |account, date, date_time| date_of(&[(ACCOUNT, account), (DATE, date), (DATE_TIME, date_time)]);
    assert_eq!(near("utc", "2025-03-02", "2025-03-01T23:00:00Z"), "2025-03-02");
    assert_eq!(near("utc", "2025-02-28", "2025-03-01T23:00:00Z"), "2025-02-28");
    assert_eq!(near("ki", "2025-03-03", "2025-03-01T10:00:00Z"), "2025-03-03");
    assert_eq!(near("ki", "2025-03-01", "2025-03-01T10:00:00Z"), "2025-03-01");
    let (column, value, reason) = fault(&[(ACCOUNT, "ny"), (DATE, "2025-03-02"), (DATE_TIME, "2025-03-01T02:00:00Z")]);
    assert_eq!((column.as_str(), value.as_str()), (DATE, "2025-03-02"));
    assert_eq!(
        reason.to_string(),
        "expected a date at most a day from the dateTime, which falls on 2025-02-28 in the time zone `America/New_York`"
    );
}

#[test]
fn a_point_in_time_outside_the_range_has_no_date() {
    let (column, value, reason) = fault(&[(DATE, ""), (DATE_TIME, "1969-12-31T23:59:59Z")]);
    assert_eq!((column.as_str(), value.as_str(), reason), (DATE_TIME, "1969-12-31T23:59:59Z", Reason::DateTimeRange));
    assert_eq!(date_of(&[(ACCOUNT, "jp"), (DATE, ""), (DATE_TIME, "1969-12-31T23:59:59Z")]), "1970-01-01");
    // The given date counts even if the point in time is slightly outside the range.
    assert_eq!(date_of(&[(DATE, "2149-06-06"), (DATE_TIME, "2149-06-07T01:00:00Z")]), "2149-06-06");
    let far = table(vec![
        (ACCOUNT, texts(&["a"])),
        (OPPORTUNITY_ID, texts(&["1"])),
        (TYPE, texts(&["sold"])),
        (DATE_TIME, Arc::new(TimestampMicrosecondArray::from(vec![i64::MAX]).with_timezone("UTC"))),
    ]);
    assert_eq!(normalize(&far).faults[0].reason, Reason::DateTimeRange);
}

#[test]
fn a_time_without_an_offset_is_read_in_the_time_zone_that_is_stated() {
    let batch = table(vec![
        (ACCOUNT, texts(&["ny", "utc", "ki"])),
        (OPPORTUNITY_ID, texts(&["1", "2", "3"])),
        (TYPE, texts(&["sold", "sold", "sold"])),
        (DATE_TIME, texts(&["2025-03-01 22:00", "2025-03-01 22:00", "2025-03-01T22:00:00Z"])),
    ]);
    let read = |zone: Option<&str>| {
        let normalizer = EventNormalizer::new(batch.schema_ref(), &accounts()).unwrap();
        let normalized = normalizer.clock_zone(zone.map(|zone| zone.parse().unwrap())).normalize(&batch).unwrap();
        let days = normalized.batch.column(3).as_primitive::<Date32Type>().values().to_vec();
        let times = normalized.batch.column(4).as_primitive::<TimestampMicrosecondType>().values().to_vec();
        let shown = |(day, time): (i32, i64)| {
            let day = crate::Day::from_number(u16::try_from(day).unwrap());
            format!("{day} {}", format_date_time(UtcMicros(time)).unwrap())
        };
        let faults: Vec<String> = normalized.faults.iter().map(ToString::to_string).collect();
        (days.into_iter().zip(times).map(shown).collect::<Vec<_>>(), faults)
    };
    let third = "2025-03-02 2025-03-01T22:00:00Z";
    let refused = "column `dateTime`: expected a point in time with an offset, such as `2025-01-31T09:30:00-05:00`, or one of \
                   `--time-zone account` (the time zone of each account), `--time-zone UTC` and `--time-zone America/New_York` \
                   (or any other), but found `2025-03-01 22:00`";
    assert_eq!(read(None), (vec![third.to_owned()], vec![refused.to_owned(); 2]));
    for (zone, first, second) in [
        ("account", "2025-03-01 2025-03-02T03:00:00Z", "2025-03-01 2025-03-01T22:00:00Z"),
        ("UTC", "2025-03-01 2025-03-01T22:00:00Z", "2025-03-01 2025-03-01T22:00:00Z"),
        ("Asia/Tokyo", "2025-03-01 2025-03-01T13:00:00Z", "2025-03-01 2025-03-01T13:00:00Z"),
    ] {
        assert_eq!(read(Some(zone)), (vec![first.to_owned(), second.to_owned(), third.to_owned()], vec![]), "{zone}");
    }
}

#[test]
fn a_skipped_clock_time_is_rejected() {
    let row = row(&[(ACCOUNT, "ny"), (DATE, ""), (DATE_TIME, "2025-03-09T02:30:00")]);
    let normalizer = EventNormalizer::new(row.schema_ref(), &accounts()).unwrap().clock_zone(Some(ClockZone::Account));
    assert_eq!(
        normalizer.normalize(&row).unwrap().faults[0].to_string(),
        "column `dateTime`: expected a time that exists in the time zone `America/New_York`, where clocks skip this one, but \
         found `2025-03-09T02:30:00`"
    );
}

#[test]
fn bad_rows_are_rejected_with_one_fault_each() {
    let batch = table(vec![
        (ACCOUNT, texts(&["a", "", "a", "a"])),
        (OPPORTUNITY_ID, texts(&["1", "", "3", "4"])),
        (TYPE, texts(&["sold", "sold", "sold", "lost"])),
        (DATE, texts(&["2025-01-01", "?", "2025-01-03", "2025-01-04"])),
        (TOTAL, texts(&["1", "x", "3", &"9".repeat(300)])),
    ]);
    let normalized = normalize(&batch);
    assert_eq!(normalized.rows, [0, 2]);
    assert_eq!(normalized.batch.num_rows(), 2);
    let faults: Vec<_> = normalized.faults.iter().map(|fault| (fault.row, fault.column.as_str())).collect();
    assert_eq!(faults, [(1, ACCOUNT), (3, TYPE)]);
    assert_eq!(fault(&[(TOTAL, &"9".repeat(300))]).1, format!("{}... (300 characters)", "9".repeat(200)));
}

#[test]
fn missing_columns_and_wrong_types_are_refused() {
    let refused = |batch: &RecordBatch| EventNormalizer::new(&batch.schema(), &accounts()).unwrap_err().to_string();
    let without = |name: &str| {
        row(&[]).project(&(0..4).filter(|at| row(&[]).schema().field(*at).name() != name).collect::<Vec<_>>()).unwrap()
    };
    for name in [ACCOUNT, OPPORTUNITY_ID, TYPE] {
        assert!(refused(&without(name)).starts_with(&format!("expected a column `{name}`, but found `")), "{name}");
    }
    assert_eq!(
        refused(&without(DATE)),
        "expected a column `date` or `dateTime`, but found `account`, `opportunityId`, `type`"
    );
    assert_eq!(
        refused(&row(&[]).project(&[1]).unwrap()),
        "expected the columns `account`, `type` and `date` or `dateTime`, but found `opportunityId`"
    );
    let mut with: Vec<(&str, ArrayRef)> = vec![
        (ACCOUNT, texts(&["a"])),
        (OPPORTUNITY_ID, texts(&["1"])),
        (TYPE, texts(&["sold"])),
        (DATE, texts(&["2025-01-01"])),
    ];
    with.push(("blob", Arc::new(BinaryArray::from_vec(vec![b"x"]))));
    assert_eq!(
        refused(&table(with.clone())),
        "expected text, booleans, numbers, dates or points in time in column `blob`, but found Binary"
    );
    with[4] = (TOTAL, Arc::new(Date32Array::from(vec![1])));
    assert_eq!(refused(&table(with.clone())), "expected amounts in column `total`, but found Date32");
    with[4] = (DATE_TIME, Arc::new(Int64Array::from(vec![1])));
    assert_eq!(refused(&table(with)), "expected points in time in column `dateTime`, but found Int64");
}

#[test]
fn a_batch_of_another_schema_is_refused() {
    let normalizer = EventNormalizer::new(&row(&[]).schema(), &accounts()).unwrap();
    assert!(normalizer.normalize(&row(&[(TOTAL, "1")])).is_err());
    assert_eq!(normalizer.normalize(&row(&[]).slice(0, 0)).unwrap().batch.num_rows(), 0);
}

#[test]
fn leading_names_in_another_spelling_are_refused() {
    for meant in LEADING {
        let (first, rest) = meant.split_at(1);
        let blanks = [format!(" {meant}"), format!("{meant}\u{a0}\t")];
        let invisible = [format!("{meant}\u{200b}"), format!("{first}\u{ad}{rest}"), format!("\u{feff} {meant}")];
        for given in [meant.to_uppercase()].into_iter().chain(blanks).chain(invisible) {
            let fault = EventNormalizer::new(row(&[(&given, "1")]).schema_ref(), &accounts()).unwrap_err();
            assert_eq!(fault, SchemaFault::OtherSpelling { column: given, meant });
        }
    }
    let fault = EventNormalizer::new(row(&[("total\u{200b} ", "1")]).schema_ref(), &accounts()).unwrap_err();
    assert_eq!(fault.to_string(), "expected the column `total` in this very spelling, but found `total\\u{200b} `");
    // The names of dimensions are not checked: a table may have both `Campaign` and `campaign`.
    assert!(EventNormalizer::new(row(&[("Campaign", "1"), ("campaign", "2")]).schema_ref(), &accounts()).is_ok());
}
