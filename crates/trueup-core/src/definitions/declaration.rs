//! Definitions as they are written, in TOML or in Rust.

use super::{DefinitionError, MAX_DEFINITIONS_BYTES};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use toml::Spanned;

/// A metric as it is written: a sum, or a ratio of two sums.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MetricDefinition {
    /// The name in queries.
    pub name: String,
    /// The name for people; without it, the name in queries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// The meaning; without it, the formula.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    /// `number`, `currency`, `percent` or `decimal`; without it, the format that suits the unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Which values are better: `up`, `down` or `neutral`, which is the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<String>,
    /// The built-in metrics that are added, or subtracted with `-` before the name.
    pub numerator: Vec<String>,
    /// The sum that the numerator is divided by; without it, the metric is the sum itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub denominator: Option<Vec<String>>,
}

/// A dimension as it is written: cases, or a part of a date.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DimensionDefinition {
    /// The name in queries.
    pub name: String,
    /// The name for people; without it, the name in queries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// The meaning; without it, the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    /// The dimension whose texts are mapped.
    pub from: String,
    /// In place of `cases`: `year`, `quarter` (such as `2026-Q2`) or `weekday` (`1` for Monday to `7`) of a date or of
    /// `dateTime`, or `hour` (`00` to `23`) of `dateTime`, which is read in the time zone of the account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// What a text that fits no case becomes; without it, the empty text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<Otherwise>,
    /// The cases. The first case that holds gives the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cases: Option<Vec<Case>>,
}

/// A case of a dimension: texts, a regular expression, or a range of numbers, and the text that it gives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Case {
    /// Holds if the text of the source is one of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub equals: Option<Vec<String>>,
    /// Holds if the text of the source contains a match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regex: Option<String>,
    /// The flags of the regular expression, as in filters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flags: Option<String>,
    /// Holds if the text of the source is a decimal number that is not less than this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<f64>,
    /// Holds if the text of the source is a decimal number that is less than this one. With `from`, both must hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below: Option<f64>,
    /// The text of the dimension if the case holds.
    pub value: String,
}

/// What a text that fits no case becomes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a text, or `{ keep = true }`")]
pub enum Otherwise {
    /// This text.
    Text(String),
    /// The text as it is.
    Keep {
        /// Always `true`.
        keep: bool,
    },
}

/// A file of definitions, each with its line.
pub(super) struct DefinitionsFile {
    pub(super) metric: Vec<(Option<usize>, MetricDefinition)>,
    pub(super) dimension: Vec<(Option<usize>, DimensionDefinition)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a file of definitions")]
struct SpannedFile {
    #[serde(default)]
    metric: Vec<Spanned<MetricDefinition>>,
    #[serde(default)]
    dimension: Vec<Spanned<DimensionDefinition>>,
}

impl DefinitionsFile {
    pub(super) fn read(text: &str) -> Result<Self, DefinitionError> {
        check_size(text)?;
        let SpannedFile { metric, dimension } = toml::from_str(text).map_err(|error| syntax_error(text, &error))?;
        let at = |span: Range<usize>| Some(place(text, span.start).0);
        Ok(Self {
            metric: metric.into_iter().map(|metric| (at(metric.span()), metric.into_inner())).collect(),
            dimension: dimension.into_iter().map(|dimension| (at(dimension.span()), dimension.into_inner())).collect(),
        })
    }
}

fn syntax_error(text: &str, error: &toml::de::Error) -> DefinitionError {
    let fault = DefinitionError::new(error.message().lines().collect::<Vec<_>>().join(" "));
    match error.span() {
        Some(span) => {
            let (line, column) = place(text, span.start);
            fault.at(line, column)
        }
        None => fault,
    }
}

/// Returns the line and the column of a byte, both from 1.
fn place(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

/// Writes definitions as TOML.
pub(super) fn to_toml(
    metrics: &[MetricDefinition],
    dimensions: &[DimensionDefinition],
) -> Result<String, DefinitionError> {
    #[derive(Serialize)]
    struct File<'a> {
        metric: &'a [MetricDefinition],
        dimension: &'a [DimensionDefinition],
    }
    let text = toml::to_string(&File { metric: metrics, dimension: dimensions });
    let text = text.map_err(|error| DefinitionError::new(error.to_string()))?;
    check_size(&text)?;
    Ok(text)
}

/// Refuses definitions that are larger than a dataset may have.
fn check_size(text: &str) -> Result<(), DefinitionError> {
    if text.len() <= MAX_DEFINITIONS_BYTES {
        return Ok(());
    }
    Err(DefinitionError::new(format!("expected at most {MAX_DEFINITIONS_BYTES} bytes, but found {}", text.len())))
}
