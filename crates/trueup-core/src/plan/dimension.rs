//! Resolves the name of a dimension to the source of its values.

use crate::attribution::Attribution;
use crate::definitions::{DatePart, Definitions, ValueMapping};
use crate::dictionary::{self, Computed, DimensionSource, FieldGroup, FieldKind, SpendColumn};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A dimension that a query groups by or filters on.
#[derive(Clone, Debug)]
pub(crate) struct DimensionRef {
    pub(crate) name: String,
    /// The name of the dimension whose texts `mapping` maps; `name` if there is none.
    pub(crate) source: String,
    /// Where the texts of the source come from.
    pub(crate) origin: Origin,
    /// The column of the spend table with the same meaning; `None` if spend does not have the dimension.
    pub(crate) spend: Option<SpendColumn>,
    /// From the texts of the source to those of the dimension; `None` if they are the same.
    pub(crate) mapping: Option<Arc<ValueMapping>>,
    /// The event that is credited; [`Attribution::Recorded`] if the source is not an attribution dimension of events.
    pub(crate) attribution: Attribution,
    /// Whether the source is empty for accounts without lead grading.
    pub(crate) lead_grading: bool,
    /// Whether the dictionary or the dataset knows the name.
    known: bool,
}

/// The source of a dimension's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The values are computed from other columns.
    Computed(Computed),
    /// The event column with the name of the source.
    Stored,
    /// The events do not have the dimension: it is empty on every event.
    Absent,
}

impl DimensionRef {
    /// Resolves a name for a dataset whose events have `columns`, in a query with an attribution.
    pub(crate) fn new(
        name: &str,
        columns: &BTreeSet<String>,
        definitions: &Definitions,
        attribution: Attribution,
    ) -> Self {
        let known_name = dictionary::field(name).is_some() || columns.contains(name);
        match definitions.dimension(name).filter(|_| !known_name) {
            None => Self::of_source(name, columns, attribution),
            Some(defined) => Self {
                name: name.to_owned(),
                mapping: Some(defined.mapping.clone()),
                known: true,
                ..Self::of_source(&defined.from, columns, attribution)
            },
        }
    }

    /// Resolves the name of a dimension that is not defined.
    fn of_source(name: &str, columns: &BTreeSet<String>, attribution: Attribution) -> Self {
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
            source: name.to_owned(),
            origin,
            spend,
            mapping: None,
            attribution: if origin == Origin::Stored { attribution.of_column(name) } else { Attribution::Recorded },
            lead_grading: field.is_some_and(|field| field.group == FieldGroup::LeadGrading),
            known: field.is_some() || origin == Origin::Stored,
        }
    }

    /// Returns whether neither events nor spend have the dimension, so that it is empty on every row.
    pub(crate) fn is_blank(&self) -> bool {
        self.origin == Origin::Absent && self.spend.is_none() && self.mapping.is_none()
    }

    /// Returns the part of `dateTime` that the dimension is, in the time zone of the account.
    pub(crate) fn part_of_time(&self) -> Option<DatePart> {
        let is_time = self.origin == Origin::Computed(Computed::DateTime);
        self.mapping.as_ref().filter(|_| is_time).and_then(|mapping| mapping.part())
    }

    /// Returns whether neither the dictionary nor the dataset knows the name.
    pub(crate) const fn is_unknown(&self) -> bool {
        !self.known
    }
}
