//! Resolves the name of a metric to its formula.

use crate::definitions::{DefinedFormula, DefinedMetric, Definitions};
use crate::dictionary::{self, Additivity, Formula, Measure};
use std::sync::Arc;

/// A metric that a query selects, tests or sorts by.
#[derive(Clone, Debug)]
pub(crate) enum MetricRef {
    /// A metric of the dictionary, with its name.
    BuiltIn(&'static str, Formula),
    /// A metric that the dataset defines.
    Defined(Arc<DefinedMetric>),
}

impl MetricRef {
    /// Returns the metric with a name; `None` if the name is that of a dimension, known or unknown.
    pub(crate) fn find(name: &str, definitions: &Definitions) -> Option<Self> {
        match dictionary::metric(name) {
            Some((field, metric)) => Some(Self::BuiltIn(field.name, metric.formula)),
            None => definitions.shared_metric(name).cloned().map(Self::Defined),
        }
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Self::BuiltIn(name, _) => name,
            Self::Defined(metric) => &metric.name,
        }
    }

    /// Returns the formula, or one of the same kind without measures if the metric is defined.
    pub(crate) fn kind(&self) -> Formula {
        match self {
            Self::BuiltIn(_, formula) => *formula,
            Self::Defined(metric) => metric.formula.kind(),
        }
    }

    /// Returns whether the metric is a sum of counts that may be negative, because some are subtracted.
    pub(crate) fn may_be_negative(&self) -> bool {
        match self {
            Self::BuiltIn(..) => false,
            Self::Defined(metric) => {
                matches!(&metric.formula, DefinedFormula::Amount(sum) if sum.may_be_negative())
            }
        }
    }

    /// Returns the additivity of the numerator and of the denominator; `None` if the metric is no ratio.
    pub(crate) fn additivity_of_ratio(&self) -> Option<[Additivity; 2]> {
        match self {
            Self::BuiltIn(_, Formula::Ratio { numerator, denominator }) => {
                Some([numerator, denominator].map(|measures| Additivity::of(Formula::Amount(measures))))
            }
            Self::BuiltIn(..) => None,
            Self::Defined(metric) => match &metric.formula {
                DefinedFormula::Ratio { numerator, denominator } => {
                    Some([numerator.additivity(), denominator.additivity()])
                }
                DefinedFormula::Amount(_) => None,
            },
        }
    }

    /// Returns whether the metric is made of money: a sum of money, or a ratio with one.
    pub(crate) fn is_of_money(&self) -> bool {
        self.measures().any(Measure::is_money)
    }

    /// Returns the measures of the formula. A measure may come several times.
    pub(crate) fn measures(&self) -> impl Iterator<Item = Measure> {
        let (built_in, defined): (Option<Formula>, Option<&DefinedFormula>) = match self {
            Self::BuiltIn(_, formula) => (Some(*formula), None),
            Self::Defined(metric) => (None, Some(&metric.formula)),
        };
        let built_in = built_in.into_iter().flat_map(Formula::measures);
        built_in.chain(defined.into_iter().flat_map(DefinedFormula::measures))
    }
}
