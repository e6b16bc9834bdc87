//! One condition, held against what its field is.

use super::error::{InvalidFilter, ParseFault};
use super::path::FilterPath;
use trueup_core::query::{Filter, FilterFault, FilterLimits, Predicate, is_result_metric};

/// A condition, alone or joined, and what it is decided on.
#[derive(Clone, Debug)]
pub(super) struct ParsedCondition {
    pub(super) filter: Filter,
    /// A field that is decided on finished rows: a metric other than `total`.
    metric: Option<String>,
    /// A field that is decided on events.
    dimension: Option<String>,
}

impl ParsedCondition {
    /// The condition that `field` passes `test`; it stands at `path`, in a list if `listed`.
    pub(super) fn new(
        bounds: &mut FilterLimits,
        field: &str,
        test: Predicate,
        path: &FilterPath<'_>,
        listed: bool,
    ) -> Result<Self, InvalidFilter> {
        if let Err(fault) = bounds.check_predicate(field, &test) {
            let fault_at = |entry| if listed { path.entry(entry) } else { *path };
            let at = match fault {
                FilterFault::UnknownFlag(_) => fault_at(2),
                FilterFault::NotAText => fault_at(0),
                _ => fault_at(1),
            };
            return Err(ParseFault::Test(fault).at(&at));
        }
        let name = Some(field.to_owned());
        let (metric, dimension) = if is_result_metric(field) { (name, None) } else { (None, name) };
        Ok(Self { filter: Filter::field(field, test), metric, dimension })
    }

    /// All hold; one condition stands for itself.
    pub(super) fn all(mut parts: Vec<Self>) -> Self {
        match parts.pop() {
            Some(only) if parts.is_empty() => only,
            last => {
                parts.extend(last);
                Self::joined(parts, Filter::All)
            }
        }
    }

    /// At least one holds.
    pub(super) fn any(parts: Vec<Self>, path: &FilterPath<'_>) -> Result<Self, InvalidFilter> {
        Self::joined(parts, Filter::Any).decided_together(path)
    }

    /// It does not hold.
    pub(super) fn not(self, path: &FilterPath<'_>) -> Result<Self, InvalidFilter> {
        Self { filter: Filter::Not(Box::new(self.filter)), ..self }.decided_together(path)
    }

    fn joined(parts: Vec<Self>, join: impl FnOnce(Vec<Filter>) -> Filter) -> Self {
        let mut filters = Vec::new();
        let (mut metric, mut dimension) = (None, None);
        for part in parts {
            filters.push(part.filter);
            metric = metric.or(part.metric);
            dimension = dimension.or(part.dimension);
        }
        Self { filter: join(filters), metric, dimension }
    }

    fn decided_together(self, path: &FilterPath<'_>) -> Result<Self, InvalidFilter> {
        match (&self.metric, &self.dimension) {
            (Some(metric), Some(dimension)) => {
                Err(ParseFault::Mixed { metric: metric.clone(), dimension: dimension.clone() }.at(path))
            }
            _ => Ok(self),
        }
    }
}
