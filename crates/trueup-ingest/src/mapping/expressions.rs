//! Polars expressions that read columns row by row.

use super::error::ColumnSite;
use polars::prelude::*;
use std::collections::BTreeSet;

/// The column of an input with the [location](super::error::location) of each row.
pub(super) const LOCATION: &str = "trueup.location";

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// A type of a column's values.
pub(super) trait ColumnValue: Sized {
    fn dtype() -> DataType;
    fn column(name: PlSmallStr, cells: Vec<Option<Self>>) -> Column;
}

impl ColumnValue for String {
    fn dtype() -> DataType {
        DataType::String
    }

    fn column(name: PlSmallStr, cells: Vec<Option<Self>>) -> Column {
        StringChunked::from_iter_options(name, cells.into_iter()).into_column()
    }
}

impl ColumnValue for bool {
    fn dtype() -> DataType {
        DataType::Boolean
    }

    fn column(name: PlSmallStr, cells: Vec<Option<Self>>) -> Column {
        BooleanChunked::from_iter_options(name, cells.into_iter()).into_column()
    }
}

impl ColumnValue for i64 {
    fn dtype() -> DataType {
        DataType::Int64
    }

    fn column(name: PlSmallStr, cells: Vec<Option<Self>>) -> Column {
        Int64Chunked::from_iter_options(name, cells.into_iter()).into_column()
    }
}

/// Days since 1970-01-01.
pub(super) struct Days(pub(super) i32);

impl ColumnValue for Days {
    fn dtype() -> DataType {
        DataType::Date
    }

    fn column(name: PlSmallStr, cells: Vec<Option<Self>>) -> Column {
        let days = cells.into_iter().map(|cell| cell.map(|days| days.0));
        Int32Chunked::from_iter_options(name, days).into_date().into_column()
    }
}

/// Microseconds since 1970-01-01 in UTC.
pub(super) struct Micros(pub(super) i64);

impl ColumnValue for Micros {
    fn dtype() -> DataType {
        DataType::Datetime(TimeUnit::Microseconds, Some(TimeZone::UTC))
    }

    fn column(name: PlSmallStr, cells: Vec<Option<Self>>) -> Column {
        let micros = cells.into_iter().map(|cell| cell.map(|micros| micros.0));
        let micros = Int64Chunked::from_iter_options(name, micros);
        micros.into_datetime(TimeUnit::Microseconds, Some(TimeZone::UTC)).into_column()
    }
}

/// Makes a column from texts, row by row. `read` returns the value of a row, or why there is none; the fault is then
/// noted, and the cell is empty.
pub(super) fn each_row<T: ColumnValue + 'static>(
    texts: Vec<Expr>,
    location: Expr,
    site: ColumnSite,
    read: impl Fn(&[Option<&str>]) -> Result<Option<T>, String> + Send + Sync + 'static,
) -> Expr {
    let mut inputs = texts;
    inputs.push(location);
    let run = move |columns: &mut [Column]| {
        let rows = columns.iter().map(Column::len).max().unwrap_or(0);
        let whole: Vec<Column> = columns.iter().map(|column| spread(column, rows)).collect();
        let Some((locations, texts)) = whole.split_last() else {
            polars_bail!(ComputeError: "a column is made from at least one other");
        };
        let locations = locations.u64()?;
        let texts = texts.iter().map(Column::str).collect::<PolarsResult<Vec<_>>>()?;
        let mut found = vec![None; texts.len()];
        let mut cells = Vec::with_capacity(rows);
        for row in 0..rows {
            for (slot, column) in found.iter_mut().zip(&texts) {
                *slot = column.get(row);
            }
            cells.push(read(&found).unwrap_or_else(|reason| {
                let value: Vec<&str> = found.iter().copied().flatten().filter(|text| !text.is_empty()).collect();
                site.refuse(locations.get(row).unwrap_or(0), value.join(" "), reason);
                None
            }));
        }
        Ok(T::column(columns[0].name().clone(), cells))
    };
    let field = |_: &Schema, fields: &[Field]| Ok(Field::new(fields[0].name().clone(), T::dtype()));
    map_multiple(run, inputs, field)
}

/// Returns floats as text: the shortest decimal that reads as the same float.
pub(super) fn float_text(floats: Expr) -> Expr {
    let run = |columns: &mut [Column]| {
        let name = columns[0].name().clone();
        let shortest: Vec<Option<String>> = if let Ok(floats) = columns[0].f32() {
            floats.iter().map(|float| float.map(|float| format!("{}", float + 0.0))).collect()
        } else {
            columns[0].f64()?.iter().map(|float| float.map(|float| format!("{}", float + 0.0))).collect()
        };
        Ok(String::column(name, shortest))
    };
    let field = |_: &Schema, fields: &[Field]| Ok(Field::new(fields[0].name().clone(), DataType::String));
    map_multiple(run, vec![floats], field)
}

/// Makes instants from timestamps without a time zone. `read` returns the instant of a clock time, or why there is
/// none.
pub(super) fn instants_of_clock_times(
    times: Expr,
    location: Expr,
    site: ColumnSite,
    read: impl Fn(chrono::NaiveDateTime) -> Result<i64, String> + Send + Sync + 'static,
) -> Expr {
    let run = move |columns: &mut [Column]| {
        let rows = columns.iter().map(Column::len).max().unwrap_or(0);
        let (times, locations) = (spread(&columns[0], rows), spread(&columns[1], rows));
        let (times, locations) = (times.datetime()?, locations.u64()?);
        let unit = times.time_unit();
        let mut cells = Vec::with_capacity(rows);
        for row in 0..rows {
            let local = times.physical().get(row).and_then(|count| {
                chrono::DateTime::from_timestamp_micros(match unit {
                    TimeUnit::Nanoseconds => count.div_euclid(1_000),
                    TimeUnit::Microseconds => count,
                    TimeUnit::Milliseconds => count.checked_mul(1_000)?,
                })
            });
            cells.push(local.and_then(|local| {
                let local = local.naive_utc();
                let read = read(local).map(Micros);
                read.map_err(|reason| site.refuse(locations.get(row).unwrap_or(0), local.to_string(), reason)).ok()
            }));
        }
        Ok(Micros::column(columns[0].name().clone(), cells))
    };
    let field = |_: &Schema, fields: &[Field]| Ok(Field::new(fields[0].name().clone(), Micros::dtype()));
    map_multiple(run, vec![times, location], field)
}

/// Returns whether a row is at none of the locations.
pub(super) fn rows_except(location: Expr, excluded: BTreeSet<u64>) -> Expr {
    let run = move |columns: &mut [Column]| {
        let kept = columns[0].u64()?.iter().map(|location| location.map(|location| !excluded.contains(&location)));
        Ok(bool::column(columns[0].name().clone(), kept.collect()))
    };
    let field = |_: &Schema, fields: &[Field]| Ok(Field::new(fields[0].name().clone(), DataType::Boolean));
    map_multiple(run, vec![location], field)
}

/// Returns the UTC days of instants, since 1970-01-01.
pub(super) fn days_of(instants: Expr) -> Expr {
    let run = |columns: &mut [Column]| {
        let instants = columns[0].datetime()?;
        let days = instants.physical().iter().map(|micros| micros.map(|micros| micros.div_euclid(MICROS_PER_DAY)));
        Ok(i64::column(columns[0].name().clone(), days.collect()))
    };
    let field = |_: &Schema, fields: &[Field]| Ok(Field::new(fields[0].name().clone(), DataType::Int64));
    map_multiple(run, vec![instants], field)
}

/// Repeats the single row that polars passes for a literal.
fn spread(column: &Column, rows: usize) -> Column {
    if column.len() == rows { column.clone() } else { column.new_from_index(0, rows) }
}
