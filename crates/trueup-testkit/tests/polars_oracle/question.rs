//! The requests to the engine and to polars.

use chrono::{Datelike, NaiveDate};
use polars::prelude::*;

/// A condition: a dimension, and the value that it must have.
pub(crate) type Equality = (&'static str, &'static str);

/// A request for all metrics by some dimensions. `days` are the first and the last day.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) dimensions: Vec<&'static str>,
    pub(crate) days: (NaiveDate, NaiveDate),
    /// Whether the range is split into months; otherwise it is one sub-range.
    pub(crate) by_month: bool,
    pub(crate) filter: Option<Equality>,
}

/// The dimensions of spend that requests use.
const CARRIED: [&str; 7] =
    ["account", "date", "week", "month", "attributionCategory", "attributionChannel", "campaign"];

/// Returns whether spend carries a dimension.
pub(crate) fn carries(dimension: &str) -> bool {
    CARRIED.contains(&dimension)
}

impl Question {
    /// Returns the name of a row's sub-range: its month, or an empty text.
    pub(crate) fn sub_range(&self) -> Expr {
        let name = if self.by_month { col("day").dt().to_string("%Y-%m") } else { lit("") };
        name.alias("sub-range")
    }

    /// Returns the names of all sub-ranges.
    pub(crate) fn sub_ranges(&self) -> Vec<String> {
        if !self.by_month {
            return vec![String::new()];
        }
        let (start, end) = self.days;
        let number = |day: NaiveDate| day.year() * 12 + i32::try_from(day.month0()).unwrap();
        let name = |number: i32| format!("{:04}-{:02}", number.div_euclid(12), number.rem_euclid(12) + 1);
        (number(start)..=number(end)).map(name).collect()
    }

    /// Returns the condition that a day is in the range.
    pub(crate) fn in_range(&self) -> Expr {
        col("day").gt_eq(lit(self.days.0)).and(col("day").lt_eq(lit(self.days.1)))
    }

    /// Returns the keys that rows are grouped by.
    pub(crate) fn keys(&self) -> Vec<Expr> {
        ["sub-range"].into_iter().chain(self.dimensions.iter().copied()).map(col).collect()
    }

    /// Returns the keys that spend is grouped by and joined on.
    pub(crate) fn carried_keys(&self) -> Vec<Expr> {
        let carried = self.dimensions.iter().copied().filter(|name| carries(name));
        ["sub-range"].into_iter().chain(carried).map(col).collect()
    }
}

/// Returns the date dimensions of a row, as texts.
pub(crate) fn calendar() -> [Expr; 3] {
    [
        col("day").dt().to_string("%Y-%m-%d").alias("date"),
        col("day").dt().truncate(lit("1w")).dt().to_string("%Y-%m-%d").alias("week"),
        col("day").dt().to_string("%Y-%m").alias("month"),
    ]
}
