//! Metrics that users define, checked.

use super::DefinitionError;
use super::declaration::MetricDefinition;
use crate::dictionary::{self, Additivity, Direction, FieldKind, Formula, Measure, Unit, ValueFormat};
use crate::text::did_you_mean;
use std::collections::BTreeSet;
use std::fmt;

/// A metric that users define.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DefinedMetric {
    /// The name in queries.
    pub name: String,
    /// The name for people.
    pub display_name: String,
    /// The meaning.
    pub definition: String,
    /// The format in which a value is shown to people.
    pub format: ValueFormat,
    /// The direction in which values are better.
    pub direction: Direction,
    /// The unit of its values.
    pub unit: Unit,
    /// The groups across which its values may be added.
    pub additivity: Additivity,
    /// The formula.
    pub formula: DefinedFormula,
    pub(super) line: Option<usize>,
}

/// The formula of a metric that users define.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefinedFormula {
    /// A sum.
    Amount(SignedSum),
    /// A ratio of two sums; 0 if the denominator is 0.
    Ratio {
        /// The sum that is divided.
        numerator: SignedSum,
        /// The sum that divides.
        denominator: SignedSum,
    },
}

/// A sum of built-in metrics, some of which may be subtracted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedSum {
    parts: Vec<SignedPart>,
    unit: Unit,
    /// The measures, each with the sign of its part. A measure may occur several times.
    terms: Vec<(Measure, bool)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct SignedPart {
    metric: &'static str,
    is_subtracted: bool,
    additivity: Additivity,
}

impl DefinedMetric {
    /// Checks a definition; `defined` are the names of all metrics that are defined with it.
    pub(super) fn new(declared: &MetricDefinition, defined: &BTreeSet<String>) -> Result<Self, DefinitionError> {
        let numerator = SignedSum::new("numerator", &declared.numerator, defined)?;
        let denominator = declared.denominator.as_deref();
        let denominator = denominator.map(|names| SignedSum::new("denominator", names, defined)).transpose()?;
        let formula = match denominator {
            None => DefinedFormula::Amount(numerator),
            Some(denominator) => DefinedFormula::Ratio { numerator, denominator },
        };
        let unit = formula.unit();
        let format = match declared.format.as_deref() {
            None => format_of(unit),
            Some(name) => format_by_name(name)?,
        };
        Ok(Self {
            name: declared.name.clone(),
            display_name: declared.display_name.clone().unwrap_or_else(|| declared.name.clone()),
            definition: declared.definition.clone().unwrap_or_else(|| format!("Computed as {formula}.")),
            format,
            direction: direction_by_name(declared.direction.as_deref().unwrap_or("neutral"))?,
            unit,
            additivity: formula.additivity(),
            formula,
            line: None,
        })
    }

    pub(super) fn at(self, line: Option<usize>) -> Self {
        Self { line, ..self }
    }

    /// Returns in words across which groups the values add up to the value of the whole.
    #[must_use]
    pub fn adds_up(&self) -> &'static str {
        self.additivity.adds_up().unwrap_or(match self.formula {
            DefinedFormula::Ratio { .. } => "never: a ratio",
            DefinedFormula::Amount(_) => "never: distinct values",
        })
    }
}

impl DefinedFormula {
    /// Returns the measures of the formula in the order written. A measure may come several times.
    pub fn measures(&self) -> impl Iterator<Item = Measure> {
        let (first, second): (&SignedSum, &[(Measure, bool)]) = match self {
            Self::Amount(sum) => (sum, &[]),
            Self::Ratio { numerator, denominator } => (numerator, &denominator.terms),
        };
        first.terms.iter().chain(second).map(|(measure, _)| *measure)
    }

    /// Returns the names of the built-in metrics of the formula in the order written.
    pub fn metrics(&self) -> impl Iterator<Item = &'static str> {
        let (first, second): (&SignedSum, &[SignedPart]) = match self {
            Self::Amount(sum) => (sum, &[]),
            Self::Ratio { numerator, denominator } => (numerator, &denominator.parts),
        };
        first.parts.iter().chain(second).map(|part| part.metric)
    }

    /// Returns a formula of the same kind, a sum or a ratio, without measures.
    pub(crate) const fn kind(&self) -> Formula {
        match self {
            Self::Amount(_) => Formula::Amount(&[]),
            Self::Ratio { .. } => Formula::Ratio { numerator: &[], denominator: &[] },
        }
    }

    fn unit(&self) -> Unit {
        match self {
            Self::Amount(sum) => sum.unit,
            Self::Ratio { numerator, denominator } => match (numerator.unit, denominator.unit) {
                (Unit::Currency, Unit::Count) => Unit::CurrencyPerCount,
                (Unit::Count, Unit::Currency) => Unit::CountPerCurrency,
                _ => Unit::Ratio,
            },
        }
    }

    /// Returns the additivity: a sum adds up where all of its parts do, and a ratio nowhere.
    fn additivity(&self) -> Additivity {
        match self {
            Self::Amount(sum) => sum.additivity(),
            Self::Ratio { .. } => Additivity::NOWHERE,
        }
    }
}

impl SignedSum {
    fn new(key: &'static str, names: &[String], defined: &BTreeSet<String>) -> Result<Self, DefinitionError> {
        let mut sum: Option<Self> = None;
        for written in names {
            let (name, is_subtracted) = match written.trim().strip_prefix('-') {
                Some(name) => (name.trim(), true),
                None => (written.trim(), false),
            };
            let refused = |reason: String| DefinitionError::of_value(key, written, reason);
            let (field, unit, measures) = summand(name, defined).map_err(refused)?;
            let sum = sum.get_or_insert_with(|| Self { parts: Vec::new(), unit, terms: Vec::new() });
            if unit != sum.unit {
                let first = sum.parts.first().map_or("", |part| part.metric);
                return Err(refused(format!(
                    "its unit is {}, but that of `{first}` is {}; a sum has one unit",
                    unit.name(),
                    sum.unit.name()
                )));
            }
            sum.parts.push(SignedPart { metric: field.name, is_subtracted, additivity: additivity(field) });
            sum.terms.extend(measures.iter().map(|measure| (*measure, is_subtracted)));
        }
        sum.ok_or_else(|| DefinitionError::of_key(key, "expected the name of at least one metric"))
    }

    /// Returns the unit: a count, or an amount of money.
    pub(crate) const fn unit(&self) -> Unit {
        self.unit
    }

    /// Returns the additivity: a sum adds up where all of its parts do.
    pub(crate) fn additivity(&self) -> Additivity {
        self.parts.iter().map(|part| part.additivity).fold(Additivity::EVERYWHERE, Additivity::and)
    }

    /// Returns the measures, each with whether it is subtracted. A measure may occur several times.
    pub(crate) fn terms(&self) -> &[(Measure, bool)] {
        &self.terms
    }

    /// Returns the names of the metrics that are added, in the order of bytes; `None` if one is subtracted.
    pub(crate) fn added_metrics(&self) -> Option<Vec<&'static str>> {
        let mut names: Vec<&str> = self.parts.iter().map(|part| part.metric).collect();
        names.sort_unstable();
        (!self.may_be_negative()).then_some(names)
    }

    /// Returns whether a part is subtracted, so that the sum may be negative although its parts are not.
    pub(crate) fn may_be_negative(&self) -> bool {
        self.parts.iter().any(|part| part.is_subtracted)
    }
}

fn additivity(field: &dictionary::Field) -> Additivity {
    match &field.kind {
        FieldKind::Metric(metric) => metric.additivity,
        FieldKind::Dimension(_) => Additivity::NOWHERE,
    }
}

/// Returns the built-in metric with a name, with its unit and its measures; or why it cannot be a part of a sum.
fn summand(
    name: &str,
    defined: &BTreeSet<String>,
) -> Result<(&'static dictionary::Field, Unit, &'static [Measure]), String> {
    let Some(field) = dictionary::field(name) else {
        if defined.contains(name) {
            return Err("a metric is made of built-in ones, and this one is defined here".to_owned());
        }
        let similar = did_you_mean(&dictionary::similar_names(name, &BTreeSet::new()));
        return Err(format!("the dictionary has no metric of this name{similar}"));
    };
    match &field.kind {
        FieldKind::Dimension(_) => Err("this is a dimension, but a sum is made of metrics".to_owned()),
        FieldKind::Metric(metric) => match metric.formula {
            Formula::Amount(measures) => Ok((field, metric.unit, measures)),
            formula @ Formula::Ratio { .. } => Err(format!(
                "this is a ratio ({formula}), and ratios do not add up; use the counts and amounts that it is made of"
            )),
            Formula::Percentile { .. } => Err("this is a percentile, and percentiles do not add up".to_owned()),
        },
    }
}

fn format_by_name(name: &str) -> Result<ValueFormat, DefinitionError> {
    let formats = [ValueFormat::Number, ValueFormat::Currency, ValueFormat::Percent, ValueFormat::Decimal];
    let found = formats.into_iter().find(|format| format.name() == name);
    found.ok_or_else(|| DefinitionError::of_value("format", name, "expected number, currency, percent or decimal"))
}

/// Returns the format that suits a unit.
const fn format_of(unit: Unit) -> ValueFormat {
    match unit {
        Unit::Count => ValueFormat::Number,
        Unit::Currency | Unit::CurrencyPerCount => ValueFormat::Currency,
        _ => ValueFormat::Decimal,
    }
}

fn direction_by_name(name: &str) -> Result<Direction, DefinitionError> {
    match name {
        "up" => Ok(Direction::Higher),
        "down" => Ok(Direction::Lower),
        "neutral" => Ok(Direction::Neutral),
        _ => Err(DefinitionError::of_value("direction", name, "expected up, down or neutral")),
    }
}

/// Writes the names of the metrics, such as `closedRevenue - spend`.
impl fmt::Display for SignedSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, part) in self.parts.iter().enumerate() {
            f.write_str(match (at, part.is_subtracted) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            })?;
            f.write_str(part.metric)?;
        }
        Ok(())
    }
}

/// Writes the names of the metrics, such as `(closedRevenue - spend) / leads`.
impl fmt::Display for DefinedFormula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let factor = |sum: &SignedSum| if sum.parts.len() > 1 { format!("({sum})") } else { sum.to_string() };
        match self {
            Self::Amount(sum) => sum.fmt(f),
            Self::Ratio { numerator, denominator } => write!(f, "{} / {}", factor(numerator), factor(denominator)),
        }
    }
}
