//! Metrics and dimensions that users define: formulas over built-in metrics, and mappings of other dimensions.
//!
//! | file | what it holds |
//! |---|---|
//! | `declaration` | definitions as they are written, in TOML or in Rust |
//! | `names` | which names definitions may have |
//! | `metric` | [`DefinedMetric`]: a metric, checked, with its unit and additivity |
//! | `dimension` | [`DefinedDimension`]: a dimension, checked |
//! | `mapping` | `ValueMapping`: from the text of a source to the text of the dimension |
//! | `mapped_texts` with `mapped_dictionary` | `MappedTexts`: the same for the codes of a row group |
//! | `error` | why definitions are refused |

mod declaration;
mod dimension;
mod error;
mod mapped_dictionary;
mod mapped_texts;
mod mapping;
mod metric;
mod names;
#[cfg(test)]
mod tests;

pub use declaration::{Case, DimensionDefinition, MetricDefinition, Otherwise};
pub use dimension::DefinedDimension;
pub use error::DefinitionError;
pub use metric::{DefinedFormula, DefinedMetric, SignedSum};

pub(crate) use mapped_texts::MappedTexts;
pub(crate) use mapping::{DatePart, ValueMapping};

use crate::dictionary::{self, Formula, ValueFormat};
use crate::filter::CompiledPatterns;
use crate::text::did_you_mean;
use declaration::DefinitionsFile;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The most bytes of definitions in TOML.
pub const MAX_DEFINITIONS_BYTES: usize = 1 << 20;

/// Metrics and dimensions that users define. A clone shares all memory.
///
/// # Names
/// A name is a letter and then letters, digits or `_`, all of ASCII. It is not that of a field of the dictionary or of
/// a column, nor one that requests or answers use, such as `start`, and it occurs once.
///
/// # Metrics
/// A metric is a sum of built-in metrics, or one such sum divided by another. Only counts and amounts of money can be
/// parts of a sum, and all metrics of one sum have the same unit. A `-` before a name subtracts. A ratio with
/// denominator 0 is 0.
///
/// # Dimensions
/// A dimension maps the texts of another one, its source: by cases, where the first case that holds gives the text, or
/// to a part of a date. If spend has the source, it has the dimension, too.
///
/// # Example: what is left of revenue, and brand campaigns
/// ```
/// use trueup_core::dataset::{Dataset, Tables};
/// use trueup_core::definitions::Definitions;
/// use trueup_core::query::EventsQuery;
///
/// let definitions = Definitions::parse(
///     r#"
///     [[metric]]
///     name = "netRevenue"
///     displayName = "Net Revenue"
///     numerator = ["closedRevenue", "-spend"]
///
///     [[dimension]]
///     name = "brand"
///     from = "campaign"
///     cases = [{ regex = "brand", flags = "i", value = "Brand" }]
///     otherwise = "Other"
///     "#,
/// )?;
/// let dataset = Dataset::from_tables(&Tables::default())?.with_definitions(definitions)?;
/// let query = EventsQuery::new(["brand", "netRevenue"], "2025-01-01".parse()?, "2025-01-31".parse()?);
/// assert!(dataset.query(&query)?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Definitions {
    metrics: Arc<[Arc<DefinedMetric>]>,
    dimensions: Arc<[Arc<DefinedDimension>]>,
    /// The definitions in TOML.
    text: Arc<str>,
}

impl PartialEq for Definitions {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Definitions {
    /// Reads definitions in TOML: `[[metric]]` with the keys of [`MetricDefinition`], `[[dimension]]` with those of
    /// [`DimensionDefinition`].
    ///
    /// # Errors
    /// The text is not TOML or longer than [`MAX_DEFINITIONS_BYTES`], or a definition breaks a rule. What depends on
    /// the columns of a dataset is checked by [`check_columns`](Self::check_columns).
    pub fn parse(text: &str) -> Result<Self, DefinitionError> {
        let DefinitionsFile { metric, dimension } = DefinitionsFile::read(text)?;
        Self::check(text, metric, dimension)
    }

    /// Makes definitions in Rust.
    ///
    /// # Errors
    /// As for [`parse`](Self::parse), without lines.
    ///
    /// ```
    /// use trueup_core::definitions::{Definitions, MetricDefinition};
    ///
    /// let net = MetricDefinition {
    ///     name: "netPerLead".to_owned(),
    ///     numerator: vec!["closedRevenue".to_owned(), "-spend".to_owned()],
    ///     denominator: Some(vec!["leads".to_owned()]),
    ///     ..MetricDefinition::default()
    /// };
    /// let definitions = Definitions::new(vec![net], Vec::new())?;
    /// let metric = definitions.metric("netPerLead").expect("a metric");
    /// assert_eq!(metric.formula.to_string(), "(closedRevenue - spend) / leads");
    /// assert_eq!(metric.unit.name(), "currency per count");
    /// # Ok::<(), trueup_core::definitions::DefinitionError>(())
    /// ```
    pub fn new(metrics: Vec<MetricDefinition>, dimensions: Vec<DimensionDefinition>) -> Result<Self, DefinitionError> {
        let text = declaration::to_toml(&metrics, &dimensions)?;
        let metrics = metrics.into_iter().map(|metric| (None, metric)).collect();
        let dimensions = dimensions.into_iter().map(|dimension| (None, dimension)).collect();
        Self::check(&text, metrics, dimensions)
    }

    /// Checks definitions, each with its line if there is one; `text` is all of them in TOML.
    fn check(
        text: &str,
        metrics: Vec<(Option<usize>, MetricDefinition)>,
        dimensions: Vec<(Option<usize>, DimensionDefinition)>,
    ) -> Result<Self, DefinitionError> {
        let defined: BTreeSet<String> = metrics.iter().map(|(_, metric)| metric.name.clone()).collect();
        let mut seen = BTreeSet::new();
        let mut checked_metrics = Vec::new();
        for (line, metric) in metrics {
            let error = |error: DefinitionError| error.of("metric", &metric.name, line);
            names::check(&metric.name, &mut seen).map_err(error)?;
            checked_metrics.push(Arc::new(DefinedMetric::new(&metric, &defined).map_err(error)?.at(line)));
        }
        let mut patterns = CompiledPatterns::default();
        let mut checked_dimensions = Vec::new();
        for (line, dimension) in dimensions {
            let error = |error: DefinitionError| error.of("dimension", &dimension.name, line);
            names::check(&dimension.name, &mut seen).map_err(error)?;
            let checked = DefinedDimension::new(&dimension, &mut patterns).map_err(error)?;
            checked_dimensions.push(Arc::new(checked.at(line)));
        }
        if let Some(chained) = checked_dimensions.iter().find(|dimension| seen.contains(&dimension.from)) {
            let reason = "a dimension is derived from a built-in one or a column, not from another definition";
            let error = DefinitionError::of_value("from", &chained.from, reason);
            return Err(error.of("dimension", &chained.name, chained.line));
        }
        Ok(Self { metrics: checked_metrics.into(), dimensions: checked_dimensions.into(), text: text.into() })
    }

    /// Checks the definitions against the columns of a dataset: no column has a defined name, and each dimension is
    /// derived from a dimension of the dictionary or from a column.
    ///
    /// # Errors
    /// The first definition that does not suit the columns.
    pub fn check_columns(&self, columns: &BTreeSet<String>) -> Result<(), DefinitionError> {
        let taken = |name: &str| columns.contains(name);
        let reason = "the events of the dataset have a column of this name";
        if let Some(DefinedMetric { name, line, .. }) = self.metrics().find(|metric| taken(&metric.name)) {
            return Err(DefinitionError::of_value("name", name, reason).of("metric", name, *line));
        }
        for dimension in self.dimensions() {
            let DefinedDimension { name, from, line, .. } = dimension;
            if taken(name) {
                return Err(DefinitionError::of_value("name", name, reason).of("dimension", name, *line));
            }
            if dictionary::field(from).is_none() && !taken(from) {
                let similar = did_you_mean(&dictionary::similar_names(from, columns));
                let reason = format!("neither the dictionary nor the dataset has this dimension{similar}");
                return Err(DefinitionError::of_value("from", from, reason).of("dimension", name, *line));
            }
        }
        Ok(())
    }

    /// Returns whether nothing is defined.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.metrics.is_empty() && self.dimensions.is_empty()
    }

    /// Returns the metrics in the order of their definitions.
    pub fn metrics(&self) -> impl ExactSizeIterator<Item = &DefinedMetric> {
        self.metrics.iter().map(AsRef::as_ref)
    }

    /// Returns the dimensions in the order of their definitions.
    pub fn dimensions(&self) -> impl ExactSizeIterator<Item = &DefinedDimension> {
        self.dimensions.iter().map(AsRef::as_ref)
    }

    /// Returns the names of the metrics, then of the dimensions.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.metrics().map(|metric| &*metric.name).chain(self.dimensions().map(|dimension| &*dimension.name))
    }

    /// Returns the metric with a name.
    #[must_use]
    pub fn metric(&self, name: &str) -> Option<&DefinedMetric> {
        self.shared_metric(name).map(AsRef::as_ref)
    }

    /// Returns the formula of a built-in metric, or one of the same kind without measures if the metric is defined;
    /// `None` if the name is of no metric.
    pub(crate) fn formula_kind(&self, name: &str) -> Option<Formula> {
        let built_in = dictionary::metric(name).map(|(_, metric)| metric.formula);
        built_in.or_else(|| self.metric(name).map(|metric| metric.formula.kind()))
    }

    /// Returns the dimension with a name.
    #[must_use]
    pub fn dimension(&self, name: &str) -> Option<&DefinedDimension> {
        self.dimensions().find(|dimension| dimension.name == name)
    }

    /// Returns whether a metric or dimension of this name is defined.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.metric(name).is_some() || self.dimension(name).is_some()
    }

    /// Returns the format of a field of the dictionary or of a metric of these definitions; `None` for any other name,
    /// also that of a defined dimension.
    #[must_use]
    pub fn format(&self, name: &str) -> Option<ValueFormat> {
        let built_in = dictionary::field(name).map(|field| field.format);
        built_in.or_else(|| self.metric(name).map(|metric| metric.format))
    }

    /// Returns the name for people of a field of the dictionary or of these definitions; `None` for any other name.
    #[must_use]
    pub fn display_name(&self, name: &str) -> Option<&str> {
        let built_in = dictionary::field(name).map(|field| field.display_name);
        let defined = || {
            let metric = self.metric(name).map(|metric| &*metric.display_name);
            metric.or_else(|| self.dimension(name).map(|dimension| &*dimension.display_name))
        };
        built_in.or_else(defined)
    }

    /// Returns the definitions in TOML: as they were read or, of definitions in Rust, as they would be written. Empty
    /// for the default, which defines nothing.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the fields, definitions and columns that are most similar to `name`, as
    /// [`similar_names`](dictionary::similar_names) does.
    #[must_use]
    pub fn similar_names(&self, name: &str, columns: &BTreeSet<String>) -> Vec<String> {
        dictionary::similar_names_with(name, columns.iter().map(String::as_str).chain(self.names()))
    }

    /// Returns the [text](Self::text), in shared memory.
    pub(crate) fn shared_text(&self) -> Arc<str> {
        self.text.clone()
    }

    pub(crate) fn shared_metric(&self, name: &str) -> Option<&Arc<DefinedMetric>> {
        self.metrics.iter().find(|metric| metric.name == name)
    }
}
