use super::*;
use arrow_array::builder::PrimitiveBuilder;
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{
    Array, ArrayRef, Decimal32Array, Decimal64Array, Decimal256Array, Float32Array, Float64Array, Int8Array,
    Int64Array, NullArray, StringArray, UInt64Array,
};
use proptest::prelude::*;
use std::sync::Arc;

const MAX: i64 = MAX_MICROS;

fn read(values: ArrayRef) -> (Vec<Option<i128>>, Vec<Reason>) {
    let mut faults = CellFaults::default();
    let stored = read_amounts(&PlainColumn::new("total", &values).unwrap(), &mut faults).unwrap();
    assert_eq!(stored.data_type(), &DataType::Decimal128(19, 6));
    (stored.iter().collect(), faults.into_faults().into_iter().map(|fault| fault.reason).collect())
}

/// Returns the amounts of a column without faults.
fn taken(values: ArrayRef) -> Vec<Option<i128>> {
    let (taken, faults) = read(values);
    assert_eq!(faults, []);
    taken
}

#[test]
fn plain_decimal_texts_are_read() {
    for (text, micros) in [
        ("0", 0),
        ("-0", 0),
        ("12", 12_000_000),
        ("0012.50", 12_500_000),
        ("-1234.5", -1_234_500_000),
        ("0.0000005", 1),
        ("-0.0000005", -1),
        ("0.00000049999999999999999999999999999999999999999999", 0),
        ("1.9999995", 2_000_000),
        ("9000000000000", MAX),
        ("-9000000000000.000000", -MAX),
    ] {
        assert_eq!(amount_from_text(text), Ok(micros), "{text}");
    }
}

#[test]
fn other_texts_are_rejected() {
    for text in [
        "",
        "-",
        ".",
        "5.",
        ".5",
        "+5",
        " 5",
        "5 ",
        "1e3",
        "1E3",
        "$1,200.00",
        "1,200",
        "1_000",
        "--1",
        "1.2.3",
        "NaN",
        "inf",
        "Infinity",
        "0x10",
        "٣",
        "1.-5",
    ] {
        assert_eq!(amount_from_text(text), Err(Reason::Amount), "{text}");
    }
    for text in [
        "9000000000000.000001",
        "-9000000000001",
        "-9223372036854.775808",
        "90000000000000",
        "1000000000000000000000000000000000000000000",
    ] {
        assert_eq!(amount_from_text(text), Err(Reason::AmountRange), "{text}");
    }
}

#[test]
fn empty_texts_and_nulls_are_null() {
    assert_eq!(taken(Arc::new(StringArray::from(vec![Some(""), None, Some("1")]))), [None, None, Some(1_000_000)]);
    assert_eq!(taken(Arc::new(NullArray::new(2))), [None, None]);
}

#[test]
fn a_fault_names_the_row_and_the_value() {
    let mut faults = CellFaults::default();
    let values: ArrayRef = Arc::new(Float64Array::from(vec![1.0, f64::NAN]));
    read_amounts(&PlainColumn::new("total", &values).unwrap(), &mut faults).unwrap();
    let fault = faults.into_faults().remove(0);
    assert_eq!((fault.row, fault.value.as_str()), (1, "NaN"));
    assert_eq!(
        fault.to_string(),
        "column `total`: expected an amount as a plain decimal number, such as `1234.5`, but found `NaN`"
    );
}

#[test]
fn floats_are_read_as_their_shortest_decimal() {
    let values =
        vec![Some(0.1), Some(-0.0), None, Some(1234.5), Some(0.0000005), Some(-2.5e-7), Some(1e12), Some(5e-324)];
    let micros =
        [Some(100_000), Some(0), None, Some(1_234_500_000), Some(1), Some(0), Some(1_000_000_000_000_000_000), Some(0)];
    assert_eq!(taken(Arc::new(Float64Array::from(values))), micros);
    // Converted to a double, the 32-bit float 0.1 would be 0.10000000149.
    assert_eq!(taken(Arc::new(Float32Array::from(vec![0.1, 16_777_216.0]))), [Some(100_000), Some(16_777_216_000_000)]);
    let (micros, reasons) =
        read(Arc::new(Float64Array::from(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 9.1e12, 1e300])));
    assert_eq!(micros, [None; 5]);
    let (bad, far) = (Reason::Amount, Reason::AmountRange);
    assert_eq!(reasons, [bad.clone(), bad.clone(), bad, far.clone(), far]);
}

#[test]
fn integers_of_every_width_are_currency_units() {
    assert_eq!(taken(Arc::new(Int8Array::from(vec![-128, 127]))), [Some(-128_000_000), Some(127_000_000)]);
    let (micros, reasons) = read(Arc::new(Int64Array::from(vec![9_000_000_000_000, 9_000_000_000_001, i64::MIN])));
    assert_eq!(micros, [Some(i128::from(MAX)), None, None]);
    assert_eq!(reasons, [Reason::AmountRange, Reason::AmountRange]);
    assert_eq!(read(Arc::new(UInt64Array::from(vec![u64::MAX]))).1, [Reason::AmountRange]);
}

#[test]
fn decimals_of_every_width_and_scale_are_rounded_half_away_from_zero() {
    let narrow = Decimal32Array::from(vec![12345, -1]).with_precision_and_scale(9, 2).unwrap();
    assert_eq!(taken(Arc::new(narrow)), [Some(123_450_000), Some(-10_000)]);
    let fine = Decimal64Array::from(vec![15, -15, 14, -14]).with_precision_and_scale(18, 7).unwrap();
    assert_eq!(taken(Arc::new(fine)), [Some(2), Some(-2), Some(1), Some(-1)]);
    let finest = Decimal128Array::from(vec![i128::MAX / 2]).with_precision_and_scale(38, 38).unwrap();
    assert_eq!(taken(Arc::new(finest)), [Some(850_706)]);
    let coarse = Decimal128Array::from(vec![9, 10]).with_precision_and_scale(5, -12).unwrap();
    assert_eq!(read(Arc::new(coarse)), (vec![Some(i128::from(MAX)), None], vec![Reason::AmountRange]));

    type Wide = <Decimal256Type as ArrowPrimitiveType>::Native;
    let wide = |text: &str| Wide::from_string(text).unwrap();
    let mut builder = PrimitiveBuilder::<Decimal256Type>::new();
    builder.append_value(wide("-15"));
    builder.append_value(wide("1234567000000000000000000000000000000000000000000000"));
    let values: Decimal256Array = builder.finish().with_precision_and_scale(76, 48).unwrap();
    assert_eq!(taken(Arc::new(values)), [Some(0), Some(1_234_567_000)]);
}

proptest! {
    #[test]
    fn a_double_reads_as_the_text_it_is_written_as(value in prop_oneof![-1e13..1e13, -2.0..2.0, -1e9..1e9]) {
        // Rust formats a double as its shortest decimal, without an exponent.
        prop_assert_eq!(of_f64(value), amount_from_text(&value.to_string()));
    }

    #[test]
    fn doubles_of_whole_cents_are_read_exactly(cents in -1_000_000_000_000_000_i64..1_000_000_000_000_000) {
        #[expect(clippy::cast_precision_loss, reason = "15 digits")]
        let value = cents as f64 / 100.0;
        prop_assert_eq!(of_f64(value), within(i128::from(cents) * 10_000));
    }

    #[test]
    fn a_decimal_reads_as_its_text(digits in any::<i64>(), scale in 0_i8..18) {
        let text = plain_decimal(&digits.to_string(), scale);
        prop_assert_eq!(scaled(digits.into(), -i32::from(scale)), amount_from_text(&text));
    }
}
