//! The fields: every metric and dimension by name, with its meaning, as data in one place.
//!
//! A name that is not here is still a dimension: it is read from the event column of that name, if there is one.

mod additivity;
mod dimensions;
mod entry;
mod field;
mod find;
mod measure;
mod metrics;
#[cfg(test)]
mod tests;

pub use field::{
    Additivity, Computed, Dimension, DimensionSource, Direction, Field, FieldGroup, FieldKind, Formula, Metric,
    SpendColumn, Unit, ValueFormat,
};
pub use find::{field, fields, metric};
pub use measure::{Measure, MeasureKind};
