//! Resolves the name of a dimension to the source of its values.

use crate::dictionary::{self, Computed, DimensionSource, FieldGroup, FieldKind, SpendColumn};
use std::collections::BTreeSet;

/// A dimension that a query groups by or filters on.
#[derive(Clone, Debug)]
pub(crate) struct DimensionRef {
    pub(crate) name: String,
    pub(crate) origin: Origin,
    /// The column of the spend table with the same meaning; `None` if spend does not have the dimension.
    pub(crate) spend: Option<SpendColumn>,
    /// Whether the dimension is empty for accounts without lead grading.
    pub(crate) lead_grading: bool,
    /// Whether the dictionary or the dataset knows the name.
    known: bool,
}

/// The source of a dimension's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The values are computed from other columns.
    Computed(Computed),
    /// The event column with the dimension's name.
    Stored,
    /// The events do not have the dimension: it is empty on every event.
    Absent,
}

impl DimensionRef {
    /// Resolves a name for a dataset whose events have `columns`.
    pub(crate) fn new(name: &str, columns: &BTreeSet<String>) -> Self {
        let stored = if columns.contains(name) { Origin::Stored } else { Origin::Absent };
        let field = dictionary::field(name);
        let (origin, spend) = match field.map(|field| &field.kind) {
            Some(FieldKind::Dimension(dimension)) => match dimension.source {
                DimensionSource::Computed(computed) => (Origin::Computed(computed), dimension.spend),
                DimensionSource::Stored => (stored, dimension.spend),
            },
            _ => (stored, None),
        };
        Self {
            name: name.to_owned(),
            origin,
            spend,
            lead_grading: field.is_some_and(|field| field.group == FieldGroup::LeadGrading),
            known: field.is_some() || origin == Origin::Stored,
        }
    }

    /// Returns whether neither events nor spend have the dimension, so that it is empty on every row.
    pub(crate) fn is_blank(&self) -> bool {
        self.origin == Origin::Absent && self.spend.is_none()
    }

    /// Returns whether neither the dictionary nor the dataset knows the name.
    pub(crate) const fn is_unknown(&self) -> bool {
        !self.known
    }
}
