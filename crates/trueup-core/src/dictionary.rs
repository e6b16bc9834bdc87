//! The dictionary: every metric and dimension by name, as data in one place.
//!
//! A name that neither the dictionary nor the [definitions](crate::definitions) of the dataset have is still a
//! dimension: the event column of that name. If there is no such column either, a query with the name is refused,
//! unless the query allows unknown names; then the dimension is empty on every row.
//!
//! | file | holds |
//! |---|---|
//! | `stage_pair` | [`StagePair`]: the stages between which days are counted |
//! | `measure` | what a measure is: an integer that the engine counts or sums |
//! | `field` | [`Field`]: the entry of a metric or dimension |
//! | `entry` | constructors of entries |
//! | `metrics` | the entries of metrics, and [`Measure`]: the measures that their formulas are over |
//! | `durations`, `dimensions` | the other entries |
//! | `synonyms` | other names of fields, and the fields that are similar to a name |

mod dimensions;
mod durations;
mod entry;
mod field;
mod measure;
mod metrics;
mod stage_pair;
mod synonyms;

pub use field::{
    Additivity, Computed, Dimension, DimensionSource, Direction, Field, FieldGroup, FieldKind, Formula, Metric,
    SpendColumn, Unit, ValueFormat,
};
pub use measure::MeasureKind;
pub use metrics::Measure;
pub use stage_pair::StagePair;
pub use synonyms::{similar_names, synonyms};

pub(crate) use measure::{AGENT_COLUMN, GRADE_COLUMN, STATUS_COLUMN, TOTAL_COLUMN};
pub(crate) use synonyms::similar_names_with;

use std::collections::HashMap;
use std::sync::LazyLock;

static BY_NAME: LazyLock<HashMap<&'static str, &'static Field>> =
    LazyLock::new(|| all_fields().map(|field| (field.name, field)).collect());

/// Returns all fields: the metrics, then the dimensions, each in the order in which lists of fields show them. Fields
/// of one [group](FieldGroup) are not always next to each other.
pub fn all_fields() -> impl Iterator<Item = &'static Field> {
    metrics::TABLES.iter().chain(&durations::TABLES).copied().flatten().chain(cohort_fields()).chain(dimension_fields())
}

/// Returns the fields that the dictionary of the service has always listed: [all](all_fields) but
/// [those of days between stages](duration_fields) and [of cohorts](cohort_fields).
pub fn fields() -> impl Iterator<Item = &'static Field> {
    metrics::TABLES.iter().copied().flatten().chain(dimension_fields())
}

fn dimension_fields() -> impl Iterator<Item = &'static Field> {
    dimensions::TABLES.iter().copied().flatten()
}

/// Returns the metrics of the days between two stages.
pub fn duration_fields() -> impl Iterator<Item = &'static Field> {
    durations::TABLES.iter().copied().flatten()
}

/// Returns the metrics that only [cohorts](crate::query::EventsQuery::cohort) have.
pub fn cohort_fields() -> impl Iterator<Item = &'static Field> {
    metrics::COHORT.iter()
}

/// Returns the metric with exactly the name `name`, if only cohorts have it.
pub(crate) fn cohort_metric(name: &str) -> Option<&'static Field> {
    cohort_fields().find(|field| field.name == name)
}

/// Returns the field with exactly the name `name`; `None` if the dictionary does not have it.
///
/// ```
/// use trueup_core::dictionary;
///
/// assert_eq!(dictionary::field("bookRate").map(|field| field.display_name), Some("Book Rate"));
/// assert!(dictionary::field("bookrate").is_none());
/// ```
#[must_use]
pub fn field(name: &str) -> Option<&'static Field> {
    BY_NAME.get(name).copied()
}

/// Returns the built-in metric with exactly the name `name`; `None` if the name is that of a dimension, known or
/// unknown, or of a metric that a dataset defines.
///
/// ```
/// use trueup_core::dictionary::{self, Formula, Measure};
///
/// let (_, leads) = dictionary::metric("leads").expect("a metric");
/// assert_eq!(leads.formula, Formula::Amount(&[Measure::Leads]));
/// assert!(dictionary::metric("campaign").is_none());
/// ```
#[must_use]
pub fn metric(name: &str) -> Option<(&'static Field, &'static Metric)> {
    let field = field(name)?;
    match &field.kind {
        FieldKind::Metric(metric) => Some((field, metric)),
        FieldKind::Dimension(_) => None,
    }
}

#[cfg(test)]
mod tests;
