//! The requests to the engine and to polars.

use chrono::{Datelike, NaiveDate};
use polars::prelude::*;

/// The interval of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    Total,
    Month,
}

/// A condition: a dimension, and the value that it must have.
pub(crate) type Equality = (&'static str, &'static str);

/// A request for all metrics by some dimensions, from the first to the last of `days`.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) dimensions: Vec<&'static str>,
    pub(crate) days: (NaiveDate, NaiveDate),
    pub(crate) cut: Cut,
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
    /// Returns the name of a row's sub-range.
    pub(crate) fn sub_range(&self) -> Expr {
        match self.cut {
            Cut::Total => lit("").alias("sub-range"),
            Cut::Month => col("day").dt().to_string("%Y-%m").alias("sub-range"),
        }
    }

    /// Returns the names of all sub-ranges.
    pub(crate) fn sub_ranges(&self) -> Vec<String> {
        let (start, end) = self.days;
        match self.cut {
            Cut::Total => vec![String::new()],
            Cut::Month => {
                let number = |day: NaiveDate| day.year() * 12 + i32::try_from(day.month0()).unwrap();
                let name = |number: i32| format!("{:04}-{:02}", number.div_euclid(12), number.rem_euclid(12) + 1);
                (number(start)..=number(end)).map(name).collect()
            }
        }
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
