//! A metric or a dimension as people read it: its texts, and how to write them as lines.

use crate::Dataset;
use crate::definitions::{DefinedDimension, DefinedMetric, Definitions};
use crate::dictionary::{self, Additivity, DimensionSource, Direction, Field, FieldKind, Measure, Metric, Unit};
use std::fmt;

/// A field of the dictionary or of the definitions, or a column that only the dataset has.
#[derive(Clone, Copy, Debug)]
pub struct FieldDescription<'a> {
    /// The name in queries.
    pub name: &'a str,
    source: FieldSource<'a>,
    /// Whether the dataset has the field: false only for a stored dimension whose column the dataset does not have.
    /// `None` without a dataset.
    is_in_dataset: Option<bool>,
}

/// Where a field is described.
#[derive(Clone, Copy, Debug)]
enum FieldSource<'a> {
    Dictionary(&'static Field),
    Metric(&'a DefinedMetric),
    Dimension(&'a DefinedDimension),
    /// Nowhere: a column that only the dataset has.
    Column,
}

/// The properties of a metric, of the dictionary or defined.
#[derive(Clone, Debug)]
pub struct MetricDescription {
    /// The unit of its values.
    pub unit: Unit,
    /// The formula, such as `bookedCustomers / customers`.
    pub formula: String,
    /// The measures of the formula, in the order written.
    pub measures: Vec<Measure>,
    /// The groups across which its values add up, in words.
    pub adds_up: &'static str,
    /// The groups across which its values add up.
    pub additivity: Additivity,
    /// The direction in which values are better.
    pub direction: Direction,
}

impl<'a> FieldDescription<'a> {
    /// Returns the description of a field of the dictionary or of definitions.
    #[must_use]
    pub fn defined(name: &'a str, definitions: Option<&'a Definitions>) -> Self {
        let defined = |definitions: &'a Definitions| {
            let metric = definitions.metric(name).map(FieldSource::Metric);
            metric.or_else(|| definitions.dimension(name).map(FieldSource::Dimension))
        };
        let source = match dictionary::field(name) {
            Some(field) => FieldSource::Dictionary(field),
            None => definitions.and_then(defined).unwrap_or(FieldSource::Column),
        };
        Self { name, source, is_in_dataset: None }
    }

    /// Returns the description of a field; `dataset` may define it, or have a column of its name.
    #[must_use]
    pub fn of(name: &'a str, dataset: Option<&'a Dataset>) -> Self {
        let field = Self::defined(name, dataset.map(Dataset::definitions));
        let has_column = |dataset: &Dataset| match field.source {
            FieldSource::Dictionary(Field { kind: FieldKind::Dimension(dimension), .. })
                if dimension.source == DimensionSource::Stored =>
            {
                dataset.columns().contains(name)
            }
            _ => true,
        };
        Self { is_in_dataset: dataset.map(has_column), ..field }
    }

    /// Returns the fields of the dictionary, then the definitions of the dataset, then the columns that only it has.
    /// Leaves out the stored dimensions whose columns the dataset does not have.
    #[must_use]
    pub fn all(dataset: Option<&'a Dataset>) -> Vec<Self> {
        let names = dictionary::all_fields().map(|field| field.name);
        let columns = dataset.into_iter().flat_map(|dataset| dataset.columns());
        let own = columns.map(String::as_str).filter(|name| dictionary::field(name).is_none());
        let defined = dataset.into_iter().flat_map(|dataset| dataset.definitions().names());
        let fields = names.chain(defined).chain(own).map(|name| Self::of(name, dataset));
        fields.filter(|field| field.is_in_dataset != Some(false)).collect()
    }

    /// Returns the properties of a metric; `None` for a dimension.
    #[must_use]
    pub fn metric(&self) -> Option<MetricDescription> {
        Some(match self.source {
            FieldSource::Dictionary(Field { kind: FieldKind::Metric(metric), .. }) => {
                let Metric { formula, unit, direction, additivity } = metric;
                MetricDescription {
                    unit: *unit,
                    formula: formula.to_string(),
                    measures: formula.measures().collect(),
                    adds_up: metric.adds_up(),
                    additivity: *additivity,
                    direction: *direction,
                }
            }
            FieldSource::Metric(metric) => MetricDescription {
                unit: metric.unit,
                formula: metric.formula.to_string(),
                measures: metric.formula.measures().collect(),
                adds_up: metric.adds_up(),
                additivity: metric.additivity,
                direction: metric.direction,
            },
            _ => return None,
        })
    }

    /// Returns whether the field is a metric.
    #[must_use]
    pub fn is_metric(&self) -> bool {
        self.metric().is_some()
    }

    /// Returns `metric` or `dimension`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        if self.is_metric() { "metric" } else { "dimension" }
    }

    /// Returns the name for people.
    #[must_use]
    pub fn display_name(&self) -> &'a str {
        match self.source {
            FieldSource::Dictionary(field) => field.display_name,
            FieldSource::Metric(metric) => &metric.display_name,
            FieldSource::Dimension(dimension) => &dimension.display_name,
            FieldSource::Column => self.name,
        }
    }

    /// Returns the meaning.
    #[must_use]
    pub fn definition(&self) -> &'a str {
        match self.source {
            FieldSource::Dictionary(field) => field.definition,
            FieldSource::Metric(metric) => &metric.definition,
            FieldSource::Dimension(dimension) => &dimension.definition,
            FieldSource::Column => "A column of the events of this dataset.",
        }
    }

    /// Returns the name of the format in which values are shown.
    #[must_use]
    pub fn format(&self) -> &'static str {
        match self.source {
            FieldSource::Dictionary(field) => field.format.name(),
            FieldSource::Metric(metric) => metric.format.name(),
            FieldSource::Dimension(_) | FieldSource::Column => "text",
        }
    }

    /// Returns whether spend has the dimension; `None` for metrics and columns.
    #[must_use]
    pub fn splits_spend(&self) -> Option<bool> {
        match self.source {
            FieldSource::Dictionary(Field { kind: FieldKind::Dimension(dimension), .. }) => {
                Some(dimension.spend.is_some())
            }
            FieldSource::Dimension(dimension) => Some(dimension.splits_spend()),
            _ => None,
        }
    }

    /// Returns whether benchmarks support the field.
    #[must_use]
    pub const fn has_benchmarks(&self) -> bool {
        matches!(self.source, FieldSource::Dictionary(field) if field.benchmark)
    }

    /// Returns whether only queries of a cohort have the field.
    #[must_use]
    pub fn is_only_in_cohorts(&self) -> bool {
        let is_of_cohorts = |name: &str| dictionary::cohort_fields().any(|known| known.name == name);
        match self.source {
            FieldSource::Metric(metric) => metric.formula.metrics().any(is_of_cohorts),
            FieldSource::Dimension(_) => false,
            FieldSource::Dictionary(_) | FieldSource::Column => is_of_cohorts(self.name),
        }
    }

    /// Returns all values of a dimension that has a fixed set of values; none for any other field.
    #[must_use]
    pub fn values(&self) -> Vec<&'a str> {
        match self.source {
            FieldSource::Dictionary(field) => field.values.to_vec(),
            FieldSource::Dimension(dimension) => dimension.values.iter().map(String::as_str).collect(),
            _ => Vec::new(),
        }
    }

    /// Writes the field for people, as lines of a label and a text.
    ///
    /// # Errors
    /// `out` fails.
    pub fn write(&self, out: &mut impl fmt::Write) -> fmt::Result {
        writeln!(out, "{}: {}\n\n{}\n", self.name, self.display_name(), self.definition())?;
        writeln!(out, "type       {}, shown as {}", self.kind(), self.format())?;
        if let Some(metric) = self.metric() {
            writeln!(out, "unit       {}", metric.unit.name())?;
            writeln!(out, "formula    {}", metric.formula)?;
            for (at, measure) in metric.measures.iter().enumerate() {
                if !metric.measures[..at].contains(measure) {
                    writeln!(out, "             {}: {}", measure.name(), measure.definition())?;
                }
            }
            writeln!(out, "adds up    {}", metric.adds_up)?;
            writeln!(out, "better     {}", metric.direction.name())?;
        }
        if let FieldSource::Dimension(dimension) = self.source {
            writeln!(out, "from       {}", dimension.from)?;
        }
        if let Some(is_split) = self.splits_spend() {
            let splits = if is_split { "is split by it" } else { "is not split: each value shows the whole" };
            writeln!(out, "spend      {splits}")?;
        }
        let values = self.values();
        if !values.is_empty() {
            writeln!(out, "values     {}", values.join(", "))?;
        }
        if self.has_benchmarks() {
            writeln!(out, "benchmarks support it")?;
        }
        match self.is_in_dataset {
            Some(false) => writeln!(out, "dataset    no event has this column; it is empty on every event"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_adds_up_nowhere_exactly_if_its_text_says_never() {
        for (_, metric) in dictionary::fields().filter_map(|field| dictionary::metric(field.name)) {
            assert_eq!(metric.additivity == Additivity::NOWHERE, metric.adds_up().starts_with("never"), "{metric:?}");
        }
    }
}
