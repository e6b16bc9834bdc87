use arrow_schema::DataType;

/// Money columns: millionths of a currency unit, exactly.
pub(super) const TYPE: DataType = DataType::Decimal128(19, 6);

/// Cents as millionths.
pub(super) fn micros(cents: u64) -> i128 {
    i128::from(cents) * 10_000
}
