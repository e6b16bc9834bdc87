//! A dimension's name resolved to where its values come from.

use crate::dictionary::{self, Computed, DimensionSource, FieldGroup, FieldKind, SpendColumn};
use std::collections::BTreeSet;

/// A dimension that a query groups by or filters on.
#[derive(Clone, Debug)]
pub(crate) struct DimensionRef {
    pub(crate) name: String,
    pub(crate) origin: Origin,
    /// The spend table's column of the same meaning.
    pub(crate) spend: Option<SpendColumn>,
    /// Reads as empty for accounts without lead grading.
    pub(crate) lead_grading: bool,
    known: bool,
}

/// Where a dimension's values come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Computed(Computed),
    /// The event column of the dimension's name.
    Stored,
    /// No table has it: empty on every row.
    Absent,
}

impl DimensionRef {
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

    /// Whether neither events nor spend have it: empty on every row.
    pub(crate) fn is_blank(&self) -> bool {
        self.origin == Origin::Absent && self.spend.is_none()
    }

    /// Whether neither the dictionary nor the dataset knows the name.
    pub(crate) const fn is_unknown(&self) -> bool {
        !self.known
    }
}
