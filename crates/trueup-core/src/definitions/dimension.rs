//! Dimensions that users define, checked.

use super::DefinitionError;
use super::declaration::DimensionDefinition;
use super::mapping::{DatePart, ValueMapping};
use crate::dictionary::{self, Computed, DimensionSource, FieldKind, ValueFormat};
use crate::filter::CompiledPatterns;
use crate::text::did_you_mean;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A dimension that users define.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DefinedDimension {
    /// The name in queries.
    pub name: String,
    /// The name for people.
    pub display_name: String,
    /// The meaning.
    pub definition: String,
    /// The dimension whose texts are mapped.
    pub from: String,
    /// The texts that it may have, other than the empty one; empty if they depend on the data.
    pub values: Vec<String>,
    pub(crate) mapping: Arc<ValueMapping>,
    pub(super) line: Option<usize>,
}

impl DefinedDimension {
    /// Checks a definition, and compiles its regular expressions.
    pub(super) fn new(
        declared: &DimensionDefinition,
        patterns: &mut CompiledPatterns,
    ) -> Result<Self, DefinitionError> {
        let from = &declared.from;
        let refused = |reason: &str| Err(DefinitionError::of_value("from", from, reason));
        let source = match dictionary::field(from).map(|field| (field, &field.kind)) {
            Some((_, FieldKind::Metric(_))) => {
                return refused("this is a metric, but a dimension maps another dimension");
            }
            Some((field, FieldKind::Dimension(dimension))) => Some((field.format, dimension.source)),
            None if from.is_empty() || matches!(from.as_str(), "start" | "end") => {
                let similar = did_you_mean(&dictionary::similar_names(from, &BTreeSet::new()));
                return refused(&format!("expected the name of a dimension{similar}"));
            }
            None => None,
        };
        let mapping = ValueMapping::new(declared, patterns)?;
        if let Some(part) = mapping.part() {
            let is_time = source.is_some_and(|(_, source)| source == DimensionSource::Computed(Computed::DateTime));
            let is_date = source.is_none_or(|(format, _)| format == ValueFormat::Date);
            match part {
                DatePart::Hour if !is_time => return refused("only `dateTime` has hours"),
                _ if !is_time && !is_date => {
                    return refused("expected a dimension of dates, such as `date` or `firstBooked`, or `dateTime`");
                }
                _ => {}
            }
        }
        let part = match mapping.part() {
            Some(part) => format!("The {} of `{from}`.", part.name()),
            None => format!("Derived from `{from}`."),
        };
        Ok(Self {
            name: declared.name.clone(),
            display_name: declared.display_name.clone().unwrap_or_else(|| declared.name.clone()),
            definition: declared.definition.clone().unwrap_or(part),
            from: from.clone(),
            values: mapping.values().unwrap_or_default(),
            mapping: Arc::new(mapping),
            line: None,
        })
    }

    pub(super) fn at(self, line: Option<usize>) -> Self {
        Self { line, ..self }
    }

    /// Returns whether spend has the dimension, because it has the one that it is derived from.
    #[must_use]
    pub fn splits_spend(&self) -> bool {
        let source = dictionary::field(&self.from).map(|field| &field.kind);
        matches!(source, Some(FieldKind::Dimension(dimension)) if dimension.spend.is_some())
    }
}
