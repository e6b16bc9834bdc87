use super::*;
use arrow_array::{
    Date32Array, Date64Array, Decimal128Array, DictionaryArray, Float32Array, Float64Array, Int32Array,
    LargeStringArray, NullArray, StringViewArray, TimestampMicrosecondArray, TimestampMillisecondArray,
    TimestampNanosecondArray, TimestampSecondArray, UInt64Array, types::Int32Type as Keys,
};
use std::sync::Arc;

fn texts(values: impl Array + 'static) -> Vec<Option<String>> {
    let values: ArrayRef = Arc::new(values);
    let mut faults = CellFaults::default();
    let texts = PlainColumn::new("x", &values).unwrap().texts(&mut faults).unwrap();
    assert!(faults.is_empty());
    texts.iter().map(|text| text.map(str::to_owned)).collect()
}

fn some<const N: usize>(texts: [&str; N]) -> Vec<Option<String>> {
    texts.map(|text| Some(text.to_owned())).to_vec()
}

#[test]
fn texts_of_every_type_are_unchanged_and_empty_ones_become_null() {
    let expected = vec![Some(" a".to_owned()), None, None, Some("Ä".to_owned())];
    let given = vec![Some(" a"), Some(""), None, Some("Ä")];
    assert_eq!(texts(StringArray::from(given.clone())), expected);
    assert_eq!(texts(StringArray::from(given.clone()).slice(1, 3)), expected[1..]);
    assert_eq!(texts(LargeStringArray::from(given.clone())), expected);
    assert_eq!(texts(StringViewArray::from(given.clone())), expected);
    assert_eq!(texts(given.into_iter().collect::<DictionaryArray<Keys>>()), expected);
    assert_eq!(texts(NullArray::new(1)), [None]);
}

#[test]
fn dictionaries_of_every_type_are_decoded() {
    let keys = || Int32Array::from(vec![Some(2), None, Some(0), Some(1), Some(2)]);
    let expected = vec![Some("b".to_owned()), None, Some("a".to_owned()), None, Some("b".to_owned())];
    for values in [
        Arc::new(StringArray::from(vec![Some("a"), None, Some("b")])) as ArrayRef,
        Arc::new(LargeStringArray::from(vec!["a", "", "b"])),
        Arc::new(StringViewArray::from(vec!["a", "", "b"])),
    ] {
        assert_eq!(texts(DictionaryArray::<Keys>::new(keys(), values)), expected);
    }
    let decimals = Decimal128Array::from(vec![10, 20, 35]).with_precision_and_scale(5, 1).unwrap();
    let decimals = DictionaryArray::<Keys>::new(keys(), Arc::new(decimals));
    assert_eq!(texts(decimals)[..4], [Some("3.5".to_owned()), None, Some("1".to_owned()), Some("2".to_owned())]);
}

#[test]
fn booleans_and_integers_become_text() {
    assert_eq!(
        texts(BooleanArray::from(vec![Some(true), Some(false), None])),
        [some(["true", "false"]), vec![None]].concat()
    );
    assert_eq!(texts(Int32Array::from(vec![-7, 0])), some(["-7", "0"]));
    assert_eq!(texts(UInt64Array::from(vec![u64::MAX])), some(["18446744073709551615"]));
    let keys = Int32Array::from(vec![Some(1), None]);
    let numbers = DictionaryArray::<Keys>::new(keys, Arc::new(Int32Array::from(vec![5, 6])));
    assert_eq!(texts(numbers), [some(["6"]), vec![None]].concat());
}

#[test]
fn floats_are_the_numbers_of_ecmascript() {
    let values = vec![1.0, -0.0, 0.1, 1e21, 1e-7, 123_456_789_012_345_680_000.0, f64::NAN, f64::INFINITY];
    let expected = ["1", "0", "0.1", "1e+21", "1e-7", "123456789012345680000", "NaN", "Infinity"];
    assert_eq!(texts(Float64Array::from(values)), some(expected));
    assert_eq!(texts(Float32Array::from(vec![0.1])), some(["0.1"]));
}

#[test]
fn decimals_have_no_trailing_zeros() {
    let values = |scale| Decimal128Array::from(vec![1_500, -5, 0, 100]).with_precision_and_scale(9, scale).unwrap();
    assert_eq!(texts(values(2)), some(["15", "-0.05", "0", "1"]));
    assert_eq!(texts(values(0)), some(["1500", "-5", "0", "100"]));
    assert_eq!(texts(values(-2)), some(["150000", "-500", "0", "10000"]));
    assert_eq!(texts(values(5)), some(["0.015", "-0.00005", "0", "0.001"]));
}

#[test]
fn dates_become_text_as_days_and_timestamps_as_rfc_3339() {
    assert_eq!(texts(Date32Array::from(vec![0, -1])), some(["1970-01-01", "1969-12-31"]));
    assert_eq!(texts(Date64Array::from(vec![86_400_000])), some(["1970-01-02"]));
    assert_eq!(texts(TimestampSecondArray::from(vec![1])), some(["1970-01-01T00:00:01Z"]));
    assert_eq!(texts(TimestampMillisecondArray::from(vec![1_500])), some(["1970-01-01T00:00:01.5Z"]));
    let zoned = TimestampMicrosecondArray::from(vec![1]).with_timezone("America/New_York");
    assert_eq!(texts(zoned), some(["1970-01-01T00:00:00.000001Z"]));
    assert_eq!(texts(TimestampNanosecondArray::from(vec![-1])), some(["1969-12-31T23:59:59.999999Z"]));
}

#[test]
fn a_date_beyond_the_calendar_is_a_fault() {
    for (values, bare) in [
        (Arc::new(Date32Array::from(vec![i32::MAX])) as ArrayRef, "2147483647"),
        (Arc::new(Date64Array::from(vec![i64::MIN])), "-9223372036854775808"),
        (Arc::new(TimestampSecondArray::from(vec![i64::MAX])), "9223372036854775807"),
    ] {
        let mut faults = CellFaults::default();
        let texts = PlainColumn::new("signed", &values).unwrap().texts(&mut faults).unwrap();
        assert!(texts.is_null(0));
        let fault = faults.into_faults().remove(0);
        assert_eq!((fault.column.as_str(), fault.value.as_str(), fault.reason), ("signed", bare, Reason::Calendar));
    }
}

fn days(values: impl Array + 'static) -> (Vec<Option<String>>, Vec<Reason>) {
    let values: ArrayRef = Arc::new(values);
    let mut faults = CellFaults::default();
    let days = read_days(&PlainColumn::new("date", &values).unwrap(), &mut faults).unwrap();
    let texts = days.into_iter().map(|day| day.map(|day| day.to_string())).collect();
    (texts, faults.into_faults().into_iter().map(|fault| fault.reason).collect())
}

#[test]
fn dates_are_read_from_dates_and_from_timestamps() {
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
fn a_time_without_an_offset_is_taken_by_its_calendar_day() {
    let second = || (vec![Some("1970-01-02".to_owned())], vec![]);
    assert_eq!(days(TimestampSecondArray::from(vec![2 * 86_400 - 1])), second());
    assert_eq!(days(TimestampNanosecondArray::from(vec![86_400_000_000_001])), second());
    assert_eq!(days(Date64Array::from(vec![86_400_001])), second());
    for text in ["1970-01-02 23:59:59.999", "1970-01-02T00:00", "1970-1-2 7:05", "1970-1-2"] {
        assert_eq!(days(StringArray::from(vec![text])), second(), "{text}");
    }
    assert_eq!(days(TimestampSecondArray::from(vec![-1])), (vec![None], vec![Reason::Date]));
}

#[test]
fn a_date_with_a_time_of_day_and_an_offset_is_rejected() {
    let zoned = TimestampSecondArray::from(vec![86_401]).with_timezone("UTC");
    assert_eq!(days(zoned), (vec![None], vec![Reason::TimeOfDay]));
    for text in ["1970-01-02T00:00:00Z", "1970-01-02 07:00+01"] {
        assert_eq!(days(StringArray::from(vec![text])), (vec![None], vec![Reason::TimeOfDay]), "{text}");
    }
}

#[test]
fn dates_outside_the_range_and_other_texts_are_rejected() {
    assert_eq!(days(Date32Array::from(vec![-1, 65_536])), (vec![None, None], vec![Reason::Date, Reason::Date]));
    let last = Some("2149-06-06".to_owned());
    assert_eq!(days(Date32Array::from(vec![65_535])), (vec![last], vec![]));
    assert_eq!(days(TimestampSecondArray::from(vec![i64::MAX])), (vec![None], vec![Reason::Date]));
    for text in [
        "2149-06-07",
        "1969-12-31",
        "2025-13-01",
        "2025-02-29",
        "01/02/2025",
        "2025-1-",
        "2025-01-01T",
        " 2025-01-01",
        "2149-6-7",
    ] {
        assert_eq!(days(StringArray::from(vec![text])), (vec![None], vec![Reason::Date]), "{text}");
    }
}

#[test]
fn points_in_time_are_microseconds_in_utc() {
    let instants = |values: ArrayRef| {
        let mut faults = CellFaults::default();
        let times = read_times(&PlainColumn::new("dateTime", &values).unwrap(), &mut faults).unwrap();
        assert_eq!(times.clocks, []);
        (times.instants, faults.into_faults().into_iter().map(|fault| fault.reason).collect::<Vec<_>>())
    };
    let text = StringArray::from(vec![Some("1970-01-01T00:00:01+00:00"), Some(""), None, Some("noon")]);
    assert_eq!(instants(Arc::new(text)), (vec![Some(UtcMicros(1_000_000)), None, None, None], vec![Reason::DateTime]));
    let zoned = TimestampMillisecondArray::from(vec![1]).with_timezone("Asia/Tokyo");
    assert_eq!(instants(Arc::new(zoned)), (vec![Some(UtcMicros(1_000))], vec![]));
    let nanos = TimestampNanosecondArray::from(vec![1_999]).with_timezone("UTC");
    assert_eq!(instants(Arc::new(nanos)), (vec![Some(UtcMicros(1))], vec![]));
    let far = TimestampSecondArray::from(vec![i64::MAX]).with_timezone("UTC");
    assert_eq!(instants(Arc::new(far)), (vec![None], vec![Reason::DateTimeRange]));
}

#[test]
fn times_without_an_offset_are_clock_times() {
    for values in [
        Arc::new(StringArray::from(vec![Some("1970-01-01 00:00:01"), None, Some("1970-01-01T00:00:02Z")])) as ArrayRef,
        Arc::new(TimestampMillisecondArray::from(vec![Some(1_000), None, None])),
    ] {
        let mut faults = CellFaults::default();
        let column = PlainColumn::new("dateTime", &values).unwrap();
        let times = read_times(&column, &mut faults).unwrap();
        assert_eq!(times.clocks, [(0, ClockTime(1_000_000))]);
        assert_eq!(times.instants[..2], [None, None]);
        assert!(faults.is_empty() && !column.time_text(0).ends_with('Z'));
    }
}
