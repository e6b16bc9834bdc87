//! The result table as a polars data frame.

use super::{Column, ResultTable, Values};
use polars::prelude::{
    Column as PolarsColumn, DataFrame, DataType, Int128Chunked, IntoSeries, NamedFrom, NewChunkedArray, PlSmallStr,
    PolarsResult, Series,
};

impl ResultTable {
    /// Converts the table to a data frame: days to `Date`, dimensions to `String` (never null), counts to `UInt64`,
    /// money to `Decimal(38, 6)` in currency units, ratios to `Float64`, whole numbers that may be negative to `Int64`,
    /// and numbers that are missing in some rows to `Float64` with nulls.
    ///
    /// # Errors
    /// An amount of money has more than 38 digits, or the table was made of columns that differ in length.
    pub fn data_frame(&self) -> PolarsResult<DataFrame> {
        let columns: Vec<PolarsColumn> =
            self.columns.iter().map(|column| series(column).map(PolarsColumn::from)).collect::<PolarsResult<_>>()?;
        DataFrame::new(self.rows, columns)
    }
}

fn series(column: &Column) -> PolarsResult<Series> {
    let name = PlSmallStr::from_str(&column.name);
    Ok(match &column.values {
        Values::Days(days) => {
            let numbers: Vec<i32> = days.iter().map(|day| i32::from(day.number())).collect();
            Series::new(name, numbers).cast(&DataType::Date)?
        }
        Values::Strings(texts) => {
            Series::new(name, (0..texts.codes().len()).map(|row| texts.get(row)).collect::<Vec<&str>>())
        }
        Values::Counts(counts) => Series::new(name, counts),
        Values::Money(amounts) => Int128Chunked::from_slice(name, amounts).into_decimal(38, 6)?.into_series(),
        Values::Ratios(ratios) => Series::new(name, ratios.iter().collect::<Vec<f64>>()),
        Values::Integers(integers) => Series::new(name, integers),
        Values::Numbers(numbers) => Series::new(name, numbers),
    })
}
