//! Fields by name.

use super::{Field, FieldKind, Metric, dimensions, metrics};
use std::collections::HashMap;
use std::sync::LazyLock;

static BY_NAME: LazyLock<HashMap<&'static str, &'static Field>> =
    LazyLock::new(|| fields().map(|field| (field.name, field)).collect());

/// All fields: the metrics, then the dimensions, each group together.
pub fn fields() -> impl Iterator<Item = &'static Field> {
    metrics::TABLES.iter().chain(&dimensions::TABLES).copied().flatten()
}

/// The field called `name`, in exactly that spelling; `None` if the dictionary does not know it.
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

/// The metric called `name`; `None` if the name is a dimension's or unknown, in which case rows are grouped by it.
#[must_use]
pub fn metric(name: &str) -> Option<(&'static Field, &'static Metric)> {
    let field = field(name)?;
    match &field.kind {
        FieldKind::Metric(metric) => Some((field, metric)),
        FieldKind::Dimension(_) => None,
    }
}
