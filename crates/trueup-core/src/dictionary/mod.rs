//! The fields: every metric and dimension by name, with its meaning, as data in one place.

mod field;
mod measure;

pub use field::{
    Additivity, Computed, Dimension, Direction, Field, FieldGroup, Format, Formula, Kind, Metric, Source, SpendColumn,
    Unit,
};
pub use measure::{Measure, MeasureKind};
