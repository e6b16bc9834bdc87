//! The metrics: counts, revenue, spend, grading of conversions, and rates.

mod counts;
mod grading;
mod rates;
mod revenue;
mod spend;

use super::Field;

/// What the definition of every metric that is made of spend ends with.
macro_rules! not_split {
    () => {
        " A dimension that spend does not carry does not split the spend: each of its values shows the whole."
    };
}
use not_split;

/// The metrics, table by table.
pub(super) static TABLES: [&[Field]; 5] =
    [counts::FIELDS, revenue::FIELDS, spend::FIELDS, grading::FIELDS, rates::FIELDS];
