use super::*;
use arrow_array::{
    ArrayRef, Date32Array, Date64Array, StringArray, TimestampMicrosecondArray, TimestampMillisecondArray,
    TimestampNanosecondArray, TimestampSecondArray,
};
use std::sync::Arc;

fn days(values: impl Array + 'static) -> (Vec<Option<String>>, Vec<Reason>) {
    let values: ArrayRef = Arc::new(values);
    let mut faults = CellFaults::default();
    let days = read_days(&PlainColumn::new("date", &values).unwrap(), &mut faults).unwrap();
    let texts = days.into_iter().map(|day| day.map(|day| day.to_string())).collect();
    (texts, faults.into_faults().into_iter().map(|fault| fault.reason).collect())
}

#[test]
fn dates_are_read_from_dates_and_from_timestamps_at_midnight() {
    let second = Some("1970-01-02".to_owned());
    let day = 86_400;
    for (read, faults) in [
        days(Date32Array::from(vec![Some(1), None])),
        days(Date64Array::from(vec![Some(day * 1_000), None])),
        days(TimestampSecondArray::from(vec![Some(day), None])),
        days(TimestampMillisecondArray::from(vec![Some(day * 1_000), None])),
        days(TimestampMicrosecondArray::from(vec![Some(day * 1_000_000), None]).with_timezone("UTC")),
        days(TimestampNanosecondArray::from(vec![Some(day * 1_000_000_000), None])),
        days(StringArray::from(vec![Some("1970-01-02"), Some("")])),
    ] {
        assert_eq!((read, faults), (vec![second.clone(), None], vec![]));
    }
}

#[test]
fn a_date_with_a_time_of_day_is_rejected() {
    assert_eq!(days(TimestampSecondArray::from(vec![86_401])), (vec![None], vec![Reason::TimeOfDay]));
    assert_eq!(days(Date64Array::from(vec![1])), (vec![None], vec![Reason::TimeOfDay]));
}

#[test]
fn dates_outside_the_range_and_other_texts_are_rejected() {
    assert_eq!(days(Date32Array::from(vec![-1, 65_536])), (vec![None, None], vec![Reason::Date, Reason::Date]));
    let last = Some("2149-06-06".to_owned());
    assert_eq!(days(Date32Array::from(vec![65_535])), (vec![last], vec![]));
    for text in
        ["2149-06-07", "1969-12-31", "2025-13-01", "2025-02-29", "01/02/2025", "2025-01-01T00:00:00Z", " 2025-01-01"]
    {
        assert_eq!(days(StringArray::from(vec![text])), (vec![None], vec![Reason::Date]), "{text}");
    }
}

#[test]
fn points_in_time_are_microseconds_in_utc() {
    let instants = |values: ArrayRef| {
        let mut faults = CellFaults::default();
        let instants = read_instants(&PlainColumn::new("dateTime", &values).unwrap(), &mut faults).unwrap();
        (instants, faults.into_faults().into_iter().map(|fault| fault.reason).collect::<Vec<_>>())
    };
    let text = StringArray::from(vec![Some("1970-01-01T00:00:01+00:00"), Some(""), None, Some("noon")]);
    assert_eq!(instants(Arc::new(text)), (vec![Some(1_000_000), None, None, None], vec![Reason::DateTime]));
    let zoned = TimestampMillisecondArray::from(vec![1]).with_timezone("Asia/Tokyo");
    assert_eq!(instants(Arc::new(zoned)), (vec![Some(1_000)], vec![]));
    assert_eq!(instants(Arc::new(TimestampNanosecondArray::from(vec![1_999]))), (vec![Some(1)], vec![]));
    assert_eq!(
        instants(Arc::new(TimestampSecondArray::from(vec![i64::MAX]))),
        (vec![None], vec![Reason::DateTimeRange])
    );
}
