//! A query's filter: split into the condition on events and the condition on finished rows. A condition is a tree of
//! tests in three-valued logic.

use super::{AmountRange, DimensionRef, MetricRef};
use crate::Interruption;
use crate::definitions::Definitions;
use crate::error::QueryError;
use crate::filter::{
    CompiledPatterns, Filter, FilterFault, NumberPredicate, Predicate, TextPredicate, is_result_metric,
};
use crate::query::EventsQuery;
use std::collections::BTreeSet;
use std::convert::Infallible;

/// Tests joined by `and`, `or` and `not`.
#[derive(Clone, Debug)]
pub(crate) enum Condition<T> {
    All(Vec<Condition<T>>),
    Any(Vec<Condition<T>>),
    Not(Box<Condition<T>>),
    Test(T),
}

/// Whether a condition holds. `and` is the minimum of its parts, `or` the maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ternary {
    False,
    /// There is no value to test: the denominator of a ratio is 0, a percentile is of no durations, or spend does not
    /// have the field.
    Unknown,
    True,
}

impl Ternary {
    /// Swaps true and false; unknown stays unknown.
    const fn not(self) -> Self {
        match self {
            Self::False => Self::True,
            Self::Unknown => Self::Unknown,
            Self::True => Self::False,
        }
    }
}

impl From<bool> for Ternary {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

impl<T> Condition<T> {
    /// Returns every test, in order.
    pub(crate) fn leaves(&self) -> Vec<&T> {
        match self {
            Self::Test(test) => vec![test],
            Self::Not(part) => part.leaves(),
            Self::All(parts) | Self::Any(parts) => parts.iter().flat_map(Self::leaves).collect(),
        }
    }

    /// Returns a condition of the same structure whose tests `make` has converted.
    pub(crate) fn map<'a, U>(&'a self, make: &mut impl FnMut(&'a T) -> U) -> Condition<U> {
        let Ok(condition) = self.try_map(&mut |test| Ok::<U, Infallible>(make(test)));
        condition
    }

    /// Returns a condition of the same structure whose tests `make` has converted, or the first error of `make`.
    pub(crate) fn try_map<'a, U, E>(&'a self, make: &mut impl FnMut(&'a T) -> Result<U, E>) -> Result<Condition<U>, E> {
        Ok(match self {
            Self::Test(test) => Condition::Test(make(test)?),
            Self::Not(part) => Condition::Not(Box::new(part.try_map(make)?)),
            Self::All(parts) => Condition::All(parts.iter().map(|part| part.try_map(make)).collect::<Result<_, _>>()?),
            Self::Any(parts) => Condition::Any(parts.iter().map(|part| part.try_map(make)).collect::<Result<_, _>>()?),
        })
    }

    /// Returns whether the condition holds for one value, given whether each test does; no test may be unknown. The
    /// first error of a test ends the evaluation.
    fn holds(&self, test: &mut impl FnMut(&T) -> Result<bool, Interruption>) -> Result<bool, Interruption> {
        match self {
            Self::Test(leaf) => test(leaf),
            Self::Not(part) => part.holds(test).map(|holds| !holds),
            Self::All(parts) => {
                parts.iter().map(|part| part.holds(test)).find(|holds| *holds != Ok(true)).unwrap_or(Ok(true))
            }
            Self::Any(parts) => {
                parts.iter().map(|part| part.holds(test)).find(|holds| *holds != Ok(false)).unwrap_or(Ok(false))
            }
        }
    }

    /// Evaluates the condition for `rows` rows; `test` appends the result of one test for each row.
    pub(crate) fn evaluate(&mut self, rows: usize, test: &mut impl FnMut(&mut T, &mut Vec<Ternary>)) -> Vec<Ternary> {
        match self {
            Self::Test(leaf) => {
                let mut results = Vec::with_capacity(rows);
                test(leaf, &mut results);
                results
            }
            Self::Not(part) => {
                let mut results = part.evaluate(rows, test);
                results.iter_mut().for_each(|result| *result = result.not());
                results
            }
            Self::All(parts) => Self::fold(parts, rows, Ternary::True, Ternary::min, test),
            Self::Any(parts) => Self::fold(parts, rows, Ternary::False, Ternary::max, test),
        }
    }

    /// Joins the results of parts, beginning with `neutral`.
    fn fold(
        parts: &mut [Self],
        rows: usize,
        neutral: Ternary,
        join: fn(Ternary, Ternary) -> Ternary,
        test: &mut impl FnMut(&mut T, &mut Vec<Ternary>),
    ) -> Vec<Ternary> {
        let mut results = vec![neutral; rows];
        for part in parts {
            let other = part.evaluate(rows, test);
            results.iter_mut().zip(other).for_each(|(result, other)| *result = join(*result, other));
        }
        results
    }
}

/// A test of one event.
#[derive(Clone, Debug)]
pub(super) enum RowPredicate {
    /// A test of a dimension's text.
    Dimension(DimensionRef, TextPredicate),
    /// A test of the event's own amount, in currency units.
    Total(NumberPredicate),
}

/// The tests of one field of an event in one part of a filter, joined so that they are evaluated together: those of a
/// dimension once per distinct text.
#[derive(Clone, Debug)]
pub(crate) enum FieldPredicate {
    /// Tests of a dimension's text.
    Dimension(DimensionRef, Condition<TextPredicate>),
    /// A test of the event's own amount.
    Total(AmountRange),
}

/// A test of one metric of a finished row.
#[derive(Clone, Debug)]
pub(crate) struct MetricPredicate {
    pub(crate) metric: MetricRef,
    pub(crate) test: NumberPredicate,
}

impl RowPredicate {
    /// Returns the tested dimension, or `None` for `total`.
    pub(super) const fn dimension(&self) -> Option<&DimensionRef> {
        match self {
            Self::Dimension(dimension, _) => Some(dimension),
            Self::Total(_) => None,
        }
    }
}

impl Condition<TextPredicate> {
    /// Returns whether a text passes. The result is never unknown, because every event has a text. `check` is called
    /// before each test, and its error ends the evaluation.
    pub(crate) fn passes(
        &self,
        text: &str,
        check: &mut impl FnMut(&TextPredicate) -> Result<(), Interruption>,
    ) -> Result<bool, Interruption> {
        self.holds(&mut |test| check(test).map(|()| test.holds(text)))
    }
}

impl FieldPredicate {
    /// Joins the tests of a condition that concern the same dimension. Regrouping `and` and `or` does not change their
    /// result, because both are associative and commutative in three-valued logic too.
    pub(super) fn group(condition: &Condition<RowPredicate>) -> Condition<Self> {
        match condition {
            Condition::Test(RowPredicate::Total(test)) => Condition::Test(Self::Total(AmountRange::new(test))),
            Condition::Test(RowPredicate::Dimension(dimension, test)) => {
                Condition::Test(Self::Dimension(dimension.clone(), Condition::Test(test.clone())))
            }
            Condition::Not(part) => match Self::group(part) {
                Condition::Test(Self::Dimension(dimension, test)) => {
                    Condition::Test(Self::Dimension(dimension, Condition::Not(Box::new(test))))
                }
                other => Condition::Not(Box::new(other)),
            },
            Condition::All(parts) => Self::join(parts, Condition::All, Condition::All),
            Condition::Any(parts) => Self::join(parts, Condition::Any, Condition::Any),
        }
    }

    /// Joins the parts of an `and` or an `or`. Parts that test only one dimension are first joined per dimension.
    fn join(
        parts: &[Condition<RowPredicate>],
        join_fields: fn(Vec<Condition<Self>>) -> Condition<Self>,
        join_texts: fn(Vec<Condition<TextPredicate>>) -> Condition<TextPredicate>,
    ) -> Condition<Self> {
        let mut others = Vec::new();
        let mut by_dimension: Vec<(DimensionRef, Vec<Condition<TextPredicate>>)> = Vec::new();
        for part in parts {
            match Self::group(part) {
                Condition::Test(Self::Dimension(dimension, test)) => {
                    match by_dimension.iter_mut().find(|(known, _)| known.name == dimension.name) {
                        Some((_, tests)) => tests.push(test),
                        None => by_dimension.push((dimension, vec![test])),
                    }
                }
                other => others.push(other),
            }
        }
        let joined = by_dimension
            .into_iter()
            .map(|(dimension, tests)| Condition::Test(Self::Dimension(dimension, join_texts(tests))));
        let mut all: Vec<_> = joined.chain(others).collect();
        match all.pop() {
            Some(only) if all.is_empty() => only,
            Some(last) => {
                all.push(last);
                join_fields(all)
            }
            None => join_fields(all),
        }
    }
}

/// The condition on events and the condition on finished rows, each if there is one.
type SplitFilter = (Option<Condition<RowPredicate>>, Option<Condition<MetricPredicate>>);

/// Splits the filter of a query at its outermost `and`s.
///
/// # Errors
/// The filter is too large, a predicate does not suit its field, a regular expression does not compile, a part tests
/// both events and finished rows, or the interrupt of the query's patterns ends the compilation.
pub(super) fn split(query: &EventsQuery, columns: &BTreeSet<String>) -> Result<SplitFilter, QueryError> {
    let Some(filter) = &query.filter else { return Ok((None, None)) };
    if !query.selects_row {
        filter.check_size().map_err(|(field, fault)| refuse(field, fault))?;
    }
    let (definitions, mut patterns) = (&query.definitions, query.patterns.clone());
    let mut rows = Vec::new();
    let mut finished = Vec::new();
    for part in conjuncts(filter) {
        match (first_field(part, definitions, true), first_field(part, definitions, false)) {
            (Some(metric), Some(_)) => return Err(refuse(metric, FilterFault::MixedKinds)),
            (Some(_), None) => {
                finished.push(build(part, &mut |name, test| metric_predicate(name, test, definitions))?);
            }
            (None, _) => {
                let mut leaf = |name: &str, test: &Predicate| row_predicate(name, test, query, &mut patterns, columns);
                rows.push(build(part, &mut leaf)?);
            }
        }
    }
    let rows = (!rows.is_empty()).then_some(Condition::All(rows));
    let having = (!finished.is_empty()).then_some(Condition::All(finished));
    Ok((rows, having))
}

/// Returns the parts of a filter that all have to hold.
fn conjuncts(filter: &Filter) -> Vec<&Filter> {
    match filter {
        Filter::All(parts) if !parts.is_empty() => parts.iter().flat_map(conjuncts).collect(),
        other => vec![other],
    }
}

/// Returns the first field of a filter that is decided on finished rows or, if `finished` is false, on events.
fn first_field<'f>(filter: &'f Filter, definitions: &Definitions, finished: bool) -> Option<&'f str> {
    match filter {
        Filter::Field { name, .. } => {
            let is_finished = is_result_metric(name) || definitions.metric(name).is_some();
            (is_finished == finished).then_some(name)
        }
        Filter::Not(part) => first_field(part, definitions, finished),
        Filter::All(parts) | Filter::Any(parts) => {
            parts.iter().find_map(|part| first_field(part, definitions, finished))
        }
    }
}

/// Converts a filter to a condition. `leaf` converts each of its predicates.
fn build<T>(
    filter: &Filter,
    leaf: &mut impl FnMut(&str, &Predicate) -> Result<T, FilterFault>,
) -> Result<Condition<T>, QueryError> {
    Ok(match filter {
        Filter::Field { name, predicate } => {
            Condition::Test(leaf(name, predicate).map_err(|fault| refuse(name, fault))?)
        }
        Filter::Not(part) => Condition::Not(Box::new(build(part, leaf)?)),
        Filter::All(parts) => Condition::All(parts.iter().map(|part| build(part, leaf)).collect::<Result<_, _>>()?),
        Filter::Any(parts) => Condition::Any(parts.iter().map(|part| build(part, leaf)).collect::<Result<_, _>>()?),
    })
}

fn row_predicate(
    name: &str,
    predicate: &Predicate,
    query: &EventsQuery,
    patterns: &mut CompiledPatterns,
    columns: &BTreeSet<String>,
) -> Result<RowPredicate, FilterFault> {
    if name == "total" {
        return Ok(RowPredicate::Total(NumberPredicate::new(predicate)?));
    }
    let dimension = DimensionRef::new(name, columns, &query.definitions, query.attribution);
    Ok(RowPredicate::Dimension(dimension, TextPredicate::new(predicate, patterns)?))
}

fn metric_predicate(
    name: &str,
    predicate: &Predicate,
    definitions: &Definitions,
) -> Result<MetricPredicate, FilterFault> {
    let test = NumberPredicate::new(predicate)?;
    let metric = MetricRef::find(name, definitions).ok_or(FilterFault::MixedKinds)?;
    Ok(MetricPredicate { metric, test })
}

fn refuse(field: &str, fault: FilterFault) -> QueryError {
    QueryError::Filter { field: field.to_owned(), fault }
}
