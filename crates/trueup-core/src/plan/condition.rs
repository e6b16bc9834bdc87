//! A filter split into what is decided on events and what is decided on finished rows.

use super::DimensionRef;
use crate::dictionary::{self, Formula};
use crate::error::QueryError;
use crate::query::{
    CompiledPatterns, Filter, FilterFault, NumberPredicate, Predicate, TextPredicate, is_result_metric,
};
use std::collections::BTreeSet;

/// Tests joined by and, or, not.
#[derive(Clone, Debug)]
pub(crate) enum Condition<T> {
    All(Vec<Condition<T>>),
    Any(Vec<Condition<T>>),
    Not(Box<Condition<T>>),
    Test(T),
}

/// A test of one event.
#[derive(Clone, Debug)]
pub(crate) enum RowPredicate {
    /// A dimension's text.
    Dimension(DimensionRef, TextPredicate),
    /// The event's own amount, in currency units.
    Total(NumberPredicate),
}

/// A test of one metric of a finished row.
#[derive(Clone, Debug)]
pub(crate) struct MetricPredicate {
    pub(crate) formula: Formula,
    pub(crate) test: NumberPredicate,
}

impl RowPredicate {
    /// The dimension tested, unless it is `total`.
    pub(crate) const fn dimension(&self) -> Option<&DimensionRef> {
        match self {
            Self::Dimension(dimension, _) => Some(dimension),
            Self::Total(_) => None,
        }
    }
}

impl<T> Condition<T> {
    /// Every test, in order.
    pub(crate) fn leaves(&self) -> Vec<&T> {
        match self {
            Self::Test(test) => vec![test],
            Self::Not(part) => part.leaves(),
            Self::All(parts) | Self::Any(parts) => parts.iter().flat_map(Self::leaves).collect(),
        }
    }

    /// Other tests, joined in the same way.
    pub(crate) fn map<'a, U>(&'a self, make: &mut impl FnMut(&'a T) -> U) -> Condition<U> {
        match self {
            Self::Test(test) => Condition::Test(make(test)),
            Self::Not(part) => Condition::Not(Box::new(part.map(make))),
            Self::All(parts) => Condition::All(parts.iter().map(|part| part.map(make)).collect()),
            Self::Any(parts) => Condition::Any(parts.iter().map(|part| part.map(make)).collect()),
        }
    }
}

type Split = (Option<Condition<RowPredicate>>, Option<Condition<MetricPredicate>>);

/// Splits a filter at its outermost ands; `patterns` are those that are compiled.
pub(super) fn split(
    filter: &Filter,
    mut patterns: CompiledPatterns,
    columns: &BTreeSet<String>,
) -> Result<Split, QueryError> {
    filter.check_size().map_err(|(field, fault)| refused(field, fault))?;
    let mut rows = Vec::new();
    let mut finished = Vec::new();
    for part in conjuncts(filter) {
        match (decided(part, true), decided(part, false)) {
            (Some(metric), Some(_)) => return Err(refused(metric, FilterFault::MixedKinds)),
            (Some(_), None) => finished.push(build(part, &mut metric_test)?),
            (None, _) => rows.push(build(part, &mut |name, test| row_test(name, test, &mut patterns, columns))?),
        }
    }
    let join = |parts: Vec<_>| (!parts.is_empty()).then_some(Condition::All(parts));
    let having = (!finished.is_empty()).then_some(Condition::All(finished));
    Ok((join(rows), having))
}

fn conjuncts(filter: &Filter) -> Vec<&Filter> {
    match filter {
        Filter::All(parts) if !parts.is_empty() => parts.iter().flat_map(conjuncts).collect(),
        other => vec![other],
    }
}

/// The first field below that is decided on finished rows, or, with `finished` false, on events.
fn decided(filter: &Filter, finished: bool) -> Option<&str> {
    match filter {
        Filter::Field { name, .. } => (is_result_metric(name) == finished).then_some(name),
        Filter::Not(part) => decided(part, finished),
        Filter::All(parts) | Filter::Any(parts) => parts.iter().find_map(|part| decided(part, finished)),
    }
}

fn build<T>(
    filter: &Filter,
    leaf: &mut impl FnMut(&str, &Predicate) -> Result<T, FilterFault>,
) -> Result<Condition<T>, QueryError> {
    Ok(match filter {
        Filter::Field { name, predicate } => {
            Condition::Test(leaf(name, predicate).map_err(|fault| refused(name, fault))?)
        }
        Filter::Not(part) => Condition::Not(Box::new(build(part, leaf)?)),
        Filter::All(parts) => Condition::All(parts.iter().map(|part| build(part, leaf)).collect::<Result<_, _>>()?),
        Filter::Any(parts) => Condition::Any(parts.iter().map(|part| build(part, leaf)).collect::<Result<_, _>>()?),
    })
}

fn row_test(
    name: &str,
    test: &Predicate,
    patterns: &mut CompiledPatterns,
    columns: &BTreeSet<String>,
) -> Result<RowPredicate, FilterFault> {
    if name == "total" {
        return Ok(RowPredicate::Total(NumberPredicate::new(test)?));
    }
    Ok(RowPredicate::Dimension(DimensionRef::new(name, columns), TextPredicate::new(test, patterns)?))
}

fn metric_test(name: &str, test: &Predicate) -> Result<MetricPredicate, FilterFault> {
    let test = NumberPredicate::new(test)?;
    let (_, metric) = dictionary::metric(name).ok_or(FilterFault::MixedKinds)?;
    Ok(MetricPredicate { formula: metric.formula, test })
}

fn refused(field: &str, fault: FilterFault) -> QueryError {
    QueryError::Filter { field: field.to_owned(), fault }
}
